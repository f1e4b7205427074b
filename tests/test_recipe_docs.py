"""The recipes of docs/recipes.md, each run as it stands on a small model with random weights."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.hooked_model import HookedModel
from tests.support.huggingface_models import PIECES, hf, tiny, word_piece
from tests.support.source_code import ROOT

PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
#: Each recipe's code by its heading.
RECIPES = {
    part.partition("\n")[0]: "\n".join(re.findall(r"```python\n(.*?)```", part, re.DOTALL))
    for part in PAGE.split("\n## ")[1:]
}


def listener() -> Any:
    """A processor of sound that gives as many features as the small Whisper reads."""

    def listen(sound: np.ndarray, **_options: Any) -> SimpleNamespace:
        return SimpleNamespace(
            input_features=torch.tensor(sound[:160], dtype=torch.float32).reshape(1, 8, 20)
        )

    listen.tokenizer = word_piece(special=False)
    return listen


def looker(picture: np.ndarray, **_options: Any) -> SimpleNamespace:
    """A processor of pictures that gives 8 × 8 pixels."""
    pixels = torch.from_numpy(picture[:8, :8] / 255).float()  # [row, column, colour]
    return SimpleNamespace(pixel_values=pixels.permute(2, 0, 1)[None])


def words(model_class: str, **sizes: int) -> Callable[[], Any]:
    return lambda: tiny(model_class, vocab_size=len(PIECES), bos_token_id=2, eos_token_id=3, **sizes)


#: For each checkpoint that a recipe names: what its model is here, and its tokenizer or processor.
SMALL: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "gpt2": (words("GPT2LMHeadModel"), lambda: word_piece(special=False)),
    "meta-llama/Llama-3.2-1B": (words("LlamaForCausalLM"), lambda: word_piece(special=False)),
    "bert-base-uncased": (words("BertModel"), lambda: word_piece(special=True)),
    "distilbert-base-uncased": (words("DistilBertModel"), lambda: word_piece(special=True)),
    "Helsinki-NLP/opus-mt-en-es": (words("MarianMTModel"), lambda: word_piece(special=True)),
    "google-t5/t5-small": (words("T5ForConditionalGeneration"), lambda: word_piece(special=True)),
    "openai/whisper-tiny": (
        words("WhisperForConditionalGeneration", num_mel_bins=8, max_source_positions=10),
        listener,
    ),
    "google/vit-base-patch16-224": (lambda: tiny("ViTModel", image_size=8, patch_size=4), lambda: looker),
}


@pytest.fixture
def small_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give small random models under the names of the recipes."""
    for auto in ("AutoModel", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForSpeechSeq2Seq"):
        monkeypatch.setattr(getattr(hf, auto), "from_pretrained", lambda name: SMALL[name][0]())
    for auto in ("AutoTokenizer", "AutoProcessor", "AutoImageProcessor"):
        monkeypatch.setattr(getattr(hf, auto), "from_pretrained", lambda name: SMALL[name][1]())
    bridge = ModuleType("transformer_lens.model_bridge")
    bridge.TransformerBridge = HookedModel
    monkeypatch.setitem(sys.modules, "transformer_lens", ModuleType("transformer_lens"))
    monkeypatch.setitem(sys.modules, "transformer_lens.model_bridge", bridge)


#: The kinds of attention that each recipe shows.
KINDS = {
    "GPT-2": ("decoder",),
    "Llama": ("decoder",),
    "BERT": ("encoder",),
    "Marian": ("encoder", "decoder", "cross"),
    "T5": ("encoder", "decoder", "cross"),
    "Whisper": ("encoder", "decoder", "cross"),
    "ViT": ("encoder",),
    "TransformerLens": ("decoder",),
    "A class of your own": ("decoder",),
    "A training loop": ("decoder",),
}


@pytest.mark.usefixtures("small_checkpoints")
def test_every_recipe_runs_and_shows_every_kind() -> None:
    assert list(RECIPES) == list(KINDS)
    n_whole = sum(code.count("import viz_transformer as vt") for code in RECIPES.values())
    assert PAGE.count("```python") == n_whole + 4
    made: dict[str, dict[str, Any]] = {heading: {} for heading in RECIPES}
    for heading, code in RECIPES.items():
        torch.manual_seed(0)
        exec(code, made[heading])
        trace = made[heading]["traces"][-1] if "traces" in made[heading] else made[heading]["trace"]
        assert trace.kinds == KINDS[heading], heading
        lines = [line for line in code.splitlines() if line.startswith("vt.explore(")]
        views = [eval(line, made[heading]) for line in lines]
        assert all(isinstance(view, vt.AttentionExplorer) for view in views), heading
        assert views[0].trace is trace, heading
    # What a recipe says of its trace is so.
    assert made["Llama"]["trace"].layer_numbers("decoder") == (0, 1)
    assert made["Llama"]["trace"].decoder_attention.dtype == np.float16
    assert made["GPT-2"]["scores"]["induction"].shape == (2, 4)
    assert len(made["A training loop"]["traces"]) == 5
    assert made["A training loop"]["model"].training, "capture leaves a training model in training"
