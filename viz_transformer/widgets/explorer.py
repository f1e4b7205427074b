"""The attention explorer: every head at a glance, one large, and its words joined by lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from viz_transformer.errors import UserError
from viz_transformer.trace import ATTENTION_KINDS, ForwardTrace
from viz_transformer.widgets.bundle import bundle
from viz_transformer.widgets.view import Index, SelectionError, View, styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Traces that take no more bytes than this as float32 are sent exactly; larger ones as float16.
EXACT_BYTES = 256 * 1024


_ABOUT = (
    "Each row of the large picture is a word that looks (the query) and each column a word that is "
    "looked at (the key); the stronger a cell's colour, the larger the share of its attention that "
    "the row's word gives to the column's. The small pictures are all heads of the model, a row "
    "for each layer: choose one to see it large."
)
_SELECTION = ("kind", "layer", "head", "query", "key")


class AttentionExplorer(View):
    """See every head of a trace, choose one, and read who looks at whom.

    What the viewer chooses is a trait, and setting the trait moves the view. All count from 0, as
    the arrays of the trace do: ``view.trace.attention(view.kind)[view.layer, view.head]`` is
    what the large picture shows.

    Attributes:
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``; cross-attention at first, if present.
        layer: index of the layer.
        head: index of the head in that layer.
        query: index of the pinned query (the word that looks), or None.
        key: index of the pinned key (the word looked at), or None.

    Setting one of them to what the trace does not have raises SelectionError, a UserError, and
    changes nothing. A change of `kind` or `trace` keeps as much of the selection as still fits.
    """

    _esm = bundle("explorer.js")
    _css = styles("explorer.css")

    data = traitlets.Dict(help="tokens and weights as the page reads them; see `pack`").tag(
        sync=True
    )
    kind = traitlets.Unicode(help="encoder, decoder or cross").tag(sync=True)
    layer = Index(help="layer, counted from 0").tag(sync=True)
    head = Index(help="head, counted from 0").tag(sync=True)
    query = Index(None, allow_none=True, help="pinned query, counted from 0").tag(sync=True)
    key = Index(None, allow_none=True, help="pinned key, counted from 0").tag(sync=True)

    def __init__(
        self,
        trace: ForwardTrace,
        *,
        kind: str | None = None,
        layer: int = 0,
        head: int = 0,
        query: int | None = None,
        key: int | None = None,
    ) -> None:
        """Make a view of `trace`; the other arguments are the first selection.

        Raises:
            UserError: if the trace holds no attention, or not the layer, head, query or key.
        """
        self._trace = _check_trace(trace)
        super().__init__(
            traits={
                "about": _ABOUT,
                "data": pack(trace),
                "kind": trace.kinds[-1] if kind is None else kind,  # cross is last, where present
                "layer": layer,
                "head": head,
                "query": query,
                "key": key,
            }
        )

    @property
    def trace(self) -> ForwardTrace:
        """The trace shown. Setting another one replaces the picture in place."""
        return self._trace

    @trace.setter
    def trace(self, trace: ForwardTrace) -> None:
        trace = _check_trace(trace)
        # One message for all of it: the page never draws new words with old weights.
        with self.hold_sync(), self.hold_trait_notifications():
            self._trace = trace
            self.data = pack(trace)
            if self.kind not in trace.kinds:
                self.kind = trace.kinds[-1]
            self._fit()

    def __repr__(self) -> str:
        """Name the selection: what a reader without the view, or of a log, sees in its place."""
        chosen = ", ".join(f"{name}={getattr(self, name)!r}" for name in _SELECTION)
        return f"AttentionExplorer({chosen})"

    def figure(self) -> Figure:
        """Return the selected head as a matplotlib figure, for slides and papers."""
        from viz_transformer.plots import plot_head

        return plot_head(self.trace, self.kind, self.layer, self.head).figure

    def alt_text(self) -> str:
        """Return the selected head in words."""
        from viz_transformer.plots import describe_head

        return describe_head(self.trace, self.kind, self.layer, self.head)

    def _fit(self) -> None:
        """Bring layer, head, query and key inside the trace."""
        sizes = self._sizes()
        for name in ("layer", "head"):
            setattr(self, name, min(getattr(self, name), sizes[name] - 1))
        for name in ("query", "key"):
            if (getattr(self, name) or 0) >= sizes[name]:
                setattr(self, name, None)

    def _sizes(self) -> dict[str, int]:
        shape = self._trace.attention(self._present(self.kind)).shape
        return dict(zip(_SELECTION[1:], shape, strict=True))

    def _present(self, kind: str) -> str:
        if kind not in self._trace.kinds:
            raise SelectionError(f"kind={kind!r}, but this trace holds {list(self._trace.kinds)}")
        return kind

    @traitlets.validate("kind")
    def _check_kind(self, proposal: dict[str, Any]) -> str:
        return self._present(proposal["value"])

    @traitlets.validate("layer", "head", "query", "key")
    def _check_index(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        size = self._sizes()[name]
        if value is not None and not 0 <= value < size:
            raise SelectionError(
                f"{name}={value}, but the {self.kind} attention of this trace has {size}; "
                f"choose 0 to {size - 1}"
            )
        return value

    @traitlets.observe("kind")
    def _on_kind(self, change: dict[str, Any]) -> None:
        old, new = (ATTENTION_KINDS.get(change[when]) for when in ("old", "new"))
        if old is None:
            return
        with self.hold_sync(), self.hold_trait_notifications():
            # A pinned word stays if the new kind has it on the same axis.
            for axis, name in enumerate(("query", "key")):
                if old[axis] != new[axis]:
                    setattr(self, name, None)
            self._fit()


def explore(
    trace: ForwardTrace,
    *,
    kind: str | None = None,
    layer: int = 0,
    head: int = 0,
    query: int | None = None,
    key: int | None = None,
) -> AttentionExplorer:
    """Return an interactive view of a trace, which a notebook shows when it ends a cell.

    The arguments and errors are those of AttentionExplorer.
    """
    return AttentionExplorer(trace, kind=kind, layer=layer, head=head, query=query, key=key)


def pack(trace: ForwardTrace) -> dict[str, Any]:
    """Return what the page reads: for each kind its words, shape and weights.

    The weights are little-endian bytes, ``[layer, head, query, key]`` in C order: float32 if all
    of the trace's weights fit in 256 KiB that way, else float16 (off by 0.00025 at most).
    """
    arrays = {kind: trace.attention(kind) for kind in trace.kinds}
    exact = sum(array.nbytes for array in arrays.values()) <= EXACT_BYTES
    dtype = np.dtype("<f4" if exact else "<f2")
    return {
        "kinds": [
            {
                "kind": kind,
                "queries": _sendable(trace.query_tokens(kind)),
                "keys": _sendable(trace.key_tokens(kind)),
                "reads": _reads(trace, kind),
                "shape": list(array.shape),
                "dtype": dtype.name,
                "weights": array.astype(dtype).tobytes(),
            }
            for kind, array in arrays.items()
        ]
    }


def _reads(trace: ForwardTrace, kind: str) -> list[str] | None:
    """What each query read before it wrote its word, where that is known."""
    if ATTENTION_KINDS[kind][0] == "source" or trace.output_tokens is None:
        return None
    return _sendable(trace.target_tokens)


def _sendable(tokens: tuple[str, ...]) -> list[str]:
    # Half of a surrogate pair is no character, and a message that holds one cannot be encoded.
    return [token.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for token in tokens]


def _check_trace(trace: Any) -> ForwardTrace:
    if not isinstance(trace, ForwardTrace):
        raise UserError(
            f"the explorer shows a ForwardTrace, not {type(trace).__name__}; "
            "make one with translator.trace(text) or ForwardTrace(...)"
        )
    if not trace.kinds:
        raise UserError(
            "this trace holds no attention to show; give it encoder_attention, "
            "decoder_attention or cross_attention"
        )
    return trace
