"""Where the files that come with the package lie: beside it in a clone, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

from viz_transformer.errors import FileError


def resource(name: str) -> Path:
    """Return the path of a bundled file or folder, such as ``data/en-es``.

    Raises:
        FileError: if the installation lacks it.
    """
    package = Path(__file__).parent
    for root in (package / "bundled", package.parent):
        if (root / name).exists():
            return root / name
    raise FileError(
        f"{name!r} is missing from this installation of viz_transformer; install it again, or "
        "clone the repository"
    )
