"""Conversion between `Transformer` and `torch.nn.Transformer`."""

from torch import nn

from viz_transformer.config import ModelConfig, Positional
from viz_transformer.model.conversion.options import check_positional, read_options
from viz_transformer.model.conversion.stacks import (
    copy_from_torch,
    copy_to_torch,
    make_torch_decoder,
    make_torch_encoder,
)
from viz_transformer.model.transformer import Transformer


def to_torch_transformer(model: Transformer) -> nn.Transformer:
    """Return a `torch.nn.Transformer` (batch first) with the weights of our two stacks.

    Embeddings and logits stay ours. With `source_mask = model.padding_mask(source_ids)` and
    `ignore = to_torch_mask(source_mask)[:, 0, 0]`, this equals `model(source_ids, target_ids)`:

        model.logits(
            module(
                model.embed_source(source_ids),
                model.embed_target(target_ids),
                tgt_mask=to_torch_mask(causal_mask(target_ids.shape[1]))[0, 0],
                src_key_padding_mask=ignore,
                tgt_key_padding_mask=to_torch_mask(model.padding_mask(target_ids))[:, 0, 0],
                memory_key_padding_mask=ignore,
            )
        )

    One difference remains: where a query may attend to nothing, torch's attention can be NaN.

    Raises:
        UserError: if the model does not score by the scaled dot product, or has rotary positions.
    """
    config = model.config
    module = nn.Transformer(
        config.d_model,
        config.n_heads,
        batch_first=True,
        custom_encoder=make_torch_encoder(model.encoder, config),
        custom_decoder=make_torch_decoder(model.decoder, config),
    )
    # Only now: nn.Transformer initialises all weights, also those of the stacks that it is given.
    copy_to_torch(model.encoder, module.encoder)
    copy_to_torch(model.decoder, module.decoder)
    return module.train(model.training)


def from_torch_transformer(
    module: nn.Transformer,
    vocab_size: int,
    *,
    max_length: int = 512,
    positional: Positional = "sinusoidal",
    tie_embeddings: bool = True,
    pad_id: int = 0,
) -> Transformer:
    """Return a `Transformer` whose two stacks have the weights of a `torch.nn.Transformer`.

    The sizes are read from the module. What it has not, the embeddings, the positions and the
    output layer, are made new after the other arguments, which are those of `ModelConfig`.

    Raises:
        UserError: if the module holds something that ours has not, or if the positions are
            rotary; the message names it.
    """
    stacks = (module.encoder, nn.TransformerEncoder), (module.decoder, nn.TransformerDecoder)
    options = read_options(*stacks)
    check_positional(positional)
    config = ModelConfig(
        vocab_size=vocab_size,
        n_encoder_layers=len(module.encoder.layers),
        n_decoder_layers=len(module.decoder.layers),
        max_length=max_length,
        positional=positional,
        tie_embeddings=tie_embeddings,
        pad_id=pad_id,
        **options._asdict(),
    )
    model = Transformer(config).to(next(module.parameters()))
    copy_from_torch(model.encoder, module.encoder)
    copy_from_torch(model.decoder, module.decoder)
    return model.train(module.training)
