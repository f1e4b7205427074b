"""Join the parts of a view into the one ES module that a notebook can load.

A widget's module is imported from a blob, and a blob has no neighbours to import. The parts in
``static/`` are ordinary modules, so that editors, linters and ``node --test`` read them as they
are; here their relative imports are followed and the texts put one after another.
"""

from __future__ import annotations

import re
from pathlib import Path

STATIC = Path(__file__).parent / "static"

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', re.MULTILINE)


def bundle(name: str) -> str:
    """Return ``static/<name>`` with every part that it imports, each once, as one module.

    The parts share one scope when joined: their top-level names must differ.
    """
    texts: dict[str, str] = {}

    def add(part: str) -> None:
        if part in texts:
            return
        text = (STATIC / part).read_text(encoding="utf-8")
        for neighbour in _IMPORT.findall(text):
            add(neighbour)
        texts[part] = _IMPORT.sub("", text)

    add(name)
    # Only the view itself may have the default export; the parts keep their named ones.
    return "\n".join(texts.values())
