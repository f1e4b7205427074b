"""Firefox, driven over WebDriver BiDi, the protocol that it speaks itself, and held to this machine.

Playwright drives only a Firefox of its own making, not the one that people have. What is here is
named as in Playwright, and is what the tests need of it.
"""

from __future__ import annotations

import itertools
import json
import os
import socketserver
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import websocket

from tests.support.ui_jupyterlab import TIMEOUT_S, LabPage, LabServer
from tests.support.ui_windows import LAPTOP
from tools.ensure import find_firefox

#: Keys that are no character, by WebDriver's numbers.
_KEYS = {"Enter": "\ue007", "ArrowRight": "\ue014", "ArrowDown": "\ue015"}


class Refusal(socketserver.ThreadingTCPServer):
    """A proxy that lets nothing through, and keeps what it was asked for in `asked`.

    Firefox asks a proxy for all that is not on this machine, its own errands included.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Refuse)
        self.asked: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Refuse(socketserver.StreamRequestHandler):
    server: Refusal

    def handle(self) -> None:
        self.server.asked.append(self.rfile.readline().decode().strip())
        self.wfile.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")


class Firefox:
    """A Firefox without a window, with a profile of its own in `folder`.

    `scheme` is the colour scheme that the reader prefers, and `asked` what was asked of other machines.
    """

    def __init__(self, folder: Path, scheme: str = "light") -> None:
        self._profile = folder
        self._log = folder / "firefox.log"
        self._scheme = scheme
        self._proxy = Refusal()
        self._numbers = itertools.count(1)
        self._tabs: dict[str, Tab] = {}
        self.asked = self._proxy.asked

    def __enter__(self) -> Self:
        """Start it, and wait until it can be spoken to."""
        self._write_preferences()
        options = ["--headless", "--no-remote", "--remote-debugging-port=0", "--profile", self._profile]
        # With this it leaves its own errands, and would crash before it passed the proxy by.
        environment = {**os.environ, "MOZ_DISABLE_NONLOCAL_CONNECTIONS": "1"}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [find_firefox(), *options], stdout=log, stderr=log, env=environment
            )
        try:
            self._socket = websocket.create_connection(
                f"{self._address()}/session",
                timeout=TIMEOUT_S,
                suppress_origin=True,  # Firefox lets no web page in
                http_no_proxy=["127.0.0.1"],
            )
            self.send("session.new", capabilities={})
            self.send("session.subscribe", events=["log.entryAdded"])
        except BaseException:
            self._process.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close it; whatever state it is in, it ends."""
        try:
            self.send("browser.close")
            self._socket.close()
            self._process.wait(timeout=TIMEOUT_S)
        finally:
            self._process.kill()
            self._proxy.shutdown()
            self._proxy.server_close()

    def _write_preferences(self) -> None:
        port = self._proxy.server_address[1]
        preferences = {
            "layout.css.prefers-color-scheme.content-override": ("dark", "light").index(self._scheme),
            "media.gmp-manager.updateEnabled": False,  # its own errand, for plug-ins that play films
            "network.proxy.type": 1,
            "network.proxy.http": "127.0.0.1",
            "network.proxy.http_port": port,
            "network.proxy.ssl": "127.0.0.1",
            "network.proxy.ssl_port": port,
        }
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(to)});\n" for name, to in preferences.items()]
        (self._profile / "user.js").write_text("".join(lines), encoding="utf-8")

    def _address(self) -> str:
        written = self._profile / "WebDriverBiDiServer.json"
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline and self._process.poll() is None:
            if written.exists() and (text := written.read_text(encoding="utf-8")):
                server = json.loads(text)
                return f"ws://{server['ws_host']}:{server['ws_port']}"
            time.sleep(0.05)
        log = self._log.read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"Firefox did not start:\n{log[-3000:]}")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; what pages log meanwhile goes to their `errors`.

        Raises:
            RuntimeError: if Firefox answers with an error.
        """
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (heard := json.loads(self._socket.recv())).get("id") != number:
            told = heard.get("params", {})
            tab = self._tabs.get(told.get("source", {}).get("context"))
            if tab and told.get("level") == "error":
                tab.errors.append(told["text"])
        if heard["type"] == "error":
            raise RuntimeError(f"{method}: {heard['error']}: {heard['message']}")
        return heard["result"]

    def new_page(self, viewport: dict[str, int] = LAPTOP) -> Tab:
        """Open a tab that remembers nothing of what other tabs stored."""
        person = self.send("browser.createUserContext")["userContext"]
        context = self.send("browsingContext.create", type="tab", userContext=person)["context"]
        tab = self._tabs[context] = Tab(self, context)
        tab.set_viewport_size(viewport)
        return tab


class Tab:
    """One page in Firefox; `errors` is what went wrong in it: exceptions and console errors."""

    def __init__(self, browser: Firefox, context: str) -> None:
        self._browser = browser
        self._context = context
        self.errors: list[str] = []

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.send(method, context=self._context, **parameters)

    def set_viewport_size(self, size: dict[str, int]) -> None:
        self._send("browsingContext.setViewport", viewport=size)

    def goto(self, url: str) -> None:
        """Open an address, and wait until it is loaded."""
        self._send("browsingContext.navigate", url=url, wait="complete")

    def close(self) -> None:
        self._send("browsingContext.close")

    def evaluate(self, expression: str, arg: Any = None) -> Any:
        """Return what a JavaScript expression is worth, or what it returns if it is a function.

        Raises:
            AssertionError: if it throws.
        """
        function = f"""async (given) => {{
            const value = ({expression});
            const result = typeof value === "function" ? value(JSON.parse(given)) : value;
            return JSON.stringify((await result) ?? null);
        }}"""
        answer = self._browser.send(
            "script.callFunction",
            functionDeclaration=function,
            arguments=[{"type": "string", "value": json.dumps(arg)}],
            target={"context": self._context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer["exceptionDetails"]["text"]
        return json.loads(answer["result"]["value"])

    def wait_for_timeout(self, milliseconds: float) -> None:
        time.sleep(milliseconds / 1000)

    def wait_for_function(self, expression: str, arg: Any = None) -> None:
        """Wait until what `evaluate` returns is true."""
        deadline = time.monotonic() + TIMEOUT_S
        while not self.evaluate(expression, arg):
            assert time.monotonic() < deadline, f"{expression} with {arg!r} did not come true"
            self.wait_for_timeout(50)

    def texts(self, selector: str) -> list[str]:
        """Return the text of every element that a selector finds, as it is shown."""
        text = "(found) => (found.innerText ?? found.textContent).trim()"  # a picture's has no inner text
        find = f"(selector) => [...document.querySelectorAll(selector)].map({text})"
        return self.evaluate(find, selector)

    def wait_for_text(self, selector: str, text: str) -> None:
        """Wait until the first element that a selector finds holds a text."""
        held = "([selector, text]) => document.querySelector(selector)?.textContent.includes(text)"
        self.wait_for_function(held, [selector, text])

    def click(self, selector: str, x: float = 0.5, y: float = 0.5) -> None:
        """Click on an element, in its middle or at another part of its width and height."""
        place = self.evaluate(
            """async ([selector, x, y]) => {
                const found = document.querySelector(selector);
                found.scrollIntoView({ block: "center", behavior: "instant" });
                await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
                const box = found.getBoundingClientRect();
                return { x: Math.round(box.x + box.width * x), y: Math.round(box.y + box.height * y) };
            }""",
            [selector, x, y],
        )
        self._act(
            "pointer",
            [
                {"type": "pointerMove", **place},
                {"type": "pointerDown", "button": 0},
                {"type": "pointerUp", "button": 0},
            ],
        )

    def fill(self, selector: str, text: str) -> None:
        """Click on a field and type a text in place of what it holds."""
        self.click(selector)
        self.evaluate("(selector) => document.querySelector(selector).select()", selector)
        self.press(*text)

    def press(self, *keys: str) -> None:
        """Press keys one after the other, each a character or a name such as ``"Enter"``."""
        values = [_KEYS.get(key, key) for key in keys]
        self._act("key", [{"type": kind, "value": key} for key in values for kind in ("keyDown", "keyUp")])

    def _act(self, device: str, actions: Sequence[dict[str, Any]]) -> None:
        self._send("input.performActions", actions=[{"type": device, "id": device, "actions": actions}])


class FirefoxLab(LabPage):
    """One notebook in JupyterLab in Firefox; of `LabPage`, what looks nothing up."""

    def __init__(self, tab: Tab, server: LabServer) -> None:
        self.page: Any = tab
        self.errors = tab.errors
        self._server = server
