"""The head lab in a real browser: exported, and in JupyterLab with the translator behind it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.hand_made_traces import HOSTILE, hostile_trace
from tests.support.ui_jupyterlab import LabPage, LabServer, open_exported
from tests.support.ui_pages import drawn
from tests.support.ui_windows import LAPTOP, SMALL, keep_picture
from viz_transformer.export import export_html
from viz_transformer.labs import interventions_of
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.widgets.head_lab.view import HeadLab

SENTENCE = "the teacher lost his book"
GENDER = {"kind": "encoder", "layer": 1, "head": 1}
PLACES = [(kind, layer, head) for kind in ("encoder", "decoder", "cross")
          for layer in range(2) for head in range(4)]  # fmt: skip


@pytest.fixture(scope="module")
def exported(translator: vt.Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    lab = vt.head_lab(translator)
    return export_html(lab, tmp_path_factory.mktemp("head_lab") / "page.html", title="Head lab")


@pytest.fixture(scope="module")
def carrying(translator: vt.Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page without a model, which knows each head alone switched off."""
    lab = vt.head_lab(translator, engine="kernel")
    return export_html(lab, tmp_path_factory.mktemp("head_lab") / "page.html", title="Head lab")


def open_page(page: Page, path: Path) -> Locator:
    return drawn(open_exported(page, path, ".vt-head-lab"))


def head_button(root: Locator, kind: str, layer: int, head: int) -> Locator:
    name = re.compile(f"^{kind} layer {layer} head {head}, ")
    return root.locator(".vt-head-grid").get_by_role("button", name=name)


def numbers(cells: Locator) -> list[float]:
    return [float(text.replace("−", "-")) for text in cells.all_inner_texts()]


def table_of_words(root: Locator) -> dict[str, list]:
    """What the table of words shows, column by column, and its last line."""
    rows = root.locator(".vt-word-table tbody tr")
    return {
        "words": rows.locator("th").all_inner_texts(),
        "before": numbers(rows.locator("td:nth-child(3)")),
        "after": numbers(rows.locator("td:nth-child(4)")),
        "change": numbers(rows.locator("td:nth-child(5)")),
        "loss": numbers(root.locator(".vt-word-table tfoot td")),
    }


def check_words(
    root: Locator, translator: vt.Translator, factors: list[dict], sentence: str = SENTENCE
) -> None:
    """Compare every number of the table, and the translation, with the model's own."""
    changes = Interventions(heads=[HeadChange(**each) for each in factors])
    target = translator.translate(sentence).tokens
    before = translator.log_probs(sentence, target)
    after = translator.log_probs(sentence, target, changes)
    shown = table_of_words(root)
    assert shown["words"] == [*target, "<eos>"]
    assert shown["before"] == pytest.approx(before, abs=0.00051)
    assert shown["after"] == pytest.approx(after, abs=0.00051)
    assert shown["change"] == pytest.approx(after - before, abs=0.00051)
    losses = [-before.mean(), -after.mean(), before.mean() - after.mean()]
    assert shown["loss"] == pytest.approx(losses, abs=0.00051)
    lines = root.locator(".vt-translation")
    expect(lines.first).to_have_text(" ".join(target))
    expect(lines.last).to_have_text(translator.translate(sentence, interventions=changes).text)


def test_the_page_shows_the_model_s_numbers_for_heads_of_each_kind(
    page: Page, exported: Path, translator: vt.Translator
) -> None:
    root = open_page(page, exported)
    check_words(root, translator, [])
    assert table_of_words(root)["change"] == [0] * 6
    for place in [("encoder", 1, 1), ("decoder", 0, 0), ("cross", 1, 2)]:
        head_button(root, *place).click()
        drawn(root)
        factor = dict(zip(("kind", "layer", "head"), place, strict=True)) | {"factor": 0}
        check_words(root, translator, [factor])
        expect(head_button(root, *place)).to_have_text("off")
        expect(head_button(root, *place)).to_have_attribute("aria-pressed", "true")
        head_button(root, *place).click()
        drawn(root)
    check_words(root, translator, [])


def test_differing_words_are_marked_and_the_bars_are_the_numbers(page: Page, exported: Path) -> None:
    root = open_page(page, exported)
    expect(root.locator("mark")).to_have_count(0)
    head_button(root, *GENDER.values()).click()
    drawn(root)
    assert root.locator("mark").all_inner_texts() == ["el", "profesor", "la", "maestra"]
    expect(root.locator(".vt-says")).to_contain_text("Encoder layer 1 head 1 is off. Loss 0.090 →")
    widths = root.locator(".vt-after .vt-fill").evaluate_all(
        "bars => bars.map(bar => bar.getBoundingClientRect().width)"
    )
    after = np.abs(table_of_words(root)["after"])
    assert np.array(widths) / max(widths) == pytest.approx(after / max(after), abs=0.02)


def check_effects(root: Locator, effects: tuple[vt.analysis.HeadEffect, ...]) -> None:
    """Compare the table of heads, and what is said below it, with Python's."""
    rows = root.locator(".vt-worth-table tbody tr")
    shown = [row.locator("td").all_inner_texts() for row in rows.all()]
    for effect, (change, rank, confidence, confidence_rank) in zip(effects, shown, strict=True):
        assert float(change.replace("−", "-")) == pytest.approx(effect.loss_change, abs=0.00051)
        assert (int(rank), int(confidence_rank)) == (effect.rank, effect.confidence_rank)
        assert float(confidence) == pytest.approx(effect.confidence, abs=0.0051)
    said = vt.analysis.effects_in_words(effects)
    expect(root.locator(".vt-verdict")).to_have_text(f"{said} A sharp picture proves no importance.")


def test_the_table_of_heads_holds_the_measured_effects(
    page: Page, exported: Path, translator: vt.Translator
) -> None:
    root = open_page(page, exported)
    check_effects(root, vt.head_lab(translator).effects())

    name = root.get_by_role("button", name="encoder L1 H1", exact=True)
    name.click()  # in the table: this one alone
    drawn(root)
    expect(name).to_have_attribute("aria-pressed", "true")
    expect(root.locator(".vt-translation").last).to_contain_text("la maestra")


def test_weights_of_the_chosen_head_are_shown_before_and_after(
    page: Page, exported: Path, translator: vt.Translator
) -> None:
    root = open_page(page, exported)
    root.get_by_role("button", name="encoder L1 H1", exact=True).click()
    head_button(root, "encoder", 1, 1).press("ArrowDown")  # on to the decoder's first layer
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(root.locator(".vt-chosen-name")).to_have_text("Chosen: cross L1 H1")
    expect(root.locator(".vt-looks .vt-title")).to_contain_text("Cross-attention · layer 1 · head 1")
    target = translator.translate(SENTENCE).tokens
    off = Interventions(heads=[HeadChange(**GENDER, factor=0)])
    for which, changes in enumerate((None, off)):
        weights = translator.trace(SENTENCE, target, changes).cross_attention[1, 1]
        cells = root.locator(".vt-matrix").nth(which).locator("td")
        assert numbers(cells) == pytest.approx(weights.ravel(), abs=0.0055)
    root.get_by_role("button", name="as trained", exact=True).click()
    cell = root.locator(".vt-matrix").first.locator("td[data-row='1'][data-col='1']")
    cell.click()
    page.mouse.move(0, 0)
    weight = translator.trace(SENTENCE, target).cross_attention[1, 1, 1]
    said = root.locator(".vt-cell-says")
    expect(said).to_contain_text(f"profesor to teacher: {weight[1]:.2f}, rank 1 of 6")
    expect(root.locator(".vt-pinned")).to_have_count(2 * 6)


def type_text(root: Locator, text: str) -> None:
    field = root.get_by_role("textbox")
    field.fill(text)
    field.press("Enter")


def set_factor(root: Locator, place: tuple[str, int, int], factor: float) -> dict:
    """Click a head, and set its slider; return the change."""
    head_button(root, *place).click()
    root.get_by_role("slider").fill(str(factor))
    drawn(root)
    return dict(zip(("kind", "layer", "head"), place, strict=True)) | {"factor": factor}


def test_the_page_itself_runs_any_sentence_with_any_heads(
    page: Page, exported: Path, translator: vt.Translator
) -> None:
    root = open_page(page, exported)
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
    changes = Interventions(heads=[HeadChange(**each) for each in three])
    trace = translator.trace(longer, translator.translate(longer).tokens, changes)
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


@pytest.mark.parametrize(
    ("load", "text"),
    [(vt.load_language_model, "las vacas no"), (vt.load_masked_model, "el gato [?] la calle")],
)
def test_the_page_itself_runs_the_other_families(page: Page, tmp_path: Path, load, text: str) -> None:
    model = load()
    lab = vt.head_lab(model)
    root = open_page(page, export_html(lab, tmp_path / "page.html"))
    type_text(root, text)
    expect(root.locator(".vt-translation").first).to_have_text(" ".join(model.answer(text)))
    drawn(root)
    (kind,) = model.config.attention_layers
    change = set_factor(root, (kind, 1, 2), -1)
    lab.sentence, lab.factors = text, [change]
    changes = interventions_of(lab)
    before, after = (model.judge(text, model.answer(text), each)[1] for each in (None, changes))
    shown = table_of_words(root)
    assert shown["before"] == pytest.approx(before, abs=0.00051)
    assert shown["after"] == pytest.approx(after, abs=0.00051)
    expect(root.locator(".vt-translation").last).to_have_text(" ".join(model.answer(text, changes)))
    check_effects(root, lab.effects())


def test_what_a_page_without_a_model_cannot_answer_is_said_and_the_picture_stays(
    page: Page, carrying: Path, translator: vt.Translator
) -> None:
    root = open_page(page, carrying)
    problem = root.locator(".vt-problem")
    expect(problem).to_be_hidden()
    head_button(root, "encoder", 1, 1).click()
    drawn(root)
    head_button(root, "cross", 0, 0).click()  # two at once
    expect(problem).to_contain_text("needs the running notebook")
    expect(problem).to_contain_text("knows each head alone switched off")
    expect(problem).to_contain_text("Encoder layer 1 head 1 is off.")
    check_words(root, translator, [{**GENDER, "factor": 0}])
    root.get_by_role("button", name="Reset all").click()
    drawn(root)
    expect(problem).to_be_hidden()
    check_words(root, translator, [])

    field = root.get_by_role("textbox", name="sentence to translate")
    field.fill("the horse sleeps")
    field.press("Enter")
    expect(problem).to_contain_text("needs the running notebook")
    expect(problem).to_contain_text(f"still shows “{SENTENCE}”")
    check_words(root, translator, [])


def test_the_keyboard_does_all(page: Page, exported: Path) -> None:
    root = open_page(page, exported)
    chosen = root.locator(".vt-chosen-name")
    expect(chosen).to_have_text("Chosen: encoder L1 H1")
    head_button(root, *GENDER.values()).focus()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(chosen).to_have_text("Chosen: cross L1 H2")
    page.keyboard.press("ArrowLeft")
    for _ in range(4):
        page.keyboard.press("ArrowUp")
    expect(chosen).to_have_text("Chosen: encoder L1 H1")
    expect(head_button(root, *GENDER.values())).to_be_focused()
    page.keyboard.press("Enter")
    drawn(root)
    expect(root.locator(".vt-translation").last).to_contain_text("la maestra")
    page.keyboard.press("Space")
    drawn(root)
    expect(root.locator(".vt-translation").last).to_contain_text("el profesor")
    page.keyboard.press("Tab")
    expect(root.get_by_role("slider")).to_be_focused()
    page.keyboard.press("Home")
    expect(head_button(root, *GENDER.values())).to_have_text("−1")
    expect(head_button(root, *GENDER.values())).to_have_attribute(
        "aria-label", "encoder layer 1 head 1, factor −1"
    )


def test_hostile_tokens_are_text(page: Page, tmp_path: Path) -> None:
    trace = hostile_trace()
    log_probs = np.full(len(HOSTILE), -0.5)

    def answer(request: dict) -> dict:
        if "apart" in request:
            return {"apart": (answer({"changes": [change]}) for change in request["apart"])}
        each = {kind: np.broadcast_to(log_probs, (1, 2, len(HOSTILE))) for kind in trace.kinds}
        translation = HOSTILE[:: -1 if request.get("changes") else 1]
        return {"translation": translation, "trace": trace, "log_probs": log_probs, "each": each}

    view = HeadLab(answer, HOSTILE[0])
    view.factors = [{"kind": "cross", "layer": 0, "head": 1, "factor": 0}]
    root = open_page(page, export_html(view, tmp_path / "page.html"))
    assert root.locator(".vt-word-table th[scope=row]").first.inner_text() == HOSTILE[0]
    assert page.evaluate("window.pwned") is None
    assert root.locator("script, img, b").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("window", [LAPTOP, SMALL, {"width": 480, "height": 720}])
def test_it_fits_its_window(new_page: Callable[..., Page], exported: Path, scheme: str, window: dict) -> None:
    page = new_page(viewport=window, scheme=scheme)
    root = open_page(page, exported)
    root.get_by_role("button", name="encoder L1 H1", exact=True).click()
    drawn(root)
    assert page.evaluate("document.documentElement.scrollWidth") <= window["width"]
    table = root.locator(".vt-worth-table")
    assert table.evaluate("box => box.scrollWidth - box.clientWidth") == 0
    parts = [part.bounding_box() for part in root.locator(".vt-lab-part").all()]
    for one, other in pairwise(parts):
        beside = one["x"] + one["width"] <= other["x"] + 1
        assert beside or one["y"] + one["height"] <= other["y"] + 1
    keep_picture(page, f"head_lab_{window['width']}_{scheme}")


CELL = "import viz_transformer as vt\ntranslator = vt.load_translator()\nlab = vt.head_lab(translator)\nlab"


def test_in_jupyterlab_the_translator_answers(lab: LabPage, translator: vt.Translator) -> None:
    lab.open_cells(CELL)
    lab.run_all()
    root = lab.output(0).locator(".vt-head-lab")
    drawn(root)
    head_button(root, *GENDER.values()).click()
    drawn(root)
    check_words(root, translator, [{**GENDER, "factor": 0}])
    lab.wait_for_value("lab.factors", [{**GENDER, "factor": 0.0}])
    told = lab.run(
        "print(translator.translate(lab.sentence, interventions=vt.labs.interventions_of(lab)).text)"
    )
    assert told.strip() == root.locator(".vt-translation").last.inner_text()

    # Two at once, and a factor between, which no exported page could carry.
    lab.run("lab.factors = [*lab.factors, dict(kind='cross', layer=1, head=2, factor=0.5)]")
    expect(head_button(root, "cross", 1, 2)).to_have_text("0.5")
    drawn(root)
    both = [{**GENDER, "factor": 0}, {"kind": "cross", "layer": 1, "head": 2, "factor": 0.5}]
    check_words(root, translator, both)

    # Thirty fast clicks on ten heads, three on each: what is shown is what stands at the end.
    lab.run("lab.factors = []")
    expect(root.get_by_role("button", name="Reset all")).to_be_disabled()
    drawn(root)
    root.evaluate(
        """root => {
            const heads = [...root.querySelectorAll('.vt-head-button')].slice(0, 10);
            for (let i = 0; i < 30; i++) heads[i % 10].click();
        }"""
    )
    ten = [{"kind": kind, "layer": layer, "head": head, "factor": 0.0} for kind, layer, head in PLACES[:10]]
    lab.wait_for_value("lab.factors", ten)
    drawn(root)
    check_words(root, translator, ten)

    field, problem = root.get_by_role("textbox"), root.locator(".vt-problem")
    field.fill("the dragon sleeps")
    field.press("Enter")
    expect(problem).to_contain_text("unknown English word 'dragon' (did you mean")
    expect(problem).to_contain_text(f"still shows “{SENTENCE}”")
    check_words(root, translator, ten)
    field.fill("the white cow sleeps")
    field.press("Enter")
    expect(root.locator(".vt-translation").first).to_have_text("la vaca blanca duerme")
    expect(problem).to_be_hidden()
    lab.wait_for_value("lab.sentence", "the white cow sleeps")
    drawn(root)
    lab.screenshot("head-lab-jupyterlab")
    assert lab.errors == []


def test_a_saved_notebook_switches_heads_before_anything_runs(
    lab: LabPage, translator: vt.Translator
) -> None:
    lab.open_cells(CELL)
    lab.run_all()
    drawn(lab.output(0).locator(".vt-head-lab"))
    lab.reopen_saved()
    root = drawn(lab.output(0).locator(".vt-head-lab"))
    text = "the white cow sleeps"
    type_text(root, text)
    expect(root.locator(".vt-translation").first).to_have_text(translator.translate(text).text)
    both = [set_factor(root, ("encoder", 1, 1), 0), set_factor(root, ("cross", 0, 2), 1.5)]
    check_words(root, translator, both, text)
    expect(root.locator(".vt-problem")).to_be_hidden()
    assert lab.value("'lab' in globals()") is False


SLOW = """
import pathlib, time
import viz_transformer as vt
from viz_transformer.labs.head_lab import ablate
from viz_transformer.widgets.head_lab.view import HeadLab

go, slow, asked = pathlib.Path("go"), False, []
go.unlink(missing_ok=True)

def answer(request):
    asked.append(request)
    while slow and not go.exists():
        time.sleep(0.02)
    return ablate(translator, request)

translator = vt.load_translator()
late = HeadLab(answer, "the cat sleeps")
display(late)  # and its still picture; the page asks when the cell has ended
slow = True
asked.clear()
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


def test_in_jupyterlab_a_late_answer_is_waited_for_and_shown(
    lab: LabPage, lab_server: LabServer, translator: vt.Translator
) -> None:
    lab.page.add_init_script(KEEP_SOCKETS)
    lab.open_cells(SLOW)
    lab.run_all()
    root = lab.output(0).locator(".vt-head-lab")
    problem, lines = root.locator(".vt-problem"), root.locator(".vt-translation")
    expect(problem).to_contain_text(WAITING)
    expect(lines.first).to_be_empty()
    go = lab_server.root / "go"
    go.touch()
    drawn(root)
    expect(lines.first).to_have_text(translator.translate("the cat sleeps").text)
    expect(problem).to_be_hidden()
    assert lab.value("[request.get('each', 'changes') for request in asked]") == ["changes", 0]

    go.unlink()
    root.get_by_role("textbox").fill("the dog sleeps")
    root.get_by_role("button", name="Translate", exact=True).click()
    expect(problem).to_contain_text(WAITING)
    expect(problem).to_contain_text("The picture still shows “the cat sleeps”.")
    go.touch()
    late = translator.translate("the dog sleeps").text
    expect(lines.first).to_have_text(late)
    drawn(root)
    expect(problem).to_be_hidden()
    lab.wait_for_value("late.sentence", "the dog sleeps")
    assert lab.errors == []
    answers_outlive_bad_luck(lab, lab_server, translator)


def answers_outlive_bad_luck(lab: LabPage, server: LabServer, translator: vt.Translator) -> None:
    """Cut the connection, let the laptop sleep, restart the kernel: each while an answer is awaited."""
    root, go = lab.output(0).locator(".vt-head-lab"), server.root / "go"
    laptop = lab.page.context.new_cdp_session(lab.page)

    def ask(text: str) -> str:
        go.unlink()
        type_text(root, text)
        expect(root.locator(".vt-problem")).to_contain_text(WAITING)
        return translator.translate(text).text

    def is_answered(shown: Locator, text: str) -> None:
        expect(shown.locator(".vt-translation").first).to_have_text(text)
        drawn(shown)
        expect(shown.locator(".vt-problem")).to_be_hidden()

    text = ask("the cat is black")
    lab.page.evaluate(CUT)
    go.touch()
    is_answered(root, text)

    text = ask("the dog is white")
    laptop.send("Page.setWebLifecycleState", {"state": "frozen"})
    go.touch()
    laptop.send("Page.setWebLifecycleState", {"state": "active"})
    is_answered(root, text)

    lab.command("docmanager:save")
    second = LabPage(lab.page.context.new_page(), server, server.root)
    second.open(lab.page.evaluate("panel.context.path"))
    other = second.output(0).locator(".vt-head-lab")
    is_answered(other, text)  # the tab shows what the first one chose
    type_text(other, "the cow sleeps")
    for shown in (other, root):
        is_answered(shown, translator.translate("the cow sleeps").text)
    second.page.close()

    ask("the cat sleeps")
    lab.restart_kernel()
    expect(root.locator(".vt-problem")).to_contain_text("needs the running notebook")
    lab.run_cell(0)
    go.touch()
    is_answered(lab.output(0).locator(".vt-head-lab"), translator.translate("the cat sleeps").text)
    expect(root).to_have_count(1)


def test_the_numbers_before_and_after_stand_apart(new_page: Callable[..., Page], exported: Path) -> None:
    root = open_page(new_page(viewport=SMALL), exported)
    gaps = root.locator(".vt-word-table tr").evaluate_all(
        """rows => rows.flatMap(row => {
            const boxes = [...row.cells].slice(-3).map(cell => {
                const range = document.createRange();
                range.selectNodeContents(cell);
                return range.getBoundingClientRect();
            });
            return boxes.slice(1).map((box, at) => box.left - boxes[at].right);
        })"""
    )
    assert min(gaps) >= 12
