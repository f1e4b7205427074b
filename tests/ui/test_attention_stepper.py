"""The attention stepper in a real browser, as an exported page and in JupyterLab."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

import viz_transformer as vt
from tests.support.attention_steps import barred_steps, random_steps
from tests.support.hand_made_traces import HOSTILE
from tests.support.ui_jupyterlab import LabPage, open_exported
from tests.support.ui_windows import LAPTOP, SMALL, keep_picture
from viz_transformer.widgets.attention_stepper.view import AttentionStepper

TEXT = "the black cat sleeps"


def open_page(page: Page, view: AttentionStepper, folder: Path) -> Locator:
    """Export a view, open the page from disk and return the view, drawn."""
    return open_exported(page, vt.export_html(view, folder / "page.html", title="Steps"), ".vt-stepper")


def numbers_of(root: Locator, name: str) -> np.ndarray:
    """The numbers of one matrix as they stand on the screen."""
    rows = root.locator(f'[data-matrix="{name}"] tbody tr')
    texts = [rows.nth(row).locator("td").all_text_contents() for row in range(rows.count())]
    return np.array([[float(text.replace("−", "-").replace("∞", "inf")) for text in row]
                     for row in texts])  # fmt: skip


def exact_number(root: Locator) -> float:
    """The number in the readout, to six digits."""
    return float(root.locator(".vt-code").text_content().split("# ")[1])


def test_every_number_on_screen_is_numpys(page: Page, tmp_path: Path) -> None:
    view = vt.thinking_machines()
    root = open_page(page, view, tmp_path)
    for query in (0, 1):
        view.query = query
        worked = view.worked()
        root.locator(".vt-token").nth(query).click()
        root.locator(".vt-step").first.click()
        for index, step in enumerate(view.steps.steps):
            expect(root).to_have_attribute("data-step", step)
            expect(root.locator('.vt-step[aria-selected="true"]')).to_have_count(1)
            name = "all" if step == "x" else step
            wanted = view.steps.x if step == "x" else np.atleast_2d(getattr(worked, step))
            assert np.allclose(numbers_of(root, name), wanted, atol=0.005001)
            if index + 1 < len(view.steps.steps):
                root.get_by_text("Next →").click()
        expect(root.get_by_text("Next →")).to_be_disabled()
    assert np.allclose(numbers_of(root, "v"), worked.v)
    root.get_by_text("← Back").click()
    expect(root).to_have_attribute("data-step", "weights")


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_real_head_on_screen_is_the_models_own(page: Page, tmp_path: Path, translator, kind: str) -> None:
    view = vt.attention_stepper(translator, TEXT, kind=kind, layer=1, head=3, query=2)
    root = open_page(page, view, tmp_path)
    worked, trace = view.worked(), translator.trace(TEXT)
    for index, step in enumerate(view.steps.steps):
        root.locator(".vt-step").nth(index).click()
        expect(root).to_have_attribute("data-step", step)
        if step in ("q", "scores", "scaled", "masked", "weights", "output"):
            wanted = np.atleast_2d(getattr(worked, step))
            coarse = 0.0501 if step == "scores" else 0.005001  # two digits, or one where it is large
            assert np.allclose(numbers_of(root, step), wanted, atol=coarse), step
        if step == "weights":
            theirs = trace.attention(kind)[1, 3, 2]
            assert np.allclose(numbers_of(root, step)[0], theirs, atol=0.005001)
            best = view.steps.key_tokens[int(theirs.argmax())]
            expect(root.locator(".vt-says p")).to_contain_text(f"{best}\u2069”: {theirs.max():.2f}")
    value = exact_number(root)  # of the last step: the result's first number
    assert value == pytest.approx(worked.result[0], rel=1e-4)
    sheet = root.locator('[data-matrix="result"] canvas')
    sheet.focus()
    for column in range(1, 4):
        page.keyboard.press("ArrowRight")
        expect(root.locator(".vt-code")).to_contain_text(f"result[{column}]")
        assert exact_number(root) == pytest.approx(worked.result[column], rel=1e-4, abs=1e-6)


def test_pointing_tells_where_a_number_comes_from(page: Page, tmp_path: Path) -> None:
    root = open_page(page, vt.thinking_machines(), tmp_path)
    root.locator(".vt-step").nth(4).click()
    cell = root.locator('[data-matrix="scores"] td').first
    cell.hover()
    expect(root.locator(".vt-formula")).to_have_text("2.50·0.00 + 1.00·2.00 + 2.00·0.00 = 2.00")
    expect(root.locator(".vt-code")).to_have_text("scores = q @ k.T\nscores[0]  # 2")
    expect(root.locator('[data-matrix="q"] td.vt-mark-a')).to_have_count(3)
    expect(root.locator('[data-matrix="k_t"] td.vt-mark-b')).to_have_count(3)
    expect(root.locator('[data-matrix="k_t"] td.vt-mark-b').first).to_have_attribute("data-col", "0")
    expect(cell).to_have_class(re.compile("vt-mark-is"))
    cell.click()
    page.mouse.move(0, 0)
    expect(root.locator(".vt-code")).to_contain_text("scores[0]")
    # A number that an earlier step made leads there.
    root.locator('[data-matrix="k_t"] td').nth(2).click()
    expect(root).to_have_attribute("data-step", "k")
    page.mouse.move(0, 0)
    expect(root.locator(".vt-code")).to_contain_text("k[0, 1]  # 2")
    expect(root.locator(".vt-formula")).to_have_text(
        "1.00·1.00 + (−1.00)·(−1.00) + 1.00·0.00 + 1.00·0.00 = 2.00"
    )


def test_the_switches_and_the_temperature_recompute(page: Page, tmp_path: Path, translator) -> None:
    view = vt.attention_stepper(translator, TEXT, kind="decoder", query=1)
    root = open_page(page, view, tmp_path)
    view.step = view.steps.steps.index("weights")
    root.locator(".vt-step").nth(view.step).click()
    for name, value in (("scale", False), ("mask", False), ("temperature", 3.0)):
        setattr(view, name, value)
        if name == "temperature":
            root.locator(".vt-slider input").fill("3")
        else:
            root.get_by_role("button", name={"scale": "÷ √d_k", "mask": "mask"}[name]).click()
        weights = root.locator('[data-matrix="weights"] td')
        wanted = [f"{weight:.2f}" for weight in view.worked().weights]
        expect(weights).to_have_text(wanted)
    root.locator(".vt-step").nth(view.step - 2).click()
    expect(root.locator(".vt-code")).to_contain_text("scaled = scores / 3\n")


def test_a_masked_row_is_hatched_and_zero(page: Page, tmp_path: Path) -> None:
    root = open_page(page, AttentionStepper(barred_steps(), traits={"query": 1}), tmp_path)
    root.locator(".vt-step").nth(6).click()
    expect(root.locator('[data-matrix="masked"] td.vt-masked')).to_have_text(["−∞"] * 4)
    root.locator(".vt-step").nth(7).click()
    expect(root.locator('[data-matrix="weights"] td')).to_have_text(["0.00"] * 4)
    expect(root.locator(".vt-says p")).to_have_text("No word may be attended to, so all weights are 0.")


def test_it_is_all_within_reach_of_the_keyboard(page: Page, tmp_path: Path) -> None:
    view = vt.thinking_machines()
    root = open_page(page, view, tmp_path)
    root.locator('.vt-step[aria-selected="true"]').focus()
    for step in view.steps.steps[1:]:
        page.keyboard.press("ArrowRight")
        expect(root).to_have_attribute("data-step", step)
    page.keyboard.press("ArrowRight")
    expect(root).to_have_attribute("data-step", view.steps.steps[-1])
    page.keyboard.press("Home")
    expect(root).to_have_attribute("data-step", "x")
    page.keyboard.press("ArrowRight")
    expect(root).to_have_attribute("data-step", view.steps.steps[1])
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.closest('[data-matrix]')?.dataset.matrix"))
    assert {"x", "w_q", "q"} <= reached
    root.locator('[data-matrix="q"] td').first.focus()
    page.keyboard.press("ArrowRight")
    expect(root.locator(".vt-code")).to_contain_text("q[1]  # 1")
    says = root.locator(".vt-says")
    assert says.get_attribute("aria-live") == "polite"
    expect(says).to_contain_text("2. The query")


def test_hostile_words_are_text(page: Page, tmp_path: Path) -> None:
    n = len(HOSTILE)
    steps = random_steps(n, n, kind="decoder", query_tokens=HOSTILE, key_tokens=HOSTILE,
                         query_reads=HOSTILE)  # fmt: skip
    root = open_page(page, AttentionStepper(steps, text=HOSTILE[0]), tmp_path)
    for index in range(len(steps.steps)):
        root.locator(".vt-step").nth(index).click()
        expect(root).to_have_attribute("data-step", steps.steps[index])
    assert page.evaluate("window.pwned") is None
    assert root.locator("script, img").count() == 0
    assert root.locator("b").count() == 0


def weights_shown(view: AttentionStepper) -> list[str]:
    return [f"{weight:.2f}" for weight in view.worked().weights]


@pytest.mark.parametrize("changes", [None, vt.Interventions(positions=False, temperature=2)], ids=str)
def test_the_page_itself_works_through_any_sentence(
    page: Page, tmp_path: Path, translator, changes: vt.Interventions | None
) -> None:
    view = vt.attention_stepper(translator, TEXT, query=1, interventions=changes)
    root = open_page(page, view, tmp_path)
    root.locator(".vt-step").nth(view.steps.steps.index("weights")).click()
    weights = root.locator('[data-matrix="weights"] td')
    for text in ("the cow did not cross the street because it was too tired", "she runs"):
        root.get_by_label("Sentence", exact=True).fill(text)
        page.keyboard.press("Enter")
        view.text = text
        for kind, layer in (("cross", 0), ("encoder", 1), ("decoder", 1)):
            root.get_by_label("attention", exact=True).select_option(f"{kind} {layer}")
            view.kind, view.layer = kind, layer
            expect(weights).to_have_text(weights_shown(view))
    with pytest.raises(vt.UserError) as error:
        translator.translate("the dragon")
    root.get_by_label("Sentence", exact=True).fill("the dragon")
    page.keyboard.press("Enter")
    expect(root.get_by_role("alert")).to_have_text(str(error.value))
    expect(weights).to_have_text(weights_shown(view))


@pytest.mark.parametrize(
    ("load", "text"),
    [(vt.load_language_model, "las vacas duermen"), (vt.load_masked_model, "las [?] duermen")],
)
def test_the_page_itself_works_through_the_other_families(
    page: Page, tmp_path: Path, load, text: str
) -> None:
    model = load()
    view = vt.attention_stepper(model, "el gato")
    root = open_page(page, view, tmp_path)
    root.locator(".vt-step").nth(view.steps.steps.index("weights")).click()
    root.get_by_label("Sentence", exact=True).fill(text)
    page.keyboard.press("Enter")
    root.get_by_label("attention", exact=True).select_option(f"{view.kind} 1")
    view.text, view.layer = text, 1
    expect(root.locator('[data-matrix="weights"] td')).to_have_text(weights_shown(view))


def test_a_page_without_a_model_carries_the_layers_and_says_what_it_lacks(
    page: Page, tmp_path: Path, translator
) -> None:
    view = vt.attention_stepper(translator, TEXT, query=1, engine="kernel")
    root = open_page(page, view, tmp_path)
    root.get_by_label("attention", exact=True).select_option("encoder 1")
    expect(root.locator(".vt-title")).to_have_text("Encoder self-attention · layer 1 · head 0")
    view.kind, view.layer = "encoder", 1
    root.locator(".vt-step").nth(view.steps.steps.index("weights")).click()
    wanted = [f"{weight:.2f}" for weight in view.worked().weights]
    expect(root.locator('[data-matrix="weights"] td')).to_have_text(wanted)
    root.get_by_label("head", exact=True).select_option("2")
    view.head = 2
    wanted = [f"{weight:.2f}" for weight in view.worked().weights]
    expect(root.locator('[data-matrix="weights"] td')).to_have_text(wanted)
    root.get_by_label("Sentence", exact=True).fill("the dog runs")
    page.keyboard.press("Enter")
    expect(root.get_by_role("alert")).to_contain_text("needs the running notebook")
    expect(root.locator(".vt-title")).to_have_text("Encoder self-attention · layer 1 · head 2")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("window", [LAPTOP, SMALL])
@pytest.mark.parametrize("what", ["machines", "cross"])
def test_it_fits_its_window(
    new_page: Callable[..., Page], tmp_path: Path, translator, scheme: str, window: dict, what: str
) -> None:
    page = new_page(viewport=window, scheme=scheme)
    machines = what == "machines"
    view = vt.thinking_machines() if machines else vt.attention_stepper(translator, TEXT, head=1)
    root = open_page(page, view, tmp_path)
    for index, step in enumerate(view.steps.steps):
        root.locator(".vt-step").nth(index).click()
        expect(root).to_have_attribute("data-step", step)
        stage = root.locator(".vt-stage")
        assert page.evaluate("document.documentElement.scrollWidth") <= window["width"]
        assert stage.evaluate("(node) => node.scrollWidth <= node.clientWidth"), step
        cut = root.locator(".vt-numbers td").evaluate_all(
            "(cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).length"
        )
        assert cut == 0, f"{cut} numbers of {step} are cut off"
        keep_picture(page, f"stepper_{what}_{index}_{window['width']}_{scheme}")


SHOW = """
import viz_transformer as vt
translator = vt.load_translator()
view = vt.attention_stepper(translator, "the black cat sleeps", query="gato")
view
"""


def weights_on_screen(root: Locator) -> Locator:
    return root.locator('[data-matrix="weights"] td')


def open_at_weights(lab: LabPage) -> Locator:
    """Show the view in JupyterLab and set its step from Python."""
    lab.open_cells(SHOW)
    lab.run_all()
    root = lab.output(0).locator(".vt-stepper")
    expect(root).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
    lab.run("view.step = view.steps.steps.index('weights')")
    expect(root).to_have_attribute("data-step", "weights")
    return root


def test_in_the_notebook_it_is_live_both_ways(lab: LabPage) -> None:
    # From Python to the page, and from the page to Python.
    root = open_at_weights(lab)
    weights = "[f'{weight:.2f}' for weight in view.worked().weights]"
    expect(weights_on_screen(root)).to_have_text(lab.value(weights))
    lab.select_cell(0)
    root.get_by_label("head", exact=True).select_option("3")
    lab.wait_for_value("view.head", 3)
    expect(weights_on_screen(root)).to_have_text(lab.value(weights))

    # Another sentence, from the live model.
    field = root.get_by_label("Sentence", exact=True)
    field.fill("the white cow does not sleep")
    field.press("Enter")
    expect(root.locator(".vt-token")).to_have_text(["la", "vaca", "blanca", "no", "duerme", "<eos>"])
    lab.wait_for_value("view.text", "the white cow does not sleep")
    expect(weights_on_screen(root)).to_have_text(lab.value(weights))

    # One that cannot be translated is explained, and all stays.
    field.fill("the dragon sleeps")
    field.press("Enter")
    expect(root.get_by_role("alert")).to_contain_text("dragon")
    assert lab.value("view.text") == "the white cow does not sleep"
    expect(root.locator(".vt-token")).to_have_count(6)

    # The arrow keys are the view's own, not the notebook's.
    root.locator('.vt-step[aria-selected="true"]').focus()
    lab.page.keyboard.press("ArrowRight")
    expect(root).to_have_attribute("data-step", "output")
    lab.wait_for_value("view.steps.steps[view.step]", "output")
    lab.screenshot("stepper-lab")
    assert lab.errors == []


def test_a_saved_notebook_works_through_another_sentence_before_anything_runs(
    lab: LabPage, translator
) -> None:
    open_at_weights(lab)
    lab.reopen_saved()
    root = lab.output(0).locator(".vt-stepper")
    expect(root).to_have_attribute("data-step", "weights")
    text = "the white cow does not sleep"
    field = root.get_by_label("Sentence", exact=True)
    field.fill(text)
    field.press("Enter")
    expect(root.locator(".vt-token")).to_have_text(["la", "vaca", "blanca", "no", "duerme", "<eos>"])
    root.get_by_label("attention", exact=True).select_option("encoder 1")
    view = vt.attention_stepper(translator, text, kind="encoder", layer=1, query=1)
    expect(weights_on_screen(root)).to_have_text(weights_shown(view))
    expect(root.get_by_role("alert")).to_be_hidden()
    assert lab.value("'view' in globals()") is False


def test_thirty_fast_changes_end_on_the_last(lab: LabPage) -> None:
    root = open_at_weights(lab)
    root.evaluate(
        """(root) => {
            const menu = root.querySelector('select[aria-label="attention"]');
            for (let i = 0; i < 30; i++) {
                menu.selectedIndex = i % 6;
                menu.dispatchEvent(new Event("change"));
                root.querySelectorAll(".vt-token")[i % 4].click();
            }
        }"""
    )
    expect(root.locator(".vt-title")).to_have_text("Cross-attention · layer 1 · head 0")
    lab.wait_for_value("(view.kind, view.layer, view.query)", ("cross", 1, 1))
    weights = lab.value("[f'{weight:.2f}' for weight in view.worked().weights]")
    expect(weights_on_screen(root)).to_have_text(weights)
    assert lab.errors == []


def test_it_opens_at_its_step_however_late_later_messages_come(lab: LabPage) -> None:
    """Nothing that Python says of the view after its first message arrives, as on a machine under load."""
    lost = []

    def lose_updates(route: WebSocketRoute) -> None:
        def forward(message: str | bytes) -> None:
            content = message.encode() if isinstance(message, str) else message
            if b'"method": "update"' in content and b'"step"' in content:
                lost.append(content)
            else:
                route.send(message)

        route.connect_to_server().on_message(forward)

    lab.page.route_web_socket(re.compile("/api/kernels/"), lose_updates)
    lab.open_cells("import viz_transformer as vt\nview = vt.thinking_machines(step='weights')\nview")
    lab.run_cell(0)
    expect(lab.output(0).locator(".vt-stepper")).to_have_attribute("data-step", "weights")
    lab.run("view.step = 0")  # is lost: so would be a step that is set after the view was made
    lab.wait_for_value("view.step", 0)
    assert lost
    expect(lab.output(0).locator(".vt-stepper")).to_have_attribute("data-step", "weights")
