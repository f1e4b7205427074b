"""Small encoder–decoders and a masked model with random weights, and a tokenizer for them."""

from __future__ import annotations

from functools import cache
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn

from tests.support.causal_models import randomised
from tests.support.huggingface_models import hf, tiny
from viz_transformer.config import ModelConfig
from viz_transformer.model import Transformer

#: The words of docs/interpreting.md, and names for the rest of the 23 ids that the models know.
WORDS = (
    *("<pad>", "<s>", "</s>", "[UNK]", "[MASK]", "the", "cat", "dog", "sleeps", "well", "translate"),
    *("English", "to", "German:", "Die", "Katze", *(f"word{i}" for i in range(7))),
)


def _made(model_class: str, **changes: Any) -> Any:
    sizes = {"d_model": 16, "decoder_start_token_id": 0, "max_position_embeddings": 32} | changes
    return randomised(tiny(model_class, vocab_size=len(WORDS), **sizes))


def tokenizer() -> Any:
    """A tokenizer of `WORDS`."""
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[UNK]", mask_token="[MASK]", pad_token="<pad>", eos_token="</s>"
    )


@cache
def t5() -> nn.Module:
    return _made("T5ForConditionalGeneration", d_kv=6)


@cache
def marian() -> nn.Module:
    return _made("MarianMTModel")


@cache
def bart() -> nn.Module:
    return _made("BartForConditionalGeneration")


@cache
def ours() -> nn.Module:
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "n_encoder_layers": 2, "n_decoder_layers": 2}
    return randomised(Transformer(ModelConfig(vocab_size=23, norm="pre", **sizes)))


@cache
def bert() -> nn.Module:
    return _made("BertForMaskedLM", max_position_embeddings=16)
