"""Many kinds of Hugging Face models, tiny and random, and how far a capture is from their own weights."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

import viz_transformer as vt
from tests.support.huggingface_models import hf, sized, stacked
from viz_transformer.errors import UserError

#: A length for what encoders and decoders read; for two windows of 4, and no square.
N_SOURCE, N_TARGET = 12, 7
_ALL_HEADS = {"num_key_value_heads": 4}
_SWIN = {"embed_dim": 16, "depths": [2], "num_heads": [2], "window_size": 4, "patch_size": 4}
_SWIN |= {"num_attention_heads": None, "num_hidden_layers": None, "num_layers": None, "hidden_size": None}
#: The types of models that need nothing but sizes.
# fmt: off
PLAIN = (
    "albert", "apertus", "arcee", "bart", "beit", "bert", "bert-generation", "bigbird_pegasus",
    "biogpt", "bitnet", "blenderbot", "blenderbot-small", "bloom", "camembert", "clip_text_model",
    "clip_vision_model", "cohere", "cohere2", "convbert", "ctrl", "data2vec-audio", "data2vec-text",
    "deberta", "deberta-v2", "deit", "diffllama", "dinov2", "dinov2_with_registers", "dinov3_vit",
    "distilbert", "dpr", "dpt", "electra", "ernie", "ernie4_5", "esm", "eurobert", "exaone4", "falcon",
    "falcon_h1", "flaubert", "fsmt", "gemma", "gemma2", "gemma3_text", "glm", "glm4", "gpt2",
    "gpt_bigcode", "gpt_neox", "gpt_oss", "granite", "granitemoe", "helium", "hubert", "ibert", "ijepa",
    "imagegpt", "jetmoe", "layoutlm", "lfm2", "llama", "m2m_100", "marian", "markuplm", "mbart",
    "megatron-bert", "mistral", "mixtral", "mobilebert", "modernbert", "modernbert-decoder", "moshi",
    "mpnet", "mpt", "mt5", "mvp", "nemotron", "nystromformer", "olmo", "olmo2", "olmoe", "openai-gpt",
    "opt", "pegasus", "persimmon", "phi", "phi3", "phimoe", "plbart", "prophetnet", "qwen2",
    "qwen2_moe", "qwen3", "qwen3_moe", "rembert", "roberta", "roberta-prelayernorm", "roc_bert",
    "roformer", "siglip_vision_model", "smollm3", "splinter", "squeezebert", "stablelm", "starcoder2",
    "switch_transformers", "t5", "tapas", "umt5", "unispeech", "vit", "vit_msn", "wav2vec2", "wavlm",
    "xglm", "xlm", "xlm-roberta", "xlm-roberta-xl",
)
# fmt: on
#: All models by their type (what follows a comma tells two of one type apart), and what the
#: configuration of each needs besides sizes.
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    **{name: {} for name in PLAIN},
    "gptj": {"rotary_dim": 8},
    "codegen": {"rotary_dim": 8},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 4},
    "deepseek_v2": _ALL_HEADS,
    "deepseek_v3": {**_ALL_HEADS, "n_group": 1, "topk_group": 1, "qk_head_dim": 8, "head_dim": 4},
    "xmod": {"default_language": "en_XX", "languages": ["en_XX"]},
    "speech_to_text": {"input_feat_per_channel": 16, "conv_channels": 32},
    "whisper": {"max_source_positions": 24},
    "pegasus_x": {"block_size": 4},
    "longt5": {"local_radius": 3},
    "yolos": {"image_size": [32, 32]},
    "swin": _SWIN,
    "swinv2": _SWIN,
    "big_bird": {"attention_type": "original_full"},
    "big_bird, block sparse": {"block_size": 1, "num_random_blocks": 1},
    "longformer": {"attention_window": [4, 4]},
    "led": {"attention_window": [4, 4]},
    "funnel": {
        "architectures": ["FunnelModel"],
        "block_sizes": [1, 1],
        "block_repeats": [1, 1],
        "num_decoder_layers": 1,
    },
    "xlnet": {},
    "canine": {},
    "reformer": {"axial_pos_embds": False, "attn_layers": ["local", "lsh"], "num_buckets": 2},
    "yoso": {},
    "fnet": {},
    "mamba": {},
    "rwkv": {"attention_hidden_size": 32},
}
#: Others, which the page does not list: attention in chunks, and layers that do not attend.
UNLISTED: dict[str, dict[str, Any]] = {
    "llama4_text": {"attention_chunk_size": 4, "intermediate_size_mlp": 16},
    "jamba": {"num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 4},
}
#: How many patches a picture has, where the weights are those of windows.
PATCHES = {"swin": 64, "swinv2": 64}
#: Models that return scores as their attentions.
SCORES = {"prophetnet", "squeezebert"}
#: Models whose own maps leave out a part of some rows (test_tracing_whole_maps.py works them out), or
#: are the mean of their heads (test_verified_captures.py).
INCOMPLETE = {"big_bird, block sparse", "wavlm"}
#: Why no trace of these models can be made.
REASONS = {
    "canine": "its middle layers read every fourth position, and the others all of them",
    "fnet": "it mixes positions by a Fourier transform, and attends to nothing",
    "funnel": "each block reads half as many positions as the one before",
    "mamba": "a state-space model attends to nothing",
    "pegasus_x": "it attends in blocks, and to global tokens that the text does not have",
    "rwkv": "a recurrent model attends to nothing",
    "yoso": "it estimates its weights by hashing",
}


@dataclass(frozen=True)
class Comparison:
    """How a capture of one configuration went.

    Attributes:
        kinds: the kinds of attention in the trace; none if it was refused.
        difference: the largest difference from the weights that the eager model returned; None if
            it returned none that could be compared.
        refusal: the message, if no trace could be made.
    """

    kinds: tuple[str, ...] = ()
    difference: float | None = None
    refusal: str | None = None


def make(name: str, **given: Any) -> nn.Module:
    """Make the random model of a configuration, the same one every time."""
    config_class = type(hf.AutoConfig.for_model(name.split(",")[0]))
    config = sized(config_class, **(CONFIGURATIONS | UNLISTED)[name])
    torch.manual_seed(0)
    return hf.AutoModel.from_config(config, **given).eval()


def inputs_of(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return what a model reads: text, a picture, or sound."""
    generator = torch.Generator().manual_seed(0)
    main = model.main_input_name
    if main == "input_ids":
        given = {"input_ids": torch.randint(3, 64, (1, N_SOURCE), generator=generator)}
    elif main == "pixel_values":
        given = {"pixel_values": torch.randn(1, 3, 32, 32, generator=generator)}
    else:
        shape = {"input_values": (1, 4000), "input_features": (1, 16, 48)}[main]
        if type(model).__name__.startswith("Speech2Text"):
            shape = (1, 48, 16)
        given = {main: torch.randn(shape, generator=generator)}
    if "decoder_input_ids" in inspect.signature(model.forward).parameters:
        given["decoder_input_ids"] = torch.randint(3, 64, (1, N_TARGET), generator=generator)
    return given


def compare(name: str, model: nn.Module | None = None) -> Comparison:
    """Capture a configuration's model, and compare each weight with what the model returns in eager."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, twin = make(name) if model is None else model, make(name, attn_implementation="eager")
        twin.load_state_dict(model.state_dict())
        given = inputs_of(model)
        with torch.no_grad():
            output = twin(**given, output_attentions=True)
        try:
            trace = vt.capture(model, **given, **labels_of(name, output, given))
        except UserError as error:
            return Comparison(refusal=str(error))
    differences = [
        np.abs(trace.attention(kind) - expected).max()
        for kind in trace.kinds
        if (expected := own_weights(name, output, kind)) is not None
        and expected.shape == trace.attention(kind).shape
    ]
    return Comparison(trace.kinds, float(max(differences)) if differences else None)


def own_weights(name: str, output: Mapping[str, Any], kind: str) -> np.ndarray | None:
    """Return the weights [layer, head, query, key] of a kind that a model returned, if it did."""
    layers = output.get(f"{kind}_attentions") or output.get("attentions") or ()
    layers = [layer for layer in layers if layer is not None]
    if not layers or name in INCOMPLETE:
        return None
    if name in SCORES and kind != "decoder":  # ProphetNet's decoder does return weights
        layers = [layer.softmax(-1) for layer in layers]
    return stacked(layers)


def labels_of(
    name: str, output: Mapping[str, Any], given: Mapping[str, torch.Tensor]
) -> dict[str, list[str]]:
    """Return labels for all that a model reads; how long it is after convolutions, the weights tell."""
    if "input_ids" in given:
        n_source = given["input_ids"].shape[1]
    else:
        layers = output.get("encoder_attentions") or output.get("attentions")
        n_source = layers[0].shape[-1] if layers and layers[0] is not None else N_SOURCE
        n_source = PATCHES.get(name, n_source)
    source = [f"s{i}" for i in range(n_source)]
    if "decoder_input_ids" in given:
        return {"source_tokens": source, "target_tokens": [f"t{i}" for i in range(N_TARGET)]}
    return {"tokens": source}
