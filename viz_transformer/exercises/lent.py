"""The parts of a Transformer, lent to ``my_transformer.py`` until the student has written them.

They are also what the checks compare an answer with.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

__all__ = [
    "DecoderBlock",
    "EncoderBlock",
    "LayerNorm",
    "MultiHeadAttention",
    "Transformer",
    "ablate",
    "attend",
    "beam_search",
    "cached_step",
    "causal_mask",
    "embed",
    "join_heads",
    "loss",
    "padding_mask",
    "positional_encoding",
    "softmax",
    "split_heads",
    "training_step",
]


def embed(ids: Tensor, table: Tensor) -> Tensor:
    """Look ids up in a table of vectors: [...] and [vocabulary, d_model] give [..., d_model]."""
    return table[ids]


def softmax(scores: Tensor) -> Tensor:
    """Turn the scores along the last axis into weights that add up to 1."""
    largest = scores.amax(dim=-1, keepdim=True)
    powers = torch.exp(scores - largest)  # at most 1, so nothing overflows
    return powers / powers.sum(dim=-1, keepdim=True)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Compute attention; return its output and its weights.

    query: [..., n_queries, d], key: [..., n_keys, d], value: [..., n_keys, d_value]; mask is True
    where a query may attend to a key.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # [..., n_queries, n_keys]
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = softmax(scores)
    return weights @ value, weights


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Split the last axis into heads: [..., n, d_model] becomes [..., n_heads, n, d_head]."""
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def join_heads(x: Tensor) -> Tensor:
    """Join the heads again: [..., n_heads, n, d_head] becomes [..., n, d_model]."""
    return x.transpose(-3, -2).flatten(-2)


class MultiHeadAttention(nn.Module):
    """Several heads of attention side by side."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Let each position of x attend to memory; return the output and the weights."""
        query = split_heads(self.query(x), self.n_heads)
        key = split_heads(self.key(memory), self.n_heads)
        value = split_heads(self.value(memory), self.n_heads)
        heads, weights = attend(query, key, value, mask)
        return self.output(join_heads(heads)), weights


def positional_encoding(n_positions: int, d_model: int) -> Tensor:
    """Return the sinusoids of the Transformer paper: [n_positions, d_model]."""
    position = torch.arange(n_positions).unsqueeze(1)  # [n_positions, 1]
    even = torch.arange(0, d_model, 2)  # [d_model / 2]
    angle = position / 10_000 ** (even / d_model)  # [n_positions, d_model / 2]
    encoding = torch.zeros(n_positions, d_model)
    encoding[:, 0::2] = torch.sin(angle)
    encoding[:, 1::2] = torch.cos(angle)
    return encoding


def loss(logits: Tensor, targets: Tensor, pad_id: int) -> Tensor:
    """Return the mean cross-entropy over the tokens that are not padding.

    logits: [batch, n, vocabulary], targets: [batch, n].
    """
    log_probabilities = torch.log_softmax(logits, dim=-1)
    right = log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)  # [batch, n]
    return -right[targets != pad_id].mean()


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Return what may be attended to, [batch, 1, 1, n_keys]: every token but padding."""
    return (ids != pad_id)[:, None, None, :]


def causal_mask(n: int) -> Tensor:
    """Return what may be attended to, [n, n]: each position itself and those before it."""
    return torch.ones(n, n, dtype=torch.bool).tril()


class LayerNorm(nn.Module):
    """Give each vector mean 0 and variance 1, then scale and shift it."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last axis of x."""
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)
        return (x - mean) / torch.sqrt(variance + 1e-5) * self.scale + self.shift


def feed_forward(d_model: int, d_ff: int) -> nn.Sequential:
    """Return the feed-forward network of a block: it treats each position by itself."""
    return nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))


class EncoderBlock(nn.Module):
    """Self-attention, then a feed-forward network; each is added to its input and normalised."""

    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = feed_forward(d_model, d_ff)
        self.norms = nn.ModuleList(LayerNorm(d_model) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return [batch, n, d_model]."""
        x = self.norms[0](x + self.attention(x, x, mask)[0])
        return self.norms[1](x + self.feed_forward(x))


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the encoder's output, then a feed-forward network."""

    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = feed_forward(d_model, d_ff)
        self.norms = nn.ModuleList(LayerNorm(d_model) for _ in range(3))

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor) -> Tensor:
        """Return [batch, n, d_model]; memory is the encoder's output."""
        x = self.norms[0](x + self.attention(x, x, mask)[0])
        x = self.norms[1](x + self.cross_attention(x, memory, memory_mask)[0])
        return self.norms[2](x + self.feed_forward(x))


class Transformer(nn.Module):
    """An encoder and a decoder; one table embeds source and target and gives the logits."""

    def __init__(self, vocabulary_size: int, d_model: int, n_heads: int, d_ff: int, n_layers: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocabulary_size, d_model) / math.sqrt(d_model))
        self.encoder = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.decoder = nn.ModuleList(DecoderBlock(d_model, n_heads, d_ff) for _ in range(n_layers))

    def _vectors(self, ids: Tensor) -> Tensor:
        d_model = self.table.shape[1]
        positions = positional_encoding(ids.shape[1], d_model).to(self.table.device)
        return embed(ids, self.table) * math.sqrt(d_model) + positions

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the logits [batch, target, vocabulary] of the token after each of target.

        source: [batch, source] and target: [batch, target] are ids, padded with 0.
        """
        source_mask = padding_mask(source, 0)
        target_mask = padding_mask(target, 0) & causal_mask(target.shape[1]).to(target.device)
        memory = self._vectors(source)
        for block in self.encoder:
            memory = block(memory, source_mask)
        x = self._vectors(target)
        for block in self.decoder:
            x = block(x, memory, target_mask, source_mask)
        return x @ self.table.T


def training_step(
    model: nn.Module, optimiser: torch.optim.Optimizer, source: Tensor, target: Tensor
) -> float:
    """Improve the model a little on one batch; return the loss before the step.

    source: [batch, source]; target: [batch, target], from <sos> to <eos>.
    """
    logits = model(source, target[:, :-1])  # the decoder reads all but the last token,
    batch_loss = loss(logits, target[:, 1:], pad_id=0)  # and predicts all but the first
    optimiser.zero_grad()
    batch_loss.backward()
    optimiser.step()
    return batch_loss.item()


def beam_search(model: Callable[..., Tensor], source: Tensor, width: int, n_tokens: int = 20) -> list[int]:
    """Return the ids of the best text found, from <sos> (1) to <eos> (2); a width of 1 is greedy search.

    source: [1, source]; model(source, target) returns logits [1, target, vocabulary].
    """
    beam: list[tuple[list[int], float]] = [([1], 0.0)]  # ids, and their log-probability
    finished = []
    for _ in range(n_tokens):
        extended = []
        for ids, log_prob in beam:
            logits = model(source, torch.tensor([ids]))[0, -1]  # [vocabulary]
            values, tokens = logits.log_softmax(-1).topk(width)
            for value, token in zip(values.tolist(), tokens.tolist(), strict=True):
                extended.append(([*ids, token], log_prob + value))
        best = sorted(extended, key=lambda text: text[1], reverse=True)[:width]
        finished += [text for text in best if text[0][-1] == 2]
        beam = [text for text in best if text[0][-1] != 2]
        if not beam or len(finished) >= width:
            break
    return max(finished or beam, key=lambda text: text[1])[0]


def ablate(heads: Tensor, off: list[int]) -> Tensor:
    """Return the heads' outputs, [..., n_heads, n, d_head], with those in off set to 0."""
    kept = heads.clone()
    kept[..., off, :, :] = 0
    return kept


def cached_step(
    query: Tensor, key: Tensor, value: Tensor, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the output of a new token, and the keys and values with its own in them.

    query, key, value: [..., 1, d_head]; keys, values: [..., past, d_head].
    """
    keys = torch.cat([keys, key], dim=-2)
    values = torch.cat([values, value], dim=-2)
    output, _ = attend(query, keys, values)
    return output, keys, values
