"""What the explorer sends: which bytes of a trace go when, and that the page reads them right."""

from __future__ import annotations

import gc
import itertools
import json
import subprocess
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.hand_made_traces import (
    HOSTILE,
    OUTPUT,
    SOURCE,
    TARGET,
    attention,
    hostile_trace,
    make_trace,
    softmax,
    uneven_trace,
)
from tests.support.javascript import module_url
from tests.support.planted_heads import cross_heads, decoder_heads, encoder_heads
from tests.support.texts import TEXTS
from tools.ensure import find_node
from viz_transformer.analysis import head_entropy_share, label_heads, output_rollout, rollout
from viz_transformer.analysis.combine import difference_limit, strongest
from viz_transformer.errors import UserError
from viz_transformer.export.page_parts import encode
from viz_transformer.trace import ForwardTrace
from viz_transformer.translator import Translator
from viz_transformer.widgets.base.view import sendable
from viz_transformer.widgets.explorer import EXACT_BYTES, explore, pack
from viz_transformer.widgets.explorer.trace_view import OVERVIEW_BYTES, Labels, TraceView


def large_trace(n: int = 80, **sizes: int) -> ForwardTrace:
    """A trace that is not sent at once."""
    words = tuple(map(str, range(n)))
    trace = make_trace(words, words, words, **sizes)
    assert sum(trace.attention(kind).nbytes for kind in trace.kinds) > EXACT_BYTES
    return trace


def halves(weights: np.ndarray) -> np.ndarray:
    return weights.astype("<f2").astype(np.float32)


def read(reply: dict[str, Any], dtype: str = "<f2") -> np.ndarray:
    return np.frombuffer(reply["weights"], dtype)


def test_a_small_trace_is_sent_whole_and_exactly() -> None:
    trace = make_trace()
    view = explore(trace)
    (sent,) = view.data["traces"]
    assert list(sent["attention"]) == [*trace.kinds]
    for kind, entry in sent["attention"].items():
        weights = read(entry, "<f4").reshape(entry["shape"])
        np.testing.assert_array_equal(weights, trace.attention(kind))
    assert view.questions() == []


def test_a_large_trace_sends_an_overview_and_the_chosen_head() -> None:
    trace = large_trace()
    entries = {entry["kind"]: entry for entry in explore(trace, layer=1, head=2).data["kinds"]}
    assert [kind for kind in entries if "first" in entries[kind]] == ["cross"]
    first = entries["cross"]["first"]
    assert (first["layer"], first["head"]) == (1, 2)
    np.testing.assert_array_equal(read(first), trace.cross_attention[1, 2].astype("<f2").ravel())
    for kind, entry in entries.items():
        small = entry["overview"]
        assert (small["rows"], small["cols"]) == (32, 32)
        drawn = np.frombuffer(small["values"], np.uint8).reshape(2, 4, 32, 32)
        edges = np.arange(33) * 80 // 32
        for row, col in ((0, 0), (5, 9), (31, 31)):
            part = trace.attention(kind)[..., edges[row] : edges[row + 1], edges[col] : edges[col + 1]]
            np.testing.assert_array_equal(drawn[..., row, col], np.rint(255 * part.max((-2, -1))))


def test_a_new_large_trace_brings_the_head_that_is_chosen_then() -> None:
    view = explore(large_trace(), kind="encoder", layer=1, head=3)
    view.head = 2
    view.trace = other = large_trace(90, n_heads=2)
    first = view.data["kinds"][0]["first"]
    assert (view.layer, view.head) == (first["layer"], first["head"]) == (1, 1)
    np.testing.assert_array_equal(read(first), other.encoder_attention[1, 1].astype("<f2").ravel())


@pytest.mark.parametrize("n_layers", [2, 12])
def test_the_overview_stays_small_however_many_heads_there_are(n_layers: int) -> None:
    data = pack(large_trace(64, n_layers=n_layers, n_heads=12))
    pictures = sum(len(entry["overview"]["values"]) for entry in data["kinds"])
    assert pictures <= OVERVIEW_BYTES
    assert pictures > OVERVIEW_BYTES / 3


def test_the_strongest_of_a_difference_is_the_one_farthest_from_zero() -> None:
    weights = np.array([[[0.5, -0.75, 0.1], [0.0, 0.25, 0.2]]], dtype=np.float32)
    np.testing.assert_array_equal(strongest(weights, 2), [[[0.5, -0.75], [0.0, 0.25]]])
    np.testing.assert_array_equal(strongest(weights, 1), [[[-0.75]]])
    np.testing.assert_array_equal(strongest(weights, 3), weights)


def test_each_head_comes_when_it_is_asked_for_and_each_weight_exactly() -> None:
    trace = large_trace()
    view = explore(trace)
    ask = {"version": 0}
    head = view.answer({"head": ["decoder", 1, 3], **ask})
    np.testing.assert_array_equal(read(head), trace.decoder_attention[1, 3].astype("<f2").ravel())
    heads = view.answer({"heads": ["cross", [[0, 2], [1, 1]]], **ask})["weights"]
    for bytes_, place in zip(heads, ((0, 2), (1, 1)), strict=True):
        expected = trace.cross_attention[place].astype("<f2").ravel()
        np.testing.assert_array_equal(read({"weights": bytes_}), expected)
    value = view.answer({"exact": ["cross", 0, 1, 7, 9], **ask})["value"]
    assert np.float32(value) == trace.cross_attention[0, 1, 7, 9]
    json.dumps(value)
    pairs = [[0, 0], [1, 2], [1, 3]]
    chosen = np.stack([trace.encoder_attention[layer, head] for layer, head in pairs])
    for how, expected in (("mean", chosen.mean(axis=0)), ("max", chosen.max(axis=0))):
        sent = read(view.answer({"aggregate": ["encoder", how, pairs], **ask}))
        np.testing.assert_allclose(sent, expected.ravel(), atol=0.0005)
    for kind, rolled in (
        ("encoder", rollout(trace, "encoder")),
        ("cross", output_rollout(trace).source),
    ):
        sent = read(view.answer({"rollout": [kind, 1], **ask}))
        np.testing.assert_allclose(sent, rolled[1].ravel(), atol=0.0005)
    measured = view.answer({"measure": ["cross"], **ask})
    np.testing.assert_allclose(
        np.frombuffer(measured["entropies"], "<f4").reshape(2, 4),
        head_entropy_share(trace, "cross"),
        rtol=1e-6,
    )
    names = [[label and label.name for label in layer] for layer in label_heads(trace, "cross")]
    assert [[label and label["name"] for label in layer] for layer in measured["labels"]] == names


def test_what_is_asked_of_the_trace_before_is_not_answered_from_this_one() -> None:
    view = explore(large_trace())
    view.trace = large_trace(90)
    assert view.data["version"] == 1
    assert view.answer({"head": ["cross", 0, 0], "version": 0}) == {"stale": True}
    assert len(view.answer({"head": ["cross", 0, 0], "version": 1})["weights"]) == 2 * 90 * 90


@pytest.mark.parametrize(
    "request_",
    [
        {"head": ["cross", 2, 0]},
        {"head": ["self", 0, 0]},
        {"head": "cross"},
        {"heads": ["cross", [[0, 0], [0, 9]]]},
        {"exact": ["cross", 0, 0, 80, 0]},
        {"aggregate": ["cross", "mean", []]},
        {"weather": "tomorrow"},
        {},
    ],
)
def test_what_cannot_be_answered_is_told_in_a_line(request_: dict[str, Any]) -> None:
    view = explore(large_trace())
    with pytest.raises(UserError, match=r"is not in this trace; it holds|unknown request|holds no"):
        view.answer({**request_, "version": 0})


def test_five_hundred_heads_leave_nothing_in_the_kernel() -> None:
    view = explore(large_trace(128, n_heads=12))
    ask = [{"head": ["cross", i % 2, i % 12], "version": 0} for i in range(500)]

    def look() -> int:
        for request in ask:
            view.head = request["head"][2]
            view.answer(request)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        held = [look() for _ in range(4)]
    finally:
        tracemalloc.stop()
    # What is kept grows with every round; what the interpreter makes once, in one of them.
    growth = min(later - earlier for earlier, later in itertools.pairwise(held))
    assert growth < 128 * 128 * 2, "less than one head"


def test_tokens_are_sent_with_what_their_query_read() -> None:
    encoder, decoder, cross = measured(make_trace())
    assert (encoder["queries"], encoder["keys"], encoder["reads"]) == ([*SOURCE], [*SOURCE], None)
    told = (decoder["queries"], decoder["keys"], decoder["reads"])
    assert told == ([*OUTPUT], [*TARGET], [*TARGET])
    assert (cross["queries"], cross["keys"], cross["reads"]) == ([*OUTPUT], [*SOURCE], [*TARGET])
    assert measured(make_trace(output=None))[2]["reads"] is None


def test_special_tokens_and_masked_cells_are_sent() -> None:
    _, decoder, cross = measured(make_trace())
    assert decoder["special"] == {"queries": [False] * 4 + [True], "keys": [True] + [False] * 4}
    assert cross["special"]["keys"] == [False] * 4 + [True]
    np.testing.assert_array_equal(np.reshape(decoder["masked"], (5, 5)), np.triu(np.ones((5, 5)), 1))
    assert cross["masked"] is None


def test_word_numbers_follow_the_axis_as_it_is_named() -> None:
    sizes = {"encoder_attention": None, "decoder_attention": attention(1, 1, 4, 4, causal=True)}
    target = ("<sos>", "un", "##able", "dog")
    trace = ForwardTrace(
        target_tokens=target,
        output_tokens=("un", "##able", "dog", "<eos>"),
        target_words=(None, 0, 0, 1),
        **sizes,
    )
    assert measured(trace)[0]["words"] == {
        "queries": [0, 0, 1, None],
        "keys": [None, 0, 0, 1],
    }
    read = ForwardTrace(target_tokens=target, target_words=(None, 0, 0, 1), **sizes)
    assert measured(read)[0]["words"]["queries"] == [None, 0, 0, 1]
    # It wrote something else than was read next: of that nobody knows the word.
    other = ForwardTrace(
        target_tokens=target,
        output_tokens=("un", "##do", "dog", "."),
        target_words=(None, 0, 0, 1),
        **sizes,
    )
    assert measured(other)[0]["words"]["queries"] == [0, None, 1, None]


def test_a_difference_names_both_words_where_they_differ() -> None:
    she = make_trace(source=("she", *SOURCE[1:]))
    trace = make_trace(source=("it", *SOURCE[1:]))
    changed = trace.encoder_attention.copy()
    changed[0, 0] = changed[0, 1]
    it = ForwardTrace(source_tokens=trace.source_tokens, encoder_attention=changed)
    she = ForwardTrace(source_tokens=she.source_tokens, encoder_attention=trace.encoder_attention)
    (entry,) = measured(it, she)
    assert entry["signed"] is True
    assert entry["queries"] == ["it|she", *SOURCE[1:]]
    shown = np.array(entry["whole"], np.float32).reshape(changed.shape)
    np.testing.assert_array_equal(shown, changed - trace.encoder_attention)
    assert (entry["labels"], entry["entropies"]) == (None, None)


def test_the_overview_of_a_difference_has_zero_in_its_middle() -> None:
    trace = large_trace(100)
    swapped = ForwardTrace(
        source_tokens=trace.source_tokens, encoder_attention=trace.encoder_attention[:, ::-1]
    )
    only = ForwardTrace(source_tokens=trace.source_tokens, encoder_attention=trace.encoder_attention)
    same = pack(only, only)["kinds"][0]["overview"]
    assert set(same["values"]) == {128}
    difference = only.encoder_attention - swapped.encoder_attention
    for size in (1, 1e-5):  # of a scale of its own, so that a small change is seen too
        near = ForwardTrace(
            source_tokens=trace.source_tokens, encoder_attention=only.encoder_attention - size * difference
        )
        sent = pack(only, near)["kinds"][0]
        values = np.frombuffer(sent["overview"]["values"], np.uint8)
        assert values.min() < 20 < 235 < values.max()
        first = np.frombuffer(sent["first"]["weights"], "<f2").reshape(100, 100) * np.float32(sent["limit"])
        np.testing.assert_allclose(first, size * difference[0, 0], atol=6e-8 + size * 2e-3)


def test_hostile_tokens_can_be_sent() -> None:
    sent = pack(hostile_trace())["traces"][0]["sourceTokens"]
    assert sent == [*HOSTILE[:-1], "\ufffd"]  # half a surrogate pair is no character
    json.dumps(sent, ensure_ascii=False).encode("utf-8")


def test_scores_are_no_weights_and_are_refused() -> None:
    scores = np.random.default_rng(0).normal(size=(1, 1, 3, 3))
    trace = ForwardTrace(source_tokens=("a", "b", "c"), encoder_attention=scores)
    with pytest.raises(UserError, match=r"a weight is a share from 0 to 1; give the weights after"):
        explore(trace)


def test_rows_that_share_with_a_sink_are_said_to() -> None:
    tokens, weights = ["a", "b", "c", "d"], 0.75 * attention(1, 2, 4, 4)
    view = TraceView(ForwardTrace(source_tokens=tokens, encoder_attention=weights, sinks=("encoder",)))
    assert view.note("encoder").startswith("8 of 8 rows sum to 0.75: the rest goes to an attention sink")


def test_rows_that_do_not_sum_to_one_are_shown_and_told() -> None:
    weights = attention(1, 2, 4, 4)
    weights[0, 1, 2] *= 0.5
    weights[0, 1, 3] = 0
    (entry,) = measured(ForwardTrace(source_tokens=["a", "b", "c", "d"], encoder_attention=weights))
    assert entry["note"].startswith("1 of 8 rows do not sum to 1 but to 0.50, so")
    assert all(entry["note"] == "" for entry in measured(make_trace()))
    twice = np.full((1, 1, 4, 4), 0.5)
    (entry,) = measured(ForwardTrace(source_tokens=["a", "b", "c", "d"], encoder_attention=twice))
    assert entry["note"].startswith("4 of 4 rows do not sum to 1 but to 2.00, so")
    assert (entry["labels"], entry["entropies"], entry["rollouts"]) == (None, None, None)
    assert "sum to more" in entry["noRollout"]


def test_one_token_is_a_trace_too() -> None:
    trace = ForwardTrace(source_tokens=("a",), encoder_attention=[[[[1.0]]]])
    (entry,) = measured(trace)
    assert [entry[name] for name in ("layers", "heads", "rows", "cols")] == [1, 1, 1, 1]
    assert entry["entropies"] == [None], "a word alone has no choice"


READ_ALL = """
const state = {...part.revive(JSON.parse(input.toString())), live: true};
const model = {get: (name) => state[name], on() {}, off() {}};
const store = new page.WeightStore(model, () => {});
const heads = [];
for (const {kind, layers, heads: count} of store.entries.values()) {
    for (let layer = 0; layer < layers; layer++) {
        for (let head = 0; head < count; head++) {
            store.load();
            store.matrix(kind, layer, head);
            await new Promise((done) => setTimeout(done, 0));
            heads.push(Buffer.from(store.matrix(kind, layer, head).slice().buffer));
        }
    }
}
process.stdout.write(Buffer.concat(heads));
"""


@pytest.mark.parametrize("n_tokens", [5, 80])
def test_the_page_reads_the_values_that_the_trace_holds(n_tokens: int) -> None:
    words = tuple(map(str, range(n_tokens)))
    view = explore(make_trace(words, words, words))
    answers = [[request, view.answer(request)] for request in view.questions()]
    shown = np.frombuffer(run_node(READ_ALL, {"data": view.data, "answers": answers}), "<f4").reshape(
        3, 2, 4, n_tokens, n_tokens
    )
    for kind, values in zip(view.trace.kinds, shown, strict=True):
        weights = view.trace.attention(kind)
        np.testing.assert_array_equal(values, weights if n_tokens == 5 else halves(weights))
        np.testing.assert_allclose(values, weights, atol=0.00025)


@pytest.mark.parametrize("signed", [False, True])
def test_both_halves_draw_the_same_small_pictures(signed: bool) -> None:
    """What the page makes of a small trace is what Python makes of a large one."""
    trace, other = make_trace(), make_trace(n_heads=4)
    other = ForwardTrace(source_tokens=SOURCE, encoder_attention=softmax(trace.encoder_attention * 3))
    trace = ForwardTrace(source_tokens=SOURCE, encoder_attention=trace.encoder_attention)
    data = pack(trace, other if signed else None)
    code = (
        "const state = part.revive(JSON.parse(input.toString()));"
        "const model = {get: (name) => state[name], on() {}, off() {}};"
        "const {values} = new page.WeightStore(model, () => {}).overview('encoder');"
        "process.stdout.write(Buffer.from(values));"
    )
    drawn = np.frombuffer(run_node(code, {"data": data}), np.uint8).astype(int)
    weights = trace.encoder_attention - (other.encoder_attention if signed else 0)
    expected = 128 + 127 * weights / difference_limit([weights]) if signed else 255 * weights
    assert np.abs(drawn - np.rint(expected).ravel()).max() <= 1  # a half is rounded up or to even


MEASURE = """
const { measureTraces } = await import(MODULE);
const asArrays = (_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value);
const measure = ({ traces }) =>
  measureTraces(traces).map((entry) => ({ ...entry, rollouts: entry.rollouts && entry.rollouts() }));
const all = part.revive(JSON.parse(input.toString())).map(measure);
process.stdout.write(JSON.stringify(all, asArrays));
""".replace("MODULE", json.dumps(module_url("widgets/explorer/measured_trace.js")))


def measured(trace: ForwardTrace, compare: ForwardTrace | None = None) -> list[dict[str, Any]]:
    """Return the entries of a small trace, as the page makes them; NaN as None."""
    (entries,) = json.loads(run_node(MEASURE, [pack(trace, compare)]))
    return entries


def entry_in_python(view: TraceView, kind: str) -> dict[str, Any]:
    """Return what the page must make of a kind, from Python's own measures."""
    queries, keys = view.words(kind)
    masked = view.masked(kind)
    try:
        labels, entropies = (None, None) if view.signed else view.measures(kind)
    except UserError:  # rows of more than 1, of which the note tells
        labels, entropies = None, None
    return {
        "kind": kind,
        "shape": [*view.shape(kind)],
        "signed": view.signed,
        "note": view.note(kind),
        "noRollout": view.no_rollout(kind),
        "masked": [*map(int, masked.ravel())] if masked.any() else None,
        "queries": sendable(view.queries(kind)),
        "keys": sendable(view.keys(kind)),
        "reads": None if view.reads(kind) is None else sendable(view.reads(kind)),
        "words": {"queries": queries, "keys": keys},
        "special": dict(zip(("queries", "keys"), view.special(kind), strict=True)),
        "weights": np.stack([view.layer(kind, layer) for layer in range(view.shape(kind)[0])]),
        "rollouts": None if view.no_rollout(kind) else view.rollouts(kind),
        "labels": labels,
        "entropies": entropies,
    }


def check_entry(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Hold an entry of the page to Python's: numbers to 1e-6, all else exactly."""
    shape = expected.pop("shape")
    assert [found[name] for name in ("layers", "heads", "rows", "cols")] == shape
    np.testing.assert_array_equal(np.array(found["whole"], np.float32), expected.pop("weights").ravel())
    for name in ("rollouts", "entropies"):
        numbers = expected.pop(name)
        assert (found[name] is None) == (numbers is None)
        if numbers is not None:
            values = np.array(found[name], np.float64).ravel()
            np.testing.assert_allclose(values, numbers.ravel(), atol=1e-6)
    labels = expected.pop("labels")
    assert (found["labels"] is None) == (labels is None)
    for mine, theirs in zip(chain(found["labels"]), chain(labels), strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine["evidence"] == pytest.approx(theirs["evidence"], abs=1e-9)
            assert {**mine, "evidence": 0} == {**theirs, "evidence": 0}
    assert {name: found[name] for name in expected} == expected


def chain(layers: Labels | None) -> list[dict[str, Any] | None]:
    return [*itertools.chain.from_iterable(layers or [])]


def awkward_traces() -> Iterator[tuple[ForwardTrace, ForwardTrace | None]]:
    """Yield traces whose measures are easily wrong; the second is one to subtract, or None."""
    words = tuple(map(str, range(8)))
    step = np.eye(8)[[0, *range(7)]]  # each looks at the one before
    looks = np.stack([step, np.eye(8), np.full((8, 8), 1 / 8), np.eye(8)[[0] * 8], np.eye(8)[[7] * 8]])
    halves = 0.625 * looks + 0.375 * np.roll(looks, 3, axis=-1)  # 0.625 and 0.125 lie between two
    lazy = np.stack([looks, halves])
    lazy[0, 0, 3] = 0
    for weights in (np.stack([looks, halves]), lazy, 0.5 * lazy, 1.3 * lazy.clip(0, 0.75)):
        yield ForwardTrace(source_tokens=words, encoder_attention=weights), None
    for planted in (encoder_heads, decoder_heads, cross_heads):
        yield planted()[0], None
    yield make_trace(), None
    yield make_trace(output=None), make_trace(HOSTILE[:5], HOSTILE[5:10], None)
    yield uneven_trace(), None
    causal, full = attention(2, 2, 9, 9, causal=True), attention(2, 2, 9, 9)
    for weights in (causal, full):
        yield ForwardTrace(target_tokens=tuple("abcdefghi"), decoder_attention=weights), None
    marks = (
        "[CLS]",
        "<|endoftext|>",
        "<\uff5cbegin\u2581of sentence\uff5c>",
        "<SOS>",
        "<unk>",
        "[MASK]",
        "</s>",
    )
    yield ForwardTrace(source_tokens=marks, encoder_attention=attention(1, 1, 7, 7)), None
    yield ForwardTrace(source_tokens=("a",), encoder_attention=[[[[1.0]]]]), None


def test_the_page_measures_a_trace_as_python_does(translator: Translator) -> None:
    pairs = [*awkward_traces(), *((translator.trace(text), None) for text in TEXTS[:100:2])]
    pairs.append((translator.trace("the black cat sleeps"), translator.trace("the white dog sleeps")))
    entries = json.loads(run_node(MEASURE, [pack(*pair) for pair in pairs]))
    for (trace, compare), found in zip(pairs, entries, strict=True):
        view = TraceView(trace, compare)
        assert [entry["kind"] for entry in found] == [*view.kinds]
        for entry in found:
            check_entry(entry, entry_in_python(view, entry["kind"]))


def run_node(code: str, state: Any) -> bytes:
    """Run JavaScript on a state as an exported page holds it; `page` is the store's module."""
    prelude = (
        f"const page = await import({json.dumps(module_url('widgets/explorer/weight_store.js'))});"
        f"const part = await import({json.dumps(module_url('export/page.js'))});"
        "const input = Buffer.concat(await process.stdin.toArray());"
    )
    done = subprocess.run(
        [find_node(), "--input-type=module", "-e", prelude + code],
        input=json.dumps(encode(state)).encode(),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout
