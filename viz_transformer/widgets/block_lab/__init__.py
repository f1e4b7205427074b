"""The block lab: which outputs of each part of an encoder block move when one word changes."""

from viz_transformer.widgets.block_lab.view import BlockLab

__all__ = ["BlockLab"]
