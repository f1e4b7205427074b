"""Exercises 9.5 and 9.6: arguments and ids that land where they belong."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from viz_transformer.exercises.kinds import Exercise, Function, Mistake, Own
from viz_transformer.exercises.verdict import Check

_WANTED: dict[str, Any] = {
    "d_model": 256,
    "nhead": 4,
    "num_encoder_layers": 3,
    "num_decoder_layers": 3,
    "dim_feedforward": 1024,
    "dropout": 0.2,
    "batch_first": True,
}
_MEANINGS = {
    "d_model": "the width of the vectors",
    "nhead": "the number of heads",
    "num_encoder_layers": "the number of encoder layers",
    "num_decoder_layers": "the number of decoder layers",
    "dim_feedforward": "the inner width of the feed-forward networks",
    "dropout": "the dropout",
    "batch_first": "whether the first axis counts the sentences",
}


def _without(name: str) -> dict[str, Any]:
    return {each: value for each, value in _WANTED.items() if each != name}


def _judge_arguments(answer: Any) -> Check:
    from torch import nn

    if not isinstance(answer, Mapping) or not answer:
        return Check(False, 'Give a dict with names, such as {"d_model": 256, …}.')
    known = inspect.signature(nn.Transformer).parameters
    for name in answer:
        if name not in known:
            return Check(
                False,
                f"torch.nn.Transformer has no argument {name!r}. Its names are those that the cell "
                "above printed, and batch_first.",
            )
    for name, wanted in _WANTED.items():
        given = answer.get(name, known[name].default)
        same_kind = isinstance(given, int | float) and isinstance(given, bool) == (wanted is True)
        if not same_kind or given != wanted:
            return Check(False, _wrong_argument(name, given, name in answer))
    return Check(True, "By name, each number lands where it belongs, in whatever order.")


def _wrong_argument(name: str, given: Any, was_given: bool) -> str:
    if name == "batch_first":
        return (
            "batch_first is False, torch's default: the first axis would count positions, and "
            "words of different sentences would look at each other. Our batches have the sentence "
            "first."
        )
    if was_given:
        return f"{name} is {_MEANINGS[name]}, and you set it to {given!r}: see what is asked for."
    return f"{name} is left out, so {_MEANINGS[name]} is torch's own choice, {given!r}."


_WRONG_ARGUMENTS = (
    Mistake(
        {**_WANTED, "num_encoder_layers": 1024, "dim_feedforward": 3},
        "num_encoder_layers is the number of encoder layers, and you set it to 1024: see what is asked for.",
    ),
    Mistake(
        _without("batch_first"),
        "batch_first is False, torch's default: the first axis would count positions, and words "
        "of different sentences would look at each other. Our batches have the sentence first.",
    ),
    Mistake(
        _without("num_decoder_layers"),
        "num_decoder_layers is left out, so the number of decoder layers is torch's own choice, 6.",
    ),
    Mistake(
        _without("dim_feedforward"),
        "dim_feedforward is left out, so the inner width of the feed-forward networks is torch's "
        "own choice, 2048.",
    ),
    Mistake(
        _without("dropout"),
        "dropout is left out, so the dropout is torch's own choice, 0.1.",
    ),
    Mistake(
        {**_without("nhead"), "n_heads": 4},
        "torch.nn.Transformer has no argument 'n_heads'. Its names are those that the cell above "
        "printed, and batch_first.",
    ),
    Mistake(
        {**_WANTED, "nhead": 256},
        "nhead is the number of heads, and you set it to 256: see what is asked for.",
    ),
)


def _model_and_ids(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Draw a tiny model and a batch of two padded sentences, source and target equally long."""
    import torch

    from viz_transformer.config import ModelConfig
    from viz_transformer.training import make_model

    config = ModelConfig(
        vocab_size=12,
        d_model=8,
        n_heads=2,
        n_encoder_layers=1,
        n_decoder_layers=1,
        d_ff=12,
        max_length=8,
    )
    model = make_model(config, int(rng.integers(1000))).eval().requires_grad_(False)
    source, target = (torch.tensor(rng.integers(3, 12, size=(2, 5))) for _ in range(2))
    target[:, 0] = 1
    source[1, 3:], target[0, 4:] = config.pad_id, config.pad_id
    return model, source, target


def _wired(model: Any, source_ids: Any, target_ids: Any) -> Any:
    memory = model.encode(source_ids)
    return model.decode(target_ids, memory, model.padding_mask(source_ids))


def _source_as_target(model: Any, source_ids: Any, target_ids: Any) -> Any:
    memory = model.encode(source_ids)
    return model.decode(source_ids, memory, model.padding_mask(source_ids))


def _target_mask(model: Any, source_ids: Any, target_ids: Any) -> Any:
    memory = model.encode(source_ids)
    return model.decode(target_ids, memory, model.padding_mask(target_ids))


def _target_encoded(model: Any, source_ids: Any, target_ids: Any) -> Any:
    memory = model.encode(target_ids)
    return model.decode(target_ids, memory, model.padding_mask(target_ids))


def _the_wrong_way_round(model: Any, source_ids: Any, target_ids: Any) -> Any:
    memory = model.encode(target_ids)
    return model.decode(source_ids, memory, model.padding_mask(target_ids))


def _words_alone(model: Any, source_ids: Any, target_ids: Any) -> Any:
    memory = model.embed_source(source_ids)
    return model.decode(target_ids, memory, model.padding_mask(source_ids))


def _padding_seen(model: Any, source_ids: Any, target_ids: Any) -> Any:
    import torch

    mask = model.padding_mask(source_ids)
    return model.decode(target_ids, model.encode(source_ids), torch.ones_like(mask))


WIRING = (
    Exercise(
        "9.5",
        "Arguments by name",
        Own(
            _judge_arguments,
            _WANTED,
            _WRONG_ARGUMENTS,
        ),
        (
            "The names: d_model, nhead, num_encoder_layers, num_decoder_layers, dim_feedforward, "
            "dropout, batch_first.",
            "3 layers in each stack are two arguments. Sentence first is batch_first=True.",
        ),
    ),
    Exercise(
        "9.6",
        "Which ids go where",
        Function(
            _wired,
            _model_and_ids,
            (
                Mistake(
                    _source_as_target,
                    "The decoder reads source_ids: it is given the English sentence in place of "
                    "the Spanish words written so far. It runs, and never reads Spanish.",
                ),
                Mistake(
                    _target_mask,
                    "The mask is made of target_ids. It says which words of the memory are real, "
                    "and the memory comes from the source.",
                ),
                Mistake(
                    _target_encoded,
                    "The encoder reads target_ids, so the model is shown the very words that it is "
                    "to write, those to come among them.",
                ),
                Mistake(
                    _the_wrong_way_round,
                    "Source and target have changed places: this translates Spanish to English.",
                ),
                Mistake(
                    _words_alone,
                    "The memory is what the encoder makes of the words, not their embeddings.",
                ),
                Mistake(
                    _padding_seen,
                    "Every position of the memory may be looked at, padding too. Which function of "
                    "the model tells real words from padding?",
                ),
            ),
            right="These three lines are the whole of an encoder–decoder seen from above.",
        ),
        (
            "The encoder reads the source, once: model.encode.",
            "The decoder is given three things: what was written, the memory, and which words of "
            "the memory are real.",
        ),
    ),
)
