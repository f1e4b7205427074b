"""The code of the README and of the documentation's pages, run as it stands.

Pages with models of other people have tests of their own: recipes, interpreting.
"""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.causal_models import gpt2, tokenizer
from tests.support.source_code import ROOT
from viz_transformer._files import bundled
from viz_transformer.corpus.files import read_pairs
from viz_transformer.recipes import files

#: Pages whose code a test of their own runs.
ELSEWHERE = {"interpreting", "recipes"}


def code_of(page: str) -> list[str]:
    """The pieces of Python of a page, such as ``"docs/models"``."""
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_no_page_has_code_that_is_not_run() -> None:
    with_code = {path.stem for path in (ROOT / "docs").glob("*.md") if code_of(f"docs/{path.stem}")}
    assert with_code == ELSEWHERE | {"models", "teaching", "training", "classroom"}
    others = " ".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/test_*_docs.py"))
    assert all(f'"{page}.md"' in others for page in ELSEWHERE)


@pytest.mark.usefixtures("no_window")
def test_the_readme(folder: Path) -> None:
    """Its comments too: what each translation becomes."""
    first, choices, own_model, switched_off, language = code_of("README")
    made: dict[str, Any] = {"model": gpt2(), "tokenizer": tokenizer(), "attentions": [np.eye(2)[None]]}
    exec(first, made)
    exec(choices, made)
    assert made["view"].trace is made["trace"]
    assert made["trace"].output_tokens[made["view"].query] == "gato"
    assert (folder / "gato.html").stat().st_size > 100_000
    exec(own_model, made)
    assert list(made["trace"].target_tokens) == ["the", "cat"]
    exec(switched_off, made)
    translate, sentence = made["translator"].translate, "the teacher lost his book"
    before, after = translate(sentence).text, translate(sentence, interventions=made["changed"]).text
    assert "# el profesor → la maestra" in switched_off
    assert (before, after) == ("el profesor perdió su libro", "la maestra perdió su libro")
    exec(language, made)
    four, two = made["translations"]("the teacher sleeps"), made["translations"]("the teacher lost her book")
    assert len(four) == 4
    assert max(four, key=four.__getitem__) == "la maestra duerme"
    assert {" ".join(text.split()[:2]) for text in two} == {"la maestra", "la profesora"}


def test_the_page_of_models_describes_the_language_correctly() -> None:
    (piece,) = code_of("docs/models")
    made: dict[str, Any] = {}
    exec(piece, made)
    said = re.search(r"^# (\{.*\})$", piece, re.MULTILINE)
    found = made["translations"]("the teacher sleeps")
    assert said
    assert {text: round(share, 2) for text, share in found.items()} == eval(said[1])


def test_a_tour_is_made_saved_and_shown_again(folder: Path) -> None:
    made: dict[str, Any] = {"trace": vt.load_translator().trace("the black cat sleeps")}
    for piece in code_of("docs/teaching"):
        exec(piece, made)
    assert (folder / "tour.json").exists()
    assert (folder / "tour.html").exists()


def test_a_model_of_your_own_is_shown_and_trained(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled translator stands for the trained one, and the training is called, not run."""
    shutil.copytree(bundled("data") / "en-es", folder / "en-de")
    asked: dict[str, Any] = {}
    known = inspect.signature(files.train_files)
    monkeypatch.setattr(
        files, "train_files", lambda *args, **named: asked.update(known.bind(*args, **named).arguments)
    )
    monkeypatch.setattr(
        "viz_transformer.corpus.files.read_pairs",
        lambda *paths: inspect.signature(read_pairs).bind(*paths).args,
    )
    made: dict[str, Any] = {"vt": vt}
    for piece in code_of("docs/training"):
        exec(piece, made)
    assert "en-de" in asked.values()
    assert ("train.en.gz", "train.de.gz") in asked.values()


def test_the_predictions_of_a_class(folder: Path) -> None:
    vt.share_predictions()
    vt.predict_number("How many heads?", 8, name="1.p1").guess = 4
    (piece,) = code_of("docs/classroom")
    made: dict[str, Any] = {}
    exec(piece.replace('"/home"', repr(str(folder))), made)
