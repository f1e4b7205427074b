"""Small models of many architectures with random weights, each with an input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn

from tests.support.huggingface_models import hf, tiny
from viz_transformer.config import ModelConfig
from viz_transformer.model import DecoderOnly, Transformer

N_WORDS, N_HEADS = 23, 4
#: Token ids without the special ones of any model.
IDS = torch.tensor([[5, 9, 7, 12, 8]])
TARGET = torch.tensor([[6, 11, 10]])


class Given(NamedTuple):
    """What a model's forward takes."""

    args: tuple[Any, ...]
    named: dict[str, Any]


class Architecture(NamedTuple):
    """A model to build, what it reads, and how many layers of each kind it has."""

    build: Callable[[], nn.Module]
    given: Given
    layers: dict[str, int]


class NanoAttention(nn.Module):
    """Attention as in a short GPT of one's own: one projection to all three, and a triangle."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.n_head = N_HEADS
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("bias", torch.ones(1, 1, 8, 8).tril())

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, -1)
        )
        scores = (q @ k.mT) / q.shape[-1] ** 0.5
        n = x.shape[1]
        weights = F.softmax(scores.masked_fill(self.bias[:, :, :n, :n] == 0, -torch.inf), dim=-1)
        return self.c_proj((weights @ v).transpose(1, 2).flatten(-2))


class OneHead(nn.Module):
    """One head, a module of its own."""

    def __init__(self, width: int, d_head: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, d_head, bias=False) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), is_causal=True)


class ApartAttention(nn.Module):
    """Heads in a list, joined before the output projection."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.heads = nn.ModuleList([OneHead(width, width // N_HEADS) for _ in range(N_HEADS)])
        self.proj = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class Stack(nn.Module):
    """Embeddings, layers with a way around each, and logits."""

    def __init__(self, *layers: nn.Module, width: int = 16) -> None:
        super().__init__()
        self.words, self.blocks = nn.Embedding(N_WORDS, width), nn.ModuleList(layers)
        self.logits = nn.Linear(width, N_WORDS)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        for block in self.blocks:
            x = x + block(x)
        return self.logits(x)


class TorchTransformer(nn.Module):
    """torch's own encoder and decoder, between embeddings and logits."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.logits = nn.Embedding(N_WORDS, 16), nn.Linear(16, N_WORDS)
        self.transformer = nn.Transformer(16, N_HEADS, 2, 2, 24, batch_first=True)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.logits(self.transformer(self.words(source), self.words(target), tgt_mask=mask))


def own_config() -> ModelConfig:
    return ModelConfig(
        vocab_size=N_WORDS, d_model=16, n_heads=N_HEADS, n_encoder_layers=2, n_decoder_layers=2, d_ff=24
    )


_IDS = Given((), {"input_ids": IDS})
_BOTH = Given((), {"input_ids": IDS, "decoder_input_ids": TARGET})
_FEATURES = torch.linspace(-1, 1, 4 * 16).reshape(1, 4, 16)
_PIXELS = torch.linspace(-1, 1, 3 * 64).reshape(1, 3, 8, 8)
_PAIR_LAYERS = {"encoder": 2, "decoder": 2, "cross": 2}


def _of(model_class: str, given: Given, layers: dict[str, int], **changes: Any) -> Architecture:
    """A model of Hugging Face's, which knows the words below; changes are those of its configuration."""
    return Architecture(lambda: tiny(model_class, vocab_size=N_WORDS, **changes), given, layers)


ARCHITECTURES: dict[str, Architecture] = {
    "GPT-2": _of("GPT2LMHeadModel", _IDS, {"decoder": 2}, n_embd=16, n_positions=32),
    "Llama": _of("LlamaForCausalLM", _IDS, {"decoder": 3}, num_hidden_layers=3, head_dim=6),
    "GPT-NeoX": _of("GPTNeoXForCausalLM", _IDS, {"decoder": 2}),
    "Bloom": _of("BloomForCausalLM", _IDS, {"decoder": 2}),
    "BERT": _of("BertModel", _IDS, {"encoder": 2}),
    "BERT as a decoder": _of("BertLMHeadModel", _IDS, {"decoder": 2}, is_decoder=True),
    "DistilBERT": _of("DistilBertModel", _IDS, {"encoder": 2}),
    "DeBERTa": _of("DebertaV2Model", _IDS, {"encoder": 2}),
    "ModernBERT": _of("ModernBertModel", _IDS, {"encoder": 2}, cls_token_id=1, sep_token_id=2),
    "ViT": _of("ViTModel", Given((), {"pixel_values": _PIXELS}), {"encoder": 2}, image_size=8, patch_size=4),
    "T5": _of("T5ForConditionalGeneration", _BOTH, _PAIR_LAYERS, d_kv=6, decoder_start_token_id=0),
    "Marian": _of("MarianMTModel", _BOTH, _PAIR_LAYERS, decoder_start_token_id=0),
    "BART": _of("BartForConditionalGeneration", _BOTH, _PAIR_LAYERS, decoder_start_token_id=0),
    "Whisper": _of(
        "WhisperForConditionalGeneration",
        Given((), {"input_features": _FEATURES, "decoder_input_ids": TARGET}),
        _PAIR_LAYERS,
        encoder_attention_heads=N_HEADS,
        num_mel_bins=4,
        max_source_positions=8,
        max_target_positions=8,
    ),
    "torch's Transformer": Architecture(TorchTransformer, Given((IDS, TARGET), {}), _PAIR_LAYERS),
    "torch's encoder": Architecture(
        lambda: Stack(
            nn.TransformerEncoder(nn.TransformerEncoderLayer(16, N_HEADS, 24, batch_first=True), 2)
        ),
        Given((IDS,), {}),
        {"encoder": 2},
    ),
    "a short GPT of one's own": Architecture(
        lambda: Stack(NanoAttention(), NanoAttention()), Given((IDS,), {}), {"decoder": 2}
    ),
    "heads in a list": Architecture(
        lambda: Stack(ApartAttention(), ApartAttention()), Given((IDS,), {}), {"encoder": 2}
    ),
    "our Transformer": Architecture(
        lambda: Transformer(own_config()), Given((IDS, TARGET), {}), _PAIR_LAYERS
    ),
    "our decoder": Architecture(lambda: DecoderOnly(own_config()), Given((IDS,), {}), {"decoder": 2}),
}


def built(name: str) -> tuple[nn.Module, Given]:
    """Return a model of an architecture, the same each time, and what it reads."""
    torch.manual_seed(0)
    architecture = ARCHITECTURES[name]
    return architecture.build().eval(), architecture.given


def run(model: nn.Module, given: Given) -> Tensor:
    """Return a model's logits, or else its last vectors."""
    with torch.no_grad():
        output = model(*given.args, **given.named)
    if isinstance(output, Tensor):
        return output
    return output.logits if "logits" in output else output.last_hidden_state


#: A word for each id: the special ones that the models above have, then plain words.
WORDS = [
    *("<pad>", "<s>", "</s>", "[UNK]", "the", "cat", "dog", "sleeps", "and", "runs", "when", "Mary"),
    *("John", "went", "to", "store", "gave", "a", "drink", "la", "vache", "est", "noire"),
]


def word_tokenizer(*, ends: bool) -> Any:
    """Return a tokenizer of `WORDS`, made in memory; with `ends` it ends a text, as encoders read it."""
    words = models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    tokenizer = Tokenizer(words)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if ends:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A </s>", special_tokens=[("</s>", 2)]
        )
    special = {"unk_token": "[UNK]", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    return hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
