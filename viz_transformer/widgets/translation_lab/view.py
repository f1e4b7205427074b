"""The translation lab: a sentence to type, its translation, and an explorer of the attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import traitlets
from ipywidgets import widget_serialization

from viz_transformer.trace import TASKS
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import TEXT, Schema
from viz_transformer.widgets.base.shares import HEAD, PAIR, Shares
from viz_transformer.widgets.base.view import Answer, View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "Press ✎, type a sentence and press Enter: the model translates it, and the picture shows where "
    "each head of the model looked while it did. A sentence that it cannot translate is explained, "
    "and the last picture stays."
)


class TranslationView(View):
    """A text field, the translation of its sentence, and an explorer of the attention beneath.

    Attributes:
        sentence: the sentence shown.
        translated: its translation.
        explorer: the view of its trace.
        languages: the names of both languages, and the tag of the second for HTML's ``lang``:
            ``{"source": "English", "target": "Spanish", "tag": "es"}``.
        drawn: the last sentence that the page drew by itself, so that Python need not send it.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    shares = Shares(
        {"sentence": "sentence"} | {name: f"explorer.{name}" for name in (*HEAD, *PAIR, "text_size")}
    )

    sentence = traitlets.Unicode(help="the sentence that the picture shows").tag(sync=True)
    translated = traitlets.Unicode(help="its translation").tag(sync=True, content=True)
    explorer = traitlets.Instance(View, help="the view of its trace").tag(
        sync=True, content=True, **widget_serialization
    )
    languages = traitlets.Dict(help="source, target, and the tag of the target").tag(sync=True, content=True)
    drawn = traitlets.Unicode(help="the last sentence that the page drew by itself").tag(
        sync=True, content=True
    )

    def __init__(
        self, answer: Answer, *, sentence: str, translated: str, explorer: View, languages: dict[str, str]
    ) -> None:
        """Make a view of a sentence.

        Args:
            answer: given ``{"text": str}`` it returns ``translation``, a dictionary whose ``text``
                is shown, and ``trace``, what the explorer reads of it, or None where Python sends
                that itself; or of a text that cannot be translated the ``problem`` in a line, and
                ``suggestions``, a list of buttons' labels and the texts that they type.
            sentence: the trait, as the others.
            translated: its translation.
            explorer: the view of its trace.
            languages: their names, and a tag.
        """
        super().__init__(
            answer=answer,
            traits={
                "about": _ABOUT,
                "sentence": sentence,
                "translated": translated,
                "explorer": explorer,
                "languages": languages,
            },
        )

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        return ({"text": TEXT},)

    def figure(self) -> Figure | None:
        """Return what the explorer shows now as a matplotlib figure."""
        return self.explorer.figure()

    def alt_text(self) -> str:
        """Return the sentence and its translation, and what the explorer shows, in words."""
        said = f"“{self.sentence}” {TASKS['translate'].said} “{self.translated}”."
        return f"{said} {self.explorer.alt_text()}"

    def __repr__(self) -> str:
        """Return the state in short, for logs and where no view can be shown."""
        return f"{type(self).__name__}({self.sentence!r})"
