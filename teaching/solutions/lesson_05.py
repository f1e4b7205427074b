# %% 5.1
split_shape = [2, 4, 7, 16]


# %% 5.2
def split_heads(x, n_heads):
    """Vectors [word, d_model] -> [head, word, d_head]."""
    n_words, d_model = x.shape
    return x.reshape(n_words, n_heads, d_model // n_heads).transpose(0, 1)


# %% 5.3
def merge_heads(heads):
    """What the heads say [head, word, d_head] -> [word, d_model]."""
    return heads.transpose(0, 1).reshape(heads.shape[1], -1)


# %% 5.4
columns = [64 + 2 * 16, 64 + 3 * 16]

# %% 5.5
layers = [torch.nn.Linear(8, 8) for _ in range(6)]
