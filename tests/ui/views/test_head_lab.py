"""The head lab: heads switched off by hand and any sentence typed give Python's numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.on_screen import number, show, type_text
from tests.support.ui_boxes import faults_of_text
from tests.support.ui_jupyterlab import LabPage, LabServer, open_exported
from tests.support.ui_pages import drawn
from viz_transformer import interventions_of
from viz_transformer.export import export_html
from viz_transformer.model import HeadChange, Interventions

SENTENCE = "the teacher lost his book"
GENDER = {"kind": "encoder", "layer": 1, "head": 1}


@pytest.fixture(scope="module")
def exported(translator: vt.Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_html(vt.head_lab(translator), tmp_path_factory.mktemp("head_lab") / "page.html")


def open_page(page: Page, path: Path) -> Locator:
    return drawn(open_exported(page, path, ".vt-head-lab"))


def losses(root: Locator) -> list[list[float]]:
    """The loss of each word: before, and after or without the chosen head."""
    told = root.locator(".vt-losses [role=img]").all()
    names = [(each.get_attribute("aria-label") or "").rsplit(": loss ", 1)[1] for each in told]
    pairs = [re.split(", (?:now|without the head) ", name) for name in names]
    return [[number(pair[which]) for pair in pairs] for which in (0, 1)]


def words(root: Locator) -> list[str]:
    """The words that the model writes now."""
    return root.locator(".vt-written .vt-word").all_text_contents()


def check_words(root: Locator, translator: vt.Translator, factors: list[dict], text: str = SENTENCE) -> None:
    """Compare the loss of every word, and the words before and after, with the model's own."""
    changes = changed([each for each in factors if each["factor"] != 1])
    target, now = (translator.translate(text, interventions=each).tokens for each in (None, changes))
    before, after = (-translator.log_probs(text, target, each) for each in (None, changes))
    shown = losses(root)
    assert shown[0] == pytest.approx(before, abs=0.00051)
    if changes.heads:
        assert shown[1] == pytest.approx(after, abs=0.00051)
        means = re.findall(r"\d+\.\d+", root.locator(".vt-legend").inner_text())
        assert [*map(float, means)] == pytest.approx([before.mean(), after.mean()], abs=0.00051)
    assert words(root) == [*now, "<eos>"]


def head_button(root: Locator, kind: str, layer: int, head: int) -> Locator:
    name = re.compile(f"^{kind} layer {layer} head {head}, ")
    return root.locator(".vt-head-grid").get_by_role("button", name=name)


def set_factor(root: Locator, place: tuple[str, int, int], factor: float) -> dict:
    """Click a head, and set its slider once it is this head's; return the change."""
    head_button(root, *place).click()
    kind, layer, head = place
    named = re.compile(f"^{kind} layer {layer} head {head} ")
    expect(root.get_by_role("switch")).to_have_accessible_name(named)
    root.get_by_role("slider").fill(str(factor))
    drawn(root)
    return dict(zip(("kind", "layer", "head"), place, strict=True)) | {"factor": factor}


def changed(factors: list[dict]) -> Interventions:
    return Interventions(heads=[HeadChange(**each) for each in factors])


def check_effects(root: Locator, effects: tuple[vt.analysis.HeadEffect, ...]) -> None:
    """Compare the points of the heads with Python's numbers; they come a layer at a time."""
    expect(root.locator(".vt-point")).to_have_count(len(effects))
    named = [label.get_attribute("aria-label") or "" for label in root.locator(".vt-point").all()]
    told = re.compile(r"(.*): loss (.*), rank (\d+) of \d+, sharpness (.*), rank (\d+)")
    points = {found[1]: found for found in map(told.fullmatch, named) if found}
    assert set(points) == {effect.name for effect in effects}
    for effect in effects:
        _, change, rank, confidence, confidence_rank = points[effect.name].groups()
        assert number(change) == pytest.approx(effect.loss_change, abs=0.00051)
        assert float(confidence) == pytest.approx(effect.confidence, abs=0.0051)
        assert (int(rank), int(confidence_rank)) == (effect.rank, effect.confidence_rank)


def check_weights(root: Locator, weights: np.ndarray) -> None:
    """Pin each word that looks by its key, and compare what is told of it with a head's weights."""
    for query, row in enumerate(weights):
        root.locator(f"[data-query='{max(0, query - 1)}']").press("ArrowRight" if query else "Home")
        root.locator(f"[data-query='{query}'][aria-pressed=true]").wait_for()
        shown = root.get_by_role("region", name="weights").locator(".vt-bar-share").all_inner_texts()
        assert [share.split(" → ")[-1] for share in shown] == [percent(weight) for weight in row]


def percent(weight: float) -> str:
    if 0 < weight < 0.001:
        return "<\u00a00.1%"
    if 0.995 < weight < 1:
        return ">\u00a099%"
    return f"{100 * weight:.1f}%" if 0 < weight < 0.1 else f"{round(100 * weight)}%"


def test_a_head_is_switched_off(kept_page: Page, exported: Path, translator) -> None:
    root = open_page(kept_page, exported)
    check_words(root, translator, [])
    expect(root.locator(".vt-came")).to_have_count(0)
    expect(root.locator(".vt-headline")).to_have_text("Reading teacher, encoder head 1·1 looks at his: 96%")
    expect(root.locator(".vt-line")).to_contain_text("raises the loss by 0.104: the most of 24 heads")
    check_effects(root, vt.head_lab(translator).effects())
    switch = root.get_by_role("switch", name="encoder layer 1 head 1 is on")
    switch.click()  # on the arc that it cuts
    drawn(root)
    check_words(root, translator, [{**GENDER, "factor": 0}])
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(head_button(root, *GENDER.values())).to_have_attribute("aria-pressed", "true")
    assert root.locator(".vt-went").all_text_contents() == ["el", "profesor"]
    assert root.locator(".vt-came").all_text_contents() == ["la", "maestra"]
    said = "Without encoder head 1·1, el profesor turns into la maestra"
    expect(root.locator(".vt-headline")).to_have_text(said)
    expect(root.locator(".vt-line")).to_contain_text(
        re.compile(r"Loss 0\.090 → 0\.194; most: “.*el.*” 0\.000 → ")
    )
    code = root.locator(".vt-code").inner_text()
    given = translator.translate(SENTENCE, interventions=eval(code, {"vt": vt}))
    assert list(given.tokens)[:2] == ["la", "maestra"]
    switch.press("Enter")
    drawn(root)
    check_words(root, translator, [])
    other = {"kind": "cross", "layer": 1, "head": 2}
    small = head_button(root, *other.values())
    small.click()  # chosen, and still on
    expect(root.get_by_role("switch")).to_have_accessible_name("cross layer 1 head 2 is on")
    expect(small).to_have_attribute("aria-pressed", "false")
    small.evaluate("(node) => { for (let i = 0; i < 31; i++) node.click(); }")
    drawn(root)
    check_words(root, translator, [{**other, "factor": 0}])


def test_heads_are_chosen_and_changed_by_keys(kept_page: Page, exported: Path, translator) -> None:
    root = open_page(kept_page, exported)
    root.locator("summary").click()
    name = root.get_by_role("button", name="encoder 1·1", exact=True)
    name.click()  # in the list of heads: this one alone is off
    expect(head_button(root, *GENDER.values())).to_have_attribute("aria-pressed", "true")
    head_button(root, *GENDER.values()).focus()
    for _ in range(4):  # through the decoder's layers to those of cross-attention
        kept_page.keyboard.press("ArrowDown")
    expect(root.get_by_role("switch")).to_have_accessible_name("cross layer 1 head 1 is on")
    target = translator.translate(SENTENCE).tokens
    check_weights(
        root, translator.trace(SENTENCE, target, changed([{**GENDER, "factor": 0}])).cross_attention[1, 1]
    )

    head_button(root, *GENDER.values()).focus()
    for key, factor in (("Enter", 0), ("Enter", 1), ("Space", 0)):  # first it is chosen
        kept_page.keyboard.press(key)
        drawn(root)
        check_words(root, translator, [{**GENDER, "factor": factor}])
    root.get_by_role("slider").press("Home")
    drawn(root)
    check_words(root, translator, [{**GENDER, "factor": -1}])
    expect(root.get_by_role("button", name="encoder layer 1 head 1, factor −1")).to_be_visible()


def test_the_page_runs_any_sentence_with_any_heads(kept_page: Page, exported: Path, translator) -> None:
    root = open_page(kept_page, exported)
    both = [set_factor(root, ("encoder", 1, 1), -0.5), set_factor(root, ("cross", 1, 2), 1.75)]
    check_words(root, translator, both)
    longer = "the cow did not cross the street because it was too tired"
    type_text(root, longer)
    drawn(root)
    three = [*both, set_factor(root, ("decoder", 0, 3), 0)]
    check_words(root, translator, three, longer)
    check_effects(root, vt.head_lab(translator, longer).effects())

    for wrong in ("the dragon sleeps", "the cat sleeps. the dog sleeps.", "cat " * 80):
        with pytest.raises(vt.UserError) as error:
            translator.translate(wrong)
        type_text(root, wrong)
        expect(root.locator(".vt-problem")).to_contain_text(f"{error.value}. The picture still shows")
        check_words(root, translator, three, longer)
    root.get_by_role("button", name="All heads on").click()
    drawn(root)
    check_words(root, translator, [], longer)


def test_the_page_runs_the_other_families(kept_page: Page, tmp_path: Path) -> None:
    for model, text, field in (
        (vt.load_language_model(), "las vacas no", "text to continue"),
        (vt.load_masked_model(), "el gato [?] la calle", "text with a gap, written [?]"),
    ):
        lab = vt.head_lab(model)
        root = drawn(show(kept_page, lab, tmp_path, "head-lab"))
        root.get_by_role("button", name="Another sentence").click()
        expect(root.get_by_role("textbox", name=field)).to_be_visible()
        type_text(root, text)
        expect(root.get_by_role("textbox")).to_have_count(0)
        drawn(root)
        (kind,) = model.config.attention_layers
        lab.sentence, lab.factors = text, [set_factor(root, (kind, 1, 2), -1)]
        changes = interventions_of(lab)
        for shown, each in zip(losses(root), (None, changes), strict=True):
            assert shown == pytest.approx(-model.judge(text, model.answer(text), each)[1], abs=0.00051)
        assert [word for word in words(root) if word != "<eos>"] == [*model.answer(text, changes)]
        check_effects(root, lab.effects())


@pytest.mark.parametrize("width", [850, 1050])
def test_nothing_lies_on_anything_where_jupyterlab_is_narrow(page: Page, exported: Path, width: int) -> None:
    """Also at 150% zoom, at which a laptop's window is 853 pixels wide, and with all heads listed."""
    page.set_viewport_size({"width": width, "height": 700})
    root = open_page(page, exported)
    head_button(root, *GENDER.values()).click()
    drawn(root)
    if root.locator(".vt-sheet-handle").is_visible():
        root.locator(".vt-sheet-handle").click()
    root.locator("summary").click()
    assert faults_of_text(root) == []


def test_a_page_without_a_model_names_what_needs_one(kept_page: Page, tmp_path: Path, translator) -> None:
    """It knows each head alone switched off, in the sentence that it was made with."""
    root = drawn(show(kept_page, vt.head_lab(translator, engine="kernel"), tmp_path, "head-lab"))
    problem = root.get_by_role("alert")
    head_button(root, "encoder", 1, 1).click()
    drawn(root)
    expect(problem).to_be_hidden()
    for _ in range(2):
        head_button(root, "cross", 0, 0).click()  # chosen, then off: two at once
    lacks = "needs the running notebook.*knows each head alone.*Still shown: .*, without encoder head 1·1"
    expect(problem).to_have_text(re.compile(lacks, re.DOTALL))
    check_words(root, translator, [{**GENDER, "factor": 0}])
    root.get_by_role("button", name="All heads on").click()
    drawn(root)
    expect(problem).to_be_hidden()
    type_text(root, "the horse sleeps")
    expect(problem).to_contain_text(f"still shows {SENTENCE}")
    check_words(root, translator, [])


#: A lab whose answers come when the file "go" is there.
SLOW = """
import pathlib, time
import viz_transformer as vt
from viz_transformer.widgets.head_lab.live import ablate
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
        expect(root.locator(".vt-waits")).to_contain_text(WAITING)

    def is_answered(text: str) -> None:
        go.touch()
        written = lab.output(0).locator(".vt-head-lab .vt-word.vt-of-query")
        expect(written).to_have_text([*translator.translate(text).tokens, "<eos>"])
        drawn(lab.output(0).locator(".vt-head-lab"))
        expect(lab.output(0).locator("[role=alert], .vt-waits")).to_have_count(0)

    expect(root.locator(".vt-waits")).to_contain_text(WAITING)
    expect(root.locator(".vt-word")).to_have_count(0)
    is_answered("the cat sleeps")
    ask("the dog sleeps")
    expect(root.locator(".vt-waits")).to_contain_text("The picture still shows the state before.")
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
    expect(root.get_by_role("alert")).to_contain_text("needs the running notebook")
    lab.run_cell(0)
    is_answered("the cat sleeps")  # as the cell says
    expect(root).to_have_count(1)


#: Two labs of a model whose modules take their time when `pause` says so.
TWO_LABS = """
import time, torch
import viz_transformer as vt

translator = vt.load_translator()
one, other = (vt.head_lab(translator, "the cat sleeps", engine="kernel") for _ in range(2))
pause, passed = 0, 0

def wait(*_):
    global passed
    passed += 1
    time.sleep(pause)

torch.nn.modules.module.register_module_forward_hook(wait);
"""


@pytest.mark.slow
def test_in_jupyterlab_a_long_work_says_how_far_it_is_and_is_stopped(lab: LabPage) -> None:
    """Only the view that works says so; the picture before stays, and the next answer comes."""
    lab.open_cells(TWO_LABS, "one", "other")
    lab.run_all()
    one, other = (lab.output(at).locator(".vt-head-lab") for at in (1, 2))
    line = one.locator(".vt-waits")
    for root in (one, other):
        expect(root.locator(".vt-line")).to_contain_text("of 24 heads")  # nothing is awaited any more

    lab.run("pause, passed = 0.2, 0")
    type_text(one, "the dog sleeps")
    expect(line).to_contain_text("Computing. The picture still shows the state before.")
    expect(other.locator(".vt-waits")).to_have_count(0)
    lab.screenshot("head-lab-waits")
    line.get_by_role("button", name="Stop").click()
    expect(line).to_have_count(0)
    expect(one.get_by_role("alert")).to_contain_text("Stopped: the picture shows the state before.")
    lab.wait_for_value("len(one._works)", 0)
    assert lab.value("(one.sentence, passed < 60)") == ("the cat sleeps", True)

    lab.run("pause = 0.02")
    type_text(one, "the dog sleeps")
    expect(line).to_contain_text(re.compile(r"Ranking heads: \d+ of 24\."))
    line.get_by_role("button", name="Stop").click()
    expect(one.locator(".vt-word.vt-of-query").first).to_have_text("el")
    lab.run("pause = 0")
    one.locator(".vt-sheet-handle").click()
    one.get_by_role("button", name="Go on with the ranking").click()
    expect(one.locator("progress")).to_have_count(0)
    assert lab.errors == []
