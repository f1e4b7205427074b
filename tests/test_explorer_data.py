"""What the explorer sends: which bytes of a trace go when, and that the page reads them right."""

from __future__ import annotations

import gc
import itertools
import json
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
from tests.support.javascript import answers_in_node
from tests.support.planted_heads import cross_heads, decoder_heads, encoder_heads
from tests.support.refusals import assert_refused
from tests.support.texts import TEXTS
from viz_transformer.analysis import head_entropy_share, label_heads, output_rollout, rollout
from viz_transformer.analysis.combine import difference_limit, strongest
from viz_transformer.capturing import capture
from viz_transformer.errors import UserError
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


def read(reply: dict[str, Any], dtype: str = "<f2") -> np.ndarray:
    return np.frombuffer(reply["weights"], dtype)


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


def test_the_overview_stays_small_however_many_heads_there_are() -> None:
    for n_layers in (2, 12):
        data = pack(large_trace(64, n_layers=n_layers, n_heads=12))
        pictures = sum(len(entry["overview"]["values"]) for entry in data["kinds"])
        assert OVERVIEW_BYTES / 3 < pictures <= OVERVIEW_BYTES, n_layers


def test_the_strongest_of_a_difference_is_the_one_farthest_from_zero() -> None:
    weights = np.array([[[0.5, -0.75, 0.1], [0.0, 0.25, 0.2]]], dtype=np.float32)
    np.testing.assert_array_equal(strongest(weights, 2), [[[0.5, -0.75], [0.0, 0.25]]])
    np.testing.assert_array_equal(strongest(weights, 1), [[[-0.75]]])
    np.testing.assert_array_equal(strongest(weights, 3), weights)


def test_each_head_comes_when_it_is_asked_for_and_each_weight_exactly() -> None:
    trace = large_trace()
    view = explore(trace)

    def ask(**request: Any) -> dict[str, Any]:
        return view.answer({**request, "version": 0})

    heads = ask(heads=["cross", [[0, 2], [1, 1]]])["weights"]
    for bytes_, place in zip(heads, ((0, 2), (1, 1)), strict=True):
        expected = trace.cross_attention[place].astype("<f2").ravel()
        np.testing.assert_array_equal(read({"weights": bytes_}), expected)
    value = ask(exact=["cross", 0, 1, 7, 9])["value"]
    assert np.float32(json.loads(json.dumps(value))) == trace.cross_attention[0, 1, 7, 9]
    pairs = [[0, 0], [1, 2], [1, 3]]
    chosen = np.stack([trace.encoder_attention[layer, head] for layer, head in pairs])
    rolled = {"encoder": rollout(trace, "encoder"), "cross": output_rollout(trace).source}
    for request, expected in (
        ({"head": ["decoder", 1, 3]}, trace.decoder_attention[1, 3]),
        ({"aggregate": ["encoder", "mean", pairs]}, chosen.mean(axis=0)),
        ({"aggregate": ["encoder", "max", pairs]}, chosen.max(axis=0)),
        *(({"rollout": [kind, 1]}, layers[1]) for kind, layers in rolled.items()),
    ):
        np.testing.assert_allclose(read(ask(**request)), expected.ravel(), atol=0.0005, err_msg=str(request))
    measured = ask(measure=["cross"])
    entropies = np.frombuffer(measured["entropies"], "<f4").reshape(2, 4)
    np.testing.assert_allclose(entropies, head_entropy_share(trace, "cross"), rtol=1e-6)
    names = [[label and label.name for label in layer] for layer in label_heads(trace, "cross")]
    assert [[label and label["name"] for label in layer] for layer in measured["labels"]] == names


def test_a_new_large_trace_brings_the_head_that_is_chosen_then_and_old_questions_are_stale() -> None:
    view = explore(large_trace(), kind="encoder", layer=1, head=3)
    view.head = 2
    view.trace = other = large_trace(90, n_heads=2)
    first = view.data["kinds"][0]["first"]
    assert (view.layer, view.head) == (first["layer"], first["head"]) == (1, 1)
    np.testing.assert_array_equal(read(first), other.encoder_attention[1, 1].astype("<f2").ravel())
    assert view.answer({"head": ["cross", 0, 0], "version": 0}) == {"stale": True}
    assert len(view.answer({"head": ["cross", 0, 0], "version": 1})["weights"]) == 2 * 90 * 90


def test_requests_that_cannot_be_answered_get_one_line() -> None:
    view = explore(large_trace())
    cases: list[dict[str, Any]] = [
        {"head": ["cross", 2, 0]},
        {"head": ["self", 0, 0]},
        {"head": "cross"},
        {"heads": ["cross", [[0, 0], [0, 9]]]},
        {"exact": ["cross", 0, 0, 80, 0]},
        {"aggregate": ["cross", "mean", []]},
        {"weather": "tomorrow"},
        {},
    ]
    said = r"is not in this trace; it holds|unknown request|holds no"
    assert_refused((lambda asked=asked: view.answer({**asked, "version": 0}), said) for asked in cases)


def test_heads_that_are_looked_at_leave_nothing_in_the_kernel() -> None:
    view = explore(large_trace(n_heads=12))

    def look() -> int:
        for i in range(100):
            view.head = i % 12
            view.answer({"head": ["cross", i % 2, i % 12], "version": 0})
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        held = [look() for _ in range(4)]
    finally:
        tracemalloc.stop()
    # What is kept grows with every round; what the interpreter makes once, in one of them.
    growth = min(later - earlier for earlier, later in itertools.pairwise(held))
    assert growth < 80 * 80 * 2, "less than one head"


def entries(trace: ForwardTrace, compare: ForwardTrace | None = None) -> list[dict[str, Any]]:
    """What the page must make of each kind of a trace, from Python's own measures."""
    view = TraceView(trace, compare)
    return [entry_in_python(view, kind) for kind in view.kinds]


def test_tokens_are_sent_with_their_query_word_special_and_masked() -> None:
    encoder, decoder, cross = entries(make_trace())
    assert (encoder["queries"], encoder["keys"], encoder["reads"]) == ([*SOURCE], [*SOURCE], None)
    told = (decoder["queries"], decoder["keys"], decoder["reads"])
    assert told == ([*OUTPUT], [*TARGET], [*TARGET])
    assert (cross["queries"], cross["keys"], cross["reads"]) == ([*OUTPUT], [*SOURCE], [*TARGET])
    assert entries(make_trace(output=None))[2]["reads"] is None
    assert decoder["special"] == {"queries": [False] * 4 + [True], "keys": [True] + [False] * 4}
    assert cross["special"]["keys"] == [False] * 4 + [True]
    np.testing.assert_array_equal(np.reshape(decoder["masked"], (5, 5)), np.triu(np.ones((5, 5)), 1))
    assert cross["masked"] is None


def trace_of_pieces(output: tuple[str, ...] | None) -> ForwardTrace:
    """A decoder that read words in pieces, and wrote `output`."""
    return ForwardTrace(
        target_tokens=("<sos>", "un", "##able", "dog"),
        output_tokens=output,
        target_words=(None, 0, 0, 1),
        decoder_attention=attention(1, 1, 4, 4, causal=True),
    )


#: What was written after pieces of words, and the number of each written word.
WRITTEN = [
    (("un", "##able", "dog", "<eos>"), [0, 0, 1, None]),
    (None, [None, 0, 0, 1]),  # then the queries are named as they were read
    (("un", "##do", "dog", "."), [0, None, 1, None]),  # it wrote something else than was read next
]


def test_word_numbers_follow_the_axis_as_it_is_named() -> None:
    for output, numbers in WRITTEN:
        (entry,) = entries(trace_of_pieces(output))
        assert entry["words"] == {"queries": numbers, "keys": [None, 0, 0, 1]}


def test_a_difference_names_both_words_where_they_differ() -> None:
    weights = make_trace().encoder_attention
    changed = weights.copy()
    changed[0, 0] = changed[0, 1]
    it = ForwardTrace(source_tokens=("it", *SOURCE[1:]), encoder_attention=changed)
    she = ForwardTrace(source_tokens=("she", *SOURCE[1:]), encoder_attention=weights)
    (entry,) = entries(it, she)
    assert (entry["signed"], entry["queries"]) == (True, ["it|she", *SOURCE[1:]])
    np.testing.assert_array_equal(entry["weights"], changed - weights)
    assert (entry["labels"], entry["entropies"]) == (None, None)


def test_the_overview_of_a_difference_has_zero_in_its_middle() -> None:
    whole = large_trace(100)
    tokens, weights = whole.source_tokens, whole.encoder_attention
    only = ForwardTrace(source_tokens=tokens, encoder_attention=weights)
    assert set(pack(only, only)["kinds"][0]["overview"]["values"]) == {128}
    difference = weights - weights[:, ::-1]
    for size in (1, 1e-5):  # of a scale of its own, so that a small change is seen too
        near = ForwardTrace(source_tokens=tokens, encoder_attention=weights - size * difference)
        sent = pack(only, near)["kinds"][0]
        values = np.frombuffer(sent["overview"]["values"], np.uint8)
        assert values.min() < 20 < 235 < values.max()
        first = read(sent["first"]).reshape(100, 100) * np.float32(sent["limit"])
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


def test_rows_that_do_not_sum_to_one_are_shown_and_named() -> None:
    tokens, weights = ["a", "b", "c", "d"], attention(1, 2, 4, 4)
    sink = ForwardTrace(source_tokens=tokens, encoder_attention=0.75 * weights, sinks=("encoder",))
    said = "8 of 8 rows sum to 0.75: the rest goes to an attention sink"
    assert TraceView(sink).note("encoder").startswith(said)
    weights[0, 1, 2] *= 0.5
    weights[0, 1, 3] = 0
    (entry,) = entries(ForwardTrace(source_tokens=tokens, encoder_attention=weights))
    assert entry["note"].startswith("1 of 8 rows do not sum to 1 but to 0.50, so")
    assert all(entry["note"] == "" for entry in entries(make_trace()))
    twice = np.full((1, 1, 4, 4), 0.5)
    (entry,) = entries(ForwardTrace(source_tokens=tokens, encoder_attention=twice))
    assert entry["note"].startswith("4 of 4 rows do not sum to 1 but to 2.00, so")
    assert (entry["labels"], entry["entropies"], entry["rollouts"]) == (None, None, None)
    assert "sum to more" in entry["noRollout"]


STORE = {"WeightStore": "widgets/explorer/weight_store.ts"}
READ_ALL = """async (views) => {
  const shown = [];
  for (const state of views) {
    const model = { get: (name) => ({ ...state, live: true })[name], on() {}, off() {} };
    const store = new WeightStore(model, () => {});
    for (const { kind, layers, heads } of store.entries.values())
      for (let layer = 0; layer < layers; layer++)
        for (let head = 0; head < heads; head++) {
          store.load();
          store.matrix(kind, layer, head);
          await new Promise((done) => setTimeout(done, 0));
          shown.push(Array.from(store.matrix(kind, layer, head)));
        }
  }
  return shown;
}"""


def test_the_page_reads_the_values_that_the_trace_holds() -> None:
    views = []
    for n_tokens in (5, 80):  # sent whole, and in parts
        words = tuple(map(str, range(n_tokens)))
        views.append(explore(make_trace(words, words, words)))
    given = [
        {"data": view.data, "answers": [[q, view.answer(q)] for q in view.questions()]} for view in views
    ]
    shown = iter(answers_in_node(STORE, READ_ALL, given))
    for view in views:
        for kind in view.trace.kinds:
            for weights in view.trace.attention(kind).reshape(8, -1):
                values = np.array(next(shown), np.float32)
                whole = view is views[0]
                np.testing.assert_array_equal(values, weights if whole else weights.astype("<f2"))
                np.testing.assert_allclose(values, weights, atol=0.00025)


def test_page_and_python_draw_the_same_small_pictures() -> None:
    """What the page makes of a small trace is what Python makes of a large one."""
    weights = make_trace().encoder_attention
    trace = ForwardTrace(source_tokens=SOURCE, encoder_attention=weights)
    other = ForwardTrace(source_tokens=SOURCE, encoder_attention=softmax(weights * 3))
    answer = """(views) => views.map((data) => {
      const model = { get: (name) => ({ data })[name], on() {}, off() {} };
      return Array.from(new WeightStore(model, () => {}).overview("encoder").values);
    })"""
    difference = weights - other.encoder_attention
    expected = (255 * weights, 128 + 127 * difference / difference_limit([difference]))
    drawn = answers_in_node(STORE, answer, [pack(trace), pack(trace, other)])
    for found, wanted in zip(drawn, expected, strict=True):
        assert np.abs(found - np.rint(wanted).ravel()).max() <= 1  # a half is rounded up or to even


def entry_in_python(view: TraceView, kind: str) -> dict[str, Any]:
    """Return what the page must make of a kind, from Python's own measures."""
    queries, keys = view.words(kind)
    masked = view.masked(kind)
    try:
        labels, entropies = view.measures(kind) if view.has_shares else (None, None)
    except UserError:  # rows of more than 1, of which the note tells
        labels, entropies = None, None
    return {
        "kind": kind,
        "shape": [*view.shape(kind)],
        "signed": view.limit(kind) is not None,
        "limit": view.limit(kind),
        "least": view.scales[kind].least,
        "unnormalised": view.is_raw,
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
    begin = "<\uff5cbegin\u2581of sentence\uff5c>"
    marks = ("[CLS]", "<|endoftext|>", begin, "<SOS>", "<unk>", "[MASK]", "</s>")
    yield ForwardTrace(source_tokens=marks, encoder_attention=attention(1, 1, 7, 7)), None
    yield ForwardTrace(source_tokens=("a",), encoder_attention=[[[[1.0]]]]), None
    for output, _ in WRITTEN:
        yield trace_of_pieces(output), None
    yield ForwardTrace(source_tokens=("a", "b"), encoder_attention=np.full((1, 1, 2, 2), 1.0)), None
    raw = np.linspace(-1200, 3, 32, dtype=np.float32).reshape(1, 2, 4, 4)
    for weights, compare in ((raw, None), (abs(raw) / 1e9, None), (0 * raw, None), (raw, raw / 2)):
        yield tuple(
            None if each is None else capture(each, source_tokens=[*"abcd"], normalised=False)
            for each in (weights, compare)
        )


MEASURE = """(given) => {
  const plain = (value) => {
    if (ArrayBuffer.isView(value)) return Array.from(value);
    return Array.isArray(value) ? value.map(plain) : value;
  };
  const measured = ({ rollouts, ...entry }) => ({ ...entry, rollouts: rollouts && rollouts() });
  const named = (entry) => Object.entries(measured(entry)).map(([name, value]) => [name, plain(value)]);
  return given.map(({ traces }) => measureTraces(traces).map((entry) => Object.fromEntries(named(entry))));
}"""


def test_the_page_measures_a_trace_as_python_does(translator: Translator) -> None:
    pairs = [*awkward_traces(), *((translator.trace(text), None) for text in TEXTS[:100:4])]
    pairs.append((translator.trace("the black cat sleeps"), translator.trace("the white dog sleeps")))
    script = {"measureTraces": "widgets/explorer/measured_trace.ts"}
    measured = answers_in_node(script, MEASURE, [pack(*pair) for pair in pairs])
    for (trace, compare), found in zip(pairs, measured, strict=True):
        view = TraceView(trace, compare)
        assert [entry["kind"] for entry in found] == [*view.kinds]
        for entry in found:
            check_entry(entry, entry_in_python(view, entry["kind"]))
