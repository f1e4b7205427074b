"""The beam stepper: each step, height, score and weight on the page is that of Python's search."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.hand_made_searches import hand_made
from tests.support.on_screen import number, show, type_text
from tests.support.ui_jupyterlab import open_exported
from tests.support.ui_pages import drawn
from viz_transformer.export import export_html
from viz_transformer.trace import DecodeTrace
from viz_transformer.trace.text import running_text
from viz_transformer.widgets.beam_stepper.payload import candidate_texts
from viz_transformer.widgets.beam_stepper.view import BeamStepper

SENTENCE = "the teacher sleeps"
LONG = "the cow did not cross the street because it was too tired"


def unfolded(view: BeamStepper) -> BeamStepper:
    view.unfolded = ["looks", "candidates"]
    return view


@pytest.fixture(scope="module")
def exported(translator: vt.Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    view = unfolded(vt.beam_stepper(translator, SENTENCE))
    return export_html(view, tmp_path_factory.mktemp("beam") / "page.html")


@pytest.fixture
def root(kept_page: Page, exported: Path) -> Locator:
    return drawn(open_exported(kept_page, exported, ".vt-beam-stepper"))


def slide(root: Locator, name: str, value: float) -> None:
    """Set a slider as a viewer would: by what it is called."""
    root.get_by_role("slider", name=name).fill(str(value))
    drawn(root)


def go_to(root: Locator, step: int) -> None:
    """Go along the timeline to a step, counted from 0."""
    timeline = root.get_by_role("slider", name="Steps")
    for at, key in enumerate(["Home"] + step * ["ArrowRight"]):
        timeline.press(key)
        expect(timeline).to_have_attribute("aria-valuenow", str(at))
    drawn(root)


def leaf_of(root: Locator, step: int, index: int) -> Locator:
    return root.locator(f".vt-tree [data-step='{step}'][data-index='{index}']")


def height_of(node: Locator) -> float:
    return float(node.evaluate("(node) => parseFloat(node.style.getPropertyValue('--vt-flow'))"))


def check_step(root: Locator, search: DecodeTrace, step: int) -> None:
    """The list holds the candidates of the step, and each branch is as high as its text is probable."""
    candidates, texts = search.steps[step].candidates, candidate_texts(search)[step]
    rows = root.locator(".vt-candidates li")
    expect(rows).to_have_count(len(candidates))
    whole = height_of(root.locator(".vt-start"))
    for index, (one, text, row) in enumerate(zip(candidates, texts, rows.all(), strict=True)):
        assert row.get_by_role("button").inner_text() == running_text(text)
        told = row.locator("span").first.inner_text()
        numbers = [number(each) for each in re.findall(r"[−\d.]+(?=,|$)", told)]
        assert numbers == pytest.approx([one.log_prob, one.score], abs=0.00051)
        assert f"{one.status}: {one.reason}" in row.inner_text()
        leaf = leaf_of(root, step, index)
        if root.locator(f".vt-node[data-step='{step}'][data-index='{index}']").count():
            assert leaf.locator("bdi").inner_text() == one.token
            assert one.reason in (leaf.get_attribute("title") or "")
            chance = math.exp(one.log_prob)
            assert height_of(leaf) / whole == pytest.approx(chance, abs=2 / whole)
        else:
            assert math.exp(one.log_prob) < 0.005
    expect(root.locator(f".vt-tree [data-step='{step + 1}']")).to_have_count(0)


def check_attention(root: Locator, weights: np.ndarray) -> None:
    shares = root.locator(".vt-looks .vt-bar-share").all_inner_texts()
    found = [number(re.sub(r"[^\d.]", "", share)) / 100 for share in shares]
    assert found == pytest.approx(weights.tolist(), abs=0.0101)  # "> 99%" is all there is


def way(root: Locator, name: str) -> Locator:
    return root.locator(".vt-way", has_text=name)


def test_each_step_shows_its_candidates_as_high_as_they_are_probable(root: Locator, translator) -> None:
    search = translator.decode(SENTENCE, attention=True)
    for step in range(len(search.steps)):
        go_to(root, step)
        check_step(root, search, step)
    leading = root.locator(".vt-node.vt-leading bdi")
    assert leading.all_inner_texts() == [*search.hypotheses[0].tokens, "<eos>"]

    # Greedy search and a sample stand beside it, and the difference is marked.
    found = [translator.decode(SENTENCE, 1), search, translator.sample(SENTENCE)]
    names = ("greedy search", "beam of 4", "sampling")
    for name, each in zip(names, found, strict=True):
        best = each.hypotheses[0]
        expect(way(root, name).locator("bdi")).to_have_text(" ".join(best.tokens))
        told = way(root, name).locator(".vt-log-prob").inner_text().removeprefix("log P ")
        assert number(told) == pytest.approx(best.log_prob, abs=0.00051)
    assert way(root, "beam of 4").locator("mark").all_inner_texts() == ["la", "maestra"]
    way(root, "greedy search").click()
    check_step(drawn(root), translator.decode(SENTENCE, 1), 3)
    way(root, "beam of 4").click()
    check_step(drawn(root), search, 3)


def test_the_winner_is_told_at_the_end_and_not_before(root: Locator, translator) -> None:
    winner = translator.decode(SENTENCE).hypotheses[0].tokens
    assert winner == ("la", "maestra", "duerme")
    headline = root.locator(".vt-headline")
    expect(headline).to_have_text("la maestra duerme wins: 42%")
    for step, told in enumerate(("After one word, el leads: 56%", "After 2 words, la maestra leads: 42%")):
        go_to(root, step)
        expect(headline).to_have_text(told)
        page = root.inner_html()
        assert not any(word in page for word in winner[step + 1 :])
        assert root.locator(".vt-to-come").count() == 3 - step
    root.get_by_role("button", name="Forward").click()
    expect(headline).to_have_text("After 3 words, la maestra duerme leads: 42%")
    root.get_by_role("button", name="Forward").click()
    expect(headline).to_have_text("la maestra duerme wins: 42%")
    root.locator(".vt-chip", has_text="maestra").click()
    expect(root.locator(".vt-column-head.vt-now")).to_have_text("word 2")


def test_keys_walk_the_tree_from_parent_to_child(root: Locator, translator) -> None:
    search, keyboard = translator.decode(SENTENCE, attention=True), root.page.keyboard
    go_to(root, 0)
    root.locator(".vt-tree [tabindex='0']").focus()
    keyboard.press("ArrowDown")
    keyboard.press("ArrowRight")  # the tree grows, and the focus goes with it
    expect(leaf_of(root, 1, 0)).to_be_focused()
    expect(leaf_of(root, 1, 0)).to_have_attribute("aria-pressed", "true")
    keyboard.press("ArrowLeft")
    expect(leaf_of(root, 0, 1)).to_be_focused()
    for _ in range(9):
        keyboard.press("ArrowDown")
        drawn(root)
    last = search.steps[0].candidates[-1]
    expect(root.locator(".vt-says")).to_have_text(f"✂ pruned: {last.reason}")
    winner = root.locator(".vt-rival")  # it took the last one's place
    expect(winner).to_have_attribute("data-index", str(last.beaten_by))
    assert winner.evaluate("(node) => [getComputedStyle(node).margin, node.getAnimations().length]") == [
        "0px",
        0,
    ]

    # The words below an earlier column open in their place.
    go_to(root, 3)
    root.locator(".vt-tail").first.get_by_role("button", name="4 more").click()
    expect(root.locator(".vt-tail").first.get_by_role("button")).to_have_text(["aquí", "su", "las", "usted"])
    expect(root.locator(".vt-column-head.vt-now")).to_have_text("end")

    # The weights are those of the beam that wrote the candidate, pointed at or chosen.
    go_to(root, 1)
    step, looks = search.steps[1], root.locator(".vt-looks")
    for index in (0, 2):
        one = step.candidates[index]
        leaf_of(root, 1, index).hover()
        expect(looks).to_contain_text(f"What {one.token} looked at")
        check_attention(root, step.cross_attention[one.parent, 1].mean(axis=0))
    leaf_of(root, 1, 2).click()
    root.locator(".vt-headline").hover()
    expect(looks).to_contain_text(f"What {one.token} looked at")
    root.get_by_role("combobox", name="layer").select_option("0")
    root.get_by_role("combobox", name="head").select_option("3")
    drawn(root)
    weights = step.cross_attention[one.parent, 0, 3]
    check_attention(root, weights)
    assert looks.locator("li bdi").all_inner_texts() == ["the", "teacher", "sleeps", "<eos>"]
    lit = root.locator(".vt-chip:not(.vt-of-query)").evaluate_all(
        "(chips) => chips.map((chip) => chip.style.boxShadow !== '')"
    )
    assert lit == (weights >= 0.005).tolist()


def test_the_page_makes_any_search(root: Locator, translator) -> None:
    type_text(root, LONG)
    slide(root, "beam width", 8)
    slide(root, "length penalty", 1.3)
    search = translator.decode(LONG, 8, 1.3, attention=True)
    check_step(root, search, len(search.steps) - 1)
    go_to(root, 2)
    check_step(root, search, 2)
    problem = root.locator(".vt-problem")
    with pytest.raises(vt.UserError) as error:
        translator.decode("the dragon sleeps")
    type_text(root, "the dragon sleeps")
    expect(problem).to_contain_text(f"{error.value}. The picture still shows the cow did not")
    type_text(root, "the cat sleeps")
    expect(way(root, "beam of 8").locator("bdi")).to_have_text("el gato duerme")
    expect(problem).to_be_hidden()


def test_page_and_python_draw_the_same(root: Locator, translator) -> None:
    way(root, "sampling").click()
    root.get_by_role("button", name="Options").click()
    slide(root, "top-k", 3)
    go_to(root, 0)
    search = translator.sample(SENTENCE, top_k=3)
    rows = root.locator(".vt-candidates li").all()
    whole = height_of(root.locator(".vt-start"))
    for index, (one, row) in enumerate(zip(search.steps[0].candidates, rows, strict=True)):
        assert row.get_by_role("button").inner_text() == one.token
        told = re.findall(r"[\d.]+", row.locator("span").first.inner_text())
        wanted = [math.exp(one.token_log_prob), one.share]
        assert [float(each) for each in told] == pytest.approx(wanted, abs=0.00051)
        assert one.reason in row.inner_text()
        if one.share >= 0.005:
            assert height_of(leaf_of(root, 0, index)) / whole == pytest.approx(one.share, abs=2 / whole)
    slide(root, "top-k", 0)
    slide(root, "temperature", 1.7)
    slide(root, "top-p", 0.95)
    root.get_by_role("slider", name="Steps").press("End")
    for seed in range(3):
        expect(root.locator(".vt-seed")).to_have_text(f"seed {seed}")
        best = translator.sample(SENTENCE, 1.7, top_p=0.95, seed=seed).hypotheses[0]
        expect(drawn(root).locator(".vt-headline")).to_contain_text(f"{running_text(best.tokens)} is drawn")
        shown = way(root, "sampling").locator(".vt-log-prob").inner_text().removeprefix("log P ")
        assert number(shown) == pytest.approx(best.log_prob, abs=0.00051)
        root.get_by_role("button", name="Draw again").click()


def test_the_page_continues_a_text_and_shows_named_searches(kept_page: Page, tmp_path: Path) -> None:
    model = vt.load_language_model()
    view = unfolded(vt.beam_stepper({"one": model}, "el gato", 2))
    root = drawn(show(kept_page, view, tmp_path, "beam-stepper"))
    type_text(root, "las vacas")
    slide(root, "beam width", 5)
    best = model.decode("las vacas", 5, attention=True).hypotheses[0]
    expect(way(root, "beam of 5").locator("bdi")).to_have_text(running_text(best.tokens))
    assert root.locator(".vt-chip:not(.vt-of-query)").all_inner_texts() == ["<sos>", "las", "vacas"]

    named = unfolded(BeamStepper({"early": hand_made(("x", "y")), "late": hand_made(("z",))}))
    root = show(kept_page, named, tmp_path, "beam-stepper")
    for role, name in (("slider", "beam width"), ("button", "Another sentence")):
        expect(root.get_by_role(role, name=name)).to_be_hidden()
    root.get_by_role("combobox", name="checkpoint").select_option("late")
    expect(root.locator(".vt-way bdi")).to_have_text("z")
    expect(root.locator(".vt-problem")).to_be_hidden()


def test_a_page_without_a_model_names_its_searches(kept_page: Page, tmp_path: Path, translator) -> None:
    view = unfolded(vt.beam_stepper(translator, SENTENCE, engine="kernel"))
    root = drawn(show(kept_page, view, tmp_path, "beam-stepper"))
    for width, penalty in ((8, 0.6), (4, 0)):
        slide(root, "beam width", width)
        slide(root, "length penalty", penalty)
        search = translator.decode(SENTENCE, width, penalty, attention=True)
        check_step(root, search, len(search.steps) - 1)  # the step at the end stays at the end
    slide(root, "length penalty", 0.6)
    problem = root.locator(".vt-problem")
    expect(problem).to_be_hidden()
    slide(root, "beam width", 5)
    for told in (
        "needs the running notebook",
        "length penalty 0.6 with beam width 1, 2, 4, 8;",
        "Still shown: “\u2068the teacher sleeps\u2069”, beam width 4",
    ):
        expect(problem).to_contain_text(told)
    slide(root, "beam width", 2)
    expect(problem).to_be_hidden()
