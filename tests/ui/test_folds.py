"""Panels that fold: by keyboard and by pointer, and kept in an exported page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import viz_transformer as vt
from tests.support.ui_jupyterlab import open_exported
from viz_transformer.export import export_html
from viz_transformer.widgets.base.traits import SelectionError


def test_a_page_keeps_what_was_unfolded_and_keys_fold_it_again(page: Page, tmp_path: Path) -> None:
    view = vt.mask_lab()
    view.unfolded = ["libraries"]
    root = open_exported(page, export_html(view, tmp_path / "page.html"), ".vt-mask-lab")
    expect(root.locator(".vt-libraries .vt-numbers")).to_be_visible()
    head = root.get_by_role("button", name="The code")
    code = root.locator(".vt-panel pre").first
    expect(head).to_have_attribute("aria-expanded", "false")
    expect(code).to_be_hidden()
    head.press("Enter")
    expect(head).to_have_attribute("aria-expanded", "true")
    expect(code).to_contain_text("padding_mask(target_ids, pad_id)")
    expect(head).to_be_focused()
    head.press("Space")
    expect(code).to_be_hidden()


def test_a_panel_that_does_not_exist_is_refused() -> None:
    view = vt.mask_lab()
    with pytest.raises(SelectionError, match="the panels are shapes, code, libraries"):
        view.unfolded = ["nothing"]
    assert view.unfolded == []
