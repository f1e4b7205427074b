"""Word alignment: the links of a cross-attention head, compared with gold links.

A link is a pair (target index, source index) of words that translate each other; both count the
positions of the trace, where a decoder's query *i* is the word that it writes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import index

import numpy as np

from viz_transformer.analysis.measures import Float64
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace, attention_of

Link = tuple[int, int]

#: Tokens that are no words, and so have no translation.
SPECIAL_TOKENS = frozenset({"<sos>", "<eos>", "<pad>", "<unk>", "<s>", "</s>"})


def alignment_links(trace: ForwardTrace, layer: int, head: int) -> frozenset[Link]:
    """Return the link of each written word to the source word that a head looks at most.

    A word whose head looks most at a special token, or at nothing, has no link.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> links = vt.analysis.alignment_links(trace, layer=1, head=2)  # (written, read), positions of words

    Args:
        trace: the trace.
        layer: counted from 0.
        head: counted from 0.

    Raises:
        UserError: if the trace holds no cross-attention, or has no such layer or head.
    """
    weights = attention_of(trace, "cross")  # [layer, head, target, source]
    n_layers, n_heads = weights.shape[:2]
    are_whole = all(isinstance(each, int | np.integer) and each is not True for each in (layer, head))
    if not (are_whole and 0 <= layer < n_layers and 0 <= head < n_heads):
        raise UserError(
            f"there is no layer {layer}, head {head} in a trace of {n_layers} layers and "
            f"{n_heads} heads; both count from 0"
        )
    rows = weights[layer, head]  # [target, source]
    targets, sources = trace.query_tokens("cross"), trace.key_tokens("cross")
    return frozenset(
        (target, source)
        for target, source in enumerate(rows.argmax(axis=-1).tolist())
        if rows[target].any()
        and targets[target] not in SPECIAL_TOKENS
        and sources[source] not in SPECIAL_TOKENS
    )


def alignment_error_rate(
    found: Sequence[Collection[Link]],
    sure: Sequence[Collection[Link]],
    possible: Sequence[Collection[Link]] | None = None,
) -> float:
    """Return the share of links that are wrong or missing, over all sentences together.

        AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

    A found link need only be possible; a sure one must be found. 0 is perfect, 1 is all wrong.

    >>> import viz_transformer as vt
    >>> found, sure = [{(0, 0), (1, 2)}], [{(0, 0), (1, 1)}]
    >>> vt.analysis.alignment_error_rate(found, sure)
    0.5

    Args:
        found: A, the links found, one collection per sentence; for one sentence, a list of one.
        sure: S, the gold links that must be there, likewise.
        possible: P, those that may be there; the sure ones are possible anyway.

    Raises:
        UserError: if the numbers of sentences differ, a link is no pair of positions, or there is
            no link at all.

    Source: Och & Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models",
    section 5.
    """
    possible = sure if possible is None else possible
    if not len(found) == len(sure) == len(possible):
        raise UserError(
            f"there are found links for {len(found)} sentences, sure links for {len(sure)} and "
            f"possible links for {len(possible)}; give one collection of links per sentence, such "
            "as [links] for one sentence"
        )
    right = total = 0
    for found_links, sure_links, possible_links in zip(found, sure, possible, strict=True):
        a, s = _as_links(found_links), _as_links(sure_links)
        p = _as_links(possible_links) | s
        right += len(a & s) + len(a & p)
        total += len(a) + len(s)
    if total == 0:
        raise UserError("no link was found and none is sure, so there is no error rate; give links")
    return 1 - right / total


def head_alignment_error_rate(
    traces: Sequence[ForwardTrace],
    sure: Sequence[Collection[Link]],
    possible: Sequence[Collection[Link]] | None = None,
) -> Float64:
    """Return the alignment error rate of every cross-attention head, ``[layer, head]``.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> sure = [vt.analysis.alignment_links(trace, layer=1, head=2)]  # as if this head were right
    >>> float(vt.analysis.head_alignment_error_rate([trace], sure)[1, 2])
    0.0

    Args:
        traces: one trace per sentence, all of one model.
        sure: as in `alignment_error_rate`, such as ``[pair.links for pair in pairs]``.
        possible: as in `alignment_error_rate`.

    Raises:
        UserError: as `alignment_error_rate`; also if a gold link lies outside its trace, or the
            traces differ in layers or heads.
    """
    sizes = {attention_of(trace, "cross").shape[:2] for trace in traces}
    if len(sizes) != 1:
        raise UserError(
            f"the {len(traces)} traces have (layers, heads) {sorted(sizes)}; give at least one "
            "trace, and all from the same model"
        )
    for gold in (sure, possible or ()):
        for trace, links in zip(traces, gold, strict=False):  # numbers are compared further down
            _check_inside(trace, links)
    rates = np.empty(sizes.pop())  # [layer, head]
    for layer, head in np.ndindex(rates.shape):
        found = [alignment_links(trace, layer, head) for trace in traces]
        rates[layer, head] = alignment_error_rate(found, sure, possible)
    return rates


def _as_links(links: Collection[Link]) -> set[Link]:
    try:
        pairs = {(index(target), index(source)) for target, source in links}
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{links!r:.60} are not links; a link is a pair (target index, source index), and a "
            "sentence has a collection of them"
        ) from error
    if any(min(pair) < 0 for pair in pairs):
        raise UserError(f"the link {min(pairs)} has a negative index; positions count from 0")
    return pairs


def _check_inside(trace: ForwardTrace, links: Collection[Link]) -> None:
    n_targets, n_sources = attention_of(trace, "cross").shape[2:]
    outside = sorted(
        (target, source) for target, source in _as_links(links) if target >= n_targets or source >= n_sources
    )
    if outside:
        raise UserError(
            f"the link {outside[0]} lies outside a trace of {n_targets} target and {n_sources} "
            "source positions; a link is (target index, source index)"
        )
