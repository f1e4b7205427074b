"""Tour of lesson 5: the heads of one layer, side by side, and joined again."""

from __future__ import annotations

from viz_transformer.translator import load_translator
from viz_transformer.widgets.attention_stepper.live import attention_stepper
from viz_transformer.widgets.tour import Tour

SENTENCE = "the animal did not cross the street because it was too tired"


def make() -> Tour:
    """Return the tour: the row of *tired* in four heads, then concatenated and projected."""
    view = attention_stepper(load_translator(), SENTENCE, kind="encoder", layer=1, query="tired")
    at = {name: number for number, name in enumerate(view.steps.steps)}

    def state(head: int, step: str) -> dict[str, int]:
        return {"head": head, "query": view.query, "step": at[step]}

    return Tour(
        view,
        [
            {
                "caption": "What does “tired” attend to? Head 0 spreads its weight over many words.",
                "state": state(0, "weights"),
            },
            {
                "caption": "Head 1 gives most of its weight to “animal”, the word that “tired” describes.",
                "state": state(1, "weights"),
            },
            {
                "caption": "Head 2 attends mostly to “was”: the verb that “tired” belongs to.",
                "state": state(2, "weights"),
            },
            {
                "caption": (
                    "Head 3 spreads its weight again. The four heads compute four rows at the same time."
                ),
                "state": state(3, "weights"),
            },
            {
                "caption": "Each head works with 16 of the 64 numbers. This is the output of head 1.",
                "state": state(1, "output"),
            },
            {
                "caption": "The four outputs of 16 numbers are concatenated, 64 in all.",
                "state": state(1, "concat"),
            },
            {
                "caption": "W_O mixes them, so every head contributes to all 64 numbers.",
                "state": state(1, "result"),
            },
        ],
    )
