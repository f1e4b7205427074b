"""The translation lab of a live translator: a sentence to type, its translation, and every head."""

from __future__ import annotations

from typing import Any, NamedTuple

import traitlets

from viz_transformer.errors import UserError
from viz_transformer.interpreting import score_parts
from viz_transformer.trace import ForwardTrace, ScoreParts
from viz_transformer.translator import Translation, Translator
from viz_transformer.vocabulary import (
    SeveralSentencesError,
    UnknownWordError,
    join_tokens,
    language_tag,
)
from viz_transformer.widgets.base.live import check_suits, give_engine
from viz_transformer.widgets.base.traits import SelectionError
from viz_transformer.widgets.base.view import sendable
from viz_transformer.widgets.explorer import AttentionExplorer, explore, is_small, raw_trace
from viz_transformer.widgets.translation_lab import TranslationView

_N_SUGGESTIONS = 3


class _Reading(NamedTuple):
    """What a translator made of a text."""

    text: str
    translation: Translation
    trace: ForwardTrace
    written: dict[str, Any]


class TranslationLab(TranslationView):
    """A text field, the translation of its sentence, and an explorer of the attention.

    A sentence that cannot be translated is explained in place, and the last picture stays.

    >>> import viz_transformer as vt
    >>> lab = vt.translation_lab(vt.load_translator(), "the black cat sleeps")
    >>> lab.sentence = "the dog sleeps"
    >>> lab.explorer.trace.target_tokens[1:3]
    ('el', 'perro')

    Attributes:
        sentence: the sentence shown, in the source language. Set it, or type it and press Enter; a
            sentence that cannot be translated raises a UserError when set and leaves everything as
            it was.
        translation: the `Translation` of it.
        trace: its `ForwardTrace`.
        explorer: the view of that trace; `lab.explorer.head` reads the head that was clicked.
    """

    explorer: AttentionExplorer

    def __init__(
        self, translator: Translator, sentence: str, engine: str | None = None, before: str | None = None
    ) -> None:
        """Show the first sentence; see `translation_lab`."""
        self._translator = translator
        earlier = None if before is None else self._translate(before)
        self._shown = self._last = self._translate(sentence)
        source, target = translator.vocabulary.languages
        super().__init__(
            self._answer_text,
            sentence=sentence,
            translated=self.translation.text,
            explorer=explore(self.trace, picture="sentence", score_parts=self._parts),
            languages={"source": _capital(source), "target": _capital(target), "tag": language_tag(target)},
        )
        self.explorer.written = self._shown.written
        self.explorer.before = {} if earlier is None else earlier.written
        give_engine(self, "translation_lab", translator, engine)

    def _parts(self, **place: Any) -> ScoreParts:
        """Return the parts of a score in the sentence shown."""
        words = self._translator.vocabulary
        target = [words.sos_id, *words.ids_of(self.translation.tokens)]
        return score_parts(self._translator.model, self._shown.text, target=target, tokenizer=words, **place)

    @property
    def translation(self) -> Translation:
        """The translation of the sentence shown."""
        return self._shown.translation

    @property
    def trace(self) -> ForwardTrace:
        """Every head's attention while the model writes the translation."""
        return self._shown.trace

    def _translate(self, text: str) -> _Reading:
        translation = self._translator.translate(text)
        trace = self._translator.trace(text, translation.tokens)
        assert trace.output_tokens is not None
        written = {
            "text": text,
            "source": sendable(trace.source_tokens),
            "target": sendable(trace.output_tokens),
            "next": [
                [[word, share] for word, share in likely.items()]
                for likely in self._translator.likely_words(text, translation.tokens)
            ],
        }
        return _Reading(text, translation, trace, written)

    def _read(self, text: str) -> _Reading:
        """Translate a text, unless it was the last one: the page asks for it, and then shows it."""
        if self._last.text != text:
            self._last = self._translate(text)
        return self._last

    def _answer_text(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the translation of a text and its trace, or what is wrong and what to type instead."""
        try:
            _, translation, trace, written = self._read(request["text"])
        except UserError as error:
            offered = self._suggested_texts(request["text"], error)
            return {"problem": str(error), "suggestions": [[*each] for each in offered.items()]}
        return {
            "translation": {
                "text": translation.text,
                "tokens": list(translation.tokens),
                "score": translation.score,
            },
            # A large one is sent by the explorer, in parts, once the page shows the sentence.
            "trace": raw_trace(trace) if is_small(trace) else None,
            "written": written,
        }

    def _suggested_texts(self, text: str, error: UserError) -> dict[str, str]:
        """Return what to offer instead of the text: by a button's label, the text it types.

        Words that could replace the first unknown one, or each of several sentences.
        """
        if isinstance(error, SeveralSentencesError):
            return {sentence: sentence for sentence in error.sentences[:_N_SUGGESTIONS]}
        if not isinstance(error, UnknownWordError):
            return {}
        words = self._translator.vocabulary.words_of(text)
        at = words.index(error.words[0])
        return {
            near: join_tokens([*words[:at], near, *words[at + 1 :]])
            for near in error.suggestions[error.words[0]][:_N_SUGGESTIONS]
        }

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal: dict[str, Any]) -> str:
        # Translated before it is accepted: if this raises, the old sentence and picture stay.
        try:
            self._shown = self._read(proposal["value"])
        except UserError as error:  # a TraitError, so that the old sentence stays
            raise SelectionError(str(error)) from error
        return proposal["value"]

    @traitlets.observe("sentence")
    def _on_sentence(self, _: object) -> None:
        self.translated = self.translation.text
        if self.explorer.trace is self.trace:
            return  # the first
        if self._from_page and self.drawn == self.sentence:
            self.explorer.adopt(self.trace, self.explorer.compare)
            return
        before = self.explorer.written
        with self.explorer.hold_sync():
            self.explorer.trace = self.trace
            self.explorer.before, self.explorer.written = before, self._shown.written


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def translation_lab(
    translator: Translator, sentence: str, engine: str | None = None, before: str | None = None
) -> TranslationLab:
    """Return a text field with its translation and an explorer of the attention weights.

    Where two sentences, one after the other, differ in one word, the other word is beside it in the header
    as a button, and the picture marks which written words have changed.

    >>> import viz_transformer as vt
    >>> view = vt.translation_lab(vt.load_translator(), "the teacher lost her book")

    Args:
        translator: the translator.
        sentence: the first sentence.
        engine: ``"page"``, ``"kernel"``, or None: the page translates if the model is small enough.
        before: a sentence that the first one is compared with, as if it had been shown before.

    Raises:
        UserError: if one of the sentences cannot be translated, or the page cannot run the model.
    """
    check_suits(translator, ("translate",), "a translation lab")
    return TranslationLab(translator, sentence, engine, before)
