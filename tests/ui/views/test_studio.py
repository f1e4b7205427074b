"""The studio in an exported page: the doors carry what is chosen, and Back and Reset bring it back."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import viz_transformer as vt
from tests.support.on_screen import show, type_text
from tests.support.spanish_models import small_language_model, small_masked_model
from tests.support.ui_areas import LEAST, areas_of, too_little
from tests.support.ui_jupyterlab import next_frames, open_exported
from tests.support.ui_studio import INSIDE, NAMES, OF_A_HEAD, OPENED, SENTENCE, Studio
from tests.support.ui_sweep import findings
from viz_transformer.export import export_html
from viz_transformer.translator import Translator

#: What the row of doors takes of a view's share, and a header of two rows with it.
ROW, TWO_ROWS = 0.01, {"masks": 0.03}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, translator: Translator) -> Path:
    return export_html(vt.studio(translator, SENTENCE), tmp_path_factory.mktemp("studio") / "studio.html")


@pytest.fixture
def studio(kept_page: Page, exported: Path) -> Studio:
    open_exported(kept_page, exported, ".vt-studio")
    opened = Studio(kept_page.locator(".vt-studio"))
    opened.shows("heads", **OPENED)
    return opened


def test_the_doors_carry_kind_layer_head_and_query(studio: Studio) -> None:
    heads = studio.open.locator(".vt-heads canvas")
    heads.press("ArrowLeft")
    heads.press("ArrowUp")
    studio.choose_word("maestra")
    chosen = {**OPENED, "layer": 0, "head": 1, "word": "maestra"}
    for room in ("heads", "head", "model", "heads", "model", "head"):
        studio.go(room)
        studio.shows(room, **chosen)

    studio.open.get_by_label("attention", exact=True).select_option("encoder 1")
    studio.open.get_by_label("head", exact=True).select_option("3")
    studio.choose_word("lost")
    chosen = {"kind": "Encoder self-attention", "layer": 1, "head": 3, "word": "lost"}
    for room in ("model", "heads", "head"):
        studio.go(room)
        studio.shows(room, **chosen)

    studio.go("model")
    studio.open.get_by_role("button", name="head 0").click()
    studio.choose_word("book")
    for room in ("model", "heads", "head"):
        studio.go(room)
        studio.shows(room, **{**chosen, "head": 0, "word": "book"})


def test_the_doors_carry_the_sentence_from_any_room(studio: Studio) -> None:
    texts = {
        "head": "the cat sleeps",
        "off": "she runs",
        "masks": "the white cow does not sleep",
        "positions": "the dog sees the cat",
        "writing": "the teacher sleeps",
        "block": "he runs",
        "model": "she sleeps",
        "heads": "the black cat sleeps",
    }
    for room, text in texts.items():
        studio.go(room)
        type_text(studio.open, text)
        studio.reads(text)
        for other in NAMES.keys() - {"vectors", "training"}:
            studio.go(other)
            studio.reads(text)
    expect(studio.open.get_by_role("textbox").filter(visible=True)).to_have_count(0)


def test_an_unknown_word_is_refused_in_every_room(studio: Studio, translator: Translator) -> None:
    with pytest.raises(vt.UserError) as caught:
        translator.trace("the zebra eats")
    rooms = NAMES.keys() - {"vectors", "training"}
    for room in rooms:
        studio.go(room)
        type_text(studio.open, "the zebra eats")
        expect(studio.open.locator(".vt-header").get_by_role("alert")).to_contain_text(str(caught.value))
        for other in rooms:
            studio.go(other)
            studio.reads(SENTENCE)
        studio.go(room)
        studio.open.get_by_role("textbox").first.press("Escape")


def test_a_word_far_back_does_not_outlive_its_sentence(studio: Studio) -> None:
    studio.choose_word("libro")
    type_text(studio.open, "she runs")
    studio.reads("she runs")
    for room in ("head", "model", "heads"):
        studio.go(room)
        studio.reads("she runs")
        expect(studio.open.get_by_role("alert").filter(visible=True)).to_have_count(0)


def test_what_a_room_has_beside_the_choice_stays_there(studio: Studio) -> None:
    studio.go("model")
    studio.open.get_by_role("button", name="Open decoder layer 1").click()
    studio.go("head")
    studio.open.locator(".vt-timeline").get_by_text("softmax").click()
    studio.go("model")
    expect(studio.open.locator(".vt-model")).to_have_attribute("data-depth", "layer")
    studio.go("head")
    expect(studio.open.locator(".vt-work")).to_have_attribute("data-step", "weights")


def test_back_and_reset(studio: Studio) -> None:
    row = studio.root.locator(".vt-studio-row")
    back = row.get_by_role("button", name="Back")
    expect(back).to_be_disabled()
    studio.choose_word("maestra")
    studio.go("head")
    studio.open.get_by_label("head", exact=True).select_option("0")
    type_text(studio.open, "the cat sleeps")
    studio.reads("the cat sleeps")

    studio.press("Back")
    studio.reads(SENTENCE)
    studio.shows("head", **{**OPENED, "head": 0, "word": "maestra"})
    studio.press("Back")
    studio.shows("head", **{**OPENED, "word": "maestra"})
    studio.press("Back")
    studio.shows("heads", **{**OPENED, "word": "maestra"})
    studio.press("Back")
    studio.shows("heads", **OPENED)
    expect(back).to_be_disabled()

    studio.go("head")
    type_text(studio.open, "she runs")
    studio.reads("she runs")
    studio.press("Reset")
    studio.shows("heads", **OPENED)
    studio.reads(SENTENCE)
    studio.press("Back")  # what was reset comes back too
    studio.stands_in("head")
    studio.reads("she runs")


def test_reset_sets_back_what_is_chosen_in_one_room_alone(studio: Studio) -> None:
    studio.open.get_by_role("button", name="Matrix", exact=True).click()
    studio.go("model")
    studio.open.get_by_role("button", name="Open decoder layer 1").click()
    studio.go("head")
    studio.open.locator(".vt-timeline").get_by_text("softmax").click()
    studio.press("Reset")
    studio.shows("heads", **OPENED)
    expect(studio.open.get_by_role("button", name="Sentence", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    studio.go("model")
    expect(studio.open.locator(".vt-model")).to_have_attribute("data-depth", "model")
    studio.go("head")
    expect(studio.open.locator(".vt-work")).to_have_attribute("data-step", "x")


def test_thirty_fast_clicks_leave_one_room_that_shows_the_choice(studio: Studio) -> None:
    studio.choose_word("maestra")
    studio.root.evaluate(
        """(root) => {
            const doors = root.querySelectorAll(".vt-studio-doors button");
            for (let click = 0; click < 30; click++) doors[(click * 7 + (click >> 2)) % doors.length].click();
            doors[0].click();
        }"""
    )
    studio.shows("model", **{**OPENED, "word": "maestra"})
    studio.press_back_to_the_end()
    studio.shows("heads", **OPENED)


def test_the_keyboard_alone_goes_through_the_doors(studio: Studio) -> None:
    page = studio.root.page
    studio.door("heads").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    studio.shows("model", **OPENED)
    expect(studio.door("model")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    studio.shows("head", **OPENED)
    for _ in range(2):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")  # Back
    studio.shows("model", **OPENED)
    page.keyboard.press("Enter")
    studio.shows("heads", **OPENED)
    expect(studio.door("heads")).to_be_focused()  # Back has nothing more to do


def test_sentences_to_try_are_offered_where_one_is_typed(studio: Studio) -> None:
    """In every room by the same menu, which knows the model of the studio around it."""
    for room in ("heads", "off", "writing"):
        studio.go(room)
        studio.open.get_by_role("button", name="Another sentence").click()
        menu = studio.open.get_by_label("Sentences to try")
        text = menu.locator("option").nth(1).inner_text()
        menu.select_option(text)
        expect(menu).to_have_count(0)
        expect(studio.open.locator(".vt-header .vt-chip").first).to_have_text(text.split()[0])


def test_the_inspector_has_doors_to_the_other_rooms(studio: Studio) -> None:
    for room in OF_A_HEAD:
        studio.go(room)
        for other in set(OF_A_HEAD) - {room}:
            doors = studio.open.get_by_role("navigation", name="Go on from here")
            doors.get_by_role("button", name=NAMES[other]).click()
            studio.shows(other, **OPENED)
            expect(studio.door(other)).to_be_focused()
            studio.press("Back")
            studio.shows(room, **OPENED)


def test_the_room_of_heads_off_suggests_the_strongest_and_the_one_chosen_there_is_seen_in_the_others(
    studio: Studio,
) -> None:
    def goes_on(room: str) -> None:
        doors = studio.open.get_by_role("navigation", name="Go on from here")
        doors.get_by_role("button", name=NAMES[room]).click()
        studio.stands_in(room)

    headline = studio.open.locator(".vt-headline")
    goes_on("off")
    expect(headline).to_contain_text("cross head 1·2 looks")
    studio.open.get_by_role("button", name="Switch off the strongest").click()
    expect(headline).to_contain_text("Without ")
    studio.go("writing")
    studio.go("off")  # as it was left
    studio.open.get_by_role("button", name="All heads on").click()
    studio.open.locator(".vt-heads").get_by_role("button", name="encoder layer 1 head 3").first.click()
    goes_on("heads")
    expect(studio.open.locator(".vt-title")).to_have_text("Encoder self-attention · layer 1 · head 3")


def test_a_cell_of_a_mask_is_worked_through_by_hand(studio: Studio) -> None:
    studio.go("masks")
    studio.open.get_by_role("group", name="Query").get_by_role("button", name="la", exact=True).click()
    studio.open.get_by_role("button", name=NAMES["head"]).click()
    studio.shows("head", **{**OPENED, "word": "maestra"})


def test_every_room_is_drawn_large_and_open_to_all(studio: Studio) -> None:
    page = studio.root.page
    before, wrong = page.viewport_size, {}
    for window, (width, height, share) in LEAST.items():
        page.set_viewport_size({"width": width, "height": height})
        next_frames(studio.root)  # doors or a list
        for room in NAMES:
            studio.go(room)
            if found := too_little(
                areas_of(studio.open.locator(INSIDE[room])), share - TWO_ROWS.get(room, ROW)
            ):
                wrong[f"{room} in {window}"] = found
            if window == "a laptop":
                wrong |= {f"{room}: {each['id']}": [] for each in findings(page)}
    page.set_viewport_size(before or {"width": 1280, "height": 720})
    assert wrong == {}


def test_a_view_outside_a_studio_has_no_such_doors(
    kept_page: Page, tmp_path: Path, translator: Translator
) -> None:
    for view, name in (
        (vt.explore(translator.trace(SENTENCE)), "explorer"),
        (vt.attention_stepper(translator, SENTENCE), "stepper"),
        (vt.architecture(translator, SENTENCE), "architecture"),
    ):
        root = show(kept_page, view, tmp_path, name)
        for door in NAMES.values():
            expect(root.get_by_role("button", name=door, exact=True)).to_have_count(0)


def test_heads_without_a_sentence_of_their_own_follow(kept_page: Page, tmp_path: Path) -> None:
    cases = (
        (small_language_model(), "el gato", "el gato negro duerme"),
        (small_masked_model(), "el [?] negro", "el [?] duerme"),
    )
    for model, first, then in cases:
        studio = Studio(show(kept_page, vt.studio(model, first, room="head"), tmp_path, "studio"))
        studio.stands_in("head")
        type_text(studio.open, then)
        words = then.replace("[?]", "").strip()
        studio.reads(words)
        for room in ("heads", "model", "heads"):
            studio.go(room)
            studio.reads(words)
        studio.choose_word(words.split()[-1])
        expect(studio.open.locator(".vt-pair")).to_contain_text("rank")
        studio.press_back_to_the_end()
        studio.stands_in("head")
        studio.reads(first.replace("[?]", "").strip())


def test_a_narrow_studio_lists_its_rooms(kept_page: Page, exported: Path) -> None:
    size = kept_page.viewport_size
    kept_page.set_viewport_size({"width": 320, "height": 700})
    try:
        open_exported(kept_page, exported, ".vt-studio")
        studio = Studio(kept_page.locator(".vt-studio"))
        expect(studio.list).to_have_count(1)
        for room in (*NAMES, "heads"):
            studio.go(room)
            assert kept_page.evaluate("document.documentElement.scrollWidth") == 320
    finally:
        kept_page.set_viewport_size(size or {"width": 1280, "height": 720})
