"""The head card: what one head does over many texts."""

from viz_transformer.widgets.head_card.view import HeadCardView

__all__ = ["HeadCardView"]
