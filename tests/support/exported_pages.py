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


def check_scripts_have_hashes(path: Path) -> None:
    """Hold a page's policy to name scripts by hash alone, and to close what it need not open."""
    policy = policy_of(path)
    assert policy["script-src"], path
    assert all(re.fullmatch(r"'sha256-[\w+/]{43}='", source) for source in policy["script-src"]), path
    assert [policy[name] for name in ("default-src", "base-uri", "form-action")] == [["'none'"]] * 3, path
