"""What an exported page holds, read from its HTML."""

from __future__ import annotations

import base64
import json
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def page_data(path: Path) -> dict:
    text = path.read_text(encoding="utf-8")
    (data,) = re.findall(r'<script [^>]*id="vt-page"[^>]*>(.*?)</script>', text, re.S)
    read = json.loads(data)
    for view in read["views"]:
        if isinstance(answers := view["state"].get("answers"), str):
            view["state"]["answers"] = json.loads(zlib.decompress(base64.b64decode(answers)))
    return read


def bytes_of(encoded: dict[str, str]) -> bytes:
    """Bytes as a page's data hold them, compressed or not."""
    name, letters = *encoded.keys(), *encoded.values()
    return zlib.decompress(base64.b64decode(letters)) if name == "deflated" else base64.b64decode(letters)


def page_scripts(path: Path) -> list[str]:
    """The views' scripts, which a page holds compressed."""
    (held,) = re.findall(r'<script [^>]*id="vt-scripts">(.*?)</script>', path.read_text(encoding="utf-8"))
    return json.loads(zlib.decompress(base64.b64decode(held)))


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


@contextmanager
def served(path: Path, policy: str) -> Iterator[str]:
    """Serve a page with a policy in its header, from this machine; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == f"/{path.name}"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", policy)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            if found:
                self.wfile.write(path.read_bytes())

        def log_message(self, *_: object) -> None:
            pass

    with _serving(Handler) as address:
        yield f"{address}/{path.name}"


@contextmanager
def served_folder(folder: Path) -> Iterator[str]:
    """Serve a folder from this machine; yields its address."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with _serving(partial(Handler, directory=str(folder))) as address:
        yield address


@contextmanager
def _serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
