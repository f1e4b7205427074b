"""Conversion between `EncoderOnly` and `torch.nn.TransformerEncoder`."""

from torch import nn

from viz_transformer.config import ModelConfig, Pooler, Positional
from viz_transformer.model.conversion.options import check_positional, read_options
from viz_transformer.model.conversion.stacks import (
    copy_from_torch,
    copy_to_torch,
    make_torch_encoder,
)
from viz_transformer.model.families import EncoderOnly


def to_torch_encoder(model: EncoderOnly) -> nn.TransformerEncoder:
    """Return a `torch.nn.TransformerEncoder` (batch first) with the weights of our layers.

    The embeddings and the head stay ours. This equals `model.encode(source_ids)`:

        module(
            model.embed(source_ids),
            src_key_padding_mask=to_torch_mask(model.padding_mask(source_ids))[:, 0, 0],
        )

    In torch's mask [batch, source] True says "ignore this word". One difference remains: in a text
    that is all padding, torch's attention can be NaN.

    Raises:
        UserError: if the model does not score by the scaled dot product, or has rotary positions.
    """
    module = make_torch_encoder(model.encoder, model.config)
    copy_to_torch(model.encoder, module)
    return module.train(model.training)


def from_torch_encoder(
    module: nn.TransformerEncoder,
    vocab_size: int,
    *,
    max_length: int = 512,
    positional: Positional = "sinusoidal",
    pad_id: int | None = 0,
    scale_embeddings: bool = True,
    embedding_norm: bool = False,
    n_segments: int = 0,
    pooler: Pooler = "none",
    n_classes: int = 0,
) -> EncoderOnly:
    """Return an `EncoderOnly` whose layers have the weights of a `torch.nn.TransformerEncoder`.

    The sizes are read from the module. What it has not, the embeddings, the positions and the
    head, is made new after the other arguments, which are those of `ModelConfig`.

    Raises:
        UserError: if the module holds something that ours has not, such as layers of a class of
            their own, or if an argument is out of range or the positions are rotary; the message
            names it.
    """
    options = read_options((module, nn.TransformerEncoder))
    check_positional(positional)
    config = ModelConfig(
        family="encoder",
        vocab_size=vocab_size,
        n_encoder_layers=len(module.layers),
        max_length=max_length,
        positional=positional,
        pad_id=pad_id,
        scale_embeddings=scale_embeddings,
        embedding_norm=embedding_norm,
        n_segments=n_segments,
        pooler=pooler,
        n_classes=n_classes,
        **options._asdict(),
    )
    model = EncoderOnly(config).to(next(module.parameters()))
    copy_from_torch(model.encoder, module)
    return model.train(module.training)
