"""Lesson 8, solved: the source of each answer cell."""

# %% 8.1
mask_of_four = [
    [True, False, False, False],
    [True, True, False, False],
    [True, True, True, False],
    [True, True, True, False],
]


# %% 8.2
def decoder_mask(ids, pad_id):
    """Return the mask of the decoder's self-attention, bool [batch, 1, query, key]."""
    return padding_mask(ids, pad_id) & causal_mask(ids.shape[1])


# %% 8.3
the_mistake_is = "the target's padding"


# %% 8.4
def for_torch(causal, padding):
    """Return attn_mask [query, key] and key_padding_mask [batch, key]."""
    return ~causal[0, 0], ~padding[:, 0, 0]


# %% 8.5
def masked_softmax(scores, mask):
    """Return weights [query, key]: 0 where the mask is False."""
    return scores.masked_fill(~mask, -1e9).softmax(-1) * mask
