"""The import of ``my_transformer``, which works in every lesson, whatever was solved so far."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec

NAME = "my_transformer"


class _OwnFileFinder:
    """The finder of the student's own file; every other import is left to the other finders."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Find ``my_transformer`` in the working folder, where it is made if it is missing."""
        if name != NAME:
            return None
        spec: ModuleSpec | None = import_module("viz_transformer.exercises.own_model").spec()
        return spec


def find_own_file() -> None:
    """Make ``import my_transformer`` work from now on."""
    if _OwnFileFinder not in sys.meta_path:
        sys.meta_path.insert(0, _OwnFileFinder)
