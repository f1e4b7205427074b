"""Solutions to the notebook that goes further on reading heads, for teachers."""

# %% reading_heads.1
error_rate = 1 - 2 * 10 / (10 + 11)


# %% reading_heads.2
def previous_token(weights):
    """Return the mean weight on the token before, over all queries but the first."""
    return weights.diagonal(offset=-1).mean()
