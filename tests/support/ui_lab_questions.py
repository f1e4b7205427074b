"""To each lab of a page a question that nobody asked before, and its answer held to Python's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

import viz_transformer as vt
from tests.support.on_screen import type_text
from tests.support.ui_explorer import Explorer
from tests.support.ui_jupyterlab import next_frames
from tests.support.ui_pages import drawn
from viz_transformer.translator import Translator
from viz_transformer.widgets.block_lab.live import block_spread
from viz_transformer.widgets.position_lab.live import position_lab

SENTENCE = "the white cow does not sleep"


def ask_translation(lab: Locator, translator: Translator) -> None:
    """Translate a sentence, and read its first weight of the head that is shown."""
    type_text(lab, SENTENCE)
    expect(lab.locator(".vt-translated")).to_have_text(translator.translate(SENTENCE).text)
    trace, explorer = translator.trace(SENTENCE), Explorer(lab)
    shown = re.fullmatch(r"(\w+).* · layer (\d) · head (\d)", explorer.title.inner_text())
    kind, layer, head = shown[1].lower(), int(shown[2]), int(shown[3])
    lab.get_by_role("button", name="Matrix", exact=True).click()
    explorer.matrix.focus()
    explorer.matrix.press("Escape")  # a lesson may have pinned a row
    explorer.matrix.press("ArrowDown")  # from nothing to the first cell
    pair = f"{trace.query_tokens(kind)[0]} to {trace.key_tokens(kind)[0]}"
    weight = trace.attention(kind)[layer, head, 0, 0]
    expect(explorer.pair).to_contain_text(f"{pair}: {weight:.2f}")


def ask_architecture(lab: Locator, translator: Translator) -> None:
    """Send a sentence through, and read the words that come out at the end."""
    type_text(lab, SENTENCE)
    words = lab.locator('[data-key="decoder.output"] .vt-word')
    expect(words).to_have_text([*translator.translate(SENTENCE).tokens, "<eos>"])


def ask_stepper(lab: Locator, translator: Translator) -> None:
    """Work through another head of another sentence, up to its weights."""
    type_text(lab, SENTENCE)
    expect(lab.locator(".vt-chip").get_by_text(re.compile("vaca|cow")).first).to_be_visible()
    lab.get_by_role("combobox", name="attention").select_option("encoder 0")
    expect(lab.get_by_role("button", name="cow").first).to_be_visible()
    lab.get_by_role("combobox", name="head", exact=True).select_option("2")
    lab.locator(".vt-chip.vt-of-query").get_by_text("cow").click()
    lab.locator(".vt-step", has_text="softmax").click()
    weights = translator.trace(SENTENCE).encoder_attention[0, 2, 2]
    expect(lab.locator("[data-matrix=weights] td")).to_have_count(len(weights))
    assert _numbers(lab.locator("[data-matrix=weights] td")) == pytest.approx(weights, abs=0.00501)


def ask_head_lab(lab: Locator, translator: Translator) -> None:
    """Switch off a head while another sentence is translated."""
    type_text(lab, SENTENCE)
    target = translator.translate(SENTENCE).tokens
    words = lab.locator(".vt-written .vt-word")
    expect(words).to_have_text([*target, "<eos>"])
    lab.get_by_role("button", name=re.compile("^encoder layer 1 head 1, ")).click()  # it is the one chosen
    drawn(lab)
    off = vt.Interventions(heads=[vt.HeadChange("encoder", 1, 1, factor=0)])
    told = [each.get_attribute("aria-label") or "" for each in lab.locator(".vt-losses [role=img]").all()]
    after = -translator.log_probs(SENTENCE, target, off)
    assert [_number(each.rsplit("now ", 1)[1]) for each in told] == pytest.approx(after, abs=0.00051)
    expect(words).to_have_text([*translator.translate(SENTENCE, interventions=off).tokens, "<eos>"])


def ask_beam_stepper(lab: Locator, translator: Translator) -> None:
    """Search with a wide beam; then draw a text at a high temperature."""
    ways = lab.locator(".vt-way")
    ways.nth(1).click()
    type_text(lab, SENTENCE)
    drawn(lab)
    lab.get_by_role("slider", name="beam width").fill("7")
    lab.get_by_role("slider", name="length penalty").fill("1.3")
    drawn(lab)
    best = translator.decode(SENTENCE, 7, length_penalty=1.3).hypotheses[0]
    expect(lab.locator(".vt-headline")).to_contain_text(f"{' '.join(best.tokens)} wins")
    ways.nth(2).click()
    drawn(lab)
    lab.get_by_role("slider", name="temperature").fill("3")
    drawn(lab)
    seed = int(re.search(r"seed (\d+)", lab.inner_text())[1])
    sampled = translator.sample(SENTENCE, 3.0, seed=seed).hypotheses[0]
    expect(lab.locator(".vt-headline")).to_contain_text(f"{' '.join(sampled.tokens)} is drawn")


def ask_mask_lab(lab: Locator, translator: Translator) -> None:
    """Hide a word from another by hand, and read which outputs move."""
    lab.get_by_role("combobox", name="Mask", exact=True).select_option("Encoder")
    _settle(lab)
    twin = vt.mask_lab(translator)
    twin.kind, twin.causal = "encoder", False
    twin.sentence = int(lab.get_by_role("combobox", name="Sentence").input_value())
    lab.locator(".vt-cell[data-row='2'][data-col='0']").click()
    mask = twin.mask.copy()
    mask[twin.sentence, 0, 2, 0] = False
    twin.mask = mask
    lab.get_by_role("group", name="Token to replace").get_by_role("button").first.click()
    _settle(lab)
    changes = twin.measure()["changes"][twin.sentence, 0]
    shown = _numbers(lab.locator(".vt-row .vt-number"))
    assert shown == pytest.approx(changes, abs=0.00501)


def ask_position_lab(lab: Locator, translator: Translator) -> None:
    """Read the words in an order that nobody listed."""
    twin = position_lab(translator)
    lab.get_by_role("slider", name="Chapters").press("End")
    shown = lab.locator("[data-shown]")
    two_exchanged = re.compile(r"^\[\[0,4,2,3,1\]")
    expect(shown).to_have_attribute("data-shown", two_exchanged)
    lab.get_by_role("button", name="shuffle", exact=True).click()
    expect(shown).not_to_have_attribute("data-shown", two_exchanged)
    expect(shown).to_have_attribute("data-shown", re.compile(r"^\[\[(?!0,1,2,3,4\])"))
    order, on = json.loads(shown.get_attribute("data-shown") or "")
    reply = twin.answer({"order": order, "positions_on": on})
    assert _numbers(lab.locator(".vt-amount")) == pytest.approx(reply["moved"], abs=0.00501)
    expect(shown).to_contain_text(f"→ {reply['translation']}")


def ask_block_lab(lab: Locator, translator: Translator) -> None:
    """Change a word of another sentence in the first block."""
    type_text(lab, SENTENCE)
    lab.get_by_role("button", name="cow", exact=True).click()
    lab.get_by_role("button", name="block 0").click()
    drawn(lab.locator(".vt-spread"))
    moved = block_spread(translator, SENTENCE, 2, layer=0)["self-attention"]
    assert _numbers(lab.get_by_role("group", name="self-attention").locator(".vt-move")) == pytest.approx(
        moved, abs=0.00501
    )


#: By the name of the engine's lab.
QUESTIONS: dict[str, Callable[[Locator, Translator], None]] = {
    "architecture": ask_architecture,
    "attention_stepper": ask_stepper,
    "beam_stepper": ask_beam_stepper,
    "block_lab": ask_block_lab,
    "head_lab": ask_head_lab,
    "mask_lab": ask_mask_lab,
    "position_lab": ask_position_lab,
    "translation_lab": ask_translation,
}


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def _numbers(cells: Locator) -> list[float]:
    return list(map(_number, cells.all_text_contents()))


def _settle(lab: Locator) -> None:
    """Wait two frames, and until no reply is waited for."""
    next_frames(lab)
    expect(lab.locator("[aria-busy=true]")).to_have_count(0)
    next_frames(lab)
