"""One notebook of views in JupyterLab: thirty fast actions reach Python, and Python moves the page."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.support.hand_made_trainings import make_training
from tests.support.on_screen import type_text
from tests.support.ui_jupyterlab import LabPage, LabServer, next_frames
from tests.support.ui_pages import drawn

TRAINING = make_training()
MAKE = """
import viz_transformer as vt
from viz_transformer.widgets.training_scrubber import payload

payload.WHOLE_BYTES = 0  # as of a large training: other sentences are fetched
translator = vt.load_translator()
heads = vt.head_lab(translator)
masks = vt.mask_lab()
masks.unfolded = ["libraries"]
beam = vt.beam_stepper(translator)
steps = vt.attention_stepper(translator, "the black cat sleeps")
positions = vt.position_lab()
positions.unfolded = ["shift"]
training = vt.watch_training(vt.TrainingTrace.load("scrubbed.npz"))
"""
VIEWS = ("heads", "masks", "beam", "steps", "positions", "training")
Show = Callable[[str], tuple[LabPage, Locator]]


@pytest.fixture(scope="module")
def notebook(kept_lab: LabPage, lab_server: LabServer) -> LabPage:
    TRAINING.save(lab_server.root / "scrubbed.npz")
    kept_lab.open_cells(MAKE, *VIEWS)
    kept_lab.run_all()
    return kept_lab


@pytest.fixture
def show(notebook: LabPage) -> Show:
    """Return a function that brings a view into sight; nothing may go wrong in the page."""

    def in_sight(name: str) -> tuple[LabPage, Locator]:
        notebook.select_cell(1 + VIEWS.index(name))
        root = notebook.output(1 + VIEWS.index(name)).locator(".vt-root").first
        expect(root).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
        return notebook, root

    yield in_sight
    assert notebook.errors == []


def do(root: Locator, script: str) -> None:
    """Do something thirty times, faster than frames come; `set` moves a control, as a viewer does."""
    root.evaluate(
        """(root, script) => {
            const set = (control, value) => {
                control.value = value;
                for (const type of ["input", "change"])
                    control.dispatchEvent(new Event(type, { bubbles: true }));
            };
            const step = new Function("root", "set", "i", script);
            for (let i = 0; i < 30; i++) step(root, set, i);
        }""",
        script,
    )
    next_frames(root)


@pytest.mark.slow
def test_the_head_lab(show: Show) -> None:
    lab, root = show("heads")
    # Each is chosen by one click and switched by the next; the tenth is switched 11 times.
    do(root, "root.querySelectorAll('.vt-head-button')[Math.min(i >> 1, 9)].click()")
    lab.wait_for_value("len(heads.factors), {each['factor'] for each in heads.factors}", (10, {0.0}))
    expect(root.locator(".vt-head-button[aria-pressed=true]")).to_have_count(10)
    changes = "interventions=vt.interventions_of(heads)"
    words = lab.value(f"list(translator.translate(heads.sentence, {changes}).tokens)")
    drawn(root)
    expect(root.locator(".vt-written .vt-word")).to_have_text([*words, "<eos>"])
    lab.run("heads.factors = [dict(kind='cross', layer=1, head=2, factor=0.5)]")
    expect(root.get_by_role("button", name="cross layer 1 head 2, factor 0.5")).to_have_text("0.5")


@pytest.mark.slow
def test_the_mask_lab(show: Show) -> None:
    lab, root = show("masks")
    do(
        root,
        "const all = root.querySelectorAll('.vt-preset option');"
        "set(root.querySelector('.vt-preset'), all[(i * 7 + 6) % 10].value)",
    )
    expect(root.locator(".vt-preset option:checked")).to_have_text("Source as target")
    lab.wait_for_value("(masks.kind, masks.mistake)", ("decoder", "source_as_target"))
    root.locator(".vt-preset").select_option("Decoder")
    root.locator(".vt-cell").nth(5).click()
    lab.wait_for_value("masks.painted", [[0, 0, 5, True]])
    expect(root.locator(".vt-line").first).to_have_text(re.compile(r"Leaks in this batch: [1-9]"))
    lab.run("masks.side, masks.painted, masks.sentence, masks.query = 'left', [], 1, 0")
    lab.select_cell(1 + VIEWS.index("masks"))
    # Hugging Face is asked in the kernel.
    weights = root.locator(".vt-libraries tbody tr")
    expect(weights).to_have_count(5)
    expect(weights.last.locator("td:not(.vt-says)").filter(has_text="0.14")).to_have_count(7)


@pytest.mark.slow
def test_the_beam_stepper(show: Show) -> None:
    lab, root = show("beam")
    do(root, "set(root.querySelector('.vt-timeline input'), 1 + (i * 7) % 10)")
    lab.wait_for_value("beam.beam_width", 1 + 29 * 7 % 10)
    drawn(root)
    expect(root.locator(".vt-column-head")).to_have_count(lab.value("len(beam.search.steps)"))
    lab.run("beam.step = 1; beam.beam_width = 3")
    expect(root.locator(".vt-column-head.vt-now")).to_have_text("word 2")
    expect(root.locator(".vt-way[aria-pressed='true']")).to_contain_text("beam of 3")
    drawn(root)
    root.locator(".vt-tree [data-step='1'][data-index='4']").click()
    lab.wait_for_value("beam.chosen", 4)


@pytest.mark.slow
def test_the_attention_stepper(show: Show) -> None:
    lab, root = show("steps")
    lab.run("steps.step = steps.steps.steps.index('weights')")
    expect(root.locator(".vt-work")).to_have_attribute("data-step", "weights")
    do(
        root,
        """const menu = root.querySelector('select[aria-label="attention"]');
        set(menu, menu.options[i % 6].value);
        root.querySelectorAll(".vt-chip.vt-of-query")[i % 4].click();""",
    )
    lab.wait_for_value("(steps.kind, steps.layer, steps.query)", ("cross", 1, 1))
    weights = lab.value("[f'{weight:.2f}' for weight in steps.worked().weights]")
    expect(root.locator('[data-matrix="weights"] td')).to_have_text(weights)
    type_text(root, "the dragon sleeps")
    expect(root.get_by_role("alert")).to_contain_text("dragon")
    type_text(root, "the white cow does not sleep")
    lab.wait_for_value("steps.text", "the white cow does not sleep")


@pytest.mark.slow
def test_the_position_lab(show: Show) -> None:
    lab, root = show("positions")
    lab.run("positions.encoding, positions.shift = 'rotary', 30")
    expect(root.locator(".vt-headline")).to_contain_text("Moved by 30, the scores change by 0.00")
    root.get_by_role("slider", name="Chapters").press("End")
    lab.wait_for_value("positions.unfolded", ["shuffle"])
    do(root, "[...root.querySelectorAll('button')].find(each => each.textContent === 'shuffle').click()")
    root.get_by_label("read as").select_option(label="the cat sees the dog")
    lab.wait_for_value("positions.order", [0, 4, 2, 3, 1])
    text = lab.value("positions.answer({'order': positions.order, 'positions_on': True})['translation']")
    expect(root.locator("[data-shown]")).to_have_text(f"the cat sees the dog → {text}")


@pytest.mark.slow
def test_the_training_scrubber(show: Show) -> None:
    lab, root = show("training")
    do(
        root,
        """const key = i % 3 ? "ArrowRight" : "Home";
        const pressed = new KeyboardEvent("keydown", { key, bubbles: true });
        root.querySelector("[role=slider]").dispatchEvent(pressed);""",
    )
    lab.wait_for_value("training.moment", 2)
    expect(root.locator(".vt-headline")).to_contain_text(f"Step {TRAINING.moments[2].step}:")
    root.get_by_label("Sentence").select_option("2")  # the kernel sends it
    lab.wait_for_value("training.sentence", 2)
    expect(root.locator(".vt-words p").first).to_have_text(TRAINING.moments[2].translations[2])
    lab.run("training.moment, training.kind = 3, 'decoder'\ntraining.layer, training.head = 1, 2")
    told = re.compile(rf"Step {TRAINING.moments[3].step}: .* in head 1·2")
    expect(root.locator(".vt-headline")).to_have_text(told)
