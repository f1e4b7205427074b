"""What the explorer's page chooses together is taken together; the linked heads and text size."""

from __future__ import annotations

import pytest

from tests.support.hand_made_traces import make_trace
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import explore


def test_the_page_pins_a_word_of_another_kind_at_once() -> None:
    view = explore(make_trace(), query=1, key=2)
    view.set_state({"kind": "decoder", "layer": 0, "head": 1, "query": None, "key": 3})
    assert (view.kind, view.head, view.query, view.key) == ("decoder", 1, None, 3)
    view.set_state({"kind": "encoder", "query": 2, "key": None})
    assert (view.kind, view.query, view.key) == ("encoder", 2, None)


def test_python_changes_of_kind_still_let_go_of_other_words() -> None:
    view = explore(make_trace(), query=1, key=2)
    view.set_state({"key": 3})
    view.kind = "decoder"
    assert (view.query, view.key) == (1, None)


def test_linked_heads_are_those_of_the_trace() -> None:
    view = explore(make_trace())
    view.linked_heads = {"encoder": (1, 3)}
    assert view.linked_heads == {"encoder": [1, 3]}
    for wrong in ({"encoder": [2, 0]}, {"encoder": [0, -1]}, {"encoder": [0]}, {"memory": [0, 0]}):
        with pytest.raises(UserError):
            view.linked_heads = wrong
    assert view.linked_heads == {"encoder": [1, 3]}
    smaller = make_trace(n_layers=1, n_heads=2)
    view.trace = ForwardTrace(
        source_tokens=smaller.source_tokens, encoder_attention=smaller.encoder_attention
    )
    assert view.linked_heads == {"encoder": [0, 1]}


def test_text_may_be_large_but_not_boundless() -> None:
    view = explore(make_trace())
    view.text_size = 2
    for wrong in (0, 100, -1):
        with pytest.raises(UserError, match=r"0\.5 to 4"):
            view.text_size = wrong
    assert view.text_size == 2
