"""The trace of a search: its hypotheses and candidates, step by step."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from viz_transformer._shared import SHARED
from viz_transformer.errors import UserError
from viz_transformer.trace.field_types import check_types
from viz_transformer.trace.files import load_trace, save_trace
from viz_transformer.trace.forward import FloatArray, ForwardTrace
from viz_transformer.trace.summary import search_as_text

#: What may become of a candidate.
STATUSES = tuple(SHARED["statuses"])
_ATTENTION = ("decoder_attention", "cross_attention")


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One finished text.

    >>> import viz_transformer as vt
    >>> found = vt.load_translator().decode("the black cat sleeps", beam_width=2)
    >>> found.hypotheses[0].tokens
    ('el', 'gato', 'negro', 'duerme')

    Attributes:
        ids: token ids, without ``<sos>`` and ``<eos>``.
        tokens: the same as strings.
        log_prob: natural log-probability of the tokens and the ``<eos>`` after them, in nats.
        score: `log_prob` divided by the length norm (Wu et al. 2016, section 7).
        path: at each step, which candidate it was; empty where steps were not recorded.
    """

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    log_prob: float
    score: float
    path: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One continuation that beam search considered at a step.

    >>> import viz_transformer as vt
    >>> found = vt.load_translator().decode("the black cat sleeps", beam_width=2)
    >>> candidate = found.steps[0].candidates[0]
    >>> candidate.token, candidate.status
    ('el', 'kept')

    Attributes:
        parent: index, among the previous step's kept candidates, of the one that it continues.
        token: the token added.
        log_prob: natural log-probability of the whole hypothesis so far, in nats.
        score: `log_prob` divided by the length norm.
        status: ``"kept"``, ``"finished"``, ``"pruned"`` or ``"forbidden"``.
        reason: why, in words.
        token_log_prob: natural log-probability of the token alone, in nats.
        beaten_by: index in this step of the candidate whose place it would have needed, or None.
        margin: by how many nats it is behind that one, or None.
        share: in sampling, the probability with which it could be drawn; 0 if it was left out.
    """

    parent: int
    token: str
    log_prob: float
    score: float
    status: str
    reason: str
    token_log_prob: float
    beaten_by: int | None = None
    margin: float | None = None
    share: float | None = None


@dataclass(frozen=True, kw_only=True)
class Probable:
    """A word that was probable, whether or not it might be written; `log_prob` in nats.

    >>> import viz_transformer as vt
    >>> found = vt.load_translator().decode("the black cat sleeps", beam_width=2)
    >>> found.steps[0].probable[0][0].token
    'el'

    Attributes:
        token: the word.
        log_prob: its log-probability, in nats.
    """

    token: str
    log_prob: float


@dataclass(frozen=True, kw_only=True, eq=False)
class DecodeStep:
    """One step: from the hypotheses kept so far to those kept next.

    >>> import viz_transformer as vt
    >>> found = vt.load_translator().decode("the black cat sleeps", beam_width=2)
    >>> len(found.steps[1].candidates) > 1
    True

    Attributes:
        candidates: the continuations considered, best first, then those that were forbidden.
        probable: for each hypothesis kept so far the most probable words, best first.
        decoder_attention: float32 [hypothesis, layer, head, target], what each attended to in the
            text so far while it wrote; None where that was not recorded.
        cross_attention: float32 [hypothesis, layer, head, source], the same of the source.
    """

    candidates: tuple[Candidate, ...]
    probable: tuple[tuple[Probable, ...], ...] = ()
    decoder_attention: FloatArray | None = None
    cross_attention: FloatArray | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DecodeTrace:
    """How a search found a text: the finished hypotheses, best first, and each step's candidates.

    >>> import viz_transformer as vt
    >>> found = vt.load_translator().decode("the black cat sleeps", beam_width=3)
    >>> found.hypotheses[0].tokens
    ('el', 'gato', 'negro', 'duerme')

    Attributes:
        source_tokens: what the encoder read; empty for a decoder alone.
        hypotheses: the finished texts, best first.
        steps: what was considered; empty where that was not recorded.
        prompt_tokens: what the decoder had read before it wrote: ``<sos>``, or a text to continue.
        end_token: what ends a text.
        prompt_attention: float32 [layer, head, prompt - 1, prompt], what all but the last of the
            prompt's tokens attended to; None where that was not recorded, or there is only one.
    """

    source_tokens: tuple[str, ...]
    hypotheses: tuple[Hypothesis, ...]
    steps: tuple[DecodeStep, ...] = ()
    prompt_tokens: tuple[str, ...] = ("<sos>",)
    end_token: str = "<eos>"
    prompt_attention: FloatArray | None = None

    __repr__ = search_as_text

    def __post_init__(self) -> None:
        """Refuse parts that are not what they should be, or do not fit each other.

        Raises:
            UserError: if there are any.
        """
        check_types(self)
        n_kept = 1
        layers_heads: dict[str, tuple[int | None, ...]] = {}  # of the first step, which all share
        places: dict[str, tuple[FloatArray | None, tuple[int | None, ...]]] = {}
        for number, step in enumerate(self.steps):
            _check_step(step, number, n_kept)
            n_read, n_kept = n_kept, sum(one.status == "kept" for one in step.candidates)
            lengths = (len(self.prompt_tokens) + number, len(self.source_tokens))
            for name, keys in zip(_ATTENTION, lengths, strict=True):
                attention = getattr(step, name)  # [hypothesis, layer, head, key]
                same = layers_heads.setdefault(name, getattr(attention, "shape", (None,) * 4)[1:3])
                places[f"{name} of step {number}"] = attention, (n_read, *same, keys)
        n_prompt = len(self.prompt_tokens)
        places["prompt_attention"] = self.prompt_attention, (None, None, n_prompt - 1, n_prompt)
        for where, (attention, shape) in places.items():
            if attention is not None and not _has_shape(attention, shape):
                raise UserError(
                    f"{where} has shape {list(attention.shape)}, which does not fit its tokens or the other "
                    "steps; decode again"
                )
        for rank, hypothesis in enumerate(self.hypotheses):
            _check_path(hypothesis, rank, self.steps)

    def forward_trace(self, rank: int = 0) -> ForwardTrace:
        """Stitch the attention of one finished hypothesis from the steps that wrote it.

        It equals the attention of the decoder in one teacher-forced pass over the finished text. The
        last token of a text that was cut at the maximum length was written and never read.

        Args:
            rank: which hypothesis, 0 the best.

        Raises:
            UserError: if there is no such hypothesis, or the search did not record attention.
        """
        if not 0 <= rank < len(self.hypotheses):
            raise UserError(
                f"rank={rank!r}, but there are {len(self.hypotheses)} finished hypotheses; "
                f"choose 0 to {len(self.hypotheses) - 1}"
            )
        first = _recorded(self.steps[0].decoder_attention if self.steps else None)
        hypothesis = self.hypotheses[rank]
        chosen = zip(self.steps, hypothesis.path, strict=False)
        rows = [(step, step.candidates[index].parent) for step, index in chosen]
        n_before = len(self.prompt_tokens) - 1
        length = n_before + len(rows)
        n_layers, n_heads = first.shape[1:3]
        decoder = np.zeros((n_layers, n_heads, length, length), np.float32)  # later keys stay 0
        if self.prompt_attention is not None:
            decoder[:, :, :n_before, : n_before + 1] = self.prompt_attention
        for query, (step, parent) in enumerate(rows, start=n_before):
            decoder[:, :, query, : query + 1] = _recorded(step.decoder_attention)[parent]
        cross = None
        if self.steps[0].cross_attention is not None:
            cross = np.stack([_recorded(step.cross_attention)[parent] for step, parent in rows], axis=2)
        text = (*self.prompt_tokens, *hypothesis.tokens, self.end_token)[: length + 1]
        return ForwardTrace(
            source_tokens=self.source_tokens,
            target_tokens=text[:-1],
            output_tokens=text[1:],
            decoder_attention=decoder,
            cross_attention=cross,
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace as one ``.npz`` file (no pickle), whole or not at all.

        Raises:
            FileError: if the file cannot be written.
        """
        return save_trace(path, "DecodeTrace", *_pack(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, checked: bool = True) -> DecodeTrace:
        """Read a trace that `save` wrote; needs no torch and no model.

        Args:
            path: the file.
            checked: whether its content must be what was saved; False loads a changed one as it is.

        Raises:
            FileError: if the file is missing, damaged or not a saved DecodeTrace.
        """
        return load_trace(path, "DecodeTrace", _unpack, checked=checked)


def _check_step(step: DecodeStep, number: int, n_kept: int) -> None:
    """Refuse a step whose candidates continue, or lost to, what is not there.

    Args:
        step: the step.
        number: from 0.
        n_kept: how many candidates the step before kept.
    """
    n = len(step.candidates)
    if not n:
        raise UserError(f"step {number} has no candidate; decode again")
    for one in step.candidates:
        if one.status not in STATUSES:
            some = ", ".join(STATUSES)
            raise UserError(f"step {number} has the status {one.status!r:.40}; it is one of {some}")
        if not 0 <= one.parent < n_kept or not 0 <= (one.beaten_by or 0) < n:
            raise UserError(
                f"step {number} has a candidate of parent {one.parent} beaten by {one.beaten_by}, where "
                f"{n_kept} were kept and {n} considered; decode again"
            )


def _check_path(hypothesis: Hypothesis, rank: int, steps: tuple[DecodeStep, ...]) -> None:
    """Refuse a hypothesis whose path leads through candidates that are not there."""
    fits = len(hypothesis.ids) == len(hypothesis.tokens)
    fits = fits and (not steps or len(hypothesis.path) <= len(steps))
    chosen = zip(hypothesis.path, steps, strict=False)
    if not fits or not all(0 <= index < len(step.candidates) for index, step in chosen):
        raise UserError(
            f"hypothesis {rank} has {len(hypothesis.ids)} ids, {len(hypothesis.tokens)} tokens and the path "
            f"{list(hypothesis.path)!r:.60}, which do not fit each other and the steps; decode again"
        )


def _has_shape(array: FloatArray, shape: tuple[int | None, ...]) -> bool:
    """Whether an array has the shape, where None stands for any size from 1."""
    return array.ndim == len(shape) and all(
        have == want if want is not None else have for have, want in zip(array.shape, shape, strict=True)
    )


def _recorded(attention: FloatArray | None) -> FloatArray:
    if attention is None:
        raise UserError("this search did not record attention; decode with beam_search(..., attention=True)")
    return attention


def _pack(trace: DecodeTrace) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Return a trace as JSON's own types and arrays; an array's name is its place."""
    arrays = {}
    if trace.prompt_attention is not None:
        arrays["prompt_attention"] = trace.prompt_attention
    steps = []
    for index, step in enumerate(trace.steps):
        for name in _ATTENTION:
            if getattr(step, name) is not None:
                arrays[f"{index}/{name}"] = getattr(step, name)
        candidates = [asdict(candidate) for candidate in step.candidates]
        probable = [[asdict(word) for word in words] for words in step.probable]
        steps.append({"candidates": candidates, "probable": probable})
    plain = {
        "source_tokens": trace.source_tokens,
        "hypotheses": [asdict(hypothesis) for hypothesis in trace.hypotheses],
        "steps": steps,
        "prompt_tokens": trace.prompt_tokens,
        "end_token": trace.end_token,
    }
    return plain, arrays


def _unpack(plain: dict[str, Any], arrays: dict[str, FloatArray]) -> DecodeTrace:
    steps = tuple(
        DecodeStep(
            candidates=tuple(Candidate(**each) for each in step["candidates"]),
            probable=tuple(tuple(Probable(**w) for w in words) for words in step["probable"]),
            **{name: arrays.get(f"{index}/{name}") for name in _ATTENTION},
        )
        for index, step in enumerate(plain["steps"])
    )
    hypotheses = tuple(
        Hypothesis(
            ids=tuple(each.pop("ids")),
            tokens=tuple(each.pop("tokens")),
            path=tuple(each.pop("path")),
            **each,
        )
        for each in plain["hypotheses"]
    )
    return DecodeTrace(
        source_tokens=tuple(plain["source_tokens"]),
        hypotheses=hypotheses,
        steps=steps,
        prompt_tokens=tuple(plain["prompt_tokens"]),
        end_token=plain["end_token"],
        prompt_attention=arrays.get("prompt_attention"),
    )
