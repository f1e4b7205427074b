"""The student's own `my_transformer.py`: what passes is written into it, and nothing in it stops a lesson."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import IPython
import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from viz_transformer import progress
from viz_transformer.exercises import course, lent, my_transformer, own_model
from viz_transformer.exercises.answer_types import Exercise, Function
from viz_transformer.exercises.module_class import ModuleClass

Cell = Callable[[str], Any]


def _vectors(rng: np.random.Generator) -> tuple[Any, ...]:
    return tuple(torch.from_numpy(rng.normal(size=(3, 4))) for _ in range(3))


def _masked(rng: np.random.Generator) -> tuple[Any, ...]:
    return *_vectors(rng), torch.ones(3, 3, dtype=torch.bool).tril()


def _norm(rng: np.random.Generator) -> tuple[Any, ...]:
    size = int(rng.integers(2, 6))
    return (size,), (torch.from_numpy(rng.normal(size=(3, size))).float(),)


EXERCISES = {
    "3.2": Exercise("3.2", "softmax", Function(lent.softmax, lambda rng: _vectors(rng)[:1]), part="softmax"),
    "4.3": Exercise("4.3", "attend", Function(lent.attend, _vectors), part="attend"),
    "8.2": Exercise("8.2", "attend again", Function(lent.attend, _masked), part="attend"),
    "9.1": Exercise("9.1", "LayerNorm", ModuleClass(lent.LayerNorm, _norm), part="LayerNorm"),
}
SOFTMAX = """
import torch
SHIFT = 0.0
# Subtracts the largest: [..., n].
def softmax(scores):
    powers = torch.exp(scores - scores.amax(-1, keepdim=True) + SHIFT)
    return powers / total(powers)  # each row sums to 1
def total(powers):
    return powers.sum(-1, keepdim=True)
"""
ATTEND = """
import math
from torch import Tensor
SHIFT = 1.0 - 1 + 0.5

def attend(query: Tensor, key: Tensor, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + SHIFT
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores)
    return weights @ value, weights
"""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(course, "exercise", EXERCISES.__getitem__)
    monkeypatch.setattr(progress, "_unwritten", {})
    sys.modules.pop(own_model.NAME, None)
    yield
    sys.modules.pop(own_model.NAME, None)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Cell]:
    """A function that opens a notebook: what it returns runs a cell, and returns its last value."""

    def opened() -> Cell:
        module = ModuleType("__main__")
        config = Config({"HistoryManager": {"hist_file": ":memory:"}})
        shell = InteractiveShell(user_module=module, config=config)

        def run(source: str) -> Any:
            monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
            monkeypatch.setitem(sys.modules, "__main__", module)
            shell.events.trigger("pre_run_cell", None)
            found = shell.run_cell(source, store_history=True)
            found.raise_error()
            return found.result

        run("import viz_transformer as vt\nfrom viz_transformer.exercises.course import check")
        return run

    return opened


def text() -> str:
    return Path(own_model.FILE).read_text(encoding="utf-8")


def asides() -> list[str]:
    paths = sorted(Path().glob("my_transformer.2*.py"), key=lambda path: path.stat().st_mtime_ns)
    return [path.name for path in paths]


def test_a_part_is_written_with_what_it_uses_and_the_rest_is_lent(notebook: Callable[[], Cell]) -> None:
    cell = notebook()
    assert cell("from my_transformer import embed, softmax\nembed.__module__") == own_model.LENT
    before = text()
    assert "import embed, softmax, attend," in before
    assert "# lent until lessons 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 13 are done" in before
    assert cell('check("3.2", softmax)').message.startswith("This softmax is the one that the package lends")
    cell("%config InlineBackend.figure_format = 'svg'\nimport torch")  # a cell that is no Python
    cell(SOFTMAX)
    found = cell('check("3.2", softmax)')
    assert (found.passed, found.message) == (True, "softmax is now in my_transformer.py.")
    _, _, section = text().partition("# %% softmax · exercise 3.2\n")
    assert section == (
        "import torch\n\n\nSHIFT = 0.0\n\n\ndef total(powers):\n    return powers.sum(-1, keepdim=True)\n\n\n"
        "# Subtracts the largest: [..., n].\ndef softmax(scores):\n"
        "    powers = torch.exp(scores - scores.amax(-1, keepdim=True) + SHIFT)\n"
        "    return powers / total(powers)  # each row sums to 1\n"
    )
    assert "softmax" not in text().partition("# %%")[0]
    assert cell("import my_transformer\nmy_transformer.softmax.__module__") == own_model.NAME
    assert cell('check("3.2", softmax)').message == "softmax is in my_transformer.py."
    assert cell('check("3.2", my_transformer.softmax)').passed
    assert asides() == []


def test_another_notebook_builds_upon_it_and_its_own_names_harm_none(notebook: Callable[[], Cell]) -> None:
    first, second = notebook(), notebook()
    first(SOFTMAX + 'check("3.2", softmax)')
    second("from my_transformer import softmax")
    assert second(ATTEND + 'check("4.3", attend)').message == "attend is now in my_transformer.py."
    assert "SHIFT_of_attend = 0.5\n" in text()  # its value, of a calculation; softmax has another SHIFT
    assert "/ math.sqrt(query.shape[-1]) + SHIFT_of_attend\n" in text()
    assert text().count("def softmax") == 1
    names: dict[str, Any] = {}
    exec(text(), names)  # by itself, as Python reads it
    assert torch.equal(names["softmax"](torch.zeros(2)), torch.tensor([0.5, 0.5]))
    assert names["attend"](*_vectors(np.random.default_rng(0)))[0].shape == (3, 4)
    # What the first notebook imported is what the second has just written.
    first("import my_transformer")
    second(ATTEND.replace("weights @ value", "weights @ value * 1") + 'check("4.3", attend)')
    assert "* 1" in first("import inspect\ninspect.getsource(my_transformer.attend)")


def test_a_second_answer_replaces_the_first_and_the_file_as_it_was_is_kept(
    notebook: Callable[[], Cell],
) -> None:
    cell = notebook()
    cell(SOFTMAX + 'check("3.2", softmax)')
    cell(ATTEND + 'check("4.3", attend)')
    before = text()
    found = cell(ATTEND.replace("0.5", "0.25") + 'check("8.2", attend)')
    assert found.message == f"attend is now in my_transformer.py. The file as it was is {asides()[0]}."
    assert Path(asides()[0]).read_text(encoding="utf-8") == before
    assert "SHIFT_of_attend = 0.25" in text()
    assert "0.5" not in text()
    # An earlier lesson that is run again replaces nothing.
    message = cell(ATTEND + 'check("4.3", attend)').message
    assert message == "my_transformer.py keeps attend from exercise 8.2."
    cell(ATTEND.replace("0.5", "0.125") + 'check("8.2", attend)')
    assert len(asides()) == 2  # within one minute
    assert my_transformer().own == ("softmax", "attend")
    assert "Lent until you have written it: embed (lesson 2)" in repr(my_transformer())


def test_an_edited_file_keeps_its_edits_and_a_broken_one_stops_nothing(
    notebook: Callable[[], Cell], capsys: pytest.CaptureFixture[str]
) -> None:
    cell = notebook()
    cell(SOFTMAX + 'check("3.2", softmax)')
    edited = "# mine\n" + text().replace("# each row", "# every row") + "\n\nMINE = 1\n"
    Path(own_model.FILE).write_text(edited, encoding="utf-8")
    message = cell(ATTEND + 'check("4.3", attend)').message
    assert message == f"attend is now in my_transformer.py. The file as it was is {asides()[0]}."
    assert Path(asides()[0]).read_text(encoding="utf-8") == edited
    assert "# every row" in text()
    assert "MINE = 1" in text()
    broken = text().replace("def attend(", "def attend((")
    Path(own_model.FILE).write_text(broken, encoding="utf-8")
    sys.modules.pop(own_model.NAME, None)
    cell("from my_transformer import attend, softmax")
    assert cell("attend.__module__, softmax.__module__") == (own_model.LENT, own_model.NAME)
    told = capsys.readouterr().err
    assert told.startswith("my_transformer.py has an error, which you can correct (SyntaxError: ")
    assert told.endswith("; lent until then: attend.\n")
    assert text() == broken
    for whole in ("(", "\0", "raise SystemExit", "import my_transformer_of_nobody"):
        Path(own_model.FILE).write_text(whole, encoding="utf-8")
        sys.modules.pop(own_model.NAME, None)
        cell("from my_transformer import embed")
        assert "my_transformer.py has an error" in capsys.readouterr().err
    message = cell(SOFTMAX + 'check("3.2", softmax)').message
    assert message.startswith("softmax is now in my_transformer.py. The file as it was is")
    assert Path(asides()[-1]).read_text(encoding="utf-8") == whole


def test_a_part_with_an_error_is_left_out_when_another_is_written(notebook: Callable[[], Cell]) -> None:
    cell = notebook()
    cell(SOFTMAX + 'check("3.2", softmax)')
    Path(own_model.FILE).write_text(text().replace("SHIFT = 0.0", "SHIFT = unknown"), encoding="utf-8")
    message = cell("from my_transformer import softmax\n" + ATTEND + 'check("4.3", attend)').message
    assert "softmax cannot be used any more (NameError: name 'unknown' is not defined) and is lent" in message
    assert my_transformer().own == ("attend",)
    assert "unknown" in Path(asides()[0]).read_text(encoding="utf-8")


def test_answers_of_every_make_are_written(notebook: Callable[[], Cell]) -> None:
    cell = notebook()
    cell(SOFTMAX)
    cell("attend = lambda q, k, v: ((w := softmax(q @ k.mT / q.shape[-1] ** 0.5)) @ v, w)")
    for made, written in (
        ('check("4.3", attend)', "attend = lambda q, k, v"),
        ('check("4.3", lambda q, k, v: attend(q, k, v))', "attend = lambda q, k, v: attend_of_attend"),
        ('mine = attend\ncheck("4.3", mine)', "attend = lambda q, k, v: ((w"),
        (
            "import functools\n@functools.wraps(attend)\ndef g(*given):\n    return attend(*given)\n"
            'check("4.3", g)',
            "@functools.wraps",
        ),
        ('from functools import partial\nh = partial(attend)\ncheck("4.3", h)', "attend = h"),
        (
            "class Called:\n    def __call__(self, *given):\n        return attend(*given)\n"
            'called = Called()\ncheck("4.3", called)',
            "class Called",
        ),
    ):
        found = cell(made)
        assert found.passed, found.message
        if "is now in" not in found.message or written not in text():
            raise AssertionError((made, found.message, text()))
        names: dict[str, Any] = {}
        exec(text(), names)
        assert names["attend"](*_vectors(np.random.default_rng(0)))[1].shape == (3, 3)


def test_what_works_only_in_its_notebook_is_not_written(notebook: Callable[[], Cell]) -> None:
    cell = notebook()
    cell(SOFTMAX)
    cell("functions = [None]\n" + ATTEND.replace("softmax(scores)", "functions[0](scores)"))
    cell("functions[0] = softmax")  # which the cell that defines the list does not know
    found = cell('check("4.3", attend)')
    assert found.passed
    assert found.message == (
        "my_transformer.py is unchanged: on its own attend does not work (its check does not pass there)."
    )
    cell(ATTEND.replace("softmax(scores)", "hidden(scores)"))
    cell("exec('def hidden(scores):\\n    return softmax(scores)')")
    message = cell('check("4.3", attend)').message
    assert message == (
        "my_transformer.py is unchanged: it uses hidden, and the cell that defines hidden was not found."
    )
    assert not Path(own_model.FILE).exists()


def test_where_nothing_can_be_written_a_line_says_so(
    notebook: Callable[[], Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    cell = notebook()
    cell("from my_transformer import softmax")
    found = cell(SOFTMAX + 'check("3.2", softmax)')
    assert found.passed
    assert found.message.startswith("my_transformer.py is unchanged: cannot write 'my_transformer.py'")
    assert not Path(own_model.FILE).exists()


NORM = """
import torch
from torch import nn
class LayerNorm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, unbiased=False)
        return (x - mean) / torch.sqrt(variance + 1e-5) * self.scale + self.shift
"""


def test_a_class_is_compared_on_copied_parameters_and_written(notebook: Callable[[], Cell]) -> None:
    cell = notebook()
    for wrong, right, message in (
        ("(nn.Module)", "", "It is not a module of torch: begin it with class LayerNorm(nn.Module)."),
        ("super().__init__()", "pass", "Begin __init__ with super().__init__()"),
        ("self.scale", "self.gamma", "It has the parameters gamma; here they should be called scale."),
        ("nn.Parameter(torch.zeros(d_model))", "torch.zeros(d_model)", "shift is a plain tensor"),
        ("self.shift = nn.Parameter(torch.zeros(d_model))", "pass", "It has no parameter shift: set it"),
        ("torch.ones(d_model)", "torch.ones(1)", "scale has the shape (1,); it should be (5,)."),
        ("torch.ones(d_model)", "torch.rand(d_model)", "Every number of scale should be 1 before training."),
        ("def __init__(self, d_model)", "def __init__(self)", "LayerNorm(5) raised TypeError: "),
        ("unbiased=False", "unbiased=True", "LayerNorm(5).forward has the right shape, but the values"),
        ("return (x", "return ...\n        (x", "forward still returns the three dots"),
        ("return (x", "(x", "LayerNorm(5).forward returned None: does it end with return?"),
    ):
        assert right == "" or wrong in NORM
        found = cell(NORM.replace(wrong, right) + 'check("9.1", LayerNorm)')
        assert not found.passed, wrong
        assert found.message.startswith(message), found.message
    assert "Give the class itself" in cell(NORM + 'check("9.1", LayerNorm(2))').message
    assert "Give a class" in cell('check("9.1", 3)').message
    found = cell(NORM + 'check("9.1", LayerNorm)')
    assert found.message == "LayerNorm is now in my_transformer.py."
    assert cell("from my_transformer import LayerNorm as own\nown(3).scale.shape") == (3,)


def test_a_part_that_another_uses_is_written_once(notebook: Callable[[], Cell]) -> None:
    cell = notebook()
    cell(SOFTMAX.replace(" + SHIFT", "").replace("SHIFT = 0.0", "") + 'check("3.2", softmax)')
    cell(ATTEND + 'check("4.3", attend)')
    assert text().count("def softmax") == text().count("def total") == 1
    cell("def softmax(scores):\n    return scores.softmax(-1)")  # another one, which was not checked
    cell(ATTEND.replace("0.5", "0.25") + 'check("4.3", attend)')
    assert "def softmax_of_attend(scores):\n    return scores.softmax(-1)\n" in text()


def test_lent_parts_agree_with_torch_on_copied_weights() -> None:
    torch.manual_seed(0)
    ours, theirs = lent.MultiHeadAttention(8, 2), torch.nn.MultiheadAttention(8, 2, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
        theirs.out_proj.load_state_dict(ours.output.state_dict())
    x, memory = torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    for one, other in zip(
        ours(x, memory), theirs(x, memory, memory, average_attn_weights=False), strict=True
    ):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(lent.LayerNorm(8)(x), torch.nn.LayerNorm(8)(x))
    logits, targets = torch.randn(2, 3, 7), torch.tensor([[1, 2, 0], [3, 0, 0]])
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)
    torch.testing.assert_close(lent.loss(logits, targets, 0), expected)


def test_a_lent_transformer_learns_and_no_word_sees_a_later_one() -> None:
    torch.manual_seed(0)
    model = lent.Transformer(9, 16, 2, 32, 1)
    source, target = torch.tensor([[3, 4, 0], [5, 6, 7]]), torch.tensor([[1, 4, 3, 2], [1, 7, 2, 0]])
    later = target.clone()
    later[:, 2:] = 8
    torch.testing.assert_close(model(source, target)[:, :2], model(source, later)[:, :2])
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    losses = [lent.training_step(model, optimiser, source, target) for _ in range(30)]
    assert losses[-1] < losses[0] / 4
