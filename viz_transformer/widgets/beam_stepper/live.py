"""The beam stepper of a live model that writes: ours, or one of Hugging Face's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viz_transformer._bounds import BEAM_IN_VIEW, whole_number
from viz_transformer.errors import UserError
from viz_transformer.huggingface_text import HuggingFaceText
from viz_transformer.widgets.base.live import give_engine, text_for, text_model_of
from viz_transformer.widgets.beam_stepper.view import BeamStepper

#: Of the bundled translator's language, a garden path: greedy search begins with *el* and misses
#: *la maestra duerme*, the likeliest of four translations.
DEFAULT_TEXTS = {"translate": "the teacher sleeps", "continue": ""}
_LAB = "a beam stepper, which follows a text as it is written word by word"


def beam_stepper(
    model: Any,
    text: str | None = None,
    beam_width: int = 4,
    length_penalty: float = 0.6,
    engine: str | None = None,
    *,
    tokenizer: Any = None,
    max_new_tokens: int | None = None,
) -> BeamStepper:
    """Return a view of the search for a translation, or for the rest of a text, step by step.

        vt.beam_stepper(translator, "the teacher sleeps")
        vt.beam_stepper(gpt2, "The capital of France is", tokenizer=tokenizer)

    >>> import viz_transformer as vt
    >>> stepper = vt.beam_stepper(vt.load_translator(), "the teacher sleeps", beam_width=3)
    >>> stepper.beam_width
    3

    Args:
        model: a translator or language model of ours, or a causal language model or an
            encoder–decoder of Hugging Face's, whose own ``generate`` searches; or several of one kind
            by name: checkpoints of a training, say, to choose from in the view. They stay as they are.
        text: the first sentence; for a language model the beginning of a text, by default none for
            ours.
        beam_width: hypotheses kept at each step, 1 to 100.
        length_penalty: 0 favours short texts; larger values favour longer ones.
        engine: where answers are computed: ``"page"``, ``"kernel"``, or None for the page if it can.
        tokenizer: that of Hugging Face's models.
        max_new_tokens: the most tokens that they write; by default 8 after a text, and 60 of a
            translation.

    Raises:
        UserError: if there is no such model, the text does not suit it, or the page cannot run it.
    """
    named = dict(model) if isinstance(model, Mapping) else {"": model}
    if not named:
        raise UserError(
            "{} holds no translator and no language model; give one, or several by name: "
            "{'early': translator, …}"
        )
    named = {
        name: text_model_of(each, DEFAULT_TEXTS, _LAB, tokenizer, max_new_tokens)
        for name, each in named.items()
    }
    if len({each.task for each in named.values()}) > 1:
        raise UserError(
            f"{list(named)} are of different kinds; give only translators, or only language models"
        )
    text = text_for(next(iter(named.values())), text, DEFAULT_TEXTS, _LAB)

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        return _search(named[request.get("checkpoint", "")], request)

    whole_number("beam_width", beam_width, BEAM_IN_VIEW)
    request = {"text": text, "method": "beam", "beam_width": beam_width, "length_penalty": length_penalty}
    first = {name: _search(each, request) for name, each in named.items()}
    searches, greedy = ({name: each[part] for name, each in first.items()} for part in ("search", "greedy"))
    single = "" in named
    view = BeamStepper(
        searches[""] if single else searches,
        answer=answer,
        greedy=greedy[""] if single else greedy,
        sentence=text,
        beam_width=beam_width,
        length_penalty=length_penalty,
    )
    view.decodes = not any(isinstance(each, HuggingFaceText) for each in named.values())
    tokenizer = getattr(next(iter(named.values())), "tokenizer", None)
    view.made_with(tokenizer=tokenizer, max_new_tokens=max_new_tokens)
    return give_engine(view, "beam_stepper", named, engine)


def _search(model: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Return the search that a `BeamStepper` requests, and the greedy one beside it."""
    text = request["text"]
    if request["method"] == "sample":
        filters = {name: request[name] for name in ("temperature", "top_k", "top_p", "seed")}
        search = model.sample(text, **filters)
    else:
        search = model.decode(text, request["beam_width"], request["length_penalty"], attention=True)
    penalty = request.get("length_penalty", 0.0)
    return {"search": search, "greedy": model.decode(text, 1, penalty)}
