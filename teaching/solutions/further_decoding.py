"""Solutions to the notebook that goes further on decoding, for teachers."""

# %% decoding.1
positions = sum(range(1, 21))


# %% decoding.2
search.beam_width = 1
nats_behind = next(
    candidate.margin for candidate in search.search.steps[0].candidates if candidate.token == "la"
)


# %% decoding.3
import math


def tie(log_prob, n_words, longer_log_prob, longer_n_words):
    """Return the length penalty with which both texts have the same score."""
    ratio = longer_log_prob / log_prob
    return math.log(ratio) / math.log((5 + longer_n_words + 1) / (5 + n_words + 1))


# %% decoding.4
def keep_top_p(probabilities, p):
    """Return the probabilities to draw from; probabilities is a tensor [vocab]."""
    values, positions = probabilities.sort(descending=True)
    kept = values * (values.cumsum(0) - values < p)
    return torch.zeros_like(probabilities).scatter(0, positions, kept / kept.sum())
