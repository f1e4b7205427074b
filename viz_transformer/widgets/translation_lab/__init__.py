"""The translation lab: a sentence to type, its translation, and the attention of every head."""

from viz_transformer.widgets.translation_lab.view import TranslationView

__all__ = ["TranslationView"]
