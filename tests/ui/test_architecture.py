"""The architecture in an exported page: keys, boxes, another sentence, and room on every screen."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.support.ui_jupyterlab import open_exported
from tests.support.ui_windows import in_every_window, keep_picture
from viz_transformer import labs
from viz_transformer.export import export_html
from viz_transformer.translator import load_translator

SENTENCE = "the black cat sleeps"


def opened(page: Page, folder: Path, **options: object) -> Locator:
    view = labs.architecture(load_translator(), SENTENCE, **options)
    root = open_exported(page, export_html(view, folder / "page.html"), ".vt-architecture")
    expect(root.locator(".vt-box").first).to_be_visible()
    return root


def box(root: Locator, key: str) -> Locator:
    return root.locator(f'[data-key="{key}"]')


def test_keys_step_play_choose_a_word_and_open_the_code(page: Page, tmp_path: Path) -> None:
    root = opened(page, tmp_path, step=3)
    picture, says = root.get_by_role("application"), root.locator(".vt-says")
    expect(says).to_contain_text("Step 4 of 91: encoder layer 0, self-attention")
    picture.focus()
    picture.press("ArrowRight")
    expect(says).to_contain_text("Step 5 of 91: encoder layer 0, Add & Norm")
    expect(box(root, "encoder.0.self_attention_residual")).to_have_attribute("data-chosen", "")
    picture.press("ArrowDown")
    expect(root.locator(".vt-card-caption")).to_contain_text("“cat”")
    picture.press("Enter")
    expect(root.locator(".vt-source")).to_contain_text("def merge(")
    picture.press("Escape")
    expect(root.locator(".vt-source")).to_be_hidden()
    picture.press(" ")
    expect(root.get_by_role("button", name="Pause")).to_be_visible()
    expect(says).to_contain_text(re.compile(r"Step (?:[89]|\d\d) of 91"))
    picture.press(" ")
    expect(root.get_by_role("button", name="Play")).to_be_visible()
    picture.press("End")
    expect(says).to_contain_text("Step 91 of 91: decoder, softmax. After “duerme” comes “<eos>”.")
    expect(box(root, "decoder.output").locator(".vt-word")).to_have_text(
        ["el", "gato", "negro", "duerme", "<eos>"]
    )


def test_a_box_shows_its_numbers_and_a_folded_layer_opens(page: Page, tmp_path: Path) -> None:
    root = opened(page, tmp_path)
    weights = load_translator().trace(SENTENCE).cross_attention[1, :, 2]
    box(root, "decoder.1.cross_attention").click()
    box(root, "decoder.tokens").get_by_text("gato").click()
    expect(root.locator(".vt-heads td")).to_have_text([f"{each:.2f}" for each in weights.flatten()])
    root.get_by_role("button", name="head 1").click()
    expect(root.get_by_role("button", name="head 1")).to_have_attribute("aria-pressed", "true")
    root.locator(".vt-folded", has_text="layer 0").first.click()
    expect(box(root, "encoder.0.feed_forward")).to_be_visible()
    expect(root.get_by_role("link", name="Lesson 2: Tokens to vectors")).to_have_count(0)
    box(root, "encoder.embedding").click()
    link = root.get_by_role("link", name="Lesson 2: Tokens to vectors")
    expect(link).to_have_attribute("href", "02_tokens_to_vectors.html")


def test_any_sentence_flows(page: Page, tmp_path: Path) -> None:
    root = opened(page, tmp_path)
    field = root.get_by_label("sentence")
    field.fill("the dog does not sleep")
    field.press("Enter")
    expect(box(root, "encoder.tokens").locator(".vt-word")).to_have_count(6)
    written = [*load_translator().translate("the dog does not sleep").tokens, "<eos>"]
    expect(box(root, "decoder.output").locator(".vt-word")).to_have_text(written)
    field.fill("the dragon")
    field.press("Enter")
    expect(root.get_by_role("alert")).to_contain_text("dragon")
    expect(box(root, "encoder.tokens").locator(".vt-word")).to_have_count(6)


@in_every_window
def test_it_fits_its_window(
    new_page: Callable[..., Page], tmp_path: Path, window: dict[str, int], scheme: str
) -> None:
    page = new_page(viewport=window, scheme=scheme)
    root = opened(page, tmp_path, step=46)
    assert page.evaluate("document.documentElement.scrollWidth") <= window["width"]
    chosen = root.locator("[data-chosen] .vt-frame").bounding_box()
    assert chosen is not None
    assert 0 <= chosen["x"] <= chosen["x"] + chosen["width"] <= window["width"]
    keep_picture(page, f"architecture_{window['width']}_{scheme}")
