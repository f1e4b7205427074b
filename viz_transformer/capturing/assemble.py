"""Assembly of a trace from raw attention and labels, with every check that both fit."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._text import shown
from viz_transformer.capturing.arguments import (
    TOLERANCE,
    Labels,
    Selection,
    TokenLabels,
    as_array,
    sentence_index,
)
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, FloatArray, ForwardTrace, Patches
from viz_transformer.trace.arrays import check_size, given_sequence, hand_over
from viz_transformer.trace.kinds import Kind

#: The names of attention weights in an output, and their kinds; "self" is of a model's only stack.
OUTPUT_KINDS = {
    "attentions": "self",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class RawAttention:
    """The attention of a model as an adapter found it.

    Attributes:
        layers: for each kind one array or tensor a layer, as `_as_batch` takes them; "self" is an
            encoder's or a decoder's. A kind may be missing, empty or None, and so may a layer that does
            not attend. `assemble` takes the layers out of lists one by one, so that memory never holds
            all of them twice.
        numbers: for each kind the model's own number of each layer; else they are 0, 1, 2 …
        whole: for each kind the array [layer, head, query, key] in which its kept layers already are, if
            there is one; the trace may keep it.
        is_selected: whether only the kept heads are left.
        biases: for each kind what the model adds to its scores for relative positions, [head, query,
            key], by the number of the layer; if there is only one, all layers share it.
        seconds_per_frame: of a sound model, how many seconds of sound a source position is, if known.
        has_sink: whether rows may sum to less than 1, the rest going to a sink that is no token.
        is_numbered: whether a picture or a sound was read; its positions are numbered where they have no
            labels.
        patches: where the patches of each picture are among what an encoder read, or else the decoder;
            see `ForwardTrace`.
        notes: what is not shown, and how to see it.
        configured: how many layers and how many heads a model of one stack has by its configuration, if
            known.
        labels: the labels, those of one sequence where there is only one kind of self-attention.
        batch_index: which sentence.
        causal: whether the model's configuration is causal; see `_self_attention_kind`.
        positions: the positional encodings [position, d_model] of "source" and "target", where
            known.
    """

    layers: Mapping[str, Sequence[Any] | None]
    labels: Labels
    batch_index: int | None
    causal: bool | None = None
    positions: Mapping[str, Any] = field(default_factory=dict)
    numbers: Mapping[str, Sequence[int]] = field(default_factory=dict)
    whole: Mapping[str, FloatArray | None] = field(default_factory=dict)
    is_selected: bool = False
    biases: Mapping[str, Mapping[int, Any]] = field(default_factory=dict)
    seconds_per_frame: float | None = None
    has_sink: bool = False
    is_numbered: bool = False
    patches: Patches | None = None
    notes: tuple[str, ...] = ()
    configured: tuple[int, int] | None = None


def layers_of_output(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return the layers of each kind in an output, each [batch, head, query, key], or steps of them.

    A model that does not attend eagerly may return a step without layers each time; these are left out.
    """
    given = {kind: output.get(name) for name, kind in OUTPUT_KINDS.items()}
    return {
        kind: layers
        for kind, layers in given.items()
        if layers is not None
        and not (len(layers) and all(isinstance(each, list | tuple) and not each for each in layers))
    }


@dataclass(frozen=True, kw_only=True, eq=False)
class _Stack:
    """The kept layers of one kind, each [head, query, key], and their numbers in the model.

    They may be in one array already, `whole`.
    """

    layers: MutableSequence[Any]
    numbers: Sequence[int]
    whole: FloatArray | None


def assemble(
    raw: RawAttention, selection: Selection, words: Sequence[int | None] | None = None
) -> ForwardTrace:
    """Make the trace of one sentence.

    Args:
        raw: the attention of the model.
        selection: what is kept of it.
        words: the number of each token's word, None for one in no word, of the source where there is
            one and else of the target; None leaves the tokenizer's.

    Raises:
        UserError: if layers of a kind differ in their heads, if labels are missing or of another
            number than the positions, if it is not clear whose attention it is, if the rows do not
            sum to 1, or if the model has not the layers or heads that were chosen.
    """
    if (selection.run, selection.group) != (None, None) and not raw.notes:
        raise UserError(
            "run= and group= choose among the runs of a module and among groups of positions, and here are "
            "neither; leave them out"
        )
    stacks = _stacks(raw, selection)
    sides = {"source": raw.labels.source, "target": raw.labels.target}
    if len(stacks) == 1 and "cross" not in stacks:
        sides = {KINDS[kind].query: raw.labels.only for kind in stacks}

    fields: dict[str, Any] = {}
    read: dict[str, TokenLabels] = {}
    for kind in map(KINDS.__getitem__, stacks):
        stack = stacks[kind.name]
        n_queries, n_keys = _one_shape(kind, stack)
        kept = []
        for side, length in ((kind.query, n_queries), (kind.key, n_keys)):
            read[side], of_side = _fit(sides.get(side), length, kind.name, side, raw.is_numbered)
            kept.append(of_side)
        if kind.key == min(kind.key, *read) and raw.patches is not None:  # the source, where there is one
            fields["patches"] = _kept_patches(raw.patches, kept[1])
        added = raw.biases.get(kind.name, raw.biases.get("self") if kind.query == kind.key else None)
        if added:
            fields[f"{kind.name}_position_bias"] = _position_bias(added, stack, kept, selection)
        fields[kind.field] = _stacked(kind.name, stack, kept, read[kind.key], selection, raw.has_sink)
        if list(stack.numbers) != list(range(len(stack.numbers))):
            fields[f"{kind.name}_layers"] = tuple(stack.numbers)
    if words is not None:
        side = min(read)  # the source before the target
        read[side] = replace(read[side], words=_words_of_kept(words, read[side]))
    fields["seconds_per_frame"] = raw.seconds_per_frame if "source" in read else None
    fields["sinks"] = tuple(stacks) if raw.has_sink else ()
    fields["notes"] = (*raw.notes, *_surprises(raw, selection, stacks.keys(), fields))
    fields["normalised"] = selection.normalised
    fields["heads"] = selection.heads  # also 0, 1, 2 …: a choice of heads is no whole layer
    for side, labels in sorted(read.items()):
        fields[f"{side}_tokens"] = labels.tokens
        fields[f"{side}_words"] = labels.words
        fields[f"{side}_segments"] = labels.segments
        if raw.positions.get(side) is not None:
            positions = as_array(raw.positions[side])
            _, of_side = _fit(labels, len(positions), "position", side)
            fields[f"{side}_positions"] = positions[of_side]
    if "target" in read:
        fields["output_tokens"] = read["target"].written
    return ForwardTrace(**fields)


def _surprises(
    raw: RawAttention, selection: Selection, kinds: Collection[str], fields: Mapping[str, Any]
) -> list[str]:
    """Return where a model's attention differs from its configuration, in a line each."""
    notes = []
    for kind in kinds:
        weights = fields[KINDS[kind].field]  # [layer, head, query, key]
        if kind == "decoder" and raw.causal and not _is_causal(weights.reshape(-1, *weights.shape[2:])):
            notes.append("the model is configured as causal, and some of its heads attend to later positions")
        if raw.configured is None or len(kinds) > 1:
            continue
        for axis, (name, chosen) in enumerate((("layers", selection.layers), ("heads", selection.heads))):
            n_shown, n_configured = weights.shape[axis], raw.configured[axis]
            if chosen is None and n_shown != n_configured:
                notes.append(f"{n_shown} {name} are shown, and the configuration has {n_configured}")
    return notes


def _stacks(raw: RawAttention, selection: Selection) -> dict[str, _Stack]:
    """Return one sentence's layers by kind, each [head, query, key], with "self" resolved."""
    present = {
        kind: layers
        for kind, layers in raw.layers.items()
        if layers and any(each is not None for each in layers)
    }
    if not present:
        raise UserError(
            "no attention was captured: there is no attention in what was given; give a model that "
            "attends, or its weights: vt.capture([layer_0, layer_1], tokens=[...])"
        )
    labels = raw.labels
    is_unlabelled = set(present) == {"self"} and labels.only is None
    if is_unlabelled and not (raw.is_numbered and labels.source is None):
        shape = next((getattr(layer, "shape", ()) for layer in present["self"] if layer is not None), ())
        wanted = f"{shape[-1]} strings, one per position" if shape else "one string per position"
        raise UserError(
            "the attention is that of one sequence, and "
            + ("two lists of tokens were given" if labels.source else "its tokens were not given")
            + f"; give tokens=[...], {wanted}, or a text and tokenizer="
        )
    numbered = {  # the number of each layer that attends, by its index
        kind: {
            i: number
            for i, number in enumerate(raw.numbers.get(kind) or range(len(of_kind)))
            if of_kind[i] is not None
        }
        for kind, of_kind in present.items()
    }
    selection.check_layers(number for of_kind in numbered.values() for number in of_kind.values())
    stacks = {
        kind: _select(of_kind, numbered[kind], raw, selection, raw.whole.get(kind))
        for kind, of_kind in present.items()
        if any(map(selection.keeps, numbered[kind].values()))
    }
    if "self" in stacks:
        stack = stacks.pop("self")
        if is_unlabelled:
            labels = Labels(tokens=_numbers(stack.layers[0].shape[-1]))
        # Beside other kinds it belongs to a decoder that also attends to a source.
        kind = "decoder" if len(present) > 1 else _self_attention_kind(stack.layers, labels, raw.causal)
        stacks[kind] = stack
    return {kind: stacks[kind] for kind in KINDS if kind in stacks}


def _select(
    layers: Sequence[Any],
    numbers: Mapping[int, int],
    raw: RawAttention,
    selection: Selection,
    whole: FloatArray | None,
) -> _Stack:
    """Return the kept layers of one sentence; those in a list leave it."""
    numbers = {i: number for i, number in numbers.items() if selection.keeps(number)}
    kept: list[Any] = []
    for i, number in numbers.items():
        batch = _as_batch(layers[i])  # [batch, head, query, key]
        sentence = batch[sentence_index(len(batch), raw.batch_index)]  # [head, query, key]
        taken = sentence if raw.is_selected else selection.take(sentence, number)
        check_size("the attention", (len(numbers), *taken.shape))
        kept.append(as_array(taken, selection.dtype))
        if isinstance(layers, list):
            layers[i] = None
    return _Stack(layers=kept, numbers=tuple(numbers.values()), whole=whole)


def _as_batch(weights: Any) -> Any:
    """Give a layer's weights, [head, query, key] or of one head [query, key], the axes of a batch."""
    array = weights if hasattr(weights, "ndim") else as_array(weights)
    if array.ndim == 2:
        array = array[None]  # [head=1, query, key]
    if array.ndim == 3:
        array = array[None]  # [batch=1, head, query, key]
    if array.ndim != 4 or 0 in array.shape:
        raise UserError(
            f"a layer's weights have the shape {list(array.shape)}, but [batch, head, query, key] "
            "or [head, query, key] was expected; give one such array per layer"
        )
    return array


def _self_attention_kind(layers: Sequence[FloatArray], labels: Labels, causal: bool | None) -> str:
    """Tell an encoder's self-attention from a decoder's, by its labels or whether it looks ahead.

    A model that says it is causal is believed. One that says it is not may still be given a causal
    mask, as CLIP's text model is: there the weights decide, if they can.

    Args:
        layers: one sentence's weights, each [head, query, key].
        labels: those of one sequence; labels of a side decide.
        causal: whether the model is configured as causal.
    """
    if labels.tokens is None:
        return "encoder" if labels.source is not None else "decoder"
    if causal:
        return "decoder"
    kept = labels.tokens.kept
    if kept is not None:  # on the left, the rows of padding look ahead even in a decoder
        square = (len(kept), len(kept))
        layers = [layer[:, kept][..., kept] if layer.shape[1:] == square else layer for layer in layers]
    answers = {_is_causal(layer) for layer in layers} if layers[0].shape[-1] > 1 else set()
    if len(answers) != 1 and causal is not None:
        answers = {causal}
    if len(answers) == 1:
        return "decoder" if answers.pop() else "encoder"
    raise UserError(
        "it is not clear whether this is an encoder or a decoder: "
        + ("some layers look ahead and some do not" if answers else "one token has nothing to hide")
        + "; give source_tokens= for an encoder, target_tokens= for a decoder, or both"
    )


def _is_causal(layer: FloatArray) -> bool:
    """Return whether no query of a layer [head, query, key] sees a later key.

    Padding on the left may attend to nothing, and many models give such a row equal weight
    everywhere, or in all of a prompt: equal rows at the beginning tell nothing, unless all rows are.
    """
    if not any(layer[:, query, query + 1 :].any() for query in range(layer.shape[1])):
        return True  # most are so, and nothing as large as the weights was made
    ahead = np.triu(layer, k=1).any(axis=-1)  # [head, query]
    is_equal = ((layer == layer[..., :1]) | (layer == 0)).all(axis=-1)  # [head, query]
    equal = np.logical_and.accumulate(is_equal, axis=-1)
    return not (ahead & (~equal | equal.all())).any()


def _one_shape(kind: Kind, stack: _Stack) -> tuple[int, int]:
    """Return the numbers of queries and keys, the same in every layer."""
    shapes: dict[tuple[int, ...], list[int]] = {}
    for number, layer in zip(stack.numbers, stack.layers, strict=True):
        shapes.setdefault(layer.shape, []).append(number)
    if len(shapes) > 1:
        offered = ", ".join(
            f"layers={numbers} ({n_heads} heads, {n_queries} × {n_keys})"
            for (n_heads, n_queries, n_keys), numbers in shapes.items()
        )
        raise UserError(
            f"the {kind.name} layers have several shapes, and a trace needs as many heads, queries and "
            f"keys in every layer; capture those of one shape at a time: {offered}"
        )
    _, n_queries, n_keys = next(iter(shapes))
    if kind.query == kind.key and n_queries != n_keys:
        raise UserError(
            f"layer {stack.numbers[0]} of the {kind.name} has {n_queries} queries and {n_keys} keys, so it "
            "is no map of a sequence onto itself (Funnel pools its queries); choose other layers=, or give "
            "its weights and both labels: vt.capture([output.attentions[i]], source_tokens=, target_tokens=)"
        )
    return n_queries, n_keys


def _stacked(
    kind: str,
    stack: _Stack,
    kept: Sequence[NDArray[np.bool_]],
    key: TokenLabels,
    selection: Selection,
    has_sink: bool,
) -> FloatArray:
    """Stack layers [head, query, key] without padding, one by one, and check their rows.

    Returns:
        weights [layer, head, query, key], handed over, so that the trace does not copy them.
    """
    n_heads = len(stack.layers[0])
    shape = (len(stack.layers), n_heads, int(kept[0].sum()), int(kept[1].sum()))
    weights = stack.whole
    torch = sys.modules.get("torch")
    if (weights is None or weights.shape != shape) and torch is not None:
        # Numpy asks the system for huge pages, which can take longer than all the copying.
        weights = torch.empty(shape, dtype=getattr(torch, selection.dtype), device="cpu").numpy()
    elif weights is None or weights.shape != shape:
        weights = np.empty(shape, selection.dtype)
    # A query that may attend to nothing (padding on the left, before the first word) may have equal weight
    # everywhere, padding included: its row becomes zero. No other row gives padding any weight.
    padding = None if key.kept is None or key.kept.all() or not selection.normalised else ~key.kept
    for i, number in enumerate(stack.numbers):
        layer, stack.layers[i] = stack.layers[i], None  # freed when it is copied
        layer = layer if kept[0].all() else np.compress(kept[0], layer, axis=1)
        if padding is not None and len(padding) == layer.shape[-1]:
            on_padding = layer[..., padding].sum(axis=-1, keepdims=True, dtype=np.float32)
            layer = np.where(on_padding > TOLERANCE, layer.dtype.type(0), layer)
        layer = layer if kept[1].all() else np.compress(kept[1], layer, axis=2)
        heads = range(n_heads) if selection.heads is None else selection.heads
        _check_rows(f"the {kind} attention (layer {number}", heads, layer, has_sink, selection)
        if not np.may_share_memory(weights, layer):
            weights[i] = layer
    return hand_over(weights)


def _position_bias(
    given: Mapping[int, Any], stack: _Stack, kept: Sequence[NDArray[np.bool_]], selection: Selection
) -> FloatArray | None:
    """Return what is added for positions, [layer or 1, head, query, key], of what a trace keeps.

    It is that of each kept layer, or the one that all share; None if a layer's is not known.
    """
    layers = list(given.values())
    if len(given) > 1:
        layers = [given[number] for number in stack.numbers] if given.keys() >= set(stack.numbers) else []
    if not layers or any(each.shape[-2:] != (len(kept[0]), len(kept[1])) for each in layers):
        return None
    taken = [as_array(selection.take(layer, number)) for number, layer in enumerate(layers)]
    return np.stack(taken)[:, :, kept[0]][..., kept[1]]


def _fit(
    labels: TokenLabels | None, length: int, kind: str, side: str, is_numbered: bool = False
) -> tuple[TokenLabels, NDArray[np.bool_]]:
    """Return the labels of an axis, and which of its positions have one: all, or all but the padding.

    Without labels its positions are numbered, if they are those of a picture or a sound.
    """
    if labels is None and not is_numbered:
        raise UserError(
            f"the {kind} attention runs over {length} {side} positions without labels; "
            f"give {side}_tokens=[...], one string per position, or tokenizer="
        )
    labels = _numbers(length) if labels is None else labels
    if len(labels.tokens) == length:
        return labels, np.ones(length, dtype=np.bool_)
    if labels.kept is not None and len(labels.kept) == length and labels.kept.sum() == len(labels.tokens):
        return labels, labels.kept
    raise UserError(
        f"{len(labels.tokens)} {side} tokens were given, but the {kind} attention has {length} "
        f"{side} positions; give one label per position, special tokens included"
    )


def _numbers(n_positions: int) -> TokenLabels:
    return TokenLabels(tokens=tuple(map(str, range(n_positions))))


def _kept_patches(patches: Patches, kept: NDArray[np.bool_]) -> Patches | None:
    """Return where patches are among the kept positions; None if one of them is not kept."""
    for rows, columns, start in patches:
        if kept[start : start + rows * columns].sum() < rows * columns:
            return None
    return tuple((rows, columns, int(kept[:start].sum())) for rows, columns, start in patches)


def _words_of_kept(words: Sequence[int | None], labels: TokenLabels) -> tuple[int | None, ...]:
    """Return the words of the labelled tokens; those of padding may have been given too."""
    given = given_sequence(words)
    if labels.kept is not None and len(given) == len(labels.kept) != len(labels.tokens):
        given = tuple(given[i] for i in np.flatnonzero(labels.kept))
    numbers = [each for each in given if each is not None]
    are_whole = all(
        isinstance(each, int | np.integer) and not isinstance(each, bool) and each >= 0 for each in numbers
    )
    if len(given) != len(labels.tokens) or not are_whole:
        raise UserError(
            f"words={shown(given)} is not {len(labels.tokens)} numbers for the {len(labels.tokens)} tokens "
            f"{shown(labels.tokens)}; give each token the number of its word, or None: "
            "words=encoding.word_ids()"
        )
    return given


def _check_rows(
    name: str, heads: Sequence[int], layer: FloatArray, has_sink: bool, selection: Selection
) -> None:
    """Raise a UserError unless every row of a layer [head, query, key] sums to 1, or is 0.

    Of rows that are not normalised only a NaN or an infinity is refused.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        sums = layer.sum(axis=-1, dtype=np.float32)  # [head, query]
    if not (np.isfinite(sums).all() or selection.normalised or selection.dtype == "float32"):
        raise UserError(
            f"{name}) holds NaN, infinity or more than float16 does, up to 65,504; leave out dtype="
        )
    if not np.isfinite(sums).all():
        raise UserError(
            f"{name}) holds NaN, infinity or more than float32 does, up to 3.4e38; check the model's input "
            "and masks: a query that may attend to nothing makes NaN in many models"
        )
    if not selection.normalised:
        return
    wrong = sums > 1 + TOLERANCE
    if layer.min() < 0:
        wrong |= layer.min(axis=-1) < 0
    if not has_sink:
        wrong |= (sums < 1 - TOLERANCE) & (np.abs(sums) > 1e-6)
    if wrong.any():
        head, query = (int(i) for i in np.argwhere(wrong)[0])
        raise UserError(
            f"a row of {name}, head {heads[head]}, query {query}) sums to "
            f"{sums[head, query]:.3f} or has a weight below 0, so these are not attention "
            "weights; give them after the softmax and before dropout, all keys included, or with "
            "normalised=False if they are meant so (sigmoid attention, attributions, differences)"
        )
