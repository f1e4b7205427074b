# %% 5.1
split_shape = [2, 4, 7, 16]


# %% 5.2
def split_heads(x, n_heads):
    """Cut the last axis: [..., n, d_model] -> [..., n_heads, n, d_head]."""
    cut = x.unflatten(-1, (n_heads, -1))  # [..., n, n_heads, d_head]
    return cut.transpose(-3, -2)


# %% 5.3
def join_heads(x):
    """Join the heads: [..., n_heads, n, d_head] -> [..., n, d_model]."""
    return x.transpose(-3, -2).flatten(-2)


# %% 5.4
class MultiHeadAttention(nn.Module):
    """Several heads of attention side by side."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)  # W_O

    def forward(self, x, memory, mask=None):
        """Let each position of x attend to memory; return the output and the weights."""
        query = split_heads(self.query(x), self.n_heads)
        key = split_heads(self.key(memory), self.n_heads)
        value = split_heads(self.value(memory), self.n_heads)
        heads, weights = attend(query, key, value, mask)
        return self.output(join_heads(heads)), weights
