"""Solutions to lesson 1, for teachers: the answer cell of each exercise, solved."""

# %% 1.1
heads = 3 * 2 * 4  # kinds of attention, layers, heads in a layer

# %% 1.2
search.kind, search.layer, search.head = "encoder", 1, 1
search


# %% 1.3
def favourite(row, words):
    """Return the word that gets the largest weight of the row."""
    return words[row.index(max(row))]
