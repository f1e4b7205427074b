"""Adapter for Hugging Face models, recognised by their configuration without importing the library."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from viz_transformer.capturing.arguments import Labels, TokenLabels, labels_of_ids, sentence_index
from viz_transformer.capturing.assemble import RawAttention, layers_of_output
from viz_transformer.capturing.generating import (
    count_virtual_tokens,
    reading_inputs,
    with_virtual_tokens,
    write,
)
from viz_transformer.capturing.inputs import AXES, CaptureInputs, as_input, forward_parameters
from viz_transformer.capturing.modules import attention_of_module
from viz_transformer.capturing.pictures import find_pictures
from viz_transformer.capturing.running import (
    OF_A_MODEL,
    BiasWatch,
    LayerWatch,
    attention_implementation,
    drawing_from,
    evaluating,
    has_sink,
    random_state,
    watching,
    within_sizes,
)
from viz_transformer.capturing.verify import check_returned
from viz_transformer.capturing.whole_maps import (
    hold_weights,
    maps_of_bands,
    maps_of_softmaxes,
    maps_of_windows,
    whole_blocks,
)
from viz_transformer.errors import UserError

#: Arguments that ask for a form of the output; they are read before a forward that need not name them.
OUTPUT_ARGUMENTS = frozenset({"output_attentions", "output_hidden_states", "return_dict"})
#: What the parts of a joint model read, and what the model calls the part.
_PARTS = (
    ("input_ids", "text_model"),
    ("pixel_values", "vision_model"),
    ("pixel_values", "image_model"),  # FLAVA's
    ("input_features", "audio_model"),
)

#: Inputs that are pictures or sounds: their positions have no words.
_NUMBERED = frozenset({*AXES, "pixel_values_videos", "flattened_patches"})

#: Whisper reads 100 spectra a second, and its encoder joins two (Radford et al. 2022, section 2.2).
_SECONDS_PER_FRAME = {"whisper": 0.02}

_ELSE = "change a word of the input and compare the outputs, or capture a model that attends"
#: By the type in a model's configuration: why it has no weights to trace, and what to do instead.
_UNTRACEABLE = {
    "rwkv": (
        "is recurrent: it carries a state from token to token, and weighs no token against another",
        _ELSE,
    ),
    **dict.fromkeys(
        ("mamba", "mamba2", "falcon_mamba"),
        ("is a state-space model: it carries a state from token to token, and attends to none", _ELSE),
    ),
    "fnet": ("mixes positions by a Fourier transform, in the same way for every text", _ELSE),
    "cpmant": (
        "puts a prompt of its own before the text and returns its weights without it, so their rows do not "
        "sum to 1",
        "capture the same text in another model that writes, such as GPT-2",
    ),
    "yoso": (
        "weighs keys by the chance that their hashes meet the query's; these weights do not sum to 1 and are "
        "not returned",
        "capture the same text in a model with softmax attention, such as BERT",
    ),
}


def attention_of_hugging_face(model: Any, inputs: CaptureInputs) -> RawAttention:
    """Run a Hugging Face model once, on a target that it wrote before if it was told to write.

    Args:
        model: encoder-only, decoder-only or encoder–decoder.
        inputs: what it reads; `generate` defaults to whether it has a decoder and nothing to read
            there.

    Raises:
        UserError: as `vt.capture`.
    """
    named = one_sentence(_named_inputs(inputs), inputs.batch_index)
    if hasattr(model, "get_text_features"):
        return _attention_of_a_part(model, named, inputs)
    # Asked of the forward: the encoder alone shares its whole model's configuration.
    has_both = "decoder_input_ids" in inputs.parameters and not getattr(
        model.config,
        "use_decoder_only_language_model",
        False,  # BLIP-2 is made with either
    )
    generate = inputs.generate
    if generate is None:
        generate = has_both and "decoder_input_ids" not in named
    _check_used(model, named, generate, has_both, inputs.causal)

    labels, tokenizer = inputs.labels, inputs.tokenizer
    source = labels.source if has_both else labels.only
    source = label_side(
        source, tokenizer, named.get("input_ids"), named.get("attention_mask"), inputs.encoding
    )
    if source is not None:
        type_ids = named.get("token_type_ids")
        source = source.with_segments(None if type_ids is None else type_ids[0].tolist(), inputs.encoding)
    if generate:
        if (labels.target if has_both else labels.only) is not None:
            instead = "give its ids too (decoder_input_ids=)" if has_both else "leave out generate="
            raise UserError(
                "labels were given, but the model writes the text itself; leave them to tokenizer=, or "
                f"{instead}"
            )
        written = write(model, named, tokenizer, inputs.max_new_tokens, has_both)
        named = reading_inputs(named, written, has_both, used_by(model))
        # The last token was written and never read.
        target = labels_of_ids(tokenizer, written[:-1])
        target = replace(target, written=labels_of_ids(tokenizer, written[1:]).tokens)
        labels = Labels(source=source if has_both else None, target=target)
    elif has_both:
        ids, mask = named.get("decoder_input_ids"), named.get("decoder_attention_mask")
        labels = Labels(source=source, target=label_side(labels.target, tokenizer, ids, mask))
    elif labels.source is None or labels.target is None:
        labels = on_the_given_side(labels, source)
    return _read(model, named, labels, inputs)


def _read(model: Any, named: Mapping[str, Any], labels: Labels, inputs: CaptureInputs) -> RawAttention:
    """Run the model once; where it returns no weights, watch what it computes."""

    # Nothing is read after this; and the decoder of FSMT is causal only without a cache.
    uncached = {"use_cache": False} if "use_cache" in forward_parameters(model) else {}

    def forward(named: Mapping[str, Any] = named) -> Any:
        read = named.get("input_ids"), named.get("decoder_input_ids")
        with (
            evaluating(model),
            attention_implementation(model, "eager"),
            within_sizes(model, *read),
        ):
            return model(**{**uncached, **named, "output_attentions": True, "return_dict": True})

    def embed(changed: Mapping[str, Any]) -> Tensor | None:
        with evaluating(model):
            output = model(**{**uncached, **changed, "output_hidden_states": True, "return_dict": True})
        states = output.get("encoder_hidden_states", output.get("hidden_states"))
        return None if states is None else states[0][0]  # [position, feature]

    def forward_as_loaded() -> None:
        with evaluating(model), drawing_from(before, inputs.device):
            model(**{**named, **uncached})

    if model.config.model_type in _UNTRACEABLE:
        reason, way = _UNTRACEABLE[model.config.model_type]
        raise UserError(f"{type(model).__name__} {reason}; {way}")
    before = random_state(inputs.device)  # ViT-MAE draws the patches that it reads
    # The batch holds one sentence by now.
    found = RawAttention(
        layers={},
        labels=labels,
        batch_index=None,
        is_numbered=not named.keys().isdisjoint(_NUMBERED),
    )
    biases = BiasWatch()
    has_bands = hasattr(model.config, "attention_window")
    shifts = [int(module.shift_size) for module in model.modules() if hasattr(module, "shift_size")]
    if has_bands or (shifts and "pixel_values" in named and hasattr(model.config, "depths")):
        with watching(model, biases):
            if has_bands:
                parts = maps_of_bands(forward(), named.get("global_attention_mask"))
            else:
                parts = maps_of_windows(model.config, shifts, named["pixel_values"], forward, biases)
        causal = says_causal(model, named, inputs.causal)
        return replace(found, layers=parts, causal=causal, biases=biases.of(parts))
    as_module = replace(inputs, positional=(), ids={}, named=named, encoding=None, labels=labels)
    as_module = replace(as_module, generate=False, batch_index=None)
    # What Falcon returns has its ALiBi twice; what WavLM returns as each head is the mean of all.
    if getattr(model.config, "alibi", False) or model.config.model_type == "wavlm":
        return replace(attention_of_module(model, as_module), is_numbered=found.is_numbered)
    watch = LayerWatch(model, inputs.selection)
    with watching(model, watch, biases):
        output = forward()
    draws = not all(map(torch.equal, before, random_state(inputs.device)))
    layers = layers_of_output(output) if isinstance(output, Mapping) else {}
    text = named.get("input_ids", named.get("inputs_embeds"))
    n_read = 0 if text is None else text.shape[1]
    if hasattr(model.config, "local_radius") or hasattr(model.config, "attention_type"):  # in blocks
        layers = whole_blocks(model.config, layers, n_read)
    if not any(layer is not None for of_kind in layers.values() for layer in of_kind):
        return replace(attention_of_module(model, as_module), is_numbered=found.is_numbered)
    found = replace(found, causal=says_causal(model, named, watch.causal))
    if not watch.saw_all(layers) and not hold_weights(layers):
        seen = maps_of_softmaxes(model, forward, labels, layers)
        if seen is not None:
            return replace(found, layers=seen)
    _check_windows(model, layers)
    if inputs.verify and found.is_numbered and "decoder_input_ids" not in inputs.parameters:
        _check_reads_text(model, named, layers.get("self"), forward)
    kept = {kind: watch.kept(of_kind) for kind, of_kind in layers.items()}
    numbers = {kind: of_kind for kind, (of_kind, _, _) in kept.items()}
    whole = {kind: of_kind for kind, (_, _, of_kind) in kept.items()}
    layers = {kind: of_kind for kind, (_, of_kind, _) in kept.items()}
    patches = None
    if inputs.verify:
        mask = named.get("attention_mask")
        check_returned(model, forward_as_loaded, layers, numbers, inputs.selection, mask)
        patches = find_pictures(model, named, embed, draws=draws) if found.is_numbered else None
    n_virtual = count_virtual_tokens(model) if hasattr(model, "active_peft_config") else 0
    if n_virtual and "decoder_input_ids" not in named:
        layers, labels = with_virtual_tokens(layers, labels, n_virtual, n_read)
    n_layers = getattr(model.config, "num_hidden_layers", None)
    n_heads = getattr(model.config, "num_attention_heads", None)  # a list, where layers differ
    return replace(
        found,
        layers=layers,
        labels=labels,
        numbers=numbers,
        whole=whole,
        is_selected=True,
        biases=biases.of(layers),
        seconds_per_frame=_SECONDS_PER_FRAME.get(model.config.model_type),
        has_sink=any(map(has_sink, model.modules())),
        configured=(n_layers, n_heads) if isinstance(n_layers, int) and isinstance(n_heads, int) else None,
        patches=patches,
    )


def _attention_of_a_part(model: Any, named: Mapping[str, Any], inputs: CaptureInputs) -> RawAttention:
    """Run the part of a joint model, such as CLIP, that reads what was given."""
    given = [part for name, part in _PARTS if name in named and hasattr(model, part)]
    if len(given) != 1:
        parts = [part for _, part in _PARTS if hasattr(model, part)]
        raise UserError(
            f"{type(model).__name__} joins {' and '.join(parts)}, and a trace shows one of them; give what "
            f"one reads alone: vt.capture(model.{parts[0] if parts else 'text_model'}, ...)"
        )
    part = getattr(model, given[0])
    parameters = forward_parameters(part)
    return attention_of_hugging_face(
        part, replace(inputs, positional=(), ids={}, named=named, parameters=parameters, causal=None)
    )


def _named_inputs(inputs: CaptureInputs) -> dict[str, Any]:
    """Return all inputs by the names that the model's forward has for them."""
    if len(inputs.positional) > len(inputs.parameters):
        raise UserError(
            f"{len(inputs.positional)} inputs came by position, but the model takes "
            f"{[*inputs.parameters]}; give them by name"
        )
    by_place = dict(zip(inputs.parameters, inputs.positional, strict=False))
    for name, value in by_place.items():
        if name.endswith("_ids") and isinstance(value, Tensor) and value.is_floating_point():
            other = next((each for each in AXES if each in inputs.parameters), "inputs_embeds")
            raise UserError(
                f"the numbers {list(value.shape)} came where {name}= is in the model's forward, "
                f"and they are no token ids; give them by name: {other}="
            )
    named = {**by_place, **inputs.ids, **inputs.named}
    if inputs.encoding is not None:
        named |= {name: ids for name, ids in inputs.encoding.items() if name in inputs.parameters}
    named = {name: as_input(name, value, inputs.device) for name, value in named.items()}
    if "spatial_shapes" in named and named["pixel_values"].ndim == AXES["pixel_values"]:
        named["pixel_values"] = named["pixel_values"][0]  # SigLIP 2 reads patches, [batch, patch, number]
    mask = named.get("attention_mask")
    if isinstance(mask, Tensor) and mask.ndim == 2 and ((mask != 0) & (mask != 1)).any():
        raise UserError(
            f"attention_mask holds {mask.unique().tolist()!s:.60}, but 1 (a token) and 0 (padding) were "
            "expected; give a target's ids by name: decoder_input_ids="
        )
    cache = named.pop("past_key_values", None)  # an empty one would be filled
    if getattr(cache, "get_seq_length", lambda: len(cache or ()))():
        raise UserError(
            "past_key_values= holds positions that were read before, so their rows of attention are not "
            "computed again; leave it out, and give the ids of the whole text"
        )
    return named


def used_by(model: Any) -> frozenset[str]:
    """Return the names of the inputs that a model's forwards, and those of the models in it, name."""
    inner = [each for each in model.modules() if each is model or hasattr(each, OF_A_MODEL)]
    return OUTPUT_ARGUMENTS.union(*(inspect.signature(each.forward).parameters for each in inner))


def _check_used(
    model: Any, named: Mapping[str, Any], generate: bool, has_both: bool, causal: bool | None
) -> None:
    """Raise a UserError for an input that the model would accept and ignore.

    Every Hugging Face model takes ``**kwargs`` and passes them to the models inside it. An input
    is used if one of their forwards names it.
    """
    used = set(used_by(model))
    # A forward that only hands on what it was given, (*args, **kwargs), may use any name.
    rest = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    takes_names = any(each.kind not in rest for each in forward_parameters(model).values())
    marks = ("cross", "encoder_attn", "encdecattention")  # in the names of modules that attend across
    if has_both or not any(mark in name.lower() for name, _ in model.named_modules() for mark in marks):
        used -= {"encoder_hidden_states", "encoder_attention_mask"}
    if causal:
        used |= {"is_causal"}  # named by no forward; read where the mask is made
    if generate and hasattr(model, "generate"):
        used |= {*vars(model.generation_config), *inspect.signature(model.generate).parameters}
    for name in sorted(name for name, value in named.items() if value is not None):
        if name not in used and takes_names:
            raise UserError(
                f"{type(model).__name__} takes {name}= and does not use it, so the trace would be "
                "that of the unchanged model; leave it out, and change the model itself (by a "
                "forward hook, or in its weights) before you capture it"
            )


def says_causal(model: Any, named: Mapping[str, Any], declared: bool | None) -> bool | None:
    """Return whether a model is causal by its configuration, its name or its attention modules.

    False, or None where it is unknown, leaves the last word to the weights.

    Args:
        model: the model.
        named: its inputs.
        declared: what the modules say whose weights were seen.
    """
    if named.get("is_causal") is False:
        return False  # a decoder is asked to read like an encoder
    if declared or getattr(model.config, "is_decoder", False) or type(model).__name__.endswith("ForCausalLM"):
        return True
    writes = hasattr(model, "can_generate") and model.can_generate()
    if writes and hasattr(model.config, "text_config"):
        return True  # it writes after pictures, whose tokens may see each other
    return None if writes and declared is None else False


def _check_windows(model: Any, layers: Mapping[str, Sequence[Any]]) -> None:
    """Raise a UserError for a model whose attention is no map of all its positions."""
    for of_kind in layers.values():
        for weights in of_kind:
            shape = getattr(weights, "shape", (1, 1, 1, 1))
            if (len(shape) != 4 or shape[0] > 1) and hasattr(model, "encoder") and hasattr(model, "decoder"):
                raise UserError(
                    f"{type(model).__name__} returns {list(shape)} as a layer's attentions, windows of a "
                    "picture; capture its parts: vt.capture(model.encoder, ..., layers=[...]), or "
                    "vt.capture(model.decoder, ...) with encoder_hidden_states="
                )
            if len(shape) != 4 or shape[0] > 1:
                raise UserError(
                    f"{type(model).__name__} returns {list(shape)} as a layer's attentions, and a trace "
                    "needs [1, head, query, key] over all positions; if a part of that is a map, give it: "
                    "vt.capture([output.attentions[0][0]], source_tokens=[...])"
                )


def _check_reads_text(model: Any, named: Mapping[str, Any], layers: Any, forward: Callable[..., Any]) -> None:
    """Raise a UserError for attention over a picture alone, where a text was given too.

    A text that is among the positions, or is read by them, changes their weights.
    """
    ids = named.get("input_ids")
    if ids is None or not layers or layers[0] is None or layers[0].shape[-1] == ids.shape[1]:
        return
    changed = layers_of_output(forward({**named, "input_ids": (ids - 1).abs()}))["self"]
    if all(map(torch.equal, layers, changed)):
        parts = ", ".join(name for name, part in model.named_children() if hasattr(part, OF_A_MODEL))
        raise UserError(
            f"{type(model).__name__} returns the attention over the {layers[0].shape[-1]} positions of its "
            f"picture, and none of its text; capture one of its parts alone, with what it reads: {parts}"
        )


def one_sentence(named: Mapping[str, Any], batch_index: int | None) -> dict[str, Any]:
    """Keep only the chosen sentence of every input."""
    batched = [value for value in named.values() if isinstance(value, Tensor) and value.ndim > 1]
    if "grid_thw" in named:  # the rows of its first input are the patches of all pictures
        batched = [named["grid_thw"]]
        if len(batched[0]) > 1:
            raise UserError(f"grid_thw= holds {len(batched[0])} pictures in one sequence; give one at a time")
    n_sentences = len(named.get("input_ids", batched[0] if batched else [0]))
    index = sentence_index(n_sentences, batch_index)

    others = [name for name in sorted(_NUMBERED & named.keys()) if len(named[name]) != n_sentences > 1]
    if others:
        raise UserError(
            f"{others[0]}= holds {len(named[others[0]])} rows for {n_sentences} texts, which does not tell "
            "whose each is; give one text with its own pictures"
        )
    return {
        name: value[index : index + 1]
        if isinstance(value, Tensor) and value.ndim > 1 and len(value) == n_sentences
        else value
        for name, value in named.items()
    }


def label_side(
    given: TokenLabels | None, tokenizer: Any, ids: Any, mask: Any, encoding: Any = None
) -> TokenLabels | None:
    """Label one sequence: with the labels given, or by the tokenizer and without padding."""
    kept = mask[0].bool().cpu().numpy() if isinstance(mask, Tensor) and mask.ndim == 2 else None
    if given is not None:
        return replace(given, kept=kept)
    if tokenizer is None or ids is None:
        return None
    return replace(labels_of_ids(tokenizer, ids[0].tolist(), encoding), kept=kept).without_padding()


def on_the_given_side(labels: Labels, read: TokenLabels | None) -> Labels:
    """Put the labels where the caller put theirs: under source, under target, or open."""
    if labels.source is not None:
        return Labels(source=read)
    return Labels(target=read) if labels.target is not None else Labels(tokens=read)
