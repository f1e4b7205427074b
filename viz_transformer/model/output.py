"""The outputs of traced models, of a whole pass and of a decoding step."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from viz_transformer.model.cache import DecoderCache


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelOutput:
    """What a traced model returns; None stands for what its family has not.

    >>> import torch
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import TracedDecoderOnly
    >>> config = ModelConfig(family="decoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16)
    >>> output = TracedDecoderOnly(config)(torch.tensor([[1, 5, 7]]))
    >>> tuple(output.decoder_attention[0].shape)  # of the first layer
    (1, 2, 3, 3)

    Attributes:
        logits: [batch, target, vocab], unnormalised scores of the next word; of an encoder
            with a classification head [batch, classes], with the masked-language-model head those of the
            word at each position, [batch, source, vocab]; of one without a head, None.
        encoder_attention: per encoder layer, weights [batch, head, source, source].
        decoder_attention: per decoder layer, weights [batch, head, target, target].
        cross_attention: per decoder layer, weights [batch, head, target, source].
        source_positions: [source, d_model], the positional encodings added to the source.
        target_positions: [target, d_model], those added to the target.
        last_hidden_state: [batch, position, d_model], the last stack's vectors.

    The weights are those before dropout; their last two axes are query and key.
    """

    logits: Float[Tensor, "batch target vocab"] | Float[Tensor, "batch classes"] | None
    encoder_attention: tuple[Float[Tensor, "batch head source source"], ...] | None = None
    decoder_attention: tuple[Float[Tensor, "batch head target target"], ...] | None = None
    cross_attention: tuple[Float[Tensor, "batch head target source"], ...] | None = None
    source_positions: Float[Tensor, "source d_model"] | None = None
    target_positions: Float[Tensor, "target d_model"] | None = None
    last_hidden_state: Float[Tensor, "batch position d_model"] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class StepOutput:
    """What a model returns for one more word of a text.

    The weights are None where the attention was computed without them.

    Attributes:
        logits: [batch, vocab], unnormalised scores of the word that follows.
        cache: for the next step.
        decoder_attention: per layer, what the new word looked at: [batch, head, 1, target].
        cross_attention: per layer, [batch, head, 1, source]; None for a decoder alone.
    """

    logits: Float[Tensor, "batch vocab"]
    cache: DecoderCache
    decoder_attention: tuple[Float[Tensor, "batch head 1 target"] | None, ...]
    cross_attention: tuple[Float[Tensor, "batch head 1 source"] | None, ...] | None = None
