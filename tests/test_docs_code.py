"""The code of the documentation's pages, run as it stands.

Pages with models of other people have tests of their own: recipes, interventions, attribution.
"""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import viz_transformer as vt
from tests.support.source_code import ROOT
from viz_transformer._files import bundled
from viz_transformer.corpus.files import read_pairs
from viz_transformer.recipes import files

#: Pages whose code a test of their own runs.
ELSEWHERE = {"attribution", "interventions", "recipes"}


def code_of(page: str) -> list[str]:
    """The pieces of Python of a page."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_no_page_has_code_that_is_not_run() -> None:
    with_code = {path.stem for path in (ROOT / "docs").glob("*.md") if code_of(path.stem)}
    assert with_code == ELSEWHERE | {"models", "start", "teaching", "training"}
    others = " ".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/test_*_docs.py"))
    assert all(f'"{page}.md"' in others for page in ELSEWHERE)


def test_the_first_two_minutes(folder: Path) -> None:
    made: dict[str, Any] = {}
    for piece in code_of("start"):
        exec(piece, made)
    assert made["view"].trace is made["trace"]
    assert made["trace"].output_tokens[made["view"].query] == "gato"
    assert (folder / "gato.html").stat().st_size > 100_000


def test_what_the_page_of_models_says_of_the_language() -> None:
    (piece,) = code_of("models")
    made: dict[str, Any] = {}
    exec(piece, made)
    said = re.search(r"^# (\{.*\})$", piece, re.MULTILINE)
    found = made["translations"]("the teacher sleeps")
    assert said
    assert {text: round(share, 2) for text, share in found.items()} == eval(said[1])


def test_a_tour_is_made_saved_and_shown_again(folder: Path) -> None:
    made: dict[str, Any] = {"trace": vt.load_translator().trace("the black cat sleeps")}
    for piece in code_of("teaching"):
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
    for piece in code_of("training"):
        exec(piece, made)
    assert "en-de" in asked.values()
    assert ("train.en.gz", "train.de.gz") in asked.values()
