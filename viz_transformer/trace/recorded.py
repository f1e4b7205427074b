"""Recorded runs of two pretrained models, loaded without torch; tools/real_traces.py made them."""

from __future__ import annotations

import json

from viz_transformer._files import bundled
from viz_transformer.errors import UserError
from viz_transformer.trace.forward import ForwardTrace

#: The names of the recorded runs.
REAL_TRACES = ("gpt", "gpt-repeats", "gpt-question", "gpt-prompt", "bert")
_WITHOUT_WORDS = "bert"


def real_trace(name: str) -> ForwardTrace:
    """Load the attention of a pretrained model that was recorded on one text, in half precision.

    >>> import viz_transformer as vt
    >>> vt.real_trace("gpt").attention("decoder").shape  # [layer, head, query, key]
    (30, 9, 14, 14)

    Args:
        name: ``"gpt"``, SmolLM2-135M-Instruct on *When Mary and John went to the store, John gave a drink
            to*; ``"gpt-repeats"``, on a sentence with a repeated phrase; ``"gpt-question"``, on a question;
            ``"gpt-prompt"``, on the same question in the form that it was trained to answer, and the
            beginning of the answer; or ``"bert"``, all-MiniLM-L6-v2 on the first sentence.

    Raises:
        UserError: if there is no such recording.
    """
    _check(name, REAL_TRACES)
    return ForwardTrace.load(bundled(f"data/real/{name}.npz"))


def real_next_words(name: str) -> list[dict[str, float]]:
    """Load the 20 likeliest next words at each position of a text, as SmolLM2-135M-Instruct computed them.

    >>> import viz_transformer as vt
    >>> vt.real_next_words("gpt")[-1][" Mary"]  # after “gave a drink to”
    0.9229

    Args:
        name: as of `real_trace`, without ``"bert"``, which predicts no next word.

    Returns:
        For each position the probability of each word, rounded to four digits, likeliest first.

    Raises:
        UserError: if there is no such recording.
    """
    _check(name, [each for each in REAL_TRACES if each != _WITHOUT_WORDS])
    return json.loads(bundled("data/real/next_words.json").read_text(encoding="utf-8"))[name]


def _check(name: str, names: tuple[str, ...] | list[str]) -> None:
    if name not in names:
        raise UserError(f"there is no recording {name!r:.60}; choose one of {list(names)}")
