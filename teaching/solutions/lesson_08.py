"""Lesson 8, solved: the source of each answer cell."""

# %% 8.1
mask_of_four = [
    [True, False, False, False],
    [True, True, False, False],
    [True, True, True, False],
    [True, True, True, False],
]


# %% 8.2
def padding_mask(ids, pad_id):
    """Return which tokens may be attended to: [batch, n_keys] -> [batch, 1, 1, n_keys]."""
    return (ids != pad_id)[:, None, None]


# %% 8.3
def causal_mask(n):
    """Return which of n positions each may attend to, itself and those before it: [n, n]."""
    return torch.ones(n, n, dtype=torch.bool).tril()


# %% 8.4
def attend(query, key, value, mask=None):
    """Return the output and the weights; the mask is True where a query may attend to a key.

    query: [..., n_q, d_k]; key: [..., n_k, d_k]; value: [..., n_k, d_v]; mask: [..., n_q, n_k]
    """
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # [..., n_q, n_k]
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = softmax(scores)
    return weights @ value, weights
