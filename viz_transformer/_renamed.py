"""What the course of fourteen lessons called its notebooks, exercises and predictions, and the names now.

They are in ``renamed.json``, which pages carry too: ``notebooks`` without their ending; ``lessons``, each
with all its exercises and predictions; and ``names``, single ones that went elsewhere, or nowhere, ``""``.
"""

from __future__ import annotations

import json
from pathlib import Path

_KNOWN: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("renamed.json").read_text(encoding="utf-8")
)
#: Each notebook that has another name now, with that name.
NOTEBOOKS = {old: new for old, new in _KNOWN["notebooks"].items() if old != new}


def renamed(name: str) -> str:
    """Return what an exercise or a prediction of the fourteen lessons is called now; ``""`` if it is gone."""
    lesson, dot, number = name.partition(".")
    return _KNOWN["names"].get(name, f"{_KNOWN['lessons'].get(lesson, lesson)}{dot}{number}")
