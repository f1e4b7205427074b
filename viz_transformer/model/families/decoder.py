"""Decoder-only models: language models that continue a text word by word."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.model.attention import KeysValues, attend, attend_fused
from viz_transformer.model.autoregressive import AutoregressiveModel, DecoderInputs, Sources
from viz_transformer.model.cache import DecoderCache, LayerCache
from viz_transformer.model.families.embedding import Embedding
from viz_transformer.model.families.family_config import of_family
from viz_transformer.model.init_weights import initialise
from viz_transformer.model.inputs import check_ids
from viz_transformer.model.interventions import UNCHANGED, Interventions, checked
from viz_transformer.model.output import ModelOutput
from viz_transformer.model.stacks import Encoder


class DecoderOnly(AutoregressiveModel):
    """A language model: at every position it scores the words that may come next.

    >>> import torch
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import DecoderOnly
    >>> config = ModelConfig(family="decoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16)
    >>> tuple(DecoderOnly(config)(torch.tensor([[1, 5, 7]])).shape)  # [batch, position, vocab]
    (1, 3, 10)

    Args:
        config: of the family ``"decoder"``; of ``"encoder-decoder"``, its decoder is made, without
            cross-attention.

    Raises:
        UserError: if the config has no decoder.

    Source: Radford et al. 2019, section 2.3; Liu et al. 2018, section 4.2.3.
    """

    decoder: Encoder
    continues_source = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config = of_family("decoder", config)
        self.embedding = Embedding(config)
        self.decoder = Encoder(config)
        if not config.tie_embeddings:
            self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.output_bias:
            self.output_bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.apply(initialise)

    def forward(self, target_ids: Int[Tensor, "batch target"]) -> Float[Tensor, "batch target vocab"]:
        """Score, at every position, each word of the vocabulary as the next one.

        Args:
            target_ids: token ids [batch, target], padded with `config.pad_id` if there is one.

        Returns:
            logits [batch, target, vocab]; position i has seen the text up to i.

        Raises:
            UserError: if ids are not whole numbers [batch, position] in range, or are longer than
                max_length.
        """
        return self.logits(self.decode(target_ids))

    def decode(self, target_ids: Int[Tensor, "batch target"]) -> Float[Tensor, "batch target d_model"]:
        """Return the vectors [batch, target, d_model] from which the words are scored.

        Raises:
            UserError: as `forward`.
        """
        x = self.embed_target(target_ids)
        x, _ = self.decoder(x, self.target_mask(target_ids), attend_fused)
        return x

    def start_decoding(self, n_texts: int) -> DecoderCache:
        """Return the cache from which `decode_step` reads the first word of `n_texts` texts."""
        weight = self.target_words.weight
        nothing = weight.new_empty(n_texts, self.config.n_heads, 0, self.config.d_head)
        mask = torch.ones(n_texts, 1, 1, 0, dtype=torch.bool, device=weight.device)
        empty = LayerCache(KeysValues(nothing, nothing), None)
        return DecoderCache((empty,) * len(self.decoder.layers), mask)

    def decoder_inputs(
        self, sources: Sources, sos_id: int, pad_id: int, interventions: Interventions | None = None
    ) -> DecoderInputs:
        """Return the sources, all of one length, as what is read first: there is no encoder."""
        ids = torch.tensor([list(source) for source in sources])  # [sentence, position]
        check_ids("target_ids", ids, self.config.vocab_size, self.config.max_length)
        return DecoderInputs(ids, self.start_decoding(len(ids)))

    def embed_unchecked(
        self, ids: Int[Tensor, "batch target"], start: int = 0, interventions: Interventions = UNCHANGED
    ) -> Float[Tensor, "batch target d_model"]:
        """Do what `embed_target` does, with ids that are known to fit."""
        return self.embedding(ids, interventions=interventions, start=start)

    @property
    def target_words(self) -> nn.Embedding:
        """The embedding of the words that the model reads and writes."""
        return self.embedding.words


class TracedDecoderOnly(DecoderOnly):
    """A `DecoderOnly` that returns, beside its logits, the attention weights of every head.

    >>> import torch
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import TracedDecoderOnly
    >>> config = ModelConfig(family="decoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16)
    >>> output = TracedDecoderOnly(config)(torch.tensor([[1, 5, 7]]))
    >>> tuple(output.decoder_attention[0].shape)  # [batch, head, query, key]
    (1, 2, 3, 3)

    Args:
        config: the sizes and choices, as of a `DecoderOnly`.
    """

    def forward(  # type: ignore[override]
        self, target_ids: Int[Tensor, "batch target"], interventions: Interventions | None = None
    ) -> ModelOutput:
        """Do what `DecoderOnly.forward` does, and keep what it throws away.

        Args:
            target_ids: token ids [batch, target].
            interventions: what to switch off or replace in this call; None changes nothing.

        Returns:
            A ModelOutput with `logits`, `decoder_attention`, `target_positions` and
            `last_hidden_state`.

        Raises:
            UserError: as `DecoderOnly.forward`, or if the interventions do not fit the model.
        """
        changes = checked(interventions, self.config)
        x = self.embed_target(target_ids, interventions=changes)
        mask = self.target_mask(target_ids, changes)
        x, decoder_attention = self.decoder(x, mask, attend, changes)
        return ModelOutput(
            logits=self.logits(x),
            decoder_attention=decoder_attention,
            target_positions=self.embedding.position_vectors(target_ids.shape[1], changes),
            last_hidden_state=x,
        )
