"""The keys of a box of ipywidgets: those that run the cell, and Enter in a text field."""

from viz_transformer.widgets.box_keys.view import BoxKeys

__all__ = ["BoxKeys"]
