"""`vt.capture`: parse the inputs, let the adapter of the model read the attention, assemble the trace."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any

from viz_transformer.capturing.arguments import parse_labels, parse_selection
from viz_transformer.capturing.arrays import attention_of_arrays
from viz_transformer.capturing.assemble import assemble
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace


def capture(
    model: Any,
    *inputs: Any,
    tokenizer: Any = None,
    input_ids: Any = None,
    decoder_input_ids: Any = None,
    tokens: Sequence[str] | None = None,
    source_tokens: Sequence[str] | None = None,
    target_tokens: Sequence[str] | None = None,
    words: Sequence[int | None] | None = None,
    batch_index: int | None = None,
    generate: bool | None = None,
    max_new_tokens: int = 20,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    run: int | None = None,
    group: int | None = None,
    dtype: str = "float32",
    verify: bool = True,
    normalised: bool = True,
    **named_inputs: Any,
) -> ForwardTrace:
    """Trace one sentence through any model.

        vt.capture(model, "text", tokenizer=tokenizer)
        vt.capture(model, "a sentence", "and another", tokenizer=tokenizer)
        vt.capture(model, input_ids=ids, tokens=[...])
        vt.capture(model, input_ids=ids, decoder_input_ids=target,
                   source_tokens=[...], target_tokens=[...])
        vt.capture(attentions, tokens=[...])
        vt.capture(attributions, tokens=[...], normalised=False)

    The model runs once, and one of Hugging Face's twice where `verify` says so, in evaluation mode and
    without gradients, and is then as it was before, also if its forward raised. What counts as a model:

    - a model of ours: `Transformer`, `EncoderOnly`, `DecoderOnly`;
    - a Hugging Face model, whichever attention it was loaded with. An encoder–decoder without a
      target writes one, greedily unless you give ``num_beams=`` or ``do_sample=``; a decoder
      continues its text with ``generate=True``. Of a joint model, such as CLIP, the part is
      captured that reads what you give;
    - a model of TransformerLens (`HookedTransformer`, `TransformerBridge` …), which reads a text with
      its own tokenizer; or one in nnsight's `LanguageModel`;
    - any other torch module that holds `nn.MultiheadAttention` or an `nn.Transformer` module,
      calls torch's `scaled_dot_product_attention` or `flex_attention`, or writes attention out by
      hand: a softmax whose weights are multiplied with values. The steps of a model that writes
      token by token become whole maps;
    - weights that are there already: arrays or tensors [layer, head, query, key], or a sequence
      of layers, each [head, query, key] or [batch, head, query, key]; a TransformerLens cache;
      the output of a Hugging Face model.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> weights = np.tril(np.ones((2, 4, 3, 3))) / np.arange(1, 4)[:, None]  # [layer, head, query, key]
    >>> vt.capture(weights, tokens=["the", "cat", "sleeps"]).kinds
    ('decoder',)

    Args:
        model: one of those.
        inputs: a text, two texts that are a pair of sentences, or a list of several texts, for a
            tokenizer to encode; or what the model's forward takes first.
        tokenizer: Hugging Face's, or a processor with one; it encodes a text and labels its tokens.
        input_ids: token ids [batch, position], or one sentence's [position].
        decoder_input_ids: the decoder's, likewise.
        tokens: labels of the only sequence that the model reads, one per position.
        source_tokens: labels of what the encoder reads.
        target_tokens: labels of what the decoder reads.
        words: the number of the word that each token is a piece of, or None, such as
            ``encoding.word_ids()`` of words that were given one by one; of the source where there is
            one. The pieces of a word are neighbours. None leaves the words that the tokenizer knows, or its
            marks.
        batch_index: which sentence, where there are several.
        generate: whether a Hugging Face model writes first; it then reads what it wrote once more,
            and `output_tokens` tells what each position wrote (in a prompt: what follows).
        max_new_tokens: at most so many tokens are then written.
        layers: the numbers of the layers to keep, as the model counts them; None keeps all.
        heads: the numbers of the heads to keep in each layer, likewise. What is not kept of a
            Hugging Face model is dropped while it runs.
        run: which run, where a module runs several times in one forward (once for each of two
            texts, say): 0 is the first; None takes the first whose positions the labels name.
        group: which group, where layers attend inside groups of positions (rows, windows, frames).
        dtype: ``"float16"`` keeps the weights in half the memory, to three digits.
        verify: whether the first capture of a Hugging Face model's class runs the model once more, as it
            was loaded, to see that it attends by the weights that it returns.
        normalised: False takes weights as they are that have signs, or whose rows do not sum to 1: sigmoid
            attention, attributions, differences. They are shown on a scale up to the largest.
        named_inputs: further inputs of the model's own, such as ``attention_mask=`` of Hugging
            Face's or ``interventions=`` of ours. What a model of Hugging Face's would take and
            not use, such as ``head_mask=``, is refused.

    Returns:
        The trace: an encoder's attention beside source tokens, a decoder's beside target tokens.
        A text's sub-word tokens carry word numbers. Positions that an `attention_mask` hides are
        left out, unless they have labels.

    Raises:
        UserError: if no attention can be captured, or labels, sentences, heads or rows do not fit.
    """
    model, own_tokenizer = _unwrapped(model)
    labels = parse_labels(tokens, source_tokens, target_tokens)
    selection = parse_selection(layers, heads, dtype, run, group, normalised)
    ids = {"input_ids": input_ids, "decoder_input_ids": decoder_input_ids}
    if not _is_module(model):
        if inputs or named_inputs or any(each is not None for each in ids.values()):
            raise UserError(
                f"a {type(model).__name__} is not a torch module, so it reads no input; "
                "give a module, or weights alone with tokens=[...]"
            )
        return assemble(attention_of_arrays(model, labels, batch_index), selection, words)

    # With torch, which weights do without.
    from viz_transformer.capturing import hooked_models, huggingface, modules
    from viz_transformer.capturing.inputs import TRACED, is_hooked, parse_inputs

    parsed = parse_inputs(
        model,
        inputs,
        ids,
        named_inputs,
        labels=labels,
        tokenizer=own_tokenizer if tokenizer is None else tokenizer,
        batch_index=batch_index,
        generate=generate,
        max_new_tokens=max_new_tokens,
        selection=selection,
        verify=verify,
        known=[name for name in inspect.signature(capture).parameters if name != "named_inputs"],
    )
    config = getattr(model, "config", None)
    if is_hooked(model):
        attention_of = hooked_models.attention_of_hooked
    elif hasattr(config, "is_encoder_decoder") and hasattr(config, "_attn_implementation"):
        attention_of = huggingface.attention_of_hugging_face
    elif isinstance(model, tuple(TRACED)):
        attention_of = modules.attention_of_own_model
    else:
        attention_of = modules.attention_of_module
    return assemble(attention_of(model, parsed), selection, words)


def _unwrapped(model: Any) -> tuple[Any, Any]:
    """Return the model in torch.compile's or nnsight's wrapper, and its tokenizer, if it has one."""
    # Known by its name, as nnsight is not imported: each of its wrappers is an Envoy.
    is_envoy = any(
        each.__name__ == "Envoy" and each.__module__.partition(".")[0] == "nnsight"
        for each in type(model).__mro__
    )
    if not (is_envoy and _is_module(getattr(model, "_module", None))):
        # What torch.compile wraps computes the same. What is no module may do anything when it is asked.
        return getattr(model, "_orig_mod", model) if _is_module(model) else model, None
    inside, name = model._module, type(model).__name__
    if any(parameter.is_meta for parameter in inside.parameters()):
        raise UserError(
            f"this {name} of nnsight has no weights yet; load it with dispatch=True, or call its dispatch()"
        )
    if getattr(model, "_edits", None):
        raise UserError(
            f"this {name} of nnsight holds edits, which the trace would not show; call its clear_edits(), or "
            "save the weights in an nnsight trace, and give those: vt.capture(weights, tokens=[...])"
        )
    return inside, getattr(model, "tokenizer", None)


def _is_module(model: Any) -> bool:
    """Return whether a model is a torch module; False where torch is not loaded."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)
