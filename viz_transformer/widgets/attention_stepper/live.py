"""The attention stepper of a live model's layer, or of two words small enough to compute by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from viz_transformer.analysis import word_index
from viz_transformer.errors import UserError
from viz_transformer.huggingface_text import HuggingFaceReader
from viz_transformer.interpreting import find_sites
from viz_transformer.interpreting.layer_steps import layer_steps
from viz_transformer.model.attention_hooks import AttentionInputs, watched
from viz_transformer.model.interventions import UNCHANGED, Interventions
from viz_transformer.trace import KINDS, AttentionSteps, ForwardTrace
from viz_transformer.vocabulary.tokeniser import EOS, PAD, SOS
from viz_transformer.widgets.attention_stepper.view import AttentionStepper
from viz_transformer.widgets.base.live import give_engine, plain_interventions, reader_of

_CLEAR = 0.9  # of a weight: then one key is seen to be chosen
_TASKS = ("translate", "continue", "fill")


def attention_steps(
    model: Any,
    text: str,
    *,
    kind: str | None = None,
    layer: int = 0,
    interventions: Interventions | None = None,
    tokenizer: Any = None,
) -> AttentionSteps:
    """Return the inputs and weight matrices of one attention layer for one sentence.

    >>> import viz_transformer as vt
    >>> steps = vt.attention_steps(vt.load_translator(), "the black cat sleeps", layer=1)
    >>> steps.kind
    'cross'

    Args:
        model: a translator, language model or masked language model of ours, whose scores must be dot
            products of unturned vectors; or a model of Hugging Face's that reads text.
        text: what it reads; a translator's decoder reads its own translation of it.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``; None takes the last that the model has.
        layer: index of the layer, from 0.
        interventions: what to switch off or replace in the whole model, of ours alone; None changes nothing.
        tokenizer: that of a Hugging Face model.

    Raises:
        UserError: if the text does not suit the model, it has no such layer, or one whose weights have
            more in them than these steps; of ours, if the interventions change the layer's heads.
    """
    model = _model_of(model, tokenizer, interventions)
    kind = kind or [*_layers_of(model)][-1]
    if isinstance(model, HuggingFaceReader):
        return layer_steps(model.model, lambda: model.trace(text), kind, layer)
    changes = UNCHANGED if interventions is None else interventions
    if any((change.kind, change.layer) == (kind, layer) for change in changes.heads):
        raise UserError(
            f"the interventions change a head of {kind} layer {layer}, the layer that the view "
            "shows; choose another layer, or change heads elsewhere"
        )
    with watched(model.traced_model, kind, layer) as watch:
        trace = model.trace(text, interventions=interventions)
    return _steps_from(trace, watch.inputs, kind, layer, normed=model.config.norm == "pre")


def attention_stepper(
    model: Any,
    text: str,
    *,
    kind: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    query: int | str | None = None,
    step: int | str = 0,
    interventions: Interventions | None = None,
    engine: str | None = None,
    tokenizer: Any = None,
) -> AttentionStepper:
    """Return a view that computes one head of a model step by step, number by number.

        vt.attention_stepper(translator, "the black cat sleeps")
        vt.attention_stepper(llama, "the black cat sleeps", tokenizer=tokenizer)

    >>> import viz_transformer as vt
    >>> stepper = vt.attention_stepper(vt.load_translator(), "the black cat sleeps", query="gato")
    >>> stepper.kind, stepper.layer, stepper.head
    ('cross', 0, 0)

    Args:
        model: the translator, language model or masked language model, or a model of Hugging Face's that
            reads text: Llama-, GPT-2- and BERT-like ones, with their rotary positions, shared keys and
            values, mask and scale. Its weights, computed again, equal its own, or it is refused.
        text: the first text; the view takes others.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``; None takes the last that the model has.
        layer: index of the layer, from 0.
        head: index of the head, from 0.
        query: the query token (for a decoder, the word being written), or its position; None
            takes the second, or the only one. Where neither layer, head nor query is given, the view
            opens where a word of the last layer attends clearly to another one.
        step: the step that the view opens at, such as ``"weights"``, or its index.
        interventions: what to switch off or replace in the whole model, for every sentence. The
            view's own switches change the head that it shows, and that alone.
        engine: where answers are computed: ``"page"``, ``"kernel"``, or None for the page if it can.
        tokenizer: that of a Hugging Face model.

    Raises:
        UserError: as `attention_steps`, or if there is no such head, word or step, or the page cannot
            run the model.
    """

    def source(text: str, kind: str, layer: int) -> AttentionSteps:
        return attention_steps(model, text, kind=kind, layer=layer, interventions=interventions)

    model = _model_of(model, tokenizer, interventions)
    layers = _layers_of(model)
    kind = kind or list(layers)[-1]
    changes = UNCHANGED if interventions is None else interventions
    if layer is None and head is None and query is None and kind in layers and not changes.heads:
        layer = layers[kind] - 1
        theirs = isinstance(model, HuggingFaceReader)
        trace = model.trace(text) if theirs else model.trace(text, interventions=interventions)
        head, query = clearest(trace, kind, layer, without_first=theirs)
    steps = source(text, kind, layer or 0)
    second = min(1, len(steps.query_tokens) - 1)
    place = second if query is None else word_index(steps.query_tokens, query)
    view = AttentionStepper(
        steps,
        text=text,
        source=source,
        places=[(each, index) for each, n_layers in layers.items() for index in range(n_layers)],
        traits={
            "head": head or 0,
            "query": place,
            "step": _step_index(steps, step),
            "scale": steps.scale and changes.scale,
            "temperature": float(changes.temperature),
        },
    )
    view.made_with(tokenizer=getattr(model, "tokenizer", None), interventions=interventions)
    context = {"interventions": plain_interventions(changes)}
    return give_engine(view, "attention_stepper", model, engine, context)


def _model_of(model: Any, tokenizer: Any, interventions: Interventions | None) -> Any:
    """Return a model of ours, or one of Hugging Face's with its tokenizer."""
    model = reader_of(model, _TASKS, "an attention stepper", tokenizer)
    if isinstance(model, HuggingFaceReader) and interventions is not None:
        raise UserError("interventions= is for models of ours; of this one, vt.head_lab changes heads")
    return model


def _layers_of(model: Any) -> Mapping[str, int]:
    """Return the kinds of attention that a model has, and how many layers of each."""
    if isinstance(model, HuggingFaceReader):
        counts = Counter(site.kind for site in find_sites(model.model))
        return {kind: counts[kind] for kind in KINDS if counts[kind]}
    return model.config.attention_layers


def clearest(trace: ForwardTrace, kind: str, layer: int, *, without_first: bool = False) -> tuple[int, int]:
    """Return the head and the query of a layer in which a word attends most clearly to another one.

    It is the first query, but for the one at the beginning, that gives nearly all of its weight to another
    position than its own; or where none does, the one that gives most.

    Args:
        trace: what the model made of a text.
        kind: of attention that the trace has.
        layer: index of the layer, from 0.
        without_first: whether the first key does not count, on which the heads of large models rest.
    """
    attention = trace.attention(kind)  # [layer, head, query, key]
    assert attention is not None  # its layers were counted
    weights = attention[layer].copy()  # [head, query, key]
    n_queries, n_keys = weights.shape[1:]
    weights[:, :, : int(without_first and n_keys > 1)] = 0
    marks = (PAD, SOS, EOS)
    weights[:, np.isin(trace.query_tokens(kind), marks)] = 0
    weights[:, :, np.isin(trace.key_tokens(kind), marks)] = 0
    weights[:, np.arange(min(n_queries, n_keys)), np.arange(min(n_queries, n_keys))] = 0
    most = weights.max(-1)  # [head, query]
    most[:, : min(1, n_queries - 1)] = 0
    clear = np.flatnonzero(most.max(0) > _CLEAR)
    query = int(clear[0]) if len(clear) else int(most.max(0).argmax())
    return int(most[:, query].argmax()), query


def thinking_machines(*, step: int | str = 0) -> AttentionStepper:
    """Return the smallest useful example: two words, d_model = 4, one head with d_head = 3.

    Every number is small and round, so that each step can be done by hand: no positions, no mask,
    no biases, and one head whose outputs are not joined with others.

    >>> import viz_transformer as vt
    >>> view = vt.thinking_machines(step=2)

    Args:
        step: the step that the view opens at, such as ``"weights"``, or its index.

    Raises:
        UserError: if there is no such step.
    """
    steps = AttentionSteps(
        kind="encoder",
        query_tokens=("thinking", "machines"),
        key_tokens=("thinking", "machines"),
        x=np.array([[1, -1, 1, 1], [0, 2, 1, 0]], np.float32),
        w_q=np.array([[[1, 0, 1], [-1, 0, 0], [0, 1, 1], [0.5, 0, 0]]], np.float32),
        w_k=np.array([[[0, 1, 1], [0, -1, 1], [1, 0, 0], [-1, 0, 0]]], np.float32),
        w_v=np.array([[[0, 0, 1], [0.5, -1, 0], [1, 0, 0], [0, 0, 1]]], np.float32),
    )
    view = AttentionStepper(steps, text="thinking machines", traits={"step": _step_index(steps, step)})
    view.made = {**view.made, "by": "vt.thinking_machines()"}
    return view


def _step_index(steps: AttentionSteps, step: int | str) -> int:
    if isinstance(step, int):
        return step
    if step not in steps.steps:
        raise UserError(f"step={step!r} is none of this layer's steps: {', '.join(steps.steps)}")
    return steps.steps.index(step)


def _steps_from(
    trace: ForwardTrace, inputs: AttentionInputs, kind: str, layer: int, *, normed: bool
) -> AttentionSteps:
    arrays: dict[str, Any] = {
        name: None if value is None else value.numpy()
        for name, value in inputs._asdict().items()
        if name not in ("query_input", "key_input", "scale")
    }
    queries = trace.query_tokens(kind)
    writes = KINDS[kind].query == "target" and trace.output_tokens is not None
    return AttentionSteps(
        kind=kind,
        layer=layer,
        query_tokens=queries,
        key_tokens=trace.key_tokens(kind),
        query_reads=trace.target_tokens if writes else None,
        x=inputs.query_input.numpy(),
        normed=normed,
        memory=inputs.key_input.numpy() if kind == "cross" else None,
        scale=inputs.scale,
        **arrays,
    )
