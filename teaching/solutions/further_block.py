"""Going further, The block in depth, solved: the source of each answer cell."""

# %% block.1
normalised = [(number - 10) / 5 for number in (3, 9, 11, 17)]


# %% block.2
def is_position_wise(layer, x):
    """Return whether changing one word of x [batch, position, d_model] moves no other output."""
    for position in range(x.shape[1]):
        changed = x.clone()
        changed[:, position] = -changed[:, position] + 1
        others = torch.arange(x.shape[1]) != position
        if not torch.allclose(layer(x)[:, others], layer(changed)[:, others], atol=1e-5):
            return False
    return True


# %% block.3
def post_norm_block(x, attention, norm_1, feed_forward, norm_2):
    """Return what an encoder block makes of x [batch, position, d_model]."""
    looked, _ = attention(x, x, x)
    h = norm_1(x + looked)
    return norm_2(h + feed_forward(h))


# %% block.4
stacks = ["pre-norm", "no sums", "post-norm"]
