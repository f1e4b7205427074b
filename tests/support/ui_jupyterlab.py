"""A real JupyterLab in a real browser, for tests and benchmarks.

`LabServer` starts JupyterLab apart from the user's own settings, `guard` holds a browser to this
machine, and `LabPage` is one notebook in one browser tab. Every wait is for a condition.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, Self

import nbformat
from playwright.sync_api import BrowserContext, Locator, Page, Route, WebSocketRoute, expect
from playwright.sync_api import Error as PlaywrightError

from viz_transformer.cli import lab_environment

#: For any one wait. Two busy cores need seconds; only a fault takes longer than this.
TIMEOUT_S = 120

#: Whether pictures are kept for people to look at, which takes a tenth of the time of all tests.
PICTURES = bool(os.environ.get("VIZ_PICTURES"))

#: Anything that is not on this machine. `file:`, `data:` and `blob:` never leave it.
ELSEWHERE = re.compile(r"^(?:https?|wss?)://(?!(?:127\.0\.0\.1|localhost)(?:[:/]|$))")


#: Where a notebook is opened, and the name of the application's own settings.
_DOORS = {
    "jupyterlab": ("lab/workspaces/w{fresh}/tree/{notebook}", "LabApp"),
    "notebook": ("notebooks/{notebook}", "JupyterNotebookApp"),
    "nbclassic": ("nbclassic/notebooks/{notebook}", "NotebookApp"),
}


class LabServer:
    """A JupyterLab on a free loopback port, with settings, kernels' state and files of its own.

    `app` is ``"jupyterlab"``, ``"notebook"`` for Jupyter Notebook 7, which is made of its parts, or
    ``"nbclassic"`` for the notebook before it, which needs the `host_environment` of `ui_hosts`.
    `environment` adds variables for it and its kernels.
    """

    def __init__(self, folder: Path, app: str = "jupyterlab", **environment: str) -> None:
        self._app = app
        self.root = folder / "notebooks"
        self.root.mkdir(parents=True)
        self.token = secrets.token_hex(16)
        self.log = folder / "jupyterlab.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._environment = {
            **lab_environment(),
            "JUPYTER_CONFIG_DIR": str(folder / "config"),
            "JUPYTER_DATA_DIR": str(folder / "data"),
            "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
            "IPYTHONDIR": str(folder / "ipython"),
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "OMP_NUM_THREADS": "1",
            **environment,
        }
        self._settings = folder / "config" / "lab" / "user-settings"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start, and wait until it answers."""
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", self._app, "--no-browser", "--allow-root"),
                    "--ServerApp.ip=127.0.0.1",
                    f"--ServerApp.port={self.port}",
                    "--ServerApp.port_retries=0",
                    f"--ServerApp.root_dir={self.root}",
                    f"--IdentityProvider.token={self.token}",
                    f"--{_DOORS[self._app][1]}.expose_app_in_browser=True",
                    "--LabApp.extension_manager=readonly",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,  # so that the kernels are stopped with it
            )
        try:
            self._wait_until_it_answers()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server and every kernel."""
        self.stop()

    def stop(self) -> None:
        """End the kernels by request, then the whole process group, whatever state it is in."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):  # if it answers no more, the signals do it all
            self.end_kernels()
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
                process.wait(timeout=10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def end_kernels(self) -> None:
        """End every running kernel; kernels lead process groups of their own."""
        for kernel in json.loads(self._request("/api/kernels")):
            self._request(f"/api/kernels/{kernel['id']}", method="DELETE")

    def address(self, notebook: str) -> str:
        """Return where a notebook of the root folder is opened, in a fresh workspace."""
        path = _DOORS[self._app][0].format(notebook=notebook, fresh=secrets.token_hex(4))
        return f"{self.url}/{path}?token={self.token}"

    def reset(self) -> None:
        """End the kernels; forget settings that a page changed, such as the theme, and kept answers."""
        self.end_kernels()
        (self.root / "progress.json").unlink(missing_ok=True)
        shutil.rmtree(self._settings, ignore_errors=True)

    def _request(self, path: str, method: str = "GET") -> bytes:
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                break
            try:
                self._request("/api/status")
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"JupyterLab did not start:\n{self.log.read_text()[-3000:]}")


def errors_of(page: Page) -> list[str]:
    """Return a list that fills with what goes wrong in the page: exceptions and console errors."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda told: errors.append(told.text) if told.type == "error" else None)
    return errors


def next_frames(root: Locator) -> None:
    """Wait two frames: what was just clicked has then asked for what it needs, and is drawn."""
    root.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def open_exported(page: Page, path: Path, selector: str) -> Locator:
    """Open an exported page from disk and return the view in it, drawn without an error."""
    errors = errors_of(page)
    if page.url.startswith(path.as_uri()):
        page.goto("about:blank")  # or it would be loaded again, and keep what its views showed
    page.goto(path.as_uri())
    root = page.locator(selector).first
    expect(root).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
    assert errors == []
    return root


def guard(context: BrowserContext) -> list[str]:
    """Fail every request that would leave this machine; return the list that their URLs go to."""
    left: list[str] = []

    def refuse(route: Route) -> None:
        left.append(route.request.url)
        route.abort()

    def refuse_socket(route: WebSocketRoute) -> None:
        # Not connected, it leads nowhere; to close it here would never end before Playwright 1.65.
        left.append(route.url)

    context.route(ELSEWHERE, refuse)
    context.route_web_socket(ELSEWHERE, refuse_socket)
    return left


class LabPage:
    """One notebook, open in JupyterLab in one browser tab.

    Attributes:
        page: Playwright's page, for clicks, keys and looking things up.
        errors: what the page wrote to its console as an error, and exceptions nobody caught.
    """

    def __init__(self, page: Page, server: LabServer, screenshots: Path) -> None:
        self.page = page
        self.errors: list[str] = []
        self._server = server
        self._screenshots = screenshots
        page.set_default_timeout(TIMEOUT_S * 1000)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.errors.append(error.stack or str(error)))

    def _hear(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def open(self, notebook: str) -> None:
        """Open a notebook of the server's root folder, and wait until its kernel is idle."""
        self.page.goto(self._server.address(notebook))
        self.page.wait_for_function(
            "(name) => window.jupyterapp?.shell.currentWidget?.context?.path === name",
            arg=notebook,
        )
        self.page.evaluate(
            """async () => {
                await jupyterapp.restored;
                window.panel = jupyterapp.shell.currentWidget;
                await panel.context.ready;
                await panel.sessionContext.ready;
            }"""
        )
        self._wait_until_idle()

    def open_cells(self, *sources: str) -> None:
        """Open a new notebook that holds these code cells."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(source) for source in sources],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        name = f"test_{secrets.token_hex(4)}.ipynb"
        nbformat.write(notebook, self._server.root / name)
        self.open(name)

    def reopen_saved(self) -> None:
        """Save the notebook, and open it again with a kernel that has run nothing."""
        self.command("docmanager:save")
        name = self.page.evaluate("panel.context.path")
        self._server.end_kernels()
        self.open(name)

    def command(self, name: str, **arguments: Any) -> None:
        """Run one of JupyterLab's commands, and wait until it has finished."""
        self.page.evaluate(
            """([name, args, seconds]) => Promise.race([
                window.jupyterapp.commands.execute(name, args).then(() => null),
                new Promise((_, fail) => setTimeout(
                    () => fail(new Error(`${name} took over ${seconds} s`)), seconds * 1000)),
            ])""",
            [name, arguments, TIMEOUT_S],
        )

    def run_all(self) -> None:
        """Run every cell, as the menu does; a cell that raises fails the test."""
        self.command("notebook:run-all-cells")
        for index in range(self.page.evaluate("panel.content.widgets.length")):
            self.text(index)

    def run_cell(self, index: int) -> str:
        """Run one cell, in view, and return its text output."""
        self.select_cell(index)
        self.command("notebook:run-cell")
        return self.text(index)

    def run(self, source: str) -> str:
        """Append a code cell, run it, and return its text output."""
        self.select_cell(-1)
        self.command("notebook:insert-cell-below")
        self.page.evaluate("(source) => panel.content.activeCell.model.sharedModel.setSource(source)", source)
        return self.run_cell(-1)

    def select_cell(self, index: int) -> None:
        """Make a cell the active one and bring it into view; -1 is the last."""
        self.page.evaluate(
            """async (index) => {
                const notebook = panel.content;
                notebook.activeCellIndex = index < 0 ? notebook.widgets.length + index : index;
                await notebook.scrollToItem(notebook.activeCellIndex, 'center');
            }""",
            index,
        )

    def output(self, index: int) -> Locator:
        """Return the output area of a cell, for looking things up inside it."""
        count = self.page.evaluate("panel.content.widgets.length")
        position = index % count
        return self.page.locator(f".jp-Cell[data-windowed-list-index='{position}'] .jp-OutputArea")

    def text(self, index: int) -> str:
        """Return a cell's text output.

        Raises:
            AssertionError: if the cell raised; the traceback is the message.
        """
        outputs = self.page.evaluate(
            "(index) => panel.content.widgets.at(index).model.outputs?.toJSON() ?? []", index
        )
        parts = []
        for output in outputs:
            assert output["output_type"] != "error", "\n".join(output["traceback"])
            parts.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
        return "".join(parts)

    def value(self, expression: str) -> Any:
        """Return what a Python expression is worth in the kernel, a literal, adding no cell."""
        answer = self.page.evaluate(
            """async (expression) => {
                const kernel = panel.sessionContext.session.kernel;
                const request = {code: '', silent: true, user_expressions: {value: expression}};
                const reply = await kernel.requestExecute(request).done;
                return reply.content.user_expressions.value;
            }""",
            expression,
        )
        assert answer["status"] == "ok", f"{expression}: {answer.get('evalue')}"
        return ast.literal_eval(answer["data"]["text/plain"])

    def wait_for_value(self, expression: str, expected: Any) -> None:
        """Wait until a Python expression in the kernel is worth what is expected."""
        deadline = time.monotonic() + TIMEOUT_S
        while (found := self.value(expression)) != expected:
            assert time.monotonic() < deadline, f"{expression} is {found!r}, not {expected!r}"
            self.page.wait_for_timeout(50)

    def restart_kernel(self) -> None:
        """Restart the kernel as the menu does, without its question, and wait until it is idle."""
        self.page.evaluate("() => panel.sessionContext.restartKernel()")
        self._wait_until_idle()

    def _wait_until_idle(self) -> None:
        self.page.wait_for_function("panel.sessionContext.session?.kernel?.status === 'idle'")

    def set_theme(self, theme: str) -> None:
        """Switch JupyterLab to `light` or `dark`."""
        self.command("apputils:change-theme", theme=f"JupyterLab {theme.capitalize()}")
        is_light = "true" if theme == "light" else "false"
        # While it switches, JupyterLab shows a splash, and two switches at once would take it away twice.
        self.page.wait_for_function(
            """(is_light) => document.body.dataset.jpThemeLight === is_light
                && !document.getElementById("jupyterlab-splash")""",
            arg=is_light,
        )

    def told(self) -> str:
        """Return what a failure leaves to read: the text of the page, and its errors."""
        try:
            text = self.page.locator("body").inner_text(timeout=10_000)
        except PlaywrightError as error:  # a page that hangs or is gone must not hide the failure
            text = str(error)
        return "\n".join([text, *self.errors])

    def screenshot(self, name: str) -> None:
        """Keep a picture of the window, if people want to look at them."""
        if PICTURES:
            self.page.screenshot(path=self._screenshots / f"{name}.png")
