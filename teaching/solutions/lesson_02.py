# %% 2.1
good_morning = vocabulary.source_ids("good morning")


# %% 2.2
def pad_rows(rows, pad_id):
    """Return the rows, each filled up on the right with pad_id to the length of the longest."""
    longest = max(len(row) for row in rows)
    return [list(row) + [pad_id] * (longest - len(row)) for row in rows]


# %% 2.3
def embed(ids, table):
    """Ids [...] and a table [token, d_model] -> vectors [..., d_model]."""
    return table[ids]


# %% 2.4
def cosine(a, b):
    """Return the cosine of the angle between two vectors."""
    return a @ b / (a.norm() * b.norm())
