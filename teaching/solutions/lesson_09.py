"""Lesson 9, solved: the source of each answer cell."""


# %% 9.1
class LayerNorm(nn.Module):
    """Give the numbers of each word mean 0 and spread 1, then scale and shift them."""

    def __init__(self, d_model):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        """Normalise along the last axis: [..., d_model] -> [..., d_model]."""
        mean = x.mean(-1, keepdim=True)  # [..., 1]
        variance = x.var(-1, correction=0, keepdim=True)  # [..., 1]
        return (x - mean) / (variance + 1e-5).sqrt() * self.scale + self.shift


# %% 9.2
class EncoderBlock(nn.Module):
    """Self-attention and a feed-forward network, each with a sum and a norm."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = feed_forward(d_model, d_ff)
        self.norms = nn.ModuleList(LayerNorm(d_model) for _ in range(2))

    def forward(self, x, mask):
        """Return new vectors, [batch, n, d_model]."""
        attended, _ = self.attention(x, x, mask)
        x = self.norms[0](x + attended)
        return self.norms[1](x + self.feed_forward(x))


# %% 9.3
class DecoderBlock(nn.Module):
    """Self-attention, cross-attention and a feed-forward network, each with a sum and a norm."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = feed_forward(d_model, d_ff)
        self.norms = nn.ModuleList(LayerNorm(d_model) for _ in range(3))

    def forward(self, x, memory, mask, memory_mask):
        """Return new vectors, [batch, n, d_model]; memory is the encoder's output."""
        attended, _ = self.attention(x, x, mask)
        x = self.norms[0](x + attended)
        found, _ = self.cross_attention(x, memory, memory_mask)
        x = self.norms[1](x + found)
        return self.norms[2](x + self.feed_forward(x))


# %% 9.4
class Transformer(nn.Module):
    """An encoder and a decoder, with one table for source, target and logits."""

    def __init__(self, vocabulary_size, d_model, n_heads, d_ff, n_layers):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocabulary_size, d_model) / d_model**0.5)
        layers = range(n_layers)
        self.encoder = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff) for _ in layers)
        self.decoder = nn.ModuleList(DecoderBlock(d_model, n_heads, d_ff) for _ in layers)

    def vectors(self, ids):
        """Return embeddings times √d_model, plus positions: [batch, n, d_model]."""
        d_model = self.table.shape[1]
        return embed(ids, self.table) * d_model**0.5 + positional_encoding(ids.shape[1], d_model)

    def forward(self, source, target):
        """Return the logits: ids, padded with 0, [batch, n] -> [batch, n_target, vocabulary]."""
        source_mask = padding_mask(source, 0)
        target_mask = padding_mask(target, 0) & causal_mask(target.shape[1])
        memory = self.vectors(source)
        for block in self.encoder:
            memory = block(memory, source_mask)
        x = self.vectors(target)
        for block in self.decoder:
            x = block(x, memory, target_mask, source_mask)
        return x @ self.table.T
