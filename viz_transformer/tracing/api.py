"""`capture`: the one call, and which way it takes."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.tracing.arrays import capture_arrays
from viz_transformer.tracing.assemble import sentence_index
from viz_transformer.tracing.huggingface import capture_hugging_face, is_hugging_face
from viz_transformer.tracing.labels import Labels, as_side, encode, side_of_ids
from viz_transformer.tracing.modules import (
    as_ids,
    capture_module,
    capture_own,
    inputs_of,
    place_ids,
    traced_forward,
)


def capture(
    model: Any,
    *inputs: Any,
    tokenizer: Any = None,
    input_ids: Any = None,
    decoder_input_ids: Any = None,
    tokens: Sequence[str] | None = None,
    source_tokens: Sequence[str] | None = None,
    target_tokens: Sequence[str] | None = None,
    batch_index: int | None = None,
    generate: bool | None = None,
    max_new_tokens: int = 20,
    **named_inputs: Any,
) -> ForwardTrace:
    """Trace one sentence through any model.

        vt.capture(model, "text", tokenizer=tokenizer)
        vt.capture(model, input_ids=ids, tokens=[...])
        vt.capture(model, input_ids=ids, decoder_input_ids=target,
                   source_tokens=[...], target_tokens=[...])
        vt.capture(attentions, tokens=[...])

    The model runs once, in evaluation mode and without gradients, and is then as it was before,
    also if its forward raised. What counts as a model:

    - a model of ours: `Transformer`, `EncoderOnly`, `DecoderOnly`;
    - a Hugging Face model, whichever attention it was loaded with. An encoder–decoder without a
      target writes one, greedily; a decoder goes on from its text with ``generate=True``;
    - any other torch module that holds `nn.MultiheadAttention` or an `nn.Transformer` module, or
      calls `torch.nn.functional.scaled_dot_product_attention`;
    - weights that are there already: arrays or tensors [layer, head, query, key], or a sequence
      of layers, each [head, query, key] or [batch, head, query, key]; a TransformerLens cache;
      the output of a Hugging Face model.

    Args:
        model: one of those.
        inputs: a text, or a list of several, for a tokenizer to encode; or what the model's
            forward takes first.
        tokenizer: Hugging Face's; it encodes a text and labels its tokens.
        input_ids: token ids [batch, position], or one sentence's [position].
        decoder_input_ids: the decoder's, likewise.
        tokens: labels of the only sequence that the model reads, one per position.
        source_tokens: labels of what the encoder reads.
        target_tokens: labels of what the decoder reads.
        batch_index: which sentence, where there are several.
        generate: whether a Hugging Face model writes; the steps become whole maps, and
            `output_tokens` tells what each position wrote (in a prompt: what follows).
        max_new_tokens: at most so many tokens are then written.
        named_inputs: further inputs of the model's own, such as ``attention_mask=`` of Hugging
            Face's or ``interventions=`` of ours. What a model of Hugging Face's would take and
            not use, such as ``head_mask=``, is refused.

    Returns:
        The trace: an encoder's attention beside source tokens, a decoder's beside target tokens.
        A text's sub-word tokens carry word numbers. Positions that an `attention_mask` hides are
        left out, unless they have labels.

    Raises:
        UserError: if nothing can be captured, or labels, sentences, heads or rows do not fit.
    """
    labels = Labels(
        tokens=as_side("tokens", tokens),
        source=as_side("source_tokens", source_tokens),
        target=as_side("target_tokens", target_tokens),
    )
    text, inputs, batch_index = _text_of(inputs, batch_index)
    ids = {"input_ids": input_ids, "decoder_input_ids": decoder_input_ids}
    ids = {name: value for name, value in ids.items() if value is not None}
    if not isinstance(model, nn.Module):
        if text is not None or inputs or ids or named_inputs:
            raise UserError(
                f"a {type(model).__name__} is no torch module and reads no input; "
                "give a module, or weights alone with tokens=[...]"
            )
        return capture_arrays(model, labels, batch_index)
    if text is not None and tokenizer is None:
        raise UserError(
            f"the text {text!r:.40} came without a tokenizer; give tokenizer=, or input_ids= and tokens="
        )

    _check_names(model, named_inputs)
    ids = {name: as_ids(model, value) for name, value in ids.items()}
    if is_hugging_face(model):
        inputs = [as_ids(model, value) for value in inputs]
        ids |= dict(zip(("input_ids", "decoder_input_ids"), inputs, strict=False))
        return capture_hugging_face(
            model,
            text,
            {**ids, **named_inputs},
            tokenizer,
            labels,
            batch_index,
            generate,
            max_new_tokens,
        )
    if generate:
        raise UserError(
            f"{type(model).__name__} has no generate() of Hugging Face's kind; write the target "
            "first, and capture it with its ids and tokens"
        )
    if text is not None:
        encoding = encode(tokenizer, text)
        ids = {"input_ids": as_ids(model, encoding["input_ids"]), **ids}
        if labels == Labels():
            labels = Labels(tokens=side_of_ids(tokenizer, ids["input_ids"][0], encoding))
    by_place, by_name = place_ids(model, ids)
    way = capture_module if traced_forward(model) is None else capture_own
    return way(model, [*by_place, *inputs], {**by_name, **named_inputs}, labels, batch_index)


def _text_of(
    inputs: tuple[Any, ...], batch_index: int | None
) -> tuple[str | None, tuple[Any, ...], int | None]:
    """Split off the text, if there is one, or of several the one that is meant."""
    first = inputs[0] if inputs else None
    if isinstance(first, str):
        return first, inputs[1:], batch_index
    if isinstance(first, list | tuple) and first and isinstance(first[0], str):
        return first[sentence_index(len(first), batch_index)], inputs[1:], None
    return None, inputs, batch_index


def _check_names(model: nn.Module, named: Mapping[str, Any]) -> None:
    """Raise a UserError for an input that neither `capture` nor the model knows."""
    known = inputs_of(model)
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    ours = [name for name in inspect.signature(capture).parameters if name != "named_inputs"]
    for name in named.keys() - known.keys():
        # A model that takes any name would swallow a misspelt one of ours without a word.
        choices, cutoff = (ours, 0.8) if takes_any else ([*ours, *known], 0.6)
        near = difflib.get_close_matches(name, choices, n=1, cutoff=cutoff)
        if near or not takes_any:
            raise UserError(
                f"unknown input {name}=: neither capture nor {type(model).__name__} takes it; "
                + (f"did you mean {near[0]}=?" if near else f"the model takes {[*known]}")
            )
