"""The beam stepper's view: a search, step by step, and why each hypothesis stays or goes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import traitlets

from viz_transformer._bounds import BEAM_IN_VIEW
from viz_transformer.errors import UserError
from viz_transformer.trace import DecodeTrace, Hypothesis, running_text
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import TEXT, Schema, number, one_of, optional, or_none, whole
from viz_transformer.widgets.base.shares import Shares
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, Unfolded
from viz_transformer.widgets.base.view import Answer, View, sendable
from viz_transformer.widgets.beam_stepper.payload import (
    SearchResult,
    candidate_texts,
    check_search,
    is_sampled,
    payload_bytes,
    recorded_attention,
    search_payload,
    widest_step,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "Each column is a step of the search. Every text in the beam is continued by each word, all "
    "continuations are ranked by log-probability, and only the best are kept, as many as the beam is "
    "wide: a branch is as high as its text is probable, and ✂ ends those that were pruned. A finished "
    "text is ranked by its score, the log-probability divided by a length norm, so that long texts can "
    "win; the last step shows the results. Greedy search keeps one text, and sampling draws each word: "
    "choose one above the picture. Point at a candidate, or choose it with a click or the arrow keys, to "
    "see whether it was kept and where the model looked."
)
#: The settings that an exported page carries beside those that are shown.
_WIDTHS = (1, 2, 4, 8)
_PENALTIES = (0.0, 0.6, 1.0)
_FILTERS = ({"temperature": 0.5}, {"temperature": 1.5}, {"top_k": 3}, {"top_p": 0.9})
_CACHED = 8  # searches


#: For each number that a search is made with, which values it may have.
_RANGES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "beam_width": (lambda value: 1 <= value <= BEAM_IN_VIEW.most, f"1 to {BEAM_IN_VIEW.most}"),
    "length_penalty": (lambda value: 0 <= value < math.inf, "0 or more"),
    "temperature": (lambda value: 0 < value < math.inf, "above 0"),
    "top_k": (lambda value: value is None or value >= 1, "1 or more, or None for all"),
    "top_p": (lambda value: value is None or 0 < value <= 1, "above 0, up to 1, or None for all"),
    "seed": (lambda value: value >= 0, "0 or more"),
}
#: The settings that a search is made with.
_SETTINGS = ("sentence", "method", *_RANGES)


class BeamStepper(View):
    """Walk through a beam search, or through the draws of a sampled text.

    What the viewer chooses is a trait, and setting the trait moves the view; all count from 0 (the
    view itself calls the first step "step 1").
    Make one with ``vt.beam_stepper(model, text)``, or of a search alone with
    ``BeamStepper(translator.decode(text, attention=True))``.

    >>> import viz_transformer as vt
    >>> stepper = vt.beam_stepper(vt.load_translator(), "the black cat sleeps")
    >>> stepper.step = 2
    >>> stepper.method, stepper.beam_width
    ('beam', 4)

    Attributes:
        sentence: what is translated or continued; of a search alone, its source or its prompt.
        task: ``"translate"``, or ``"continue"`` where the model has no source.
        decodes: whether the model has `decode` and `sample`, as ours have.
        checkpoint: the name of the search, or of the model, where there are several.
        checkpoints: their names.
        method: ``"beam"`` or ``"sample"``.
        beam_width: hypotheses followed, 1 to 100.
        length_penalty: 0 favours short texts; larger values favour longer ones.
        temperature: of sampling, above 0.
        top_k: of sampling, how many words are left; None leaves all.
        top_p: of sampling, the probability that is left, up to 1; None leaves all.
        seed: of the draws.
        step: the last step shown; by default the last there is.
        chosen: the candidate of that step, or None for the one that leads, at the end the best text's own.
        layer: whose attention is shown; by default the last.
        head: which head of it, or None for the mean of its heads.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.
        data: the searches that are known, ``[[request, reply], …]``, as the page reads them.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.beam_stepper(model, {sentence})"
    _call_sets = ("layer", "step")
    shares = Shares({"sentence": "sentence"})

    sentence = traitlets.Unicode(help="what is translated or continued").tag(sync=True)
    task = traitlets.Enum(("translate", "continue"), "translate", help="what the model does with it").tag(
        sync=True, content=True
    )
    decodes = traitlets.Bool(True, help="whether the model has decode").tag(sync=True, content=True)
    checkpoint = traitlets.Unicode(help="name of the search or the model").tag(sync=True)
    checkpoints = traitlets.List(traitlets.Unicode(), help="their names").tag(sync=True, content=True)
    method = traitlets.Enum(("beam", "sample"), "beam", help="way to write").tag(sync=True)
    beam_width = Index(4, help="hypotheses followed").tag(sync=True)
    length_penalty = traitlets.Float(0.6, help="of the scores, 0 or more").tag(sync=True)
    temperature = traitlets.Float(1.0, help="of sampling, above 0").tag(sync=True)
    top_k = Index(None, allow_none=True, help="words left to sample from").tag(sync=True)
    top_p = traitlets.Float(None, allow_none=True, help="probability left").tag(sync=True)
    seed = Index(0, help="of the draws").tag(sync=True)
    step = Index(help="the last step shown, counted from 0").tag(sync=True)
    chosen = Index(None, allow_none=True, help="candidate of the step").tag(sync=True)
    layer = Index(help="layer of the attention shown").tag(sync=True)
    head = Index(None, allow_none=True, help="head, or None: the mean").tag(sync=True)
    text_size = TextSize()
    unfolded = Unfolded("looks", "candidates")
    data: traitlets.List[Any] = traitlets.List(help="the searches that are known").tag(
        sync=True, content=True
    )

    _ready = False  # whether there is a search: while one is made, no choice can be checked

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
        several = isinstance(search, Mapping)
        searches = dict(search) if isinstance(search, Mapping) else {"": search}
        if not searches:
            raise UserError("there is no search to show; give {name: DecodeTrace, …}")
        for name, each in searches.items():
            check_search(each, f"search[{name!r}]" if several else "search")
        first = next(iter(searches.values()))
        text = _source_text(first) if sentence is None else sentence
        greedy_by_name = greedy if isinstance(greedy, Mapping) else dict.fromkeys(searches, greedy)
        self._cache: dict[str, SearchResult] = {}
        super().__init__(
            answer=answer,
            traits={
                "about": _ABOUT,
                "checkpoints": list(searches) if several else [],
                "task": "translate" if first.source_tokens else "continue",
                "method": "sample" if is_sampled(first) else "beam",
                "beam_width": widest_step(first) if beam_width is None else beam_width,
                "length_penalty": length_penalty,
            },
        )
        # Validators ask for the search, so the searches are known before any trait that needs them.
        data = []
        for name, each in searches.items():
            result = SearchResult(each, _best(greedy_by_name.get(name)))
            request = self._request(text=text, checkpoint=name)
            self._cache[_key(request)] = result
            data.append([request, search_payload(result)])
        self._given = dict(self._cache)
        self._last = next(iter(self._cache.values()))
        self.data = data
        self.checkpoint = next(iter(searches))
        self.sentence = text
        self._ready = True
        self.step = len(first.steps) - 1
        self.layer = max(0, _attention_shape(first)[1] - 1)

    @property
    def search(self) -> DecodeTrace:
        """The search that is shown: that of the settings, or if they have no answer, the last."""
        return self._result().search

    @property
    def shown_step(self) -> int:
        """The step that is shown: a shorter search has fewer, and a wrong one is refused later."""
        return max(0, min(self.step, len(self.search.steps) - 1))

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request, as the page would get it.

        Raises:
            UserError: if it cannot be answered: an unknown word, a width out of range.
        """
        return search_payload(self._search_for(request))

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        shared = {"text": TEXT, "checkpoint": optional(one_of(self.checkpoints))}
        sampled = {
            "temperature": number(0, 1e6),
            "top_k": or_none(whole(1)),
            "top_p": or_none(number(0, 1)),
            "seed": whole(-(2**63), 2**63),
        }
        searched = {"beam_width": whole(1, BEAM_IN_VIEW.most), "length_penalty": number(0, 100)}
        return (
            {**shared, "method": one_of(["beam"]), **searched},
            {**shared, "method": one_of(["sample"]), **sampled},
        )

    def questions(self) -> list[dict[str, Any]]:
        """Return requests for a few widths, penalties and ways to sample, beside what is given."""
        if not self.live:
            return []
        shared = {"text": self.sentence, **self._checkpoint()}
        beam = {"method": "beam", "beam_width": self.beam_width, "length_penalty": self.length_penalty}
        sample = {"method": "sample", "temperature": 1.0, "top_k": None, "top_p": None, "seed": self.seed}
        requests = [
            self._request(),
            *({**shared, **beam, "beam_width": width} for width in _WIDTHS),
            *({**shared, **beam, "length_penalty": penalty} for penalty in _PENALTIES),
            *({**shared, **sample, **change} for change in ({}, *_FILTERS)),
            *(self._request(checkpoint=name) for name in self.checkpoints),
        ]
        known = [request for request, _ in self.data]
        return [each for i, each in enumerate(requests) if each not in [*known, *requests[:i]]]

    def export_bytes(self) -> int:
        """Return about how many bytes the replies to `questions` take: the widest has the most."""
        widest = max(self.beam_width, *_WIDTHS)
        return len(self.questions()) * payload_bytes(self.search) * widest // max(1, self.beam_width)

    def figure(self) -> Figure:
        """Return what the view shows now as a matplotlib figure."""
        from viz_transformer.plots.beam import plot_beam, plot_distribution
        from viz_transformer.plots.figures import set_alt_text

        plot = plot_distribution if is_sampled(self.search) else plot_beam
        figure = cast("Figure", plot(self.search, self.shown_step).figure)
        set_alt_text(figure, self.alt_text())
        return figure

    def alt_text(self) -> str:
        """Return what the view shows now in words."""
        result, step = self._result(), self.shown_step
        search = result.search
        candidates = search.steps[step].candidates
        counts = [
            f"{n} {status}"
            for status in ("kept", "finished", "pruned", "forbidden")
            if (n := sum(one.status == status for one in candidates))
        ]
        text = (
            f"{'Draws' if result.sampled else 'Beam search'} for “{self.sentence}”, step "
            f"{step + 1} of {len(search.steps)}: {', '.join(counts)}."
        )
        if self.chosen is not None and self.chosen < len(candidates):
            chosen, tokens = candidates[self.chosen], candidate_texts(search)[step][self.chosen]
            text += f" Chosen: {running_text(tokens)}, {chosen.status}: {chosen.reason}."
        return f"{text} {_outcome(result)}"

    def __repr__(self) -> str:
        """Return what is chosen, for a log or a page that cannot show the view."""
        return f"BeamStepper({self.sentence!r}, method={self.method!r}, step={self.step})"

    def _checkpoint(self, name: str | None = None) -> dict[str, str]:
        """The part of a request that names the checkpoint, if there are several."""
        return {"checkpoint": self.checkpoint if name is None else name} if self.checkpoints else {}

    def _request(self, text: str | None = None, checkpoint: str | None = None) -> dict[str, Any]:
        """What is requested; only what matters to the method, so that equal requests are equal."""
        sampling = self.method == "sample"
        names = ["temperature", "top_k", "top_p", "seed"] if sampling else ["beam_width", "length_penalty"]
        return {
            "text": self.sentence if text is None else text,
            "method": self.method,
            **{name: getattr(self, name) for name in names},
            **self._checkpoint(checkpoint),
        }

    def _search_for(self, request: dict[str, Any]) -> SearchResult:
        """Return the result of a request, from the cache or from the model."""
        key = _key(request)
        if key not in self._cache:
            reply = super().answer(request)
            result = SearchResult(check_search(reply["search"]), _best(reply.get("greedy")))
            while len(self._cache) >= _CACHED + len(self._given):
                self._cache.pop(next(other for other in self._cache if other not in self._given))
            self._cache[key] = result
        return self._cache[key]

    def _result(self) -> SearchResult:
        """The result for the settings; while they have no answer, the last that there was."""
        try:
            self._last = self._search_for(self._request())
        except UserError:
            return self._last
        return self._last

    @traitlets.validate(*_RANGES)
    def _check_range(self, proposal: dict[str, Any]) -> float | None:
        name, value = proposal["trait"].name, proposal["value"]
        fits, expected = _RANGES[name]
        if not fits(value):
            raise SelectionError(f"{name}={value!r} must be {expected}")
        self._check_live(name, value)
        return value

    @traitlets.validate("method")
    def _check_method(self, proposal: dict[str, Any]) -> str:
        self._check_live("method", proposal["value"])
        return proposal["value"]

    @traitlets.validate("sentence", "checkpoint")
    def _check_text(self, proposal: dict[str, Any]) -> str:
        name, value = proposal["trait"].name, proposal["value"]
        if name == "checkpoint" and value not in (self.checkpoints or [""]):
            raise SelectionError(f"checkpoint={value!r}, but there are {self.checkpoints}")
        self._check_live(name, value)
        if self._ready and name == "sentence":
            try:
                self._search_for(self._request(text=value))
            except UserError as error:  # a TraitError, so that the old sentence stays
                raise SelectionError(str(error)) from error
        return value

    @traitlets.validate("step", "chosen", "layer", "head")
    def _check_index(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        if not self._ready or value is None:
            return value
        search = self.search
        _, n_layers, n_heads, _ = _attention_shape(search)
        size = {
            "step": len(search.steps),
            "chosen": len(search.steps[self.shown_step].candidates),
            "layer": n_layers,
            "head": n_heads,
        }[name]
        if not 0 <= value < max(1, size):
            raise SelectionError(
                f"{name}={value}, but there are {size} of these; choose 0 to {max(0, size - 1)}"
            )
        return value

    def _check_live(self, name: str, value: object) -> None:
        """Refuse to change what a search was made with, where there is no model to make another."""
        if self._ready and name in _SETTINGS and not self.live and value != getattr(self, name):
            raise SelectionError(
                f"{name}={value!r} asks for another search, and this view was made of finished "
                "ones; make it with vt.beam_stepper(translator, text)"
            )


def _best(search: DecodeTrace | None) -> Hypothesis | None:
    return search.hypotheses[0] if search else None


def _outcome(result: SearchResult) -> str:
    """Say what was found, and what greedy search writes where that is known."""
    best, greedy = result.search.hypotheses[0], result.greedy
    found = f"{'Drawn' if result.sampled else 'Found'}: “{running_text(best.tokens)}”"
    return f"{found}; greedy search writes “{running_text(greedy.tokens)}”." if greedy else f"{found}."


def _source_text(search: DecodeTrace) -> str:
    """What was translated or continued, without the end token."""
    tokens = search.source_tokens or search.prompt_tokens
    return running_text(sendable(tokens[:-1] if tokens[-1:] == (search.end_token,) else tokens))


def _attention_shape(search: DecodeTrace) -> tuple[int, ...]:
    """The sizes of the first step's attention, [hypothesis, layer, head, key]; 0 where there is none."""
    attention = recorded_attention(search)
    return (0, 0, 0, 0) if attention is None else attention[1][0].shape


def _key(request: dict[str, Any]) -> str:
    """One text for equal requests: the page writes 1 where Python has 1.0."""
    plain = {
        name: float(value) if isinstance(value, int | float) else value for name, value in request.items()
    }
    return json.dumps(plain, sort_keys=True)
