"""Presenter mode: a guided tour through the states of a view."""

from viz_transformer.widgets.tour.view import Tour, tour

__all__ = ["Tour", "tour"]
