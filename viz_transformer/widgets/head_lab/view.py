"""The head lab: heads of a live model switched off or scaled, and the effect on its output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from viz_transformer.analysis import HeadEffect, effects_in_words, head_effects
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, TASKS, FloatArray, ForwardTrace, running_text
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import (
    TEXT,
    Schema,
    listed,
    number,
    one_of,
    optional,
    record,
    whole,
)
from viz_transformer.widgets.base.shares import HEAD, Shares
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, check_index
from viz_transformer.widgets.base.view import Answer, View, sendable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The range of a head's factor: from the negative of its output to twice that.
LEAST_FACTOR, MOST_FACTOR = -1.0, 2.0

_ABOUT = (
    "Each square is an attention head of a working model: a click chooses it, and a second one, or the "
    "switch on its arc, switches it off. The model is run again, also when you scale the head, and you "
    "see how the log-probability of every word changes. Attention is not an explanation: the table shows "
    "the change of the loss without each head beside the sharpness of its attention, and the two need not "
    "agree."
)
#: A weight that changes by less shows the same digits, in 16 bits too.
_MOVED = 1e-5
_PLACE = ("kind", "layer", "head")


class HeadLab(View):
    """Switch heads off or scale them, and see the model's answer and each word's probability change.

    What the viewer chooses is a trait, and setting the trait moves the view; all count from 0.
    ``vt.head_lab(model)`` makes one; ``vt.interventions_of(lab)`` returns the changes in
    the form that ``translator.translate`` and the like take.

    >>> import viz_transformer as vt
    >>> lab = vt.head_lab(vt.load_translator(), "the black cat sleeps")
    >>> lab.layer, lab.head = 1, 2

    Attributes:
        task: ``"translate"``, ``"continue"`` or ``"fill"``: what the model does with a text.
        sentence: the text: a sentence, the beginning of one, or one with a gap. Setting one that the
            model cannot read raises a UserError and changes nothing; if it was typed, the view
            explains why.
        factors: the changed heads, a list of ``{"kind", "layer", "head", "factor"}``: the head's
            output is multiplied by the factor, from −1 to 2. 0 switches it off; 1 changes
            nothing and is left out of the list.
        kind: the chosen head's kind, ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: its layer.
        head: its index in the layer.
        query: the pinned word of the chosen head's matrix (the token that attends), or None.
        metric: what is measured, of a Hugging Face model: one token, whose logit it is where the first word
            is written, or two, whose logits are subtracted; empty for the loss of the words.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.head_lab(model, {sentence})"
    shares = Shares({"sentence": "sentence", **HEAD, "query": "query"})

    sentence = traitlets.Unicode(help="the text that the model is given").tag(sync=True)
    task = traitlets.Enum(tuple(TASKS), "translate", help="what the model does with it").tag(
        sync=True, content=True
    )
    factors = traitlets.List(traitlets.Dict(), help="the changed heads").tag(sync=True)
    kind = traitlets.Unicode(help="encoder, decoder or cross").tag(sync=True)
    layer = Index(help="layer of the chosen head, counted from 0").tag(sync=True)
    head = Index(help="the chosen head, counted from 0").tag(sync=True)
    query = Index(None, allow_none=True, help="pinned query, counted from 0").tag(sync=True)
    text_size = TextSize()
    metric = traitlets.List(traitlets.Unicode(), help="the tokens that are measured").tag(sync=True)

    def __init__(
        self,
        answer: Answer,
        sentence: str,
        task: str = "translate",
        *,
        ranks_first: bool = True,
        metric: Sequence[str] = (),
    ) -> None:
        """Make a view of the model that `answer` runs; the head with the largest effect is chosen.

        Args:
            answer: given ``{"sentence": str, "changes": [{"kind", "layer", "head", "factor"}]}``,
                it returns what the model does under these changes: ``translation``, the words of
                its answer; ``trace``, the ForwardTrace of the unchanged model's answer;
                ``log_probs``, of each token that the model had to find in it; and ``output``,
                these tokens, by default those that a decoder writes. Given ``{"sentence", "each":
                factor}``, it returns ``log_probs`` and ``trace`` of the unchanged model, and under
                ``each``, for every kind, the log-probabilities with one head alone at that factor,
                ``[layer, head, token]``; with ``"kind"`` and ``"layer"`` in the request, of that layer
                alone. Given ``{"sentence", "apart": [change, …]}``, it returns
                under ``apart`` an iterator over the first reply for each change alone.
            sentence: the first sentence.
            task: ``"translate"``, ``"continue"`` or ``"fill"``.
            ranks_first: whether all heads are ranked before the view shows; else only those of the last
                layer are, and one of them is chosen. The page ranks the others.
            metric: tokens that are measured in place of the loss, at most two; then each request has them
                as ``metric``, and its reply a ``value``, and of each head alone ``values``.

        Raises:
            UserError: if the function cannot answer for the sentence.
        """
        trace = answer({"sentence": sentence, "changes": []})["trace"]
        self._known = self._newest = (sentence, trace)
        if ranks_first:
            most = _effects(answer({"sentence": sentence, "each": 0.0}))[0]
            place = {name: getattr(most, name) for name in _PLACE}
        else:
            kind = trace.kinds[-1]
            place = {"kind": kind, "layer": len(_weights_of(trace, kind)) - 1}
            reply = answer({"sentence": sentence, "each": 0.0, **place})
            losses = [_loss(each) - _loss(reply["log_probs"]) for each in reply["each"][kind][0]]
            place["head"] = int(np.abs(losses).argmax())
        super().__init__(answer=answer, traits={"about": _ABOUT, "task": task, "sentence": sentence, **place})
        self.metric = [*metric]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request, as the page would get it.

        Raises:
            UserError: if it cannot be answered: an unknown word, a head that is not there.
        """
        reply = super().answer(request)
        if request.get("changes") == []:
            self._newest = (request["sentence"], reply["trace"])  # which the page is about to choose
        if "each" not in request:
            return _words_payload(reply) | {"kinds": _payload(reply["trace"])}
        values = reply.get("values", {})
        each = {"each": [_each_payload(kind, each, values.get(kind)) for kind, each in reply["each"].items()]}
        if "layer" in request:  # the page has the rest
            return each
        return {
            "log_probs": [float(value) for value in reply["log_probs"]],
            "kinds": _payload(reply["trace"]),
            **each,
        }

    def replies(self, questions: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the replies that a page carries; those for one change alone are computed together.

        They hold the weights of those heads alone that the change moves, in 16 bits.
        """
        apart = [each["changes"][0] for each in questions if self._is_apart(each)]
        asked = {"sentence": self.sentence, "apart": apart, **self._measured}
        together = super().answer(asked)["apart"] if apart else ()
        found = iter(together)
        for question in questions:
            if self._is_apart(question):
                reply = next(found)
                yield _words_payload(reply) | {"moved": _moved_payload(reply["trace"], self._trace())}
            else:
                yield self.answer(question)

    def _is_apart(self, question: dict[str, Any]) -> bool:
        return len(question.get("changes", ())) == 1 and question["sentence"] == self.sentence

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        changed = {
            "kind": one_of(self._trace().kinds),
            "layer": whole(),
            "head": whole(),
            "factor": number(-2, 2),
        }
        given = {"sentence": TEXT, "metric": optional(listed(TEXT, 2))}
        return (
            {**given, "changes": listed(record(changed))},
            {**given, "each": number(-2, 2)},
            {**given, "each": number(-2, 2), "kind": changed["kind"], "layer": whole()},
        )

    def questions(self) -> list[dict[str, Any]]:
        """Return one request for each head alone switched off, and for what is shown now."""
        off = [[{**place, "factor": 0.0}] for place in self._heads()]
        changes = [[], *off, *([] if self.factors in [[], *off] else [self.factors])]
        return [
            {"sentence": self.sentence, "each": 0.0, **self._measured},
            *({"sentence": self.sentence, "changes": each, **self._measured} for each in changes),
        ]

    @property
    def _measured(self) -> dict[str, list[str]]:
        """The metric in a request; empty for the loss."""
        return {"metric": self.metric} if self.metric else {}

    def effects(self) -> tuple[HeadEffect, ...]:
        """Return the effect of each head alone on this sentence, the largest first."""
        return _effects(super().answer({"sentence": self.sentence, "each": 0.0, **self._measured}))

    def figure(self) -> Figure:
        """Return what the view shows now as a matplotlib figure: words, and heads."""
        from viz_transformer.plots.head_lab import plot_head_lab

        before, after = self._before_and_after()
        return plot_head_lab(
            before["output"],
            before["log_probs"],
            after["log_probs"],
            self.effects(),
            alt_text=self.alt_text(),
        )

    def alt_text(self) -> str:
        """Return what the view shows now in words."""
        before, after = self._before_and_after()
        said = f"“{self.sentence}” {TASKS[self.task].said} “{running_text(before['translation'])}”"
        if not self.factors:
            return f"{said} with every head as it is. {effects_in_words(self.effects())}"
        changed = ", ".join(
            f"{each['kind']} layer {each['layer']} head {each['head']} times {each['factor']:g}"
            for each in self.factors
        )
        change = np.subtract(after["log_probs"], before["log_probs"])
        most = int(np.abs(change).argmax())
        signed = f"{change[most]:+.3f}".replace("-", "−")
        return (
            f"{said}, and with {changed} as “{running_text(after['translation'])}”. "
            f"The loss goes from {_loss(before['log_probs']):.3f} to {_loss(after['log_probs']):.3f} "
            "nats per token; "
            f"the log-probability of “{before['output'][most]}” changes most, by {signed}."
        )

    def __repr__(self) -> str:
        """Return the state in short, for logs and where no view can be shown."""
        return f"HeadLab({self.sentence!r}, factors={self.factors!r})"

    def _before_and_after(self) -> tuple[dict[str, Any], dict[str, Any]]:
        before, after = (
            self.answer({"sentence": self.sentence, "changes": changes}) for changes in ([], self.factors)
        )
        return before, after

    def _trace(self) -> ForwardTrace:
        """Return the unchanged model's trace of the sentence, which has all sizes."""
        if self._known[0] != self.sentence:
            self._known = (self.sentence, self._read(self.sentence))
        return self._known[1]

    def _read(self, sentence: str) -> ForwardTrace:
        if sentence == self._newest[0]:
            return self._newest[1]
        try:
            return super().answer({"sentence": sentence, "changes": []})["trace"]
        except UserError as error:  # a TraitError, so that the old sentence stays
            raise SelectionError(str(error)) from error

    def _heads(self) -> list[dict[str, Any]]:
        return [
            {"kind": kind, "layer": layer, "head": head}
            for kind in self._trace().kinds
            for layer, head in np.ndindex(self._weights(kind).shape[:2])
        ]

    def _weights(self, kind: str) -> FloatArray:
        """Return the weights of a kind that the model has, float32 [layer, head, query, key]."""
        return _weights_of(self._trace(), kind)

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal: dict[str, Any]) -> str:
        sentence = proposal["value"]
        if sentence != self._known[0]:
            self._known = (sentence, self._read(sentence))
        return sentence

    @traitlets.validate("factors")
    def _check_factors(self, proposal: dict[str, Any]) -> list[dict[str, Any]]:
        heads = self._heads()
        checked = [_check_factor(each, heads) for each in proposal["value"]]
        places = [{name: each[name] for name in _PLACE} for each in checked]
        for place in places:
            if places.count(place) > 1:
                raise SelectionError(f"factors names {place} twice; give each head one factor")
        changed = [each for each in checked if each["factor"] != 1]
        return sorted(changed, key=lambda each: heads.index({name: each[name] for name in _PLACE}))

    @traitlets.validate("metric")
    def _check_metric(self, proposal: dict[str, Any]) -> list[str]:
        metric = proposal["value"]
        if len(metric) > 2:
            raise SelectionError(f"metric={metric!r:.60}; give a token, or two: right, wrong")
        if metric and not self._from_page:
            try:
                super().answer({"sentence": self.sentence, "changes": [], "metric": metric})
            except UserError as error:
                raise SelectionError(str(error)) from error
        return metric

    @traitlets.validate("kind")
    def _check_kind(self, proposal: dict[str, Any]) -> str:
        kinds = self._trace().kinds
        if proposal["value"] not in kinds:
            raise SelectionError(f"kind={proposal['value']!r}, but the model has {list(kinds)}")
        return proposal["value"]

    @traitlets.validate("layer", "head", "query")
    def _check_index(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        size = self._weights(self.kind).shape[("layer", "head", "query").index(name)]
        check_index(name, value, size, owner=f"the {self.kind} attention has")
        return value

    @traitlets.observe("sentence", "kind")
    def _fit_query(self, _: object) -> None:
        if self.kind and (self.query or 0) >= self._weights(self.kind).shape[2]:
            self.query = None


def _check_factor(given: Mapping[str, Any], heads: list[dict[str, Any]]) -> dict[str, Any]:
    place = {name: given.get(name) for name in _PLACE}
    if set(given) != {*_PLACE, "factor"} or place not in heads:
        last = heads[-1]
        raise SelectionError(
            f"{dict(given)!r:.80} is no head of this model; give such as { {**last, 'factor': 0} }"
        )
    factor = given["factor"]
    number = isinstance(factor, int | float | np.number) and not isinstance(factor, bool)
    if not number or not LEAST_FACTOR <= factor <= MOST_FACTOR:
        raise SelectionError(
            f"factor={factor!r} must be a number from {LEAST_FACTOR:g} to {MOST_FACTOR:g}; 0 "
            "switches the head off and 1 leaves it as it is"
        )
    return {**place, "factor": float(factor)}


def _effects(reply: Mapping[str, Any]) -> tuple[HeadEffect, ...]:
    whole = _loss(reply["log_probs"])
    changes = {kind: -np.mean(each, axis=-1) - whole for kind, each in reply["each"].items()}
    if "values" in reply:
        changes = {kind: each[..., 0] - reply["value"] for kind, each in reply["values"].items()}
    return head_effects(reply["trace"], changes)


def _loss(log_probs: Iterable[float]) -> float:
    """Return the mean negative log-probability, in nats per token."""
    return float(-np.mean(list(log_probs)))


def _weights_of(trace: ForwardTrace, kind: str) -> FloatArray:
    weights = trace.attention(kind)
    if weights is None:
        raise SelectionError(f"kind={kind!r}, but the model has {list(trace.kinds)}")
    return weights


def _payload(trace: ForwardTrace) -> list[dict[str, Any]]:
    """Return each kind's words and weights, float32 ``[layer, head, query, key]`` as bytes.

    ``queries`` are the words by which queries are named, and ``reads`` those that were read there.
    """
    return [
        {
            "kind": kind,
            "queries": sendable(trace.query_tokens(kind)),
            "reads": sendable(trace.source_tokens if KINDS[kind].query == "source" else trace.target_tokens),
            "keys": sendable(trace.key_tokens(kind)),
            "shape": list(_weights_of(trace, kind).shape),
            "dtype": "float32",
            "weights": _weights_of(trace, kind).astype("<f4").tobytes(),
        }
        for kind in trace.kinds
    ]


def _words_payload(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words of a reply, and their log-probabilities."""
    return {
        "log_probs": [float(value) for value in reply["log_probs"]],
        "translation": sendable(reply["translation"]),
        "output": sendable(reply.get("output", reply["trace"].query_tokens("decoder"))),
        **{name: reply[name] for name in ("value", "shares") if name in reply},
        **({"likeliest": sendable(reply["likeliest"])} if "likeliest" in reply else {}),
    }


def _moved_payload(trace: ForwardTrace, before: ForwardTrace) -> list[dict[str, Any]]:
    """Return the weights that are no longer those of another trace of the same words.

    For each kind ``heads``, the flat numbers of the heads that moved, and their weights, float16
    ``[head, query, key]`` as bytes; if ``causal``, without the keys after each query.
    """
    moved = []
    for kind in trace.kinds:
        was, now = (_weights_of(each, kind) for each in (before, trace))  # [layer, head, query, key]
        shape = (-1, *now.shape[2:])
        differs = np.abs(now - was).max(axis=(2, 3)).ravel() >= _MOVED  # [layer · head]
        heads = np.flatnonzero(differs)
        weights = now.reshape(shape)[heads]  # [moved head, query, key]
        causal = now.shape[2] == now.shape[3] and not np.triu(was, 1).any() and not np.triu(now, 1).any()
        if causal:
            weights = weights[:, *np.tril_indices(now.shape[2])]  # [moved head, query · key up to it]
        moved.append(
            {
                "kind": kind,
                "heads": heads.tolist(),
                "causal": causal,
                "weights": weights.astype("<f2").tobytes(),
            }
        )
    return moved


def _each_payload(
    kind: str, log_probs: NDArray[np.float64], values: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Return the log-probabilities with one head changed at a time, float64 ``[layer, head, token]``.

    ``values`` are those of the metric, if one is measured, float64 ``[layer, head, 1]``.
    """
    measured = {} if values is None else {"values": np.asarray(values, "<f8").tobytes()}
    return {
        **measured,
        "kind": kind,
        "shape": list(np.shape(log_probs)),
        "log_probs": np.asarray(log_probs, "<f8").tobytes(),
    }
