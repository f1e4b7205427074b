"""What a learner has done stays beside the lessons, whatever happens to the file."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from viz_transformer import progress


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
