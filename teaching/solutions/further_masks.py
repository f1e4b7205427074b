"""Going further, Masks in torch, solved: the source of each answer cell."""


# %% masks.1
def decoder_mask(ids, pad_id):
    """Return the mask of the decoder's self-attention, bool [batch, 1, query, key]."""
    return padding_mask(ids, pad_id) & causal_mask(ids.shape[1])


# %% masks.2
the_mistake_is = "the target's padding"


# %% masks.3
def for_torch(causal, padding):
    """Return attn_mask [query, key] and key_padding_mask [batch, key]."""
    return ~causal[0, 0], ~padding[:, 0, 0]


# %% masks.4
def masked_softmax(scores, mask):
    """Return weights [query, key]: 0 where the mask is False."""
    return scores.masked_fill(~mask, -1e9).softmax(-1) * mask
