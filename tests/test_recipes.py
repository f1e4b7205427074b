"""The recipe that makes the bundled translator, on a shortened run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

import viz_transformer.recipes as recipes
from viz_transformer.corpus import english_spanish
from viz_transformer.translator import load_translator

pytestmark = pytest.mark.usefixtures("shapes_unchecked")


@pytest.fixture
def small_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "english_spanish", lambda: english_spanish(n_train=3000))


def test_it_gives_the_same_file_twice_and_says_how_it_was_made(
    small_corpus: None, tmp_path: Path
) -> None:
    training = replace(recipes.TRAINING, n_steps=12, batch_size=16)
    digests = []
    for name in ("first", "again"):
        seen: list[int] = []

        def watched(records, total, seen=seen):
            for record in records:
                seen.append(record.step)
                yield record
            assert total == 12

        folder = recipes.train_english_spanish(tmp_path / name, training, progress=watched)
        assert seen == list(range(1, 13))
        digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
        made_by = json.loads((folder / "made_by.json").read_text())
        assert made_by["sha256"]["model.safetensors"] == digest
        assert made_by["training"]["n_steps"] == 12
        digests.append(digest)
    assert digests[0] == digests[1]
    assert load_translator(tmp_path / "first").config.d_model == recipes.MODEL.d_model


def test_evaluation_names_both_held_out_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    full = english_spanish(n_train=0)
    few = replace(full, held_out=full.held_out[:5], held_out_reasons=full.held_out_reasons[:4])
    monkeypatch.setattr(recipes, "english_spanish", lambda n_train: few)
    scores = recipes.evaluate_english_spanish(load_translator())
    assert [(score.name, score.n) for score in scores] == [
        ("held-out combinations", 5),
        ("held-out tired/wide", 4),
    ]
