"""Words that look like markup, in the views that show words: each stays text, whatever is pressed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

import viz_transformer as vt
from tests.support.attention_steps import random_steps
from tests.support.hand_made_searches import hand_made
from tests.support.hand_made_traces import HOSTILE, hostile_trace
from tests.support.hand_made_trainings import hostile_training
from tests.support.on_screen import show
from tests.support.ui_jupyterlab import next_frames
from viz_transformer.translator import load_translator
from viz_transformer.widgets.attention_stepper.view import AttentionStepper
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.beam_stepper.view import BeamStepper
from viz_transformer.widgets.explorer import explore
from viz_transformer.widgets.head_lab.view import HeadLab
from viz_transformer.widgets.mask_lab.view import MaskLab
from viz_transformer.widgets.position_lab.view import PositionLab
from viz_transformer.widgets.training_scrubber.view import watch_training

N = len(HOSTILE)


def head_lab() -> HeadLab:
    trace, log_probs = hostile_trace(), np.full(N, -0.5)

    def answer(request: dict) -> dict:
        if "apart" in request:
            return {"apart": (answer({"changes": [change]}) for change in request["apart"])}
        each = {kind: np.broadcast_to(log_probs, (1, 2, N)) for kind in trace.kinds}
        translation = HOSTILE[:: -1 if request.get("changes") else 1]
        return {"translation": translation, "trace": trace, "log_probs": log_probs, "each": each}

    return HeadLab(answer, HOSTILE[0])


def position_lab() -> PositionLab:
    def answer(request: dict) -> dict:
        return {"moved": [0.1] * N, "translation": HOSTILE[0], "as_written": HOSTILE[1]}

    made = vt.position_lab(load_translator())
    tables = {"sinusoids": made.table, "learned": made.table}
    orders = [list(range(N))[::-1]]
    return PositionLab(**tables, head=made._head, words=HOSTILE, orders=orders, answer=answer)


def mask_lab() -> MaskLab:
    words = list(HOSTILE)
    return MaskLab([words, ["a"]], [words, ["b", "c"]], [words, ["c", "d"]])


def stepper() -> AttentionStepper:
    words = {"query_tokens": HOSTILE, "key_tokens": HOSTILE, "query_reads": HOSTILE}
    return AttentionStepper(random_steps(N, N, kind="decoder", **words), text=HOSTILE[0])


#: By its class in the page.
MAKE: dict[str, Callable[[], View]] = {
    "explorer": lambda: explore(hostile_trace(), query=0, key=1, linked=True, search="<"),
    "head-lab": head_lab,
    "mask-lab": mask_lab,
    "position-lab": position_lab,
    "stepper": stepper,
    "beam-stepper": lambda: BeamStepper({HOSTILE[0]: hand_made(HOSTILE)}),
    "training-scrubber": lambda: watch_training(hostile_training(), hostile_training(), moment=2),
}


#: Presses every button, and chooses the last of every menu.
CHANGE_EVERYTHING = """async (root) => {
    const frame = () => new Promise(requestAnimationFrame);
    for (const button of root.querySelectorAll("button, [role=button]")) {
        button.dispatchEvent(new MouseEvent("click", { bubbles: true }));
        await frame();
    }
    for (const menu of root.querySelectorAll("select")) {
        menu.selectedIndex = menu.options.length - 1;
        menu.dispatchEvent(new Event("change", { bubbles: true }));
        await frame();
    }
}"""


def test_hostile_words_stay_text_under_every_key(kept_page: Page, tmp_path: Path) -> None:
    wrong = []
    for name, make in MAKE.items():
        view = make()
        if view.has_trait("unfolded"):
            view.unfolded = view.traits()["unfolded"].names
        root = show(kept_page, view, tmp_path, name)
        named = any(word in root.text_content() for word in HOSTILE[:3])
        root.evaluate(CHANGE_EVERYTHING)
        next_frames(root)
        alive = root.locator("script, img, b:has-text('bold')").count()
        if not named or alive or kept_page.evaluate("window.pwned"):
            wrong.append(name)
    assert not wrong
