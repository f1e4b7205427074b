"""Training steps a second, ours against `torch.nn.Transformer` in the same loop."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import torch

from benchmarks.forward import WANTED_RATIO, TorchModel, median_ratio
from benchmarks.table import Goal, Table
from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus import english_spanish, vocabulary_of
from viz_transformer.corpus.batches import Batch, batches
from viz_transformer.training import StepRecord, fit, make_model

#: d_model and number of heads; d_ff is four times d_model.
SIZES = ((32, 4), (128, 4), (512, 8))
N_LAYERS, DROPOUT, BATCH_SIZE = 2, 0.1, 32
MOST_MEMORY = 1.1
#: Steps that are not counted, and steps that are.
WARM_UP, STEPS = 3, 24


def fixed_batches() -> tuple[int, list[Batch]]:
    """Return the size of the vocabulary, and one batch of the bundled corpus per step."""
    pairs = english_spanish(n_train=3000).train
    vocabulary = vocabulary_of(pairs)
    return len(vocabulary), list(islice(batches(pairs, vocabulary, BATCH_SIZE, 0), WARM_UP + STEPS))


def check_equal(ours: torch.nn.Module, other: torch.nn.Module, batch: Batch) -> None:
    """Raise a RuntimeError unless both start from the same logits."""
    ids = torch.from_numpy(batch.source), torch.from_numpy(batch.target)
    with torch.no_grad():
        logits = [model.eval()(*ids) for model in (ours, other)]
    real = ids[1] != ours.config.pad_id
    if not torch.allclose(logits[0][real], logits[1][real], atol=1e-4):
        raise RuntimeError("the two models disagree; there is nothing to compare")


def times_ms(
    loops: tuple[Iterator[StepRecord], Iterator[StepRecord]],
) -> tuple[list[float], list[float]]:
    """Take steps by turns, so that a busy moment strikes both; return every step's time."""
    durations: tuple[list[float], list[float]] = ([], [])
    for step in range(WARM_UP + STEPS):
        for loop, times in zip(loops, durations, strict=True):
            start = time.perf_counter()
            next(loop)
            if step >= WARM_UP:
                times.append(1000 * (time.perf_counter() - start))
    return durations


def config_of(vocab_size: int, d_model: int, n_heads: int) -> ModelConfig:
    """Return the model of one row."""
    return ModelConfig(
        vocab_size=vocab_size,
        d_model=d_model,
        d_ff=4 * d_model,
        n_heads=n_heads,
        n_encoder_layers=N_LAYERS,
        n_decoder_layers=N_LAYERS,
        max_length=64,
        dropout=DROPOUT,
    )


def peak_mb(side: str, d_model: int, n_heads: int) -> float:
    """Return the memory that training takes at its peak, in a process of its own, in MB."""
    command = [sys.executable, "-m", "benchmarks.training", side, str(d_model), str(n_heads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def print_peak(side: str, d_model: int, n_heads: int) -> None:
    """Train, and print by how many MB the process grew at its peak since all was imported."""
    torch.set_num_threads(1)
    vocab_size, data = fixed_batches()
    training = TrainConfig(n_steps=WARM_UP + STEPS, batch_size=BATCH_SIZE)
    before = highest_mb()
    model = make_model(config_of(vocab_size, d_model, n_heads), seed=0)
    for _ in fit(model if side == "ours" else TorchModel(model), data, training):
        pass
    print(highest_mb() - before)


def highest_mb() -> float:
    """Return the most memory that this process has held so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux getrusage tells the parent's, if that was more
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # macOS counts bytes


def run() -> Table:
    """Train both at every size."""
    torch.set_num_threads(1)
    vocab_size, data = fixed_batches()
    training = TrainConfig(n_steps=WARM_UP + STEPS, batch_size=BATCH_SIZE)
    rows, ratios, memory = [], [], []
    for d_model, n_heads in SIZES:
        config = config_of(vocab_size, d_model, n_heads)
        ours, other = make_model(config, seed=0), TorchModel(make_model(config, seed=0))
        check_equal(ours, other, data[0])
        ours_ms, other_ms = times_ms((fit(ours, data, training), fit(other, data, training)))
        ratios.append(median_ratio(other_ms, ours_ms))
        speeds = (f"{1000 / statistics.median(ms):.1f} steps/s" for ms in (ours_ms, other_ms))
        peaks = [peak_mb(side, d_model, n_heads) for side in ("ours", "nn.Transformer")]
        memory.append(peaks[0] / peaks[1])
        rows.append((str(d_model), *speeds, f"{ratios[-1]:.2f}×", *(f"{peak:.0f} MB" for peak in peaks)))
    return Table(
        title="Training",
        text=f"The package's own loop (`fit`: Adam, clipped gradients) on batches of {BATCH_SIZE} "
        f"sentence pairs of the bundled corpus, {N_LAYERS} + {N_LAYERS} layers, d_ff four times "
        f"d_model, dropout {DROPOUT}, one thread; both models begin with the same weights and "
        "see the same batches, and `nn.Transformer` has our embeddings and logits at its ends. "
        f"Medians of {STEPS} steps by turns; *faster by* is the median of the turns' ratios. "
        "Memory is by how much a process of its own grows at its peak, weights and Adam's "
        "moments included.",
        columns=(
            *("d_model", "ours", "nn.Transformer", "faster by"),
            *("peak memory, ours", "peak memory, nn.Transformer"),
        ),
        rows=tuple(rows),
        goals=(
            Goal(
                text="as many steps a second as `nn.Transformer` at every size "
                f"({WANTED_RATIO}× or more, to allow for noise)",
                reached=f"{min(ratios):.2f}× at the least",
                met=min(ratios) >= WANTED_RATIO,
            ),
            Goal(
                text=f"no more memory at the peak ({MOST_MEMORY}× at the most)",
                reached=f"{max(memory):.2f}× at the most",
                met=max(memory) <= MOST_MEMORY,
            ),
        ),
        versions=(("torch", torch.__version__),),
    )


if __name__ == "__main__":
    print_peak(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
