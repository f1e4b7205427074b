"""The build hook: views are built when the package is packed or installed (`tools/bundles.py`)."""

from __future__ import annotations

import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
from tools import bundles


class BundlesHook(BuildHookInterface):
    """Builds the views unless they are built already, as in a source distribution."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return what building needs: Node's npm, unless nothing has to be fetched."""
        return [] if bundles.are_built() or bundles.find_esbuild() else [bundles.NODE]

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Build the views before the package is packed."""
        bundles.build()
