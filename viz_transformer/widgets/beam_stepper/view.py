"""The beam stepper: a search walked through step by step, and why each hypothesis stays or goes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from viz_transformer.errors import UserError
from viz_transformer.trace import DecodeTrace, running_text
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.view import Answer, sendable
from viz_transformer.widgets.beam_stepper.payload import (
    Found,
    attention_of,
    check_search,
    in_words,
    is_sampled,
    pack,
    packed_bytes,
    texts_of,
    width_of,
)
from viz_transformer.widgets.beam_stepper.traits import BeamTraits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "Each column is a step of the search: every kept beginning is continued by words, all "
    "continuations are ranked by log-probability, and only as many as the beam is wide are kept. "
    "A finished text is ranked by its score, the log-probability divided by a length norm, so that "
    "long texts can win; choose a candidate to see what became of it and where the model looked."
)
_WIDTHS = (1, 2, 4, 8)  # what an exported page carries beside what is shown
_PENALTIES = (0.0, 0.6, 1.0)
_FILTERS = ({"temperature": 0.5}, {"temperature": 1.5}, {"top_k": 3}, {"top_p": 0.9})
_REMEMBERED = 8  # searches


class BeamStepper(BeamTraits):
    """Walk through a beam search, or through the draws of a sampled text.

    What the viewer chooses is a trait, and setting the trait moves the view; all count from 0 (the
    view itself calls the first step "step 1").
    Make one with ``vt.beam_stepper(translator, text)``, or of a search alone with
    ``BeamStepper(translator.decode(text, attention=True))``.

    Attributes:
        sentence: what is translated; of a search alone, its source.
        checkpoint: the name of the search, or of the model, where there are several.
        checkpoints: their names.
        method: ``"beam"`` or ``"sample"``.
        beam_width: hypotheses followed, 1 or more.
        length_penalty: 0 favours short texts; larger values favour longer ones.
        temperature: of sampling, above 0.
        top_k: of sampling, how many words are left; None leaves all.
        top_p: of sampling, the probability that is left, up to 1; None leaves all.
        seed: of the draws.
        step: the last step shown; by default the last there is.
        chosen: the candidate of that step, or None for the best text's own.
        layer: whose attention is shown; by default the last.
        head: which head of it, or None for the mean of its heads.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.
        data: the searches that are known, ``[[request, reply], …]``, as the page reads them.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)

    def __init__(
        self,
        search: DecodeTrace | Mapping[str, DecodeTrace],
        *,
        answer: Answer | None = None,
        greedy: DecodeTrace | Mapping[str, DecodeTrace] | None = None,
        sentence: str | None = None,
        beam_width: int | None = None,
        length_penalty: float = 0.6,
    ) -> None:
        """Make a view of one search, or of several by name (those of a training's checkpoints).

        Args:
            search: how a text was found, with its steps; or several by name.
            answer: given ``{"text", "method": "beam", "beam_width", "length_penalty"}`` or
                ``{"text", "method": "sample", "temperature", "top_k", "top_p", "seed"}``, and
                ``"checkpoint"`` where there are several, it returns ``{"search": DecodeTrace,
                "greedy": DecodeTrace or None}``. Without it the view shows the given alone.
            greedy: greedy search's own, to be set beside; by name where `search` is.
            sentence: what was translated; by default the source's words.
            beam_width: of the search; by default the most hypotheses that it kept at once.
            length_penalty: of the search.

        Raises:
            UserError: if a search has no steps.
        """
        named = dict(search) if isinstance(search, Mapping) else {"": search}
        if not named:
            raise UserError("there is no search to show; give {name: DecodeTrace, …}")
        several = isinstance(search, Mapping)
        for name, each in named.items():
            check_search(each, f"search[{name!r}]" if several else "search")
        first = next(iter(named.values()))
        if sentence is None:
            read = first.source_tokens or first.prompt_tokens
            read = read[:-1] if read[-1:] == (first.end_token,) else read
            sentence = running_text(sendable(read))
        beside = greedy if isinstance(greedy, Mapping) else dict.fromkeys(named, greedy)
        looks = attention_of(first, 0)
        self._known: dict[str, Found] = {}
        super().__init__(
            answer=answer,
            traits={
                "about": _ABOUT,
                "checkpoints": list(named) if several else [],
                "method": "sample" if is_sampled(first) else "beam",
                "beam_width": width_of(first) if beam_width is None else beam_width,
                "length_penalty": length_penalty,
            },
        )
        # Validators ask for the search, so it is set aside before anything that it is asked for.
        given = []
        for name, each in named.items():
            other = beside.get(name)
            found = Found(each, other.hypotheses[0] if other else None)
            request = self._request(text=sentence, checkpoint=name)
            self._remember(request, found)
            given.append([request, pack(found)])
        self._given = dict(self._known)
        self._shown = next(iter(self._known.values()))
        self.data = given
        self.checkpoint = next(iter(named))
        self.sentence = sentence
        self._ready = True
        self.step = len(first.steps) - 1
        self.layer = 0 if looks is None else looks.shape[1] - 1

    @property
    def search(self) -> DecodeTrace:
        """The search that is shown: the settings' own, or if they have no answer, the last."""
        return self._found().search

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request, as the page would get it.

        Raises:
            UserError: if it cannot be answered: an unknown word, a width out of range.
        """
        return pack(self._ask(request))

    def questions(self) -> list[dict[str, Any]]:
        """Return requests for a few widths, penalties and ways to sample, beside what is given."""
        if not self.live:
            return []
        own = {"text": self.sentence, **self._named()}
        beam = {**own, "method": "beam"}
        wide = {"beam_width": self.beam_width, "length_penalty": self.length_penalty}
        drawn = {**own, "method": "sample", "temperature": 1.0, "top_k": None, "top_p": None}
        drawn["seed"] = self.seed
        requests = [
            self._request(),
            *({**beam, **wide, "beam_width": width} for width in _WIDTHS),
            *({**beam, **wide, "length_penalty": penalty} for penalty in _PENALTIES),
            *({**drawn, **change} for change in ({}, *_FILTERS)),
            *(self._request(checkpoint=name) for name in self.checkpoints),
        ]
        known = [request for request, _ in self.data]
        return [each for i, each in enumerate(requests) if each not in [*known, *requests[:i]]]

    def export_bytes(self) -> int:
        """Return about how many bytes the replies to `questions` take: the widest has the most."""
        widest = max(self.beam_width, *_WIDTHS)
        return len(self.questions()) * packed_bytes(self.search) * widest // max(1, self.beam_width)

    def figure(self) -> Figure:
        """Return what the view shows now as a matplotlib figure."""
        from viz_transformer.plots.beam import plot_beam, plot_distribution

        plot = plot_distribution if is_sampled(self.search) else plot_beam
        figure = plot(self.search, self.shown_step).figure
        figure.alt_text = self.alt_text()
        return figure

    def alt_text(self) -> str:
        """Return what the view shows now in words."""
        found, step = self._found(), self.shown_step
        search = found.search
        candidates = search.steps[step].candidates
        counts = [
            f"{n} {status}"
            for status in ("kept", "finished", "pruned", "forbidden")
            if (n := sum(one.status == status for one in candidates))
        ]
        said = (
            f"{'Draws' if found.sampled else 'Beam search'} for “{self.sentence}”, step "
            f"{step + 1} of {len(search.steps)}: {', '.join(counts)}."
        )
        if self.chosen is not None and self.chosen < len(candidates):
            one, text = candidates[self.chosen], texts_of(search)[step][self.chosen]
            said += f" Chosen: {running_text(text)}, {one.status}: {one.reason}."
        return f"{said} {in_words(found)}"

    def __repr__(self) -> str:
        """Name the state: what a reader without the view, or of a log, sees in its place."""
        return f"BeamStepper({self.sentence!r}, method={self.method!r}, step={self.step})"

    def _named(self, checkpoint: str | None = None) -> dict[str, str]:
        name = self.checkpoint if checkpoint is None else checkpoint
        return {"checkpoint": name} if self.checkpoints else {}

    def _request(self, text: str | None = None, checkpoint: str | None = None) -> dict[str, Any]:
        """What is asked for; only what matters to the method, so that equal requests are equal."""
        names = ("temperature", "top_k", "top_p", "seed")
        names = names if self.method == "sample" else ("beam_width", "length_penalty")
        return {
            "text": self.sentence if text is None else text,
            "method": self.method,
            **{name: getattr(self, name) for name in names},
            **self._named(checkpoint),
        }

    def _remember(self, request: dict[str, Any], found: Found) -> Found:
        self._known[_key(request)] = found
        return found

    def _ask(self, request: dict[str, Any]) -> Found:
        """Return a search, remembered or asked for."""
        known = self._known.get(_key(request))
        if known is not None:
            return known
        reply = super().answer(request)
        greedy = reply.get("greedy")
        found = Found(check_search(reply["search"]), greedy.hypotheses[0] if greedy else None)
        while len(self._known) >= _REMEMBERED + len(self._given):
            self._known.pop(next(key for key in self._known if key not in self._given))
        return self._remember(request, found)

    def _found(self) -> Found:
        """The search of the settings; while they have no answer, the last that had one."""
        try:
            self._shown = self._ask(self._request())
        except UserError:
            return self._shown
        return self._shown

    def _step(self) -> int:
        return min(self.step, len(self.search.steps) - 1)


def _key(request: dict[str, Any]) -> str:
    """One text for equal requests: the page writes 1 where Python has 1.0."""
    plain = {
        name: float(value) if isinstance(value, int | float) else value for name, value in request.items()
    }
    return json.dumps(plain, sort_keys=True)
