"""A plugin of fixtures for tests in a real browser; each fails if a page asked for anything elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.support.ui_jupyterlab import TIMEOUT_S, LabPage, LabServer, guard
from tests.support.ui_windows import ARTIFACTS, ELSEWHERE_ASKED, LAPTOP, guarded_lab, serving
from tools.ensure import CHROMIUM_FLAGS, find_chromium

#: By default 5 seconds, which a busy machine may need for drawing a page.
expect.set_options(timeout=TIMEOUT_S * 1000)

_FOLDERS = [Path(__file__).parents[1] / name for name in ("ui", "sweep")]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what opens a notebook of its own in JupyterLab to `make test-slow`, unless it is weekly.

    It takes ten seconds and more each time. What shares one notebook (`kept_lab`) says itself what it is.
    """
    for item in items:
        in_lab = "lab" in getattr(item, "fixturenames", ()) and set(_FOLDERS) & set(item.path.parents)
        if in_lab and not item.get_closest_marker("weekly"):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure what JupyterLab shows: where tests run unseen, nothing else is kept of it."""
    report = yield
    if report.when == "call" and report.failed:
        labs = [each for each in getattr(item, "funcargs", {}).values() if isinstance(each, LabPage)]
        report.sections += [("JupyterLab", lab.told()) for lab in labs]
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return Chromium; it is a failure, never a skip, that there is none."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(),
            # Playwright stops requests in the page; this stops what the browser itself would ask.
            args=[*CHROMIUM_FLAGS, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
            timeout=TIMEOUT_S * 1000,
        )
        yield browser
        browser.close()


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page held to this machine, `new_page(viewport=SMALL)`.

    Its `scheme` is the colour scheme that the reader prefers.
    """
    contexts: dict[BrowserContext, list[str]] = {}

    def open_page(viewport: dict[str, int] = LAPTOP, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport=viewport, color_scheme=scheme, service_workers="block", reduced_motion="reduce"
        )
        contexts[context] = guard(context)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_S * 1000)
        return page

    yield open_page
    for context in contexts:
        context.close()
    asked = [url for urls in contexts.values() for url in urls]
    assert asked == [], ELSEWHERE_ASKED


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """Return one page held to this machine."""
    return new_page()


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """Return one JupyterLab for the whole run."""
    with serving(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture
def lab(lab_server: LabServer, page: Page) -> Iterator[LabPage]:
    """Return JupyterLab in a page of its own; what a test did there ends with it."""
    ARTIFACTS.mkdir(exist_ok=True)
    yield LabPage(page, lab_server, ARTIFACTS)
    lab_server.reset()


@pytest.fixture(scope="module")
def kept_lab(lab_server: LabServer, browser: Browser) -> Iterator[LabPage]:
    """Return JupyterLab in a page that the tests of a file share, one after the other.

    A test that breaks what the others need, or that ends the server's kernels, takes `lab` and
    stands last in its file.
    """
    with guarded_lab(lab_server, browser, service_workers="block") as lab:
        yield lab
