"""Exercises of lesson 12, Reading heads honestly."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from viz_transformer.exercises import lent
from viz_transformer.exercises.answer_types import Choice, CustomCheck, Exercise, Function, Mistake, Number
from viz_transformer.exercises.feedback import Check
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.trace import KINDS
from viz_transformer.translator import Translator, load_translator

_COW = "the cow did not cross the street because it was too tired"
_ALL, _SPARED = (0, 1, 2, 3), (0, 1, 3)

_GENDER = ("encoder", 1, 1)
_ARTICLE = ("cross", 1, 2)
_SUREST = ("decoder", 0, 0)


@cache
def _translator() -> Translator:
    return load_translator()


@cache
def _loss(heads: tuple[int, ...] = (), *, judge_own: bool = False) -> float:
    """Return the loss with these heads of decoder layer 1 off, in nats per token."""
    translator = _translator()
    off = Interventions(heads=[HeadChange("decoder", 1, head, factor=0) for head in heads])
    target = None if judge_own else translator.translate(_COW).tokens
    return float(-translator.log_probs(_COW, target, off).mean())


def _rise(heads: tuple[int, ...]) -> float:
    return _loss(heads) - _loss()


def _head_of_gender(answer: Any) -> Check:
    try:
        kind, layer, head = answer
        given = (str(kind), int(layer), int(head))
    except (TypeError, ValueError):
        return Check(False, _NO_HEAD)
    if given == _GENDER:
        return Check(
            True,
            "Without it, no information about his reaches teacher, and la maestra is the most probable "
            "again.",
        )
    if given[0] not in list(KINDS) or given[1] not in (0, 1):
        return Check(False, _NO_SUCH)
    return Check(False, _WRONG_HEADS.get(given, _IDLE))


_NO_HEAD = 'Give the kind, the layer and the head, such as ("cross", 0, 3).'
_NO_SUCH = (
    "There is no such head: the kind is encoder, decoder or cross, then comes the layer, 0 or 1, "
    "and then the head, 0 to 3."
)
_IDLE = (
    "With this head off, the Spanish is still el profesor. The table in the lab lists the heads "
    "that matter most at its top: try those."
)
_WRONG_HEADS = {
    _ARTICLE: "This head matters, but the Spanish is still el profesor without it. Another matters more.",
    _SUREST: (
        "Hardly any head is sharper than this one, and without it the Spanish is still el profesor. "
        "Compare losses, not pictures."
    ),
}


def _heads(rng: np.random.Generator) -> tuple[Any, list[int]]:
    """Draw the outputs of heads, some in a batch, and the numbers of those to switch off."""
    import torch

    n_heads, n, d_head = (int(size) for size in rng.integers(3, 6, size=3))
    batch: tuple[int, ...] = ((), (2,))[int(rng.integers(2))]
    off = rng.choice(n_heads, size=int(rng.integers(1, n_heads)), replace=False)
    return torch.tensor(rng.normal(size=(*batch, n_heads, n, d_head))), sorted(int(each) for each in off)


def _words_off(heads: Any, off: list[int]) -> Any:
    kept = heads.clone()
    kept[..., off, :] = 0
    return kept


def _only(heads: Any, off: list[int]) -> Any:
    return heads - lent.ablate(heads, off)


def _without(heads: Any, off: list[int]) -> Any:
    return heads[..., [each for each in range(heads.shape[-3]) if each not in off], :, :]


def _first_off(heads: Any, off: list[int]) -> Any:
    return lent.ablate(heads, off[:1])


_ABLATE = Exercise(
    "12.1",
    "Write an ablation",
    Function(
        lent.ablate,
        _heads,
        (
            Mistake(
                _words_off,
                "You set positions to 0. Axis −2 counts words and −3 heads: kept[..., off, :, :].",
            ),
            Mistake(_only, "You keep only the heads in `off`. Those are the ones to set to 0."),
            Mistake(
                _without,
                "You removed the heads. Set them to 0 instead: join_heads needs all of them.",
            ),
            Mistake(
                _first_off, "You switch off the first head of the list only. Use the whole list as an index."
            ),
            Mistake(lambda heads, off: heads, "The heads are unchanged."),
        ),
        right="Used between attend and join_heads, it switches heads of your own model off.",
    ),
    (
        "Copy first: kept = heads.clone(). Then set part of the copy to 0, and return it.",
        "kept[..., off, :, :] = 0",
    ),
    part="ablate",
    lines="""def ablate(heads, off):
    kept = ___
    kept[___] = 0
    return kept""",
    gaps=(
        Choice(
            "heads.clone()",
            ("heads", "heads.clone()"),
            (Mistake("heads", "Without a copy, the heads that were given would be changed, too."),),
        ),
        Choice(
            "..., off, :, :",
            ("..., off, :, :", "..., off, :", "..., off"),
            (
                Mistake("..., off, :", "Axis −2 counts the words. The heads are axis −3."),
                Mistake("..., off", "The last axis counts the numbers of a vector. The heads are axis −3."),
            ),
        ),
    ),
)


def _one_of(right: str, options: list[str]) -> Choice:
    """Return a gap of the gendered head's place."""
    still = "Switch a head of that place off in the lab: the Spanish still begins with el profesor."
    return Choice(right, options, [Mistake(each, still) for each in options if each != right])


EXERCISES = (
    _ABLATE,
    Exercise(
        "12.2",
        "Find the head that carries the gender",
        CustomCheck(
            _head_of_gender,
            right_answer=_GENDER,
            mistakes=(
                *(Mistake(answer, message) for answer, message in _WRONG_HEADS.items()),
                Mistake(("cross", 1, 0), _IDLE),
                Mistake(("encoder", 3, 1), _NO_SUCH),
                Mistake("encoder", _NO_HEAD),
            ),
        ),
        hints=(
            "Is his in the lab's sentence? Its table lists the heads that change the loss most first.",
            "Click the first names of that table, one after the other, and read the first two "
            "Spanish words each time.",
        ),
        lines="gender_head = (___, ___, ___)  # kind, layer, head",
        gaps=(
            _one_of(repr(_GENDER[0]), ["'encoder'", "'decoder'", "'cross'"]),
            _one_of(str(_GENDER[1]), ["0", "1"]),
            _one_of(str(_GENDER[2]), ["0", "1", "2", "3"]),
        ),
    ),
    Exercise(
        "12.3",
        "Switch three heads off together",
        Number(
            lambda: _rise(_SPARED),
            mistakes=(
                Mistake(
                    lambda: sum(_rise((head,)) for head in _SPARED),
                    "You added the effects of single heads. Switch off all three in one Interventions, "
                    "with three HeadChanges in its list.",
                ),
                Mistake(
                    lambda: _rise((2,)),
                    "You switched off head 2. Switch off 0, 1 and 3, and leave head 2 on.",
                ),
                Mistake(
                    lambda: -_rise(_SPARED),
                    "The size is right, but the sign isn't: the loss is the mean of the negative "
                    "log-probabilities, and it rises.",
                ),
                Mistake(
                    lambda: _rise(_ALL),
                    "You switched off the whole layer. Leave head 2 on.",
                ),
                Mistake(
                    lambda: _loss(_SPARED, judge_own=True) - _loss(),
                    "Without target, log_probs measures the changed model on its own new output, which is "
                    "always probable. Give log_probs the same target both times.",
                ),
            ),
            tolerance=2e-2,
            unit="nats per token",
            right="That is over a hundred times the sum of the three alone: each can replace the others.",
        ),
        hints=(
            "Interventions takes a list: one HeadChange for each of the three heads.",
            "With the three off, compute the mean of −log_probs(cow, target, …) as `before` is "
            "computed above, and subtract `before`.",
        ),
    ),
    Exercise(
        "12.4",
        "Say what two trainings show",
        Choice(
            "A",
            ("A", "B", "C"),
            mistakes=(
                Mistake(
                    "B",
                    "Look at the last row. When the answer is read at it, most answers become wrong if "
                    "both nouns are hidden from it. There the attention is needed.",
                ),
                Mistake(
                    "C",
                    "Look at the first row: with both nouns hidden, the answers are still right.",
                ),
            ),
            right="The pictures of the two are alike. Whether the attention is needed depends on where "
            "the answer is read, and only the intervention showed it.",
        ),
        hints=(
            "Compare the two percentages in the first row, then in the last.",
            "In which of the two rows are fewer answers right when the nouns are hidden?",
        ),
    ),
)
