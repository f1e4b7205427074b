"""Exported pages of a real model, SmolLM2: how large they are, how much they take, how soon they are seen."""

from __future__ import annotations

import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.large_pages import Opened, open_page
from benchmarks.table import Goal, Table
from tools.ensure import CHROMIUM_FLAGS, find_chromium
from tools.real_models import SMOLLM2

TOKENS = (60, 300, 1000)
#: What is kept of each weight, by its name: bits, threshold, and the most MB of a page of each text.
KEPT: dict[str, tuple[int, float, tuple[float, ...]]] = {
    "16 bits": (16, 0.0, (1.5, 28, 280)),
    "16 bits from 0.001 on": (16, 0.001, (1.5, 14, 95)),
    "8 bits": (8, 0.0, (0.6, 4.5, 25)),
}
REPEATS = 3
MOST_DRAWN_MS, MOST_MEMORY, LARGE_MB = 1000, 2, 100


def capture(n_tokens: int, path: Path) -> None:
    """Write a trace of SmolLM2 reading the beginning of this project's documentation."""
    import torch
    from transformers import AutoTokenizer, LlamaForCausalLM

    import viz_transformer as vt

    torch.set_num_threads(1)
    model = LlamaForCausalLM.from_pretrained(SMOLLM2, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(SMOLLM2)
    docs = Path(__file__).parents[1] / "docs"
    text = " ".join((docs / name).read_text("utf-8") for name in ("teaching.md", "capture.md"))
    ids = tokenizer(" ".join(text.split()), return_tensors="pt")["input_ids"][:, :n_tokens]
    vt.capture(model, ids, tokens=tokenizer.convert_ids_to_tokens(ids[0])).save(path)


def write(trace: Path, bits: int, threshold: float, path: Path) -> None:
    """Write a page of a trace; print the seconds of the processor, and the MB of memory that it took."""
    import viz_transformer as vt

    view = vt.explore(vt.ForwardTrace.load(trace))
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    vt.export_html(view, path, bits=bits, threshold=threshold, max_megabytes=math.inf)
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(time.process_time() - start, more * 1024 / 1e6)


def call(name: str, *arguments: object) -> list[float]:
    """Run one of the functions above in a process of its own; returns the numbers that it prints."""
    command = [sys.executable, "-m", "benchmarks.real_pages", name, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ})
    return [float(number) for number in done.stdout.split()]


def measure(browser: Browser, folder: Path) -> tuple[list[tuple[str, ...]], list[Goal]]:
    """Write and open each page."""
    rows: list[tuple[str, ...]] = []
    goals: list[Goal] = []
    drawn: list[float] = []
    memory: list[float] = []
    for at, n_tokens in enumerate(TOKENS):
        call("capture", n_tokens, folder / "trace.npz")
        for name, (bits, threshold, most) in KEPT.items():
            path = folder / "page.html"
            seconds, more = call("write", folder / "trace.npz", bits, threshold, path)
            size = path.stat().st_size / 1e6
            runs = [open_page(browser, path) for _ in range(REPEATS)]
            median = Opened(*(statistics.median(values) for values in zip(*runs, strict=True)))
            drawn.append(median.drawn_ms)
            if size > LARGE_MB:
                memory.append(more / size)
            rows.append(
                (
                    f"{n_tokens:,}",
                    name,
                    f"{size:.2f} MB" if size < 10 else f"{size:.0f} MB",
                    f"{seconds:.1f} s",
                    f"{more:.0f} MB",
                    f"{median.drawn_ms:.0f} ms",
                    f"{median.loaded_ms:.0f} ms",
                    f"{median.head_ms:.0f} ms",
                )
            )
            goal = f"{n_tokens:,} tokens, {name}: at most {most[at]} MB"
            goals.append(Goal(goal, f"{size:.2f} MB", size <= most[at]))
    slowest, worst = max(drawn), max(memory)
    goals += [
        Goal("all heads seen within a second", f"{slowest:.0f} ms", slowest <= MOST_DRAWN_MS),
        Goal("memory of at most twice a large page", f"{worst:.1f} times", worst <= MOST_MEMORY),
    ]
    return rows, goals


def run() -> Table:
    """Measure, with the model that `make real` fetches."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_FLAGS))
        rows, goals = measure(browser, Path(folder))
        version = browser.version
        browser.close()
    return Table(
        title="Pages of a real model",
        text=TEXT,
        columns=(
            "tokens",
            "weights",
            "page",
            "written in",
            "memory",
            "all heads seen after",
            "page read after",
            "a head opens in",
        ),
        rows=tuple(rows),
        goals=tuple(goals),
        versions=(("Chromium", version),),
    )


TEXT = f"""\
SmolLM2-135M, 30 layers of 9 heads, reads the beginning of this documentation. Each page is written by
`vt.export_html(vt.explore(trace), path, bits=…, threshold=…)` and opened from disk; medians of {REPEATS}.
Without `bits=` a page takes 8 where they would take more than 2 MB in 16. `make real` fetches the model.

- *Written in*: the processor's time of the call.
- *Memory*: what the process took more than before the call, which holds the trace. About 250 MB of it draw
  the still picture, and pack one head.
- The other columns are those of *Large pages*.
"""


if __name__ == "__main__":
    what, first, *others = sys.argv[1:]
    if what == "capture":
        capture(int(first), Path(others[0]))
    else:
        write(Path(first), int(others[0]), float(others[1]), Path(others[2]))
