"""Lesson 6, solved: the source of each answer cell."""

# %% 6.1
the_mean_is = "invariant"

# %% 6.2
first_pair = 9


# %% 6.3
def positional_encoding(n_positions, d_model):
    """Return the sinusoids of the Transformer paper: [n_positions, d_model]."""
    position = torch.arange(n_positions).unsqueeze(1)  # [n_positions, 1]
    even = torch.arange(0, d_model, 2)  # [d_model / 2]
    angle = position / 10_000 ** (even / d_model)  # [n_positions, d_model / 2]
    encoding = torch.zeros(n_positions, d_model)
    encoding[:, 0::2] = torch.sin(angle)
    encoding[:, 1::2] = torch.cos(angle)
    return encoding


# %% 6.4
def rotary_score(query, key, query_position, key_position):
    """Turn query and key, each a pair [a, b], by its own position; return their dot product."""

    def turn(pair, angle):
        a, b = pair
        return np.array(
            [a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)]
        )

    return turn(query, query_position) @ turn(key, key_position)
