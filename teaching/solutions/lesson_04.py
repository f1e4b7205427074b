# %% 4.1
machines_query = [-2, 1, 1]

# %% 4.2
output_of_thinking = [1.71, -1.43, 0.38]


# %% 4.3
def attend(query, key, value, mask=None):
    """Compute attention; return its output and its weights.

    query: [..., n_queries, d_k], key: [..., n_keys, d_k], value: [..., n_keys, d_v].
    mask: None until lesson 8.
    """
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # [..., n_queries, n_keys]
    weights = softmax(scores)
    return weights @ value, weights


# %% 4.4
shapes = [5, 7, 5, 8]
