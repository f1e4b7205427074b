# %% 3.1
times_as_much = 2.718281828**2


# %% 3.2
def softmax(scores):
    """Scores [..., key], however large -> weights [..., key]."""
    largest = scores.amax(-1, keepdim=True)
    powers = (scores - largest).exp()
    return powers / powers.sum(-1, keepdim=True)


# %% 3.3
def weights_of(query, keys):
    """Query [d_k] and keys [n_keys, d_k] -> attention weights [n_keys]."""
    return softmax(keys @ query / query.shape[-1] ** 0.5)
