"""Models of different depth and width side by side, and what the explorer shows of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.hand_made_traces import attention
from tests.support.refusals import assert_refused
from viz_transformer.analysis import layers_at_same_depth, match_traces
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import explore

WORDS = ("a", "b", "c", "d")


def encoder(n_layers: int, n_heads: int, tokens: tuple[str, ...] = WORDS, **more: Any) -> ForwardTrace:
    weights = attention(n_layers, n_heads, len(tokens), len(tokens))
    return ForwardTrace(source_tokens=tokens, encoder_attention=weights, **more)


def decoder(n_layers: int) -> ForwardTrace:
    weights = attention(n_layers, 2, 4, 4, causal=True)
    return ForwardTrace(target_tokens=WORDS, decoder_attention=weights)


def test_each_layer_meets_the_one_around_its_middle() -> None:
    for n_layers, n_other in [(12, 6), (6, 12), (4, 6), (1, 5), (5, 1), (32, 24)]:
        for layer, met in enumerate(layers_at_same_depth(n_layers, n_other)):
            middle = (layer + 0.5) / n_layers
            assert met / n_other <= middle < (met + 1) / n_other


def test_layers_meet_at_the_same_depth_and_heads_one_by_one() -> None:
    deep, shallow = encoder(6, 3, encoder_layers=(0, 2, 4, 6, 8, 10)), encoder(3, 3)
    one, two = match_traces(deep, shallow)
    np.testing.assert_array_equal(one.encoder_attention, deep.encoder_attention)
    np.testing.assert_array_equal(two.encoder_attention, shallow.encoder_attention[[0, 0, 1, 1, 2, 2]])
    assert one.layer_numbers("encoder") == (0, 2, 4, 6, 8, 10)
    assert match_traces(deep, deep) == (deep, deep)  # the very same: nothing is copied


def test_heads_without_a_partner_are_compared_as_the_mean_of_their_layer() -> None:
    wide, narrow = encoder(2, 4, heads=(0, 1, 2, 5)), encoder(2, 3)
    one, two = match_traces(wide, narrow)
    for each, whole in ((one, wide), (two, narrow)):
        np.testing.assert_allclose(
            each.encoder_attention[:, 0], whole.encoder_attention.mean(axis=1), atol=1e-7
        )
    assert one.head_numbers == (0,)


def test_only_kinds_that_both_have_are_compared() -> None:
    both = ForwardTrace(
        source_tokens=WORDS,
        target_tokens=WORDS,
        encoder_attention=encoder(2, 2).encoder_attention,
        decoder_attention=decoder(2).decoder_attention,
    )
    assert [each.kinds for each in match_traces(both, encoder(2, 2))] == [("encoder",)] * 2


def test_traces_that_cannot_be_compared_get_one_line() -> None:
    kinds = "holds encoder attention and the other decoder, so there is nothing to compare"
    sizes = "4 queries and 4 keys, and that of the other 3 and 3; compare texts of"
    assert_refused(
        [
            (lambda: explore(encoder(2, 2), compare=decoder(2)), kinds),
            (lambda: explore(encoder(2, 2), compare=encoder(2, 2, WORDS[:3])), sizes),
        ]
    )


@pytest.mark.parametrize("n_tokens", [4, 100])
def test_the_explorer_shows_a_layer_minus_the_one_at_its_depth(n_tokens: int) -> None:
    words = tuple(f"w{i}" for i in range(n_tokens))
    deep, shallow = encoder(4, 3, words), encoder(2, 3, words)
    view = explore(deep, compare=shallow, layer=3, head=1)
    assert (view.trace, view.compare) == (deep, shallow)
    difference = deep.encoder_attention[3, 1] - shallow.encoder_attention[1, 1]
    drawn = view.figure().axes[0].images[0].get_array()
    np.testing.assert_array_equal(np.ma.filled(drawn, np.nan), difference)
    sent = view.data["matched"]["encoder"] if n_tokens == 4 else view.data["kinds"][0]["matched"]
    assert sent == {"layers": [0, 0, 1, 1], "of": 2, "heads": None}
    if n_tokens == 100:
        reply = view.answer({"exact": ["encoder", 3, 1, 5, 7], "version": view.data["version"]})
        assert reply["value"] == pytest.approx(float(difference[5, 7]))
    view.compare = None
    assert "matched" not in (view.data if n_tokens == 4 else {}) or view.data["matched"] == {}
