"""A real JupyterHub with its proxy and learners, set up by the teacher's own file."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil
from playwright.sync_api import Page

from tests.support.ui_jupyterlab import TIMEOUT_S
from tests.support.ui_windows import ROOT

#: What differs from the teacher's file: everyone may come by any name, all of them as this user,
#: within the teacher's limits.
_TRIAL = """\
load_subconfig({teachers_file!r})
c.JupyterHub.authenticator_class = "dummy"
from jupyterhub.spawner import SimpleLocalProcessSpawner
class Trial(c.JupyterHub.spawner_class, SimpleLocalProcessSpawner):
    pass
c.JupyterHub.spawner_class = Trial
c.SimpleLocalProcessSpawner.home_dir_template = {home!r}
c.JupyterHub.bind_url = "http://127.0.0.1:{ports[0]}"
c.JupyterHub.hub_port = {ports[1]}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{ports[2]}"
c.Spawner.args += ["--allow-root", "--LabApp.expose_app_in_browser=True"]
c.Spawner.environment = {{"JUPYTER_CONFIG_PATH": {shared!r}}}
"""


@dataclass(frozen=True)
class Learner:
    """One who may log in: what a `LabPage` needs to know of a server, and the folder of the lessons."""

    name: str
    hub: str
    root: Path

    def address(self, notebook: str) -> str:
        """Return where a notebook of the learner is opened."""
        return f"{self.hub}/user/{self.name}/lab/tree/{notebook}"

    def log_in(self, page: Page) -> None:
        """Give name and password, and wait until the learner's own JupyterLab is there."""
        page.goto(f"{self.hub}/hub/login")
        page.fill("#username_input", self.name)
        page.fill("#password_input", "any")
        page.click("#login_submit")
        page.wait_for_url(f"{self.hub}/user/{self.name}/lab**", timeout=TIMEOUT_S * 1000)


class Hub:
    """A JupyterHub on free loopback ports; `shared` is the folder of settings that all learners have."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shared = folder / "shared"
        self.shared.mkdir()
        ports = free_ports(3)
        self.url = f"http://127.0.0.1:{ports[0]}"
        self._config = folder / "jupyterhub_config.py"
        self._config.write_text(
            _TRIAL.format(
                teachers_file=str(ROOT / "teaching" / "jupyterhub_config.py"),
                home=str(folder / "home" / "{username}"),
                shared=str(self.shared),
                ports=ports,
            )
        )
        self._log = folder / "jupyterhub.log"

    def learner(self, name: str) -> Learner:
        """Return a learner of that name."""
        return Learner(name, self.url, self.folder / "home" / name / "lessons")

    def __enter__(self) -> Self:
        """Start the hub and its proxy, and wait until both answer."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "jupyterhub", "-f", self._config],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + TIMEOUT_S
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.url}/hub/health", timeout=30):
                    return self
            except OSError:
                time.sleep(0.1)
        self.__exit__()
        raise RuntimeError(f"JupyterHub did not start:\n{self._log.read_text()[-3000:]}")

    def __exit__(self, *_: object) -> None:
        """Let the hub end its proxy and servers, and end what is left."""
        end_with_children(self._process)


def end_with_children(process: subprocess.Popen[bytes]) -> None:
    """Let a server end what it started, such as kernels, and end what is left."""
    every = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.terminate()
    try:
        process.wait(timeout=TIMEOUT_S)
    finally:
        for left in psutil.wait_procs(every, timeout=10)[1]:
            left.kill()


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback device that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
