"""Labs of one sentence: the translation lab, the trace switch, the architecture and the block lab."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.attending_models import built, word_tokenizer
from tests.support.on_screen import show, type_text
from tests.support.ui_explorer import Explorer
from tests.support.ui_jupyterlab import open_exported
from tests.support.ui_pages import drawn
from viz_transformer.export import export_html
from viz_transformer.translator import Translator
from viz_transformer.widgets.block_lab.live import block_spread

SENTENCE = "the black cat sleeps"

# --- The translation lab and the trace switch -----------------------------------------------------


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, translator: Translator) -> Path:
    lab = vt.translation_lab(translator, SENTENCE)
    lab.explorer.query, lab.explorer.key = 1, 2
    return export_html(lab, tmp_path_factory.mktemp("lab") / "lab.html")


@pytest.fixture
def translation(kept_page: Page, exported: Path) -> Locator:
    open_exported(kept_page, exported, ".vt-explorer")
    return kept_page.locator(".vt-translation-lab")


def is_translated(translation: Locator, text: str) -> None:
    expect(translation.locator(".vt-translated")).to_have_text(text)


def test_a_typed_sentence_is_translated_and_drawn(translation: Locator, translator: Translator) -> None:
    is_translated(translation, "el gato negro duerme")
    for text in (
        "the white cow does not sleep",
        "The animal did not cross the street because it was too tired.",
    ):
        type_text(translation, text)
        is_translated(translation, translator.translate(text).text)
        expect(translation.locator(".vt-translated")).to_have_attribute("lang", "es")
        trace = translator.trace(text)
        weight = trace.cross_attention[0, 0, 1, 2]
        pair = f"{trace.output_tokens[1]} to {trace.source_tokens[2]}: {weight:.2f}"
        expect(Explorer(translation).pair).to_contain_text(pair)
        assert translation.get_by_role("alert").count() == 0


def test_the_new_words_never_stand_above_the_old_picture(translation: Locator) -> None:
    type_text(translation, "the dog sleeps")  # the model is read at the first question
    is_translated(translation, "el perro duerme")
    translation.get_by_role("button", name="Another sentence").click()
    seen = translation.evaluate(
        """async (lab) => {
            const parts = ["input", ".vt-translated", ".vt-pair"];
            const [field, said, pair] = parts.map((part) => lab.querySelector(part));
            field.value = "the cow runs";
            field.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
            const seen = [];
            for (let frame = 0; frame < 20; frame++) {
                await new Promise(requestAnimationFrame);
                await new Promise((done) => setTimeout(done)); // after what the frame drew
                seen.push([said.textContent, pair.textContent.split(":")[0]].join(" | "));
            }
            return [...new Set(seen)];
        }"""
    )
    old, new = "el perro duerme | perro to sleeps", "la vaca corre | vaca to runs"
    assert seen in ([old, new], [new])


def test_one_word_is_switched_and_the_words_before_stay_beside_the_new_ones(
    page: Page, translator: Translator, tmp_path: Path
) -> None:
    hers, his = "the teacher lost her book", "the teacher lost his book"
    lab = vt.translation_lab(translator, hers, before=his)
    lab.explorer.query = 1
    root = show(page, lab, tmp_path, "translation-lab")
    before = root.get_by_role("list", name="next words before")
    now = root.get_by_role("list", name="next words", exact=True)
    either = root.get_by_role("group", name="his or her")
    for old, new in ((his, hers), (hers, his), (his, hers)):
        for shown, text in ((before, old), (now, new)):
            likely = translator.likely_words(text)[1]
            expect(shown.locator(".vt-bar-name")).to_have_text(list(likely))
        other = old.split()[3]
        expect(either.locator(".vt-other")).to_have_text(other)
        either.get_by_role("button", name=other).click()
    type_text(root, "the dog sleeps")  # another sentence, and not another word
    expect(either).to_have_count(0)
    expect(before).to_have_count(0)


def test_an_unknown_word_is_explained_and_a_suggestion_taken(
    translation: Locator, translator: Translator
) -> None:
    alert = translation.get_by_role("alert")
    dog = translation.locator(".vt-suggested", has_text="dog")
    type_text(translation, "the dragon sleeps")
    with pytest.raises(vt.UserError) as caught:
        translator.translate("the dragon sleeps")
    expect(alert).to_have_text(f"{caught.value}. The picture still shows {SENTENCE}.")
    is_translated(translation, "el gato negro duerme")
    dog.click()
    is_translated(translation, "el perro duerme")
    expect(translation.get_by_label("English")).to_have_count(0)  # it closes once its sentence is shown
    expect(alert).to_have_count(0)
    expect(dog).to_have_count(0)
    type_text(translation, "<img src=x onerror=window.pwned=1>")
    expect(alert).to_contain_text("unknown English word '<img'")
    assert translation.evaluate("window.pwned") is None


def test_a_trace_is_switched_without_python(kept_page: Page, tmp_path: Path, translator: Translator) -> None:
    street = "the dog did not cross the street because it was too"
    traces = {word: translator.trace(f"{street} {word}") for word in ("tired", "wide")}
    switch = vt.trace_switch(traces, kind="encoder", difference=True)
    switch.layer, switch.query, switch.key = 1, 11, 6
    open_exported(kept_page, export_html(switch, tmp_path / "switch.html"), ".vt-explorer")
    root = kept_page.locator("main")
    for word in ("tired", "wide", "tired"):
        button = root.get_by_role("group", name="Trace", exact=True).get_by_role("button", name=word)
        button.click()
        weight = traces[word].encoder_attention[1, 0, 11, 6]
        expect(Explorer(root).pair).to_contain_text(f"{word} to street: {weight:.2f}")
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(Explorer(root).title).to_have_text("Encoder self-attention · layer 1 · head 0")
    root.get_by_role("group", name="Trace", exact=True).get_by_role("button", name="difference").click()
    change = np.subtract(*(traces[word].encoder_attention[1, 0, 11, 6] for word in ("wide", "tired")))
    expect(Explorer(root).pair).to_contain_text(f"street: {change:+.2f}".replace("-", "−"))
    expect(Explorer(root).title).to_contain_text("Difference")
    expect(root.locator(".vt-line")).to_contain_text("“wide” minus “tired”. Green: more in “wide”.")


def test_a_switch_keeps_the_word_that_is_shown(
    kept_page: Page, tmp_path: Path, translator: Translator
) -> None:
    """Also where none was pinned: each trace alone would rest on another."""
    traces = {word: translator.trace(f"the teacher lost {word} book") for word in ("her", "his")}
    switch = vt.trace_switch(traces, kind="encoder", difference=True)
    open_exported(kept_page, export_html(switch, tmp_path / "switch.html"), ".vt-explorer")
    head = kept_page.locator("main .vt-headline")
    expect(head).to_contain_text("Reading her, ")
    for label, says in (
        ("his", "Reading his, "),
        ("difference", "less in “his” than in “her”: −1.00"),
        ("her", "Reading her, "),
    ):
        kept_page.get_by_role("group", name="Trace", exact=True).get_by_role("button", name=label).click()
        expect(head).to_contain_text(says)
        role = "vt-of-query"  # who attends has one colour, in the sentence and on its chip
        expect(head.locator("bdi").first).to_have_class(role)
        expect(kept_page.locator("main .vt-chip[aria-pressed=true]")).to_contain_class(role)


# --- The architecture -----------------------------------------------------------------------------


def architecture(page: Page, folder: Path, translator: Translator, **options: object) -> Locator:
    root = show(page, vt.architecture(translator, SENTENCE, **options), folder, "architecture")
    expect(root.locator(".vt-frame").first).to_be_visible()
    return root


def box(root: Locator, key: str) -> Locator:
    return root.locator(f'[data-key="{key}"]')


def words_in(root: Locator, key: str) -> Locator:
    return box(root, key).locator(".vt-word")


def percent(share: float) -> str:
    """Write a share as the inspector does."""
    if 0 < share < 0.001:
        return "<\u00a00.1%"
    if 0.995 < share < 1:
        return ">\u00a099%"
    return f"{100 * share:.1f}%" if 0 < share < 0.1 else f"{100 * share:.0f}%"


def test_keys_step_play_choose_a_word_and_open_the_code(
    kept_page: Page, tmp_path: Path, translator: Translator
) -> None:
    root = architecture(kept_page, tmp_path, translator, step=3)
    picture, says = root.locator(".vt-model"), root.locator(".vt-says")
    expect(says).to_contain_text("Step 4 of 91: encoder layer 0, self-attention")
    picture.press("ArrowRight")
    expect(says).to_contain_text("Step 5 of 91: encoder layer 0, Add & Norm")
    picture.press("ArrowDown")
    expect(root.locator(".vt-sheet")).to_contain_text("The vector of “cat” after this box")
    picture.press("Enter")
    expect(root.locator(".vt-source")).to_contain_text("def merge(")
    picture.press("Escape")
    expect(root.locator(".vt-source")).to_be_hidden()
    picture.press(" ")
    expect(root.get_by_role("button", name="Pause")).to_be_visible()
    expect(says).to_contain_text(re.compile(r"After “[a-z]+” comes"))
    picture.press(" ")
    expect(root.get_by_role("button", name="Play")).to_be_visible()
    picture.press("End")
    expect(says).to_contain_text("Step 91 of 91: decoder, softmax. After “duerme” comes “<eos>”.")
    expect(words_in(root, "decoder.output")).to_have_text(["el", "gato", "negro", "duerme", "<eos>"])


def test_a_decoder_alone_reads_its_words_and_predicts_those_after_them(
    kept_page: Page, tmp_path: Path
) -> None:
    text = "when Mary went to the store"
    view = vt.architecture(built("GPT-2")[0], text, tokenizer=word_tokenizer(ends=False))
    root = show(kept_page, view, tmp_path, "architecture")
    expect(root.locator(".vt-lane-title")).to_have_text(["reads", "predicts"])
    expect(root.locator(".vt-headline")).to_contain_text(", the model predicts “")
    assert root.locator(".vt-chip").all_inner_texts()[:6] == text.split()


def test_going_deeper_and_back(kept_page: Page, tmp_path: Path, translator: Translator) -> None:
    """From the whole model to a head, whose numbers are Python's, and by Escape back again."""
    root = architecture(kept_page, tmp_path, translator)
    depth = root.locator(".vt-model")
    root.locator(".vt-chips").get_by_role("button", name="gato").click()
    box(root, "decoder.1.cross_attention").locator(".vt-outline").dispatch_event("click")
    expect(depth).to_have_attribute("data-depth", "layer")
    root.get_by_role("button", name="Open its heads").click()
    expect(depth).to_have_attribute("data-depth", "block")
    root.get_by_role("button", name="head 1", exact=True).click()
    root.get_by_role("button", name="Step inside head 1").click()
    root.locator(".vt-step").get_by_text("softmax").click()
    weights = translator.trace(SENTENCE).cross_attention[1, 1, 1]
    expect(root.locator('[data-matrix="weights"] td')).to_have_text([f"{each:.2f}" for each in weights])
    for name in ("block", "layer", "model"):
        kept_page.keyboard.press("Escape")
        expect(depth).to_have_attribute("data-depth", name)


def test_a_box_shows_its_numbers_and_any_sentence_flows(
    kept_page: Page, tmp_path: Path, translator: Translator
) -> None:
    root = architecture(kept_page, tmp_path, translator)
    weights = translator.trace(SENTENCE).cross_attention[1, 1, 2]
    box(root, "decoder.1.cross_attention").locator(".vt-outline").dispatch_event("click")
    root.locator('[data-stack="decoder"] > .vt-word').get_by_text("gato", exact=True).click()
    head = root.get_by_role("button", name="head 1")
    head.click()
    expect(head).to_have_attribute("aria-pressed", "true")
    expect(root.locator(".vt-bar-share")).to_have_text([percent(float(each)) for each in weights])
    kept_page.keyboard.press("Escape")
    picture, link = root.locator(".vt-model"), root.get_by_role("link", name="Lesson 2: Words as vectors")
    expect(link).to_have_count(0)
    picture.press("Home")
    picture.press("ArrowRight")
    expect(link).to_have_attribute("href", "02_tokens_to_vectors.html")

    text = "the dog does not sleep"
    type_text(root, text)
    expect(root.locator('[data-stack="encoder"] > .vt-word')).to_have_count(6)
    written = [*translator.translate(text).tokens, "<eos>"]
    expect(words_in(root, "decoder.output")).to_have_text(written)
    type_text(root, "the dragon")
    expect(root.get_by_role("alert")).to_contain_text("dragon")
    expect(root.locator('[data-stack="encoder"] > .vt-word')).to_have_count(6)


# --- The block lab --------------------------------------------------------------------------------


def check_part(
    root: Locator, translator: Translator, part: str, changed: int, layer: int = 1, text: str = SENTENCE
) -> None:
    """Compare how far a change of one word has spread behind a part of the block."""
    moved = block_spread(translator, text, changed, layer=layer)[part]
    wanted = [f"{share:.2f}" if share >= 1e-5 else "0" for share in moved]
    cells = drawn(root.locator(".vt-spread")).get_by_role("group", name=part, exact=True).locator(".vt-move")
    assert cells.all_text_contents() == wanted


def test_any_word_of_any_sentence_is_changed_in_any_block(
    kept_page: Page, tmp_path: Path, translator: Translator
) -> None:
    root = show(kept_page, vt.block_lab(translator, changed=2), tmp_path, "block-lab")
    for part in ("self-attention", "feed-forward"):
        check_part(root, translator, part, 2)
    root.get_by_role("button", name="sleeps").click()
    check_part(root, translator, "self-attention", 3)
    root.get_by_role("img", name=re.compile("^black ")).first.locator(
        "text"
    ).click()  # an output of a word chooses it too
    check_part(root, translator, "norm over words", 1)
    root.get_by_role("button", name="block 0").click()
    check_part(root, translator, "self-attention", 1, layer=0)

    root.get_by_role("button", name="<eos>").click()
    type_text(root, "the cat")
    outputs = root.get_by_role("group", name="LayerNorm").get_by_role("img")
    expect(outputs).to_have_count(3)
    expect(root.locator(".vt-headline")).to_contain_text(
        "Reverse the vector of <eos>"  # the last word of the shorter sentence
    )
    check_part(root, translator, "LayerNorm", 2, layer=0, text="the cat")
    type_text(root, "the dragon")
    expect(root.get_by_role("alert")).to_contain_text("dragon")
    expect(root.get_by_role("alert")).to_contain_text("still shows the cat")
    expect(outputs).to_have_count(3)


def test_a_block_without_an_engine_carries_each_word_of_its_sentence(
    kept_page: Page, tmp_path: Path, translator: Translator
) -> None:
    root = show(kept_page, vt.block_lab(translator, engine="kernel"), tmp_path, "block-lab")
    root.get_by_role("button", name="cat", exact=True).click()
    check_part(root, translator, "self-attention", 2)
    type_text(root, "the dog")
    expect(root.get_by_role("alert")).to_contain_text("needs the running notebook")
