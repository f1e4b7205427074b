"""Names for heads that do one thing, each with its evidence; other heads stay unnamed.

Most heads do several things at once, and in a short sentence almost any pattern can look like a
rule. So a name needs two kinds of evidence, and a head that lacks one of them stays unnamed:

- *strength*: the head puts at least `MIN_WEIGHT` of its weight where the name says, mean over the
  rows, so that no other name could claim as much;
- *more than chance*: heads that know nothing of the pattern, attending evenly or to keys picked
  blindly, would reach that mean with a probability of `MAX_CHANCE` at most. In four words
  everything is possible, so a short sentence names no head.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.head_patterns import Pattern, head_patterns
from viz_transformer.analysis.measures import (
    Float64,
    as_weights,
    attending,
    entropy_bits,
    entropy_share,
    reachable_keys,
)
from viz_transformer.errors import UserError
from viz_transformer.trace import FloatArray, ForwardTrace, shares_of

#: The share of its weight that a head must put where its name says, mean over the rows. Above one
#: half, a mixture of two patterns is neither.
MIN_WEIGHT = 0.6
#: The greatest probability with which blind looking may reach the same mean.
MAX_CHANCE = 0.001
#: The entropy, as a share of its maximum, from which a head is broad. Scores drawn from
#: N(0, 1) leave about 0.8.
MIN_ENTROPY_SHARE = 0.92
#: The fewest rows from which a head is called broad.
MIN_ROWS = 6


@dataclass(frozen=True)
class HeadLabel:
    """A head's name and what speaks for it.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> look = np.eye(8, k=-1)[None, None]  # each word looks at the one before it
    >>> look[..., 0, 0] = 1
    >>> trace = vt.ForwardTrace(source_tokens=list("abcdefgh"), encoder_attention=look)
    >>> vt.analysis.label_heads(trace, "encoder")[0][0].name
    'previous token'

    Attributes:
        name: one of those that `label_heads` explains, such as ``"previous token"``.
        evidence: from 0 to 1; the mean weight on the keys that the name means, or for ``"broad"``
            the mean entropy as a share of its maximum.
        uniform: what the evidence would be if every query looked evenly at all its keys.
        n_rows: how many queries the mean is over.
        sentence: all of this in words.
    """

    name: str
    evidence: float
    uniform: float
    n_rows: int
    sentence: str


def label_heads(trace: ForwardTrace, kind: str) -> tuple[tuple[HeadLabel | None, ...], ...]:
    """Name each head that does one thing: ``[layer][head]``, None where the evidence is weak.

    Self-attention (encoder, decoder) can be

    - ``"previous token"``, ``"next token"``, ``"same token"`` (the same position), or at another
      distance ``"offset −2"``, ``"offset +3"`` and so on, up to 8;
    - ``"first-token sink"`` or ``"last-token sink"`` (encoder only);
    - ``"duplicate token"``: other copies of the same token; in a decoder, earlier ones;
    - ``"induction"`` (decoder only): the token after an earlier copy of the one just read;
    - ``"same word"`` (encoder only): the other pieces of the same word, where words are known;
    - ``"separator"``: punctuation, ``[SEP]``, ``<eos>`` and their like;
    - ``"broad"``: nearly evenly on all keys.

    Cross-attention can be ``"diagonal alignment"`` (within one position of the straight line from
    the first pair of words to the last), a sink, ``"separator"`` or ``"broad"``.

    A row counts only where no other name means the same key. The first two queries do not count
    towards the first four names: to them the previous token is the first, or they are it; nor the
    last two towards the last token. Where a text repeats itself at one distance alone, a copy and
    an offset cannot be told apart, and the copy gives the name; `head_scores` draws such texts at
    several distances.

    The evidence is from this one sentence. Before calling it a trait of the model, look at more.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> vt.analysis.label_heads(trace, "decoder")[0][1] is None  # too few words for a name
    True

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if the trace lacks the kind, or holds no attention weights there.

    Source: the patterns are those of Voita et al. 2019 (positional heads), Xiao et al. 2023
    (attention sinks), Clark et al. 2019 (broad heads, heads that rest on separators) and Olsson et
    al. 2022 (copies and induction);
    "more than chance" is the bound of Chernoff 1952 as Hoeffding 1963 (theorem 1) has it for
    numbers between 0 and 1.
    """
    return label_heads_together([trace], kind)


def label_heads_together(
    traces: Sequence[ForwardTrace], kind: str
) -> tuple[tuple[HeadLabel | None, ...], ...]:
    """Name each head as `label_heads` does, from the rows of several sentences taken together.

    A name from many sentences is a trait of the model. With many rows, little more than chance is
    enough: read the evidence beside what even attention would give, `HeadLabel.uniform`.

    >>> import viz_transformer as vt
    >>> translator = vt.load_translator()
    >>> traces = [translator.trace(text) for text in ("the black cat sleeps", "the dog sees the cat")]
    >>> labels = vt.analysis.label_heads_together(traces, "decoder")
    >>> len(labels), len(labels[0])  # layers, heads
    (2, 4)

    Args:
        traces: of one model.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: as `label_heads`, or if there is no trace, or they differ in layers or heads.
    """
    every = [shares_of(trace, kind) for trace in traces]  # each [layer, head, query, key]
    shapes = {weights.shape[:2] for weights in every}
    if len(shapes) != 1:
        raise UserError(
            f"{len(every)} traces have {len(shapes)} different numbers of layers and heads; give "
            "the traces of one model, at least one"
        )
    reachable = [reachable_keys(weights, kind) for weights in every]  # each [query]
    patterns = [head_patterns(trace, kind) for trace in traces]
    n_layers, n_heads = shapes.pop()
    # Head by head: float64 of all at once could fill the memory.
    return tuple(
        tuple(
            _label([_rows_of(weights[layer, head]) for weights in every], reachable, patterns)
            for head in range(n_heads)
        )
        for layer in range(n_layers)
    )


def labels_and_entropies(
    trace: ForwardTrace, kind: str
) -> tuple[list[list[HeadLabel | None]], NDArray[np.float64]]:
    """Return `label_heads` and `head_entropy_share` of a trace, each head read once.

    Raises:
        UserError: as they do.
    """
    weights = shares_of(trace, kind)  # [layer, head, query, key]
    reachable, patterns = reachable_keys(weights, kind), head_patterns(trace, kind)
    shares = np.empty(weights.shape[:2])  # [layer, head]
    labels: list[list[HeadLabel | None]] = []
    for layer, heads in enumerate(weights):
        labels.append([])
        for head, matrix in enumerate(heads):
            rows = _rows_of(matrix)
            labels[-1].append(_label([rows], [reachable], [patterns]))
            shares[layer, head] = entropy_share(rows.entropies, rows.attends, reachable)
    return labels, shares


class _Rows(NamedTuple):
    """A head's weights ``[query, key]``, which queries attend, and their entropies in bits ``[query]``."""

    weights: Float64
    attends: NDArray[np.bool_]
    entropies: Float64


def _rows_of(head: FloatArray) -> _Rows:
    weights = as_weights(head)
    return _Rows(weights, attending(weights), entropy_bits(weights))


def _label(
    heads: Sequence[_Rows],
    reachable: Sequence[NDArray[np.int64]],
    patterns: Sequence[Sequence[Pattern]],
) -> HeadLabel | None:
    """Return the strongest name for a head, or None.

    Args:
        heads: its rows in each sentence.
        reachable: how many keys each query may attend to, in each sentence.
        patterns: the patterns of each sentence, the same ones in the same order.
    """
    found = [_broad(heads, reachable)]
    for same in zip(*patterns, strict=True):
        on_keys, even = [], []  # of each sentence, [row]
        for head, n_keys, pattern in zip(heads, reachable, same, strict=True):
            rows = pattern.rows & head.attends  # [query]: they can tell, and attend
            on_keys.append(pattern.on_keys(head.weights)[rows])
            even.append((pattern.n_keys() / n_keys)[rows])
        n_rows = sum(map(len, on_keys))
        if not n_rows:
            continue
        evidence = float(np.concatenate(on_keys).mean())
        uniform = float(np.concatenate(even).mean())
        # The more names of a sort there are, the sooner chance earns one of them.
        chance = same[0].n_alike * _chance(evidence, uniform, n_rows)
        if evidence >= MIN_WEIGHT and chance <= MAX_CHANCE:
            sentence = (
                f"puts {evidence:.2f} of its weight {same[0].where}, mean of {n_rows} rows; "
                f"even attention would put {uniform:.2f} there"
            )
            found.append(HeadLabel(same[0].name, evidence, uniform, n_rows, sentence))
    named = [label for label in found if label is not None]
    return max(named, key=lambda label: label.evidence, default=None)


def _broad(heads: Sequence[_Rows], reachable: Sequence[NDArray[np.int64]]) -> HeadLabel | None:
    shares = []  # of each sentence, [row]
    for head, n_keys in zip(heads, reachable, strict=True):
        rows = head.attends & (n_keys > 1)  # [query]: those that have a choice
        shares.append(head.entropies[rows] / np.log2(n_keys[rows]))
    n_rows = sum(map(len, shares))
    if n_rows < MIN_ROWS:
        return None
    evidence = float(np.concatenate(shares).mean())
    if evidence < MIN_ENTROPY_SHARE:
        return None
    sentence = (
        f"has {evidence:.2f} of the entropy that is possible, mean of {n_rows} rows; "
        "even attention would have 1.00"
    )
    return HeadLabel("broad", evidence, 1.0, n_rows, sentence)


def _chance(mean: float, expected: float, n: int) -> float:
    """Bound the probability that n independent numbers in [0, 1] reach a mean above expectation.

    Chernoff's bound: 2^(−n KL), where KL is the divergence in bits of two coins that fall heads
    with the probabilities `mean` and `expected`. For mean 1 it is expected^n: n hits in n.
    """
    if mean <= expected:
        return 1.0
    if expected <= 0:
        return 0.0
    mean = min(mean, 1.0)
    divergence = mean * math.log2(mean / expected)
    if mean < 1:
        divergence += (1 - mean) * math.log2((1 - mean) / (1 - expected))
    return 2 ** (-n * divergence)
