"""Solutions to lesson 11, for teachers: the answer cell of each exercise, solved."""

# %% 11.1
positions = sum(range(1, 21))

# %% 11.2
import math

log_prob = math.log(0.45) + math.log(0.956)

# %% 11.3
search.beam_width = 1
nats_behind = next(
    candidate.margin for candidate in search.search.steps[0].candidates if candidate.token == "la"
)


# %% 11.4
def score(log_prob, n_words, penalty):
    """Return the score of a text of n_words words, followed by <eos>."""
    n = n_words + 1
    return log_prob / ((5 + n) / 6) ** penalty


# %% 11.5
import math


def tie(log_prob, n_words, longer_log_prob, longer_n_words):
    """Return the length penalty with which both texts have the same score."""
    ratio = longer_log_prob / log_prob
    return math.log(ratio) / math.log((5 + longer_n_words + 1) / (5 + n_words + 1))


# %% 11.6
def keep_top_p(probabilities, p):
    """Return the probabilities to draw from; probabilities is a tensor [vocab]."""
    values, positions = probabilities.sort(descending=True)
    kept = values * (values.cumsum(0) - values < p)
    return torch.zeros_like(probabilities).scatter(0, positions, kept / kept.sum())
