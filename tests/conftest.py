"""Checks the model's shapes at run time: this runs before any test imports the package."""

import gc
import os
import sys

import jaxtyping
import pytest

from tests.support.shape_checks import once_for_calls_alike
from tools import bundles

# nbformat imports jsonschema, which builds parsers of internationalised addresses from this
# package: seconds for each process, and no test looks at such an address.
sys.modules["rfc3987_syntax"] = None

# Every signature in viz_transformer.model, such as Float[Tensor, "batch head query key"], is
# checked while the tests run. Without these lines it costs nothing.
jaxtyping.jaxtyped = once_for_calls_alike
jaxtyping.install_import_hook("viz_transformer.model", "beartype.beartype")

import hypothesis  # noqa: E402
import matplotlib as mpl  # noqa: E402
import matplotlib.pyplot as plt  # noqa: E402
import torch  # noqa: E402

import viz_transformer as vt  # noqa: E402


def pytest_configure() -> None:
    bundles.build()  # what is tested is what is written
    # The same examples on each run and machine, however slow: a failure can be run again.
    hypothesis.settings.register_profile(
        "repeatable", deadline=None, derandomize=True, database=None, max_examples=50
    )
    hypothesis.settings.load_profile("repeatable")
    # The tests' models are tiny: threads would only wait for each other, and on a busy machine
    # they do so for a hundred times as long as the work takes. The variable is for the kernels
    # and commands that tests start.
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without garbage collection, a fifth faster: what is imported stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(autouse=True)
def _torch_as_started():
    # Only the processor's: torch.manual_seed also keeps a stack trace for each kind of accelerator.
    torch.default_generator.manual_seed(0)
    yield
    # Else every test after it that trains would fail in its place.
    if not torch.is_grad_enabled():
        torch.set_grad_enabled(True)
        pytest.fail("it left torch's gradients off")


@pytest.fixture(scope="module")
def translator():
    """The bundled translator; a test that changes its weights loads one of its own."""
    return vt.load_translator()


@pytest.fixture
def folder_thrown_away(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where nothing stays: a lesson keeps what is guessed in the folder that it runs in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shapes_unchecked():
    """Turn the shape checks off: for what a user meets who gives a wrong shape."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def no_window():
    """Draw matplotlib's figures in memory, and close them after the test."""
    with mpl.rc_context({"backend": "agg"}):
        yield
    plt.close("all")
