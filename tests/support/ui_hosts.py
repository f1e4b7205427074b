"""Hosts of notebooks that are not JupyterLab: the classic notebook, Voilà and marimo."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.ui_jupyterhub import end_with_children, free_ports
from tests.support.ui_jupyterlab import TIMEOUT_S
from tests.support.ui_windows import ROOT
from viz_transformer.cli import lab_environment

#: Where `make test-slow` installs them.
HOSTS = ROOT / "build" / "hosts"

#: Every template of Voilà's own asks a server elsewhere for icons; this one is its usual one without them.
_TEMPLATE = """\
{%- extends "voila/templates/lab/index.html.j2" -%}
{%- set icons = "https://cdn.jsdelivr.net/npm/@fortawesome/fontawesome-free@^5/css/" -%}
{%- block notebook_css -%}
{{ super() | replace(icons, "data:text/css,") }}
{%- endblock notebook_css -%}
"""


def host_environment() -> dict[str, str]:
    """Return what a host and its kernels need to find the host's packages and this clone."""
    return {
        "PYTHONPATH": os.pathsep.join([str(HOSTS), str(ROOT)]),
        "JUPYTER_PATH": str(HOSTS / "share" / "jupyter"),
    }


@contextmanager
def voila(folder: Path, notebook: str) -> Iterator[str]:
    """Run Voilà on a notebook of a folder, and give its address; `?theme=dark` there is dark."""
    template = folder / "data" / "voila" / "templates" / "offline"
    template.mkdir(parents=True)
    (template / "conf.json").write_text('{"base_template": "lab"}')
    (template / "index.html.j2").write_text(_TEMPLATE)
    with _running(folder, "voila", notebook, "--no-browser", "--template=offline", "--port={port}") as url:
        yield url


@contextmanager
def marimo(folder: Path) -> Iterator[str]:
    """Run a folder's notebooks in marimo, dark where the system is; one's address ends in `?file=NAME`."""
    settings = folder / "config" / "marimo"
    settings.mkdir(parents=True)
    (settings / "marimo.toml").write_text('[display]\ntheme = "system"\n')
    with _running(folder, "marimo", "run", ".", "--headless", "--no-token", "--port={port}") as url:
        yield url


@contextmanager
def _running(folder: Path, app: str, *arguments: str) -> Iterator[str]:
    """Run an application in a folder, apart from the user's own settings."""
    (port,) = free_ports(1)
    log = folder / f"{app}.log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", app, *(each.format(port=port) for each in arguments)],
            cwd=folder,
            env={
                **lab_environment(),
                **host_environment(),
                "JUPYTER_CONFIG_DIR": str(folder / "config"),
                "JUPYTER_DATA_DIR": str(folder / "data"),
                "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
                "IPYTHONDIR": str(folder / "ipython"),
                "XDG_CONFIG_HOME": str(folder / "config"),
                "XDG_STATE_HOME": str(folder / "state"),
                "OMP_NUM_THREADS": "1",
            },
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_it_listens(process, port, log)
        yield url
    finally:
        end_with_children(process)


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait for the port and no more: asking Voilà for its page starts a kernel."""
    deadline = time.monotonic() + TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=30):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the host did not start:\n{log.read_text()[-3000:]}")
