# %% 2.1
good_morning = vocabulary.source_ids("good morning")


# %% 2.2
def pad_rows(rows, pad_id):
    """Return the rows, each filled up on the right with pad_id to the length of the longest."""
    longest = max(len(row) for row in rows)
    return [list(row) + [pad_id] * (longest - len(row)) for row in rows]


# %% 2.3
def embed(ids, table):
    """Return the rows of the ids, times √d_model: [position, d_model]."""
    return table[ids] * table.shape[1] ** 0.5


# %% 2.4
even_loss = np.log(761)

# %% 2.5
std_at_64 = 64**-0.5
