"""What an attribution found about one prompt: a logit lens, the parts of a logit, a patching map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.errors import UserError


@dataclass(frozen=True, kw_only=True, eq=False)
class LogitLens:
    """What a model would write if it stopped after each layer.

    Row 0 is what enters the first layer, row *i* what layer *i* − 1 leaves; the last row is the
    model's own answer. A masked model fills each position; the others write what follows it.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> lens = vt.attribution.logit_lens(model.model, "el gato", tokenizer=model.vocabulary)
    >>> lens.tokens, lens.answer_ranks[-1].tolist()  # the last row is the answer itself
    (('<sos>', 'el', 'gato'), [1, 1, 1])

    Attributes:
        tokens: the prompt, [position]; of an encoder–decoder, what the decoder reads; of a picture or a
            sound, its positions' numbers.
        top_tokens: the likeliest tokens, [row, position, k], the likeliest first.
        top_probabilities: float32 [row, position, k].
        answers: the token that is followed through the layers, one for each position.
        answer_probabilities: float32 [row, position].
        answer_ranks: int [row, position], from 1, the likeliest.
        metric: what is measured besides, in words, or None.
        values: the metric at each place, float32 [row, position], or None.
    """

    tokens: tuple[str, ...]
    top_tokens: NDArray[np.str_]
    top_probabilities: NDArray[np.float32]
    answers: tuple[str, ...]
    answer_probabilities: NDArray[np.float32]
    answer_ranks: NDArray[np.int64]
    metric: str | None = None
    values: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit each other, and keep read-only copies."""
        n_rows, n_positions = len(self.top_tokens), len(self.tokens)
        k = self.top_tokens.shape[-1]
        _freeze(
            self,
            top_tokens=(n_rows, n_positions, k),
            top_probabilities=(n_rows, n_positions, k),
            answer_probabilities=(n_rows, n_positions),
            answer_ranks=(n_rows, n_positions),
        )
        if self.values is not None:
            _freeze(self, values=(n_rows, n_positions))

    @property
    def rows(self) -> tuple[str, ...]:
        """The name of each row: ``"embedding"``, ``"layer 0"``, ``"layer 1"`` …"""
        return ("embedding", *(f"layer {layer}" for layer in range(len(self.top_tokens) - 1)))


@dataclass(frozen=True, kw_only=True, eq=False)
class LogitAttribution:
    """The parts of one logit, or of the difference of two: they add up to it.

    >>> import viz_transformer as vt
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import DecoderOnly
    >>> config = ModelConfig(family="decoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16, norm="pre")
    >>> parts = vt.attribution.direct_logit_attribution(DecoderOnly(config), [1, 5, 7])
    >>> parts.heads.shape  # layers, heads
    (6, 2)

    Attributes:
        tokens: the prompt, [position].
        position: where the logit is, from 0; of a classifier, the class token.
        token: the next token, or the class, that the logit scores.
        against: the token whose logit is subtracted, or None.
        heads: what each head adds, float32 [layer, head].
        cross_heads: what each head of the decoder's cross-attention adds, likewise; None without one.
        mlps: what each layer's feed-forward network adds, float32 [layer].
        embedding: what the vector that enters the first layer adds: word and position.
        bias: what does not depend on the prompt: the biases of the attention's output
            projections, of the norms and of the logits.
        logit: the model's own number.
    """

    tokens: tuple[str, ...]
    position: int
    token: str
    against: str | None
    heads: NDArray[np.float32]
    mlps: NDArray[np.float32]
    embedding: float
    bias: float
    logit: float
    cross_heads: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit each other, and keep read-only copies."""
        n_layers = len(self.heads)
        _freeze(self, heads=(n_layers, self.heads.shape[-1]), mlps=(n_layers,))
        if self.cross_heads is not None:
            _freeze(self, cross_heads=(n_layers, self.cross_heads.shape[-1]))

    @property
    def target(self) -> str:
        """What is explained: ``"logit of X"`` or ``"logit of X − Y"``."""
        return f"logit of {self.token}" + ("" if self.against is None else f" − {self.against}")

    @property
    def total(self) -> float:
        """The sum of all parts, in float64: `logit` up to rounding."""
        arrays = [self.heads, self.mlps, *([] if self.cross_heads is None else [self.cross_heads])]
        return float(sum(each.sum(dtype=np.float64) for each in arrays) + self.embedding + self.bias)


@dataclass(frozen=True, kw_only=True, eq=False)
class PatchingMap:
    """How much of a clean run's answer each part brings back into a corrupted run.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> options = {"metric": "duerme", "tokenizer": model.vocabulary}
    >>> found = vt.attribution.patching(model.model, "el gato", "la vaca", **options)
    >>> found.what, found.values.shape
    ('heads', (2, 4))

    Attributes:
        what: ``"heads"``, or ``"positions"`` of the residual stream before each layer.
        kind: the heads' kind of attention; of a stream, ``"encoder"`` or ``"decoder"``.
        values: the metric of each patched run, float64 [layer, head] or [layer, position].
        clean: the metric of the clean run.
        corrupted: the metric of the corrupted run.
        metric: what was measured, in words.
        clean_tokens: the clean prompt, [position], as the patched layers read it; where several positions
            were patched together, the first and the last of each group.
        corrupted_tokens: the corrupted prompt, likewise.
    """

    what: str
    values: NDArray[np.float64]
    clean: float
    corrupted: float
    metric: str
    clean_tokens: tuple[str, ...]
    corrupted_tokens: tuple[str, ...]
    kind: str = "decoder"

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit each other, and keep read-only copies."""
        n_columns = len(self.clean_tokens) if self.what == "positions" else self.values.shape[-1]
        _freeze(self, values=(len(self.values), n_columns))

    @property
    def restored(self) -> NDArray[np.float64]:
        """The values on a scale where the corrupted run is 0 and the clean run is 1."""
        return (self.values - self.corrupted) / (self.clean - self.corrupted)

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of each column: the head's number, or the token, "clean|corrupted" where they differ."""
        if self.what == "heads":
            return tuple(map(str, range(self.values.shape[1])))
        pairs = zip(self.clean_tokens, self.corrupted_tokens, strict=True)
        return tuple(clean if clean == corrupted else f"{clean}|{corrupted}" for clean, corrupted in pairs)


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoreParts:
    """The parts of the score of one query with one key: they add up to it.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> options = {"tokenizer": model.vocabulary, "layer": 1, "head": 0}
    >>> parts = vt.attribution.score_parts(model.model, "el gato duerme", query=3, key=2, **options)
    >>> parts.values.shape == (len(parts.query_parts), len(parts.key_parts))
    True

    Attributes:
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: the head's layer, as the model counts.
        head: counted from 0.
        query: the position that looks.
        key: the position that is looked at.
        query_tokens: the tokens along the queries, [query].
        key_tokens: the tokens along the keys, [key].
        query_parts: what the query was made of: ``"embedding"``, or ``"word"`` and ``"position"``; then
            ``"head 0·1"`` (layer, head), ``"cross head 0·1"``, ``"network 0"`` …; the last is ``"biases"``.
        key_parts: what the key was made of, likewise.
        values: what each pair adds to the score, float64 [query part, key part].
        remainder: what the model adds to the score besides, such as the bias of a relative position.
        score: the model's own, before the softmax.
        raised: the tokens whose logits the head's output at the query raises most, each with how much, by
            its direct way and with all norms kept as they are; empty where the stack writes none.
        lowered: those that it lowers most, likewise.
    """

    kind: str
    layer: int
    head: int
    query: int
    key: int
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    query_parts: tuple[str, ...]
    key_parts: tuple[str, ...]
    values: NDArray[np.float64]
    remainder: float
    score: float
    raised: tuple[tuple[str, float], ...] = ()
    lowered: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit each other, and keep read-only copies."""
        _freeze(self, values=(len(self.query_parts), len(self.key_parts)))

    @property
    def by_query(self) -> NDArray[np.float64]:
        """What each part of the query adds, with all of the key, [query part]."""
        return self.values.sum(1)

    @property
    def by_key(self) -> NDArray[np.float64]:
        """What each part of the key adds, with all of the query, [key part]."""
        return self.values.sum(0)

    def shortened(self, most: int) -> ScoreParts:
        """Return the same score with fewer parts on either side: the largest, all others as one, the biases.

        Args:
            most: how many parts a side may have, at least 3.
        """
        names, sums = [], []  # [side]
        for of_side, sizes in (
            (self.query_parts, np.abs(self.by_query)),
            (self.key_parts, np.abs(self.by_key)),
        ):
            n_parts = len(of_side)
            kept = [*range(n_parts - 1)]
            if n_parts > most:
                kept = sorted(np.argsort(-sizes[:-1], kind="stable")[: most - 2].tolist())
            others = [part for part in range(n_parts - 1) if part not in kept]
            groups = [*([part] for part in kept), *([others] if others else []), [n_parts - 1]]
            told = [f"{len(others)} others"] if others else []
            names.append((*(of_side[part] for part in kept), *told, of_side[-1]))
            sums.append(np.array([np.isin(range(n_parts), group) for group in groups], dtype=float))
        values = sums[0] @ self.values @ sums[1].T  # [query group, key group]
        return replace(self, query_parts=names[0], key_parts=names[1], values=values)

    def __repr__(self) -> str:
        """Return the score and its largest pairs."""
        query, key = self.query_tokens[self.query], self.key_tokens[self.key]
        order = np.argsort(-np.abs(self.values), axis=None)[:5]
        pairs = [
            f"  {self.values[i, j]:+8.2f}  {self.query_parts[i]} at {query} with {self.key_parts[j]} at {key}"
            for i, j in zip(*np.unravel_index(order, self.values.shape), strict=True)
        ]
        whole = f"head {self.layer}·{self.head}: the score of {key} for {query} is {self.score:.2f}"
        return "\n".join([whole, *pairs])


def _freeze(record: Any, **shapes: tuple[int, ...]) -> None:
    """Check each array's shape, and keep a read-only copy."""
    for name, shape in shapes.items():
        array = np.array(getattr(record, name))  # a copy: what was found does not change later
        if array.shape != shape:
            raise UserError(
                f"{name} of this {type(record).__name__} has shape {list(array.shape)}, but the "
                f"tokens and layers need {list(shape)}; give one value for each"
            )
        array.setflags(write=False)
        object.__setattr__(record, name, array)
