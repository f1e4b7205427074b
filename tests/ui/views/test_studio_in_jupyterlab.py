"""The studio in JupyterLab: what is chosen goes both ways, through every door, and is there when reopened."""

from __future__ import annotations

from tests.support.on_screen import type_text
from tests.support.ui_jupyterlab import LabPage
from tests.support.ui_studio import NAMES, OF_A_HEAD, OPENED, SENTENCE, Studio

MAKE = f"import viz_transformer as vt\nview = vt.studio(vt.load_translator(), {SENTENCE!r})\nview"
CHOSEN = "(view.room, view.sentence, view.kind, view.layer, view.head, view.query)"
#: What Python has of the rooms themselves.
IN_ROOMS = {
    "heads": "(lambda lab: (lab.sentence, lab.explorer.kind, lab.explorer.layer, lab.explorer.head, "
    "lab.explorer.query))(view.rooms['heads'])",
    "head": "(lambda v: (v.text, v.kind, v.layer, v.head, v.query))(view.rooms['head'])",
    "model": "(lambda v: (v.sentence, v.box, v.head, v.row))(view.rooms['model'])",
}


def test_a_choice_reaches_the_kernel_and_comes_from_it(lab: LabPage) -> None:
    lab.open_cells(MAKE)
    lab.run_cell(0)
    studio = Studio(lab.output(0).locator(".vt-studio"))
    studio.shows("heads", **OPENED)
    studio.open.locator(".vt-heads canvas").press("ArrowLeft")
    studio.choose_word("maestra")
    lab.wait_for_value(CHOSEN, ("heads", SENTENCE, "cross", 1, 1, 1))
    for room in ("head", "model"):
        studio.go(room)
        studio.shows(room, **{**OPENED, "head": 1, "word": "maestra"})
    lab.wait_for_value(CHOSEN, ("model", SENTENCE, "cross", 1, 1, 1))
    lab.wait_for_value(IN_ROOMS["head"], (SENTENCE, "cross", 1, 1, 1))
    lab.wait_for_value(IN_ROOMS["model"], (SENTENCE, "decoder.1.cross_attention", 1, 1))

    type_text(studio.open, "the black cat sleeps in the park")
    lab.wait_for_value("view.sentence", "the black cat sleeps in the park")
    studio.choose_word("duerme")
    lab.wait_for_value("view.query", 3)
    for room in ("heads", "head"):
        studio.go(room)
        studio.shows(room, **{**OPENED, "head": 1, "word": "duerme"})
        lab.wait_for_value(IN_ROOMS[room], ("the black cat sleeps in the park", "cross", 1, 1, 3))
    studio.go("heads")
    type_text(studio.open, "she runs")
    lab.wait_for_value(
        "(view.sentence, view.rooms['heads'].explorer.trace.source_tokens[0])", ("she runs", "she")
    )
    for room in ("model", "head"):
        studio.go(room)
        studio.reads("she runs")
    lab.wait_for_value("(view.rooms['head'].text, view.rooms['model'].sentence)", ("she runs", "she runs"))

    for room in OF_A_HEAD:
        lab.run(f"view.room = {room!r}")
        studio.stands_in(room)
        lab.run(f"view.sentence, view.kind, view.layer, view.head = {SENTENCE!r}, 'encoder', 0, 3")
        lab.run("view.query = 4")
        studio.shows(room, "Encoder self-attention", 0, 3, "book")
        studio.reads(SENTENCE)
        lab.wait_for_value(CHOSEN, (room, SENTENCE, "encoder", 0, 3, 4))
        lab.run("view.sentence, view.kind, view.query = 'the cat sleeps', 'cross', 2")
        studio.shows(room, "Cross-attention", 0, 3, "duerme")
        lab.wait_for_value(CHOSEN, (room, "the cat sleeps", "cross", 0, 3, 2))
    for room in NAMES.keys() - set(OF_A_HEAD):  # each is made when it is opened, by a cell or by its door
        if room < "n":
            lab.run(f"view.room = {room!r}")
        else:
            studio.go(room)
        studio.stands_in(room)
    lab.run("view.room = 'head'")
    lab.run("for layer in list(range(2)) * 40:\n    view.layer = layer")
    studio.shows("head", "Cross-attention", 1, 3, "duerme")
    lab.wait_for_value(CHOSEN, ("head", "the cat sleeps", "cross", 1, 3, 2))

    studio.press("Reset")
    studio.shows("heads", **OPENED)
    lab.wait_for_value(CHOSEN, ("heads", SENTENCE, "cross", 1, 2, 3))
    lab.wait_for_value(IN_ROOMS["heads"], (SENTENCE, "cross", 1, 2, 3))
    studio.press("Back")
    lab.wait_for_value(CHOSEN, ("head", "the cat sleeps", "cross", 1, 3, 2))
    assert lab.errors == []


def test_a_reopened_notebook_has_the_studio_and_its_doors(lab: LabPage) -> None:
    lab.open_cells(MAKE)
    lab.run_all()
    studio = Studio(lab.output(0).locator(".vt-studio"))
    studio.go("head")
    lab.wait_for_value("(view.room, len(view.doors))", ("head", len(NAMES)))
    lab.reopen_saved()
    lab.select_cell(0)
    for room in NAMES:
        studio.go(room)
    for room in ("head", "heads", "model"):
        studio.go(room)
        studio.shows(room, **OPENED)
    type_text(studio.open, "she runs")  # the model in the page answers, and no kernel has been asked
    for room in ("heads", "head", "off", "masks", "writing", "model"):
        studio.go(room)
        studio.reads("she runs corre")
    lab.run_cell(0)
    studio.shows("heads", **OPENED)
    assert lab.errors == []
