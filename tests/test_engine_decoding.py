"""The engine's searches, draws and calls on text: JavaScript is held to what Python finds.

The bundled models work on both sides; the cases of a test go through one Node process. Where two
scores are nearer than 1e-5, rounding may order them either way, and such a search is passed over.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.page_models import (
    answers_of_page,
    assert_same_hypotheses,
    assert_same_search,
    is_close_call,
)
from tests.support.tiny_decoder import VOCABULARY, tiny_model
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.corpus import english_spanish
from viz_transformer.corpus.batches import as_text
from viz_transformer.decoding import beam_search, greedy
from viz_transformer.errors import UserError
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.text_model import TextModel
from viz_transformer.trace import DecodeTrace, ForwardTrace
from viz_transformer.translator import Translator
from viz_transformer.widgets.base.live import plain_interventions

#: What weights may differ by under interventions: without √d_head, or with sharpened scores, sums are
#: several times as large, and so is what their rounding changes.
CHANGED = 1e-4
DATA = Path(__file__).parents[1] / "data"
SENTENCE = "the animal did not cross the street because it was too tired"
BEGINNINGS = ["", "  ", "el gato", "¿dónde", "la maestra", "El GATO no cruzo la calle", "hola"]
GAPS = ["el [?] negro", "la ___ duerme", "¿dónde está el <mask>?", "el gato no cruzó la [MASK] porque estaba"]


@pytest.fixture(scope="module")
def models() -> dict[str, TextModel]:
    """The bundled models by their folders."""
    return {
        "en-es": vt.load_translator(),
        "language-model": vt.load_language_model(),
        "masked-model": vt.load_masked_model(),
    }


def held_out(n: int) -> list[str]:
    return [as_text(pair.source) for pair in english_spanish(n_train=0, n_held_out=n).held_out]


def some_interventions(n: int, kinds: Sequence[str]) -> list[Interventions]:
    """Return interventions drawn at random; without LayerNorm logits round by more than texts differ."""
    rng = random.Random(5)
    made = []
    for _ in range(n):
        places = [(kind, layer, head) for kind in kinds for layer in (0, 1) for head in range(4)]
        heads = [
            HeadChange(*place, factor=rng.choice([0, 0.5, 1, 2]), pattern=rng.choice([None, "uniform"]))
            for place in rng.sample(places, rng.randint(0, 4))
        ]
        off = {name: rng.random() > 0.15 for name in ("scale", "positions", "residual")}
        made.append(Interventions(**off, heads=heads, temperature=rng.choice([1.0, 1.0, 0.5, 2.0])))
    return made


def check_searches(
    folder: str | Path,
    calls: list[tuple[Any, ...]],
    expected: list[DecodeTrace],
    most_close: int,
    atol: float = 1e-5,
) -> None:
    """Hold searches to Python's, but for at most so many close calls; weights to `atol`."""
    found = answers_of_page(DATA / folder, calls)
    clear = [pair for pair in zip(found, expected, strict=True) if not is_close_call(pair[1])]
    assert len(expected) - len(clear) <= most_close
    for one, other in clear:
        assert_same_search(one, other, atol)


@pytest.mark.parametrize("n_texts", [60, pytest.param(2_000, marks=pytest.mark.weekly)])
def test_held_out_sentences_are_translated_alike(models, n_texts: int) -> None:
    translator, texts = models["en-es"], held_out(n_texts)
    sources = [translator.vocabulary.source_ids(text) for text in texts]
    searched = beam_search(translator.model, sources, translator.vocabulary, beam_width=4)
    written = greedy(translator.model, sources, translator.vocabulary)
    calls = [("hypotheses", text, {"beamWidth": width}) for width in (4, 1) for text in texts]
    found = answers_of_page(DATA / "en-es", calls)
    for hypotheses, expected in zip(found[:n_texts], searched, strict=True):
        if is_close_call(expected):  # the best is the same even so
            assert hypotheses[0]["ids"] == list(expected.hypotheses[0].ids)
            assert abs(hypotheses[0]["score"] - expected.hypotheses[0].score) < 1e-4
        else:
            assert_same_hypotheses(hypotheses, expected)
    assert [hypotheses[0]["ids"] for hypotheses in found[n_texts:]] == written


def test_searches_of_any_width_and_penalty_under_interventions(models) -> None:
    translator, calls, expected = models["en-es"], [], []
    widths = [(width, penalty) for width in (1, 2, 3, 5, 8) for penalty in (0, 0.6, 2)]
    texts = held_out(30)
    plain, changed = [None] * len(widths), some_interventions(15, ("encoder", "decoder", "cross"))
    for text, change, (width, penalty) in zip(texts, plain + changed, widths * 2, strict=True):
        options = {"beamWidth": width, "lengthPenalty": penalty, "attention": True}
        calls.append(("decode", text, options | {"interventions": plain_interventions(change)}))
        expected.append(translator.decode(text, width, penalty, interventions=change, attention=True))
    check_searches("en-es", calls[:15], expected[:15], most_close=3)
    check_searches("en-es", calls[15:], expected[15:], most_close=3, atol=CHANGED)


def test_tiny_vocabularies_and_texts_that_grow_to_their_limit(tmp_path: Path) -> None:
    # Two words and short texts: beams that are never full, words forbidden, and no end before the limit.
    for seed in range(4):
        translator = Translator(tiny_model(seed), VOCABULARY)
        folder = Checkpoint(translator.model, VOCABULARY).save(tmp_path / str(seed))
        calls, expected = [], []
        for text in ("a", "b a", "a b b a b"):
            for width in (1, 2, 4, 7):
                calls.append(("decode", text, {"beamWidth": width, "attention": True}))
                expected.append(translator.decode(text, width, attention=True))
        for temperature in (1, 3):
            calls.append(("sample", "a b", {"seed": 9, "temperature": temperature}))
            expected.append(translator.sample("a b", temperature, seed=9))
        check_searches(folder, calls, expected, most_close=2)


def test_the_same_seed_draws_the_same_text(models) -> None:
    rng = random.Random(3)
    for folder, texts in (("en-es", held_out(30)), ("language-model", BEGINNINGS)):
        calls, expected = [], []
        for seed in (*range(30), 2**32 + 5):
            temperature, text = rng.choice([0.3, 1, 1, 1.5, 3]), rng.choice(texts)
            top_k, top_p = rng.choice([None, None, 1, 3, 40]), rng.choice([None, None, 0.5, 0.9, 1])
            options = {"temperature": temperature, "topK": top_k, "topP": top_p, "seed": seed}
            calls.append(("sample", text, options))
            expected.append(models[folder].sample(text, temperature, top_k, top_p, seed))
        check_searches(folder, calls, expected, most_close=len(calls) // 5)


def test_a_language_model_continues_alike(models) -> None:
    model, folder = models["language-model"], "language-model"
    cases = [(text, width) for text in BEGINNINGS for width in (1, 4)]
    calls = [("decode", text, {"beamWidth": width, "attention": True}) for text, width in cases]
    expected = [model.decode(text, width, attention=True) for text, width in cases]
    check_searches(folder, calls, expected, most_close=3)
    asks = [(call, text) for call in ("answer", "nextWords") for text in BEGINNINGS]
    found = answers_of_page(DATA / folder, asks)
    assert found[: len(BEGINNINGS)] == [list(model.answer(text)) for text in BEGINNINGS]
    for words, text in zip(found[len(BEGINNINGS) :], BEGINNINGS, strict=True):
        assert_same_probabilities(words, model.next_words(text))


def test_a_masked_model_fills_alike(models) -> None:
    model = models["masked-model"]
    asked = [(text, change) for text in GAPS for change in (None, *some_interventions(12, ("encoder",)))]
    plain = [(text, plain_interventions(change)) for text, change in asked]
    calls = [(call, *each) for call in ("fill", "answer") for each in plain]
    found = answers_of_page(DATA / "masked-model", calls)
    for words, tokens, each in zip(found[: len(asked)], found[len(asked) :], asked, strict=True):
        expected = model.fill(*each)
        assert_same_probabilities(words, expected)
        first, second = list(expected.values())[:2]
        if first - second > 1e-5:
            assert tokens == list(model.answer(*each))


def assert_same_probabilities(found: list[tuple[str, float]], expected: dict[str, float]) -> None:
    assert [token for token, _ in found[:3]] == list(expected)[:3]
    found = dict(found)
    assert found.keys() == expected.keys()
    assert max(abs(found[token] - expected[token]) for token in expected) < 1e-5
    assert sorted(found.values(), reverse=True) == list(found.values())


JUDGED = [
    ("en-es", "the black cat sleeps", "el gato negro duerme"),
    ("en-es", "the black cat sleeps", ["el", "gato", "<eos>", "gato"]),
    ("en-es", "Where's MARIA?", "¿dónde está María?"),
    ("language-model", "", "el gato negro duerme"),
    ("language-model", "la", ["la", "gato", "duerme"]),
    ("masked-model", "el [?] negro", "el gato negro"),
    ("masked-model", "el [?] negro", ["el", "gato", "negro"]),
]


def test_answers_are_judged_alike(models) -> None:
    for folder, text, answer in JUDGED:
        model = models[folder]
        changes = [None, *some_interventions(6, list(model.config.attention_layers))]
        calls = [("judge", text, answer, plain_interventions(each)) for each in changes]
        for found, change in zip(answers_of_page(DATA / folder, calls), changes, strict=True):
            trace, log_probs = model.judge(text, answer, change)
            np.testing.assert_allclose(found["logProbs"], log_probs, atol=1e-4)
            assert_same_trace(found["trace"], trace, CHANGED if change else 1e-5)


def assert_same_trace(found: dict[str, Any], expected: ForwardTrace, atol: float = 1e-5) -> None:
    for name, tokens in (
        ("sourceTokens", expected.source_tokens),
        ("targetTokens", expected.target_tokens),
        ("outputTokens", expected.output_tokens),
    ):
        assert found[name] == (None if tokens is None else list(tokens))
    assert found["attention"].keys() == set(expected.kinds)
    for kind, weights in found["attention"].items():
        array = expected.attention(kind)
        assert array is not None
        assert weights["shape"] == list(array.shape)
        np.testing.assert_allclose(weights["data"], array.ravel(), atol=atol)


TRACED = {
    "en-es": [SENTENCE],
    "language-model": ["el gato duerme"],
    "masked-model": ["el [?] negro", "el gato ___ ___", "el gato negro"],
}


def test_traces_and_encodings_agree_with_python(models) -> None:
    for folder, texts in TRACED.items():
        for found, text in zip(
            answers_of_page(DATA / folder, [("trace", text) for text in texts]), texts, strict=True
        ):
            assert_same_trace(found, models[folder].trace(text))
    encoded, answer = answers_of_page(DATA / "en-es", [("encode", SENTENCE), ("answer", SENTENCE)])
    expected = models["en-es"].encode(SENTENCE)
    assert (encoded["rows"], encoded["cols"]) == expected.shape
    np.testing.assert_allclose(encoded["data"], expected.ravel(), atol=1e-5)
    assert answer == list(models["en-es"].answer(SENTENCE))


UNSUITED = {
    "en-es": [
        ("decode", "", {}),
        ("decode", "the cat " * 40, {}),
        *(("decode", "the cat", {"beam_width": value}) for value in (0, 2.5)),
        *(("decode", "the cat", {"length_penalty": value}) for value in (-1, "long")),
        *(("sample", "the cat", {"temperature": value}) for value in (0, None)),
        *(("sample", "the cat", {"top_p": value}) for value in (0, 1.5)),
        ("sample", "the cat", {"top_k": 0}),
        ("sample", "the cat", {"seed": -1}),
        *(("judge", "the cat", answer) for answer in ("el dragon", ["el", "dragon"], "el gato " * 40)),
    ],
    "language-model": [
        ("decode", "el gato " * 31 + "el", {}),
        ("decode", "el gato " * 40, {}),
        ("next_words", "the dragon"),
        ("judge", "", ""),
    ],
    "masked-model": [
        *(("fill", text) for text in (" ", [], "el gato", ["el", "gato"], "el [?] [?]", "[?]")),
        ("answer", "the [?] sleeps"),
        *(("judge", "el [?] negro", text) for text in ("el gato blanco", ["el", "gato"], "el [?] negro")),
        ("trace", "el gato " * 40),
    ],
}


def test_engine_and_python_refuse_unsuitable_input_alike(models) -> None:
    for folder, requests in UNSUITED.items():
        calls = [
            (
                in_camel_case(method),
                *(camel_cased(each) if isinstance(each, dict) else each for each in given),
            )
            for method, *given in requests
        ]
        for (method, *given), answer in zip(requests, answers_of_page(DATA / folder, calls), strict=True):
            options = given.pop() if isinstance(given[-1], dict) else {}
            with pytest.raises(UserError) as raised:
                getattr(models[folder], method)(*given, **options)
            assert answer == {"error": str(raised.value)}, (method, given, options)


def in_camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def camel_cased(options: dict[str, Any]) -> dict[str, Any]:
    return {in_camel_case(name): value for name, value in options.items()}
