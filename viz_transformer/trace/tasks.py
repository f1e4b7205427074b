"""The tasks of a model with a text, and what is said of the outcome of each."""

from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    """What is said of a task; the page has its own words for it in widgets/base/js/tasks.js.

    Attributes:
        said: between the text and the outcome.
        right: of an outcome that is the reference.
        wrong: of any other.
    """

    said: str
    right: str
    wrong: str


#: By task; many texts continue a beginning, and many words fill a gap, so there another is not wrong.
TASKS = {
    "translate": Task("is translated as", "right", "not yet right"),
    "continue": Task("is continued as", "the watched text", "another than the watched text"),
    "fill": Task("is filled as", "the watched text", "another than the watched text"),
}
