"""The translation lab and the trace switch in an exported page: from disk, with nobody to ask."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.ui_explorer import Explorer
from tests.support.ui_jupyterlab import errors_of
from tests.support.ui_windows import LAPTOP, PHONE, keep_picture
from viz_transformer.export import export_html
from viz_transformer.translator import Translator

SENTENCE = "the black cat sleeps"
SEVERAL = "The dog runs. the cow sleeps!"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, translator: Translator) -> Path:
    lab = vt.translation_lab(translator, SENTENCE)
    lab.explorer.query, lab.explorer.key = 1, 2
    return export_html(lab, tmp_path_factory.mktemp("lab") / "lab.html", title="A lab")


def open_lab(page: Page, path: Path, root: str = ".vt-translation-lab") -> Locator:
    """Open a page, and return the view in it, drawn; a page that has errors fails its test."""
    errors = errors_of(page)
    page.goto(path.as_uri())
    Explorer(page.locator(root)).wait_until_drawn()
    assert errors == []
    return page.locator(root)


def type_in(lab: Locator, sentence: str) -> None:
    lab.get_by_label("English").fill(sentence)
    lab.get_by_label("English").press("Enter")


def pair_of(trace: vt.ForwardTrace, query: int, key: int) -> str:
    """What the readout begins with for a weight of the first head of cross-attention."""
    row = trace.cross_attention[0, 0, query]
    return f"{trace.output_tokens[query]} to {trace.source_tokens[key]}: {row[key]:.2f}"


@pytest.mark.parametrize(
    "sentence",
    ["the white cow does not sleep", "The animal did not cross the street because it was too tired."],
)
def test_a_typed_sentence_is_translated_and_drawn(
    page: Page, exported: Path, translator: Translator, sentence: str
) -> None:
    lab = open_lab(page, exported)
    expect(lab.locator(".vt-translated")).to_have_text("el gato negro duerme")
    type_in(lab, sentence)
    expect(lab.locator(".vt-translated")).to_have_text(translator.translate(sentence).text)
    expect(lab.locator(".vt-translated")).to_have_attribute("lang", "es")
    expect(Explorer(lab).pair).to_contain_text(pair_of(translator.trace(sentence), 1, 2))
    assert lab.get_by_role("alert").count() == 0


def test_all_of_it_is_drawn_in_one_frame(page: Page, exported: Path) -> None:
    """The new words never stand above the old picture."""
    lab = open_lab(page, exported)
    type_in(lab, "the dog sleeps")  # the model is read at the first question
    expect(lab.locator(".vt-translated")).to_have_text("el perro duerme")
    seen = lab.evaluate(
        """async (lab) => {
            const parts = ["input", ".vt-translated", ".vt-pairs"];
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


def test_an_unknown_word_is_explained_and_a_suggestion_taken(
    page: Page, exported: Path, translator: Translator
) -> None:
    lab = open_lab(page, exported)
    type_in(lab, "the dragon sleeps")
    with pytest.raises(vt.UserError) as caught:
        translator.translate("the dragon sleeps")
    alert = lab.get_by_role("alert")
    expect(alert).to_have_text(f"{caught.value}. The picture still shows {SENTENCE}.")
    expect(lab.locator(".vt-translated")).to_have_text("el gato negro duerme")
    expect(Explorer(lab).pair).to_contain_text("gato to cat")

    lab.get_by_role("button", name="dog", exact=True).click()
    expect(lab.locator(".vt-translated")).to_have_text("el perro duerme")
    expect(lab.get_by_label("English")).to_have_value("the dog sleeps")
    expect(alert).to_have_count(0)
    expect(lab.get_by_role("button", name="dog", exact=True)).to_have_count(0)

    type_in(lab, SEVERAL)
    expect(alert).to_contain_text("translate them one at a time")
    lab.get_by_role("button", name="the cow sleeps!", exact=True).click()
    expect(lab.locator(".vt-translated")).to_have_text("la vaca duerme")


def test_markup_in_the_field_is_text(page: Page, exported: Path) -> None:
    lab = open_lab(page, exported)
    type_in(lab, "<img src=x onerror=window.pwned=1> </script><script>window.pwned=1</script>")
    expect(lab.get_by_role("alert")).to_contain_text("unknown English word '<img'")
    assert page.evaluate("window.pwned") is None


def test_the_text_grows_with_the_explorer(page: Page, exported: Path) -> None:
    lab = open_lab(page, exported)
    said = lab.locator(".vt-translated")
    before = said.bounding_box()["height"]
    lab.get_by_role("button", name="Options").click()
    for _ in range(2):
        lab.get_by_role("button", name="A+ larger text").click()
    expect(Explorer(lab).root).to_have_attribute("data-vt-drawn", re.compile(r"\d+"))
    said.evaluate(
        """async (node, height) => {
            while (node.clientHeight <= height) await new Promise(requestAnimationFrame);
        }""",
        before,
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_it_fits_the_screen(
    new_page: Callable[..., Page], exported: Path, scheme: str, size: dict[str, int]
) -> None:
    page = new_page(size, scheme)
    lab = open_lab(page, exported)
    expect(lab).to_have_attribute("data-theme", scheme)
    type_in(lab, "the dragon does not sleep")
    expect(lab.get_by_role("alert")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    keep_picture(page, f"translation_lab_{scheme}_{size['width']}")


def test_a_trace_is_switched_without_python(page: Page, tmp_path: Path, translator: Translator) -> None:
    texts = {
        word: f"the dog did not cross the street because it was too {word}" for word in ("tired", "wide")
    }
    traces = {word: translator.trace(text) for word, text in texts.items()}
    switch = vt.trace_switch(traces, kind="encoder")
    switch.explorer.layer, switch.explorer.query, switch.explorer.key = 1, 11, 6
    root = open_lab(page, export_html(switch, tmp_path / "switch.html"), ".vt-trace-switch")
    explorer = Explorer(root)
    for word in ("tired", "wide", "tired"):
        button = root.get_by_role("button", name=word, exact=True)
        button.click()
        weight = traces[word].encoder_attention[1, 0, 11, 6]
        expect(explorer.pair).to_contain_text(f"{word} to street: {weight:.2f}")
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(explorer.title).to_have_text("Encoder self-attention · layer 1 · head 0")
    keep_picture(page, "trace_switch")
