"""Attention weighted by what it carries: by the size of the values, or by the gradient of a logit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from viz_transformer.capturing import capture
from viz_transformer.capturing.inputs import TRACED
from viz_transformer.capturing.running import attention_implementation, evaluating
from viz_transformer.errors import UserError
from viz_transformer.interpreting.metric import MetricLike, logits_in, one_metric
from viz_transformer.interpreting.prompt import Prompt, PromptLike, read_prompt, run_whole
from viz_transformer.interpreting.sites import AttentionSite, find_sites
from viz_transformer.interpreting.stream import before
from viz_transformer.interpreting.stream_parts import exact
from viz_transformer.trace import KINDS, FloatArray, ForwardTrace, attention_of

_PRODUCTS = frozenset({torch.matmul, torch.bmm, Tensor.matmul, Tensor.bmm, Tensor.__matmul__})


def value_weighted(
    model: Any,
    prompt: PromptLike | None = None,
    *,
    tokenizer: Any = None,
    target: PromptLike | None = None,
    scale: str = "row",
    **inputs: Any,
) -> ForwardTrace:
    """Weight attention by the vectors that it carries: ‖α f(x)‖ in place of α.

        vt.explore(vt.attribution.value_weighted(model, "the cat sleeps", tokenizer=tokenizer))

    A head may give much weight to a token whose value is close to zero, as attention sinks such as ``[SEP]``
    or the first token are. Here α is multiplied by the length of f(x) = (x W_V + b_V) W_O, which is what the
    head would add if it attended to that token alone.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> vt.attribution.value_weighted(model.model, "el gato", tokenizer=model.vocabulary).kinds
    ('decoder',)

    Args:
        model: an encoder, a decoder or both in one, of Hugging Face's or of ours.
        prompt: a text, or token ids [position]; or what a processor returns of one picture or sound.
        tokenizer: Hugging Face's, or a vocabulary of ours.
        target: of an encoder–decoder, as in `logit_lens`.
        scale: the weights of a trace are shares. With ``"row"`` each row is divided by its sum, and
            with ``"trace"`` everything by the largest sum of a row, which keeps heads and layers
            comparable.
        inputs: the model's own inputs by name, in place of the prompt: ``pixel_values=`` of a picture,
            ``input_features=`` or ``input_values=`` of a sound.

    Returns:
        A trace for every view. A row sums to 1 (``"row"``) or at most 1 (``"trace"``).

    Raises:
        UserError: if the model's attention cannot be split into its parts, or the text does not fit.

    Source: Kobayashi et al. 2020, "Attention is Not Only a Weight", section 3, equation 5.
    """
    run = _run(model, read_prompt(model, prompt, tokenizer, target, named=inputs), with_gradients=False)
    layers = [
        each.weights * _lengths(each.site, each.values)[:, None, :]  # [head, query, key]
        for each in run.products
    ]
    return _as_trace(run, layers, scale)


def gradient_weighted(
    model: Any,
    prompt: PromptLike | None = None,
    *,
    tokenizer: Any = None,
    target: PromptLike | None = None,
    token: str | int | None = None,
    against: str | int | None = None,
    metric: MetricLike | None = None,
    position: int | None = None,
    scale: str = "row",
    **inputs: Any,
) -> ForwardTrace:
    """Weight attention by its effect on a logit: max(0, α ∂logit/∂α) in place of α.

        trace = vt.attribution.gradient_weighted(model, "The capital of France is", tokenizer=tokenizer)
        vt.explore(trace)

    What is left of a weight is, to first order, how much the logit would lose without it. Weights that
    lower the logit become 0.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> vt.attribution.gradient_weighted(model.model, "el gato", tokenizer=model.vocabulary).kinds
    ('decoder',)

    Args:
        model: of Hugging Face's a causal language model, a masked one such as BERT, an encoder–decoder, or a
            classifier; or one of ours.
        prompt: a text, or token ids [position]; or what a processor returns of one picture or sound.
        tokenizer: Hugging Face's, or a vocabulary of ours.
        target: of an encoder–decoder, as in `logit_lens`.
        token: the token, or the class, whose logit it is; by default the model's own first choice.
        against: a token whose logit is subtracted.
        metric: in place of these two, and of the logit: what `patching` takes.
        position: where the logit is; by default at the one gap of a masked model, or else at the end.
        scale: as in `value_weighted`. A query without any effect keeps a row of zeros.
        inputs: the model's own inputs by name, in place of the prompt: ``pixel_values=`` of a picture,
            ``input_features=`` or ``input_values=`` of a sound.

    Returns:
        A trace for every view. A row sums to 1 (``"row"``) or at most 1 (``"trace"``), or to 0.

    Raises:
        UserError: if the model has no language-model head or its attention cannot be split into its parts, or
            the text, a token or the position does not fit.

    Source: Chefer et al. 2021, "Generic Attention-model Explainability", section 3.2, equation 5.
    """
    text = read_prompt(model, prompt, tokenizer, target, named=inputs)
    place = text.index_of(position)
    run = _run(model, text, with_gradients=True)
    logits = logits_in(model, run.output)[0]  # [position, vocab]
    logit = text.metric(one_metric(metric, token, against), logits.detach(), place).measure(logits)
    weights = [each.weights for each in run.products]
    slopes = torch.autograd.grad(logit, weights, allow_unused=True)
    layers = [
        torch.zeros_like(of_layer) if slope is None else (of_layer * slope).clamp(min=0)
        for of_layer, slope in zip(weights, slopes, strict=True)
    ]
    return _as_trace(run, layers, scale)


@dataclass(frozen=True, eq=False)
class _Product:
    """The two factors of one layer's attention.

    Attributes:
        site: the layer.
        weights: [batch=1, head, query, key], or without the batch.
        values: [head, key, d_head].
        heads: what entered the output projection, [batch=1, position, head · d_head].
    """

    site: AttentionSite
    weights: Tensor
    values: Tensor
    heads: Tensor


@dataclass(frozen=True, eq=False)
class _Run:
    """One run of a model: plain attention, each layer's product in the order of `find_sites`, the output."""

    trace: ForwardTrace
    products: list[_Product]
    output: Any


class _ProductRecorder(TorchFunctionMode):
    """Record each product of attention weights with values, the step in which attention reads.

    A product is one of these if its first factor is [..., query, key] and every row of it sums to 1, or to
    less where a part goes to a sink that is no token. The weights then have gradients, whatever is frozen.

    Attributes:
        weights: [head, query, key] of each product, in their order.
        values: [head, key, d_head].
    """

    def __init__(self, shapes: Collection[tuple[int, int]], has_sink: bool) -> None:
        super().__init__()
        self.weights: list[Tensor] = []
        self.values: list[Tensor] = []
        self._shapes = set(shapes)
        self._has_sink = has_sink

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run the function, and record its factors if they are weights and values."""
        if func not in _PRODUCTS or len(args) != 2 or not self._are_weights(args[0]):
            return func(*args, **(kwargs or {}))
        weights, values = args
        if torch.is_grad_enabled() and not weights.requires_grad:
            weights = weights.detach().requires_grad_()
        self.weights.append(weights)
        # One head of values may serve all: Falcon.
        for_each = values.detach().expand(*weights.shape[:-2], *values.shape[-2:])
        self.values.append(for_each.reshape(-1, *values.shape[-2:]))  # [head, key, d_head]
        return func(weights, values)

    def _are_weights(self, factor: Any) -> bool:
        if not isinstance(factor, Tensor) or factor.ndim < 3 or tuple(factor.shape[-2:]) not in self._shapes:
            return False
        sums = factor.detach().float().sum(-1)
        shared = ((sums - 1).abs() < 0.01) | (sums == 0)  # a query of padding may attend to nothing
        if self._has_sink:
            shared |= sums < 1
        return bool((factor.detach() >= 0).all() and shared.all())


def _run(model: Any, prompt: Prompt, with_gradients: bool) -> _Run:
    """Run a model on a prompt, and record its products of weights and values."""
    sites = find_sites(model)
    trace = _plain_trace(model, prompt, sites)
    kinds = [KINDS[kind] for kind in trace.kinds]
    recorder = _ProductRecorder(
        [(len(prompt.side(kind.query).tokens), len(prompt.side(kind.key).tokens)) for kind in kinds],
        has_sink=bool(trace.sinks),
    )
    found: dict[AttentionSite, _Product] = {}

    def keep(site: AttentionSite, heads: Tensor) -> None:
        if recorder.weights:  # the newest product is this layer's
            found[site] = _Product(site, recorder.weights.pop(), recorder.values.pop(), heads.detach())

    with ExitStack() as stack:
        stack.enter_context(evaluating(model))
        stack.enter_context(attention_implementation(model, "eager"))
        stack.enter_context(torch.set_grad_enabled(with_gradients))
        for site in sites:
            stack.enter_context(before(site.projection, partial(keep, site)))
        with recorder:
            # Ours run with their attention written out: by the traced forward.
            traced = next((traced for plain, traced in TRACED.items() if isinstance(model, plain)), None)
            output = run_whole(traced.forward.__get__(model) if traced else model, prompt)
    products = [found[site] for site in sites if site in found]
    if len(products) != len(sites) or recorder.weights or not _are_attention(trace, products):
        raise UserError(
            f"{type(model).__name__} does not multiply its weights with values in a way that can be watched; "
            "give a model of Hugging Face's with eager attention, or one of ours"
        )
    return _Run(trace, products, output)


def _plain_trace(model: nn.Module, prompt: Prompt, sites: Sequence[AttentionSite]) -> ForwardTrace:
    """Return the trace of the plain weights, with the words of the prompt."""
    sides = {KINDS[site.kind].query for site in sites}
    labels: dict[str, Any] = {f"{side}_tokens": prompt.side(side).tokens for side in sides}
    words: dict[str, Any] = {f"{side}_words": prompt.side(side).labels.words for side in sides}
    encoder = prompt.source or prompt
    read: dict[str, Any] = {**encoder.features} or {"input_ids": encoder.ids}
    if prompt.source is not None:
        read["decoder_input_ids"] = prompt.ids
    return replace(capture(model, **read, **labels), **words)


def _are_attention(trace: ForwardTrace, products: Sequence[_Product]) -> bool:
    """Return whether the products are the model's attention, and nothing but them goes on."""
    return all(
        each.site.layer in (numbers := trace.layer_numbers(each.site.kind))
        and _is_attention(attention_of(trace, each.site.kind)[numbers.index(each.site.layer)], each)
        for each in products
    )


@torch.no_grad()
def _is_attention(captured: FloatArray, product: _Product) -> bool:
    """Return whether a product has the captured weights [head, query, key] and enters the projection."""
    weights, values = product.weights, product.values
    if weights.numel() != captured.size or len(values) != len(captured):
        return False
    room = torch.finfo(values.dtype).eps ** 0.5  # float32: 0.0003; bfloat16: 0.09
    weights = weights.reshape(captured.shape)  # [head, query, key]
    outputs = (weights @ values).transpose(0, 1).flatten(1)  # [query, head · d_head]
    return np.allclose(weights.float().cpu().numpy(), captured, atol=room) and torch.allclose(
        outputs, product.heads[0], atol=room, rtol=room
    )


@torch.no_grad()
def _lengths(site: AttentionSite, values: Tensor) -> Tensor:
    """Return the length of what each head adds for each value [head, key, d_head]: ‖f(x)‖ [head, key]."""
    matrices = site.weight.unflatten(0, (site.n_heads, site.d_head))  # [head, d_head, d_model]
    return (values @ matrices).float().norm(dim=-1)  # [head, key]


def _as_trace(run: _Run, layers: list[Tensor], scale: str) -> ForwardTrace:
    """Return the run's trace with other weights, as shares."""
    if scale not in ("row", "trace"):
        raise UserError(
            f"scale={scale!r}; choose 'row' (each row sums to 1) or 'trace' (the largest row does)"
        )
    by_kind: dict[str, Tensor] = {}
    for kind in run.trace.kinds:
        shape = attention_of(run.trace, kind).shape
        of_kind = [layer for layer, each in zip(layers, run.products, strict=True) if each.site.kind == kind]
        by_kind[kind] = torch.stack([exact(layer).reshape(shape[1:]) for layer in of_kind])
    largest = max(float(weights.sum(-1).max()) for weights in by_kind.values())
    weighted: dict[str, Any] = {}
    for kind, weights in by_kind.items():
        sums = weights.sum(-1, keepdim=True)  # [layer, head, query, 1]
        if scale == "trace":
            sums = torch.full_like(sums, largest)
        shares = torch.where(sums > 0, weights / sums.clamp(min=torch.finfo(torch.float64).tiny), 0.0)
        weighted[KINDS[kind].field] = shares.numpy()
    return replace(run.trace, **weighted)
