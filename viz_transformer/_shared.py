"""What Python and the views have in common: shared.json, which the views' bundles carry too.

Its parts: ``colours`` by role (on light pages, on dark ones, and where the system has its own), the stops of
the scales of ``weights`` and of ``signed`` numbers, the colours of heads' ``labels``, the ``kinds`` of
attention, the words for each of a model's ``tasks``, the marks of a candidate's ``statuses``, and ``limits``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SHARED: dict[str, Any] = json.loads(Path(__file__).with_name("shared.json").read_text(encoding="utf-8"))
