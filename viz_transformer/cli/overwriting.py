"""The option `--overwrite`, without which no command replaces what the program did not write."""

from __future__ import annotations

import argparse
import os
from contextlib import AbstractContextManager, nullcontext

from viz_transformer._files import atomic_write


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """Add the option to a command's parser."""
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there already")


def replacing(
    path: str | os.PathLike[str], overwrite: bool
) -> AbstractContextManager[str | os.PathLike[str]]:
    """Return where to write a page: at its path, where only one of ours is replaced, or over anything."""
    return atomic_write(path) if overwrite else nullcontext(path)
