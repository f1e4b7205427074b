"""Lesson 6, solved: the source of each answer cell."""

# %% 6.1
the_mean_is = "invariant"

# %% 6.2
first_pair = 9

# %% 6.3
angles = np.array([3 / 10_000 ** (0 / 4), 3 / 10_000 ** (2 / 4)])
row_3 = [np.sin(angles[0]), np.cos(angles[0]), np.sin(angles[1]), np.cos(angles[1])]


# %% 6.4
def add_positions(x, table):
    """Add to each word the row of its position."""
    return x + table[: x.shape[1]]


# %% 6.5
def rotary_score(query, key, query_position, key_position):
    """Turn query and key, each a pair [a, b], by its own position; return their dot product."""

    def turn(pair, angle):
        a, b = pair
        return np.array(
            [a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)]
        )

    return turn(query, query_position) @ turn(key, key_position)
