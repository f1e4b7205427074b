"""Small Hugging Face models with random weights, and what a capture must leave unchanged in them."""

from __future__ import annotations

import copy
import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn


class _Package:
    """A package that is imported when something of it is first used: it takes seconds."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


hf, peft = _Package("transformers"), _Package("peft")

#: The vocabulary of the word-piece tokeniser.
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sl", "##eeps", "well", "dog", "run"]
#: What every configuration needs to fit it.
SIZES = {"vocab_size": len(PIECES), "pad_token_id": 0}

#: Small sizes under all the names that configurations have for them; each takes those that it knows.
ALL_SIZES: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "emb_dim"), 32),
    **dict.fromkeys(("embedding_size", "word_embed_proj_dim", "projection_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "num_layers", "n_layer", "n_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_encoder_layers",), 2),
    **dict.fromkeys(("num_attention_heads", "num_heads", "n_head", "n_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads"), 4),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "hidden_dim", "n_inner", "d_inner"), 48),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 48),
    **dict.fromkeys(("head_dim", "d_kv", "d_head", "kv_channels", "v_head_dim"), 8),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx"), 64),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 16),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank"), 16),
    **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim"), 4),
    "num_key_value_heads": 2,
    "num_experts_per_tok": 2,
    "vocab_size": 64,
    "type_vocab_size": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "image_size": 32,
    "patch_size": 8,
    "num_mel_bins": 16,
    "conv_dim": [32] * 7,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "sliding_window": 4,
}
#: The sizes of an encoder, under the names that most configurations give them.
BERT_SIZES = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
LLAMA_SIZES = {
    "hidden_size": 32,
    "intermediate_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
    "bos_token_id": 2,
    "eos_token_id": 3,
    **SIZES,
}


def word_piece(special: bool) -> Any:
    """A tokenizer of `PIECES`; with `special`, it puts a text, or two, between [CLS] and [SEP]."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {piece: i for i, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
        )
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


def sized(config_class: Any, **changes: Any) -> Any:
    """Make a configuration of `ALL_SIZES` and of changes; a change to None leaves a size as it is."""
    own_names = getattr(config_class, "attribute_map", {})  # of sizes that have two
    known = {*config_class().to_dict(), *own_names}
    known -= {name for name in known if own_names.get(name, name) in {own_names.get(n, n) for n in changes}}
    sizes = {name: size for name, size in ALL_SIZES.items() if name in known} | changes
    return config_class(**{name: size for name, size in sizes.items() if size is not None})


def tiny(model_class: str, **changes: Any) -> nn.Module:
    """Make a random model of a class of Hugging Face's by its name, in evaluation mode."""
    made = getattr(hf, model_class)
    return made(sized(made.config_class, **changes)).eval()


def llama() -> nn.Module:
    return hf.LlamaForCausalLM(hf.LlamaConfig(**LLAMA_SIZES))


def eager(model: nn.Module, **inputs) -> dict:
    """Run a copy of the model whose attention was made eager by Hugging Face's own means."""
    twin = copy.deepcopy(model).eval()
    twin.set_attn_implementation("eager")
    with torch.no_grad():
        return twin(**inputs, output_attentions=True)


def stacked(layers) -> np.ndarray:
    return torch.cat(layers).float().numpy()  # [layer, head, query, key]


def state(model: nn.Module) -> list:
    """Everything of a model that a careless capture could change."""
    return [
        [
            (name, module.training, sorted(vars(module)), *map(len, hooks(module)))
            for name, module in model.named_modules()
        ],
        [vars(module.config) for module in model.modules() if hasattr(module, "config")],
        getattr(getattr(model, "generation_config", None), "to_dict", dict)(),
        {name: (value.data_ptr(), value.clone()) for name, value in model.state_dict().items()},
        [(p.requires_grad, p.grad) for p in model.parameters()],
    ]


def hooks(module: nn.Module) -> list:
    return [module._forward_hooks, module._forward_pre_hooks, module._backward_hooks]


def same(before, after) -> bool:
    if isinstance(before, torch.Tensor):
        return torch.equal(before, after)
    if isinstance(before, list | tuple):
        return len(before) == len(after) and all(map(same, before, after))
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(same(before[k], after[k]) for k in before)
    return before == after


def frozen(model: nn.Module) -> list:
    return copy.deepcopy(state(model))


@dataclass(frozen=True)
class Words:
    """The special tokens of a model whose words are bare numbers."""

    tokens: tuple[str, ...]
    pad_id: int
    sos_id: int
    eos_id: int = 0


def marian_words(n_words: int) -> Words:
    """Words whose last one is padding; with it a text of Marian's begins."""
    return Words(tuple(f"t{i}" for i in range(n_words)), n_words - 1, n_words - 1)
