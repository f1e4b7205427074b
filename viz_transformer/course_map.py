"""The course as a map: the parts of the architecture, and the lesson that each is taught in."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass

from viz_transformer.errors import UserError

#: The notebooks of the lessons, in their order, without their ending.
LESSONS = (
    "01_which_head_attends_where",
    "02_tokens_to_vectors",
    "03_softmax_and_scaling",
    "04_one_head_by_hand",
    "05_many_heads",
    "06_order",
    "07_what_training_minimises",
    "08_masks",
    "09_the_block_and_the_whole",
    "10_train_your_own",
    "11_decoding",
    "12_reading_heads_honestly",
    "13_from_here_to_gpt",
)
#: Titles that don't fit into a file's name.
_TITLES = {2: "Words as vectors", 3: "Softmax, and why √d_k", 13: "From here to GPT"}


@dataclass(frozen=True)
class Part:
    """One part on the map.

    Attributes:
        name: what it is called.
        lesson: number of the lesson that its link leads to.
        also: other lessons that are about it.
    """

    name: str
    lesson: int
    also: tuple[int, ...] = ()

    def is_in(self, lesson: int) -> bool:
        """Return whether a lesson is about this part."""
        return lesson == self.lesson or lesson in self.also


@dataclass(frozen=True)
class Row:
    """A line of the map.

    Attributes:
        title: what its parts make up.
        parts: from the first to the last.
        flows: whether each part hands its result to the next.
    """

    title: Part
    parts: tuple[Part, ...]
    flows: bool = True


# A lesson's figures are drawn for paper. In JupyterLab's dark theme light and dark change places in
# the notebook that shows this map, as in the lesson's page (export/notebook.css).
_DARK_FIGURES = (
    '<style>@media screen { [data-jp-theme-light="false"] .jp-Notebook:has(.vt-you-are-here) '
    ".jp-RenderedImage img { background: #fff; filter: invert(0.94) hue-rotate(180deg); "
    "mix-blend-mode: lighten; } }</style>"
)
_EMBEDDING = Part("embedding", 2, (9,))
_POSITIONS = Part("+ positions", 6)
_ADD_AND_NORM = Part("Add & Norm", 9)
_FEED_FORWARD = Part("feed-forward", 9)

ROWS = (
    Row(
        Part("Encoder", 9, (13,)),
        (
            _EMBEDDING,
            _POSITIONS,
            Part("self-attention", 1, (5, 12)),
            _ADD_AND_NORM,
            _FEED_FORWARD,
            Part("memory", 9),
        ),
    ),
    Row(
        Part("Decoder", 9, (13,)),
        (
            _EMBEDDING,
            _POSITIONS,
            Part("masked self-attention", 8, (1, 5, 12)),
            Part("cross-attention", 9, (1, 5, 12)),
            _ADD_AND_NORM,
            _FEED_FORWARD,
            Part("softmax", 7, (3,)),
            Part("next word", 11),
        ),
    ),
    Row(
        Part("One head", 4),
        (
            Part("queries · keys", 4),
            Part("÷ √d_k", 3, (4,)),
            Part("mask", 8),
            Part("softmax", 3, (4,)),
            Part("weights × values", 4),
            Part("join the heads", 5),
        ),
    ),
    Row(
        Part("Whole model", 1),
        (
            Part("the loss", 7),
            Part("training", 10),
            Part("decoding", 11),
            Part("reading heads", 12),
            Part("GPT", 13),
        ),
        flows=False,
    ),
)


def lesson_link(lesson: int) -> str:
    """Return the link to a lesson's notebook from any other."""
    return f"{LESSONS[lesson - 1]}.ipynb"


def lesson_title(lesson: int) -> str:
    """Return a lesson's title, such as ``"Many heads"``."""
    named = LESSONS[lesson - 1].partition("_")[2].replace("_", " ").capitalize()
    return _TITLES.get(lesson, named)


class YouAreHere:
    """The map with the parts of one lesson marked. The last line of a cell displays it."""

    def __init__(self, lesson: int) -> None:
        """Mark the parts of a lesson, by its number."""
        self.lesson = lesson

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the marked parts, each once."""
        everything = (part for row in ROWS for part in (row.title, *row.parts))
        return tuple(dict.fromkeys(part.name for part in everything if part.is_in(self.lesson)))

    def __repr__(self) -> str:
        """Return the marked parts in a sentence."""
        return f"You are here: lesson {self.lesson} of {len(LESSONS)}, {', '.join(self.parts)}."

    def _repr_html_(self) -> str:
        # JupyterLab takes style sheets and unknown attributes out of notebooks that it does not
        # trust, so the map's own styles are inline, and each colour is readable on white and on black.
        rows = "".join(self._row(row) for row in ROWS)
        return (
            f"{_DARK_FIGURES}"
            '<nav class="vt-you-are-here" aria-label="You are here" '
            'style="font-size: 12px; line-height: 1.4">'
            f'<div style="margin: 0 0 4px 0"><b>You are here</b>: lesson {self.lesson} of {len(LESSONS)}, '
            f"{html.escape(lesson_title(self.lesson))}</div>{rows}</nav>"
        )

    def _row(self, row: Row) -> str:
        inside = "".join(self._pieces(row))
        return (
            '<div style="display: flex; flex-wrap: wrap; align-items: center; gap: 3px; '
            f'margin: 0 0 3px 0">{inside}</div>'
        )

    def _pieces(self, row: Row) -> Iterator[str]:
        title = self._link(row.title, "font-weight: 600")
        yield f'<span style="min-width: 88px">{title}</span>'
        for index, part in enumerate(row.parts):
            if index and row.flows:
                yield '<span style="opacity: 0.7">→</span>'
            yield self._link(part, "border: 1px solid #8a909c")

    def _link(self, part: Part, style: str) -> str:
        marked = part.is_in(self.lesson)
        chosen = "; outline: 2px solid; font-weight: 700" if marked else ""
        current = ' aria-current="true"' if marked else ""
        return (
            f'<a href="{lesson_link(part.lesson)}"{current} '
            f'title="Lesson {part.lesson}: {lesson_title(part.lesson)}" '
            f'style="display: inline-block; padding: 0 5px; border-radius: 4px; white-space: nowrap; '
            f'text-decoration: none; color: inherit; {style}{chosen}">'
            f"{html.escape(part.name)} <small>{part.lesson}</small></a>"
        )


def you_are_here(lesson: int) -> YouAreHere:
    """Return a map of the whole architecture that marks the parts of one lesson.

    Each part leads to its lesson. In a notebook the map is plain HTML, which stays as it is without a kernel.

    >>> import viz_transformer as vt
    >>> part = vt.you_are_here(4)

    Args:
        lesson: the lesson's number, from 1.

    Raises:
        UserError: if there is no such lesson.
    """
    if lesson not in range(1, len(LESSONS) + 1):
        raise UserError(f"there is no lesson {lesson!r}; the lessons are 1 to {len(LESSONS)}")
    return YouAreHere(lesson)
