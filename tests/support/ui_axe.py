"""axe-core (MPL-2.0, tests/ui/vendor): what it finds in a page that the browser has laid out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

_AXE = Path(__file__).parents[1] / "ui" / "vendor" / "axe-core-4.14.1.min.js"
_RUN = """async () => {
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).map((found) => ({
        rule: found.id,
        elements: found.nodes.slice(0, 5).map((node) => node.html.slice(0, 160)),
        why: found.nodes[0].failureSummary,
    }));
}"""


def findings(page: Page) -> list[dict[str, Any]]:
    """Return what axe-core holds for serious or critical, with the elements that it is about."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"{_AXE.read_text(encoding='utf-8')};\nnull")  # null: axe itself is no answer
    return page.evaluate(_RUN)
