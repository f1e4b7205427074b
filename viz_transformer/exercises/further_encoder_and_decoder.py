"""Exercises of *Going further*, Encoder and decoder: cross-attention, parameter counts, connections."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import (
    Array,
    Choice,
    CustomCheck,
    Exercise,
    Function,
    Mistake,
    Number,
)
from viz_transformer.exercises.feedback import Check

# -- 1 and 2: the shapes of cross-attention, and who asks whom in it ---------------------------

_D_MODEL, _D_HEAD = 8, 4


def _two_sentences(rng: np.random.Generator) -> tuple[Any, ...]:
    """Draw the decoder's vectors x, the encoder's memory, and the matrices of one head."""
    import torch

    n_target, n_source = (int(n) for n in rng.integers(2, 6, size=2))
    shapes = [(n_target, _D_MODEL), (n_source, _D_MODEL), *[(_D_MODEL, _D_HEAD)] * 3]
    return tuple(torch.tensor(rng.normal(size=shape), dtype=torch.float32) for shape in shapes)


def _attention(query: Any, key: Any, value: Any, scale: float = _D_HEAD**-0.5, axis: int = -1) -> Any:
    return (query @ key.T * scale).softmax(axis) @ value


def _cross_attention(x: Any, memory: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    return _attention(x @ w_q, memory @ w_k, memory @ w_v)


def _looking(query: str, key: str, value: str, **rest: Any) -> Callable[..., Any]:
    """An attention whose query, key and value come from ``"x"`` or ``"memory"``."""

    def head(x: Any, memory: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
        of = {"x": x, "memory": memory}
        return _attention(of[query] @ w_q, of[key] @ w_k, of[value] @ w_v, **rest)

    return head


_FROM_X = Choice("x", ("x", "memory"), (Mistake("memory", "The queries come from the decoder, x."),))
_FROM_MEMORY = Choice(
    "memory", ("x", "memory"), (Mistake("x", "Keys and values come from the encoder, the memory."),)
)
_CROSS_ATTENTION = (
    Exercise(
        "encoder_and_decoder.1",
        "Name the shape of cross-attention's keys",
        Array(
            [1, 4, 7, 16],
            (
                Mistake(
                    [1, 4, 3, 16],
                    "That is the shape of the queries, which come from the 3 written tokens. Where do "
                    "the keys come from?",
                ),
                Mistake(
                    [1, 7, 4, 16],
                    "These are the right numbers, but positions and heads are swapped. The axes are "
                    "[sentence, head, position, width of a head].",
                ),
                Mistake(
                    [1, 4, 7, 64],
                    "Here each head is as wide as the whole vector. The 4 heads share its 64 numbers.",
                ),
                Mistake([1, 7, 64], "That is the memory itself, before it is split into heads."),
                Mistake(
                    [1, 4, 3, 7],
                    "That is the shape of the weights: a row for each query, a column for each key. The "
                    "keys themselves are vectors.",
                ),
                Mistake(
                    [1, 4, 16, 7],
                    "Those are the keys transposed, as the scores need them. Before that, positions come "
                    "before the width of a head.",
                ),
                Mistake(
                    [4, 7, 16],
                    "Nearly. The first axis counts the sentences, and it is there even if there is only one.",
                ),
            ),
            right="One key for each token that was read, in each head.",
        ),
        (
            "Set the view to these sizes, as nearly as you can, and read the box of cross-attention.",
            "The keys come from the memory, which has 7 vectors of 64 numbers, and 4 heads share them.",
        ),
    ),
    Exercise(
        "encoder_and_decoder.2",
        "Write one head of cross-attention",
        Function(
            _cross_attention,
            _two_sentences,
            (
                Mistake(
                    _looking("memory", "x", "x"),
                    "You exchanged the two: here the queries come from the source, and keys and values "
                    "from the target. The decoder reads the source, so the queries must come from the "
                    "target.",
                ),
                Mistake(
                    _looking("x", "x", "x"),
                    "Queries, keys and values all come from x, so this is self-attention. The decoder "
                    "never reads the English sentence. Where should keys and values come from?",
                ),
                Mistake(
                    _looking("memory", "memory", "memory"),
                    "Queries, keys and values all come from the memory. x isn't used, so the output does "
                    "not depend on the words so far.",
                ),
                Mistake(
                    _looking("x", "memory", "x"),
                    "The keys are right, but the values come from x. A key and its value must come from "
                    "the same vector.",
                ),
                Mistake(
                    _looking("x", "x", "memory"),
                    "The values are right, but the keys come from x: the weights are computed for Spanish "
                    "tokens, but the values belong to English ones.",
                ),
                Mistake(
                    _looking("x", "x", "x", scale=1.0),
                    "Two things are missing: keys and values should come from the memory, and the scores "
                    "should be divided by √d_k.",
                ),
                Mistake(
                    lambda x, memory, w_q, w_k, w_v: _cross_attention(x, memory, w_q, w_v, w_k),
                    "w_k and w_v are swapped: w_k makes the keys, which are compared with the query, and "
                    "w_v the values, which are mixed.",
                ),
                Mistake(
                    lambda x, memory, w_q, w_k, w_v: _cross_attention(x, memory, w_k, w_q, w_v),
                    "w_q and w_k are swapped: w_q belongs to x, and w_k to the memory.",
                ),
                Mistake(
                    _looking("x", "memory", "memory", scale=1.0),
                    "All inputs are right, but the scores aren't divided by √d_k.",
                ),
                Mistake(
                    _looking("x", "memory", "memory", scale=1 / _D_HEAD),
                    "All inputs are right, but you divided the scores by d_k. Divide by its square root.",
                ),
                Mistake(
                    lambda x, memory, w_q, w_k, w_v: (
                        (x @ w_q) @ (memory @ w_k).T * _D_HEAD**-0.5 @ (memory @ w_v)
                    ),
                    "The softmax is missing: the scores have to become weights before the values are mixed.",
                ),
                Mistake(
                    lambda x, memory, w_q, w_k, w_v: ((x @ w_q) @ (memory @ w_k).T * _D_HEAD**-0.5).softmax(
                        -1
                    ),
                    "These are the weights, [target, source]. The last step is missing: mix the values "
                    "with them.",
                ),
                Mistake(
                    _looking("x", "memory", "memory", scale=_D_MODEL**-0.5),
                    "All inputs are right, but d_k is the width of a key in this head, key.shape[-1], not "
                    "the width of the whole vector.",
                ),
                Mistake(
                    _looking("x", "memory", "memory", axis=0),
                    "All inputs are right, but the softmax runs along the queries. The weights of each "
                    "query must sum to 1: softmax(-1).",
                ),
            ),
            right="The queries come from the decoder, and the keys and values from the encoder's output.",
        ),
        (
            "Start with three products: x @ w_q, and two with the memory.",
            "The scores are query @ key.T, divided by the root of key.shape[-1]. Then take softmax(-1).",
        ),
        lines="""def cross_attention(x, memory, w_q, w_k, w_v):
    query, key, value = ___ @ w_q, ___ @ w_k, ___ @ w_v
    weights = (query @ key.T / query.shape[1] ** 0.5).softmax(-1)
    return ___
""",
        gaps=(
            _FROM_X,
            _FROM_MEMORY,
            _FROM_MEMORY,
            Choice(
                "weights @ value",
                ("weights @ value", "weights @ memory", "weights"),
                (
                    Mistake("weights @ memory", "Mix the values, which are memory @ w_v."),
                    Mistake("weights", "Multiply the weights by the values."),
                ),
            ),
        ),
    ),
)

# -- 3 and 4: how many parameters a layer has, and how many the whole model --------------------

_LARGE_D_MODEL, _LARGE_D_FF = 512, 2048
_EXACT = 1e-9


def _feed_forward(d_model: int, d_ff: int, biases: bool = True) -> int:
    return 2 * d_model * d_ff + (d_ff + d_model if biases else 0)


def _encoder_layer(
    *, matrices: int = 4, n_norms: int = 2, biases: bool = True, d_model: int = _LARGE_D_MODEL
) -> int:
    attention = matrices * d_model * d_model
    return attention + _feed_forward(d_model, _LARGE_D_FF, biases) + n_norms * 2 * d_model


def _count_parameters(
    vocab_size: int,
    d_model: int,
    d_ff: int,
    n_layers: int,
    *,
    n_attentions: int = 2,
    n_norms: int = 3,
    vocabularies: int = 1,
    extra_norms: int = 0,
    biases: bool = True,
    in_encoder: int = 1,
) -> int:
    attention, norm = 4 * d_model * d_model, 2 * d_model
    feed_forward = _feed_forward(d_model, d_ff, biases)
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = n_attentions * attention + feed_forward + n_norms * norm
    return (
        vocabularies * vocab_size * d_model
        + n_layers * (in_encoder * encoder_layer + decoder_layer)
        + extra_norms * norm
    )


def _counting(**choices: Any) -> Callable[[int, int, int, int], int]:
    return partial(_count_parameters, **choices)


def _sizes(rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Draw the sizes of a small model."""
    d_model = int(rng.integers(2, 17)) * 4
    return int(rng.integers(20, 200)), d_model, int(rng.integers(8, 200)), int(rng.integers(2, 7))


_PARAMETER_COUNTS = (
    Exercise(
        "encoder_and_decoder.3",
        "Count one encoder layer of the large model",
        Number(
            _encoder_layer(),
            (
                Mistake(
                    _encoder_layer(matrices=3),
                    "Attention has a fourth matrix: W_O, which joins the heads.",
                ),
                Mistake(
                    _encoder_layer(matrices=32),
                    "You counted all four matrices once for each head. The heads share them: each one "
                    "uses 64 of the 512 columns.",
                ),
                Mistake(
                    _encoder_layer(biases=False),
                    "The biases of the feed-forward network are missing: 2048 after the first matrix, "
                    "and 512 after the second.",
                ),
                Mistake(
                    _encoder_layer(n_norms=0),
                    "The two LayerNorms are missing: a gain and a bias for each of the 512 numbers.",
                ),
                Mistake(
                    _encoder_layer(n_norms=1),
                    "1,024 are missing. There are two LayerNorms, and each has 512 gains and 512 biases.",
                ),
                Mistake(
                    _encoder_layer() + 4 * _LARGE_D_MODEL,
                    "You gave the attention biases. In this model it has none.",
                ),
                Mistake(
                    _encoder_layer(matrices=8, n_norms=3),
                    "That is a decoder layer, which has a second attention and a third norm.",
                ),
                Mistake(
                    _encoder_layer(matrices=1),
                    "Attention has four matrices: for queries, keys, values, and to join the heads.",
                ),
            ),
            tolerance=_EXACT,
            right="1,048,576 in attention, 2,099,712 in the feed-forward network, 2,048 in the norms.",
        ),
        (
            "Attention: four matrices of 512 × 512. Feed-forward: 512 × 2048, 2048 biases, "
            "2048 × 512, 512 biases.",
            "Each of the two norms has 512 gains and 512 biases.",
        ),
    ),
    Exercise(
        "encoder_and_decoder.4",
        "Count any encoder–decoder",
        Function(
            _count_parameters,
            _sizes,
            (
                Mistake(
                    _counting(n_attentions=1, n_norms=2),
                    "Your decoder layer is an encoder layer: cross-attention and its norm are missing.",
                ),
                Mistake(
                    _counting(n_norms=2),
                    "Your decoder layer has both attentions, but it needs three norms: one after each part.",
                ),
                Mistake(
                    _counting(n_attentions=1),
                    "Your decoder layer has three norms, but only one attention. It needs two.",
                ),
                Mistake(
                    _counting(vocabularies=2),
                    "You counted the embeddings twice. Source, target and output share one "
                    "matrix in this model.",
                ),
                Mistake(
                    _counting(vocabularies=3),
                    "You counted the embeddings three times. Source, target and output share "
                    "one matrix in this model.",
                ),
                Mistake(
                    _counting(vocabularies=0),
                    "The embeddings are missing: d_model parameters for each word.",
                ),
                Mistake(
                    _counting(biases=0),
                    "The biases of the feed-forward networks are missing.",
                ),
                Mistake(
                    _counting(extra_norms=2),
                    "You counted one norm too many in each stack. Here every norm belongs to a layer "
                    "(post-norm); a stack has none of its own.",
                ),
                Mistake(
                    _counting(in_encoder=0),
                    "The encoder is missing.",
                ),
                Mistake(
                    lambda vocab_size, d_model, d_ff, n_layers: _count_parameters(
                        vocab_size, d_model, d_ff, 1
                    ),
                    "You counted one layer in each stack. There are n_layers of them in each.",
                ),
                Mistake(
                    lambda vocab_size, d_model, d_ff, n_layers: (
                        n_layers * _count_parameters(vocab_size, d_model, d_ff, 1)
                    ),
                    "You multiplied the embeddings by n_layers too. They are there only once.",
                ),
            ),
            tolerance=_EXACT,
            right="count_parameters(35, 32, 64, 2) is 43,104, and count_parameters(35, 512, 2048, "
            "6) is 44,119,552.",
        ),
        (
            "Give attention, feed_forward and norm a line each. Then write down both kinds of layer.",
            "A decoder layer has two attentions, one feed-forward network and three norms. Try your "
            "function with 35, 32, 64, 2, and compare each step with the table.",
        ),
        lines="""def count_parameters(vocab_size, d_model, d_ff, n_layers):
    attention = ___
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = ___
    return ___ + n_layers * (encoder_layer + decoder_layer)
""",
        gaps=(
            Choice(
                "4 * d_model**2",
                ("3 * d_model**2", "4 * d_model**2", "4 * d_model * d_ff"),
                (
                    Mistake(
                        "3 * d_model**2",
                        "Queries, keys and values have three matrices, and the output has a fourth.",
                    ),
                    Mistake("4 * d_model * d_ff", "d_ff belongs to the feed-forward network."),
                ),
            ),
            Choice(
                "2 * attention + feed_forward + 3 * norm",
                (
                    "attention + feed_forward + 2 * norm",
                    "2 * attention + feed_forward + 2 * norm",
                    "2 * attention + feed_forward + 3 * norm",
                ),
                (
                    Mistake(
                        "attention + feed_forward + 2 * norm",
                        "That is an encoder layer. A decoder layer has cross-attention, too.",
                    ),
                    Mistake(
                        "2 * attention + feed_forward + 2 * norm",
                        "Each of the three parts is followed by a norm.",
                    ),
                ),
            ),
            Choice(
                "vocab_size * d_model",
                ("vocab_size * d_model", "3 * vocab_size * d_model", "vocab_size"),
                (
                    Mistake(
                        "3 * vocab_size * d_model",
                        "Source, target and output share one matrix. It is counted once.",
                    ),
                    Mistake("vocab_size", "Each token has a row of d_model numbers."),
                ),
            ),
        ),
    ),
)

# -- 5 and 6: arguments and ids that land where they belong ------------------------------------

#: What torch.nn.Transformer is to be given, and what each argument means.
_ARGUMENTS: dict[str, tuple[Any, str]] = {
    "d_model": (256, "the width of the vectors"),
    "nhead": (4, "the number of heads"),
    "num_encoder_layers": (3, "the number of encoder layers"),
    "num_decoder_layers": (3, "the number of decoder layers"),
    "dim_feedforward": (1024, "the inner width of the feed-forward networks"),
    "dropout": (0.2, "the dropout"),
    "batch_first": (True, "whether the first axis counts the sentences"),
}
_WANTED = {name: value for name, (value, _) in _ARGUMENTS.items()}
_MEANINGS = {name: meaning for name, (_, meaning) in _ARGUMENTS.items()}


def _without(name: str) -> dict[str, Any]:
    return {each: value for each, value in _WANTED.items() if each != name}


def _judge_arguments(answer: Any) -> Check:
    from torch import nn

    if not isinstance(answer, Mapping) or not answer:
        return Check(False, 'Give a dict of names and values, such as {"d_model": 256, …}.')
    known = inspect.signature(nn.Transformer).parameters
    for name in answer:
        if name not in known:
            return Check(
                False,
                f"nn.Transformer has no argument {name!r}. The cell above printed its first names, and "
                "another is batch_first.",
            )
    for name, wanted in _WANTED.items():
        given = answer.get(name, known[name].default)
        same_kind = isinstance(given, int | float) and isinstance(given, bool) == (wanted is True)
        if not same_kind or given != wanted:
            return Check(False, _wrong_argument(name, given, name in answer))
    return Check(True, "With names, each number becomes the right argument in any order.")


def _wrong_argument(name: str, given: Any, was_given: bool) -> str:
    if name == "batch_first":
        return (
            "batch_first is False, which is torch's default. The first axis would count positions, and "
            "tokens would attend to tokens of other sentences. Our batches have the sentence first."
        )
    if was_given:
        return f"{name} is {_MEANINGS[name]}. You set it to {given!r}; read the exercise again."
    return f"You left out {name}, so {_MEANINGS[name]} would be torch's default, {given!r}."


_WRONG_ARGUMENTS = (
    Mistake(
        {**_WANTED, "num_encoder_layers": 1024, "dim_feedforward": 3},
        "num_encoder_layers is the number of encoder layers. You set it to 1024; read the exercise again.",
    ),
    Mistake(
        _without("batch_first"),
        "batch_first is False, which is torch's default. The first axis would count positions, and "
        "tokens would attend to tokens of other sentences. Our batches have the sentence first.",
    ),
    Mistake(
        _without("num_decoder_layers"),
        "You left out num_decoder_layers, so the number of decoder layers would be torch's default, 6.",
    ),
    Mistake(
        _without("dim_feedforward"),
        "You left out dim_feedforward, so the inner width of the feed-forward networks would be torch's "
        "default, 2048.",
    ),
    Mistake(
        _without("dropout"),
        "You left out dropout, so the dropout would be torch's default, 0.1.",
    ),
    Mistake(
        {**_without("nhead"), "n_heads": 4},
        "nn.Transformer has no argument 'n_heads'. The cell above printed its first names, and another "
        "is batch_first.",
    ),
    Mistake(
        {**_WANTED, "nhead": 256},
        "nhead is the number of heads. You set it to 256; read the exercise again.",
    ),
)


def _model_and_ids(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Draw a tiny model and a batch of two padded sentences, source and target equally long."""
    import torch

    from viz_transformer.config import ModelConfig
    from viz_transformer.training import make_model

    config = ModelConfig(
        vocab_size=12, d_model=8, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, d_ff=12, max_length=8
    )
    model = make_model(config, int(rng.integers(1000))).eval().requires_grad_(False)
    source, target = (torch.tensor(rng.integers(3, 12, size=(2, 5))) for _ in range(2))
    target[:, 0] = 1
    source[1, 3:] = target[0, 4:] = 0  # <pad>
    return model, source, target


def _wired(model: Any, source_ids: Any, target_ids: Any) -> Any:
    memory = model.encode(source_ids)
    return model.decode(target_ids, memory, model.padding_mask(source_ids))


def _miswired(encoded: str, decoded: str, masked: str) -> Callable[..., Any]:
    """A function that encodes, decodes and masks the ids of ``"source"`` or of ``"target"``."""

    def wire(model: Any, source_ids: Any, target_ids: Any) -> Any:
        ids = {"source": source_ids, "target": target_ids}
        memory = model.encode(ids[encoded])
        return model.decode(ids[decoded], memory, model.padding_mask(ids[masked]))

    return wire


def _words_alone(model: Any, source_ids: Any, target_ids: Any) -> Any:
    memory = model.embed_source(source_ids)
    return model.decode(target_ids, memory, model.padding_mask(source_ids))


def _padding_seen(model: Any, source_ids: Any, target_ids: Any) -> Any:
    import torch

    mask = model.padding_mask(source_ids)
    return model.decode(target_ids, model.encode(source_ids), torch.ones_like(mask))


_WIRING = (
    Exercise(
        "encoder_and_decoder.5",
        "Give the arguments by name",
        CustomCheck(
            _judge_arguments,
            _WANTED,
            _WRONG_ARGUMENTS,
        ),
        (
            "The names: d_model, nhead, num_encoder_layers, num_decoder_layers, dim_feedforward, "
            "dropout, batch_first.",
            "3 layers in each stack are two arguments. Sentence first is batch_first=True.",
        ),
        lines="""arguments = {
    "d_model": ___, "nhead": 4, "num_encoder_layers": ___, "num_decoder_layers": 3,
    "dim_feedforward": ___, "dropout": 0.2, "batch_first": ___,
}
""",
        gaps=tuple(
            Choice(right, options, tuple(Mistake(each, message) for each in options if each != right))
            for right, options, message in (
                ("256", ("256", "1024"), "d_model is the length of a vector."),
                ("3", ("3", "6", "1024"), "That is the number of layers in one stack."),
                ("1024", ("256", "1024"), "That is the width inside the feed-forward network."),
                ("True", ("True", "False"), "The first axis counts the sentences."),
            )
        ),
    ),
    Exercise(
        "encoder_and_decoder.6",
        "Connect the parts",
        Function(
            _wired,
            _model_and_ids,
            (
                Mistake(
                    _miswired("source", "source", "source"),
                    "The decoder reads source_ids, the English sentence, instead of the Spanish words so "
                    "far. It runs, but it never reads a word of Spanish.",
                ),
                Mistake(
                    _miswired("source", "target", "target"),
                    "The mask is made from target_ids. It should mark the real tokens of the memory, "
                    "which comes from the source.",
                ),
                Mistake(
                    _miswired("target", "target", "target"),
                    "The encoder reads target_ids, so the model reads the words that it should predict, "
                    "later ones included.",
                ),
                Mistake(
                    _miswired("target", "source", "target"),
                    "Source and target are swapped: this translates from Spanish to English.",
                ),
                Mistake(
                    _words_alone,
                    "These are the embeddings of the words. The memory is the encoder's output.",
                ),
                Mistake(
                    _padding_seen,
                    "Here every position of the memory may be attended to, even padding. Which function of "
                    "the model tells real tokens from padding?",
                ),
            ),
            right="An encoder–decoder encodes the source, makes its mask, and decodes.",
        ),
        (
            "The encoder reads the source, once: model.encode.",
            "The decoder has three arguments: the target so far, the memory, and the mask of its real "
            "tokens.",
        ),
    ),
)

EXERCISES = (*_CROSS_ATTENTION, *_PARAMETER_COUNTS, *_WIRING)
