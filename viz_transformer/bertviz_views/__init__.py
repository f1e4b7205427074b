"""bertviz's own head view and model view, drawn from a trace, with nothing fetched.

>>> vt.bertviz_views.head_view(trace)
>>> vt.bertviz_views.model_view(trace, kind="cross").save("heads.html")

bertviz (Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model") is drawn by
its own JavaScript, read from the installed package. Called directly, it fetches its libraries from
other hosts, runs a token that holds `</script>`, and leaves out layers where an encoder and a
decoder have different numbers of them. Here it is in a frame of its own with its libraries
(`vendor/`, each with its licence), reads the trace as data, and shows every layer.
"""

from viz_transformer.bertviz_views.views import BertvizView, head_view, model_view

__all__ = ["BertvizView", "head_view", "model_view"]


def __dir__() -> list[str]:
    return __all__  # completion lists what is public, and no files
