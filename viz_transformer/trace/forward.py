"""The trace of one sentence: every head's attention weights, and the positional encodings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._numbers import finite
from viz_transformer._text import given_texts, shown
from viz_transformer.errors import UserError
from viz_transformer.trace.arrays import given_array, given_sequence, hand_over, never_changes
from viz_transformer.trace.files import load_trace, save_trace
from viz_transformer.trace.kinds import KINDS, Kind, find_kind
from viz_transformer.trace.summary import trace_as_html, trace_as_text

FloatArray = NDArray[np.float32]
#: Of each picture the rows and columns of its patches, and the position of the first.
Patches = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class ForwardTrace:
    """One sentence's attention in every layer and head.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> look = np.array([[[[1.0, 0.0], [0.25, 0.75]]]])  # [layer, head, query, key]
    >>> trace = vt.ForwardTrace(source_tokens=["the", "cat"], encoder_attention=look)
    >>> trace.attention("encoder")[0, 0, 1].tolist()  # where "cat" looks
    [0.25, 0.75]

    Attributes:
        source_tokens: what the encoder read, one string a position.
        target_tokens: what the decoder read, one string a position.
        output_tokens: what each target position wrote next, where that is known. Position *i*
            reads ``target_tokens[i]`` and writes ``output_tokens[i]``: a query of the decoder
            is named by the word that it writes.
        source_words: the number of the word that each source token is a piece of, or None for a
            special token; views merge pieces by it. Pieces of a word are neighbours, and behind a None the
            numbers may begin again, for a pair's second text. None where words were not counted.
        target_words: the same for the target tokens.
        source_segments: of a pair of sentences that was read as one text, which one each source token
            belongs to, 0 or 1, as BERT's ``token_type_ids``; None for one sentence.
        target_segments: the same for the target tokens.
        encoder_attention: float32 ``[layer, head, source, source]``, or None. Half precision
            (float16) stays what it is, here and below; computations convert it.
        decoder_attention: float32 ``[layer, head, target, target]``, or None.
        cross_attention: float32 ``[layer, head, target, source]``, or None.
        source_positions: float32 ``[source, d_model]``, the positional encodings added, or None.
        target_positions: float32 ``[target, d_model]``, or None.
        encoder_position_bias: float32 ``[layer, head, source, source]``, what the model adds to the
            scores of its self-attention for relative positions, as T5 does, or None. The layer
            axis is 1 where all layers share one table; see `position_bias`.
        decoder_position_bias: the same of the decoder, ``[layer, head, target, target]``.
        encoder_layers: the model's own number of each layer of `encoder_attention`, where these are
            not 0, 1, 2 …; see `layer_numbers`.
        decoder_layers: the same for `decoder_attention`.
        cross_layers: the same for `cross_attention`.
        heads: the model's own number of each head, the same in every kind, where these were chosen
            or are not 0, 1, 2 …; None where all of a layer's heads are there. See `head_numbers`.
        seconds_per_frame: of a sound model, how much time each source position stands for, or None;
            figures and views then show the time.
        patches: of each picture, or frame, that was read: the rows and columns of its patches and the
            position of the first, among the source tokens if there are any, else among the target's; such
            a one is a `grid` of `explore`. ``()`` if the model reads patches in another order than that
            of rows; None if they are unknown.
        sinks: the kinds in which a part of each query's attention may go to a sink, which is no
            token: their rows sum to less than 1 by design (Xiao et al. 2023, section 3.3).
        notes: what of the model's attention is not here, in a line each, and how to see it.
        normalised: whether each row of weights is shares of a whole, from 0 to 1, that sum to 1. False for
            what has signs or other sums: sigmoid attention, attributions, differences. Views and figures
            then show it on a scale of its own, and what needs shares (labels, entropy, rollout) is refused.

    Raises:
        UserError: if an array's shape, a list of word numbers or segments, the numbers of layers or heads, or
            the seconds do not fit, or an array holds a NaN or an infinity.
    """

    source_tokens: tuple[str, ...] = ()
    target_tokens: tuple[str, ...] = ()
    output_tokens: tuple[str, ...] | None = None
    source_words: tuple[int | None, ...] | None = None
    target_words: tuple[int | None, ...] | None = None
    source_segments: tuple[int, ...] | None = None
    target_segments: tuple[int, ...] | None = None
    encoder_attention: FloatArray | None = None
    decoder_attention: FloatArray | None = None
    cross_attention: FloatArray | None = None
    source_positions: FloatArray | None = None
    target_positions: FloatArray | None = None
    encoder_position_bias: FloatArray | None = None
    decoder_position_bias: FloatArray | None = None
    encoder_layers: tuple[int, ...] | None = None
    decoder_layers: tuple[int, ...] | None = None
    cross_layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    seconds_per_frame: float | None = None
    patches: Patches | None = None
    sinks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    normalised: bool = True

    __repr__, _repr_html_ = trace_as_text, trace_as_html

    def __post_init__(self) -> None:
        """Convert to tuples and read-only arrays, and check every shape."""
        for name in ("source_tokens", "target_tokens", "output_tokens", "notes"):
            tokens = getattr(self, name)
            if tokens is not None:
                object.__setattr__(self, name, given_texts(tokens, name))
        if self.output_tokens is not None and len(self.output_tokens) != len(self.target_tokens):
            raise UserError(
                f"output_tokens has {len(self.output_tokens)} tokens for "
                f"{len(self.target_tokens)} target_tokens; give one per target position"
            )
        if not isinstance(self.normalised, bool):
            raise UserError(
                f"normalised={shown(self.normalised)}; give True, or False for weights with signs"
            )
        lengths = {"source": len(self.source_tokens), "target": len(self.target_tokens)}
        for kind in KINDS.values():
            n_queries, n_keys = lengths[kind.query], lengths[kind.key]
            self._set_array(
                kind.field,
                (None, None, n_queries, n_keys),
                f"[layer, head, {kind.query}={n_queries}, {kind.key}={n_keys}]",
            )
            if getattr(self, f"{kind.name}_layers") is not None:
                self._set_numbers(f"{kind.name}_layers", "layer", [kind], axis=0)
            if getattr(self, f"{kind.name}_position_bias", None) is not None:
                self._set_bias(kind, lengths[kind.query])
        if self.heads is not None:
            self._set_numbers("heads", "head", KINDS.values(), axis=1)
        object.__setattr__(
            self, "sinks", tuple(find_kind(kind).name for kind in given_texts(self.sinks, "sinks"))
        )
        if self.seconds_per_frame is not None:
            object.__setattr__(self, "seconds_per_frame", checked_seconds(self.seconds_per_frame))
        if self.patches is not None:
            n_positions = lengths["source"] or lengths["target"]
            object.__setattr__(self, "patches", _checked_patches(self.patches, n_positions))
        for side, length in lengths.items():
            if getattr(self, f"{side}_words") is not None:
                self._set_words(f"{side}_words", length)
            if getattr(self, f"{side}_segments") is not None:
                self._set_segments(f"{side}_segments", length)
            self._set_array(f"{side}_positions", (length, None), f"[{side}={length}, d_model]")

    def _set_array(self, name: str, shape: tuple[int | None, ...], wanted: str) -> None:
        value = getattr(self, name)
        if value is None:
            return
        array = given_array(value, name)
        dtype = "float16" if array.dtype == np.float16 else "float32"
        if array.dtype != dtype or not never_changes(array):
            with np.errstate(over="ignore"):  # what becomes infinite is refused
                array = np.array(array, dtype=dtype)
            array.setflags(write=False)
        fits = array.ndim == len(shape) and all(
            want in (None, have) for want, have in zip(shape, array.shape, strict=True)
        )
        if not fits or 0 in array.shape:
            raise UserError(
                f"{name} has shape {list(array.shape)}, but the tokens need {wanted}, "
                "no axis empty; check the tokens and the order of the axes"
            )
        if not np.isfinite([array.min(), array.max()]).all():  # a NaN is both; no copy is made
            raise UserError(
                f"{name} holds NaN or infinity; a query that may attend to nothing must have "
                "a row of zeros (see viz_transformer.model.attention.attend)"
            )
        object.__setattr__(self, name, array)

    def _set_bias(self, kind: Kind, length: int) -> None:
        name, weights = f"{kind.name}_position_bias", getattr(self, kind.field)
        n_layers, n_heads = (None, None) if weights is None else weights.shape[:2]
        self._set_array(
            name,
            (None, n_heads, length, length),
            f"[layer or 1, head={n_heads or 'any'}, {kind.query}={length}, {kind.query}={length}]",
        )
        if len(getattr(self, name)) not in (1, n_layers):
            raise UserError(
                f"{name} has {len(getattr(self, name))} layers, and the attention {n_layers or 'none'}; "
                "give it one for each layer of the attention, or one that all share"
            )

    def _set_numbers(self, name: str, what: str, kinds: Iterable[Kind], axis: int) -> None:
        given = getattr(self, name)
        numbers = given_sequence(given)
        weights = {kind.name: getattr(self, kind.field) for kind in kinds}
        sizes = {kind: each.shape[axis] for kind, each in weights.items() if each is not None}
        whole = all(isinstance(each, int | np.integer) and each >= 0 for each in numbers)
        if not whole or len(set(numbers)) != len(numbers) or set(sizes.values()) != {len(numbers)}:
            raise UserError(
                f"{name}={shown(given)} does not number the {what}s {sizes or 'of any attention'}; give each "
                f"{what} of the trace its own number in the model, such as {name}=(1, 3)"
            )
        object.__setattr__(self, name, tuple(map(int, numbers)))

    def _set_words(self, name: str, length: int) -> None:
        words = given_sequence(getattr(self, name))
        numbers = [word for word in words if word is not None]
        if len(words) != length or not all(type(word) is int and word >= 0 for word in numbers):
            raise UserError(
                f"{name}={shown(words)} does not fit; give each of the {length} tokens the number "
                "of its word (0, 1, 2 …), or None where it belongs to no word"
            )
        begun: set[int] = set()
        for place, word in enumerate(words):
            if word is None:
                begun.clear()  # what follows is the second text of a pair, whose words may be counted from 0
            elif word in begun and word != words[place - 1]:
                raise UserError(
                    f"{name}={shown(words)} goes back to word {word} at position {place}, and the pieces "
                    "of a word are neighbours; give each word a number of its own, as in [0, 1, 1, 2]"
                )
            else:
                begun.add(word)
        object.__setattr__(self, name, words)

    def _set_segments(self, name: str, length: int) -> None:
        given = getattr(self, name)
        segments = given_sequence(given)
        if len(segments) != length or not all(
            isinstance(each, int | np.integer) and each in (0, 1) for each in segments
        ):
            raise UserError(
                f"{name}={shown(given)} does not fit; give each of the {length} tokens 0 for sentence A "
                "or 1 for sentence B, as BERT's token_type_ids do"
            )
        object.__setattr__(self, name, tuple(map(int, segments)))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The attention kinds present, in the order encoder, decoder, cross."""
        return tuple(name for name, kind in KINDS.items() if getattr(self, kind.field) is not None)

    def attention(self, kind: str) -> FloatArray | None:
        """Return the weights of one kind, float32 ``[layer, head, query, key]``, or None.

        Raises:
            UserError: if `kind` is not one of encoder, decoder, cross.
        """
        return getattr(self, find_kind(kind).field)

    def position_bias(self, kind: str) -> FloatArray | None:
        """Return what the model adds to the scores of a kind for relative positions, or None.

        Returns:
            float32 ``[layer, head, query, key]``, in the scores' unit, before the softmax; the layer
            axis is 1 where all layers share it. None for a model without, and of cross-attention.

        Raises:
            UserError: if `kind` is not one of encoder, decoder, cross.

        Source: Raffel et al. 2020, *Exploring the Limits of Transfer Learning*, section 2.1.
        """
        return getattr(self, f"{find_kind(kind).name}_position_bias", None)

    def layer_numbers(self, kind: str) -> tuple[int, ...]:
        """Return the model's own number of each layer of a kind.

        Raises:
            UserError: if the trace lacks the kind, or the kind is unknown.
        """
        numbers = getattr(self, f"{find_kind(kind).name}_layers")
        return tuple(range(len(attention_of(self, kind)))) if numbers is None else numbers

    @property
    def head_numbers(self) -> tuple[int, ...]:
        """The model's own number of each head; of the kind with most heads, if they differ."""
        if self.heads is not None:
            return self.heads
        return tuple(range(max((attention_of(self, kind).shape[1] for kind in self.kinds), default=0)))

    def query_tokens(self, kind: str) -> tuple[str, ...]:
        """Return the labels of a kind's queries: for a decoder, the words being written."""
        if KINDS[kind].query == "source":
            return self.source_tokens
        return self.target_tokens if self.output_tokens is None else self.output_tokens

    def key_tokens(self, kind: str) -> tuple[str, ...]:
        """Return the labels of a kind's keys: the words that were read."""
        return self.source_tokens if KINDS[kind].key == "source" else self.target_tokens

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace as one ``.npz`` file (no pickle), whole or not at all.

        Raises:
            FileError: if the file cannot be written.
        """
        arrays: dict[str, Any] = {}
        tokens: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                arrays[field.name] = value
            elif value is not None and value != field.default:
                tokens[field.name] = value
        return save_trace(path, "ForwardTrace", tokens, arrays, name="tokens")

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, checked: bool = True) -> ForwardTrace:
        """Read a trace that `save` wrote; needs no torch.

        Args:
            path: the file.
            checked: whether its content must be what was saved; False loads a changed one as it is.

        Raises:
            FileError: if the file is missing, damaged or not a saved ForwardTrace.
        """
        return load_trace(path, "ForwardTrace", _unpack, checked=checked, name="tokens")


def _unpack(tokens: dict[str, Any], arrays: dict[str, Any]) -> ForwardTrace:
    for array in arrays.values():
        hand_over(array)  # so that it is not copied
    return ForwardTrace(**tokens, **arrays)


def _checked_patches(given: Any, n_positions: int) -> Patches:
    """Return places of patches as whole numbers."""
    patches = tuple(map(given_sequence, given_sequence(given)))
    for place in patches:
        is_whole = all(type(each) is int or isinstance(each, np.integer) for each in place)
        if len(place) != 3 or not is_whole or min(place) < 0 or place[0] * place[1] + place[2] > n_positions:
            raise UserError(
                f"patches={shown(given)} does not fit {n_positions} tokens; give (rows, columns, position of "
                "the first patch) for each picture, such as patches=[(14, 14, 1)]"
            )
    return tuple((int(rows), int(columns), int(start)) for rows, columns, start in patches)


def checked_seconds(given: Any) -> float:
    """Return the seconds of a position.

    Raises:
        UserError: if that is no time above 0.
    """
    seconds = finite(given.item() if isinstance(given, np.generic) else given)
    if seconds is None or seconds <= 0:
        raise UserError(
            f"seconds_per_frame={shown(given)}; give the seconds of a source position, 0.02 for Whisper"
        )
    return seconds


def attention_of(trace: ForwardTrace, kind: str) -> FloatArray:
    """Return the weights of a kind, float32 ``[layer, head, query, key]``, which must be there.

    >>> import viz_transformer as vt
    >>> from viz_transformer.trace import attention_of
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> attention_of(trace, "cross").shape
    (2, 4, 5, 5)

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if the trace lacks the kind, or the kind is unknown.
    """
    weights = trace.attention(kind)  # [layer, head, query, key]
    if weights is None:
        raise UserError(
            f"this trace holds no {kind} attention; it holds {list(trace.kinds)}, so choose one "
            "of these or trace a model that has it"
        )
    return weights


def shares_of(trace: ForwardTrace, kind: str) -> FloatArray:
    """Return what `attention_of` does, where each row of it is shares of a whole.

    >>> import viz_transformer as vt
    >>> from viz_transformer.trace import shares_of
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> shares_of(trace, "cross").shape
    (2, 4, 5, 5)

    Args:
        trace: as there.
        kind: as there.

    Raises:
        UserError: as there, and if the weights are not normalised.
    """
    if not trace.normalised:
        raise UserError(
            f"this needs shares that sum to 1 in each row, and the {kind} weights of this trace are not "
            "normalised (normalised=False); give a trace of attention weights, or compute with the array: "
            f"trace.attention({kind!r})"
        )
    return attention_of(trace, kind)
