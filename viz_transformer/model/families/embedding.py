"""The embedding of the encoder-only and decoder-only models: ids to vectors."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.model.dropout import Dropout
from viz_transformer.model.interventions import UNCHANGED, Interventions
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
        x = x + self.position_vectors(ids.shape[1], interventions, start)
        if self.segments is not None:
            segment_ids = torch.zeros_like(ids) if segment_ids is None else segment_ids
            x = x + self.segments(segment_ids) * self.scale
        return self.dropout(self.norm(x))

    def position_vectors(
        self, length: int, interventions: Interventions = UNCHANGED, start: int = 0
    ) -> Float[Tensor, "{length} d_model"]:
        """Return what is added to the words at the positions from `start` on, [length, d_model]."""
        vectors = self.positions(length, start)  # [length, d_model]
        return vectors if interventions.positions else torch.zeros_like(vectors)
