"""Solutions to lesson 10, for teachers: the answer cell of each exercise, solved."""


# %% 10.1
def shift(target):
    """Return what the decoder reads and what it must say, each [sentence, position]."""
    return target[:, :-1], target[:, 1:]


# %% 10.2
loss = -(math.log(0.5) + math.log(0.25) + math.log(0.8)) / 3

# %% 10.3
_, counts = say[real].unique(return_counts=True)
shares = counts / counts.sum()
blind_loss = -(shares * shares.log()).sum()

# %% 10.4
watch.sentence = 5
step = next(
    moment.step
    for moment in watch.trace.moments
    if moment.translations[5] == watch.trace.references[5]
)


# %% 10.5
def paper_rate(step, d_model, warmup):
    """Return the learning rate of a step."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


# %% 10.6
shares = translations("the teacher sleeps").values()
lowest = -sum(p * math.log(p) for p in shares) / 4
