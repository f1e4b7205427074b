"""Small causal language models with random weights, of several shapes, and tokenizers for them."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn

from tests.support.huggingface_models import LLAMA_SIZES, hf
from viz_transformer.config import ModelConfig
from viz_transformer.model import DecoderOnly

WORDS = ("[UNK]", "When", "Mary", "and", "John", "went", "out", "gave", "a", "bag", "to", "the", "cat")
#: Two prompts that differ in one word.
CLEAN, CORRUPTED = "When Mary and John went out John gave", "When Mary and John went out Mary gave"
_SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_SIZES = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 16,
    **_SPECIAL,
}
_GROUPED = {**_SIZES, "num_key_value_heads": 2}


def tokenizer():
    """A tokenizer of whole words, in Hugging Face's form."""
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return hf.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")


#: The words of docs/attribution.md; as in GPT-2's tokenizer, a space belongs to the word behind it.
SPACED = (
    "When",
    *(f"Ġ{word}" for word in ["Mary", "and", "John", "went", "out", "gave", "a", "bag", "to"]),
    ",",
)


def spaced_tokenizer():
    """A tokenizer whose words carry the space before them, as those of GPT-2 do."""
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(SPACED)}, unk_token=","))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return hf.PreTrainedTokenizerFast(tokenizer_object=words)


def spaced_gpt2() -> nn.Module:
    return gpt2(n_words=len(SPACED))


def randomised(model: nn.Module) -> nn.Module:
    """Make every parameter, biases and norms too, large and unlike every other."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model.eval()


def gpt2(n_words: int = len(WORDS)) -> nn.Module:
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 16}
    config = hf.GPT2Config(vocab_size=n_words, **sizes, **_SPECIAL)
    return randomised(hf.GPT2LMHeadModel(config))


def llama() -> nn.Module:
    return randomised(hf.LlamaForCausalLM(hf.LlamaConfig(**_GROUPED)))


def opt() -> nn.Module:
    """With a projection between its last norm and its output layer."""
    sizes = {name: _SIZES[name] for name in _SIZES.keys() - {"intermediate_size"}}
    return randomised(hf.OPTForCausalLM(hf.OPTConfig(ffn_dim=24, word_embed_proj_dim=8, **sizes)))


def neox() -> nn.Module:
    """Attention and network side by side."""
    return randomised(hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**_SIZES)))


def falcon() -> nn.Module:
    """One head of values for all; its attention is added to the output of its network in place."""
    sizes = {name: _SIZES[name] for name in ("hidden_size", "num_hidden_layers", "num_attention_heads")}
    return randomised(hf.FalconForCausalLM(hf.FalconConfig(vocab_size=len(WORDS), **sizes, **_SPECIAL)))


def jamba() -> nn.Module:
    """Two of its four layers attend, 1 and 3."""
    sizes = LLAMA_SIZES | {"num_hidden_layers": 4, "num_experts": 2, "num_experts_per_tok": 1}
    periods = {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2}
    return hf.JambaForCausalLM(hf.JambaConfig(**sizes, **periods, mamba_d_state=4, use_mamba_kernels=False))


def gpt_oss() -> nn.Module:
    """A part of its attention goes to a sink that is no token."""
    sizes = {"head_dim": 4, "num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 4}
    return randomised(hf.GptOssForCausalLM(hf.GptOssConfig(**_GROUPED, **sizes)))


def gpt1() -> nn.Module:
    """Post-norm; a block returns a list."""
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 16}
    return randomised(hf.OpenAIGPTLMHeadModel(hf.OpenAIGPTConfig(vocab_size=len(WORDS), **sizes)))


def gemma2(**changes) -> nn.Module:
    """With a norm behind the attention, heads wider than their share, and, by default, capped logits."""
    config = hf.Gemma2Config(head_dim=8, **_GROUPED | changes)
    return randomised(hf.Gemma2ForCausalLM(config))


def gemma2_uncapped() -> nn.Module:
    return gemma2(final_logit_softcapping=None)


def ours(**changes) -> nn.Module:
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "max_length": 16, "n_decoder_layers": 2, "norm": "pre"}
    config = ModelConfig(family="decoder", vocab_size=len(WORDS), **sizes | changes)
    return randomised(DecoderOnly(config))


PRE_NORM = [gpt2, llama, opt, neox, falcon, gemma2_uncapped, ours]


@torch.no_grad()
def logits_of(model: nn.Module, ids) -> torch.Tensor:
    """The model's own logits [position, vocab]."""
    output = model(torch.as_tensor(ids).reshape(1, -1))
    return getattr(output, "logits", output)[0]


def byte_tokenizer(text: str):
    """A byte-level tokenizer like GPT-2's, to which each word of a text is one token."""
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    words.train_from_iterator([text] * 3, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet))
    return hf.PreTrainedTokenizerFast(tokenizer_object=words)
