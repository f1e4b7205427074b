"""A summary of an encoder–decoder of any size: the shapes of its parts and their parameters."""

from __future__ import annotations

from viz_transformer.config import ModelConfig
from viz_transformer.model.model_summary import Part, model_parts
from viz_transformer.widgets.model_summary_lab.view import ModelSummaryLab


def model_summary_lab(**sizes: int) -> ModelSummaryLab:
    """Return a view of an encoder–decoder without attention biases, with controls for its sizes.

    >>> import viz_transformer as vt
    >>> view = vt.model_summary_lab(d_model=64, n_heads=4)

    Args:
        sizes: the first sizes, by the names of the view's traits; by default the paper's base model
            with 35 tokens, six of which are read and four written.

    Raises:
        SelectionError: if there is no such size, or no model has it.
    """
    return ModelSummaryLab(lambda chosen: summary_of(**chosen), sizes)


def summary_of(*, n_source: int, n_target: int, **sizes: int) -> tuple[Part, ...]:
    """Return the parts of the model of these sizes, those of `ModelSummaryLab`.

    Raises:
        UserError: if a size is out of range.
    """
    return model_parts(config_of(n_source=n_source, n_target=n_target, **sizes), n_source, n_target)


def config_of(
    *,
    n_source: int,
    n_target: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
    n_layers: int,
    vocab_size: int,
) -> ModelConfig:
    """Return the configuration of the model of these sizes, long enough for both sentences.

    Raises:
        UserError: if a size is out of range.
    """
    return ModelConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        n_heads=n_heads,
        n_encoder_layers=n_layers,
        n_decoder_layers=n_layers,
        d_ff=d_ff,
        max_length=max(512, n_source, n_target),  # of sinusoids, which are not learned
        bias=False,
    )
