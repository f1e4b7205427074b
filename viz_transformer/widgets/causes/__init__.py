"""Causes: what brings an answer back, what a model would write after each layer, and what each head adds."""

from viz_transformer.widgets.causes.view import Causes, explore_attribution, explore_lens

__all__ = ["Causes", "explore_attribution", "explore_lens"]
