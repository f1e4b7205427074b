"""A metric: one number of what a model scores, named by its tokens, its classes, a span or a function."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from viz_transformer.capturing.arguments import encode, labels_of_ids
from viz_transformer.capturing.running import evaluating
from viz_transformer.errors import UserError
from viz_transformer.interpreting.sites import find_sites
from viz_transformer.vocabulary import Tokeniser

#: A token or a class, whose logit is measured; two of them, whose logits are subtracted; a slice of
#: positions, whose mean loss is measured; or a function.
MetricLike = str | int | tuple[str | int | None, str | int | None] | slice | Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Metric:
    """One number of a model's logits.

    Attributes:
        name: what it is, in words: ``"logit of Mary − John"``.
        measure: a function of logits [position, vocab], of a classifier [1, class], that gives one number.
        ids: of the token, or of the first and the one that is subtracted; empty where it is no sum of logits.
    """

    name: str
    measure: Callable[[Tensor], Any]
    ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Classes:
    """What a classifier tells apart, in the order of its logits."""

    names: tuple[str, ...]


def class_names(model: Any, n_classes: int) -> Classes:
    """Return the names that a model's configuration gives its classes, or else their numbers."""
    named = getattr(getattr(model, "config", None), "id2label", None) or {}
    return Classes(tuple(str(named.get(i, i)) for i in range(n_classes)))


def token_names(namer: Any, ids: Sequence[int]) -> tuple[str, ...]:
    """Return the tokens, or the classes, of some ids; without a namer, the ids themselves as text.

    Args:
        namer: a tokenizer of Hugging Face's, a vocabulary of ours, `Classes`, or None.
        ids: [...] of any number.
    """
    if namer is None:
        return tuple(map(str, ids))
    if isinstance(namer, Classes):
        return tuple(namer.names[i] for i in ids)
    if isinstance(namer, Tokeniser):
        return namer.tokens_of(ids)
    return labels_of_ids(namer, ids).tokens


def token_id(namer: Any, token: str | int, n_scored: int) -> int:
    """Return the id of one token of a model's vocabulary, or the number of one class.

    Args:
        namer: as in `token_names`.
        token: an id, or a text that is one token: ``" Paris"``, or the token itself, ``"ĠParis"``.
        n_scored: how many tokens or classes the model scores.

    Raises:
        UserError: if it is none, or several.
    """
    one, all_of_them = ("class", "classes") if isinstance(namer, Classes) else ("token", "tokens")
    if isinstance(token, int) and not isinstance(token, bool):
        if 0 <= token < n_scored:
            return token
        raise UserError(
            f"{one} {token}, but the model scores {n_scored} {all_of_them}; give an id below {n_scored}"
        )
    if not isinstance(token, str) or namer is None:
        raise UserError(f"token {token!r:.40} is no id and has no tokenizer; give its id, or give tokenizer=")
    if isinstance(namer, Classes):
        return _class_id(namer, token)
    if isinstance(namer, Tokeniser):
        return namer.ids_of([token])[0]
    known = namer.get_vocab()
    for text in (token, token.replace("Ġ", " ")):  # as a tokenizer reads it, and as a label shows it
        pieces = namer(text, add_special_tokens=False)["input_ids"]
        if len(pieces) == 1 and pieces[0] != getattr(namer, "unk_token_id", None):
            return pieces[0]
        if token in known:
            return known[token]
    named = list(token_names(namer, pieces))
    raise UserError(
        f"{token!r:.40} is {named} to this tokenizer, and one token is needed; give one of its tokens"
    )


def _class_id(classes: Classes, name: str) -> int:
    if classes.names.count(name) == 1:
        return classes.names.index(name)
    near = difflib.get_close_matches(name, classes.names, n=3, cutoff=0.4) or [*classes.names[:3]]
    raise UserError(
        f"{name!r:.40} is not one of the {len(classes.names)} classes of this model, such as {near}; give "
        "a name as model.config.id2label has it, or its number"
    )


def read_metric(
    metric: MetricLike | None,
    logits: Tensor,
    *,
    namer: Any = None,
    place: int = -1,
    ids: Sequence[int] | None = None,
    writes: bool = True,
) -> Metric:
    """Turn what was given as a metric into one.

    Args:
        metric: None is the token or class that the model itself puts first, also as the first of two.
        logits: the model's own, [position, vocab], or of a classifier [1, class].
        namer: as in `token_names`.
        place: where the logits of tokens are.
        ids: the tokens that were read, [position], which a span is taken of.
        writes: whether logits score the next token, and not the one at their own position.

    Raises:
        UserError: if it is no metric, or does not fit the model.
    """
    if callable(metric):
        own = metric

        def measured(logits: Tensor) -> Any:
            return own(logits[0] if isinstance(namer, Classes) else logits)

        return Metric(getattr(metric, "__name__", "metric").strip("<>"), measured)
    if isinstance(metric, slice):
        return _loss_of(metric, namer, ids, writes)
    tokens = tuple(metric) if isinstance(metric, tuple | list) else (metric, None)
    if len(tokens) != 2 or (tokens[1] is None and isinstance(metric, tuple | list)):
        raise UserError(
            f"metric={metric!r:.60} is no metric; give a token or a class, a pair of them (right, wrong), a "
            "slice of positions, or a function of the logits [position, vocab]"
        )
    n_scored = logits.shape[-1]
    first = int(logits[place].argmax()) if tokens[0] is None else token_id(namer, tokens[0], n_scored)
    chosen = (first,) if tokens[1] is None else (first, token_id(namer, tokens[1], n_scored))
    name = "logit of " + " − ".join(token_names(namer, chosen))
    return Metric(name, lambda logits: difference(logits[place], chosen), chosen)


def _loss_of(span: slice, namer: Any, ids: Sequence[int] | None, writes: bool) -> Metric:
    """Return the mean loss of the tokens of a span, each scored where the model writes it."""
    if ids is None or isinstance(namer, Classes):
        raise UserError(
            f"metric={span} is a span of a text, and this model scores no text; give a class or a function"
        )
    try:
        found = [i for i in range(len(ids))[span] if i >= writes]
    except TypeError as error:
        raise UserError(f"metric={span} is no span; give whole numbers: slice(3, 6)") from error
    if not found:
        first = "; no token comes before the first, so it has no loss" if writes else ""
        raise UserError(f"metric={span} holds none of the {len(ids)} tokens of the text{first}; give others")
    wanted = torch.tensor([ids[i] for i in found])
    rows = torch.tensor(found) - int(writes)

    def loss(logits: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(logits[rows].float(), wanted.to(logits.device))

    names = token_names(namer, wanted.tolist())
    return Metric("loss of " + (" ".join(names) if len(names) <= 3 else f"{len(names)} tokens"), loss)


def measure_of_output(
    model: nn.Module, metric: MetricLike, inputs: tuple[Any, ...], named: Mapping[str, Any], tokenizer: Any
) -> tuple[tuple[Any, ...], dict[str, Any], Callable[[Any], Any]]:
    """Return what a model's forward takes, and a metric as a function of what it returns.

    Args:
        model: the model.
        metric: a function of what its forward returns stays as it is.
        inputs: what its forward takes by position; or a text, which the tokenizer reads.
        named: likewise, by name.
        tokenizer: as `token_names`.

    Raises:
        UserError: if it is no metric, or does not fit the model.
    """
    kinds = {site.kind for site in find_sites(model)}
    named = dict(named)
    if len(inputs) == 1 and isinstance(inputs[0], str):
        (text,) = inputs
        inputs, named = (), {**_read_text(text, tokenizer, "decoder" in kinds), **named}
        if isinstance(tokenizer, Tokeniser):  # of ours, whose forward has names of its own
            inputs, named = tuple(named.values()), {}
    if callable(metric):
        return inputs, named, metric
    with evaluating(model):
        output = model(*inputs, **named)
    scored = logits_of_output(output)
    logits = logits_in(model, output)[0].detach()  # [position, vocab] or [1, class]
    is_class = scored is not None and scored.ndim == 2
    read: Any = named.get("decoder_input_ids", named.get("input_ids", inputs[-1] if inputs else None))
    has_ids = isinstance(read, Tensor) and not read.is_floating_point() and read.numel() == len(logits)
    ids: list[int] | None = read.flatten().tolist() if has_ids and not is_class else None
    gaps = [i for i, each in enumerate(ids or []) if each == getattr(tokenizer, "mask_token_id", None)]
    found = read_metric(
        metric,
        logits,
        namer=class_names(model, logits.shape[-1]) if is_class else tokenizer,
        place=gaps[0] if len(gaps) == 1 else len(logits) - 1,
        ids=ids,
        writes="decoder" in kinds,
    )
    return inputs, named, lambda output: found.measure(logits_in(model, output)[0])


def _read_text(text: str, tokenizer: Any, writes: bool) -> dict[str, Any]:
    """Return what a model reads of a text, by name."""
    if tokenizer is None:
        raise UserError(f"the text {text!r:.40} came without a tokenizer; give tokenizer=, or input_ids=")
    if not isinstance(tokenizer, Tokeniser):
        return dict(encode(tokenizer, text))
    ids = tokenizer.target_ids(text)[:-1] if writes else tokenizer.source_ids(text)
    return {"input_ids": torch.tensor([ids])}


def sum_of_logits(metric: Metric, why: str) -> tuple[int, ...]:
    """Return the ids of a metric that is a logit or a difference of two, or raise a UserError: `why`."""
    if not metric.ids:
        raise UserError(
            f"the metric {metric.name!r:.40} is no logit, and {why}; give a token or a pair of them"
        )
    return metric.ids


def one_metric(
    metric: MetricLike | None, token: str | int | None, against: str | int | None
) -> MetricLike | None:
    """Return what is measured, given either as a metric or as a token and what it is compared with."""
    if metric is None:
        return token if against is None else (token, against)
    if token is None and against is None:
        return metric
    raise UserError(f"metric={metric!r:.40} was given beside token= or against=; give one of the two")


def difference(logits: Tensor, ids: Sequence[int]) -> Tensor:
    """Return the logit [...] of one id, or of the first minus that of the second, of logits [..., vocab]."""
    picked = logits[..., torch.tensor(list(ids))]  # [..., 1 or 2]
    return picked[..., 0] if len(ids) == 1 else picked[..., 0] - picked[..., 1]


def as_number(value: Any) -> float:
    """Return what a metric gave as a number, or raise a UserError that says what it gave."""
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        shape = f" of shape {list(value.shape)}" if hasattr(value, "shape") else ""
        raise UserError(
            f"the metric gave a {type(value).__name__}{shape}, but one number was expected; index it or "
            "take a mean"
        ) from error
    if not np.isfinite(number):
        raise UserError(f"the metric gave {number}, but a finite number was expected")
    return number


def logits_in(model: Any, output: Any) -> Tensor:
    """Return the logits of what a model returned.

    Returns:
        [row, position, vocab], or of a classifier [row, 1, class].

    Raises:
        UserError: if there are none.
    """
    logits = logits_of_output(output)
    if logits is None or logits.ndim not in (2, 3):
        raise UserError(
            f"{type(model).__name__} returns no logits [batch, position, vocab] or [batch, class]; load it "
            "with its head (AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM, "
            "AutoModelForImageClassification …), or give a module of yours whose forward returns them"
        )
    return logits if logits.ndim == 3 else logits[:, None]  # [row, 1, class]


def logits_of_output(output: Any) -> Tensor | None:
    """Return the logits of what a model returned, as it returned them; None if there are none."""
    logits = output if isinstance(output, Tensor) else getattr(output, "logits", None)
    return logits if isinstance(logits, Tensor) else None
