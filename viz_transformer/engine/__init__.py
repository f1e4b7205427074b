"""The model in JavaScript: it answers a view in the page as the view's `live.py` does in the kernel."""

from viz_transformer.engine.page_model import PageModel

__all__ = ["PageModel"]
