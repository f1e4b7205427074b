"""The figure lab: a matplotlib figure redrawn for the values of its controls."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import traitlets

from viz_transformer._numbers import short_number
from viz_transformer.errors import UserError
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import Schema, listed, whole
from viz_transformer.widgets.base.static_fallback import figure_to_png
from viz_transformer.widgets.base.traits import SelectionError, TextSize
from viz_transformer.widgets.base.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ABOUT = "A picture with controls. Each control changes one thing, and the picture is drawn again."
#: Pictures of all combinations in a page; with more, it has each control moved alone.
MAX_EXPORTED = 48
_MAX_CACHED = 64
_BYTES_EACH = 40_000
_SCALE = 2.0  # pixels of a picture for each of its own, which the stage enlarges
_WIDEST = 2.0  # times its height: what the stage has room for


class FigureLab(View):
    """A matplotlib figure that is redrawn whenever one of its controls is set.

    >>> import viz_transformer as vt
    >>> view = vt.figure_lab(lambda power: vt.plots.plot_softmax([power, 0.0]), {"power": range(4)})
    >>> view.values
    {'power': 0}

    Attributes:
        places: for each control, the index of the chosen value among its values, from 0. Setting
            it, or calling `choose`, redraws the figure.
        text_size: size of all text and of the picture; 1 fits it to the stage.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.figure_lab(draw, controls)"

    controls: traitlets.List[dict[str, Any]] = traitlets.List(
        help="name, text and values of each control"
    ).tag(sync=True, content=True)
    places = traitlets.List(traitlets.Int(), help="of the chosen values, from 0").tag(sync=True)
    first = traitlets.Dict(help="the picture that the view opens with").tag(sync=True, content=True)
    text_size = TextSize()

    def __init__(
        self,
        draw: Callable[..., Figure | Axes],
        controls: Mapping[str, Sequence[Any]],
        *,
        start: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        about: str = _ABOUT,
    ) -> None:
        """Make a view; see `figure_lab`."""
        self._draw = draw
        self._options = _checked(controls)
        self._cache: dict[tuple[int, ...], dict[str, Any]] = {}
        named = dict(labels or {})
        sent = [
            {
                "label": named.get(name, name.replace("_", " ")),
                "kind": "choice" if isinstance(values[0], str) else "slider",
                "texts": [value_text(value) for value in values],
            }
            for name, values in self._options.items()
        ]
        places = self._places_of(dict.fromkeys(self._options, None) | dict(start or {}))
        super().__init__(
            answer=lambda request: self._drawn(request["places"]),
            traits={"about": about, "controls": sent, "places": places},
        )
        self.first = {"places": places, **self._drawn(places)}

    @property
    def values(self) -> dict[str, Any]:
        """The value of each control, by its name."""
        return self._values_at(self.places)

    def choose(self, **values: Any) -> None:
        """Set controls by their names, each to one of its values.

        Raises:
            SelectionError: if there is no such control, or it has no such value.
        """
        self.places = self._places_of({**self.values, **values})

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        n_places = max(map(len, self._options.values()), default=1)
        return ({"places": listed(whole(0, n_places - 1), len(self._options))},)

    def questions(self) -> list[dict[str, Any]]:
        """Return the requests of all combinations if they are few, else of each control moved alone."""
        counts = [len(values) for values in self._options.values()]
        if math.prod(counts) <= MAX_EXPORTED:
            return [{"places": list(places)} for places in product(*map(range, counts))]
        here = list(self.places)
        alone = [
            [*here[:at], place, *here[at + 1 :]]
            for at, count in enumerate(counts)
            for place in range(count)
            if place != here[at]
        ]
        return [{"places": places} for places in [here, *alone]]

    def export_bytes(self) -> int:
        """Return about how many bytes the pictures of an exported page take."""
        return _BYTES_EACH * len(self.questions())

    def figure(self) -> Figure:
        """Return the picture shown now as a matplotlib figure."""
        return self._figure_at(self.places)

    def alt_text(self) -> str:
        """Return the figure's own alternative text."""
        return self._drawn(self.places)["alt"]

    def __repr__(self) -> str:
        """Return the values of the controls in short."""
        return f"FigureLab({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"

    @traitlets.validate("places")
    def _check_places(self, proposal: dict[str, Any]) -> list[int]:
        places, counts = proposal["value"], [len(values) for values in self._options.values()]
        if len(places) != len(counts) or not all(
            0 <= place < count for place, count in zip(places, counts, strict=True)
        ):
            raise SelectionError(
                f"places={places!r:.60}, but the controls have {counts} values; give a place from 0 for each"
            )
        return list(places)

    def _values_at(self, places: Sequence[int]) -> dict[str, Any]:
        each = zip(self._options.items(), places, strict=True)
        return {name: values[place] for (name, values), place in each}

    def _places_of(self, chosen: Mapping[str, Any]) -> list[int]:
        """Return the index of each chosen value; for None, 0."""
        for name in chosen:
            if name not in self._options:
                raise SelectionError(f"there is no control {name!r}; choose among {list(self._options)}")
        places = []
        for name, values in self._options.items():
            value = chosen[name]
            if value is not None and value not in values:
                raise SelectionError(f"{name}={value!r} is none of {values!r:.120}; choose of these")
            places.append(0 if value is None else values.index(value))
        return places

    def _drawn(self, places: Sequence[int]) -> dict[str, Any]:
        """Return the picture at some places in the form that the page reads."""
        key = tuple(self._check_places({"value": list(places)}))
        if key not in self._cache:
            figure = self._figure_at(key)
            told = ", ".join(f"{name} {value}" for name, value in self._values_at(key).items())
            alt = getattr(figure, "alt_text", f"Picture for {told}.")
            _make_higher(figure)
            data, width, height = figure_to_png(figure, scale=_SCALE)
            if len(self._cache) >= _MAX_CACHED:
                del self._cache[next(iter(self._cache))]
            self._cache[key] = {"png": data, "width": width, "height": height, "alt": alt}
        return dict(self._cache[key])

    def _figure_at(self, places: Sequence[int]) -> Figure:
        import matplotlib.pyplot as plt
        from matplotlib.figure import Figure

        drawn = self._draw(**self._values_at(places))
        figure = drawn if isinstance(drawn, Figure) else cast(Figure, drawn.figure)
        plt.close(figure)  # or pyplot would show it a second time
        return figure


def figure_lab(
    draw: Callable[..., Figure | Axes],
    controls: Mapping[str, Sequence[Any]],
    *,
    start: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
    about: str = _ABOUT,
) -> FigureLab:
    """Return a figure with controls, which also work in an exported page.

    >>> import viz_transformer as vt
    >>> def draw(d_model):
    ...     return vt.plots.plot_split(["the", "cat"], d_model=d_model, n_heads=2)
    >>> view = vt.figure_lab(draw, {"d_model": [4, 8]})

    Args:
        draw: called with a value for each control, by name; returns a matplotlib figure or axes.
            The same values must give the same picture, since pictures are cached.
        controls: the values of each control, in order: numbers make a slider, strings a list.
        start: the first value of a control; by default the first of its values.
        labels: the label of a control on the page; by default its name.
        about: what the view shows, in two sentences; shown on request.

    Raises:
        UserError: if there is no control, or one has fewer than two values or one of them twice.
        SelectionError: if `start` names a control or value that does not exist.
    """
    return FigureLab(draw, controls, start=start, labels=labels, about=about)


def _make_higher(figure: Figure) -> None:
    """Let a figure fill the stage that is wider than that, and whose parts make way for each other."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    width, height = figure.get_size_inches()
    is_free = isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine) and all(
        axes.get_aspect() == "auto" for axes in figure.axes
    )
    if is_free and width > _WIDEST * height:
        figure.set_size_inches(width, width / _WIDEST)


def value_text(value: Any) -> str:
    """Return a value as a control shows it."""
    return value if isinstance(value, str) else short_number(value)


def _checked(controls: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    options = {name: list(values) for name, values in controls.items()}
    if not options:
        raise UserError("a figure lab needs a control; give {'name': [first, second, …]}")
    for name, values in options.items():
        if len(values) < 2 or any(value in values[:at] for at, value in enumerate(values)):
            raise UserError(f"the control {name!r} needs two or more different values: {values!r:.60}")
    return options
