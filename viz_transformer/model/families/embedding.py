"""What both halves begin with: ids to vectors, a padding mask, a half of the configuration."""

from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viz_transformer.config import Family, ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model.dropout import Dropout
from viz_transformer.model.interventions import UNCHANGED, Interventions
from viz_transformer.model.masks import padding_mask
from viz_transformer.model.positional import embedding_scale, make_positions


class Embedding(nn.Module):
    """Ids to vectors: the sum of a word's, its position's and its segment's, where there are such.

    Source: Devlin et al. 2019, section 3 and figure 2; without segments Vaswani et al. 2017,
    sections 3.4 and 3.5.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.words = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = make_positions(config)
        self.segments = nn.Embedding(config.n_segments, config.d_model) if config.n_segments else None
        self.scale = embedding_scale(config)
        norm = config.embedding_norm
        self.norm = nn.LayerNorm(config.d_model, config.layer_norm_eps) if norm else nn.Identity()
        self.dropout = Dropout(config.dropout)

    def forward(
        self,
        ids: Int[Tensor, "batch position"],
        segment_ids: Int[Tensor, "batch position"] | None = None,
        interventions: Interventions = UNCHANGED,
        start: int = 0,
    ) -> Float[Tensor, "batch position d_model"]:
        """Return the vectors; where no segments are given, all words are in the first."""
        x = self.words(ids) * self.scale  # [batch, position, d_model]
        x = x + self.places(ids.shape[1], interventions, start)
        if self.segments is not None:
            segment_ids = torch.zeros_like(ids) if segment_ids is None else segment_ids
            x = x + self.segments(segment_ids) * self.scale
        return self.dropout(self.norm(x))

    def places(
        self, length: int, interventions: Interventions = UNCHANGED, start: int = 0
    ) -> Float[Tensor, "{length} d_model"]:
        """Return what is added to the words for their positions from `start`, [length, d_model]."""
        places = self.positions(length, start)  # [length, d_model]
        return places if interventions.positions else torch.zeros_like(places)


def family_padding_mask(
    ids: Int[Tensor, "batch key"], config: ModelConfig, interventions: Interventions = UNCHANGED
) -> Bool[Tensor, "batch 1 1 key"]:
    """Return the padding mask of ids with `config.pad_id`; without one, nothing is padding."""
    # No word has the id -1.
    mask = padding_mask(ids, -1 if config.pad_id is None else config.pad_id)
    return mask if interventions.padding_mask else torch.ones_like(mask)


def of_family(family: Family, config: ModelConfig) -> ModelConfig:
    """Return the config as one of the family: that of a half, from that of the whole.

    Raises:
        UserError: if the config is of the other half.
    """
    if config.family == family:
        return config
    if config.family != "encoder-decoder":
        raise UserError(
            f"the configuration is of the family {config.family!r} and has no {family}; "
            f"make it with family={family!r}"
        )
    vocab_size = config.vocab_size if family == "encoder" else config.output_vocab_size
    whole_only = {"target_vocab_size": None, "start_id": None, "output_bias": False}
    return replace(config, family=family, vocab_size=vocab_size, **whole_only)
