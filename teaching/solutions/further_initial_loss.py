"""Going further, Before the first step, solved: the source of each answer cell."""


# %% initial_loss.1
def embed(ids, table):
    """Return the rows of the ids, times √d_model: [position, d_model]."""
    return table[ids] * table.shape[1] ** 0.5


# %% initial_loss.2
std_at_64 = 64**-0.5
