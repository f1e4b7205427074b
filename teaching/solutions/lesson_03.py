# %% 3.1
times_as_much = math.exp(5 - 3)


# %% 3.2
def softmax(scores):
    """Return the weights [query, key] of scores [query, key], however large they are."""
    parts = (scores - scores.amax(-1, keepdim=True)).exp()
    return parts / parts.sum(-1, keepdim=True)


# %% 3.3
usual_size = math.sqrt(256)


# %% 3.4
def slopes(weights):
    """Return how much each weight (row) moves with each score (column): [key, key]."""
    return torch.diag(weights) - torch.outer(weights, weights)


# %% 3.5
variance = 64 / 64**2
