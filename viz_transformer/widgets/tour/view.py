"""The tour: a panel above a view that steps through states of it, each with a caption."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets
from ipywidgets import widget_serialization

from viz_transformer.errors import UserError
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.state_traits import state_traits
from viz_transformer.widgets.base.traits import Index, SelectionError, check_index
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.tour.states import get_state, set_state, temporary_state
from viz_transformer.widgets.tour.steps import Step, plain_steps, read_steps, state_at, write_steps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "A guided tour: each step is a caption and a state of the view below. Click the panel and step "
    "with the arrow keys. Home and End go to the first and last step; Escape puts the view back as "
    "this step has it. Present fills the screen and enlarges caption and picture."
)


class Tour(View):
    """Step through states of a view, each with a caption, for a talk or for reading alone.

    ``vt.tour(view)`` makes one. Bring the view into a state, click *Remember this state*, write a
    caption; ``tour.save("tour.json")`` saves the tour, ``vt.tour(view, "tour.json")`` loads it.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> view = vt.tour(vt.explore(trace), [{"caption": "One head.", "state": {"layer": 1}}])
    >>> view.view.layer
    1

    Attributes:
        view: the view; it can be used as always below the tour.
        steps: list of ``{"caption": str, "state": {trait: value}}``. Traits that a state leaves
            out are as in the step before, or else as they were when the tour was made. The text
            size suits the room and is part of no state.
        step: which step is shown, counted from 0. Setting it sets the view to its state.
        names: names of the traits that a state can hold.

    Setting invalid steps raises a UserError of one line that names the step and the trait, and
    leaves the view unchanged.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)

    view = traitlets.Instance(View, help="the view that is stepped through").tag(
        sync=True, **widget_serialization
    )
    steps = traitlets.List(traitlets.Dict(), help="captions and states").tag(sync=True)
    step = Index(0, help="the step shown, counted from 0").tag(sync=True)
    names = traitlets.List(traitlets.Unicode(), help="traits that a state can hold").tag(sync=True)
    start = traitlets.Dict(help="the state of the view when the tour was made").tag(sync=True)

    def __init__(self, view: View, steps: Sequence[Mapping[str, Any]] = ()) -> None:
        """Make a tour through `view`, and set the view to the first step's state.

        Raises:
            UserError: if `view` is not a view of this package, or a step does not fit it.
        """
        if not isinstance(view, View) or _holds_a_view(view):
            raise UserError(
                f"a tour goes through one of our views, not {type(view).__name__}; of a lab or a studio "
                "give the view inside, such as lab.explorer or studio.rooms['head']"
            )
        self._known: set[str] = set()  # states, as JSON, that the view has accepted
        checked = _checked(view, steps, self._known)
        first = {"about": _ABOUT, "view": view, "names": state_traits(view), "steps": checked}
        super().__init__(traits={**first, "start": get_state(view)})
        self._apply_step()

    def remember(self, caption: str = "") -> None:
        """Insert the view's current state after the step shown, and go to it."""
        at = min(self.step + 1, len(self.steps))
        new = {"caption": caption, "state": get_state(self.view)}
        with self.hold_sync():
            self.steps = [*self.steps[:at], new, *self.steps[at:]]
            self.step = at

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the steps to a JSON file, whole or not at all; returns its path.

        Raises:
            FileError: if the file cannot be written.
        """
        return write_steps(path, type(self.view).__name__, self.steps)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply of the view to one request.

        Raises:
            UserError: if the view cannot answer it.
        """
        return self.view.answer(request)

    def questions(self) -> list[dict[str, Any]]:
        """Return the requests that the states of the steps add to those of the view itself."""
        if self.view.engine:  # the page answers for itself, in any state
            return []
        own, asked = self.view.questions(), []
        for step in self.steps:
            with temporary_state(self.view, step["state"]):
                here = self.view.questions_here()
            asked += [each for each in here if each not in own and each not in asked]
        return asked

    def figure(self) -> Figure | None:
        """Return what the view shows now as a matplotlib figure."""
        return self.view.figure()

    def alt_text(self) -> str:
        """Return the step and its caption in words, and what the view shows."""
        shown = self.view.alt_text()
        if not self.steps:
            return shown
        told = f"Step {self.step + 1} of {len(self.steps)}"
        caption = self.steps[self.step]["caption"]
        return f"{told}: {caption} {shown}" if caption else f"{told}. {shown}"

    def __repr__(self) -> str:
        """Return the view's class and the step in short, for logs and where it cannot be shown."""
        return f"Tour({type(self.view).__name__}, step={self.step}, steps={len(self.steps)})"

    def _apply_step(self) -> None:
        if not self.steps:
            return
        try:
            set_state(self.view, state_at(self.start, self.steps, self.step))
        except traitlets.TraitError:  # such as a query that the step's kind of attention lacks
            set_state(self.view, self.steps[self.step]["state"])

    @traitlets.validate("steps")
    def _check_steps(self, proposal: dict[str, Any]) -> list[Step]:
        try:
            return _checked(self.view, proposal["value"], self._known)
        except UserError as error:  # a TraitError, so that the steps stay
            raise SelectionError(str(error)) from error

    @traitlets.validate("step")
    def _check_step(self, proposal: dict[str, Any]) -> int:
        step, n_steps = proposal["value"], len(self.steps)
        if step or n_steps:  # an empty tour is at step 0
            check_index("step", step, n_steps, owner="the tour has")
        return step

    @traitlets.observe("steps")
    def _on_steps(self, _: object) -> None:
        self.step = min(self.step, max(0, len(self.steps) - 1))

    @traitlets.observe("step")
    def _on_step(self, _: object) -> None:
        if not self._from_page:  # there the view is brought into the state by the page
            self._apply_step()


def _holds_a_view(view: View) -> bool:
    """Whether it contains another view, as in a tour or a lab with an explorer."""
    values = (getattr(view, name) for name in view.traits(sync=True))
    inside = (each.values() if isinstance(each, Mapping) else [each] for each in values)
    return any(isinstance(each, View) for several in inside for each in several)


def _checked(view: View, given: Any, known: set[str]) -> list[Step]:
    """Return the steps, each tried in the view; states in `known` need no trial."""
    steps = plain_steps(given)
    tried = set()
    for number, step in enumerate(steps, start=1):
        try:
            text = json.dumps(step["state"], sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UserError(f"step {number}: its state cannot be written as JSON: {error}") from None
        if text in known:
            continue
        try:
            with temporary_state(view, step["state"]):
                tried.add(text)
        except UserError as error:
            raise UserError(f"step {number}: {error}") from error
    known |= tried
    return steps


def tour(view: View, steps: Sequence[Mapping[str, Any]] | str | os.PathLike[str] | None = None) -> Tour:
    """Return a guided tour through a view: its states with captions, stepped with the arrow keys.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> view = vt.tour(vt.explore(trace), [{"caption": "One head.", "state": {"layer": 1, "head": 0}}])

    Args:
        view: the view, such as ``vt.explore(trace)``.
        steps: a file that `Tour.save` wrote, or ``[{"caption": "…", "state": {"layer": 0}}, …]``;
            without them the tour is empty, to be filled with *Remember this state*.

    Raises:
        UserError: if there is no such view or file, or a step does not fit the view; the message
            names the step and the trait, and the view keeps its state.
    """
    if isinstance(steps, str | os.PathLike):
        steps = read_steps(steps, type(view).__name__)
    return Tour(view, () if steps is None else steps)
