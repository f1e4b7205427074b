"""Cells run out of order: the kernel says what to do, and goes on."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

from viz_transformer.cli import lab_environment


@pytest.fixture(scope="module")
def outputs() -> list[list[nbformat.NotebookNode]]:
    sources = (
        "answer + 1",
        "answer = 1",
        "answer + 1",
        "explain_name_errors",
        "import torch; torch.get_num_threads()",
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("OMP_NUM_THREADS", raising=False)
        environment = lab_environment()
    NotebookClient(notebook, kernel_name="python3", allow_errors=True).execute(env=environment)
    return [cell.outputs for cell in notebook.cells]


def test_a_name_that_is_not_there_yet_is_explained(outputs: list) -> None:
    told = "".join(one.get("text", "") for one in outputs[0])
    assert "There is no “answer” yet" in told
    assert "Run All Above" in told
    assert any(one.output_type == "error" and one.ename == "NameError" for one in outputs[0])


def test_the_lesson_goes_on_and_no_name_is_left_behind(outputs: list) -> None:
    assert outputs[2][0].data["text/plain"] == "2"
    assert "There is no “explain_name_errors” yet" in "".join(one.get("text", "") for one in outputs[3])


def test_its_kernels_run_torch_on_one_thread(outputs: list) -> None:
    assert outputs[4][0].data["text/plain"] == "1"


def test_a_startup_file_and_a_number_of_threads_of_ones_own_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONSTARTUP", "mine.py")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    environment = lab_environment()
    assert (environment["PYTHONSTARTUP"], environment["OMP_NUM_THREADS"]) == ("mine.py", "2")
