"""The browser and JupyterLab, for the tests of this folder."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Share the browser with the other folders that use it: there is one in a process."""
    config.pluginmanager.import_plugin("tests.support.ui_fixtures")
