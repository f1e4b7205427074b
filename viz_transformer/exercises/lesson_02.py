"""Exercises of lesson 2: ids, padding, vectors looked up and compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.exercises.answer_types import Array, Exercise, Function, Mistake

_SENTENCE = "good morning"


def _encoded() -> list[int]:
    return vocabulary_of(SIX_PAIRS).encode(_SENTENCE)


def _with_both_ends() -> list[int]:
    vocabulary = vocabulary_of(SIX_PAIRS)
    return [vocabulary.sos_id, *_encoded(), vocabulary.eos_id]


def _translation() -> list[int]:
    return vocabulary_of(SIX_PAIRS).target_ids("buenos dias")


def _pad_rows(rows: list[list[int]], pad_id: int) -> list[list[int]]:
    longest = max(map(len, rows))
    return [row + [pad_id] * (longest - len(row)) for row in rows]


def _pad_on_the_left(rows: list[list[int]], pad_id: int) -> list[list[int]]:
    longest = max(map(len, rows))
    return [[pad_id] * (longest - len(row)) + row for row in rows]


def _pad_with_zeros(rows: list[list[int]], pad_id: int) -> list[list[int]]:
    return _pad_rows(rows, 0)


def _pad_to_the_number_of_rows(rows: list[list[int]], pad_id: int) -> list[list[int]]:
    return [row + [pad_id] * (len(rows) - len(row)) for row in rows]


def _pad_once(rows: list[list[int]], pad_id: int) -> list[list[int]]:
    longest = max(map(len, rows))
    return [row + [pad_id] * (len(row) < longest) for row in rows]


def _cut(rows: list[list[int]], pad_id: int) -> list[list[int]]:
    return [row[: min(map(len, rows))] for row in rows]


def _rows_to_pad(rng: np.random.Generator) -> tuple[Any, ...]:
    lengths = rng.integers(1, 7, size=rng.integers(2, 5))
    rows = [rng.integers(3, 35, size=length).tolist() for length in lengths]
    return rows, int(rng.choice([0, 0, 1, 50]))


def _ids_and_table(rng: np.random.Generator) -> tuple[Any, ...]:
    n_tokens, d_model = 9, int(rng.choice([2, 4, 5]))
    ids = rng.permutation(np.arange(1, n_tokens))[:6].reshape(rng.choice([1, 2, 3]), -1)
    table = rng.normal(size=(n_tokens, d_model)).astype(np.float32)
    return torch.from_numpy(ids.squeeze(0) if len(ids) == 1 else ids), torch.from_numpy(table)


def _cosine(a: Tensor, b: Tensor) -> Tensor:
    return a @ b / (a.norm() * b.norm())


def _dot_product(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


def _by_the_squares(a: Tensor, b: Tensor) -> Tensor:
    return a @ b / ((a @ a) * (b @ b))


def _by_one_length(a: Tensor, b: Tensor) -> Tensor:
    return a @ b / a.norm()


def _by_one_length_times_the_other(a: Tensor, b: Tensor) -> Tensor:
    return a @ b / a.norm() * b.norm()


def _by_the_sum_of_the_lengths(a: Tensor, b: Tensor) -> Tensor:
    return a @ b / (a.norm() + b.norm())


def _term_by_term(a: Tensor, b: Tensor) -> Tensor:
    return a * b / (a.norm() * b.norm())


def _two_vectors(rng: np.random.Generator) -> tuple[Any, ...]:
    width = int(rng.integers(2, 9))
    return tuple(torch.from_numpy(rng.normal(size=width).astype(np.float32)) for _ in range(2))


EXERCISES = (
    Exercise(
        "2.1",
        "Write the ids that the encoder reads",
        Array(
            lambda: [*_encoded(), vocabulary_of(SIX_PAIRS).eos_id],
            mistakes=(
                Mistake(
                    _encoded,
                    "These are the two words alone. Which token follows the last word of every sentence "
                    "that the encoder reads?",
                ),
                Mistake(
                    _with_both_ends,
                    "That is how a translation is stored, with both ends. The encoder reads no <sos>: "
                    "only a decoder needs a first token.",
                ),
                Mistake(
                    _translation,
                    "Those are the ids of the Spanish translation, with both ends. The encoder reads the "
                    "English sentence, and no <sos>.",
                ),
                Mistake(
                    lambda: [1, *_encoded()],
                    "You put <sos> in front. The encoder reads no <sos>, but it does read <eos>.",
                ),
                Mistake(
                    lambda: [*_encoded(), 1],
                    "The last token is <sos>, the start of a sequence. The end has an id of its own.",
                ),
                Mistake(
                    lambda: [*_encoded(), 0],
                    "The last token is <pad>. A single sentence needs no padding, but it does need its end.",
                ),
                Mistake(
                    lambda: [2, *_encoded()],
                    "You put <eos> in front. The end of a sequence comes last.",
                ),
                Mistake(
                    lambda: [index + 1 for index in [*_encoded(), 2]],
                    "Each id is one too large: the first token in the list has the id 0.",
                ),
            ),
            right="Two words and the end: three tokens.",
        ),
        hints=(
            "Print vocabulary.source_ids of another sentence, and compare it with the words.",
            "Find the ids of “good” and “morning”, and remember the special token that comes last.",
        ),
    ),
    Exercise(
        "2.2",
        "Pad the rows",
        Function(
            _pad_rows,
            _rows_to_pad,
            mistakes=(
                Mistake(
                    _pad_on_the_left,
                    "Your padding is on the left. Put it on the right, so that every sentence starts at "
                    "position 0.",
                ),
                Mistake(
                    _pad_with_zeros,
                    "You always pad with 0. Another vocabulary may give <pad> another id: use pad_id.",
                ),
                Mistake(
                    _cut,
                    "You cut the long rows to the length of the shortest, and words are lost. Make the "
                    "short rows longer instead.",
                ),
                Mistake(
                    _pad_to_the_number_of_rows,
                    "You pad to len(rows), the number of rows. Pad to the length of the longest row.",
                ),
                Mistake(
                    _pad_once,
                    "You add one <pad> to each short row. A row may need several.",
                ),
            ),
            right="All rows have the same length, and no word is lost.",
        ),
        hints=(
            "First find the length of the longest row: max(len(row) for row in rows).",
            "In Python, [7] * 3 is [7, 7, 7], and + joins two lists.",
        ),
    ),
    Exercise(
        "2.3",
        "Look vectors up",
        Function(
            lambda ids, table: table[ids],
            _ids_and_table,
            mistakes=(
                Mistake(
                    lambda ids, table: table[:, ids],
                    "table[:, ids] takes columns. A token's vector is a row, so write table[ids].",
                ),
                Mistake(
                    lambda ids, table: table[ids.flatten()[0]],
                    "That is the vector of the first id alone. Every id must get its vector.",
                ),
                Mistake(
                    lambda ids, table: table[ids.flatten()],
                    "The vectors are right, but the shape is not: ids of the shape [sentence, position] give "
                    "vectors of the shape [sentence, position, d_model]. Leave ids as they are.",
                ),
                Mistake(
                    lambda ids, table: table[ids - 1],
                    "You take the row before each token's own. Ids count from 0, as the rows do.",
                ),
                Mistake(
                    lambda ids, table: table[ids].sum(-1),
                    "You added up the numbers of each vector. Return the vectors themselves.",
                ),
                Mistake(
                    lambda ids, table: table[: ids.numel()],
                    "Those are the first rows of the table. Take the rows whose numbers are in ids.",
                ),
                Mistake(lambda ids, table: ids, "Those are the ids. Take their rows out of the table."),
            ),
            right="A model begins with this step. Libraries call it an embedding layer.",
        ),
        part="embed",
        hints=(
            "table[5] is the row of the id 5. What does table[torch.tensor([5, 8])] return?",
            "A tensor of ids in the square brackets gives a row for each id, whatever its shape.",
        ),
        lines="""def embed(ids, table):
    return table[ids]""",
        wrong_lines=(
            Mistake("    return table[:, ids]", "table[:, ids] takes columns. A token's vector is a row."),
            Mistake("    return table[ids - 1]", "That is the row before. Ids count from 0, as the rows do."),
        ),
    ),
    Exercise(
        "2.4",
        "Write the cosine",
        Function(
            _cosine,
            _two_vectors,
            mistakes=(
                Mistake(
                    _dot_product,
                    "That is the dot product alone, and it grows with the vectors' lengths. Divide it by "
                    "both lengths.",
                ),
                Mistake(
                    _by_the_squares,
                    "You divided by the squares of the lengths. a @ a is the length squared: take the root.",
                ),
                Mistake(
                    _by_one_length,
                    "You divided by one vector's length. Divide by the other's too.",
                ),
                Mistake(
                    _by_one_length_times_the_other,
                    "Python works through / and * from left to right, so you divided by one length and "
                    "multiplied by the other. Put the two lengths in brackets.",
                ),
                Mistake(
                    _by_the_sum_of_the_lengths,
                    "You divided by the sum of the lengths. Divide by their product.",
                ),
                Mistake(
                    _term_by_term,
                    "a * b multiplies number by number, and the result is still a vector. a @ b also adds "
                    "the products up.",
                ),
            ),
            right="Only the directions count: a vector twice as long has the same cosine.",
            forbidden={
                name: f"That is torch's {name}. Write the formula yourself, with a @ b and a.norm()."
                for name in ("cosine_similarity", "CosineSimilarity")
            },
        ),
        hints=(
            "a @ b multiplies two vectors number by number and adds the products up.",
            "Divide a @ b by (a.norm() * b.norm()).",
        ),
    ),
)
