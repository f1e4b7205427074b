"""Solutions to Three families, for teachers: the answer cell of each exercise, solved."""

# %% families.1
batch_ids = torch.tensor([[1, 7, 8, 9], [1, 7, 8, 0]])
mask = padding_mask(batch_ids, pad_id=0) & causal_mask(4)

# %% families.2
shape = (8, 3)

# %% families.3
lowest = UNIFORM_LOSS / 8


# %% families.4
def layer_parameters(d_model, d_ff):
    """Return the number of parameters of one encoder layer."""
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norms = 2 * 2 * d_model
    return attention + feed_forward + norms


# %% families.5
distilbert = (
    sum(bert.values()) - 6 * layer_parameters(768, 3072) - bert["segments"] - bert["pooler"]
)
