"""One page that the tests of a view share: each opens its own file in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.support.ui_jupyterlab import TIMEOUT_S, errors_of, guard
from tests.support.ui_windows import ELSEWHERE_ASKED, LAPTOP


@pytest.fixture(scope="module")
def kept_page(browser: Browser) -> Iterator[Page]:
    """Return a page in which nothing may go wrong, and that may ask for nothing elsewhere."""
    context = browser.new_context(viewport=LAPTOP, service_workers="block", reduced_motion="reduce")
    asked = guard(context)
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_S * 1000)
    errors = errors_of(page)
    yield page
    context.close()
    assert asked == [], ELSEWHERE_ASKED
    assert errors == []
