"""Checks the model's shapes at run time: this runs before any test imports the package."""

import os

import jaxtyping
import pytest

# Every signature in viz_transformer.model, such as Float[Tensor, "batch head query key"], is
# checked on each call while the tests run. Without this line it costs nothing.
jaxtyping.install_import_hook("viz_transformer.model", "beartype.beartype")

import torch  # noqa: E402


def pytest_configure() -> None:
    torch.set_num_threads(min(2, os.cpu_count() or 1))


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.fixture
def shapes_unchecked():
    """Turn the shape checks off: for what a user meets who gives a wrong shape."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
