"""Lesson 7, solved: the source of each answer cell."""

# %% 7.1
sentence_loss = -(math.log(0.5) + math.log(0.25) + math.log(0.8)) / 3

# %% 7.2
even_loss = math.log(761)


# %% 7.3
def loss(logits, targets, pad_id):
    """Return the mean cross-entropy of the tokens that are not padding.

    logits: [batch, position, vocabulary]; targets: [batch, position]
    """
    log_probabilities = logits.log_softmax(-1)  # [batch, position, vocabulary]
    picked = log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)  # [batch, position]
    real = targets != pad_id  # [batch, position], True where a token counts
    return -picked[real].mean()


# %% 7.4
best_step = 200
