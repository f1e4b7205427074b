"""Small models with random weights that read pictures or sound, and inputs for them."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tests.support.causal_models import randomised
from tests.support.huggingface_models import BERT_SIZES, hf, tiny
from tests.support.two_sided_models import WORDS, tokenizer

#: What ImageNet would name.
CLASSES = {0: "cat", 1: "dog", 2: "bird"}
_PICTURE = {**BERT_SIZES, "image_size": 16, "patch_size": 8}
_SOUND = {
    **{**BERT_SIZES, "vocab_size": len(WORDS), "pad_token_id": 0},
    **{"conv_dim": [8, 8], "conv_stride": [5, 2], "conv_kernel": [10, 3], "num_feat_extract_layers": 2},
    **{"num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2, "classifier_proj_size": 8},
}
_TEXT = {**BERT_SIZES, "vocab_size": len(WORDS), "max_position_embeddings": 16}


def pictures() -> tuple[Tensor, Tensor]:
    """A picture of four patches, [1, colour, row, column], and one that differs in the patch below right."""
    clean = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    corrupted = clean.clone()
    corrupted[..., 8:, 8:] = 0
    return clean, corrupted


def sounds() -> tuple[Tensor, Tensor]:
    """Two sounds as Whisper reads them, [1, band, spectrum]: 20 positions."""
    both = torch.randn(2, 1, 8, 40, generator=torch.Generator().manual_seed(0))
    return both[0], both[1]


def waves() -> tuple[Tensor, Tensor]:
    """Two sounds as wav2vec 2.0 reads them, [1, sample]: 19 positions."""
    both = torch.randn(2, 1, 200, generator=torch.Generator().manual_seed(0))
    return both[0], both[1]


@cache
def vit() -> nn.Module:
    return randomised(hf.ViTForImageClassification(hf.ViTConfig(**_PICTURE, id2label=CLASSES)))


@cache
def swin() -> nn.Module:
    sizes = {"image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [2, 2], "num_heads": [2, 2]}
    return hf.SwinForImageClassification(hf.SwinConfig(**sizes, window_size=4)).eval()


@cache
def clip() -> nn.Module:
    """CLIP's vision tower behind a layer that classifies the mean of the patches."""
    config = hf.CLIPConfig(text_config=_TEXT, vision_config=_PICTURE, id2label=CLASSES)
    return randomised(hf.CLIPForImageClassification(config))


@cache
def whole_clip() -> nn.Module:
    return hf.CLIPModel(hf.CLIPConfig(text_config=_TEXT, vision_config=_PICTURE)).eval()


@cache
def clip_vision() -> Any:
    return randomised(hf.CLIPVisionModelWithProjection(hf.CLIPVisionConfig(**_PICTURE, projection_dim=16)))


@cache
def whisper() -> nn.Module:
    positions = {"max_source_positions": 20, "max_target_positions": 20, "num_mel_bins": 8}
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    sizes = {"vocab_size": len(WORDS), "d_model": 16, **positions, **heads}
    return randomised(tiny("WhisperForConditionalGeneration", **sizes))


@cache
def wav2vec2(is_pre_norm: bool = True) -> nn.Module:
    extractor = {"feat_extract_norm": "layer", "do_stable_layer_norm": True} if is_pre_norm else {}
    return randomised(hf.Wav2Vec2ForCTC(hf.Wav2Vec2Config(**_SOUND, **extractor)))


@cache
def sound_classifier() -> nn.Module:
    return randomised(hf.Wav2Vec2ForSequenceClassification(hf.Wav2Vec2Config(**_SOUND, id2label=CLASSES)))


@cache
def text_classifier() -> nn.Module:
    """A causal model that classifies a text at its last token."""
    sizes = {"vocab_size": len(WORDS), "n_embd": 16, "n_positions": 16}
    return randomised(tiny("GPT2ForSequenceClassification", id2label=CLASSES, **sizes))


@cache
def albert() -> nn.Module:
    """A model that runs its one block three times."""
    config = hf.AlbertConfig(**{**_TEXT, "num_hidden_layers": 3}, embedding_size=16)
    return randomised(hf.AlbertForMaskedLM(config))


def looker(picture: np.ndarray, **_options: Any) -> SimpleNamespace:
    """A processor of pictures that gives 16 × 16 pixels."""
    pixels = torch.from_numpy(picture[:16, :16] / 255).float()  # [row, column, colour]
    return SimpleNamespace(pixel_values=pixels.permute(2, 0, 1)[None])  # [1, colour, row, column]


def listener() -> Any:
    """A processor of sound that gives as many features as the small Whisper reads."""

    def listen(sound: np.ndarray, **_options: Any) -> SimpleNamespace:
        return SimpleNamespace(input_features=torch.tensor(sound[:320]).float().reshape(1, 8, 40))

    listen.tokenizer = tokenizer()
    return listen
