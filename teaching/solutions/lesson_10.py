"""Solutions to lesson 10, for teachers: the answer cell of each exercise, solved."""


# %% 10.1
def shift(target):
    """Return what the decoder reads and what it predicts, each [sentence, position]."""
    return target[:, :-1], target[:, 1:]


# %% 10.2
def training_step(model, optimiser, source, target):
    """Improve the model a little on one batch; return the loss before the step."""
    logits = model(source, target[:, :-1])  # [batch, target - 1, vocabulary]
    batch_loss = loss(logits, target[:, 1:], pad_id=0)
    optimiser.zero_grad()
    batch_loss.backward()
    optimiser.step()
    return batch_loss.item()


# %% 10.3
def stop_early(losses, patience):
    """Return the index of the model to keep."""
    best = 0
    for at, each in enumerate(losses):
        if each < losses[best]:
            best = at
        elif at - best == patience:
            break
    return best
