"""The model summary lab's view: an encoder–decoder of any size, computed in the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import traitlets

from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, check_index
from viz_transformer.widgets.base.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Size(NamedTuple):
    """A size of the model, and its control.

    Attributes:
        label: its name on the page.
        stops: the values at which its slider stops.
        most: the largest value that may be typed; the smallest is 1.
    """

    label: str
    stops: tuple[int, ...]
    most: int


#: The sizes by name, in the order of their controls. Every number of heads divides every d_model.
SIZES = {
    "n_source": Size("source words", (1, 2, 4, 6, 10, 20, 100), 1000),
    "n_target": Size("target words", (1, 2, 4, 6, 10, 20, 100), 1000),
    "d_model": Size("d_model", (32, 64, 128, 256, 512, 1024), 16_384),
    "n_heads": Size("heads", (1, 2, 4, 8, 16), 256),
    "d_ff": Size("d_ff", (64, 128, 256, 512, 1024, 2048, 4096), 65_536),
    "n_layers": Size("layers in each stack", (1, 2, 3, 4, 6, 12, 24), 200),
    "vocab_size": Size("vocabulary", (35, 761, 1000, 10_000, 37_000), 1_000_000),
}
#: Parts of the model: five of the encoder, eight of the decoder.
N_PARTS = 13
_ABOUT = (
    "The encoder and the decoder, each read from the bottom up: each box shows the shape of its output, "
    "and on its right the number of its parameters. Change a size, and everything that depends on it is "
    "marked. Choose a box to see how its parameters are counted."
)


class ModelSummaryLab(View):
    """See an encoder–decoder's shapes and parameters, and change its sizes.

    What the viewer chooses is a trait, and setting the trait moves the view.
    ``vt.model_summary_lab()`` makes one.

    >>> import viz_transformer as vt
    >>> view = vt.model_summary_lab()
    >>> view.d_model, view.n_heads = 128, 4

    Attributes:
        n_source: tokens in the source sentence, 1 to 1,000.
        n_target: tokens in the target sentence, 1 to 1,000.
        d_model: width of every position's vector; even, and a multiple of `n_heads`.
        n_heads: heads in each attention.
        d_ff: inner width of the feed-forward networks.
        n_layers: layers in each of the two stacks.
        vocab_size: number of tokens; source and target share them.
        marked: name of the size whose consequences are marked, or "".
        part: index of the chosen part, from 0, the encoder's before the decoder's; or None.
        text_size: size of all text; 1 is the usual, 2 suits a projector.

    Setting one of them to what no model has raises SelectionError, a UserError, and leaves the view
    unchanged. `choose` sets several sizes at once.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.model_summary_lab()"

    controls: traitlets.List[dict[str, Any]] = traitlets.List(
        help="name, text and stops of each size's control"
    ).tag(sync=True, content=True)
    n_source = Index(6, help="tokens in the source sentence").tag(sync=True)
    n_target = Index(4, help="tokens in the target sentence").tag(sync=True)
    d_model = Index(512, help="width of every position's vector").tag(sync=True)
    n_heads = Index(8, help="heads in each attention").tag(sync=True)
    d_ff = Index(2048, help="inner width of the feed-forward networks").tag(sync=True)
    n_layers = Index(6, help="layers in each stack").tag(sync=True)
    vocab_size = Index(35, help="number of tokens").tag(sync=True)
    marked = traitlets.Enum(["", *SIZES], "", help="the size whose consequences are marked").tag(sync=True)
    part = Index(None, allow_none=True, help="the chosen part, counted from 0").tag(sync=True)
    text_size = TextSize()

    def __init__(
        self,
        parts_of: Callable[[Mapping[str, int]], Sequence[Any]],
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        """Make a view.

        Args:
            parts_of: returns the parts of the model of some sizes, as `plots.model_summary` draws them.
            sizes: the first sizes, by name; by default the paper's base model with 35 tokens, six
                of which are read and four written.

        Raises:
            SelectionError: if there is no such size, or no model has it.
        """
        self._parts_of = parts_of
        given = dict(sizes or {})
        _check_names(given)
        controls = [{"name": name, **size._asdict()} for name, size in SIZES.items()]
        super().__init__(traits={"about": _ABOUT, "controls": controls})
        self.choose(**given)

    @property
    def values(self) -> dict[str, int]:
        """The size that each control shows, by name."""
        return {name: getattr(self, name) for name in SIZES}

    def choose(self, **sizes: int) -> None:
        """Set several sizes at once, by name.

        Raises:
            SelectionError: if there is no such size, or no model has them together.
        """
        _check_names(sizes)
        with self.hold_trait_notifications():  # they are checked together, at its end
            for name, value in sizes.items():
                setattr(self, name, value)

    def parts(self) -> Sequence[Any]:
        """Return the parts of the model that is shown."""
        return self._parts_of(self.values)

    def figure(self) -> Figure:
        """Return the model as a matplotlib figure."""
        from viz_transformer.plots.model_summary import plot_machine

        return plot_machine(self.parts())

    def alt_text(self) -> str:
        """Return what the view shows now in words."""
        from viz_transformer.plots.model_summary import describe_machine

        return describe_machine(self.parts())

    def __repr__(self) -> str:
        """Return the sizes in short."""
        return f"ModelSummaryLab({', '.join(f'{name}={value}' for name, value in self.values.items())})"

    @traitlets.validate(*SIZES)
    def _check_size(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        most = SIZES[name].most
        if not 1 <= value <= most:
            raise SelectionError(f"{name}={value}; give 1 to {most:,}")
        if name in ("d_model", "n_heads"):
            _check_width(**{"d_model": self.d_model, "n_heads": self.n_heads, name: value})
        return value

    @traitlets.validate("part")
    def _check_part(self, proposal: dict[str, Any]) -> int | None:
        check_index("part", proposal["value"], N_PARTS, owner="the model has")
        return proposal["value"]


def _check_names(sizes: Mapping[str, int]) -> None:
    for name in sizes:
        if name not in SIZES:
            raise SelectionError(f"there is no size {name!r}; choose among {list(SIZES)}")


def _check_width(*, d_model: int, n_heads: int) -> None:
    if d_model % 2:
        raise SelectionError(
            f"d_model={d_model} is odd, and positions pair a sine with a cosine; use {d_model + 1}"
        )
    if d_model % n_heads:
        divisors = [n for n in range(1, min(d_model, SIZES["n_heads"].most) + 1) if d_model % n == 0]
        raise SelectionError(
            f"n_heads={n_heads} does not divide d_model={d_model}; choose(d_model={d_model}, "
            f"n_heads={max(each for each in divisors if each <= n_heads)}) sets both"
        )
