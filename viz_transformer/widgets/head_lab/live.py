"""The head lab of a live model: heads switched off or scaled, and the effect on its output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.huggingface_text import HuggingFaceText, is_huggingface
from viz_transformer.interpreting.scored_model import HuggingFaceScores
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.text_model import TextModel
from viz_transformer.trace import ForwardTrace, attention_of
from viz_transformer.vocabulary import MASK
from viz_transformer.widgets.base.live import give_engine, text_for, text_model_of
from viz_transformer.widgets.base.traits import check_index
from viz_transformer.widgets.head_lab.view import HeadLab

#: A gender decided elsewhere: *his* makes the teacher *el profesor*; *vaca* decides the end of *cansada*.
DEFAULT_TEXTS = {
    "translate": "the teacher lost his book",
    "continue": "la vaca no cruzó la calle porque estaba demasiado",
    "fill": "la vaca no cruzó la calle porque estaba demasiado [?]",
}


#: Models of Hugging Face's, and all that a lab can ask.
Theirs = HuggingFaceText | HuggingFaceScores
Answering = TextModel | Theirs


def head_lab(
    model: Any,
    text: str | Mapping[str, Any] | None = None,
    engine: str | None = None,
    *,
    tokenizer: Any = None,
    max_new_tokens: int | None = None,
    metric: str | tuple[str, str] | None = None,
) -> HeadLab:
    """Return a view in which you switch off or scale the heads of a model.

        vt.head_lab(translator, "the teacher lost his book")
        vt.head_lab(gpt2, "When Mary and John went to the store, John gave a drink to", tokenizer=tokenizer)

    The head that changes the loss most when it is switched off is chosen first; of a model of Hugging
    Face's, of those in its last layer, and the page ranks the others while you look. The loss is that of
    the words that the unchanged model answers with: of a translation, of a text as a language model
    continues it, of the word in a gap.

    >>> import viz_transformer as vt
    >>> lab = vt.head_lab(vt.load_translator(), "the teacher lost his book")
    >>> type(lab).__name__
    'HeadLab'

    Args:
        model: a translator, language model or masked language model of ours; or a causal language
            model, an encoder–decoder, a masked model or a classifier of Hugging Face's. It stays as it is.
        text: the first text: a sentence to translate, the beginning of a text, or a text with a
            gap, written ``[?]``, of Hugging Face's masked models as their tokenizer writes it; by default,
            for ours only, one that suits the bundled model. Of a classifier of pictures or sounds, what its
            processor returns of one.
        engine: where answers are computed: ``"page"``, ``"kernel"``, or None for the page if it can. The
            page can't run a model of Hugging Face's; an exported page carries the kernel's replies.
        tokenizer: that of a Hugging Face model, which writes by greedy search.
        max_new_tokens: the most tokens that it writes; by default 8 after a text, and 60 of a
            translation.
        metric: of a Hugging Face model, what is measured in place of the loss: a token, whose logit it is
            where the first word is written, or two (right, wrong), whose logits are subtracted. A click on
            a word of the inspector chooses one too, and a click on another subtracts that.

    Raises:
        UserError: if the text does not suit the model, or the page cannot run it.
    """
    measured = [metric] if isinstance(metric, str) else list(metric or ())
    if is_huggingface(model) and (isinstance(text, Mapping) or not _writes(model)):
        scoring = HuggingFaceScores(model, text, tokenizer)
        names = list(map(scoring.named, measured))
        view = HeadLab(lambda request: ablate(scoring, request), scoring.text, scoring.task, metric=names)
        view.made_with(tokenizer=tokenizer)
        return give_engine(view, "head_lab", scoring, engine)
    model = text_model_of(model, DEFAULT_TEXTS, "a head lab", tokenizer, max_new_tokens)
    text = text_for(model, cast("str | None", text), DEFAULT_TEXTS, "a head lab")
    # Hundreds of heads may take a minute: the page ranks them layer by layer, and shows its progress.
    is_theirs = isinstance(model, HuggingFaceText)
    view = HeadLab(
        *(lambda request: ablate(model, request), text, model.task),
        ranks_first=not is_theirs,
        metric=list(map(model.named, measured)) if is_theirs else measured,
    )
    if measured and isinstance(model, HuggingFaceText):
        view.query = model.n_given(text)  # where the metric stands
    view.made_with(tokenizer=getattr(model, "tokenizer", None), max_new_tokens=max_new_tokens)
    return give_engine(view, "head_lab", model, engine)


def _writes(model: Any) -> bool:
    """Whether a Hugging Face model writes text after a text."""
    return hasattr(model, "can_generate") and model.can_generate() and model.main_input_name == "input_ids"


def interventions_of(lab: HeadLab) -> Interventions:
    """Return the viewer's changes as `Interventions`, for ``model.trace`` and the like.

    >>> import viz_transformer as vt
    >>> lab = vt.head_lab(vt.load_translator(), "the black cat sleeps")
    >>> vt.interventions_of(lab).heads  # no head is changed yet
    ()

    Args:
        lab: what `head_lab` returned.
    """
    return _interventions(lab.factors)


def ablate(model: Answering, request: dict[str, Any]) -> dict[str, Any]:
    """Return what the model does under the changes that a `HeadLab` requests."""
    sentence = request["sentence"]
    # Always the log-probabilities of the unchanged model's words, so that they can be compared.
    target = model.answer(sentence)
    if "each" in request:
        trace, log_probs = model.judge(sentence, target)
        shapes = {kind: attention_of(trace, kind).shape[:2] for kind in trace.kinds}
        first = 0
        if "layer" in request:
            kind, first = request["kind"], request["layer"]
            check_index("layer", first, shapes[kind][0], owner=f"the {kind} attention has")
            shapes = {kind: (1, shapes[kind][1])}
        changes = [
            HeadChange(kind, first + layer, head, request["each"])
            for kind, shape in shapes.items()
            for layer, head in np.ndindex(shape)
        ]
        found = _log_probs_apart(model, sentence, target, changes)
        reply = {"trace": trace, "log_probs": log_probs, "each": _by_kind(shapes, found)}
        if metric := request.get("metric"):
            theirs = _measuring(model)
            values = theirs.measured_apart(sentence, target, metric, changes)  # [change]
            whole = theirs.measured(sentence, target, metric)
            reply |= {"value": whole, "values": _by_kind(shapes, values[:, None])}
        return reply
    if "apart" in request:
        changes = [HeadChange(**change) for change in request["apart"]]
        # One at a time, when it is read: each holds the weights of all heads.
        return {
            "apart": (
                _reply(model, target, *each)
                | _measured(model, sentence, target, Interventions(heads=[change]), request.get("metric"))
                for change, each in zip(changes, _apart(model, sentence, target, changes), strict=True)
            )
        }
    interventions = _interventions(request["changes"])
    judged = model.judge(sentence, target, interventions)
    reply = _reply(model, target, *judged, model.answer(sentence, interventions))
    return reply | _measured(model, sentence, target, interventions, request.get("metric"))


def _measuring(model: Answering) -> Theirs:
    """Return a model whose scores of tokens can be measured.

    Raises:
        UserError: if it is one of ours, whose loss is measured.
    """
    if not isinstance(model, Theirs):
        raise UserError(
            "metric= is for a model of Hugging Face's; of ours the loss is measured, so leave it out"
        )
    return model


def _measured(
    model: Answering,
    sentence: str,
    target: tuple[str, ...],
    changes: Interventions,
    metric: list[str] | None,
) -> dict[str, Any]:
    """Return the metric, if one is measured, and the words that could be one."""
    if not isinstance(model, Theirs):
        return {} if not metric else {"value": _measuring(model)}
    words, shares = model.likeliest(sentence, target, changes)
    found: dict[str, Any] = {"likeliest": words, "shares": shares}
    return found | ({"value": model.measured(sentence, target, metric, changes)} if metric else {})


def _reply(
    model: Answering,
    target: tuple[str, ...],
    trace: ForwardTrace,
    log_probs: np.ndarray,
    answer: tuple[str, ...],
) -> dict[str, Any]:
    if isinstance(model, Theirs):
        answer = model.shown(answer)
    reply = {"translation": answer, "log_probs": log_probs, "trace": trace}
    if isinstance(model, HuggingFaceScores):
        reply["output"] = target
    if model.task == "fill":
        (gap,) = (i for i, token in enumerate(trace.source_tokens) if token == MASK)
        reply["output"] = (target[gap],)
    return reply


def _apart(
    model: Answering, sentence: str, target: tuple[str, ...], changes: Sequence[HeadChange]
) -> Iterator[tuple[ForwardTrace, np.ndarray, tuple[str, ...]]]:
    """Yield the trace, the log-probabilities and the answer under each change alone."""
    if isinstance(model, Theirs):
        yield from model.judge_apart(sentence, target, changes)
        return
    for change in changes:
        alone = Interventions(heads=[change])
        yield *model.judge(sentence, target, alone), model.answer(sentence, alone)


def _log_probs_apart(
    model: Answering, sentence: str, target: tuple[str, ...], changes: Sequence[HeadChange]
) -> np.ndarray:
    """Return the log-probabilities under each change alone, [change, position]."""
    if isinstance(model, Theirs):
        return model.log_probs_apart(sentence, target, changes)
    return np.array([model.judge(sentence, target, Interventions(heads=[change]))[1] for change in changes])


def _by_kind(shapes: Mapping[str, tuple[int, ...]], log_probs: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows of all heads as [layer, head, position] of each kind."""
    ends = np.cumsum([np.prod(shape) for shape in shapes.values()])
    parts = np.split(log_probs, ends[:-1])
    return {kind: part.reshape(*shape, -1) for (kind, shape), part in zip(shapes.items(), parts, strict=True)}


def _interventions(factors: list[dict[str, Any]]) -> Interventions:
    return Interventions(heads=[HeadChange(**factor) for factor in factors])
