"""Solutions to lesson 12, for teachers: the answer cell of each exercise, solved."""

# %% 12.1
error_rate = 1 - 2 * 10 / (10 + 11)


# %% 12.2
def previous_token(weights):
    """Return the mean weight on the token before, over all queries but the first."""
    return weights.diagonal(offset=-1).mean()


# %% 12.3
gender_head = ("encoder", 1, 1)

# %% 12.4
three_off = vt.Interventions(
    heads=[vt.HeadChange("decoder", layer=1, head=head, factor=0) for head in (0, 1, 3)]
)
rise = -translator.log_probs(cow, target, three_off).mean() - before

# %% 12.5
conclusion = "A"
