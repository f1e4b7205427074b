"""What the lesson on today's language models says in prose, held to recordings and to our own models."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson
from tests.support.source_code import ROOT
from viz_transformer.exercises import exercise, lent

LESSON = Lesson("13")


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    return LESSON.run_whole()


def test_every_prediction_is_scored(names: dict[str, Any]) -> None:
    right = {
        "predict-prompt": "the end of the text",
        "predict-repeat": vt.real_next_words("gpt-repeats")[19]["umb"],
        "predict-cache": 667,
    }
    assert not LESSON.mistaken_predictions(right, names)


def test_sizes_and_shares_are_those_of_the_recordings() -> None:
    sizes = json.loads((ROOT / "data" / "real" / "made_by.json").read_text(encoding="utf-8"))["sizes"]["gpt"]
    million = f"With {sizes['parameters'] / 1e6:.0f} million parameters"
    assert not LESSON.lacks(million, f"in {sizes['layers']} layers of {sizes['heads']} heads", cell="saw")
    assert f"here {sizes['context']:,} tokens" in LESSON["window"]
    shares = [
        f"{vt.real_trace(name).attention('decoder')[:, :, 2:, 0].mean(dtype=float):.0%}"
        for name in ("gpt-repeats", "gpt")
    ]
    assert not LESSON.lacks(f"it receives {shares[0]} of all weight here, and {shares[1]} in", cell="sink")
    weight = vt.real_trace("gpt").attention("decoder")[24, 4, -1, 1]
    assert "layer 24, head 4" in LESSON["ask"]
    assert f"{weight:.2f}" in LESSON["ask"]
    width = sizes["width"] // sizes["heads"]
    assert f"`d_head` = {width}" in LESSON["exercise-count"]
    numbers = sizes["layers"] * 2 * sizes["key_value_heads"] * width
    assert exercise("13.2").check(numbers).passed


def test_a_cache_gives_the_same_logits_and_a_rotary_score_depends_on_the_distance(
    capsys: pytest.CaptureFixture[str],
) -> None:
    LESSON.run_whole()
    said = capsys.readouterr().out
    assert [f"{length} True" in said for length in range(1, 7)] == [True] * 6
    one, two, three, other = (line.rpartition(" ")[2] for line in said.splitlines() if "query at" in line)
    assert one == two == three != other
    assert "kept before: 384 numbers; now: 192" in said
    assert "weights [batch, head, query, key]: [1, 4, 1, 6]" in said
    assert "' Paris'   0.97" in said


def test_attention_grows_with_the_square_and_the_feed_forward_network_with_the_length(
    names: dict[str, Any],
) -> None:
    (*_, attention_before, attention), (*_, before, after) = names["operations"].values()
    assert after / before == 2
    assert f"attention {attention / attention_before:.1f} times as many" in LESSON["choose"]


def test_a_step_with_a_cache_is_the_last_row_of_attention() -> None:
    query, key, value = torch.randn(3, 2, 5, 4)  # each [head, position, d_head]
    last = slice(4, None)
    output, keys, values = lent.cached_step(
        query[:, last], key[:, last], value[:, last], key[:, :4], value[:, :4]
    )
    torch.testing.assert_close(output, lent.attend(query[:, last], key, value)[0])
    torch.testing.assert_close(keys, key)
    torch.testing.assert_close(values, value)
