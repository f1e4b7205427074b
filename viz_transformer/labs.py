"""Labs: a live model joined to a view. The only room where the two meet."""

from __future__ import annotations

import html
from collections.abc import Mapping

import ipywidgets
import traitlets

from viz_transformer.analysis import word_index
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.translator import Translation, Translator
from viz_transformer.vocabulary import UnknownWordError, tokenize
from viz_transformer.widgets.explorer import AttentionExplorer, explore

_N_SUGGESTIONS = 3


class TranslationLab(ipywidgets.VBox):
    """A sentence to type, its translation beneath, and every head that looked.

    A sentence that cannot be translated is explained in place, and the last picture stays.

    Attributes:
        sentence: the English sentence shown. Set it, or type it and press Enter; a sentence that
            cannot be translated raises a UserError when set and leaves everything as it was.
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
        self._load(sentence)
        self.explorer = explore(self.trace)
        self._field = ipywidgets.Text(
            value=sentence,
            description="English",
            placeholder="type a sentence and press Enter",
            continuous_update=False,
            layout=ipywidgets.Layout(width="min(100%, 44rem)"),
        )
        self._spanish = ipywidgets.HTML(description="Spanish")
        self._problem = ipywidgets.HTML()
        self._suggestions = [
            ipywidgets.Button(
                layout=ipywidgets.Layout(display="none", width="auto", flex="0 0 auto")
            )
            for _ in range(_N_SUGGESTIONS)
        ]
        for button in self._suggestions:
            button.on_click(self._on_suggestion)
        # min_height: a problem that comes or goes does not move the picture beneath it.
        hint = ipywidgets.HBox(
            [self._problem, *self._suggestions],
            layout=ipywidgets.Layout(flex_flow="row wrap", min_height="2.2rem"),
        )
        super().__init__([self._field, self._spanish, hint, self.explorer], sentence=sentence)
        self._field.observe(self._on_typed, "value")
        self._show_translation()

    def _load(self, sentence: str) -> None:
        translation = self._translator.translate(sentence)
        self.trace: ForwardTrace = self._translator.trace(sentence, translation.tokens)
        self.translation: Translation = translation
        self._loaded = sentence

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal: dict) -> str:
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
        self._spanish.value = (
            f'<span style="font-size: 1.6em" lang="es">{html.escape(self.translation.text)}</span>'
        )
        self._problem.value = ""
        self._offer([])

    def _show_problem(self, error: UserError) -> None:
        self._problem.value = (
            f'<span role="alert">{html.escape(str(error))}. The picture still shows '
            f"<i>{html.escape(self.sentence)}</i>.</span>"
        )
        unknown = isinstance(error, UnknownWordError)
        self._offer(error.suggestions[error.words[0]] if unknown else [])

    def _offer(self, words: list[str]) -> None:
        """Show a button for each word that could stand in place of the first unknown one."""
        for index, button in enumerate(self._suggestions):
            shown = index < len(words)
            button.layout.display = "" if shown else "none"
            button.description = words[index] if shown else ""

    def _on_suggestion(self, button: ipywidgets.Button) -> None:
        known = set(self._translator.vocabulary.words())
        words = tokenize(self._field.value)
        unknown = next(index for index, word in enumerate(words) if word not in known)
        self._field.value = " ".join([*words[:unknown], button.description, *words[unknown + 1 :]])


def translation_lab(translator: Translator, sentence: str) -> TranslationLab:
    """Return a text field, its translation and the explorer, joined to a translator.

    Raises:
        UserError: if the first sentence cannot be translated.
    """
    return TranslationLab(translator, sentence)


class TraceSwitch(ipywidgets.VBox):
    """One explorer and several traces: a button for each, and the selection stays.

    Attributes:
        shown: the label of the trace shown. Set it to switch.
        explorer: the view.
    """

    shown = traitlets.Unicode(help="label of the trace that is shown")

    def __init__(self, traces: Mapping[str, ForwardTrace], kind: str | None = None) -> None:
        """Show the first trace; `labs.trace_switch` says what it takes."""
        self._traces = dict(traces)
        first = next(iter(self._traces))
        self.explorer = explore(self._traces[first], kind=kind)
        buttons = ipywidgets.ToggleButtons(
            options=list(self._traces), style={"button_width": "auto"}
        )
        super().__init__([buttons, self.explorer], shown=first)
        traitlets.link((self, "shown"), (buttons, "value"))

    @traitlets.validate("shown")
    def _check_shown(self, proposal: dict) -> str:
        if proposal["value"] not in self._traces:
            raise UserError(f"{proposal['value']!r} is not one of {list(self._traces)}")
        return proposal["value"]

    @traitlets.observe("shown")
    def _on_shown(self, _: object) -> None:
        self.explorer.trace = self._traces[self.shown]


def trace_switch(traces: Mapping[str, ForwardTrace], *, kind: str | None = None) -> TraceSwitch:
    """Return one explorer with a button for each trace, to flip between them.

    Args:
        traces: the traces by their labels, at least one.
        kind: the attention shown first; cross-attention by default, where there is one.

    Raises:
        UserError: if there is no trace, or the first lacks the kind.
    """
    if not traces:
        raise UserError("trace_switch was given no trace; give {'label': trace, …}")
    return TraceSwitch(traces, kind)


class Prediction(ipywidgets.VBox):
    """A question about one row of one head, answered before the picture is shown.

    Attributes:
        choice: position of the word that was chosen, or None before. Setting it answers.
        explorer: the view, which is shown with the answer.
    """

    choice = traitlets.Int(None, allow_none=True, help="position of the chosen key, from 0")

    def __init__(self, explorer: AttentionExplorer, question: str, afterwards: str = "") -> None:
        """Ask about the explorer's pinned query; labs.prediction makes one from a trace."""
        self.explorer = explorer
        self._afterwards = afterwards
        trace, kind = explorer.trace, explorer.kind
        self._keys = trace.key_tokens(kind)
        self._weights = trace.attention(kind)[explorer.layer, explorer.head, explorer.query]
        self._buttons = [
            ipywidgets.Button(description=word, layout=ipywidgets.Layout(width="auto"))
            for word in self._keys
        ]
        for place, button in enumerate(self._buttons):
            button.on_click(lambda _, place=place: setattr(self, "choice", place))
        asked = ipywidgets.HTML(f"<b>{html.escape(question)}</b>")
        row = ipywidgets.HBox(self._buttons, layout=ipywidgets.Layout(flex_flow="row wrap"))
        super().__init__([asked, row])

    @traitlets.validate("choice")
    def _check_choice(self, proposal: dict) -> int:
        if self.choice is not None:
            return self.choice  # a prediction is made once
        return word_index(self._keys, proposal["value"])

    @traitlets.observe("choice")
    def _on_choice(self, _: object) -> None:
        for place, button in enumerate(self._buttons):
            button.disabled = True
            button.button_style = "info" if place == self.choice else ""
        told = ipywidgets.HTML(f"<p>{self._verdict()} {html.escape(self._afterwards)}</p>")
        self.children = (*self.children[:2], told, self.explorer)

    def _verdict(self) -> str:
        order = (-self._weights).argsort(kind="stable")  # positions, most looked at first
        rank = int((order == self.choice).argmax()) + 1
        chosen, most = html.escape(self._keys[self.choice]), html.escape(self._keys[order[0]])
        scored = (
            f"You chose <b>{chosen}</b>: weight {self._weights[self.choice]:.2f}, rank {rank} of "
            f"{len(self._keys)}."
        )
        if rank == 1:
            return f"{scored} That is where this head looks."
        return f"{scored} This head looks most at <b>{most}</b>: {self._weights[order[0]]:.2f}."


def prediction(
    trace: ForwardTrace,
    question: str,
    *,
    kind: str,
    layer: int,
    head: int,
    query: int | str,
    afterwards: str = "",
) -> Prediction:
    """Ask which word a query looks at most; the picture appears with the answer.

    Args:
        trace: the trace asked about.
        question: shown above the words to choose from.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: index of the layer, from 0.
        head: index of the head, from 0.
        query: the word that looks, or its position.
        afterwards: told with the answer.

    Raises:
        UserError: if the trace has no such kind, layer, head or word.
    """
    place = word_index(trace.query_tokens(kind), query)
    explorer = explore(trace, kind=kind, layer=layer, head=head, query=place)
    return Prediction(explorer, question, afterwards)
