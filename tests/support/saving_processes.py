"""Processes that save and load one file or folder at the same time, and a save that is killed at any step."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, wait
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

from viz_transformer import _file_set, _files, checkpoint
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.config import ModelConfig
from viz_transformer.model import Transformer
from viz_transformer.trace import ForwardTrace
from viz_transformer.vocabulary import Vocabulary

_N_READERS = 2
#: The lines of these files are the steps of a save.
_STEPS = {_file_set.__file__, _files.__file__, checkpoint.__file__}

# A fork of this process would share torch's threads; each is one of a server that has imported torch alone.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])


def checkpoint_of(number: int) -> Checkpoint[Transformer]:
    """Return a checkpoint that holds its number everywhere: as its weights, its sizes and its words."""
    words = Vocabulary([f"word{each}" for each in range(number)], ["palabra"])
    sizes = {"n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "d_ff": 8}
    model = Transformer(ModelConfig(vocab_size=len(words), d_model=8 * number, **sizes)).eval()
    for weight in model.parameters():
        torch.nn.init.constant_(weight, number)
    return Checkpoint(model, words)


def number_of(found: Checkpoint[Any]) -> int:
    """Return the number of a checkpoint; an AssertionError says that its parts are of several."""
    weights = {value for weight in found.model.parameters() for value in weight.unique().tolist()}
    words = len(found.vocabulary) - len(Vocabulary([], ["palabra"]))
    assert weights == {found.model.config.d_model // 8} == {words}, f"mixed: {weights}, {words}"
    return words


def trace_of(number: int) -> ForwardTrace:
    """Return a trace that holds its number as its words and its weights."""
    weights = np.full((1, 1, number, number), 1 / number, np.float32)
    return ForwardTrace(source_tokens=("word",) * number, encoder_attention=weights)


def number_of_trace(found: ForwardTrace) -> int:
    """Return the number of a trace, likewise."""
    assert found.encoder_attention is not None
    assert {round(1 / float(value)) for value in found.encoder_attention.flat} == {len(found.source_tokens)}
    return len(found.source_tokens)


#: By what is saved: makes one of a number, loads it, and says which number that was.
KINDS = {
    "checkpoint": (checkpoint_of, Checkpoint.load, number_of),
    "trace": (trace_of, ForwardTrace.load, number_of_trace),
}


def damaged_reads(kind: str, path: Path, n_writers: int, n_saves: int) -> tuple[Counter[str], int]:
    """Let processes save at one path and others load what is there meanwhile.

    Returns:
        What the writers and the readers met besides whole ones, counted, and the number of loads.
    """
    KINDS[kind][0](1).save(path)
    stop = path.with_name("stop")
    with ProcessPoolExecutor(n_writers + _N_READERS, PROCESSES) as pool:
        readers = [pool.submit(_load_until, kind, path, stop) for _ in range(_N_READERS)]
        shares = [n_saves // n_writers + (each < n_saves % n_writers) for each in range(n_writers)]
        writers = [pool.submit(_save, kind, path, 1 + each, share) for each, share in enumerate(shares)]
        wait(writers)
        stop.touch()
        met = sum((each.result()[0] for each in readers), Counter())
        met += sum((each.result() for each in writers), Counter())
        n_loads = sum(each.result()[1] for each in readers)
    stop.unlink()
    return met, n_loads


def _save(kind: str, path: Path, number: int, n_saves: int) -> Counter[str]:
    one, met = KINDS[kind][0](number), Counter[str]()
    for _ in range(n_saves):
        try:
            one.save(path)
        except Exception as error:  # what is counted
            met[f"save: {type(error).__name__}: {error}"] += 1
    return met


def _load_until(kind: str, path: Path, stop: Path) -> tuple[Counter[str], int]:
    _, load, number = KINDS[kind]
    met, n_loads = Counter[str](), 0
    while not stop.exists() or n_loads == 0:
        n_loads += 1
        try:
            number(load(path))
        except Exception as error:  # what is counted
            met[f"load: {type(error).__name__}: {error}"] += 1
    return met, n_loads


def killed_save(kind: str, path: Path, number: int, step: int) -> bool:
    """Save in a process that is killed before its `step`-th line; False if it had ended before."""
    process = PROCESSES.Process(target=_save_until, args=(kind, path, number, step))
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def _save_until(kind: str, path: Path, number: int, step: int) -> None:
    one, n_lines = KINDS[kind][0](number), 0

    def watch(frame: FrameType, event: str, _: object) -> Any:
        nonlocal n_lines
        if frame.f_code.co_filename in _STEPS:
            n_lines += event == "line"
            if n_lines == step:
                os.kill(os.getpid(), signal.SIGKILL)
        return watch

    sys.settrace(watch)
    one.save(path)
    sys.settrace(None)
