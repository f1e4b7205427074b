"""Saves at the same time, and saves that are killed: what is loaded is one of them, whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.saving_processes import (
    KINDS,
    checkpoint_of,
    damaged_reads,
    killed_save,
    number_of,
)
from viz_transformer.checkpoint import CHECKPOINT_FILES, Checkpoint
from viz_transformer.errors import FileError


def assert_none_is_damaged(kind: str, path: Path, n_writers: int, n_saves: int) -> None:
    """Save and load in processes: each load is whole, no save fails, and nothing else is left."""
    met, n_loads = damaged_reads(kind, path, n_writers, n_saves)
    assert not met, f"of {n_loads} loads and {n_saves} saves: {met}"
    _, load, number = KINDS[kind]
    assert number(load(path)) in range(1, n_writers + 1)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert kind != "checkpoint" or {each.name for each in path.iterdir()} == set(CHECKPOINT_FILES)


@pytest.mark.parametrize("n_writers", [2, 4, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_of_processes_that_save_one_name_the_last_wins_and_no_load_is_damaged(
    kind: str, n_writers: int, tmp_path: Path
) -> None:
    assert_none_is_damaged(kind, tmp_path / "saved", n_writers, n_saves=20)


@pytest.mark.weekly
@pytest.mark.parametrize("n_writers", [2, 4, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_of_a_thousand_saves_at_once_none_is_damaged(kind: str, n_writers: int, tmp_path: Path) -> None:
    assert_none_is_damaged(kind, tmp_path / "saved", n_writers, n_saves=1_000)


@pytest.mark.slow
def test_a_trace_that_is_killed_while_it_is_saved_leaves_the_earlier_or_the_new(tmp_path: Path) -> None:
    make, load, number = KINDS["trace"]
    make(1).save(tmp_path / "x.npz")
    step, found = 0, [1]
    while killed_save("trace", tmp_path / "x.npz", 2, step := step + 1):
        found.append(number(load(tmp_path / "x.npz")))
    assert step > 10
    assert found == sorted(found), "once it is new it stays so"
    assert number(load(tmp_path / "x.npz")) == 2


def save_over(folder: Path, before: str) -> None:
    """Put a checkpoint with the number 1 in a folder, of this version or an earlier one, or none."""
    if before != "nothing":
        checkpoint_of(1).save(folder, {"made_by.json": json.dumps({"training": {}, "torch": "2"})})
        (folder / "notes.txt").write_text("mine")
        np.savez(folder / "training.npz", trace=1)  # of the model with the number 1
    if before == "an earlier version's":
        (folder / "checksums.json").unlink()


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("another", marks=pytest.mark.slow),
        pytest.param("an earlier version's", marks=pytest.mark.weekly),
        pytest.param("nothing", marks=pytest.mark.weekly),
    ],
)
def test_a_checkpoint_that_is_killed_at_any_step_leaves_the_earlier_or_the_new(
    before: str, tmp_path: Path
) -> None:
    found = {1: 0, 2: 0, None: 0}
    for step in range(1, 1_000):
        folder = tmp_path / str(step)
        save_over(folder, before)
        was_killed = killed_save("checkpoint", folder, 2, step)
        try:
            number = number_of(Checkpoint.load(folder))
        except FileError:
            number = None
        found[number] += 1
        assert number == 2 or was_killed
        assert number or before == "nothing"
        if before != "nothing":
            assert (folder / "notes.txt").read_text() == "mine"
            assert number != 2 or not (folder / "training.npz").exists(), "it tells of another model"
        for leftover in folder.glob(".*.new"):
            leftover.write_bytes(leftover.read_bytes()[:-1] if number != 2 else leftover.read_bytes())
        checkpoint_of(3).save(folder)
        assert number_of(Checkpoint.load(folder)) == 3
        others = set() if before == "nothing" else {"notes.txt"}
        assert {path.name for path in folder.iterdir()} == {*CHECKPOINT_FILES, *others}
        if not was_killed:
            break
    assert min(found[1 if before != "nothing" else None], found[2]) > 5
