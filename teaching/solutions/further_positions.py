# %% positions.1
angles = np.array([3 / 10_000 ** (0 / 4), 3 / 10_000 ** (2 / 4)])
row_3 = [np.sin(angles[0]), np.cos(angles[0]), np.sin(angles[1]), np.cos(angles[1])]


# %% positions.2
def add_positions(x, table):
    """Add to each word the row of its position."""
    return x + table[: x.shape[1]]
