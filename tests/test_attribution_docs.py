"""The recipes of docs/attribution.md, run one after the other on small models with random weights."""

from __future__ import annotations

import re

import pytest

from tests.support.causal_models import hf, spaced_gpt2, spaced_tokenizer
from tests.support.perceiving_models import listener, looker, vit, whisper, whole_clip
from tests.support.source_code import ROOT
from tests.support.two_sided_models import bert, t5, tokenizer

PAGE = (ROOT / "docs" / "attribution.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_window")
def test_every_recipe_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for loader, made in {
        "AutoModelForCausalLM": spaced_gpt2,
        "AutoModelForSeq2SeqLM": t5,
        "AutoModelForMaskedLM": bert,
        "AutoModelForImageClassification": vit,
        "AutoImageProcessor": lambda: looker,
        "CLIPModel": whole_clip,
        "AutoModelForSpeechSeq2Seq": whisper,
        "AutoProcessor": listener,
    }.items():
        monkeypatch.setattr(getattr(hf, loader), "from_pretrained", lambda _, made=made: made())
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
        if 'against=" John"' in recipe:
            parts = names["parts"]
            assert parts.total == pytest.approx(parts.logit, abs=1e-4)
            assert (parts.token, parts.against) == ("ĠMary", "ĠJohn")
    assert names["parts"].cross_heads.shape == (2, 4)
    assert (names["heads"].what, names["heads"].kind) == ("heads", "cross")
    assert names["stream"].restored[0].max() == pytest.approx(1, abs=1e-3)
    assert names["restored"].kind == "encoder"
    assert names["by_patch"].shape == (2, 2)
    assert names["clip_parts"].total == pytest.approx(names["clip_parts"].logit, abs=1e-4)
    assert names["second"].columns == ("0–19",)  # all of the small model's sound
    assert names["listening"].kind == "cross"
