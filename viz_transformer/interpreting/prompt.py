"""A prompt as a model reads it: a text, a picture or a sound, and what its decoder has written so far."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.capturing.arguments import TokenLabels, encode, labels_of_ids
from viz_transformer.capturing.generating import most_written, write
from viz_transformer.capturing.huggingface import OUTPUT_ARGUMENTS, used_by
from viz_transformer.capturing.inputs import AXES, as_ids, as_input, device_of, forward_parameters
from viz_transformer.capturing.running import evaluating, within_sizes
from viz_transformer.errors import UserError
from viz_transformer.interpreting.heads import rewritten
from viz_transformer.interpreting.metric import (
    Classes,
    Metric,
    MetricLike,
    class_names,
    logits_in,
    logits_of_output,
    read_metric,
    token_names,
)
from viz_transformer.interpreting.sites import find_sites
from viz_transformer.vocabulary import Tokeniser

#: What may be given as a prompt: a text, its token ids, or a model's inputs by name.
PromptLike = str | Sequence[int] | Tensor | Mapping[str, Any]
#: At most so many tokens of a target are written.
_MOST_WRITTEN = 60


@dataclass(frozen=True, eq=False)
class Prompt:
    """One prompt.

    Attributes:
        ids: its token ids, [1, position]; of an encoder–decoder, those that the decoder reads; None of a
            picture or a sound.
        labels: its tokens, with the numbers of their words where those are known; a picture's or a
            sound's positions are numbered.
        source: what the encoder of an encoder–decoder reads; else None.
        gap: the position of the one gap that a masked model must fill; else None.
        features: a picture or a sound, each input [1, ...] by its name.
        namer: what names the model's scores: the tokenizer, `Classes`, or None.
        writes: whether logits score the next token, and not the one at their own position.
    """

    ids: Tensor | None
    labels: TokenLabels
    source: Prompt | None = None
    gap: int | None = None
    features: Mapping[str, Any] = field(default_factory=dict)
    namer: Any = None
    writes: bool = True

    def side(self, name: str) -> Prompt:
        """Return what the ``"source"`` or the ``"target"`` side of a model reads."""
        return self.source if name == "source" and self.source is not None else self

    @property
    def tokens(self) -> tuple[str, ...]:
        """Its tokens, [position]."""
        return self.labels.tokens

    @property
    def is_classified(self) -> bool:
        """Whether the model scores the whole of it, and not each position."""
        return isinstance(self.namer, Classes)

    def index_of(self, position: int | None) -> int:
        """Return where logits are, counted from 0; −1 is the last, and None the gap or else the last.

        Raises:
            UserError: if the prompt has no such position.
        """
        if self.is_classified:
            if position is not None:
                raise UserError(
                    f"position={position}, but a classifier scores what it reads as a whole; leave it out"
                )
            return 0
        length = len(self.tokens)
        if position is None:
            return length - 1 if self.gap is None else self.gap
        if not isinstance(position, int) or not -length <= position < length:
            raise UserError(
                f"position={position!r:.40}, but the prompt has {length} tokens; choose 0 to {length - 1}, "
                "or −1 for the last"
            )
        return position % length

    def metric(self, metric: MetricLike | None, logits: Tensor, place: int) -> Metric:
        """Return a metric of logits [position, vocab], of which those at a place are measured."""
        ids = None if self.ids is None else self.ids[0].tolist()
        return read_metric(metric, logits, namer=self.namer, place=place, ids=ids, writes=self.writes)


def read_prompt(
    model: nn.Module,
    prompt: PromptLike | None,
    tokenizer: Any,
    target: PromptLike | None = None,
    *,
    named: Mapping[str, Any] | None = None,
    writes: bool = True,
) -> Prompt:
    """Turn a text, ids, a picture or a sound into a prompt.

    Args:
        model: the model, for the device of the ids, and because an encoder–decoder reads two texts.
        prompt: a text, token ids [position] or [1, position], or inputs by name, as a processor returns.
        tokenizer: Hugging Face's, or a vocabulary of ours, which puts ``<sos>`` before the text of a
            decoder; without one, tokens are named by their ids.
        target: what the decoder of an encoder–decoder reads: the text that it has written so far, or
            ids, the start's among them.
        named: inputs by name, in place of the prompt.
        writes: without a target, True lets the model write one, greedily; False gives the start alone.

    Raises:
        UserError: if a text has no tokenizer, there is not exactly one prompt, or a target is missing
            or does not belong here.
    """
    if hasattr(model, "get_text_features"):
        raise UserError(
            f"{type(model).__name__} joins two models, and an attribution reads one; give that: "
            "model.text_model, model.vision_model, or a classifier made of it, such as "
            "AutoModelForImageClassification loads"
        )
    kinds = {site.kind for site in find_sites(model)}
    given = _one_of(model, prompt, named or {})
    if "cross" in kinds:
        source = _read(model, given, tokenizer, "source")
        return replace(_read_target(model, source, target, tokenizer, writes), source=source, namer=tokenizer)
    if target is not None:
        raise UserError(
            f"{type(model).__name__} reads one text, and target= is what the decoder of an encoder–decoder "
            "reads; leave it out"
        )
    read = _read(model, given, tokenizer, "target")
    return replace(read, namer=_classes_of(model, read, kinds) or tokenizer, writes="decoder" in kinds)


def _one_of(model: nn.Module, prompt: PromptLike | None, named: Mapping[str, Any]) -> Any:
    """Return what was given, by position or by name."""
    main = getattr(model, "main_input_name", "input_ids")
    if isinstance(prompt, Mapping):
        named, prompt = {**prompt, **named}, None
    if prompt is not None and named:
        raise UserError(
            f"a prompt was given and {[*named]} by name; give one of the two"
            if set(named) & {main, "input_ids"}
            else f"{[*named]} was given beside the prompt, and neither attribution nor a text has "
            "it; leave it out"
        )
    if prompt is None and not named:
        raise UserError(
            f"no input was given for {type(model).__name__} to read; give a text and tokenizer=, "
            f"token ids, or {main}="
        )
    if prompt is None or main == "input_ids" or "input_ids" in forward_parameters(model):
        return named or prompt
    if isinstance(prompt, Tensor) and prompt.is_floating_point():
        return {main: prompt}
    raise UserError(
        f"{type(model).__name__} reads {main}=, and a {type(prompt).__name__} was given; give what its "
        f'processor returns: {main}=processor(..., return_tensors="pt").{main}'
    )


def _read(model: nn.Module, prompt: Any, tokenizer: Any, side: str) -> Prompt:
    if isinstance(prompt, Mapping) and "input_ids" in prompt:
        prompt = _only_ids(prompt)
    if isinstance(prompt, Mapping):
        features = _as_features(model, prompt)
        numbers = tuple(map(str, range(_n_positions(model, features))))
        return Prompt(None, TokenLabels(tokens=numbers), features=features)
    encoding = None
    if not isinstance(prompt, str):
        given: Any = prompt
    elif isinstance(tokenizer, Tokeniser):
        given = tokenizer.source_ids(prompt) if side == "source" else tokenizer.target_ids(prompt)[:-1]
    elif tokenizer is not None:
        encoding = encode(tokenizer, prompt)
        given = encoding["input_ids"]
    else:
        raise _no_tokenizer(prompt)
    ids = as_ids(model, given)  # [1, position]
    if ids.ndim != 2 or len(ids) != 1 or not ids.shape[1] or ids.is_floating_point():
        raise UserError(
            f"the prompt has the shape {list(ids.shape)}; give one text, or the token ids of one, with at "
            "least one token"
        )
    found: list[int] = ids[0].tolist()
    mask = getattr(tokenizer, "mask_token_id", getattr(tokenizer, "mask_id", None))
    gaps = [i for i, each in enumerate(found) if each == mask]
    gap = gaps[0] if len(gaps) == 1 else None
    if tokenizer is None or isinstance(tokenizer, Tokeniser):
        numbers_of_words = None if tokenizer is None else tokenizer.word_numbers(found)
        labels = TokenLabels(tokens=token_names(tokenizer, found), words=numbers_of_words)
    else:
        labels = labels_of_ids(tokenizer, found, encoding)
    return Prompt(ids, labels, gap=gap)


def _only_ids(named: Mapping[str, Any]) -> Any:
    """Return the ids of what a tokenizer returned, if nothing beside them changes what is read."""
    plain = {"attention_mask": 1, "token_type_ids": 0}
    for name, value in named.items():
        if name != "input_ids" and not (name in plain and (torch.as_tensor(value) == plain[name]).all()):
            raise UserError(
                f"{name}= was given beside input_ids=, and an attribution reads one whole text; give its ids "
                "alone, without padding"
            )
    return named["input_ids"]


def _as_features(model: nn.Module, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return one picture or sound as a model's forward takes it; the axis of the batch may be missing."""
    read = used_by(model) if hasattr(model, "config") else frozenset(forward_parameters(model))
    names = sorted(read - OUTPUT_ARGUMENTS - {"labels", "args", "kwargs", "use_cache"})
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.8)
            raise UserError(
                f"{type(model).__name__} does not read {name}=; "
                + (f"did you mean {near[0]}=?" if near else f"its forward takes {names!s:.200}")
            )
    return {name: _as_feature(model, name, value) for name, value in given.items() if value is not None}


def _as_feature(model: nn.Module, name: str, value: Any) -> Any:
    """Return an input [1, ...]; what is no array, such as a flag, as it is."""
    try:
        given = as_input(name, value, device_of(model))
    except (TypeError, ValueError):  # such as rows of different lengths
        given = None
    if given is None or (name in AXES and not isinstance(given, Tensor)):
        raise UserError(
            f"{name}={value!r:.40} is no array of numbers; give what the model's processor returns: "
            'processor(..., return_tensors="pt")'
        )
    if isinstance(given, Tensor) and given.ndim > 1 and len(given) != 1:
        raise UserError(
            f"{name} has the shape {list(given.shape)}, a batch of {len(given)}; give one: {name}[:1]"
        )
    return given


def _n_positions(model: Any, features: Mapping[str, Any]) -> int:
    """Return how many positions a model makes of a picture or a sound."""
    sites = find_sites(model)
    first = next((site for site in sites if site.kind == "encoder"), sites[0])
    lengths: list[int] = []

    def measure(heads: Tensor) -> Tensor:
        lengths.append(heads.shape[1])
        return heads

    has_decoder = any(site.kind == "cross" for site in sites)
    with rewritten([(first, measure)]), evaluating(model):
        (model.get_encoder() if has_decoder else model)(**features)
    if not lengths:
        raise UserError(
            f"the attention of {type(model).__name__} does not read {[*features]}; give the part that does, "
            "such as model.vision_model"
        )
    return lengths[0]


def _classes_of(model: nn.Module, prompt: Prompt, kinds: set[str]) -> Classes | None:
    """Return the classes that a model scores; None if it scores each position, or nothing."""
    if "decoder" in kinds and not type(model).__name__.endswith("ForSequenceClassification"):
        return None
    with evaluating(model):
        logits = logits_of_output(run_whole(model, prompt))
    return class_names(model, logits.shape[1]) if logits is not None and logits.ndim == 2 else None


def _read_target(
    model: nn.Module, source: Prompt, target: PromptLike | None, tokenizer: Any, writes: bool
) -> Prompt:
    """Return what a decoder reads."""
    if target is not None and (not isinstance(target, str) or isinstance(tokenizer, Tokeniser)):
        return _read(model, target, tokenizer, "target")
    settings = getattr(model, "generation_config", None) or getattr(model, "config", None)
    start = getattr(settings, "decoder_start_token_id", None)
    start = getattr(settings, "bos_token_id", None) if start is None else start
    if isinstance(tokenizer, Tokeniser):
        start = tokenizer.sos_id
    if start is None or (target is None and writes and not hasattr(model, "generate")):
        raise UserError(
            f"the decoder of {type(model).__name__} reads a text of its own; give target=, the words that it "
            "has written so far, or their ids"
        )
    if isinstance(target, str):
        if tokenizer is None:
            raise _no_tokenizer(target)
        prefix = getattr(tokenizer, "prefix_tokens", None)  # Whisper's adds a language and a task
        has_prefix = isinstance(prefix, list | tuple) and prefix[:1] == [start]
        words = tokenizer(text_target=target, add_special_tokens=False)["input_ids"]
        ids = [*(prefix or ()), *words] if has_prefix else [start, *words]
    elif writes and tokenizer is None:
        raise UserError(
            f"{type(model).__name__} writes its answer itself, and without tokenizer= its tokens "
            "have no names; give tokenizer=, or target=, the ids that it has written so far"
        )
    elif writes:
        read = source.features or {"input_ids": source.ids}
        ids = write(model, read, tokenizer, most_written(model.config, _MOST_WRITTEN), True)[:-1]
    else:
        ids = [start]
    return _read(model, ids, tokenizer, "target")


def _no_tokenizer(text: str) -> UserError:
    return UserError(f"the text {text!r:.40} came without a tokenizer; give tokenizer=, or token ids")


def run(model: nn.Module, prompt: Prompt, n_rows: int = 1) -> Tensor:
    """Return a model's logits for a batch of equal rows, as `logits_in`."""
    return logits_in(model, run_whole(model, prompt, n_rows))


def run_whole(model: Any, prompt: Prompt, n_rows: int = 1) -> Any:
    """Return what a model, or its forward, makes of a batch of equal rows.

    Raises:
        UserError: if the prompt holds unknown ids, or more than the model has positions for.
    """

    def rows(value: Any) -> Any:
        """Repeat an input [1, ...] as [row, ...]; a flag stays as it is."""
        is_input = isinstance(value, Tensor) and value.ndim > 1
        return value.expand(n_rows, *value.shape[1:]) if is_input else value

    source, ids = prompt.source, rows(prompt.ids)  # [row, position]
    features = {name: rows(value) for name, value in (source or prompt).features.items()}
    with within_sizes(model, prompt.ids, prompt.side("source").ids):
        if source is None:
            return model(**features) if features else model(ids)
        if features:
            return model(**features, decoder_input_ids=ids)
        read = rows(source.ids)  # [row, source position]
        if hasattr(getattr(model, "config", None), "is_encoder_decoder"):
            return model(input_ids=read, decoder_input_ids=ids)
        return model(read, ids)
