"""The attention stepper: every number of every step on the page is the one that Python works out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.on_screen import numbers, show, type_text
from viz_transformer.widgets.attention_stepper.view import AttentionStepper

TEXT = "the black cat sleeps"
#: As they are shown: two digits, or one where the numbers are large.
TOLERANCES = dict.fromkeys(("scores", "q", "scaled", "masked", "output"), 0.0501)


RIGHTS = "all => all.map((each) => each.getBoundingClientRect().right)"
LEFTS = "all => all.map((each) => each.getBoundingClientRect().left)"


def matrix(root: Locator, name: str) -> Locator:
    return root.locator(f'[data-matrix="{name}"] td')


def check_matrix(root: Locator, name: str, wanted: np.ndarray) -> None:
    shown = numbers(matrix(root, name))
    assert np.allclose(shown, np.ravel(wanted), atol=TOLERANCES.get(name, 0.005001)), name


def go_to(root: Locator, view: AttentionStepper, step: str) -> None:
    root.locator(".vt-step").nth(view.steps.steps.index(step)).click()
    expect(root.locator(".vt-work")).to_have_attribute("data-step", step)


def weights_of(view: AttentionStepper) -> list[str]:
    return [f"{weight:.2f}" for weight in view.worked().weights]


def test_every_step_of_a_published_example(kept_page: Page, tmp_path: Path) -> None:
    view = vt.thinking_machines()
    root = show(kept_page, view, tmp_path, "stepper")
    for query in (0, 1):
        view.query = query
        root.locator(".vt-chip.vt-of-query").nth(query).click()
        go_to(root, view, "x")
        check_matrix(root, "all", view.steps.x)
        for step in view.steps.steps[1:]:
            root.get_by_role("button", name="Forward").click()
            expect(root.locator(".vt-work")).to_have_attribute("data-step", step)
            check_matrix(root, step, getattr(view.worked(), step))
        expect(root.get_by_role("button", name="Forward")).to_be_disabled()
    root.get_by_role("button", name="Back").click()
    expect(root.locator(".vt-work")).to_have_attribute("data-step", "weights")


def test_every_step_of_a_trained_head(kept_page: Page, tmp_path: Path, translator) -> None:
    view = vt.attention_stepper(translator, TEXT, kind="decoder", layer=1, head=3, query=2)
    root = show(kept_page, view, tmp_path, "stepper")
    worked, theirs = view.worked(), translator.trace(TEXT).decoder_attention[1, 3, 2]
    for step in ("q", "scores", "scaled", "masked", "output", "weights"):
        go_to(root, view, step)
        check_matrix(root, step, getattr(worked, step))
    check_matrix(root, "weights", theirs)
    best = view.steps.key_tokens[int(theirs.argmax())]
    expect(root.locator(".vt-line")).to_contain_text(f"{best}\u2069”: {theirs.max():.2f}")
    go_to(root, view, "output")
    formula = root.locator(".vt-corner [class^=vt-term]").evaluate_all(RIGHTS)
    names = root.locator(".vt-part-b .vt-row-name bdi").evaluate_all(LEFTS)
    assert max(formula) < min(names)
    # The last step's result is a picture, whose numbers are read one by one, to six digits.
    go_to(root, view, "result")
    code = root.locator(".vt-code")
    root.locator('[data-matrix="result"] canvas').focus()
    for column in range(3):
        expect(code).to_contain_text(f"result[{column}]")
        shown = float(code.text_content().split("# ")[1])
        assert shown == pytest.approx(worked.result[column], rel=1e-4, abs=1e-6)
        kept_page.keyboard.press("ArrowRight")


def test_pointing_at_a_number_explains_it(kept_page: Page, tmp_path: Path) -> None:
    view = vt.thinking_machines()
    root = show(kept_page, view, tmp_path, "stepper")
    go_to(root, view, "scores")
    cell, code, formula = matrix(root, "scores").first, root.locator(".vt-code"), root.locator(".vt-formula")
    cell.hover()
    expect(formula).to_have_text("2.50·0.00 + 1.00·2.00 + 2.00·0.00 = 2.00")
    expect(code).to_have_text("scores = q @ k.T\nscores[0]  # 2")
    expect(root.locator('[data-matrix="q"] td.vt-mark-a')).to_have_count(3)
    expect(root.locator('[data-matrix="k_t"] td.vt-mark-b')).to_have_count(3)
    matrix(root, "k_t").nth(2).click()  # leads to the step that made it
    expect(root.locator(".vt-work")).to_have_attribute("data-step", "k")
    kept_page.mouse.move(0, 0)
    expect(code).to_contain_text("k[0, 1]  # 2")


def test_the_switches_and_the_temperature_recompute(kept_page: Page, tmp_path: Path, translator) -> None:
    view = vt.attention_stepper(translator, TEXT, kind="decoder", query=1)
    root = show(kept_page, view, tmp_path, "stepper")
    go_to(root, view, "weights")
    for name, button in (("scale", "÷ √d_k"), ("mask", "mask")):
        setattr(view, name, False)
        root.get_by_role("button", name=button).click()
        expect(matrix(root, "weights")).to_have_text(weights_of(view))
    view.temperature = 3.0
    root.get_by_role("slider", name="temperature").fill("3")
    expect(matrix(root, "weights")).to_have_text(weights_of(view))
    go_to(root, view, "scaled")
    expect(root.locator(".vt-code")).to_contain_text("scaled = scores / 3\n")


def test_arrow_keys_go_through_steps_and_numbers(kept_page: Page, tmp_path: Path) -> None:
    view = vt.thinking_machines()
    root, keyboard = show(kept_page, view, tmp_path, "stepper"), kept_page.keyboard
    root.get_by_role("slider", name="Steps").focus()
    for step in (*view.steps.steps[1:], view.steps.steps[-1]):
        keyboard.press("ArrowRight")
        expect(root.locator(".vt-work")).to_have_attribute("data-step", step)
    keyboard.press("Home")
    expect(root.locator(".vt-work")).to_have_attribute("data-step", "x")
    keyboard.press("ArrowRight")
    matrix(root, "q").first.focus()
    keyboard.press("ArrowRight")
    expect(root.locator(".vt-code")).to_contain_text("q[1]  # 1")
    expect(root.locator(".vt-headline")).to_contain_text("thinking becomes a query of 3 numbers")


def test_the_page_works_through_any_sentence(kept_page: Page, tmp_path: Path, translator) -> None:
    changes = vt.Interventions(positions=False, temperature=2)
    longer = "the cow did not cross the street because it was too tired"
    for view, text, places in (
        (vt.attention_stepper(translator, TEXT, query=1), longer, [("cross", 0), ("encoder", 1)]),
        (vt.attention_stepper(translator, TEXT, interventions=changes), "she runs", [("decoder", 1)]),
        (vt.attention_stepper(vt.load_language_model(), "el gato"), "las vacas duermen", [("decoder", 1)]),
        (vt.attention_stepper(vt.load_masked_model(), "el gato"), "las [?] duermen", [("encoder", 1)]),
    ):
        root = show(kept_page, view, tmp_path, "stepper")
        go_to(root, view, "weights")
        type_text(root, text)
        view.text = text
        for kind, layer in places:
            root.get_by_label("attention", exact=True).select_option(f"{kind} {layer}")
            view.kind, view.layer = kind, layer
            expect(matrix(root, "weights")).to_have_text(weights_of(view))
        type_text(root, "the dragon")
        with pytest.raises(vt.UserError) as error:
            view.text = "the dragon"
        expect(root.get_by_role("alert")).to_contain_text(f"{error.value}. The picture still shows")
        expect(matrix(root, "weights")).to_have_text(weights_of(view))


def test_a_page_without_a_model_names_what_needs_one(kept_page: Page, tmp_path: Path, translator) -> None:
    """It carries the layers and heads of its own sentence."""
    view = vt.attention_stepper(translator, TEXT, query=1, engine="kernel")
    root = show(kept_page, view, tmp_path, "stepper")
    go_to(root, view, "weights")
    root.get_by_label("attention", exact=True).select_option("encoder 1")
    root.get_by_label("head", exact=True).select_option("2")
    view.kind, view.layer, view.head = "encoder", 1, 2
    expect(matrix(root, "weights")).to_have_text(weights_of(view))
    type_text(root, "the dog runs")
    expect(root.get_by_role("alert")).to_contain_text("needs the running notebook")
    expect(root.locator(".vt-title")).to_have_text("Encoder self-attention · layer 1 · head 2")
