"""Solutions to lesson 12, for teachers: the answer cell of each exercise, solved."""


# %% 12.1
def ablate(heads, off):
    """Return the heads' outputs [..., n_heads, n, d_head] with those in `off` set to 0."""
    kept = heads.clone()
    kept[..., off, :, :] = 0
    return kept


# %% 12.2
gender_head = ("encoder", 1, 1)

# %% 12.3
three_off = vt.Interventions(
    heads=[vt.HeadChange("decoder", layer=1, head=head, factor=0) for head in (0, 1, 3)]
)
rise = -translator.log_probs(cow, target, three_off).mean() - before

# %% 12.4
conclusion = "A"
