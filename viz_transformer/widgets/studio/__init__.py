"""The studio: rooms of one sentence with doors between them, each a view of the same choice."""

from viz_transformer.widgets.studio.rooms import Room
from viz_transformer.widgets.studio.view import Studio

__all__ = ["Room", "Studio"]
