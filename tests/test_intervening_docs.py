"""The code of docs/interventions.md and docs/attribution.md, run from top to bottom on small models."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.support.attending_models import N_WORDS, Given, run, word_tokenizer
from tests.support.causal_models import spaced_gpt2, spaced_tokenizer
from tests.support.huggingface_models import hf, hooks
from tests.support.perceiving_models import listener, looker, vit, whisper, whole_clip
from tests.support.source_code import ROOT
from tests.support.two_sided_models import bert, t5, tokenizer


def gpt2() -> nn.Module:
    """As many layers and heads as the page names."""
    torch.manual_seed(0)
    sizes = {"n_embd": 28, "n_layer": 10, "n_head": 7, "n_positions": 32, "vocab_size": N_WORDS}
    return hf.GPT2LMHeadModel(hf.GPT2Config(**sizes, bos_token_id=1, eos_token_id=2)).eval()


def after(page: str, loaders: dict[str, Callable[[str], Any]], patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that a page's blocks leave behind; what would be downloaded is made instead."""
    for loader, made in loaders.items():
        patch.setattr(getattr(hf, loader), "from_pretrained", made)
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        exec(block, names)
        if 'against=" John"' in block:
            parts = names["parts"]
            assert parts.total == pytest.approx(parts.logit, abs=1e-4)
            assert (parts.token, parts.against) == ("ĠMary", "ĠJohn")
    return names


def test_the_code_about_interventions_does_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "interventions.md").read_text(encoding="utf-8")
    loaders = {
        "AutoModelForCausalLM": lambda _: gpt2(),
        "AutoTokenizer": lambda _: word_tokenizer(ends=False),
    }
    found = after(page, loaders, monkeypatch)
    model, inputs, vt = found["model"], found["inputs"], found["vt"]
    whole = model(**inputs).logits
    for changed in (found["without"], found["logits"]):
        assert changed.shape == whole.shape
        assert not torch.equal(changed, whole)
    assert found["said"].shape == (10, 7, 13, 4)
    changes = found["ranking"].changes["decoder"]
    assert changes.shape == (10, 7)
    expected = found["difference"](type("Output", (), {"logits": found["without"]})).item()
    np.testing.assert_allclose(changes[9, 6], expected - found["ranking"].whole, atol=1e-6)
    assert found["lab"].task == "continue"
    assert not any(any(hooks(module)) for module in model.modules())
    # Every change in the first column of the table is one, with rows where it says rows.
    table = re.findall(r"^\| (`.*?`) \| ", page, re.MULTILINE)
    rows = {"mean": found["said"][0, 0], "output": found["said"][0, 0], "pattern": np.eye(13)}
    for name, value in re.findall(r"(\w+)=([^`]+)`", " ".join(table)):
        given = {name: rows[name] if value == "rows" else eval(value)}
        with vt.interventions(model, heads=[vt.HeadChange("decoder", 0, 0, **given)]):
            assert run(model, Given((), dict(inputs))).isfinite().all()


@pytest.mark.usefixtures("no_window")
def test_the_code_about_attribution_does_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "attribution.md").read_text(encoding="utf-8")
    loaders = {
        "AutoModelForCausalLM": lambda _: spaced_gpt2(),
        "AutoModelForSeq2SeqLM": lambda _: t5(),
        "AutoModelForMaskedLM": lambda _: bert(),
        "AutoModelForImageClassification": lambda _: vit(),
        "AutoImageProcessor": lambda _: looker,
        "CLIPModel": lambda _: whole_clip(),
        "AutoModelForSpeechSeq2Seq": lambda _: whisper(),
        "AutoProcessor": lambda _: listener(),
        "AutoTokenizer": lambda name: spaced_tokenizer() if name == "gpt2" else tokenizer(),
    }
    found = after(page, loaders, monkeypatch)
    assert found["parts"].cross_heads.shape == (2, 4)
    assert (found["heads"].what, found["heads"].kind) == ("heads", "cross")
    assert found["stream"].restored[0].max() == pytest.approx(1, abs=1e-3)
    assert found["restored"].kind == "encoder"
    assert found["by_patch"].shape == (2, 2)
    assert found["clip_parts"].total == pytest.approx(found["clip_parts"].logit, abs=1e-4)
    assert found["second"].columns == ("0–19",)  # all of the small model's sound
    assert found["listening"].kind == "cross"
