"""Packages whose public names are imported when they are first used."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class LazyPackage(ModuleType):
    """A package with a table ``_PUBLIC``: each public name, and the module inside that has it.

    So importing it is quick, and what needs torch can be beside what does not. A name whose
    module is None is a module itself.
    """

    def __getattr__(self, name: str) -> Any:
        """Import a public name, or a module inside."""
        module = self.__dict__["_PUBLIC"].get(name)
        if module is not None:
            return getattr(import_module(f".{module}", self.__name__), name)
        if name.startswith("_") or find_spec(f"{self.__name__}.{name}") is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return import_module(f".{name}", self.__name__)

    def __dir__(self) -> list[str]:
        """List the public names, imported or not, and no others."""
        return sorted([*self.__dict__["_PUBLIC"], *({"__version__"} & self.__dict__.keys())])


def make_lazy(package: str) -> None:
    """Make a package lazy, given its ``__name__``."""
    sys.modules[package].__class__ = LazyPackage
