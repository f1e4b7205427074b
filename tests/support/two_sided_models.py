"""Small encoder–decoders and a masked model with random weights, and a tokenizer for them."""

from __future__ import annotations

from functools import cache
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn

from tests.support.causal_models import randomised
from tests.support.huggingface_models import BERT_SIZES, hf
from viz_transformer.config import ModelConfig
from viz_transformer.model import Transformer

#: The words of docs/attribution.md, and names for the rest of the 23 ids that the models know.
WORDS = (
    *("<pad>", "<s>", "</s>", "[UNK]", "[MASK]", "the", "cat", "dog", "sleeps", "well", "translate"),
    *("English", "to", "German:", "Die", "Katze", *(f"word{i}" for i in range(7))),
)
_SMALL = {"vocab_size": len(WORDS), "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_PAIR = {
    **{
        f"{side}_{name}": size
        for side in ("encoder", "decoder")
        for name, size in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 24))
    },
    **{"d_model": 16, "decoder_start_token_id": 0, "max_position_embeddings": 32, **_SMALL},
}


def tokenizer() -> Any:
    """A tokenizer of `WORDS`."""
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[UNK]", mask_token="[MASK]", pad_token="<pad>", eos_token="</s>"
    )


@cache
def t5() -> nn.Module:
    sizes = {"d_model": 16, "d_kv": 6, "d_ff": 24, "num_layers": 2, "num_heads": 4}
    return randomised(hf.T5ForConditionalGeneration(hf.T5Config(decoder_start_token_id=0, **sizes, **_SMALL)))


@cache
def marian() -> nn.Module:
    return randomised(hf.MarianMTModel(hf.MarianConfig(**_PAIR)))


@cache
def bart() -> nn.Module:
    return randomised(hf.BartForConditionalGeneration(hf.BartConfig(**_PAIR)))


@cache
def ours() -> nn.Module:
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "n_encoder_layers": 2, "n_decoder_layers": 2}
    return randomised(Transformer(ModelConfig(vocab_size=23, norm="pre", **sizes)))


@cache
def bert() -> nn.Module:
    return randomised(hf.BertForMaskedLM(hf.BertConfig(max_position_embeddings=16, **BERT_SIZES, **_SMALL)))
