"""Solutions to the notebook that goes further on training, for teachers."""

# %% training.1
loss = -(math.log(0.5) + math.log(0.25) + math.log(0.8)) / 3

# %% training.2
_, counts = say[real].unique(return_counts=True)
shares = counts / counts.sum()
blind_loss = -(shares * shares.log()).sum()

# %% training.3
watch.sentence = 5
step = next(
    moment.step
    for moment in watch.trace.moments
    if moment.translations[5] == watch.trace.references[5]
)


# %% training.4
def paper_rate(step, d_model, warmup):
    """Return the learning rate of a step."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


# %% training.5
shares = translations("the teacher sleeps").values()
lowest = -sum(p * math.log(p) for p in shares) / 4
