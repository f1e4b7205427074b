"""The traced Transformer: same parameters and logits, and the attention of every head."""

from jaxtyping import Int
from torch import Tensor

from viz_transformer.model.attention import attend
from viz_transformer.model.inputs import check_batch
from viz_transformer.model.interventions import Interventions, checked
from viz_transformer.model.output import ModelOutput
from viz_transformer.model.transformer import Transformer


class TracedTransformer(Transformer):
    """A `Transformer` that returns, beside its logits, the attention weights of every head.

    >>> import torch
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import TracedTransformer
    >>> config = ModelConfig(vocab_size=10, d_model=8, n_heads=2, d_ff=16)
    >>> output = TracedTransformer(config)(torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6]]))
    >>> tuple(output.cross_attention[0].shape)  # [batch, head, target, source]
    (1, 2, 2, 3)

    Args:
        config: the sizes and choices, as of a `Transformer`.
    """

    def forward(  # type: ignore[override]
        self,
        source_ids: Int[Tensor, "batch source"],
        target_ids: Int[Tensor, "batch target"],
        interventions: Interventions | None = None,
    ) -> ModelOutput:
        """Do what `Transformer.forward` does, and keep what it throws away.

        Args:
            source_ids: token ids [batch, source].
            target_ids: token ids [batch, target].
            interventions: what to switch off or replace in this call; None changes nothing.

        Raises:
            UserError: as `Transformer.forward`, or if the interventions do not fit the model.
        """
        changes = checked(interventions, self.config)
        x = self.embed_source(source_ids, changes)
        source_mask = self.padding_mask(source_ids, changes)
        memory, encoder_attention = self.encoder(x, source_mask, attend, changes)

        x = self.embed_target(target_ids, interventions=changes)
        check_batch(target_ids, memory)
        target_mask = self.target_mask(target_ids, changes)
        x, decoder_attention, cross_attention = self.decoder(
            x, target_mask, memory, source_mask, attend, changes
        )
        return ModelOutput(
            logits=self.logits(x),
            encoder_attention=encoder_attention,
            decoder_attention=decoder_attention,
            cross_attention=cross_attention,
            source_positions=self._position_vectors(self.source_positions, source_ids, 0, changes),
            target_positions=self._position_vectors(self.target_positions, target_ids, 0, changes),
            last_hidden_state=x,
        )
