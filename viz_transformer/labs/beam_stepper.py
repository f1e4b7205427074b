"""The beam stepper of a live translator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viz_transformer.errors import UserError
from viz_transformer.translator import Translator
from viz_transformer.widgets.beam_stepper.view import BeamStepper

#: A text outside the bundled translator's language: greedy and beam search find different translations.
DEFAULT_SENTENCE = "cow love"


def beam_stepper(
    translator: Translator | Mapping[str, Translator],
    text: str = DEFAULT_SENTENCE,
    beam_width: int = 4,
    length_penalty: float = 0.6,
) -> BeamStepper:
    """Return a view of the search for a translation, step by step.

    Args:
        translator: the translator, or several by name: checkpoints of a training, say, to choose
            from in the view. They stay as they are.
        text: the first sentence.
        beam_width: hypotheses kept at each step, at least 1.
        length_penalty: 0 favours short texts; larger values favour longer ones.

    Raises:
        UserError: if there is no translator, or the sentence cannot be translated so.
    """
    named = dict(translator) if isinstance(translator, Mapping) else {"": translator}
    if not named or not all(isinstance(each, Translator) for each in named.values()):
        raise UserError(
            f"{translator!r:.60} is no translator; give one as vt.load_translator() returns it, or "
            "several by name: {'early': translator, …}"
        )

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        return _search(named[request.get("checkpoint", "")], request)

    request = {"text": text, "method": "beam", "beam_width": beam_width, "length_penalty": length_penalty}
    first = {name: _search(each, request) for name, each in named.items()}
    searches, greedy = ({name: each[part] for name, each in first.items()} for part in ("search", "greedy"))
    single = "" in named
    return BeamStepper(
        searches[""] if single else searches,
        answer=answer,
        greedy=greedy[""] if single else greedy,
        sentence=text,
        beam_width=beam_width,
        length_penalty=length_penalty,
    )


def _search(translator: Translator, request: dict[str, Any]) -> dict[str, Any]:
    """Return the search that a `BeamStepper` requests, and the greedy one beside it."""
    text = request["text"]
    if request["method"] == "sample":
        filters = {name: request[name] for name in ("temperature", "top_k", "top_p", "seed")}
        search = translator.sample(text, **filters)
    else:
        search = translator.decode(text, request["beam_width"], request["length_penalty"], attention=True)
    penalty = request.get("length_penalty", 0.0)
    return {"search": search, "greedy": translator.decode(text, 1, penalty)}
