"""What `capture` needs of a model of TransformerLens, on a handful of words.

The models themselves are captured in test_transformer_lens.py, with the extra `lens`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from tests.support.huggingface_models import word_piece

N_LAYERS, N_HEADS = 3, 4


class HookedModel(nn.Module):
    """A stack of random attention whose weights only its cache tells.

    Attributes:
        read: what its last run read: its `ids` [batch, position], and its other inputs, `named`.
    """

    def __init__(self, tokenizer: Any = None, attention_dir: str = "causal") -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.cfg = SimpleNamespace(attention_dir=attention_dir)
        self.hook_dict = {f"blocks.{i}.attn.hook_pattern": nn.Identity() for i in range(N_LAYERS)}
        self.read = SimpleNamespace()  # no list, which capture would restore

    @classmethod
    def boot_transformers(cls, name: str) -> HookedModel:
        assert name == "gpt2"
        return cls(word_piece(special=False))

    def to_tokens(self, text: str, prepend_bos: bool = True) -> Tensor:
        return torch.tensor([[2] * prepend_bos + self.tokenizer(text)["input_ids"]])

    def forward(self, input: Tensor, prepend_bos: bool = True, attention_mask: Tensor | None = None) -> None:
        """Take what the model takes; nothing is computed."""

    def run_with_cache(
        self, ids: Tensor, names_filter: Any = None, **named: Any
    ) -> tuple[None, dict[str, Tensor]]:
        self.read.ids, self.read.named = ids, named
        names = [name for name in self.hook_dict if names_filter is None or names_filter(name)]
        return None, {name: pattern(name, *ids.shape, self.cfg.attention_dir) for name in names}


def pattern(name: str, n_sentences: int, n: int, attention_dir: str) -> Tensor:
    """The weights [batch, head, query, key] of a hook point, the same in each run."""
    scores = torch.randn(
        n_sentences, N_HEADS, n, n, generator=torch.Generator().manual_seed(len(name) + ord(name[7]))
    )
    if attention_dir == "causal":
        scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)
    return scores.softmax(-1)
