"""Causes as views: their numbers are those of vt.attribution, and what does not fit is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.causal_models import CLEAN, CORRUPTED, gpt2, llama, logits_of, randomised, tokenizer
from tests.support.huggingface_models import BERT_SIZES, hf
from tests.support.refusals import assert_refused
from tests.support.spanish_models import small_language_model
from tests.support.ui_views import direct_shares
from viz_transformer.attribution import direct_logit_attribution, logit_lens, patching

PAIR = ("Mary", "John")


def floats(data: bytes, dtype: str = "<f4") -> np.ndarray:
    return np.frombuffer(data, dtype)


@pytest.mark.parametrize("make", [gpt2, llama])
def test_every_number_is_that_of_the_attribution(make) -> None:
    model, words = make(), tokenizer()
    view = vt.patch_lens(model, CLEAN, CORRUPTED, PAIR, tokenizer=words)
    for what in ("positions", "heads"):
        found = patching(model, CLEAN, CORRUPTED, PAIR, what, tokenizer=words)
        np.testing.assert_allclose(view.restored(what), found.restored, atol=1e-5)
        layer, at = np.unravel_index(np.abs(found.restored).argmax(), found.restored.shape)
        alone = view.answer({"what": what, "patches": [{"layer": int(layer), "at": int(at)}]})
        assert alone["value"] == pytest.approx(found.values[layer, at], abs=1e-5)
    lens = logit_lens(model, CLEAN, tokenizer=words, metric=PAIR)
    reply = view.answer({"what": "lens"})
    assert reply["top"] == lens.top_tokens.ravel().tolist()
    np.testing.assert_array_equal(floats(reply["ranks"]), lens.answer_ranks.ravel())
    np.testing.assert_array_equal(floats(reply["values"]), np.asarray(lens.values).ravel())
    parts = direct_logit_attribution(model, CLEAN, tokenizer=words, metric=PAIR)
    reply = view.answer({"what": "direct"})
    shares = floats(reply["values"]).reshape(len(parts.heads), -1)
    np.testing.assert_array_equal(shares[:, :-1], parts.heads)
    np.testing.assert_array_equal(shares[:, -1], parts.mlps)
    assert reply["logit"] == parts.logit


def test_all_positions_together_are_the_clean_run_and_nothing_moves_before_a_patch() -> None:
    model, words = gpt2(), tokenizer()
    view = vt.patch_lens(model, CLEAN, CORRUPTED, PAIR, tokenizer=words)
    n_layers, n_positions = view.start["sizes"]["positions"]
    everywhere = [{"layer": 0, "at": at} for at in range(n_positions)]
    reply = view.answer({"what": "positions", "patches": everywhere})
    clean = view.start["clean"]
    assert reply["value"] == pytest.approx(clean["value"], abs=1e-5)
    assert reply["words"] == clean["words"]
    np.testing.assert_allclose(reply["shares"], clean["shares"], atol=1e-6)
    own = logits_of(model, words(CORRUPTED)["input_ids"])[-1].softmax(-1)
    ids = words.convert_tokens_to_ids(reply["words"])
    np.testing.assert_allclose(reply["before"], own[ids].numpy(), atol=1e-6)
    moved = floats(view.answer({"what": "positions", "patches": [{"layer": 1, "at": 6}]})["moved"], "<f2")
    moved = moved.reshape(n_layers + 1, n_positions)
    assert not moved[:2].any()  # the patch enters layer 1
    assert not moved[:, :6].any()  # and nobody looks ahead
    assert moved[2, 6:].any()


def test_the_metric_is_by_default_what_the_two_runs_write() -> None:
    model = small_language_model()
    view = vt.patch_lens(model, "el gato", "la gata")
    assert view.start["metric"] == "logit of negro − negra"
    assert (view.start["clean"]["words"][0], view.start["corrupted"]["words"][0]) == ("negro", "negra")
    (patch,) = view.patches
    row = np.abs(view.restored("positions")[patch["layer"]])
    assert row[patch["at"]] == row.max()
    questions = view.questions()
    assert {"what": "positions", "patches": view.patches} in questions
    assert {"what": "lens"} in questions


def masked() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    return vt.load_masked_model(), ("la vaca [?] cansada", "la vaca [?] cansado"), {}


def translating() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    return vt.load_translator(), ("the black cat sleeps", "the black dog sleeps"), {"target": "el"}


def classifying() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    model = randomised(hf.BertForSequenceClassification(hf.BertConfig(**BERT_SIZES)).eval())
    return model, ([1, 2, 3], [1, 4, 3]), {"metric": "LABEL_1"}


@pytest.mark.parametrize("made", [masked, translating, classifying])
def test_encoders_both_and_classifiers_have_their_causes(made) -> None:
    model, prompts, options = made()
    view = vt.patch_lens(model, *prompts, **options)
    n_layers, n_positions = view.start["sizes"]["positions"]
    assert view.restored("positions").shape == (n_layers, n_positions)
    assert len(view.start["clean"]["tokens"]) == n_positions
    assert isinstance(prompts[0], list) or prompts[0].split()[-1] in view.heading()
    assert np.abs(view.restored("heads")).max() > 0
    first = view.answer({"what": "positions", "patches": view.patches})
    assert first["value"] == pytest.approx(
        view._map("positions").values[view.patches[0]["layer"], view.patches[0]["at"]], abs=1e-4
    )
    assert view.answer({"what": "lens"})["rows"][0] == "embedding"
    assert "Activation patching" in view.alt_text()


def test_what_was_found_before_is_explored_without_a_model() -> None:
    model, words = gpt2(), tokenizer()
    lens = logit_lens(model, CLEAN, tokenizer=words)
    view = vt.explore_lens(lens)
    assert (view.picture, view.answer({"what": "lens"})["followed"]) == ("lens", list(lens.answers))
    assert view.questions() == [{"what": "lens"}]
    assert direct_shares().picture == "direct"
    view.layer, view.at = 2, 7
    assert "Logit lens over 3 rows" in view.alt_text()


def test_what_does_not_fit_is_refused_in_one_line() -> None:
    model, words = gpt2(), tokenizer()
    view = vt.patch_lens(model, CLEAN, CORRUPTED, PAIR, tokenizer=words)
    spanish = vt.patch_lens(small_language_model(), "el gato", "la gata")

    def setting(name: str, value: Any) -> Any:
        return lambda: setattr(view, name, value)

    assert_refused(
        [
            (lambda: vt.patch_lens(model, CLEAN, CLEAN + " the", PAIR, tokenizer=words), "as many tokens"),
            (lambda: vt.patch_lens(model, CLEAN, CLEAN, PAIR, tokenizer=words), "nothing to bring back"),
            (lambda: vt.patch_lens(model, CLEAN, CORRUPTED, "Paul", tokenizer=words), "one token is needed"),
            (lambda: vt.explore_lens(3), "is no lens"),  # type: ignore[arg-type]
            (lambda: vt.explore_attribution(3), "is no attribution"),  # type: ignore[arg-type]
            (setting("picture", "rank"), "but this view has"),
            (setting("patches", [{"layer": 9, "at": 0}]), "layer=9, but the grid has 2"),
            (setting("patches", [{"layer": 1}]), "is no patch; give such as"),
            (setting("at", 40), "at=40, but the grid has 8"),
            (lambda: view.answer({"what": "positions", "layer": 9}), "the grid has 2"),
            (lambda: spanish.answer({"what": "direct"}), "give a pre-norm model, or patch"),
        ]
    )
    assert len(view.patches) == 1
