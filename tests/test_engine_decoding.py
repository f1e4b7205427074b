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

from tests.support.page_models import (
    answers_of_page,
    assert_same_hypotheses,
    assert_same_search,
    is_close_call,
)
from tests.support.tiny_decoder import VOCABULARY, tiny_model
from viz_transformer import load_language_model, load_masked_model
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.corpus import english_spanish
from viz_transformer.corpus.batches import as_text
from viz_transformer.decoding import beam_search, greedy
from viz_transformer.errors import UserError
from viz_transformer.labs.page_engine import plain_interventions
from viz_transformer.language_model import LanguageModel
from viz_transformer.masked_model import MaskedModel
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.trace import DecodeTrace, ForwardTrace
from viz_transformer.translator import Translator

#: What weights may differ by under interventions: without √d_head, or with sharpened scores, sums are
#: several times as large, and so is what their rounding changes.
CHANGED = 1e-4
DATA = Path(__file__).parents[1] / "data"
SENTENCE = "the animal did not cross the street because it was too tired"
BEGINNINGS = ["", "  ", "el gato", "¿dónde", "la maestra", "El GATO no cruzo la calle", "hola"]
GAPS = ["el [?] negro", "la ___ duerme", "¿dónde está el <mask>?", "el gato no cruzó la [MASK] porque estaba"]


@pytest.fixture(scope="module")
def language_model() -> LanguageModel:
    return load_language_model()


@pytest.fixture(scope="module")
def masked_model() -> MaskedModel:
    return load_masked_model()


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


def test_held_out_sentences_are_searched_alike(translator: Translator) -> None:
    texts = held_out(200)
    sources = [translator.vocabulary.source_ids(text) for text in texts]
    expected = beam_search(translator.model, sources, translator.vocabulary, beam_width=4)
    check_searches("en-es", [("decode", text) for text in texts], expected, most_close=40)


@pytest.mark.slow
def test_all_held_out_sentences_are_translated_alike(translator: Translator) -> None:
    texts = held_out(2_000)
    sources = [translator.vocabulary.source_ids(text) for text in texts]
    searched = beam_search(translator.model, sources, translator.vocabulary, beam_width=4)
    written = greedy(translator.model, sources, translator.vocabulary)
    found = answers_of_page(
        DATA / "en-es", [(call, text) for call in ("hypotheses", "greedy") for text in texts]
    )
    for hypotheses, expected in zip(found[:2_000], searched, strict=True):
        if is_close_call(expected):  # the best is the same even so
            assert hypotheses[0]["ids"] == list(expected.hypotheses[0].ids)
            assert abs(hypotheses[0]["score"] - expected.hypotheses[0].score) < 1e-4
        else:
            assert_same_hypotheses(hypotheses, expected)
    assert found[2_000:] == written


def test_any_width_penalty_and_attention(translator: Translator) -> None:
    settings = [(width, penalty) for width in (1, 2, 3, 5, 8) for penalty in (0, 0.6, 2)]
    texts = [SENTENCE, "the teacher sleeps"]
    calls, expected = [], []
    for width, penalty in settings:
        for text in texts:
            options = {"beamWidth": width, "lengthPenalty": penalty, "attention": True}
            calls.append(("decode", text, options))
            expected.append(translator.decode(text, width, penalty, attention=True))
    check_searches("en-es", calls, expected, most_close=4)


def test_searches_under_interventions(translator: Translator) -> None:
    texts = held_out(24)
    changes = some_interventions(24, ("encoder", "decoder", "cross"))
    pairs = list(zip(texts, changes, strict=True))
    calls = [
        ("decode", text, {"interventions": plain_interventions(change), "attention": True})
        for text, change in pairs
    ]
    expected = [translator.decode(text, interventions=change, attention=True) for text, change in pairs]
    check_searches("en-es", calls, expected, most_close=5, atol=CHANGED)


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


def test_the_same_seed_draws_the_same_text(translator: Translator, language_model: LanguageModel) -> None:
    rng = random.Random(3)
    for folder, model, texts in (
        ("en-es", translator, held_out(30)),
        ("language-model", language_model, BEGINNINGS),
    ):
        calls, expected = [], []
        for seed in (*range(50), 2**32 + 5):
            temperature, text = rng.choice([0.3, 1, 1, 1.5, 3]), rng.choice(texts)
            top_k, top_p = rng.choice([None, None, 1, 3, 40]), rng.choice([None, None, 0.5, 0.9, 1])
            options = {"temperature": temperature, "topK": top_k, "topP": top_p, "seed": seed}
            calls.append(("sample", text, options))
            expected.append(model.sample(text, temperature, top_k, top_p, seed))
        check_searches(folder, calls, expected, most_close=len(calls) // 5)


def test_a_language_model_continues_alike(language_model: LanguageModel) -> None:
    calls = [("decode", text, {"beamWidth": w, "attention": True}) for text in BEGINNINGS for w in (1, 4)]
    expected = [language_model.decode(text, w, attention=True) for text in BEGINNINGS for w in (1, 4)]
    check_searches("language-model", calls, expected, most_close=3)
    found = answers_of_page(DATA / "language-model", [("answer", text) for text in BEGINNINGS])
    assert found == [list(language_model.answer(text)) for text in BEGINNINGS]
    nexts = answers_of_page(DATA / "language-model", [("nextWords", text) for text in BEGINNINGS])
    for words, text in zip(nexts, BEGINNINGS, strict=True):
        assert_same_probabilities(words, language_model.next_words(text))


def test_a_masked_model_fills_alike(masked_model: MaskedModel) -> None:
    changes = [None, *some_interventions(12, ("encoder",))]
    asked = [(text, change) for text in GAPS for change in changes]
    found = answers_of_page(
        DATA / "masked-model",
        [(call, text, plain_interventions(change)) for call in ("fill", "answer") for text, change in asked],
    )
    for words, (text, change) in zip(found, asked, strict=False):
        assert_same_probabilities(words, masked_model.fill(text, change))
    for tokens, (text, change) in zip(found[len(asked) :], asked, strict=True):
        first, second = list(masked_model.fill(text, change).values())[:2]
        if first - second > 1e-5:
            assert tokens == list(masked_model.answer(text, change))


def assert_same_probabilities(found: list[tuple[str, float]], expected: dict[str, float]) -> None:
    assert [token for token, _ in found[:3]] == list(expected)[:3]
    found = dict(found)
    assert found.keys() == expected.keys()
    assert max(abs(found[token] - expected[token]) for token in expected) < 1e-5
    assert sorted(found.values(), reverse=True) == list(found.values())


def test_answers_are_judged_alike(
    translator: Translator, language_model: LanguageModel, masked_model: MaskedModel
) -> None:
    judged: list[tuple[str, Any, str, Any]] = [
        ("en-es", translator, "the black cat sleeps", "el gato negro duerme"),
        ("en-es", translator, "the black cat sleeps", ["el", "gato", "<eos>", "gato"]),
        ("en-es", translator, "Where's MARIA?", "¿dónde está María?"),
        ("language-model", language_model, "", "el gato negro duerme"),
        ("language-model", language_model, "la", ["la", "gato", "duerme"]),
        ("masked-model", masked_model, "el [?] negro", "el gato negro"),
        ("masked-model", masked_model, "el [?] negro", ["el", "gato", "negro"]),
    ]
    for folder, model, text, answer in judged:
        kinds = tuple(kind for kind in ("encoder", "decoder", "cross") if kind in kinds_of(model))
        changes = [None, *some_interventions(6, kinds)]
        found = answers_of_page(
            DATA / folder, [("judge", text, answer, plain_interventions(each)) for each in changes]
        )
        for each, change in zip(found, changes, strict=True):
            trace, log_probs = model.judge(text, answer, change)
            np.testing.assert_allclose(each["logProbs"], log_probs, atol=1e-4)
            assert_same_trace(each["trace"], trace, CHANGED if change else 1e-5)


def kinds_of(model: Any) -> Sequence[str]:
    return list(model.config.attention_layers)


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


def test_what_is_traced_and_encoded(
    translator: Translator, language_model: LanguageModel, masked_model: MaskedModel
) -> None:
    own, encoded, answer = answers_of_page(
        DATA / "en-es", [("trace", SENTENCE), ("encode", SENTENCE), ("answer", SENTENCE)]
    )
    assert_same_trace(own, translator.trace(SENTENCE))
    expected = translator.encode(SENTENCE)
    assert (encoded["rows"], encoded["cols"]) == expected.shape
    np.testing.assert_allclose(encoded["data"], expected.ravel(), atol=1e-5)
    assert answer == list(translator.answer(SENTENCE))
    (read,) = answers_of_page(DATA / "language-model", [("trace", "el gato duerme")])
    assert_same_trace(read, language_model.trace("el gato duerme"))
    texts = ["el [?] negro", "el gato ___ ___", "el gato negro"]
    for text, each in zip(
        texts, answers_of_page(DATA / "masked-model", [("trace", text) for text in texts]), strict=True
    ):
        assert_same_trace(each, masked_model.trace(text))


LONG = "the cat " * 40


@pytest.mark.parametrize(
    ("folder", "requests"),
    [
        (
            "en-es",
            [
                ("decode", "", {}),
                ("decode", LONG, {}),
                ("decode", "the cat", {"beam_width": 0}),
                ("decode", "the cat", {"beam_width": 2.5}),
                ("decode", "the cat", {"length_penalty": -1}),
                ("decode", "the cat", {"length_penalty": "long"}),
                ("sample", "the cat", {"temperature": 0}),
                ("sample", "the cat", {"temperature": None}),
                ("sample", "the cat", {"top_k": 0}),
                ("sample", "the cat", {"top_p": 0}),
                ("sample", "the cat", {"top_p": 1.5}),
                ("sample", "the cat", {"seed": -1}),
                ("judge", "the cat", "el dragon"),
                ("judge", "the cat", ["el", "dragon"]),
                ("judge", "the cat", "el gato " * 40),
            ],
        ),
        (
            "language-model",
            [
                ("decode", "el gato " * 31 + "el", {}),
                ("decode", "el gato " * 40, {}),
                ("next_words", "the dragon"),
                ("judge", "", ""),
            ],
        ),
        (
            "masked-model",
            [
                ("fill", " "),
                ("fill", []),
                ("fill", "el gato"),
                ("fill", ["el", "gato"]),
                ("fill", "el [?] [?]"),
                ("fill", "[?]"),
                ("answer", "the [?] sleeps"),
                ("judge", "el [?] negro", "el gato blanco"),
                ("judge", "el [?] negro", ["el", "gato"]),
                ("judge", "el [?] negro", "el [?] negro"),
                ("trace", "el gato " * 40),
            ],
        ),
    ],
)
def test_what_does_not_suit_is_said_alike(
    folder: str, requests: list[tuple[Any, ...]], request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue({"en-es": "translator"}.get(folder, folder.replace("-", "_")))
    calls = [
        (camel_case(method), *(camel_cased(each) if isinstance(each, dict) else each for each in given))
        for method, *given in requests
    ]
    for (method, *given), answer in zip(requests, answers_of_page(DATA / folder, calls), strict=True):
        options = given.pop() if isinstance(given[-1], dict) else {}
        with pytest.raises(UserError) as raised:
            getattr(model, method)(*given, **options)
        assert answer == {"error": str(raised.value)}, (method, given, options)


def camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def camel_cased(options: dict[str, Any]) -> dict[str, Any]:
    return {camel_case(name): value for name, value in options.items()}
