"""What an exported page holds, read from its HTML."""

from __future__ import annotations

import json
import re
from pathlib import Path


def page_data(path: Path) -> dict:
    text = path.read_text(encoding="utf-8")
    (data,) = re.findall(r'<script [^>]*id="vt-page"[^>]*>(.*?)</script>', text, re.S)
    return json.loads(data)


def policy_of(path: Path) -> dict[str, list[str]]:
    """The page's content-security policy: directive → sources."""
    text = path.read_text(encoding="utf-8")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    return {name: sources for name, *sources in map(str.split, policy.split(";"))}
