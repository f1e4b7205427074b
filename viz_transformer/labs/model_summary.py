"""A summary of an encoder–decoder of any size: the shapes of its parts and their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz_transformer.config import ModelConfig
from viz_transformer.model.model_summary import Part, model_parts
from viz_transformer.plots.model_summary import plot_machine
from viz_transformer.widgets.figure_lab.view import FigureLab, figure_lab

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The values of each control. Every number of heads divides every d_model.
SIZES: dict[str, list[int]] = {
    "n_source": [1, 2, 4, 6, 10, 20, 100],
    "n_target": [1, 2, 4, 6, 10, 20, 100],
    "d_model": [32, 64, 128, 256, 512, 1024],
    "n_heads": [1, 2, 4, 8, 16],
    "d_ff": [64, 128, 256, 512, 1024, 2048, 4096],
    "n_layers": [1, 2, 3, 4, 6, 12, 24],
    "vocab_size": [35, 761, 1000, 10_000, 37_000],
}
_LABELS = {
    "n_source": "source words",
    "n_target": "target words",
    "d_model": "d_model",
    "n_heads": "heads",
    "d_ff": "d_ff",
    "n_layers": "layers in each stack",
    "vocab_size": "vocabulary",
}
_ABOUT = (
    "The encoder stands on the left and the decoder on the right, read from the bottom up: in each "
    "box are the shapes of what it makes, and on its right how many numbers it learns. Change a "
    "size, and see which shapes follow and where the numbers grow."
)


def model_summary_lab(**start: int) -> FigureLab:
    """Return a view of an encoder–decoder without attention biases, with controls for its sizes.

    Args:
        start: the first value of a control of `SIZES`, by name; by default the paper's base model
            with 35 words, six of which are read and four written.

    Raises:
        SelectionError: if there is no such control, or it has no such value.
    """
    first = {
        "n_source": 6, "n_target": 4, "d_model": 512, "n_heads": 8, "d_ff": 2048, "n_layers": 6,
        "vocab_size": 35,
    }  # fmt: skip
    return figure_lab(_draw, SIZES, start=first | start, labels=_LABELS, about=_ABOUT)


def summary_of(
    *,
    n_source: int,
    n_target: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
    n_layers: int,
    vocab_size: int,
) -> tuple[Part, ...]:
    """Return the parts of the model of these sizes.

    Raises:
        UserError: if a size is out of range.
    """
    config = ModelConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        n_heads=n_heads,
        n_encoder_layers=n_layers,
        n_decoder_layers=n_layers,
        d_ff=d_ff,
        bias=False,
    )
    return model_parts(config, n_source, n_target)


def _draw(**sizes: int) -> Figure:
    return plot_machine(summary_of(**sizes))
