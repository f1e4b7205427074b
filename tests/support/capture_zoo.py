"""Many kinds of Hugging Face models, tiny and random, and how far a capture is from their own weights."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import nn

import viz_transformer as vt
from tests.support.huggingface_models import hf, sized, stacked
from viz_transformer.capturing import verify
from viz_transformer.errors import UserError

#: A length for what encoders and decoders read; for two windows of 4, and no square.
N_SOURCE, N_TARGET = 12, 7
_ALL_HEADS = {"num_key_value_heads": 4}
_SWIN = {"embed_dim": 16, "depths": [2], "num_heads": [2], "window_size": 4, "patch_size": 4}
_SWIN |= {"num_attention_heads": None, "num_hidden_layers": None, "num_layers": None, "hidden_size": None}
_LINEAR = {"linear_num_key_heads": 2, "linear_num_value_heads": 4}
_LINEAR |= {"linear_key_head_dim": 8, "linear_value_head_dim": 8}
_MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 8}
_BY_LAYER = {"num_kv_shared_layers": 0, "vocab_size_per_layer_input": 64, "hidden_size_per_layer_input": 8}
#: The types of models that need nothing but sizes.
# fmt: off
PLAIN = (
    "afmoe", "aimv2_vision_model", "albert", "apertus", "arcee", "bart", "beit", "bert",
    "bert-generation", "bigbird_pegasus", "biogpt", "bitnet", "blenderbot", "blenderbot-small", "bloom",
    "camembert", "chinese_clip_vision_model", "clip_text_model", "clip_vision_model", "cohere",
    "cohere2", "convbert", "cpmant", "ctrl", "cwm", "data2vec-audio", "data2vec-text",
    "data2vec-vision", "deberta", "deberta-v2", "deit", "diffllama", "dinov2", "dinov2_with_registers",
    "dinov3_vit", "distilbert", "doge", "dpr", "dpt", "electra", "ernie", "ernie4_5", "ernie4_5_moe",
    "esm", "eurobert", "exaone4", "exaone_moe", "falcon", "falcon_h1", "falcon_mamba", "flaubert",
    "flex_olmo", "flint", "fsmt", "gemma", "gemma2", "gemma3_text", "glm", "glm4", "glm4_moe", "gpt2",
    "gpt_bigcode", "gpt_neox", "gpt_neox_japanese", "gpt_oss", "granite", "granite_swa", "granitemoe",
    "granitemoe_swa", "granitemoeshared", "gte", "helium", "hubert", "hunyuan_v1_dense",
    "hunyuan_v1_moe", "ibert", "ijepa", "imagegpt", "internlm3", "iquestcoder", "jais2", "jetmoe",
    "jina_embeddings_v3", "kolibri1", "laguna", "layoutlm", "lfm2", "llama", "m2m_100", "marian",
    "markuplm", "mbart", "megatron-bert", "mellum", "mimo_v2_flash", "minimax_m2", "ministral",
    "ministral3", "mistral", "mixtral", "mlcd_vision_model", "mobilebert", "modernbert",
    "modernbert-decoder", "moonshine", "mpnet", "mpt", "mra", "mt5", "muse_spark_text", "mvp",
    "nanochat", "nemotron", "nemotron_h", "nllb-moe", "nomic_bert", "nystromformer", "olmo", "olmo2",
    "olmo3", "olmo_hybrid", "olmoe", "openai-gpt", "opt", "pegasus", "persimmon", "phi", "phi3",
    "phimoe", "pixio", "plbart", "prophetnet", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe",
    "qwen3_vl_text", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "seed_oss",
    "siglip_vision_model", "smollm3", "solar_open", "splinter", "squeezebert", "stablelm", "starcoder2",
    "switch_transformers", "t5", "tapas", "ultrabert", "umt5", "unispeech", "unispeech-sat",
    "vaultgemma", "vit", "vit_msn", "wav2vec2", "wav2vec2-conformer", "wavlm", "xglm", "xlm",
    "xlm-roberta", "xlm-roberta-xl",
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
    "moshi": {"sliding_window": 64},  # its window holds only in its cache
    **{
        name: {"layer_types": ["linear_attention", "full_attention"], **_LINEAR}
        for name in ("qwen3_next", "qwen3_5_text")
    },
    "recurrent_gemma": {"num_hidden_layers": 3},  # the third attends
    "bamba": {**_MAMBA, "attn_layer_indices": [1]},
    "granitemoehybrid": {**_MAMBA, "layer_types": ["mamba", "attention"]},
    "zamba2": {"layers_block_type": ["mamba", "hybrid"]},
    "mamba2": {"num_heads": 8},
    "minimax": {"layer_types": ["full_attention"] * 2},
    "lfm2_moe": {"layer_types": ["full_attention"] * 2},
    "dots1": {"n_shared_experts": 1, "n_group": 1, "topk_group": 1},
    **dict.fromkeys(("esmc", "glm4_moe_lite", "mistral4"), _ALL_HEADS),
    "longcat_flash": {**_ALL_HEADS, "head_dim": 4},
    "youtu": {**_ALL_HEADS, "head_dim": 4},
    "sew": {"conv_dim": None},
    "sew-d": {"conv_dim": None},
    "luke": {"entity_vocab_size": 10, "entity_emb_size": 16},
    "lilt": {"hidden_size": 48, "channel_shrink_ratio": 2},
    **dict.fromkeys(("gemma3n_text", "gemma4_text"), _BY_LAYER),
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
#: Models whose own maps leave out a part of some rows (test_capture_whole_maps.py works them out), or
#: are the mean of their heads (test_verified_captures.py).
INCOMPLETE = {"big_bird, block sparse", "wavlm"}
#: The kinds whose maps the eager model returns in parts, or not at all; that file works these out, too.
UNCOMPARED = {
    **dict.fromkeys(
        ("big_bird, block sparse", "led", "longformer", "longt5", "swin", "swinv2"), ("encoder",)
    ),
    "prophetnet": ("cross",),
    "wavlm": ("encoder",),
}
#: Why no trace of these models can be made.
REASONS = {
    "canine": "its middle layers read every fourth position, and the others all of them",
    "cpmant": "it puts a prompt of its own before the text, and returns its weights without that",
    "falcon_mamba": "a state-space model attends to nothing",
    "fnet": "it mixes positions by a Fourier transform, and attends to nothing",
    "funnel": "each block reads half as many positions as the one before",
    "mamba": "a state-space model attends to nothing",
    "mamba2": "a state-space model attends to nothing",
    "mra": "it approximates its weights by blocks",
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
        uncompared: the kinds of which the eager model returned no whole maps.
        verified: whether all layers were seen in the attention of the model as it was loaded.
    """

    kinds: tuple[str, ...] = ()
    difference: float | None = None
    refusal: str | None = None
    uncompared: tuple[str, ...] = ()
    verified: bool = False


def make(name: str, **given: Any) -> nn.Module:
    """Make the random model of a configuration, the same one every time."""
    config = configured(name)
    torch.manual_seed(0)
    return hf.AutoModel.from_config(config, **given).eval()


def configured(name: str) -> Any:
    """Make a configuration of small sizes."""
    config_class = type(hf.AutoConfig.for_model(name.split(",")[0]))
    return sized(config_class, **(CONFIGURATIONS | UNLISTED)[name])


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
            output = twin(**given, **uncached(given), output_attentions=True)
        right: dict[Any, bool] = {}
        try:
            with mock.patch.multiple(verify, _right=right, is_verified=lambda _: False):
                trace = vt.capture(model, **given, **labels_of(name, output, given))
        except UserError as error:
            return Comparison(refusal=str(error))
    found = compared(trace, {kind: own_weights(name, output, kind) for kind in trace.kinds})
    return replace(found, verified=list(right.values()) == [True])


def uncached(given: Mapping[str, torch.Tensor]) -> dict[str, bool]:
    """Return that nothing is cached, where there is a target: FSMT's decoder is causal only then."""
    return {"use_cache": False} if "decoder_input_ids" in given else {}


def compared(trace: vt.ForwardTrace, expected: Mapping[str, np.ndarray | None]) -> Comparison:
    """Compare a trace with the weights [layer, head, query, key] of each of its kinds; None are not known."""
    found = {kind: trace.attention(kind) for kind in trace.kinds}
    known = {
        kind
        for kind, weights in expected.items()
        if weights is not None and weights.shape == found[kind].shape
    }
    return Comparison(
        kinds=trace.kinds,
        difference=max((float(np.abs(found[kind] - expected[kind]).max()) for kind in known), default=None),
        uncompared=tuple(kind for kind in trace.kinds if kind not in known),
    )


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
