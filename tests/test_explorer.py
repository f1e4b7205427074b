"""The explorer's Python side: its traits, its messages, and the bytes that it sends."""

from __future__ import annotations

import json
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import traitlets

from tests.support.hand_made_traces import SOURCE, TARGET, attention, make_trace
from tests.support.javascript import module_path
from tools.ensure import find_node
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.base.bundle import join
from viz_transformer.widgets.explorer import AttentionExplorer, explore, pack

NAMES = ("kind", "layer", "head", "query", "key")


def selection(view: AttentionExplorer) -> tuple[Any, ...]:
    return tuple(getattr(view, name) for name in NAMES)


@contextmanager
def messages(view: AttentionExplorer):
    """Yield the list that each message of state to the page is added to, as its trait names."""
    sent: list[set[str]] = []

    def publish(msg_type: str, data: dict[str, Any], **_: Any) -> None:
        if msg_type == "comm_msg" and data["method"] == "update":
            sent.append(set(data["state"]) | {path[0] for path in data["buffer_paths"]})

    with mock.patch.object(view.comm, "publish_msg", publish):
        yield sent


def test_it_opens_on_cross_attention_or_what_there_is() -> None:
    assert selection(explore(make_trace())) == ("cross", 0, 0, None, None)
    only = ForwardTrace(source_tokens=SOURCE, encoder_attention=attention(1, 2, 5, 5))
    assert selection(explore(only)) == ("encoder", 0, 0, None, None)
    chosen = explore(make_trace(), kind="decoder", layer=1, head=3, query=4, key=0)
    assert selection(chosen) == ("decoder", 1, 3, 4, 0)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("kind", "self", r"kind='self', but this trace holds \['encoder', 'decoder', 'cross'\]"),
        ("layer", 2, "layer=2, but the cross attention of this trace has 2; choose 0 to 1"),
        ("layer", -1, "choose 0 to 1"),
        ("head", 4, "head=4.*choose 0 to 3"),
        ("query", 5, "query=5.*choose 0 to 4"),
        ("key", -1, "key=-1.*choose 0 to 4"),
        ("selected", [[0, 4]], r"selected holds \[0, 4\].*has 4 heads; choose 0 to 3"),
        ("selected", [[0, 1, 2]], r"give \[layer, head\] pairs"),
        ("selected", [0, 1], r"selected holds 0; give"),
        (
            "aggregate",
            "sum",
            r"aggregate='sum'; choose one of \['head', 'mean', 'max'",
        ),
        ("threshold", 1.5, "threshold=1.5 is no share of attention; give 0 to 1"),
        ("order", "size", "order='size'; choose one of"),
    ],
)
def test_what_the_trace_lacks_is_refused_and_changes_nothing(name, value, message) -> None:
    view = explore(make_trace(), layer=1, head=2, query=3, key=4)
    before = selection(view)
    with messages(view) as sent, pytest.raises(UserError, match=message):
        setattr(view, name, value)
    assert selection(view) == before
    assert sent == []
    with pytest.raises(UserError, match=message):
        explore(make_trace(), **{name: value})


def test_an_index_is_a_whole_number_of_python_or_numpy() -> None:
    view = explore(make_trace())
    view.head = np.argmax([0.1, 0.2, 0.9])
    assert (view.head, type(view.head)) == (2, int)
    for wrong in (1.5, "1", None):
        with pytest.raises(traitlets.TraitError, match="head"):
            view.head = wrong


def test_several_heads_are_pairs_of_whole_numbers_each_once() -> None:
    view = explore(make_trace(), selected=np.array([[0, 1], [1, 3], [0, 1]]), aggregate="mean")
    assert view.selected == [[0, 1], [1, 3]]
    assert json.dumps(view.get_state(["selected"])) == '{"selected": [[0, 1], [1, 3]]}'
    view.threshold = np.float32(0.25)
    assert (view.threshold, type(view.threshold)) == (0.25, float)


def test_rollout_to_the_output_needs_the_whole_road() -> None:
    trace = make_trace()
    part = ForwardTrace(
        source_tokens=SOURCE,
        target_tokens=TARGET,
        encoder_attention=trace.encoder_attention,
        cross_attention=trace.cross_attention,
    )
    view = explore(part, kind="encoder", aggregate="rollout")
    with pytest.raises(UserError, match=r"lacks decoder; choose 'head', 'mean' or 'max'"):
        explore(part, aggregate="rollout")
    view.kind = "cross"
    assert view.aggregate == "head"
    assert explore(trace, aggregate="rollout").aggregate == "rollout"


def test_a_difference_is_of_equal_shapes_and_can_be_taken_back() -> None:
    trace, other = make_trace(), make_trace(source=("the", "red", "cat", "sleeps", "<eos>"))
    view = explore(trace, compare=other)
    assert view.compare is other
    assert "difference" in view.about
    longer = make_trace(target=(*TARGET, "bien"), output=None)
    for wrong in (longer, "text"):
        data = view.data
        with pytest.raises(UserError, match=r"compare texts of equally many tokens|shows a ForwardTrace"):
            view.compare = wrong
        assert view.data is data
    with messages(view) as sent:
        view.compare = None
    assert sent == [{"data", "about"}]
    assert view.data == pack(trace, version=1)
    assert "difference" not in view.about


def test_another_kind_keeps_the_words_that_it_shares() -> None:
    view = explore(make_trace(), kind="decoder", layer=1, head=3, query=2, key=1)
    view.kind = "cross"  # the same queries, other keys
    assert selection(view) == ("cross", 1, 3, 2, None)
    view.key = 4
    view.kind = "encoder"  # the same keys, other queries
    assert selection(view) == ("encoder", 1, 3, None, 4)


def test_another_kind_with_fewer_heads_moves_the_selection_inside() -> None:
    trace = ForwardTrace(
        source_tokens=SOURCE,
        target_tokens=TARGET,
        encoder_attention=attention(1, 2, 5, 5),
        cross_attention=attention(3, 4, 5, 5),
    )
    view = explore(trace, layer=2, head=3)
    view.kind = "encoder"
    assert selection(view) == ("encoder", 0, 1, None, None)


def test_a_new_trace_arrives_whole_and_keeps_what_fits() -> None:
    view = explore(make_trace(), layer=1, head=3, query=1, key=4)
    shorter = make_trace(("hi", "<eos>"), ("<sos>", "hola"), ("hola", "<eos>"), n_heads=2)
    with messages(view) as sent:
        view.trace = shorter
    assert selection(view) == ("cross", 1, 1, 1, None)
    assert sent == [{"data", "head", "key"}], "tokens, weights and selection in one message"
    assert view.trace is shorter
    assert view.data == pack(shorter, version=1)


def test_a_new_trace_without_the_kind_shows_another() -> None:
    view = explore(make_trace(), layer=1, query=4)
    view.trace = ForwardTrace(source_tokens=("hi",), encoder_attention=[[[[1.0]]]])
    assert selection(view) == ("encoder", 0, 0, None, None)


@pytest.mark.parametrize("wrong", [None, "text", ForwardTrace(source_tokens=("a",))])
def test_what_is_no_trace_is_refused_and_changes_nothing(wrong: Any) -> None:
    view = explore(make_trace(), query=1)
    data, before = view.data, selection(view)
    with pytest.raises(UserError, match=r"ForwardTrace|holds no attention"):
        view.trace = wrong
    assert (view.data, selection(view)) == (data, before)
    with pytest.raises(UserError):
        explore(wrong)


def test_a_click_in_the_page_arrives_as_one_change() -> None:
    view = explore(make_trace(), query=3)
    seen: list[tuple[Any, ...]] = []
    view.observe(lambda _: seen.append(selection(view)), names=["kind", "layer", "head"])
    view.set_state({"kind": "encoder", "layer": 1, "head": 2, "query": None, "key": None})
    assert selection(view) == ("encoder", 1, 2, None, None)
    assert set(seen) == {("encoder", 1, 2, None, None)}, "no observer sees half a change"


def test_a_click_on_what_is_gone_changes_nothing() -> None:
    view = explore(make_trace())
    for gone in ({"layer": 1, "head": 9}, {"kind": "self", "layer": 1, "head": 1}):
        with pytest.raises(UserError):
            view.set_state(gone)
    assert selection(view) == ("cross", 0, 0, None, None)


def test_without_the_view_its_text_names_the_selection() -> None:
    view = explore(make_trace(), layer=1, query=3)
    text = "AttentionExplorer(kind='cross', layer=1, head=0, query=3, key=None)"
    assert repr(view) == text
    assert view._repr_mimebundle_()[0]["text/plain"] == text


def test_the_twin_shows_the_selected_head() -> None:
    view = explore(make_trace(), kind="encoder", layer=1, head=3)
    figure = view.figure()
    drawn = figure.axes[0].images[0].get_array()
    np.testing.assert_array_equal(drawn, view.trace.encoder_attention[1, 3])


def test_the_page_decodes_every_half_as_numpy_does() -> None:
    halves = np.frombuffer(run_bundle("process.stdout.write(Buffer.from(page.halfTable().buffer));"), "<f4")
    expected = np.arange(65536, dtype=np.uint16).view("<f2").astype(np.float32)
    np.testing.assert_array_equal(halves, expected)
    zero = halves == 0
    np.testing.assert_array_equal(np.signbit(halves[zero]), np.signbit(expected[zero]))


def test_the_bundle_is_one_module_that_imports_nothing() -> None:
    text = join(module_path("widgets/explorer/view.js"))
    assert "\nimport " not in text
    assert run_bundle("process.stdout.write(typeof page.default.render)") == b"function"
    assert explore(make_trace()).get_state(["_esm"])["_esm"] == text


def run_bundle(code: str, stdin: bytes = b"") -> bytes:
    """Run JavaScript with the explorer's joined module, as a page loads it, named `page`."""
    prelude = (
        "import fs from 'node:fs';"
        f"const text = {json.dumps(join(module_path('widgets/explorer/view.js')))};"
        "const page = await import('data:text/javascript,' + encodeURIComponent(text));"
    )
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.mjs"  # too long for a command line
        script.write_text(prelude + code, encoding="utf-8")
        done = subprocess.run([find_node(), script], input=stdin, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout
