"""The code of docs/interpreting.md, run from top to bottom on small models."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.attending_models import Given, run
from tests.support.causal_models import SPACED, spaced_tokenizer
from tests.support.huggingface_models import hf, hooks
from tests.support.perceiving_models import vit
from tests.support.source_code import ROOT
from tests.support.two_sided_models import t5, tokenizer

PAGE = (ROOT / "docs" / "interpreting.md").read_text(encoding="utf-8")


def gpt2() -> Any:
    """As many layers and heads as the page names."""
    torch.manual_seed(0)
    sizes = {"n_embd": 28, "n_layer": 10, "n_head": 7, "n_positions": 32, "vocab_size": len(SPACED)}
    return hf.GPT2LMHeadModel(hf.GPT2Config(**sizes, bos_token_id=1, eos_token_id=2)).eval()


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The names that the page's blocks leave behind; what would be downloaded is made instead."""
    loaders = {
        "AutoModelForCausalLM": lambda _: gpt2(),
        "AutoModelForSeq2SeqLM": lambda _: t5(),
        "AutoModelForImageClassification": lambda _: vit(),
        "AutoTokenizer": lambda name: spaced_tokenizer() if name == "gpt2" else tokenizer(),
    }
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        for loader, made in loaders.items():
            patch.setattr(getattr(hf, loader), "from_pretrained", made)
        for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
            exec(block, names)
    return names


@pytest.mark.usefixtures("no_window")
def test_the_page_s_code_gives_what_its_comments_say(found: dict[str, Any]) -> None:
    model, inputs = found["model"], found["inputs"]
    whole = model(**inputs).logits
    for changed in (found["without"], found["logits"]):
        assert changed.shape == whole.shape
        assert not torch.equal(changed, whole)
    assert found["outputs"].shape == (10, 7, whole.shape[1], 4)
    of_pair = found["without"][0, -1, [SPACED.index("ĠMary"), SPACED.index("ĠJohn")]]
    expected = (of_pair[0] - of_pair[1]).item() - found["ranking"].whole
    np.testing.assert_allclose(found["ranking"].changes["decoder"][9, 6], expected, atol=1e-6)
    parts = found["parts"]
    assert parts.total == pytest.approx(parts.logit, abs=1e-4)
    assert (parts.token, parts.against) == ("ĠMary", "ĠJohn")
    assert found["stream"].restored[0].max() == pytest.approx(1, abs=1e-3)
    assert found["cross"].shape == (2, 4)
    assert (found["of_cross"].what, found["of_cross"].kind) == ("heads", "cross")
    assert found["by_patch"].restored.shape == (2, 5)
    assert not any(any(hooks(module)) for module in model.modules())


@pytest.mark.usefixtures("no_window")
def test_every_change_of_the_table_is_one(found: dict[str, Any]) -> None:
    model, inputs, vt = found["model"], found["inputs"], found["vt"]
    outputs = found["outputs"][0, 0]
    rows = {"mean": outputs, "output": outputs, "pattern": np.eye(len(outputs))}
    changes = re.findall(r"`(\w+)=([^`]+)`", " ".join(re.findall(r"^\| (`.*?`) \| ", PAGE, re.MULTILINE)))
    assert len(changes) == 6
    for name, value in changes:
        given = {name: rows[name] if value == "rows" else eval(value)}
        with vt.interventions(model, heads=[vt.HeadChange("decoder", 0, 0, **given)]):
            assert run(model, Given((), dict(inputs))).isfinite().all()
