"""Every notebook is stored clean, and what JupyterLab folds says what to do.

`test_course` runs them with their solutions, and `ui/test_lessons`, in JupyterLab and Notebook 7, as they
are stored.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from tests.support.lessons import ASKS
from tools.notebooks import unclean

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
#: What JupyterLab shows of a folded cell is its first line.
FOLDED = re.compile(r"# .+: press Shift\+Enter")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs_and_folds_its_predictions(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert unclean(path) == []
    # Without a kernel that every Jupyter has, JupyterLab asks for one before anything else.
    assert notebook.metadata.kernelspec.name == "python3"
    asking = [cell for cell in notebook.cells if cell.cell_type == "code" and ASKS.search(cell.source)]
    assert asking or not path.stem[0].isdigit()
    assert all(cell.metadata.get("jupyter") == {"source_hidden": True} for cell in asking)
    assert all(FOLDED.fullmatch(cell.source.splitlines()[0]) for cell in asking)
