"""The public functions that take text, arrays or tokens."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np
import torch

import viz_transformer as vt
from tests.support.fuzz.campaign import Drawn
from tests.support.fuzz.values import TEXTS, any_value, array_value, json_value
from tests.support.hand_made_traces import make_trace
from tests.support.hand_made_trainings import make_training
from viz_transformer import trace as traces
from viz_transformer.corpus import gap_words, is_spanish, translations
from viz_transformer.vocabulary import split_sentences, tokenize

_SENTENCE = "the black cat sleeps"


@cache
def _text_functions() -> dict[str, Callable[[Any], Any]]:
    translator, writer, masked = vt.load_translator(), vt.load_language_model(), vt.load_masked_model()
    named = {
        "translator": (translator, "translate trace decode sample encode log_probs answer answers"),
        "language model": (writer, "trace log_probs next_words complete decode sample sample_texts answer"),
        "masked model": (masked, "trace log_probs fill answer answers"),
        "vocabulary": (translator.vocabulary, "encode words_of source_ids target_ids ids_of nearest"),
    }
    plain = (
        translations,
        gap_words,
        is_spanish,
        tokenize,
        split_sentences,
        vt.load_translator,
        vt.load_training,
    )
    options = ("temperature", "top_p", "top_k", "seed")
    views = ("head_lab", "attention_stepper", "beam_stepper", "translation_lab", "studio")
    return {
        **{
            f"{name}.{each}": getattr(one, each)
            for name, (one, all_) in named.items()
            for each in all_.split()
        },
        **{each.__name__: each for each in plain},
        **{name: lambda value, n=name: translator.sample(_SENTENCE, **{n: value}) for name in options},
        **{name: lambda text, n=name: getattr(vt, n)(translator, text) for name in views},
        "mask_lab": lambda text: vt.mask_lab(translator, [text, _SENTENCE]),
        "translator.trace(target)": lambda text: translator.trace(_SENTENCE, text),
        "translator.judge": lambda text: translator.judge(_SENTENCE, text),
        "beam_width": lambda value: translator.translate(_SENTENCE, beam_width=_small(value)),
        "length_penalty": lambda value: translator.translate(_SENTENCE, length_penalty=value),
        "interventions": lambda value: translator.trace(_SENTENCE, interventions=value),
    }


def _small(value: Any) -> Any:
    """A beam of a million places is slow by right."""
    return value if not isinstance(value, int) or value < 100 else 9


def text(rng: Random) -> Drawn:
    """Draw a function that takes text, and something that is no text, or a strange one."""
    name = rng.choice(list(_text_functions()))
    value = rng.choice(
        [*[lambda: rng.choice(TEXTS)] * 4, *[lambda: json_value(rng), lambda: any_value(rng)] * 3]
    )()
    return f"{name}({shown(value)})", lambda: _text_functions()[name](value)


@cache
def _records() -> tuple[Any, ...]:
    decoded = vt.load_translator().decode(_SENTENCE, attention=True)
    parts = (decoded.steps[0], decoded.hypotheses[0], vt.thinking_machines().steps)
    return (make_trace(), decoded, make_training(), *parts)


def constructor(rng: Random) -> Drawn:
    """Draw a trace made by hand, with a field or two of something else, and look at it."""
    record = rng.choice(_records())
    fields = {name: getattr(record, name) for name in record.__dataclass_fields__}
    changed = rng.sample(sorted(fields), k=min(len(fields), rng.choice([1, 1, 2])))
    for name in changed:
        fields[name] = _value_for(rng, fields[name])
    told = ", ".join(f"{name}={shown(fields[name])}" for name in changed)
    return f"{type(record).__name__}({told})", lambda: look_at(_whole(type(record)(**fields)))


def _value_for(rng: Random, value: Any) -> Any:
    if isinstance(value, np.ndarray) and rng.random() < 0.4:
        makers = (
            lambda: torch.tensor(value, requires_grad=value.dtype.kind == "f"),
            lambda: torch.tensor(value, dtype=torch.bfloat16),
            lambda: value.tolist(),
            lambda: value.astype(object),
            lambda: value[..., ::-1],
            lambda: value.astype("f8") * rng.choice([1, 1e300, np.nan]),
            lambda: value[None],
        )
        return rng.choice(makers)()
    return array_value(rng) if rng.random() < 0.4 else any_value(rng)


def _whole(record: Any) -> Any:
    """Put a part of a search into one, where it is checked."""
    decoded = _records()[1]
    source, hypotheses, steps = decoded.source_tokens, decoded.hypotheses, decoded.steps
    if isinstance(record, traces.DecodeStep):
        steps = (record, *steps[1:])
    elif isinstance(record, traces.Hypothesis):
        hypotheses = (record,)
    else:
        return record
    return vt.DecodeTrace(source_tokens=source, hypotheses=hypotheses, steps=steps)


def look_at(record: Any) -> None:
    """Show a trace in its view, and describe it."""
    if isinstance(record, vt.ForwardTrace):
        repr(record)
        record._repr_html_()
        if not record.kinds or max(record.attention(kind).size for kind in record.kinds) > 10**6:
            return
        view = vt.explore(record)
    elif isinstance(record, vt.DecodeTrace):
        view = vt.BeamStepper(record)
        if record.steps[0].decoder_attention is not None:
            record.forward_trace()
    elif isinstance(record, traces.TrainingTrace):
        view = vt.watch_training(record)
    else:
        return
    view.alt_text()


def shown(value: Any) -> str:
    """Return a value in a few words, also a hostile one."""
    try:
        return f"{type(value).__name__} {reprlib.repr(value)[:50]}"
    except BaseException:
        return type(value).__name__
