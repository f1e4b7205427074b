"""The head card of a live model: its traces and losses over many texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._bounds import TEXTS, whole_number
from viz_transformer._files import given_path
from viz_transformer._text import given_texts
from viz_transformer._work import between_parts
from viz_transformer.analysis import HeadCard, pattern_scores
from viz_transformer.analysis import head_card as sum_up
from viz_transformer.capturing import capture
from viz_transformer.capturing.inputs import as_ids
from viz_transformer.capturing.running import evaluating
from viz_transformer.corpus import draw
from viz_transformer.errors import UserError
from viz_transformer.huggingface_text import is_huggingface
from viz_transformer.interpreting import find_sites, interventions
from viz_transformer.language_model import LanguageModel, load_language_model
from viz_transformer.masked_model import MaskedModel
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.text_model import TextModel, log_probs_of
from viz_transformer.trace import ForwardTrace
from viz_transformer.translator import Translator
from viz_transformer.widgets.head_card.view import HeadCardView

#: A text, or a sentence and its translation.
TextLike = str | tuple[str, str]
#: How many texts are read to find the head that is shown first.
_TRIED = 10
#: Patterns that describe least of what a head does, beside those of sinks.
_RESTS = ("same token", "separator")
#: Reads one text: its trace, and the log-probabilities of its words with heads changed, or None.
_Read = Callable[[Any], ForwardTrace]
_Score = Callable[[Any, Sequence[HeadChange]], "NDArray[np.float64] | None"]


def head_card(
    model: Any = None,
    texts: Iterable[TextLike] | str | os.PathLike[str] | None = None,
    *,
    kind: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    tokenizer: Any = None,
    n_texts: int = 150,
) -> HeadCardView:
    """Return a view of what one head does over many texts.

        vt.head_card()
        vt.head_card(gpt2, "texts.txt", layer=5, head=1, tokenizer=tokenizer).card.held

    It shows where the head looks by distance, how often its label holds, an example of each tenth, what
    the loss is without the head, and all heads beside it. The numbers are the view's ``card``; another head
    that is chosen in the view reads the texts again.

    >>> import viz_transformer as vt
    >>> view = vt.head_card(n_texts=40)
    >>> view.card.label.name
    'previous token'

    Args:
        model: a translator, language model or masked language model of ours, by default the bundled language
            model; or any model of Hugging Face's that `capture` reads texts with.
        texts: a list of texts, or of pairs (sentence, translation) for a translator; or a file with a text on
            each line. By default, for ours only, sentences drawn from the grammar, as often as it makes them.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``; by default the model's only one, or ``"cross"``.
        layer: as the model counts; by default, as the head, one that shows a clear pattern.
        head: counted from 0.
        tokenizer: that of a Hugging Face model.
        n_texts: how many texts are drawn, or read at most.

    Raises:
        UserError: if there is no text, one does not suit the model, or the model has no such head.

    Source: Voita et al. 2019, "Analyzing Multi-Head Self-Attention"; Michel et al. 2019, section 3.2.
    """
    whole_number("n_texts", n_texts, TEXTS)
    model = load_language_model() if model is None else model
    if is_huggingface(model):
        read, score = _huggingface(model, tokenizer)
    elif isinstance(model, TextModel):
        read, score = _ours(model)
    else:
        raise UserError(
            f"{model!r:.40} reads no texts; give a model of Hugging Face's with tokenizer=, or one that "
            "vt.load_translator(), vt.load_language_model() or vt.load_masked_model() returns"
        )
    kept = _texts(model, texts, n_texts)
    asked_kind, kind = kind, _kind(model, kind)
    if layer is None or head is None:
        layer, head = _clearest(map(read, kept[:_TRIED]), kind, layer, head)
    view = HeadCardView(lambda *place: _card(read, score, kept, kind, *place), layer, head)
    view.made_with(tokenizer=tokenizer, kind=asked_kind)
    return view


def _kind(model: Any, kind: str | None) -> str:
    """Return the kind of attention that was asked for, or the one that is most informative.

    Raises:
        UserError: if the model has no such kind.
    """
    sites = find_sites(model.model if isinstance(model, TextModel) else model)
    kinds = list(dict.fromkeys(site.kind for site in sites))
    kind = kind or ("cross" if "cross" in kinds else kinds[0])
    if kind not in kinds:
        raise UserError(f"kind={kind!r:.20}, but the model has {kinds}")
    return kind


def _clearest(
    traces: Iterable[ForwardTrace], kind: str, layer: int | None, head: int | None
) -> tuple[int, int]:
    """Return the head that follows a pattern most, but for rests and its own position, in some texts."""
    scores: dict[str, list[NDArray[np.float64]]] = {}
    for trace in traces:
        layers, heads = trace.layer_numbers(kind), trace.head_numbers
        for name, of_heads in pattern_scores(trace, kind).items():
            if not name.endswith("sink") and name not in _RESTS:
                scores.setdefault(name, []).append(of_heads)
    found = (
        np.max([np.mean(each, axis=0) for each in scores.values()], axis=0) if scores else np.zeros((1, 1))
    )
    for axis, (numbers, given) in enumerate(((layers, layer), (heads, head))):
        if given in numbers:
            others = [at for at, number in enumerate(numbers[: found.shape[axis]]) if number != given]
            np.moveaxis(found, axis, 0)[others] = -1
    at_layer, at_head = np.unravel_index(found.argmax(), found.shape)
    return (layers[at_layer] if layer is None else layer, heads[at_head] if head is None else head)


def _texts(
    model: Any, texts: Iterable[TextLike] | str | os.PathLike[str] | None, n_texts: int
) -> list[TextLike]:
    """Return the texts that are read.

    Raises:
        UserError: if there are none.
    """
    if texts is None:
        if not isinstance(model, TextModel):
            raise UserError("this model has no texts of its own; give a list of texts, or a file")
        pairs = islice(draw(seed=0), n_texts)
        if isinstance(model, Translator):
            return [(" ".join(pair.source), " ".join(pair.target)) for pair in pairs]
        return [" ".join(pair.target) for pair in pairs]
    if isinstance(texts, str | os.PathLike):
        path = given_path(texts)
        if not path.is_file():
            raise UserError(
                f"{str(path)!r:.60} is no file; give a list of texts, or a file with one on a line"
            )
        lines = path.read_text(encoding="utf-8").splitlines()
        kept: list[Any] = [line for line in lines if line.strip()]
    else:
        kept = list(islice(texts, n_texts))
        given_texts(
            [text for each in kept for text in (each if isinstance(each, tuple) else [each])], "texts"
        )
    if not kept:
        raise UserError("there is no text to read; give at least one")
    return kept[:n_texts]


def _card(read: _Read, score: _Score, texts: Sequence[Any], kind: str, layer: int, head: int) -> HeadCard:
    """Read all texts, and sum up what one head does in them and what the loss is without it."""
    losses: list[tuple[float, float, int]] = []

    def traces() -> Iterator[ForwardTrace]:
        off = HeadChange(kind, layer, head, factor=0.0)
        for number, text in enumerate(texts):
            between_parts(f"Text {number + 1} of {len(texts)}")
            yield read(text)
            both = score(text, []), score(text, [off])
            if both[0] is not None and both[1] is not None:
                losses.append((-float(both[0].mean()), -float(both[1].mean()), both[0].size))

    card = sum_up(traces(), kind, layer, head)
    if len(losses) < len(texts):
        return card
    whole, without, counts = (np.array(each) for each in zip(*losses, strict=True))  # each [text]
    return card.with_losses(whole, without, counts)


def _ours(model: TextModel[Any, Any, Any]) -> tuple[_Read, _Score]:
    """Return what reads texts with a model of ours."""

    def pair(text: TextLike) -> tuple[str, str | Sequence[str]]:
        return text if isinstance(text, tuple) else (text, model.answer(text))

    if isinstance(model, Translator):
        return (
            lambda text: model.judge(*pair(text))[0],
            lambda text, changes: model.log_probs(*pair(text), Interventions(heads=changes)),
        )
    if isinstance(model, LanguageModel | MaskedModel):
        return model.trace, lambda text, changes: model.log_probs(text, Interventions(heads=changes))
    raise UserError(f"{model.name} reads no texts for a head card")


def _huggingface(model: Any, tokenizer: Any) -> tuple[_Read, _Score]:
    """Return what reads texts with a model of Hugging Face's; only one that writes has a loss of each."""
    is_causal = (
        not model.config.is_encoder_decoder and hasattr(model, "can_generate") and model.can_generate()
    )

    def score(text: str, changes: Sequence[HeadChange]) -> NDArray[np.float64] | None:
        if not is_causal:
            return None
        ids = as_ids(model, tokenizer(text)["input_ids"])  # [1, position]
        if ids.shape[1] < 2:
            raise UserError(
                f"the text {text!r:.40} has one token, and no next one to find; give longer texts"
            )
        with interventions(model, changes), evaluating(model):
            logits = model(input_ids=ids).logits[0, :-1]  # [position, vocab]
        return log_probs_of(logits, ids[0, 1:].tolist())

    return lambda text: capture(model, text, tokenizer=tokenizer, verify=False), score
