"""Names for heads that do one thing, each with its evidence; other heads stay unnamed.

Most heads do several things at once, and in a short sentence almost any pattern can look like a
rule. So a name needs two kinds of evidence, and a head that lacks one of them stays unnamed:

- *strength*: the head puts at least `MIN_WEIGHT` of its weight where the name says, mean over the
  rows, so that no other name could claim as much;
- *more than chance*: heads that know nothing of the pattern, attending evenly or to keys picked
  blindly, would reach that mean with a probability of `MAX_CHANCE` at most. In four words
  everything is possible, so a short sentence names no head.

A head that none of these names fits may still rest on one token, which takes less weight but most
queries, or move through the other sentence in order; `label_heads` says by what rule.
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
#: The greatest probability with which random attention may reach the same mean.
MAX_CHANCE = 0.001
#: The entropy, as a share of its maximum, from which a head is broad. Scores drawn from
#: N(0, 1) leave about 0.8.
MIN_ENTROPY_SHARE = 0.92
#: The fewest rows from which a head is called broad.
MIN_ROWS = 6
#: The weight that a head puts on the token that it rests on, mean over the rows.
MIN_REST = 0.3
#: The correlation of the queries' order with where they look, from which an alignment is monotone.
MIN_CORRELATION = 0.9
#: So many standard deviations a normal number exceeds with the probability `MAX_CHANCE`.
_DEVIATIONS = 3.09
#: The fewest rows of a monotone alignment, and the greatest correlation that counts towards its chance: a few
#: queries are in order by chance.
_MIN_ALIGNED, _CLEAREST = 8, 0.99


@dataclass(frozen=True)
class HeadLabel:
    """A head's label and its evidence.

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
            the mean entropy as a share of its maximum, for ``"monotone alignment"`` the correlation.
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
    - ``"broad"``: nearly evenly on all keys;
    - ``"rests on one token"``, where no other name fits: one same token, not the first (nor an encoder's
      last), is the strongest key of at least `MIN_WEIGHT` of the queries that are not it or beside it and
      can see it. These are a third of all queries or more, and put `MIN_REST` of their weight there.

    Cross-attention can be ``"diagonal alignment"`` (within one position of the straight line from
    the first pair of words to the last), a sink, ``"separator"``, ``"broad"``, ``"rests on one token"`` or,
    where no other name fits, ``"monotone alignment"``: the position at which a query looks in the mean
    correlates with its own at `MIN_CORRELATION` or more, and from the first query to the last it moves
    twice as far as the weights of one query are wide (their standard deviation).

    A row counts only where no other name means the same key. The first two queries do not count
    towards the first four names: to them the previous token is the first, or they are it; nor the
    last two towards the last token. Where a text repeats itself at one distance alone, a copy and
    an offset cannot be distinguished, and the copy gives the name; `head_scores` draws such texts at
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
    a correlation's chance is that of Fisher 1921;
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
    texts = [trace.key_tokens(kind) for trace in traces]
    n_layers, n_heads = shapes.pop()
    # Head by head: float64 of all at once could fill the memory.
    return tuple(
        tuple(
            _label([_rows_of(weights[layer, head]) for weights in every], reachable, patterns, kind, texts)
            for head in range(n_heads)
        )
        for layer in range(n_layers)
    )


def labels_and_entropies(
    trace: ForwardTrace, kind: str
) -> tuple[list[list[HeadLabel | None]], NDArray[np.float64]]:
    """Return `label_heads` and `head_entropy_share` of a trace, each head read once."""
    weights = shares_of(trace, kind)  # [layer, head, query, key]
    reachable, patterns = reachable_keys(weights, kind), head_patterns(trace, kind)
    shares = np.empty(weights.shape[:2])  # [layer, head]
    labels: list[list[HeadLabel | None]] = []
    for layer, heads in enumerate(weights):
        labels.append([])
        for head, matrix in enumerate(heads):
            rows = _rows_of(matrix)
            labels[-1].append(_label([rows], [reachable], [patterns], kind, [trace.key_tokens(kind)]))
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
    kind: str,
    texts: Sequence[Sequence[str]],
) -> HeadLabel | None:
    """Return the strongest name for a head, or None.

    Each argument has one entry for each sentence; the patterns are the same ones in the same order.
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
        chance = math.log2(same[0].n_alike) + _chance(evidence, uniform, n_rows)
        if evidence >= MIN_WEIGHT and chance <= math.log2(MAX_CHANCE):
            sentence = (
                f"puts {evidence:.2f} of its weight {same[0].where}, mean of {n_rows} rows; "
                f"even attention would put {uniform:.2f} there"
            )
            found.append(HeadLabel(same[0].name, evidence, uniform, n_rows, sentence))
    named = [label for label in found if label is not None]
    if named:
        return max(named, key=lambda label: label.evidence)
    return _resting(heads, reachable, kind, texts) or (_monotone(heads) if kind == "cross" else None)


def _resting(
    heads: Sequence[_Rows], reachable: Sequence[NDArray[np.int64]], kind: str, texts: Sequence[Sequence[str]]
) -> HeadLabel | None:
    """Return the label of a head that rests on one token of each sentence."""
    strongest, on_key, even, n_choices, n_all = [], [], [], 0.0, 0
    for head, n_keys in zip(heads, reachable, strict=True):
        n = head.weights.shape[1]
        candidates = np.arange(1, n if kind == "decoder" else n - 1)
        best = head.weights.argmax(axis=1)  # [query]
        counts = np.bincount(best[head.attends], minlength=n)[candidates]
        if not counts.any():
            continue
        key = int(candidates[counts.argmax()])
        query = np.arange(len(head.attends))
        rows = head.attends if kind == "cross" else head.attends & (np.abs(query - key) > 1)
        if kind == "decoder":
            rows = rows & (query > key)
        strongest.append(best[rows] == key)
        on_key.append(head.weights[rows, key])
        even.append(1 / n_keys[rows])
        n_choices += math.log2(len(candidates))
        n_all += int(head.attends.sum())
    n_rows = sum(map(len, on_key))
    if not n_rows or 3 * n_rows < n_all:
        return None
    share, weight, uniform = (float(np.concatenate(each).mean()) for each in (strongest, on_key, even))
    chance = n_choices + _chance(share, uniform, n_rows)
    if share < MIN_WEIGHT or weight < MIN_REST or chance > math.log2(MAX_CHANCE):
        return None
    where = f"“{texts[0][key]}”, token {key}" if len(texts) == 1 else "one token of each text"
    sentence = (
        f"puts {weight:.2f} of its weight on {where}, mean of {n_rows} rows, in {share:.2f} of which that is "
        f"the strongest key; even attention would put {uniform:.2f} there"
    )
    return HeadLabel("rests on one token", weight, uniform, n_rows, sentence)


def _monotone(heads: Sequence[_Rows]) -> HeadLabel | None:
    """Return the label of a head of cross-attention that moves through each source in order."""
    correlations, weights, score = [], [], 0.0
    for head in heads:
        rows = head.weights[head.attends]  # [row, key]
        n_rows, position = len(rows), np.arange(rows.shape[1])
        if n_rows < 4:
            continue
        looked = rows @ position / rows.sum(axis=1)  # [row], the mean position
        widths = np.sqrt(np.maximum(rows @ position**2 / rows.sum(axis=1) - looked**2, 0))  # [row]
        order = np.flatnonzero(head.attends) - np.flatnonzero(head.attends).mean()
        slope = float(order @ looked / (order @ order))
        spread = float(np.sqrt(((looked - looked.mean()) ** 2).sum() * (order @ order)))
        moved = slope * (order[-1] - order[0]) >= 2 * float(widths.mean())
        correlation = float(order @ looked) / spread if moved and spread else 0.0
        correlations.append(correlation)
        weights.append(n_rows)
        score += math.atanh(min(max(correlation, 0.0), _CLEAREST)) * (n_rows - 3)
    n_rows = sum(weights)
    if n_rows < _MIN_ALIGNED:
        return None
    evidence = float(np.average(correlations, weights=weights))
    # Fisher's transform of a correlation is nearly normal, of the variance 1 / (n - 3).
    if evidence < MIN_CORRELATION or score / math.sqrt(n_rows - 3 * len(weights)) < _DEVIATIONS:
        return None
    sentence = (
        f"looks further on from query to query: where it looks correlates with their order at "
        f"{evidence:.2f}, over {n_rows} rows; random attention gives about 0.00"
    )
    return HeadLabel("monotone alignment", evidence, 0.0, n_rows, sentence)


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
    """Bound the probability that n independent numbers in [0, 1] reach a mean above expectation; its log2.

    Chernoff's bound: 2^(−n KL), where KL is the divergence in bits of two coins that fall heads
    with the probabilities `mean` and `expected`. For mean 1 it is expected^n: n hits in n.
    """
    if mean <= expected:
        return 0.0
    if expected <= 0:
        return -math.inf
    mean = min(mean, 1.0)
    divergence = mean * math.log2(mean / expected)
    if mean < 1:
        divergence += (1 - mean) * math.log2((1 - mean) / (1 - expected))
    return -n * divergence
