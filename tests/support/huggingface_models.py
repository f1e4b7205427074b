"""Small Hugging Face models with random weights, and what a capture must leave unchanged in them."""

from __future__ import annotations

import copy
import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn


class _Transformers:
    """The package `transformers`, imported when something of it is first used: it takes seconds."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("transformers"), name)


hf = _Transformers()

#: The vocabulary of the word-piece tokeniser.
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sl", "##eeps", "well", "dog", "run"]
#: What every configuration needs to fit it.
SIZES = {"vocab_size": len(PIECES), "pad_token_id": 0}

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
