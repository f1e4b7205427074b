"""Hugging Face models, known by their configuration; their library is never imported."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.tracing.arrays import assemble_kinds, kinds_of_output
from viz_transformer.tracing.assemble import sentence_index
from viz_transformer.tracing.labels import Labels, Side, encode, side_of_ids
from viz_transformer.tracing.modules import causal, inputs_of
from viz_transformer.tracing.restore import attention_by, looked_at

#: What asks for a form of the output; it is read before a forward, and named by none.
_ASKED = frozenset({"output_attentions", "output_hidden_states", "return_dict"})
#: An attribute that Hugging Face's models have, and their layers have not.
_OF_A_MODEL = "base_model_prefix"


def is_hugging_face(model: nn.Module) -> bool:
    """Return whether a module says of itself what Hugging Face's models say."""
    config = getattr(model, "config", None)
    return hasattr(config, "is_encoder_decoder") and hasattr(config, "_attn_implementation")


def capture_hugging_face(
    model: nn.Module,
    text: str | None,
    named: Mapping[str, Any],
    tokenizer: Any,
    labels: Labels,
    batch_index: int | None,
    generate: bool | None,
    max_new_tokens: int,
) -> ForwardTrace:
    """Trace a Hugging Face model: one forward, or its own greedy writing.

    Args:
        model: encoder-only, decoder-only or encoder–decoder.
        text: what it reads; None where `named` holds the ids.
        named: the model's inputs by name.
        tokenizer: Hugging Face's, or None where labels are given.
        labels: used in place of the tokenizer's.
        batch_index: which sentence of the inputs.
        generate: whether it writes; by default where it has a decoder and nothing to read there.
        max_new_tokens: at most so many tokens are written.

    Raises:
        UserError: as `vt.capture`.
    """
    encoding = None
    named = dict(named)
    known = inputs_of(model)
    if text is not None:
        encoding = encode(tokenizer, text)
        device = next(model.parameters()).device
        named |= {name: ids.to(device) for name, ids in encoding.items() if name in known}
    named = _one_sentence(named, batch_index)
    both = "decoder_input_ids" in known  # the encoder alone shares its whole model's config
    if generate is None:
        generate = both and "decoder_input_ids" not in named
    _check_used(model, named, generate)

    read = labels.source if both else labels.only
    read = _side(read, tokenizer, named.get("input_ids"), named.get("attention_mask"), encoding)
    if generate:
        if (labels.target if both else labels.only) is not None:
            raise UserError(
                "the target's labels were given, but the model writes the target itself; give its "
                "ids too (decoder_input_ids=), or leave its labels to tokenizer="
            )
        output, written = _generate(model, named, tokenizer, max_new_tokens)
        if both:
            labels = Labels(source=read, target=written)
        else:
            kept = None if read is None else read.kept
            labels = Labels(target=_kept_longer(written, kept))
    else:
        output = _forward(model, named)
        if both:
            ids, mask = named.get("decoder_input_ids"), named.get("decoder_attention_mask")
            labels = Labels(source=read, target=_side(labels.target, tokenizer, ids, mask))
        elif labels.source is None or labels.target is None:
            labels = _named_as(labels, read)
    return assemble_kinds(kinds_of_output(output), labels, None, _causal(model, named))


def _check_used(model: Any, named: Mapping[str, Any], generate: bool) -> None:
    """Raise a UserError for an input that the model would take and not use.

    Every model of Hugging Face's takes ``**kwargs``, and hands them down to the models in it. Used
    is what one of their forwards names.
    """
    inner = [each for each in model.modules() if each is model or hasattr(each, _OF_A_MODEL)]
    used = _ASKED.union(*map(inputs_of, inner))
    if causal(model):
        used |= {"is_causal"}  # named by no forward; read where the mask is made
    if generate and hasattr(model, "generate"):
        used |= {*vars(model.generation_config), *inspect.signature(model.generate).parameters}
    for name in sorted(name for name, value in named.items() if value is not None):
        if name not in used:
            raise UserError(
                f"{type(model).__name__} takes {name}= and does not use it, so the trace would be "
                "that of the unchanged model; leave it out, and change the model itself (by a "
                "forward hook, or in its weights) before you capture it"
            )


def _causal(model: Any, named: Mapping[str, Any]) -> bool | None:
    """Return what a model says of itself: by its attention, its configuration or its name."""
    if named.get("is_causal") is False:
        return False  # a decoder is asked to read like an encoder
    said = causal(model)
    if said is None:
        config_says = getattr(model.config, "is_decoder", False)
        return True if config_says or type(model).__name__.endswith("ForCausalLM") else None
    return said


def _forward(model: nn.Module, named: Mapping[str, Any]) -> Mapping[str, Any]:
    with looked_at(model), attention_by(model, "eager"):
        return model(**{**named, "output_attentions": True, "return_dict": True})


def _generate(
    model: Any, named: Mapping[str, Any], tokenizer: Any, max_new_tokens: int
) -> tuple[Mapping[str, Any], Side]:
    """Let the model write greedily; return its output and the target as read and as written."""
    if not (hasattr(model, "can_generate") and model.can_generate()):
        raise UserError(
            f"{type(model).__name__} cannot write a target by itself; give decoder_input_ids= "
            "and target_tokens=, or load the model with its language-model head"
        )
    if tokenizer is None:
        raise UserError(
            "the model writes the target itself, and without tokenizer= its tokens have no "
            "labels; give tokenizer=, or decoder_input_ids= and target_tokens="
        )
    with looked_at(model), attention_by(model, "eager"):
        output = model.generate(
            **named,
            max_new_tokens=max_new_tokens,
            do_sample=False,
            num_beams=1,
            use_cache=False,  # T5's counts the encoder's layers, too few for a deeper decoder
            output_attentions=True,
            return_dict_in_generate=True,
        )
    ids = output["sequences"][0].tolist()
    # The last token was written and never read.
    target = side_of_ids(tokenizer, ids[:-1])
    return output, replace(target, written=side_of_ids(tokenizer, ids[1:]).tokens)


def _one_sentence(named: Mapping[str, Any], batch_index: int | None) -> dict[str, Any]:
    """Keep of every input the one sentence that is meant."""
    batched = [value for value in named.values() if isinstance(value, Tensor) and value.ndim > 1]
    n_sentences = len(named.get("input_ids", batched[0] if batched else [0]))
    index = sentence_index(n_sentences, batch_index)

    def row(value: Any) -> Any:
        has_rows = isinstance(value, Tensor) and value.ndim > 1 and len(value) == n_sentences
        return value[index : index + 1] if has_rows else value

    return {name: row(value) for name, value in named.items()}


def _side(given: Side | None, tokenizer: Any, ids: Any, mask: Any, encoding: Any = None) -> Side | None:
    """Label one sequence: by the labels given, or by the tokenizer and without padding."""
    kept = mask[0].bool().cpu().numpy() if isinstance(mask, Tensor) and mask.ndim == 2 else None
    if given is not None:
        return replace(given, kept=kept)
    if tokenizer is None or ids is None:
        return None
    return replace(side_of_ids(tokenizer, ids[0].tolist(), encoding), kept=kept).without_padding()


def _named_as(labels: Labels, side: Side | None) -> Labels:
    """Put a side where the caller put its labels: under source, under target, or open."""
    if labels.source is not None:
        return Labels(source=side)
    return Labels(target=side) if labels.target is not None else Labels(tokens=side)


def _kept_longer(side: Side, kept: NDArray[np.bool_] | None) -> Side:
    """Leave out a prompt's padding; what was written after it has none."""
    if kept is None:
        return side
    n_written = len(side.tokens) - len(kept)
    return replace(side, kept=np.append(kept, np.full(n_written, True))).without_padding()
