"""A translator over a tiny vocabulary, small enough to search by brute force."""

from __future__ import annotations

from dataclasses import replace

import torch

from tests.support.training_runs import MODEL
from viz_transformer.model import Transformer
from viz_transformer.training import make_model
from viz_transformer.vocabulary import Vocabulary

WORDS = ("a", "b")
VOCABULARY = Vocabulary(WORDS, WORDS)
EOS = VOCABULARY.eos_id


def tiny_model(seed: int, sharpness: float = 3.0) -> Transformer:
    """A random model whose probabilities are uneven enough to tell translations apart."""
    config = replace(MODEL, vocab_size=len(VOCABULARY), d_model=8, d_ff=8, max_length=16, dropout=0.3)
    model = make_model(config, seed).eval()
    with torch.no_grad():
        model.source_embedding.weight.mul_(sharpness)
    return model


@torch.no_grad()
def log_prob(model: Transformer, source: list[int], ids: list[int]) -> float:
    """The log-probability of `ids` and the <eos> after them, from one teacher-forced pass."""
    target = torch.tensor([[VOCABULARY.sos_id, *ids, EOS]])
    logits = model(torch.tensor([source]), target[:, :-1])[0]  # [target, vocab]
    picked = logits.log_softmax(-1).gather(-1, target[0, 1:, None])
    return picked.sum().item()
