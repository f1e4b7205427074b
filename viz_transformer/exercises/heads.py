"""Check of a head that a learner has found, by where it attends."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from viz_transformer.analysis import weights_between, word_index
from viz_transformer.exercises.feedback import Check
from viz_transformer.trace import KINDS, ForwardTrace, attention_of

_NAMED = {"encoder": "the encoder", "decoder": "the decoder", "cross": "cross-attention"}


@dataclass(frozen=True)
class Look:
    """What a head must do in this trace: attend from `query` to `key`.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> look = vt.exercises.Look(trace, "cross", query="gato", key="cat")

    Attributes:
        trace: the trace of a sentence.
        kind: of attention: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        query: the word that looks.
        key: the word that it must look at.
    """

    trace: ForwardTrace
    kind: str
    query: str
    key: str


def check_head(looks: Sequence[Look], *, kind: Any, layer: Any, head: Any, at_least: float = 0.8) -> Check:
    """Check whether one head attends everywhere that it should.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> looks = [vt.exercises.Look(trace, "cross", query="gato", key="cat")]
    >>> vt.exercises.check_head(looks, kind="encoder", layer=0, head=0).passed
    False

    Args:
        looks: where the head must attend; all of one kind and one model.
        kind: the learner's answer: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: the learner's answer, counted from 0.
        head: the learner's answer, counted from 0.
        at_least: the weight that counts as looking, 0 to 1.
    """
    wanted = looks[0]
    if kind not in KINDS:
        return Check(False, f"kind is {kind!r}; it must be one of {', '.join(KINDS)}.")
    try:
        layer, head = operator.index(layer), operator.index(head)
    except TypeError:
        return Check(
            False,
            "Give layer and head as two whole numbers, such as layer=0, head=2; "
            f"you gave layer={layer!r}, head={head!r}.",
        )
    if kind != wanted.kind:
        return Check(
            False,
            f"That head belongs to {_NAMED[kind]}. “{wanted.query}” attends to “{wanted.key}” in "
            f"{_NAMED[wanted.kind]}: look there.",
        )
    weights = attention_of(wanted.trace, kind)
    n_layers, n_heads = weights.shape[:2]
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        return Check(
            False,
            f"There is no layer {layer}, head {head}: layers go from 0 to {n_layers - 1} and heads "
            f"from 0 to {n_heads - 1}. Counting starts at 0.",
        )
    done: list[str] = []
    for look in looks:
        weight = float(weights_between(look.trace, kind, look.query, look.key)[layer, head])
        if weight < at_least:
            return Check(False, _where_it_looks(look, layer, head, weight, done))
        done.append(f"{look.query} → {look.key} {weight:.2f}")
    return Check(True, f"Layer {layer}, head {head}: {', '.join(done)}.")


def _where_it_looks(look: Look, layer: int, head: int, weight: float, done: list[str]) -> str:
    row = attention_of(look.trace, look.kind)[
        layer, head, word_index(look.trace.query_tokens(look.kind), look.query)
    ]  # [key]
    favourite = look.trace.key_tokens(look.kind)[int(row.argmax())]
    says = f"in layer {layer}, head {head}, “{look.query}” gives “{look.key}” only {weight:.2f}" + (
        f" and attends most to “{favourite}” ({row.max():.2f})." if favourite != look.key else "."
    )
    if done:
        return f"It does {', '.join(done)}. But {says} Find the head that does both."
    return says[0].upper() + says[1:]
