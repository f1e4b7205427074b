"""Packages that only an extra brings: where one is missing, one line names the pip command.

Every ``import torch`` in this package is found, wherever it is: Python asks the finder below
after all others, so only for what is not installed. Imports by other packages are left alone.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from viz_transformer.errors import MissingPackageError

#: Each package that is not there after a plain installation, and the extra with it.
EXTRA_OF = {
    "bertviz": "bertviz",
    "jaxtyping": "torch",
    "jinja2": "lab",
    "jupyterlab": "lab",
    "latex2mathml": "lab",
    "nbclient": "lab",
    "nbconvert": "lab",
    "nbformat": "lab",
    "nh3": "lab",
    "sacrebleu": "train",
    "safetensors": "torch",
    "tokenizers": "train",
    "torch": "torch",
    "tqdm": "torch",
    "transformers": "huggingface",
    "watchfiles": "dev",
}


def missing(package: str) -> MissingPackageError:
    """Return the error that says how to install a package of `EXTRA_OF`."""
    command = f'pip install "viz-transformer[{EXTRA_OF[package]}]"'
    return MissingPackageError(f"{package} is not installed, and this needs it: {command}", package)


def need(package: str) -> None:
    """Raise a MissingPackageError if a package of `EXTRA_OF` is not installed; imports nothing."""
    if find_spec(package) is None:
        raise missing(package)


class _MissingPackageFinder:
    """The last finder in ``sys.meta_path``, which finds nothing and says what to install."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise a MissingPackageError if this package imports one that an extra brings."""
        if name in EXTRA_OF and _importing_module().startswith("viz_transformer."):
            raise missing(name)


def _importing_module() -> str:
    """Return the name of the module whose import or `find_spec` is being answered."""
    frame = sys._getframe(2)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "importlib":
        frame = frame.f_back
    return frame.f_globals.get("__name__", "")


def explain_missing_packages() -> None:
    """Say from now on which extra brings what this package imports and does not find."""
    if _MissingPackageFinder not in sys.meta_path:
        sys.meta_path.append(_MissingPackageFinder)
