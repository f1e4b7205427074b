"""The student's own Transformer: each part goes into ``my_transformer.py`` when its check passes."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from viz_transformer._files import atomic_write, keep_beside, one_at_a_time
from viz_transformer._own_file import NAME
from viz_transformer.errors import FileError
from viz_transformer.exercises.answer_types import LENT, Exercise
from viz_transformer.exercises.footprint import leaving_nothing, within_memory
from viz_transformer.exercises.own_code import NoSourceError, definitions, source_with_uses
from viz_transformer.exercises.sandbox import WHOLE_LIMIT_S, within_time

FILE = f"{NAME}.py"
#: Each part, in the lessons' order, with the lesson that it is first written in.
PARTS = {
    "embed": 2,
    "softmax": 3,
    "attend": 4,
    "split_heads": 5,
    "join_heads": 5,
    "MultiHeadAttention": 5,
    "positional_encoding": 6,
    "loss": 7,
    "padding_mask": 8,
    "causal_mask": 8,
    "LayerNorm": 9,
    "EncoderBlock": 9,
    "DecoderBlock": 9,
    "Transformer": 9,
    "training_step": 10,
    "beam_search": 11,
    "ablate": 12,
    "cached_step": 13,
}
_HEAD = '"""My Transformer: the parts that I wrote in the lessons."""\n\nfrom __future__ import annotations\n'
_TITLE = re.compile(rf"^# %% ({'|'.join(PARTS)}) · exercise (\S+)\n", re.MULTILINE)
_LENT_LINE = re.compile(rf"^from {re.escape(LENT)} import .*\n\n?", re.MULTILINE)
#: How long a check waits for another notebook's, which writes for milliseconds.
_WAIT_S = 5.0
#: What the loaded module's file was like when it was read.
_read_as: list[Any] = [None]


@dataclass(frozen=True)
class _Section:
    """A part as it is in the file: the exercise that it answers, and its lines."""

    exercise: str
    code: str

    @property
    def lesson(self) -> int:
        return int(self.exercise.partition(".")[0]) if self.exercise[:1].isdigit() else 0


@dataclass(frozen=True)
class OwnModel:
    """Which parts of ``my_transformer.py`` the student wrote, and which are lent.

    Attributes:
        own: names of parts.
        lent: names of parts, until they are written.
    """

    own: tuple[str, ...]
    lent: tuple[str, ...]

    def __repr__(self) -> str:
        """Return a line for each."""
        lent = ", ".join(f"{part} (lesson {PARTS[part]})" for part in self.lent)
        own = f"Your parts in {FILE}: {', '.join(self.own) or 'none yet'}."
        return own + (f"\nLent until you have written it: {lent}." if lent else "")


def my_transformer() -> OwnModel:
    """Return which parts of ``my_transformer.py`` are yours; the file is made if it is missing.

    >>> import viz_transformer as vt
    >>> vt.exercises.my_transformer().own  # nothing was solved in this folder
    ()
    """
    text = _read()
    if text is None:
        _make()
    sections = _parse(text or "")
    return OwnModel(tuple(sections), tuple(_lent(sections)))


def keep(asked: Exercise, answer: Any) -> str:
    """Write a part that passed its check into the file; returns what is said of it in a line.

    A part that is there already is replaced, unless it answers a later lesson's exercise, and the file as it
    was is then kept beside it. The part is first checked again with what the file has.
    """
    try:
        said = "" if answer.__module__ == NAME else _keep(asked, answer)  # it may be from the file
    except Exception as error:  # an answer may do anything when it is looked at
        return f"{FILE} is unchanged: {type(error).__name__}: {error}."
    _load_again()
    return said


def _keep(asked: Exercise, answer: Any) -> str:
    assert asked.part is not None
    with one_at_a_time(FILE, _WAIT_S):
        text = _read()
        old = _parse(text or "")
        before = old.get(asked.part)
        others = {part: each for part, each in old.items() if part != asked.part}
        if before and before.lesson > int(asked.name.partition(".")[0]):
            return f"{FILE} keeps {asked.part} from exercise {before.exercise}."
        try:
            code = source_with_uses(answer, asked.part, PARTS, _definitions(others))
        except NoSourceError as error:
            return f"{FILE} is unchanged: {error}."
        new = _Section(asked.name, code)
        if before and before.code.strip() == code.strip():
            return f"{asked.part} is in {FILE}."
        names, broken = _run({**others, asked.part: new})
        why = broken.pop(asked.part, None)
        if why is None and not asked.check(names[asked.part]).passed:
            why = "its check does not pass there"
        if why is not None:
            return f"{FILE} is unchanged: on its own {asked.part} does not work ({why})."
        kept = {part: each for part, each in others.items() if part not in broken}
        said = "".join(
            f" {part} cannot be used any more ({why}) and is lent." for part, why in broken.items()
        )
        is_edited = _LENT_LINE.sub("", text or "") != _LENT_LINE.sub("", _render(old))
        try:
            if text and (before or broken or is_edited):
                said += f" The file as it was is {_set_aside(text).name}."
            _write(_render({**kept, asked.part: new}))
        except FileError as error:
            return f"{FILE} is unchanged: {error}."
    return f"{asked.part} is now in {FILE}.{said}"


def _read() -> str | None:
    """Return the file's text; None if there is none."""
    try:
        return Path(FILE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _write(text: str) -> None:
    with atomic_write(FILE) as part:
        part.write_text(text, encoding="utf-8")


def _make() -> bool:
    """Make the file, in which everything is lent; returns whether it could be made."""
    try:
        _write(_render({}))
    except FileError:
        return False
    return True


def _set_aside(text: str) -> Path:
    return keep_beside(Path(FILE), text.encode(), datetime.now().strftime("%Y-%m-%d-%H%M"))


def _parse(text: str) -> dict[str, _Section]:
    """Return the parts in a file's text, each with its lines."""
    pieces = _TITLE.split(text)
    return {
        part: _Section(exercise, code)
        for part, exercise, code in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True)
    }


def _render(sections: Mapping[str, _Section]) -> str:
    """Return the file's text: what is lent, then each part below a title."""
    text, lent = _HEAD, _lent(sections)
    if lent:
        lessons = [str(each) for each in dict.fromkeys(PARTS[part] for part in lent)]
        until = " and ".join(filter(None, [", ".join(lessons[:-1]), lessons[-1]]))
        plural = "lessons" if len(lessons) > 1 else "lesson"
        verb = "are" if len(lessons) > 1 else "is"
        text += f"\nfrom {LENT} import {', '.join(lent)}  # lent until {plural} {until} {verb} done\n"
    for part in PARTS:
        if part in sections:
            text += f"\n\n# %% {part} · exercise {sections[part].exercise}\n{sections[part].code.rstrip()}\n"
    return text


def _lent(sections: Mapping[str, _Section]) -> list[str]:
    can_be = importlib.import_module(LENT).__all__
    return [part for part in PARTS if part not in sections and part in can_be]


def _definitions(sections: Mapping[str, _Section]) -> dict[str, str]:
    found = {}
    for each in sections.values():
        try:
            found.update(definitions(each.code))
        except (SyntaxError, ValueError):  # it will be left out
            continue
    return found


def _run(sections: Mapping[str, _Section]) -> tuple[dict[str, Any], dict[str, str]]:
    """Run parts one after another; returns their names, and why those that raise an error cannot be used."""
    lent = importlib.import_module(LENT)
    names: dict[str, Any] = {"__name__": NAME, **{part: getattr(lent, part) for part in lent.__all__}}
    broken = {}
    for part, section in sections.items():
        try:
            with leaving_nothing(), within_memory():
                within_time(WHOLE_LIMIT_S, partial(exec, compile(section.code, FILE, "exec"), names))
            _ = names[part]
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # it may do anything, as an answer may
            broken[part] = f"{type(error).__name__}: {error}".splitlines()[0][:120]
            names.pop(part, None)
            if hasattr(lent, part):
                names[part] = getattr(lent, part)
    return names, broken


class _Loader(SourceFileLoader):
    """Loads the file as it is now; what is missing or cannot be used is lent."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file, of which no compiled copy is kept: it may change within a second."""
        return self.source_to_code(self.get_data(self.path), self.path)

    def exec_module(self, module: ModuleType) -> None:
        """Run the file, or, where it has an error, each of its parts that has none."""
        _read_as[0] = _state()
        try:
            super().exec_module(module)
        except KeyboardInterrupt:
            raise
        except FileNotFoundError:  # it could not be made
            pass
        except BaseException as error:
            names, broken = _run(_parse(_read() or ""))
            vars(module).update(names)
            lent = f"; lent until then: {', '.join(broken)}" if broken else ""
            told = f"{FILE} has an error, which you can correct ({type(error).__name__}: {error}){lent}."
            sys.stderr.write(" ".join(told.split()) + "\n")
        lent_parts = importlib.import_module(LENT)
        for part in lent_parts.__all__:
            vars(module).setdefault(part, getattr(lent_parts, part))


def spec() -> ModuleSpec | None:
    """Return where ``import my_transformer`` finds the file; None leaves it to Python."""
    path = Path(FILE).absolute()
    if not path.exists():
        if PathFinder.find_spec(NAME):  # in another folder of Python's path
            return None
        _make()
    _follow_in_notebook()
    return spec_from_file_location(NAME, path, loader=_Loader(NAME, str(path)))


def _state() -> Any:
    """Return what changes when the file does, or the working folder."""
    path = Path(FILE).absolute()
    try:
        return path, path.stat().st_mtime_ns, path.stat().st_size
    except OSError:
        return path, None, None


def _load_again(*_: Any) -> None:
    """Have the module that was imported hold what is in the file now."""
    module = sys.modules.get(NAME)
    if module is not None and _read_as[0] is not None and _read_as[0] != _state():
        importlib.reload(module)


def _follow_in_notebook() -> None:
    """Look before each cell whether another notebook has changed the file."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and _load_again not in shell.events.callbacks["pre_run_cell"]:
        shell.events.register("pre_run_cell", _load_again)
