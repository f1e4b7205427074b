"""What lesson 10, Train your own, says, held to its cells; and the model that a student's own parts make."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import IPython
import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.corpus import translations
from viz_transformer.exercises import check, lent, my_transformer, own_model
from viz_transformer.exercises.course import exercises_of
from viz_transformer.exercises.own_model import PARTS
from viz_transformer.model.threads import threads

ROOT = Path(__file__).parents[1]
LESSON = Lesson("10")
SHORT = LESSON["loop"].rpartition("\n\n\n")[0]  # without the training


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder in which no exercise was solved."""
    monkeypatch.chdir(tmp_path)
    sys.modules.pop(own_model.NAME, None)
    with threads(torch.get_num_threads()):
        yield tmp_path
    sys.modules.pop(own_model.NAME, None)


@pytest.fixture
def own_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Go through the lessons as a student with the reference answers; return the parts in the file."""
    module = ModuleType("__main__")
    config = Config({"HistoryManager": {"hist_file": ":memory:"}})
    shell = InteractiveShell(user_module=module, config=config)
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    monkeypatch.setitem(sys.modules, "__main__", module)
    shell.run_cell("import math\nimport torch\nfrom torch import nn", store_history=True).raise_error()
    given = Lesson("9")["feed-forward"].partition("\n\n\n")[0]  # blocks use it
    shell.run_cell(given, store_history=True).raise_error()
    written = []
    for lesson in map(str, range(2, 14)):
        text = (ROOT / "teaching" / "solutions" / f"lesson_{int(lesson):02}.py").read_text()
        for asked in exercises_of(lesson):
            if asked.part is None:
                continue
            _, _, rest = text.partition(f"# %% {asked.name}\n")
            lent_names = [name for name in PARTS if name != asked.part and hasattr(lent, name)]
            uses = f"from my_transformer import {', '.join(lent_names)}\n"
            shell.run_cell(uses + rest.partition("# %%")[0], store_history=True).raise_error()
            found = check(asked.name, module.__dict__[asked.part])
            assert found.passed, found.message
            written.append(asked.part)
    return written


@pytest.mark.usefixtures("folder", "shapes_unchecked")
def test_a_few_steps_lower_both_losses_and_no_sentence_is_in_two_parts() -> None:
    names = LESSON.run("start", "split")
    exec(SHORT, names)
    parts = [{pair.source for pair in names[part]} for part in ("train", "validation", "test")]
    assert len(set.union(*parts)) == sum(map(len, parts))
    assert not {names["her"].source, names["his"].source} & set.union(*parts)
    assert (len(names["few"]), len(names["unseen"])) == (200, 100)
    assert names["her"].target in translations(names["her"].source)
    assert names["his"].target in translations(names["his"].source)
    assert len(translations("our teacher finds her letter")) > 1  # “may be maestra or profesora”
    known = {word for pair in names["few"] for word in f"{pair.source} {pair.target}".split()}
    assert len(known) < 0.8 * len(names["vocabulary"])  # “many words occur in none of the 200”
    model, recorder = names["train_on"](names["few"], 8, "eight steps")
    run = recorder.trace()
    assert run.losses[-1] < run.losses[0]
    assert run.moments[-1].validation_loss < run.moments[0].validation_loss
    assert recorder.restore_best() == 8
    own = names["recipes"].OwnTranslator(model, names["vocabulary"])
    assert own.trace(names["her"].source, names["her"].target).cross_attention.shape == (1, 4, 6, 6)


@pytest.mark.weekly
@pytest.mark.usefixtures("folder", "shapes_unchecked")
def test_the_small_set_is_memorised_and_the_large_one_is_learned() -> None:
    names = LESSON.run_whole()
    small, large = (names[f"{name}_recorder"].trace() for name in ("small", "large"))
    lowest = min(moment.validation_loss for moment in small.moments)
    assert 50 < names["best_step"] < 400
    assert small.moments[-1].validation_loss > lowest + 0.03  # “it falls, and then rises”
    entropy = vt.analysis.lowest_loss(names["sources"])
    assert small.losses[-10:].mean() < entropy < large.losses[-100:].mean()
    assert large.moments[-1].validation_loss > entropy
    assert abs(names["right_at_end"] - names["right_when_stopped"]) < names["right_when_stopped"] / 5
    assert names["n_right"](names["large"]) >= 95
    guesses = {"p1": "it falls, and then rises", "p2": "it hardly changes", "p3": "the one on 200 sentences"}
    assert not LESSON.mistaken_predictions(guesses, names)
    trace = names["own"].trace(names["her"].source)
    at = trace.source_tokens.index("her")
    assert trace.cross_attention[0, :, 0, at].max() > 0.9  # “more than 90% of its weight”
    theirs = vt.load_translator().trace(names["her"].source)
    assert f"{theirs.encoder_attention[1, 1, 1, at]:.0%}" in LESSON["own-heads-seen"]


@pytest.mark.weekly
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.usefixtures("shapes_unchecked", "own_file")
def test_a_model_of_the_own_file_translates_95_of_100_with_every_seed(seed: int) -> None:
    """The path of a student to its end: all parts written, trained the whole way, stopped early."""
    names: dict[str, Any] = {}
    for cell in ("start", "split"):  # in the folder of the file, where `LESSON.run` is not
        exec(LESSON[cell], names)
    assert names["Transformer"].__module__ == names["loss"].__module__ == own_model.NAME
    exec(SHORT.replace("seed=0", f"seed={seed}").replace("seed(0)", f"seed({seed})"), names)
    model, recorder = names["train_on"](names["train"], 2000, "large")
    recorder.restore_best()
    own = names["recipes"].OwnTranslator(model, names["vocabulary"])
    pairs = zip(names["unseen"], own.answers(names["unseen"]), strict=True)
    assert sum(text in translations(source) for source, text in pairs) >= 95


def test_the_table_of_targets_is_shifted_by_one_and_0_69_is_a_half() -> None:
    rows = {row.split(" | ")[0]: row.strip(" |").split(" | ")[1:] for row in LESSON["targets"].splitlines()}
    assert rows["| it reads"][1:] == rows["| it predicts"][:-1]
    assert f"{-math.log(0.5):.2f}" in LESSON["spaced-1"]
    names: dict[str, Any] = {}
    exec((ROOT / "teaching" / "solutions" / "lesson_10.py").read_text(), names)
    assert names["stop_early"]([3, 2, 2.5, 1, 2, 3, 0], 2) == 3
    assert "`[3, 2, 2.5, 1, 2, 3, 0]` and a patience of 2, it returns 3" in LESSON.prose


@pytest.mark.usefixtures("shapes_unchecked")
def test_reference_answers_make_a_file_whose_model_trains(own_file: list[str]) -> None:
    assert set(my_transformer().own) == set(own_file) >= {"attend", "MultiHeadAttention", "training_step"}
    import my_transformer as own

    torch.manual_seed(0)
    model = own.Transformer(20, 16, 2, 32, 1)
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    source = torch.randint(3, 20, (8, 5))
    target = torch.cat([torch.ones(8, 1, dtype=torch.long), source, torch.full((8, 1), 2)], dim=1)
    losses = [own.training_step(model, adam, source, target) for _ in range(150)]
    assert np.mean(losses[-5:]) < 0.2 * losses[0]
