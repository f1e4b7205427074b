"""What a learner has done stays beside the lessons, whatever happens to the file."""

from __future__ import annotations

import json
import multiprocessing
import os
import tempfile
from pathlib import Path

import pytest

from viz_transformer import _files, progress


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "_unwritten", {})


def test_solved_exercises_stay_solved() -> None:
    for passed in (False, False, True, False):
        progress.record_attempt("3.1", passed)
    progress.record_attempt("3.2", False)
    assert progress.solved() == {"3.1"}
    kept = json.loads(Path(progress.FILE).read_text(encoding="utf-8"))
    assert kept["exercises"]["3.1"] == {"solved": True, "tries": 3}


def test_a_guess_is_kept_as_it_was_first_made() -> None:
    assert progress.prediction_of("3.p1") is None
    progress.record_prediction("3.p1", "cat")
    progress.record_prediction("3.p1", "dog")
    assert progress.prediction_of("3.p1") == "cat"


def test_a_file_that_cannot_be_read_is_set_aside_and_not_written_over() -> None:
    texts = ["", "{", "[]", '{"exercises": 3}', '{"exercises": {"3.1": 1}, "predictions": {}}']
    for text in texts:
        Path(progress.FILE).write_text(text, encoding="utf-8")
        progress.record_attempt("3.1", True)
        assert progress.solved() == {"3.1"}, text
        (aside,) = Path().glob("progress.unreadable-*.json")
        assert aside.read_text(encoding="utf-8") == text
        aside.unlink()


def test_where_nothing_can_be_written_it_is_remembered_in_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read only")

    monkeypatch.setattr(Path, "replace", refuse)
    progress.record_attempt("3.1", True)
    progress.record_attempt("3.2", True)
    assert progress.solved() == {"3.1", "3.2"}
    assert list(Path().iterdir()) == []


def _work(learner: str) -> None:
    for number in range(60):
        progress.record_attempt(f"{learner}.{number}", passed=True)
        progress.record_attempt("both", passed=False)


def test_two_kernels_that_write_one_file_lose_nothing() -> None:
    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=_work, args=(learner,)) for learner in ("a", "b")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert len(progress.solved()) == 120
    kept = json.loads(Path(progress.FILE).read_text(encoding="utf-8"))
    assert kept["exercises"]["both"]["tries"] == 120
    assert [path.name for path in Path().iterdir()] == [progress.FILE]


def test_no_other_account_and_no_stopped_kernel_keeps_a_check_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, shared = tmp_path / "own", tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", str(own))
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    monkeypatch.setattr(progress, "_WAIT_S", 0.05)
    with _files.one_at_a_time(progress.FILE):  # for as long as the checks last
        progress.record_attempt("3.1", passed=True)
        progress.record_prediction("3.p1", "cat")
    assert progress.solved() == {"3.1"}
    assert progress.prediction_of("3.p1") == "cat"
    (lock,) = own.rglob("*.lock")
    assert os.name == "nt" or lock.parent.stat().st_mode & 0o077 == 0
    assert [*shared.iterdir()] == [], "there another account could hold the lock"
