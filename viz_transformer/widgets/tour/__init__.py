"""The tour: states of a view with captions, to step through."""

from viz_transformer.widgets.tour.view import Tour, tour

__all__ = ["Tour", "tour"]
