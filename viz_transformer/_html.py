"""Parts of self-contained HTML pages: the content-security policy, and data inside a script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any


def policy_element(directives: Mapping[str, Sequence[str]]) -> str:
    """Return a page's content-security policy as a ``<meta>`` element.

    Everything that the directives do not name is forbidden: fetching, ``<base>`` and forms.

    Args:
        directives: the allowed sources by directive, such as ``{"img-src": ["data:"]}``.
    """
    closed = {name: ["'none'"] for name in ("default-src", "base-uri", "form-action")}
    policy = "; ".join(f"{name} {' '.join(sources)}" for name, sources in {**closed, **directives}.items())
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


def source_hash(text: str) -> str:
    """Return what a content-security policy calls an inline script or style: ``'sha256-…'``."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def script_json(value: Any) -> str:
    """Return a value as ASCII JSON that can be inside a ``<script>`` element."""
    # ASCII JSON already escapes U+2028 and U+2029; `<` could end the element.
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
