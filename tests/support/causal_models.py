"""Small causal language models with random weights, of several shapes, and tokenizers for them."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn

from tests.support.huggingface_models import hf, tiny
from viz_transformer.config import ModelConfig
from viz_transformer.model import DecoderOnly

WORDS = ("[UNK]", "When", "Mary", "and", "John", "went", "out", "gave", "a", "bag", "to", "the", "cat")
#: Two prompts that differ in one word.
CLEAN, CORRUPTED = "When Mary and John went out John gave", "When Mary and John went out Mary gave"
_SIZES = {"hidden_size": 16, "intermediate_size": 24, "max_position_embeddings": 16}


def tokenizer():
    """A tokenizer of whole words, in Hugging Face's form."""
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return hf.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]")


#: The words of docs/interpreting.md; as in GPT-2's tokenizer, a space belongs to the word behind it.
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
    return gpt2(len(SPACED), n_positions=20)  # a head lab writes eight after them


def randomised(model: nn.Module) -> nn.Module:
    """Make every parameter, biases and norms too, large and unlike every other."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model.eval()


def _made(model_class: str, **changes) -> nn.Module:
    return randomised(tiny(model_class, **{"vocab_size": len(WORDS), "hidden_size": 16} | changes))


def gpt2(n_words: int = len(WORDS), n_positions: int = 16) -> nn.Module:
    return _made("GPT2LMHeadModel", vocab_size=n_words, n_inner=None, n_positions=n_positions)


def llama() -> nn.Module:
    return _made("LlamaForCausalLM", **_SIZES, head_dim=4)


def opt() -> nn.Module:
    """With a projection between its last norm and its output layer."""
    return _made("OPTForCausalLM", ffn_dim=24, word_embed_proj_dim=8, max_position_embeddings=16)


def neox() -> nn.Module:
    """Attention and network side by side."""
    return _made("GPTNeoXForCausalLM", **_SIZES)


def falcon() -> nn.Module:
    """One head of values for all; its attention is added to the output of its network in place."""
    return _made("FalconForCausalLM")


def jamba() -> nn.Module:
    """Two of its four layers attend, 1 and 3."""
    periods = {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2}
    sizes = {"num_hidden_layers": 4, "mamba_d_state": 4, "use_mamba_kernels": False}
    return tiny("JambaForCausalLM", vocab_size=11, **sizes, **periods)


def gpt_oss() -> nn.Module:
    """A part of its attention goes to a sink that is no token."""
    return _made("GptOssForCausalLM", **_SIZES, head_dim=4, sliding_window=4)


def gpt1() -> nn.Module:
    """Post-norm; a block returns a list."""
    return _made("OpenAIGPTLMHeadModel", n_positions=16)


def gemma2(**changes) -> nn.Module:
    """With a norm behind the attention, heads wider than their share, and, by default, capped logits."""
    return _made("Gemma2ForCausalLM", **_SIZES, **{"sliding_window": None} | changes)


def gemma2_uncapped() -> nn.Module:
    model = gemma2()
    model.config.final_logit_softcapping = None
    return model


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
