"""The recipes of docs/attribution.md, run one after the other on small models with random weights."""

from __future__ import annotations

import re

import pytest

from tests.support.causal_models import hf, spaced_gpt2, spaced_tokenizer
from tests.support.source_code import ROOT
from tests.support.two_sided_models import bert, t5, tokenizer

PAGE = (ROOT / "docs" / "attribution.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_window")
def test_every_recipe_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf.AutoModelForCausalLM, "from_pretrained", lambda _: spaced_gpt2())
    monkeypatch.setattr(hf.AutoModelForSeq2SeqLM, "from_pretrained", lambda _: t5())
    monkeypatch.setattr(hf.AutoModelForMaskedLM, "from_pretrained", lambda _: bert())
    monkeypatch.setattr(
        hf.AutoTokenizer,
        "from_pretrained",
        lambda name: spaced_tokenizer() if name == "gpt2" else tokenizer(),
    )
    recipes = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(recipes) >= 8
    names: dict = {}
    for recipe in recipes:
        exec(recipe, names)
        if "against=" in recipe:
            parts = names["parts"]
            assert parts.total == pytest.approx(parts.logit, abs=1e-4)
            assert (parts.token, parts.against) == ("ĠMary", "ĠJohn")
    assert names["parts"].cross_heads.shape == (2, 4)
    assert (names["heads"].what, names["heads"].kind) == ("heads", "cross")
    assert names["stream"].restored[0].max() == pytest.approx(1, abs=1e-3)
    assert names["restored"].kind == "encoder"
