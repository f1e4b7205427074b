"""The line of NumPy that computes each step of attention, as the stepper shows it.

The names in the lines are: `x` and `memory`, the vectors; `W_Q`, `W_K`, `W_V` and their biases
`b_…`, those of one head; `W_O` and `b_O`; `mask`; and what earlier lines computed. A test runs
them on the numbers shown beside them.
"""

from __future__ import annotations

from viz_transformer.trace.steps import AttentionSteps

#: Placeholder for the index of the query that is computed.
QUERY = "{query}"
#: Placeholder for the temperature.
TEMPERATURE = "{temperature}"


def code_lines(steps: AttentionSteps) -> dict[str, str]:
    """Return the line of each step of a layer, and of its variants.

    Variants are named after a colon: ``"scaled:both"``, ``"scaled:scale"``,
    ``"scaled:temperature"`` and ``"scaled:none"`` for what scores are divided by,
    ``"masked:off"`` for a mask that is switched off, and ``"exponentials:none"`` and
    ``"weights:none"`` for a query that may attend to nothing.
    """
    attended = "x" if steps.memory is None else "memory"

    def bias(name: str) -> str:
        return f" + b_{name.upper()}" if getattr(steps, f"b_{name}") is not None else ""

    lines = {
        "q": f"q = x[{QUERY}] @ W_Q{bias('q')}",
        "k": f"k = {attended} @ W_K{bias('k')}",
        "v": f"v = {attended} @ W_V{bias('v')}",
        "scores": "scores = q @ k.T",
        "scaled:both": f"scaled = scores / np.sqrt(d_k) / {TEMPERATURE}",
        "scaled:scale": "scaled = scores / np.sqrt(d_k)",
        "scaled:temperature": f"scaled = scores / {TEMPERATURE}",
        "scaled:none": "scaled = scores",
        "masked": f"masked = np.where(mask[{QUERY}], scaled, -np.inf)",
        "masked:off": "masked = scaled",
        "exponentials": "e = np.exp(masked - masked.max())",
        "weights": "weights = e / e.sum()",
        "exponentials:none": "e = np.zeros(len(k))",
        "weights:none": "weights = e",
        "output": "output = weights @ v",
        "concat": "concat = np.concatenate(outputs_of_all_heads)",
        "result": f"result = concat @ W_O{bias('o')}",
    }
    if steps.mask is None:  # no line computes `masked`
        lines["exponentials"] = "e = np.exp(scaled - scaled.max())"
    return lines
