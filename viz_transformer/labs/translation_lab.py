"""The translation lab: a sentence to type, its translation, and the attention of every head."""

from __future__ import annotations

import html
from typing import Any

import ipywidgets
import traitlets

from viz_transformer.errors import UserError
from viz_transformer.labs.suited import check_suits
from viz_transformer.trace import ForwardTrace
from viz_transformer.translator import Translation, Translator
from viz_transformer.vocabulary import (
    SeveralSentencesError,
    UnknownWordError,
    join_tokens,
    language_tag,
)
from viz_transformer.widgets.base.static_fallback import StaticFallbackMixin
from viz_transformer.widgets.box_keys import BoxKeys
from viz_transformer.widgets.explorer import explore

_N_SUGGESTIONS = 3


class TranslationLab(StaticFallbackMixin, ipywidgets.VBox):
    """A text field, the translation of its sentence, and an explorer of the attention.

    A sentence that cannot be translated is explained in place, and the last picture stays.

    Attributes:
        sentence: the sentence shown, in the source language. Set it, or type it and press Enter; a
            sentence that cannot be translated raises a UserError when set and leaves everything as
            it was.
        translation: the `Translation` of it.
        trace: its `ForwardTrace`.
        explorer: the view of that trace; `lab.explorer.head` reads the head that was clicked.
    """

    sentence = traitlets.Unicode(help="the sentence that the picture shows")

    def __init__(self, translator: Translator, sentence: str) -> None:
        """Show the first sentence.

        Raises:
            UserError: if it cannot be translated.
        """
        self._translator = translator
        source, target = translator.vocabulary.languages
        self._load(sentence)
        self.explorer = explore(self.trace)
        self._field = ipywidgets.Text(
            value=sentence,
            description=_capital(source),
            placeholder="type a sentence and press Enter",
            continuous_update=False,
            # Stretched by the box, not 100%: the margin would carry that out of the cell.
            layout=ipywidgets.Layout(width="auto", max_width="44rem"),
        )
        self._translated = ipywidgets.HTML(description=_capital(target))
        self._problem = ipywidgets.HTML()
        self._suggestions = [
            ipywidgets.Button(layout=ipywidgets.Layout(display="none", width="auto", flex="0 0 auto"))
            for _ in range(_N_SUGGESTIONS)
        ]
        for button in self._suggestions:
            button.on_click(self._on_suggestion)
        # min_height: a problem that comes or goes does not move the picture beneath it.
        hint = ipywidgets.HBox(
            [self._problem, *self._suggestions],
            layout=ipywidgets.Layout(flex_flow="row wrap", min_height="2.2rem"),
        )
        children = [self._field, self._translated, hint, self.explorer, BoxKeys()]
        super().__init__(children, sentence=sentence)
        self._field.observe(self._on_typed, "value")
        self._show_translation()

    def _load(self, sentence: str) -> None:
        translation = self._translator.translate(sentence)
        self.trace: ForwardTrace = self._translator.trace(sentence, translation.tokens)
        self.translation: Translation = translation
        self._loaded = sentence

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal: dict[str, Any]) -> str:
        # Translated before it is accepted: if this raises, the old sentence and picture stay.
        if proposal["value"] != self._loaded:
            self._load(proposal["value"])
        return proposal["value"]

    @traitlets.observe("sentence")
    def _on_sentence(self, _: object) -> None:
        self.explorer.trace = self.trace
        self._field.value = self.sentence
        self._show_translation()

    def _on_typed(self, _: object) -> None:
        try:
            self.sentence = self._field.value
        except UserError as error:
            self._show_problem(error)
        else:
            self._show_translation()

    def _show_translation(self) -> None:
        tag = language_tag(self._translator.vocabulary.languages[1])
        self._translated.value = (
            f'<span style="font-size: 1.6em" lang="{tag}" dir="auto">'
            f"{html.escape(self.translation.text)}</span>"
        )
        self._problem.value = ""
        self._offer({})

    def _show_problem(self, error: UserError) -> None:
        self._problem.value = (
            f'<span role="alert">{html.escape(str(error))}. The picture still shows '
            f"<i>{html.escape(self.sentence)}</i>.</span>"
        )
        self._offer(self._suggested_texts(error))

    def _suggested_texts(self, error: UserError) -> dict[str, str]:
        """Return what to offer instead of the text: by what a button says, the text it types.

        Words that could stand in place of the first unknown one, or each of several sentences.
        """
        if isinstance(error, SeveralSentencesError):
            return {sentence: sentence for sentence in error.sentences[:_N_SUGGESTIONS]}
        if not isinstance(error, UnknownWordError):
            return {}
        words = self._translator.vocabulary.words_of(self._field.value)
        at = words.index(error.words[0])
        return {
            near: join_tokens([*words[:at], near, *words[at + 1 :]])
            for near in error.suggestions[error.words[0]]
        }

    def _offer(self, texts: dict[str, str]) -> None:
        """Show a button for each text that could be typed instead."""
        self._offered = texts
        labels = [*texts, *[""] * (_N_SUGGESTIONS - len(texts))]
        for button, label in zip(self._suggestions, labels, strict=True):
            button.layout.display = "" if label else "none"
            button.description = label

    def _on_suggestion(self, button: ipywidgets.Button) -> None:
        self._field.value = self._offered[button.description]


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def translation_lab(translator: Translator, sentence: str) -> TranslationLab:
    """Return a text field, its translation and an explorer, joined to a translator.

    Raises:
        UserError: if the first sentence cannot be translated.
    """
    check_suits(translator, ("translate",), "a translation lab")
    return TranslationLab(translator, sentence)
