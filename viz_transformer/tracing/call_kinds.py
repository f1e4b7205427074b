"""The sorting of attention calls by kind: of which layer, and of which sequences, each call was."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS
from viz_transformer.tracing.attention_calls import AttentionCall
from viz_transformer.tracing.joined_steps import join_steps
from viz_transformer.tracing.labels import Labels
from viz_transformer.tracing.selection import sentence_index


def layers_by_kind(
    calls: Sequence[AttentionCall], labels: Labels, n_sentences: int, batch_index: int | None
) -> dict[str, list[Any]]:
    """Sort the attention calls of a model, which come in their order.

    With labels of one sequence, all calls are self-attention, whose kind stays open: ``"self"``.
    With those of two sequences of different lengths, the shape [query, key] tells the kind. Where
    the lengths are equal, the order must: encoder layers first, then self-attention and
    cross-attention in turn.

    Raises:
        UserError: if that leaves a call's kind open.
    """
    source, target = labels.source, labels.target
    calls = _fitting(calls, {side.n_positions for side in (labels.tokens, source, target) if side})
    layers = [_with_batch(call.weights, n_sentences) for call in calls]
    if source is None or target is None:
        if labels.only is not None and {True, False} <= {call.is_cross for call in calls}:
            raise UserError(
                "some layers look from one sequence at another, but labels of one sequence were "
                "given; give source_tokens=[...] and target_tokens=[...]"
            )
        return {"self": _join_if_steps(layers)}

    lengths = {source.n_positions: "source", target.n_positions: "target"}
    if len(lengths) == 1:
        kinds = _kinds_by_order(calls, layers, batch_index)
    else:
        kinds = [_kind_by_shape(layer.shape[-2:], lengths) for layer in layers]
    by_kind: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    for kind, layer in zip(kinds, layers, strict=True):
        by_kind[kind].append(layer)
    if not by_kind["cross"] and not (by_kind["encoder"] and by_kind["decoder"]):
        raise UserError(
            "source and target tokens were given, but all attention runs over one of the two; "
            "give tokens=[...] for a model that reads one sequence"
        )
    return by_kind


def _fitting(calls: Sequence[AttentionCall], lengths: set[int]) -> Sequence[AttentionCall]:
    """Leave out softmaxes over other things than the labelled positions, unless none is left.

    A query of its own that gathers a picture's patches is one, or a mixture of experts.
    """
    fitting = [call for call in calls if not call.is_inferred or lengths.issuperset(call.weights.shape[-2:])]
    return fitting or calls


def _join_if_steps(layers: list[Any]) -> list[Any]:
    """Join the layers of several steps, if a model wrote token by token in one forward.

    Each step reads some positions more than the last, with a cache of the keys or all from the
    beginning, and runs through every layer.
    """
    steps = [list(step) for _, step in groupby(layers, key=lambda layer: tuple(layer.shape[-2:]))]
    shapes = [step[0].shape[-2:] for step in steps]  # each [query, key]
    grows = all(
        query in (key, key - before) and key > before for (_, before), (query, key) in pairwise(shapes)
    )
    if len(steps) == 1 or len({len(step) for step in steps}) > 1 or not grows:
        return layers
    return list(join_steps(steps, "self"))


def _kind_by_shape(shape: Sequence[int], lengths: dict[int, str]) -> str:
    query, key = shape
    axes = lengths.get(query), lengths.get(key)
    for kind in KINDS.values():
        if axes == (kind.query, kind.key):
            return kind.name
    wanted = ", ".join(f"{length} {side} tokens" for length, side in lengths.items())
    raise UserError(
        f"a layer's attention runs over {query} queries and {key} keys, which fits no pair "
        f"of the {wanted}; give one label per position, special tokens included"
    )


def _kinds_by_order(
    calls: Sequence[AttentionCall], layers: Sequence[Any], batch_index: int | None
) -> list[str]:
    """Read encoder* (decoder cross)* from the calls in their order.

    `multi_head_attention_forward` shows whether queries and keys are the same tensor. Of
    `scaled_dot_product_attention` only the weights tell: the first that do not look ahead are the
    decoder's, and after those a layer that looks ahead is cross-attention.
    """
    crosses: list[bool] = []
    in_decoder = False
    for call, layer in zip(calls, layers, strict=True):
        causal = layer.shape[-1] > 1 and not layer[sentence_index(len(layer), batch_index)].triu(1).any()
        in_decoder |= causal
        crosses.append(in_decoder and not causal if call.is_cross is None else call.is_cross)
    if True in crosses:
        n_encoder = crosses.index(True) - 1
        n_decoder, rest = divmod(len(crosses) - n_encoder, 2)
        if n_encoder >= 0 and not rest and crosses[n_encoder:] == [False, True] * n_decoder:
            return ["encoder"] * n_encoder + ["decoder", "cross"] * n_decoder
    raise UserError(
        "source and target have the same number of tokens, and the order of the attention layers does "
        "not tell which is which; give a source and a target of different lengths"
    )


def _with_batch(weights: Any, n_sentences: int) -> Any:
    """Give every call's weights the axes [batch, head, query, key]."""
    if weights.ndim >= 4:
        return weights.flatten(1, -3)  # groups of heads side by side
    if weights.ndim == 2:
        return weights[None, None]  # [query, key] -> [1, 1, query, key]
    if n_sentences == 1:
        return weights[None]  # [head, query, key] -> [1, head, query, key]
    if weights.shape[0] == n_sentences:
        return weights[:, None]  # [batch, query, key] -> [batch, 1, query, key]
    raise UserError(
        f"a layer's weights have the shape {list(weights.shape)} for {n_sentences} sentences, "
        "which does not tell heads from sentences; give the model one sentence at a time"
    )
