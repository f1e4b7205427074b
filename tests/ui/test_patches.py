"""The picture of a vision model in a page: its patches stand where they stand among the tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

import viz_transformer as vt


def test_the_picture_in_a_page_is_that_of_the_patches_between_words(page: Page, tmp_path: Path) -> None:
    patches = [f"row {i // 4}, column {i % 4}" for i in range(16)]
    tokens = ["<s>", *patches, "what", "is", "this"]
    weights = np.eye(20)[None, None]  # [layer, head, query, key]
    weights[0, 0, 19] = 0
    weights[0, 0, 19, tokens.index("row 1, column 1")] = 1  # "this" looks there
    trace = vt.capture(weights, target_tokens=tokens)
    with pytest.raises(vt.UserError, match="grid="):
        vt.explore(trace, kind="decoder", query=19, grid=(4, 4))
    view = vt.explore(trace, kind="decoder", query=19, grid=(4, 4, 1))
    page.goto(vt.export_html(view, tmp_path / "patches.html").as_uri())
    told = page.get_by_text("From this")
    told.first.wait_for(state="attached")
    assert "most 1, patch in row 1, column 1" in told.first.inner_text()
