"""The beam stepper: each step, score and weight on the page is that of Python's search."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.hand_made_searches import hand_made
from tests.support.on_screen import number, numbers, show, type_text
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
    root.get_by_role("slider", name=name, exact=True).fill(str(value))
    drawn(root)


def leaf_of(root: Locator, step: int, index: int) -> Locator:
    return root.locator(f".vt-leaf[data-step='{step}'][data-index='{index}']")


def check_step(root: Locator, search: DecodeTrace, step: int) -> None:
    """The tree and the table hold the candidates of the step, in words and numbers."""
    candidates, texts = search.steps[step].candidates, candidate_texts(search)[step]
    expect(root.locator(".vt-leaf:visible")).to_have_count(
        sum(len(each.candidates) for each in search.steps[: step + 1])
    )
    rows = root.locator(".vt-candidates tbody tr")
    expect(rows).to_have_count(len(candidates))
    for index, (one, text, row) in enumerate(zip(candidates, texts, rows.all(), strict=True)):
        assert row.locator("th").inner_text() == running_text(text)
        log_prob, score, fate = row.locator("td").all_inner_texts()
        assert number(log_prob) == pytest.approx(one.log_prob, abs=0.00051)
        assert number(score) == pytest.approx(one.score, abs=0.00051)
        assert f"{one.status}: {one.reason}" in fate
        leaf = leaf_of(root, step, index)
        assert leaf.locator("bdi").inner_text() == one.token
        value = one.score if one.status == "finished" else one.log_prob
        assert number(leaf.locator(".vt-leaf-number").inner_text()) == pytest.approx(value, abs=0.0051)
        assert one.reason in leaf.get_attribute("title")


def check_attention(root: Locator, weights: np.ndarray) -> None:
    assert numbers(root.locator(".vt-looks td")) == pytest.approx(weights.tolist(), abs=0.0055)


def test_each_step_shows_its_candidates_and_the_best_path(root: Locator, translator) -> None:
    search = translator.decode(SENTENCE, attention=True)
    for step in range(len(search.steps)):
        slide(root, "step", step + 1)
        check_step(root, search, step)
    best = root.locator(".vt-leaf.vt-best bdi")
    assert best.all_inner_texts() == [*search.hypotheses[0].tokens, "<eos>"]
    leaves = [one for step in search.steps for one in step.candidates]
    gone = sum(one.status in ("pruned", "forbidden") for one in leaves)
    expect(root.locator(".vt-edge:is(.vt-pruned, .vt-forbidden)")).to_have_count(gone)

    # Greedy search stands beside it, and the difference is marked.
    greedy, beam = (translator.decode(SENTENCE, width).hypotheses[0] for width in (1, 4))
    lines = root.locator(".vt-translation")
    assert lines.all_inner_texts() == [" ".join(greedy.tokens), " ".join(beam.tokens)]
    assert lines.last.locator("mark").all_inner_texts() == ["la", "maestra"]
    scores = [text.removeprefix("score ") for text in root.locator(".vt-line-score").all_inner_texts()]
    assert [number(text) for text in scores] == pytest.approx([greedy.score, beam.score], abs=0.00051)
    expect(root.locator(".vt-leaf.vt-greedy")).to_have_count(len(greedy.tokens) + 1)


def test_keys_walk_the_tree_from_parent_to_child(root: Locator, translator) -> None:
    search, keyboard = translator.decode(SENTENCE, attention=True), root.page.keyboard
    root.get_by_role("slider", name="step", exact=True).focus()
    for key, step in (("Home", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
        keyboard.press(key)
        expect(root.locator(".vt-column-head.vt-now")).to_have_text(f"step {step}")
    drawn(root)
    root.locator(".vt-leaf[tabindex='0']").focus()
    keyboard.press("ArrowRight")  # the tree grows, and the focus goes with it
    expect(leaf_of(root, 1, 0)).to_be_focused()
    expect(leaf_of(root, 1, 0)).to_have_attribute("aria-pressed", "true")
    keyboard.press("ArrowLeft")
    expect(leaf_of(root, 0, 1)).to_be_focused()
    for _ in range(6):
        keyboard.press("ArrowDown")
        drawn(root)
    last = search.steps[0].candidates[-1]
    expect(root.locator(".vt-says")).to_contain_text(f"pruned, {last.reason}")
    winner = root.locator(".vt-leaf.vt-winner")  # it took the last one's place
    expect(winner).to_have_attribute("data-index", str(last.beaten_by))

    # The weights are those of the beam that wrote the candidate.
    slide(root, "step", 2)
    step, looks = search.steps[1], root.locator(".vt-looks")
    for index in (0, 2, len(step.candidates) - 1):
        leaf_of(root, 1, index).click()
        drawn(root)  # two candidates may add the same word
        one = step.candidates[index]
        expect(looks).to_contain_text(f"to write “\u2068{one.token}\u2069”: the mean of the 4 heads")
        check_attention(root, step.cross_attention[one.parent, 1].mean(axis=0))
    root.get_by_role("combobox", name="layer").select_option("0")
    root.get_by_role("combobox", name="head").select_option("3")
    expect(looks).to_contain_text("head 3 of layer 0")
    check_attention(root, step.cross_attention[one.parent, 0, 3])
    assert looks.locator("thead th").all_inner_texts()[1:] == ["the", "teacher", "sleeps", "<eos>"]


def test_the_page_makes_any_search(root: Locator, translator) -> None:
    type_text(root, LONG)
    slide(root, "beam width", 8)
    slide(root, "length penalty", 1.3)
    search = translator.decode(LONG, 8, 1.3, attention=True)
    check_step(root, search, len(search.steps) - 1)
    slide(root, "step", 3)
    check_step(root, search, 2)
    problem = root.locator(".vt-problem")
    with pytest.raises(vt.UserError) as error:
        translator.decode("the dragon sleeps")
    type_text(root, "the dragon sleeps")
    expect(problem).to_contain_text(f"{error.value}. Still shown: “\u2068{LONG}\u2069”, beam width 8")
    type_text(root, "the cat sleeps")
    expect(root.locator(".vt-translation").last).to_have_text("el gato duerme")
    expect(problem).to_be_hidden()


def test_page_and_python_draw_the_same(root: Locator, translator) -> None:
    root.get_by_role("combobox", name="method").select_option("sample")
    drawn(root)
    slide(root, "top-k", 3)
    slide(root, "step", 1)
    search = translator.sample(SENTENCE, top_k=3)
    rows = root.locator(".vt-distribution tbody tr").all()
    for one, row in zip(search.steps[0].candidates, rows, strict=True):
        assert row.locator("th").inner_text() == one.token
        _, chance, share, fate = row.locator("td").all_inner_texts()
        wanted = [math.exp(one.token_log_prob), one.share]
        assert [float(chance), float(share)] == pytest.approx(wanted, abs=0.00051)
        assert one.reason in fate
    expect(root.locator(".vt-tree")).to_be_hidden()
    strip = root.locator(".vt-strip").get_by_role("option")
    assert strip.all_inner_texts() == [*search.hypotheses[0].tokens, "<eos>"]
    strip.nth(1).click()
    expect(root.locator(".vt-step-bar output")).to_have_text(f"2 of {len(search.steps)}")

    slide(root, "top-k", 0)
    slide(root, "temperature", 1.7)
    slide(root, "top-p", 0.95)
    for seed in range(3):
        expect(root.locator(".vt-seed")).to_have_text(f"seed {seed}")
        drawn(root)
        best = translator.sample(SENTENCE, 1.7, top_p=0.95, seed=seed).hypotheses[0]
        expect(root.locator(".vt-translation").last).to_have_text(running_text(best.tokens))
        shown = root.locator(".vt-line-score").last.inner_text().removeprefix("log-probability ")
        assert number(shown) == pytest.approx(best.log_prob, abs=0.00051)
        root.get_by_role("button", name="Draw again").click()


def test_the_page_continues_a_text_and_shows_named_searches(kept_page: Page, tmp_path: Path) -> None:
    model = vt.load_language_model()
    view = unfolded(vt.beam_stepper({"one": model}, "el gato", 2))
    root = drawn(show(kept_page, view, tmp_path, "beam-stepper"))
    root.get_by_role("textbox", name="text to continue").fill("las vacas")
    root.get_by_role("textbox").press("Enter")
    slide(root, "beam width", 5)
    search = model.decode("las vacas", 5, attention=True)
    text = ("las", "vacas", *search.hypotheses[0].tokens)
    expect(root.locator(".vt-translation").last).to_have_text(running_text(text))
    check_step(root, search, len(search.steps) - 1)

    named = unfolded(BeamStepper({"early": hand_made(("x", "y")), "late": hand_made(("z",))}))
    root = show(kept_page, named, tmp_path, "beam-stepper")
    for role, name in (("slider", "beam width"), ("textbox", None)):
        expect(root.get_by_role(role, name=name)).to_be_hidden()
    root.get_by_role("combobox", name="checkpoint").select_option("late")
    expect(root.locator(".vt-translation:visible")).to_have_text("z")
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
