"""Solutions to lesson 11, for teachers: the answer cell of each exercise, solved."""

# %% 11.1
import math

log_prob = math.log(0.45) + math.log(0.956)


# %% 11.2
def beam_search(model, source, width, n_tokens=20):
    """Return the ids of the best text found, from <sos> (1) to <eos> (2); source is [1, source]."""
    beam, finished = [([1], 0.0)], []
    for _ in range(n_tokens):
        extended = []
        for ids, log_prob in beam:
            logits = model(source, torch.tensor([ids]))[0, -1]  # [vocabulary]
            values, tokens = logits.log_softmax(-1).topk(width)
            for value, token in zip(values.tolist(), tokens.tolist(), strict=True):
                extended.append(([*ids, token], log_prob + value))
        best = sorted(extended, key=lambda text: text[1], reverse=True)[:width]
        finished += [text for text in best if text[0][-1] == 2]
        beam = [text for text in best if text[0][-1] != 2]
        if not beam or len(finished) >= width:
            break
    return max(finished or beam, key=lambda text: text[1])[0]


# %% 11.3
def score(log_prob, n_words, penalty):
    """Return the score of a text of n_words words, followed by <eos>."""
    n = n_words + 1
    return log_prob / ((5 + n) / 6) ** penalty
