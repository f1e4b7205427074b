"""A saved notebook whose kernel has run nothing: its labs answer questions that nobody asked before."""

from __future__ import annotations

import pytest

from tests.support.ui_jupyterlab import LabPage, next_frames
from tests.support.ui_lab_questions import QUESTIONS

CELLS = {
    "architecture": "vt.architecture(translator, 'the cat sleeps')",
    "attention_stepper": "vt.attention_stepper(translator, 'the cat sleeps')",
    "beam_stepper": "vt.beam_stepper(translator)",
    "block_lab": "vt.block_lab(translator)",
    "head_lab": "vt.head_lab(translator)",
    "mask_lab": "vt.mask_lab(translator)",
    "position_lab": "vt.position_lab(translator)",
    "translation_lab": "vt.translation_lab(translator, 'the cat sleeps')",
}


@pytest.mark.slow
def test_every_lab_of_a_saved_notebook_answers_before_anything_runs(lab: LabPage, translator) -> None:
    assert set(CELLS) == set(QUESTIONS)
    lab.open_cells("import viz_transformer as vt\ntranslator = vt.load_translator()", *CELLS.values())
    lab.run_all()
    lab.reopen_saved()
    for index, name in enumerate(CELLS, start=1):
        lab.select_cell(index)
        view = lab.output(index).locator(".vt-root").first
        next_frames(view)
        QUESTIONS[name](view, translator)
    assert lab.value("'translator' in globals()") is False
    assert lab.errors == []
