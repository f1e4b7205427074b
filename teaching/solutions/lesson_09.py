"""Solutions to lesson 9, for teachers: the answer cell of each exercise, solved."""

# %% 9.1
normalised = [(number - 10) / 5 for number in (3, 9, 11, 17)]


# %% 9.2
def layer_norm(x):
    """Return x [batch, position, d_model], each word's numbers with mean 0 and spread 1."""
    mean = x.mean(-1, keepdim=True)
    variance = x.var(-1, keepdim=True, correction=0)
    return (x - mean) / (variance + 1e-5).sqrt()


# %% 9.3
def is_position_wise(layer, x):
    """Return whether changing one word of x [batch, position, d_model] moves no other output."""
    for position in range(x.shape[1]):
        changed = x.clone()
        changed[:, position] = -changed[:, position] + 1
        others = torch.arange(x.shape[1]) != position
        if not torch.allclose(layer(x)[:, others], layer(changed)[:, others], atol=1e-5):
            return False
    return True


# %% 9.4
def post_norm_block(x, attention, norm_1, feed_forward, norm_2):
    """Return what an encoder block makes of x [batch, position, d_model]."""
    looked, _ = attention(x, x, x)
    h = norm_1(x + looked)
    return norm_2(h + feed_forward(h))


# %% 9.5
stacks = ["pre-norm", "no sums", "post-norm"]
