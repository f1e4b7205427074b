"""Which of a model's attention layers are the encoder's, the decoder's, and between the two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.errors import UserError
from viz_transformer.tracing.assemble import is_causal, one_sentence, self_attention_kind
from viz_transformer.tracing.calls import AttentionCall
from viz_transformer.tracing.labels import Labels, Side

Sorted = tuple[dict[str, list[Any]], dict[str, Side | None]]


def sort_self_attention(
    layers: Sequence[Any], labels: Labels, batch_index: int | None, causal: bool | None = None
) -> Sorted:
    """Give layers that all look at one sequence to the encoder or to the decoder.

    Args:
        layers: per layer weights as `one_sentence` takes them.
        labels: those of one sequence; named by a side, they decide.
        batch_index: which sentence.
        causal: see `self_attention_kind`.

    Returns:
        The layers by kind, and the labels by side.

    Raises:
        UserError: if labels are missing or two-sided, or the kind is not clear.
    """
    if labels.only is None:
        raise UserError(
            "the model reads one sequence, and "
            + ("two lists of tokens were given" if labels.source else "its tokens were not given")
            + "; give tokens=[...], one string per position, or a text and tokenizer="
        )
    if labels.tokens is None:
        kind = "encoder" if labels.source is not None else "decoder"
    else:
        kept = labels.only.kept
        words = [_without_padding(one_sentence(each, batch_index), kept) for each in layers]
        kind = self_attention_kind(words, causal)
    return {kind: list(layers)}, labels.side_of(kind)


def sort_calls(
    calls: Sequence[AttentionCall],
    labels: Labels,
    n_sentences: int,
    batch_index: int | None,
    causal: bool | None = None,
) -> Sorted:
    """Sort the calls that a model made, in their order.

    With labels of one sequence, all calls are self-attention. With those of two sequences of
    different lengths, the shape [query, key] tells the kind. Where the lengths are equal, the
    order must: encoder layers first, then self-attention and cross-attention in turn.

    Raises:
        UserError: if that leaves a call's kind open.
    """
    layers = [_with_batch(call.weights, n_sentences) for call in calls]
    source, target = labels.source, labels.target
    if source is None or target is None:
        crosses = {call.is_cross for call in calls}
        if labels.only is not None and {True, False} <= crosses:
            raise _two_sequences("some layers look from one sequence at another")
        return sort_self_attention(layers, labels, batch_index, causal)

    sides: dict[str, Side | None] = {"source": source, "target": target}
    lengths = {_n_positions(source): "source", _n_positions(target): "target"}
    sorted_layers: dict[str, list[Any]] = {"encoder": [], "decoder": [], "cross": []}
    if len(lengths) == 1:
        kinds = _kinds_by_order(calls, layers, batch_index)
    else:
        kinds = [_kind_by_shape(layer.shape[-2:], lengths) for layer in layers]
    for kind, layer in zip(kinds, layers, strict=True):
        sorted_layers[kind].append(layer)
    if not sorted_layers["cross"] and not (sorted_layers["encoder"] and sorted_layers["decoder"]):
        raise UserError(
            "source and target tokens were given, but all attention runs over one of the two; "
            "give tokens=[...] for a model that reads one sequence"
        )
    return sorted_layers, sides


def _without_padding(weights: NDArray[np.float32], kept: NDArray[np.bool_] | None) -> NDArray[np.float32]:
    """Leave out padding: on the left, its rows look ahead even in a decoder."""
    if kept is None or weights.shape[1:] != (len(kept), len(kept)):
        return weights
    return weights[:, kept][..., kept]  # [head, kept query, kept key]


def _n_positions(side: Side) -> int:
    return len(side.tokens) if side.kept is None else len(side.kept)


def _kind_by_shape(shape: Sequence[int], lengths: dict[int, str]) -> str:
    kinds = {
        ("source", "source"): "encoder",
        ("target", "target"): "decoder",
        ("target", "source"): "cross",
    }
    query, key = shape
    kind = kinds.get((lengths.get(query, ""), lengths.get(key, "")))
    if kind is None:
        wanted = ", ".join(f"{length} {side} tokens" for length, side in lengths.items())
        raise UserError(
            f"a layer's attention runs over {query} queries and {key} keys, which fits no pair "
            f"of the {wanted}; give one label per position, special tokens included"
        )
    return kind


def _kinds_by_order(
    calls: Sequence[AttentionCall], layers: Sequence[Any], batch_index: int | None
) -> list[str]:
    """Read encoder* (decoder cross)* from what each call shows.

    `multi_head_attention_forward` shows whether queries and keys are the same tensor. Of
    `scaled_dot_product_attention` only the weights tell: the first that do not look ahead are the
    decoder's, and after those a layer that looks ahead is cross-attention.
    """
    crosses: list[bool] = []
    in_decoder = False
    for call, layer in zip(calls, layers, strict=True):
        causal = layer.shape[-1] > 1 and is_causal([one_sentence(layer, batch_index)])
        in_decoder |= causal
        crosses.append(in_decoder and not causal if call.is_cross is None else call.is_cross)
    if True in crosses:
        n_encoder = crosses.index(True) - 1
        n_decoder, rest = divmod(len(crosses) - n_encoder, 2)
        if n_encoder >= 0 and not rest and crosses[n_encoder:] == [False, True] * n_decoder:
            return ["encoder"] * n_encoder + ["decoder", "cross"] * n_decoder
    raise UserError(
        "source and target have equally many tokens, and the order of the attention layers does "
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


def _two_sequences(why: str) -> UserError:
    return UserError(
        f"{why}, but labels of one sequence were given; give source_tokens=[...] and target_tokens=[...]"
    )
