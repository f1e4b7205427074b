"""A class under JupyterHub: each learner's lessons, views, progress and assignments, through a proxy."""

from __future__ import annotations

import json
import os
import pwd
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.ui_jupyterhub import Hub
from tests.support.ui_jupyterlab import LabPage
from tests.support.ui_windows import ARTIFACTS

pytestmark = pytest.mark.weekly

LESSON = "01_which_head_attends_where"
NBGRADER = """\
c = get_config()
c.CourseDirectory.course_id = "attention"
c.Exchange.root = {exchange!r}
c.ClearSolutions.code_stub = {{"python": "# Write your answer above."}}
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with Hub(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


def open_lab(hub: Hub, name: str, page: Page) -> LabPage:
    ARTIFACTS.mkdir(exist_ok=True)
    learner = hub.learner(name)
    lab = LabPage(page, learner, ARTIFACTS)
    learner.log_in(page)
    lab.open(f"{LESSON}.ipynb")
    return lab


def test_each_learner_has_lessons_views_and_progress_of_their_own(
    hub: Hub, new_page: Callable[..., Page]
) -> None:
    tries = {"ada": 1, "grace": 2}
    labs = {name: open_lab(hub, name, new_page()) for name in tries}
    for name, lab in labs.items():
        lab.run("import viz_transformer as vt")
        lab.run('vt.translation_lab(vt.load_translator(), "the black cat sleeps")')
        drawn = lab.output(-1).locator("[data-vt-drawn]").first
        expect(drawn).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))
        assert lab.value("__import__('os').environ['OMP_NUM_THREADS']") == "1"
        if sys.platform == "linux":
            assert lab.value("len(__import__('os').sched_getaffinity(0))") == 1
            with pytest.raises(AssertionError, match="MemoryError"):
                lab.run("bytearray(5 * 2**30)")
        for _ in range(tries[name]):
            lab.run('vt.exercises.check("1.1", [])')
        assert lab.errors == []
    kept = {
        name: json.loads((hub.learner(name).root / "progress.json").read_text())["exercises"]["1.1"]["tries"]
        for name in tries
    }
    assert kept == tries


def test_an_assignment_goes_out_and_comes_back(hub: Hub, new_page: Callable[..., Page]) -> None:
    exchange = hub.folder / "exchange"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)  # whatever the umask
    (hub.shared / "nbgrader_config.py").write_text(NBGRADER.format(exchange=str(exchange)))
    course = hub.folder / "course"

    def teacher(*command: str) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=course,
            env={**os.environ, "JUPYTER_CONFIG_PATH": str(hub.shared), "PATH": path, "USER": "teacher"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr

    course.mkdir()
    teacher("viz_transformer", "lessons", "assignment", ".", "--lesson", "1")
    teacher("nbgrader", "generate_assignment", LESSON)
    teacher("nbgrader", "release_assignment", LESSON)
    lab = open_lab(hub, "ada", new_page())
    assert "Fetched" in lab.run(f"!nbgrader fetch_assignment {LESSON} --course attention")
    assert (hub.learner("ada").root / LESSON / f"{LESSON}.ipynb").exists()
    assert "Submitted" in lab.run(f"!nbgrader submit {LESSON} --course attention")
    teacher("nbgrader", "collect", LESSON)
    account = pwd.getpwuid(os.geteuid()).pw_name  # nbgrader's name of a learner is the account's
    assert (course / "submitted" / account / LESSON / f"{LESSON}.ipynb").exists()
