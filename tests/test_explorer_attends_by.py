"""The explorer's choice of what heads attend by: content, positions, or both."""

from __future__ import annotations

import numpy as np
import pytest

import viz_transformer as vt
from viz_transformer.errors import UserError

# Two heads of three words: what each adds for positions, and what its scores of content are.
BIAS = np.array([[[[0, -1, -2], [-1, 0, -1], [-2, -1, 0]], [[0, 0, 3], [0, 0, 0], [1, 0, 0]]]], np.float32)
CONTENT = np.array([[[[1, 0, 0], [0, 2, 0], [0, 0, 0]], [[0, 1, 0], [1, 1, 0], [0, 0, 5]]]], np.float32)


def softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores)
    return shares / shares.sum(-1, keepdims=True)


def trace(words: str = "abc", scores: np.ndarray = CONTENT + BIAS) -> vt.ForwardTrace:
    return vt.ForwardTrace(
        source_tokens=tuple(words), encoder_attention=softmax(scores), encoder_position_bias=BIAS
    )


def shown(view: vt.widgets.AttentionExplorer) -> np.ndarray:
    """The weights in the message to the page, [layer, head, query, key]."""
    sent = view.data["traces"][0]["attention"]["encoder"]
    return np.frombuffer(sent["weights"], "<f4").reshape(sent["shape"])


def test_each_part_of_the_scores_is_sent_and_drawn() -> None:
    given = trace()
    view = vt.explore(given, head=1)
    assert (view.attends_by, view.biased, view.data.get("attendsBy")) == ("both", ["encoder"], None)
    for by, scores in (("content", CONTENT), ("positions", BIAS), ("both", CONTENT + BIAS)):
        before = view.data["version"]
        view.set_state({"attends_by": by})  # as the page's list does
        assert view.data["version"] == before + 1
        np.testing.assert_allclose(shown(view), softmax(scores), atol=1e-6)
        np.testing.assert_allclose(
            view.figure().axes[0].images[0].get_array(), softmax(scores)[0, 1], atol=1e-6
        )
        assert ("alone" in view.alt_text()) == (by != "both")
    view.set_state({"biased": ["cross"]})
    assert view.biased == ["encoder"]
    assert view.trace is given
    assert view.head == 1


def test_the_part_stays_with_another_trace_that_has_it_and_with_none_other() -> None:
    view = vt.explore(trace(), attends_by="content", compare=trace("abd", scores=CONTENT * 2 + BIAS))
    assert view.data["attendsBy"] == {"encoder": "content"}
    expected = softmax(CONTENT) - softmax(CONTENT * 2)
    np.testing.assert_allclose(view._trace_view.head("encoder", 0, 1), expected[0, 1], atol=1e-6)
    bare = vt.ForwardTrace(source_tokens=tuple("abc"), encoder_attention=softmax(CONTENT))
    view.compare = bare
    assert (view.attends_by, view.biased) == ("both", [])
    for made in (
        lambda: vt.explore(bare, attends_by="content"),
        lambda: setattr(view, "attends_by", "positions"),
    ):
        with pytest.raises(UserError, match="capture a model that adds it, such as T5, Bloom or Swin"):
            made()
    with pytest.raises(
        UserError, match=r"attends_by='words'; choose one of \['both', 'content', 'positions'\]"
    ):
        vt.explore(trace(), attends_by="words")


def test_positions_alone_leave_masked_keys_at_zero() -> None:
    weights = np.tril(softmax(CONTENT + BIAS))
    weights /= weights.sum(-1, keepdims=True)
    masked = vt.ForwardTrace(
        target_tokens=tuple("abc"), decoder_attention=weights, decoder_position_bias=BIAS
    )
    alone = vt.analysis.position_bias_alone(masked).decoder_attention
    np.testing.assert_allclose(alone[0, 0, 1], [1 / (1 + np.e), np.e / (1 + np.e), 0], atol=1e-6)
    assert not np.triu(alone, k=1).any()
