"""Install a wheel in an empty environment, without extras, and use it there: `make dist` calls it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

#: What works after a plain installation, in the order in which a newcomer tries it.
WALK = """\
from pathlib import Path
import numpy as np
import viz_transformer as vt

weights = np.tril(np.ones((2, 4, 3, 3))) / np.arange(1, 4)[:, None]  # [layer, head, query, key]
trace = vt.capture(weights, tokens=["the", "cat", "sleeps"])
trace.save("trace.npz")
trace = vt.ForwardTrace.load("trace.npz")
view = vt.explore(trace, layer=1, head=2)
assert "sleeps" in Path(vt.export_html(view, "page.html")).read_text(encoding="utf-8")
vt.plots.save_figure(vt.plots.plot_heads(trace, "decoder"), "heads.png")
view.figure().savefig("view.png")
assert vt.analysis.head_entropy_bits(trace, "decoder").shape == (2, 4)
scrubber = vt.watch_training(vt.load_training("six-pairs-0"))
assert "loss" in Path(vt.export_html(scrubber, "training.html")).read_text(encoding="utf-8")
vt.trace_switch({"one": trace, "other": trace})
vt.softmax_lab()
from viz_transformer.corpus import translations
assert len(translations("the teacher sleeps")) == 4
print("core works in viz_transformer", vt.__version__)
"""
#: Each command with its exit status and words of what it prints, after the same installation.
COMMANDS = {
    "--version": (0, "viz-transformer"),
    "--help": (0, "lessons"),
    'translate "the black cat sleeps"': (2, 'pip install "viz-transformer[torch]"'),
    "site pages": (2, 'pip install "viz-transformer[lab]"'),
    "lab": (2, 'pip install "viz-transformer[lab]"'),
}


def try_wheel(wheel: Path) -> None:
    """Install a wheel in an environment of its own, and use it in an empty folder.

    Raises:
        subprocess.CalledProcessError: if installing it or using it fails.
        AssertionError: if a command ends or prints otherwise than expected.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty"
        empty.mkdir()
        venv.create(Path(folder) / "venv", with_pip=True)
        scripts = Path(folder) / "venv" / ("Scripts" if os.name == "nt" else "bin")
        python = [str(scripts / "python")]
        options = {"cwd": empty, "env": environment, "check": True}
        subprocess.run([*python, "-m", "pip", "install", "--quiet", str(wheel)], **options)
        subprocess.run([*python, "-c", WALK], **options)
        for command, (status, words) in COMMANDS.items():
            done = subprocess.run(
                f'"{scripts / "viz-transformer"}" {command}',
                **(options | {"check": False}),
                shell=True,
                capture_output=True,
                text=True,
                encoding="utf-8",
            )
            said = done.stdout + done.stderr
            assert (done.returncode, words in said) == (status, True), (command, done.returncode, said)
        sys.stdout.write(f"{wheel.name}: installed without extras, and tried in an empty folder\n")


if __name__ == "__main__":
    try_wheel(Path(sys.argv[1]).resolve())
