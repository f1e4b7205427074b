"""The tasks of a model with a text, and what a view calls the outcome of each."""

from __future__ import annotations

#: By task, what a text is said to be. The page has its own words for them in js/tasks.js.
TASKS = {
    "translate": "is translated as",
    "continue": "is continued as",
    "fill": "is filled as",
}
