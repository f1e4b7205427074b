"""The check of a chosen head: the right one passes, each likely mistake gets its own message."""

from __future__ import annotations

import numpy as np

from viz_transformer.exercises import Check, Look, check_head
from viz_transformer.trace import ForwardTrace


def planted(words: str, heads: list[dict[str, str]]) -> ForwardTrace:
    """A trace of one layer whose heads let words look where they are told to, else at the first."""
    tokens = tuple(words.split())
    weights = np.zeros((1, len(heads), len(tokens), len(tokens)))
    weights[..., 0] = 1
    for head, looks in enumerate(heads):
        for query, key in looks.items():
            row = weights[0, head, tokens.index(query)]
            row[:] = 0.1 / (len(tokens) - 1)
            row[tokens.index(key)] = 0.9
    return ForwardTrace(
        source_tokens=tokens,
        encoder_attention=weights,
        target_tokens=("x",),
        cross_attention=np.ones((1, 2, 1, len(tokens))),
    )


TIRED = planted("the cow river tired", [{"tired": "cow"}, {"tired": "cow"}, {"tired": "river"}])
WIDE = planted("the cow river wide", [{"wide": "river"}, {"wide": "cow"}, {"wide": "river"}])
LOOKS = [Look(TIRED, "encoder", "tired", "cow"), Look(WIDE, "encoder", "wide", "river")]


def test_the_right_head_passes() -> None:
    check = check_head(LOOKS, kind="encoder", layer=0, head=0)
    assert check.passed
    assert str(check) == "Right. Layer 0, head 0: tired → cow 0.90, wide → river 0.90."
    assert check_head(LOOKS, kind="encoder", layer=np.int64(0), head=np.int64(0))


def test_each_mistake_has_a_message_of_its_own() -> None:
    wrong = {}
    for answer, message in (
        ({"kind": "cross"}, "That head belongs to cross-attention. “tired” attends to “cow” in the encoder"),
        ({"kind": "encodr"}, "must be one of encoder, decoder, cross"),
        ({"kind": None}, "must be one of"),
        ({"layer": 1}, "layers go from 0 to 0 and heads from 0 to 2. Counting starts at 0"),
        ({"head": 3}, "Counting starts at 0"),
        ({"head": -1}, "There is no layer 0, head -1"),
        ({"head": 1.0}, "two whole numbers"),
        ({"head": None}, "two whole numbers"),
        ({"layer": ...}, "two whole numbers"),
        ({"head": [0]}, "two whole numbers"),
        ({"head": 2}, "In layer 0, head 2, “tired” gives “cow” only 0.03 and attends most to “river”"),
        ({"head": 1}, "It does tired → cow 0.90. But in layer 0, head 1, “wide” gives “river” only"),
    ):
        check = check_head(LOOKS, **{"kind": "encoder", "layer": 0, "head": 0, **answer})
        if check.passed or message not in check.message:
            wrong[str(answer)] = str(check)
    assert not wrong
    # A weight that is largest but small is not yet looking.
    check = check_head(LOOKS[:1], kind="encoder", layer=0, head=0, at_least=0.95)
    assert str(check) == "Not yet. In layer 0, head 0, “tired” gives “cow” only 0.90."


def test_messages_are_text_and_never_markup() -> None:
    shown = Check(False, "<img src=x onerror=alert(1)>")._repr_html_()
    assert "<img" not in shown
    assert "&lt;img" in shown
