"""The tasks of a model with a text, and the words for the outcome of each."""

from __future__ import annotations

from typing import NamedTuple

from viz_transformer._shared import SHARED


class Task(NamedTuple):
    """The words for a task.

    Attributes:
        said: between the text and the outcome.
        right: of an outcome that is the reference.
        wrong: of any other.
    """

    said: str
    right: str
    wrong: str


#: By task; many texts continue a beginning, and many words fill a gap, so there another is not wrong.
TASKS = {name: Task(task["said"], *task["spoken"]) for name, task in SHARED["tasks"].items()}
