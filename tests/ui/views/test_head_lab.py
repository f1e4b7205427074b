"""The head lab: heads switched off by hand and any sentence typed give Python's numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.on_screen import number, numbers, show, type_text
from tests.support.ui_jupyterlab import LabPage, LabServer, next_frames, open_exported
from tests.support.ui_pages import drawn
from viz_transformer.export import export_html
from viz_transformer.labs import interventions_of
from viz_transformer.model import HeadChange, Interventions

SENTENCE = "the teacher lost his book"
GENDER = {"kind": "encoder", "layer": 1, "head": 1}


@pytest.fixture(scope="module")
def exported(translator: vt.Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_html(vt.head_lab(translator), tmp_path_factory.mktemp("head_lab") / "page.html")


def open_page(page: Page, path: Path) -> Locator:
    return drawn(open_exported(page, path, ".vt-head-lab"))


def head_button(root: Locator, kind: str, layer: int, head: int) -> Locator:
    name = re.compile(f"^{kind} layer {layer} head {head}, ")
    return root.locator(".vt-head-grid").get_by_role("button", name=name)


def set_factor(root: Locator, place: tuple[str, int, int], factor: float) -> dict:
    """Click a head, and set its slider; return the change."""
    head_button(root, *place).click()
    root.get_by_role("slider").fill(str(factor))
    drawn(root)
    return dict(zip(("kind", "layer", "head"), place, strict=True)) | {"factor": factor}


def changed(factors: list[dict]) -> Interventions:
    return Interventions(heads=[HeadChange(**each) for each in factors])


def columns(root: Locator) -> list[list[float]]:
    """The log-probabilities of the table of words: before, after and their difference."""
    rows = root.locator(".vt-word-table tbody tr")
    return [numbers(rows.locator(f"td:nth-child({column})")) for column in (3, 4, 5)]


def check_words(root: Locator, translator: vt.Translator, factors: list[dict], text: str = SENTENCE) -> None:
    """Compare every number of the table, and the translation, with the model's own."""
    target = translator.translate(text).tokens
    before = translator.log_probs(text, target)
    after = translator.log_probs(text, target, changed(factors))
    words = root.locator(".vt-word-table tbody tr th").all_inner_texts()
    assert words == [*target, "<eos>"]
    for shown, wanted in zip(columns(root), (before, after, after - before), strict=True):
        assert shown == pytest.approx(wanted, abs=0.00051)
    losses = [-before.mean(), -after.mean(), before.mean() - after.mean()]
    assert numbers(root.locator(".vt-word-table tfoot td")) == pytest.approx(losses, abs=0.00051)
    lines = root.locator(".vt-translation")
    expect(lines.first).to_have_text(" ".join(target))
    expect(lines.last).to_have_text(translator.translate(text, interventions=changed(factors)).text)


def check_effects(root: Locator, effects: tuple[vt.analysis.HeadEffect, ...]) -> None:
    """Compare the table of heads, and what is said below it, with Python's."""
    for effect, row in zip(effects, root.locator(".vt-worth-table tbody tr").all(), strict=True):
        change, rank, confidence, confidence_rank = row.locator("td").all_inner_texts()
        assert number(change) == pytest.approx(effect.loss_change, abs=0.00051)
        assert float(confidence) == pytest.approx(effect.confidence, abs=0.0051)
        assert (int(rank), int(confidence_rank)) == (effect.rank, effect.confidence_rank)
    said = vt.analysis.effects_in_words(effects)
    expect(root.locator(".vt-verdict")).to_have_text(f"{said} A sharp picture proves no importance.")


def test_a_head_is_switched_off(kept_page: Page, exported: Path, translator) -> None:
    root = open_page(kept_page, exported)
    check_words(root, translator, [])
    expect(root.locator("mark")).to_have_count(0)
    check_effects(root, vt.head_lab(translator).effects())
    button = head_button(root, *GENDER.values())
    button.click()
    drawn(root)
    check_words(root, translator, [{**GENDER, "factor": 0}])
    expect(button).to_have_attribute("aria-pressed", "true")
    assert root.locator("mark").all_inner_texts() == ["el", "profesor", "la", "maestra"]
    expect(root.locator(".vt-says")).to_contain_text("Encoder layer 1 head 1 is off. Loss 0.090 →")


def test_heads_are_chosen_and_changed_by_keys(kept_page: Page, exported: Path, translator) -> None:
    root = open_page(kept_page, exported)
    name = root.get_by_role("button", name="encoder L1 H1", exact=True)
    name.click()  # in the table of heads: this one alone is off
    expect(name).to_have_attribute("aria-pressed", "true")
    head_button(root, *GENDER.values()).focus()
    for _ in range(4):  # through the decoder's layers to those of cross-attention
        kept_page.keyboard.press("ArrowDown")
    expect(root.locator(".vt-looks .vt-title")).to_contain_text("Cross-attention · layer 1 · head 1")
    target = translator.translate(SENTENCE).tokens
    for which, changes in enumerate((None, changed([{**GENDER, "factor": 0}]))):
        weights = translator.trace(SENTENCE, target, changes).cross_attention[1, 1]
        cells = root.locator(".vt-matrix").nth(which).locator("td")
        assert numbers(cells) == pytest.approx(weights.ravel(), abs=0.0055)
    root.get_by_role("button", name="as trained", exact=True).click()
    root.locator(".vt-matrix").first.locator("td[data-row='1'][data-col='1']").click()
    kept_page.mouse.move(0, 0)
    weight = translator.trace(SENTENCE, target).cross_attention[1, 1, 1, 1]
    expect(root.locator(".vt-cell-says")).to_contain_text(f"profesor to teacher: {weight:.2f}, rank 1 of 6")

    head_button(root, *GENDER.values()).focus()
    for key, factor in (("Enter", 1), ("Space", 0)):
        kept_page.keyboard.press(key)
        drawn(root)
        check_words(root, translator, [{**GENDER, "factor": factor}])
    kept_page.keyboard.press("Tab")
    kept_page.keyboard.press("Home")  # of the slider
    drawn(root)
    check_words(root, translator, [{**GENDER, "factor": -1}])
    expect(root.get_by_role("button", name="encoder layer 1 head 1, factor −1")).to_be_visible()


def test_the_page_runs_any_sentence_with_any_heads(kept_page: Page, exported: Path, translator) -> None:
    root = open_page(kept_page, exported)
    both = [set_factor(root, ("encoder", 1, 1), -0.5), set_factor(root, ("cross", 1, 2), 1.75)]
    check_words(root, translator, both)
    longer = "the cow did not cross the street because it was too tired"
    type_text(root, longer)
    expect(root.locator(".vt-translation").first).to_have_text(translator.translate(longer).text)
    drawn(root)
    three = [*both, set_factor(root, ("decoder", 0, 3), 0)]
    check_words(root, translator, three, longer)
    check_effects(root, vt.head_lab(translator, longer).effects())
    head_button(root, "decoder", 0, 3).press("ArrowUp")
    next_frames(root)
    trace = translator.trace(longer, translator.translate(longer).tokens, changed(three))
    cells = root.locator(".vt-matrix").nth(1).locator("td")
    assert numbers(cells) == pytest.approx(trace.encoder_attention[1, 3].ravel(), abs=0.0051)

    for wrong in ("the dragon sleeps", "the cat sleeps. the dog sleeps.", "cat " * 80):
        with pytest.raises(vt.UserError) as error:
            translator.translate(wrong)
        type_text(root, wrong)
        expect(root.locator(".vt-problem")).to_contain_text(f"{error.value}. The picture still shows")
        check_words(root, translator, three, longer)
    root.get_by_role("button", name="Reset all").click()
    drawn(root)
    check_words(root, translator, [], longer)


def test_the_page_runs_the_other_families(kept_page: Page, tmp_path: Path) -> None:
    for model, text, field, button in (
        (vt.load_language_model(), "las vacas no", "text to continue", "Continue"),
        (vt.load_masked_model(), "el gato [?] la calle", "text with a gap, written [?]", "Fill"),
    ):
        lab = vt.head_lab(model)
        root = drawn(show(kept_page, lab, tmp_path, "head-lab"))
        root.get_by_role("textbox", name=field).fill(text)
        root.get_by_role("button", name=button, exact=True).click()
        expect(root.locator(".vt-translation").first).to_have_text(" ".join(model.answer(text)))
        drawn(root)
        (kind,) = model.config.attention_layers
        lab.sentence, lab.factors = text, [set_factor(root, (kind, 1, 2), -1)]
        changes = interventions_of(lab)
        for shown, each in zip(columns(root), (None, changes), strict=False):
            assert shown == pytest.approx(model.judge(text, model.answer(text), each)[1], abs=0.00051)
        expect(root.locator(".vt-translation").last).to_have_text(" ".join(model.answer(text, changes)))
        check_effects(root, lab.effects())


def test_a_page_without_a_model_names_what_needs_one(kept_page: Page, tmp_path: Path, translator) -> None:
    """It knows each head alone switched off, in the sentence that it was made with."""
    root = drawn(show(kept_page, vt.head_lab(translator, engine="kernel"), tmp_path, "head-lab"))
    problem = root.locator(".vt-problem")
    head_button(root, "encoder", 1, 1).click()
    drawn(root)
    expect(problem).to_be_hidden()
    head_button(root, "cross", 0, 0).click()  # two at once
    lacks = "needs the running notebook.*knows each head alone switched off.*Encoder layer 1 head 1 is off"
    expect(problem).to_have_text(re.compile(lacks, re.DOTALL))
    check_words(root, translator, [{**GENDER, "factor": 0}])
    root.get_by_role("button", name="Reset all").click()
    drawn(root)
    expect(problem).to_be_hidden()
    type_text(root, "the horse sleeps")
    expect(problem).to_contain_text(f"still shows “{SENTENCE}”")
    check_words(root, translator, [])


#: A lab whose answers come when the file "go" is there.
SLOW = """
import pathlib, time
import viz_transformer as vt
from viz_transformer.labs.head_lab import ablate
from viz_transformer.widgets.head_lab.view import HeadLab

go, slow = pathlib.Path("go"), False
go.unlink(missing_ok=True)

def answer(request):
    while slow and not go.exists():
        time.sleep(0.02)
    return ablate(translator, request)

translator = vt.load_translator()
late = HeadLab(answer, "the cat sleeps")
display(late)  # and its still picture; the page asks when the cell has ended
slow = True
"""
WAITING = "The notebook's kernel does not answer yet"
#: Keeps the page's connections, so that a test can cut them.
KEEP_SOCKETS = """
window.sockets = [];
window.WebSocket = class extends WebSocket {
    constructor(...address) { super(...address); sockets.push(this); }
};
"""
CUT = "sockets.filter(({ url }) => url.includes('/channels')).forEach((socket) => socket.close())"


@pytest.mark.slow
def test_in_jupyterlab_a_late_answer_is_waited_for_and_shown(
    lab: LabPage, lab_server: LabServer, translator: vt.Translator
) -> None:
    """Also when the connection is cut, the laptop sleeps, or the kernel restarts meanwhile."""
    lab.page.add_init_script(KEEP_SOCKETS)
    lab.open_cells(SLOW)
    lab.run_all()
    root, go = lab.output(0).locator(".vt-head-lab"), lab_server.root / "go"
    laptop = lab.page.context.new_cdp_session(lab.page)

    def ask(text: str) -> None:
        go.unlink()
        type_text(root, text)
        expect(root.locator(".vt-problem")).to_contain_text(WAITING)

    def is_answered(text: str) -> None:
        go.touch()
        shown = drawn(lab.output(0).locator(".vt-head-lab"))
        expect(shown.locator(".vt-translation").first).to_have_text(translator.translate(text).text)
        expect(shown.locator(".vt-problem")).to_be_hidden()

    expect(root.locator(".vt-problem")).to_contain_text(WAITING)
    expect(root.locator(".vt-translation").first).to_be_empty()
    is_answered("the cat sleeps")
    ask("the dog sleeps")
    expect(root.locator(".vt-problem")).to_contain_text("The picture still shows “the cat sleeps”.")
    is_answered("the dog sleeps")
    lab.wait_for_value("late.sentence", "the dog sleeps")
    assert lab.errors == []

    ask("the cat is black")
    lab.page.evaluate(CUT)
    is_answered("the cat is black")
    ask("the dog is white")
    laptop.send("Page.setWebLifecycleState", {"state": "frozen"})
    go.touch()
    laptop.send("Page.setWebLifecycleState", {"state": "active"})
    is_answered("the dog is white")
    ask("the cow sleeps")
    lab.restart_kernel()
    expect(root.locator(".vt-problem")).to_contain_text("needs the running notebook")
    lab.run_cell(0)
    is_answered("the cat sleeps")  # as the cell says
    expect(root).to_have_count(1)
