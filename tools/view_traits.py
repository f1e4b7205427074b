"""Write the traits of each view on the stage as TypeScript beside it: they are declared in Python alone.

`python -m tools.view_traits` does so; a test says when it is to be run. What stands above a trait is what its
class says of it under *Attributes*, or else its own help.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import traitlets

from viz_transformer.widgets.base.view import View

WIDGETS = Path(__file__).parents[1] / "viz_transformer" / "widgets"
_NAMES = {str: "string", float: "number", int: "number", bool: "boolean"}
#: The first of these that a trait is says what the page gets.
_TYPES: tuple[tuple[type, str], ...] = (
    (traitlets.Unicode, "string"),
    (traitlets.Bool, "boolean"),
    (traitlets.Float, "number"),
    (traitlets.Int, "number"),
    (traitlets.Bytes, "DataView"),
    (traitlets.Dict, "Record<string, unknown>"),
)
_WIDE = 110  # letters in a line


def main() -> None:
    """Write the file of each view whose traits have changed."""
    for path, text in files():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def files() -> Iterator[tuple[Path, str]]:
    """Yield the path of each view's traits, and what is to stand there."""
    for script in sorted(WIDGETS.glob("*/view.tsx")):
        folder = script.parent
        module = importlib.import_module(f"viz_transformer.widgets.{folder.name}.view")
        (view,) = (each for each in vars(module).values() if _is_view(each, module.__name__))
        yield folder / "traits.ts", typescript(view)


def typescript(view: type[View]) -> str:
    """Return the traits of a view that the page gets, as TypeScript: an interface, and their names."""
    said = dict(re.findall(r"^    (\w+): (.+(?:\n     .+)*)", inspect.getdoc(view) or "", re.M))
    hints = get_type_hints(view)
    shared = View.class_traits(sync=True)
    traits = {name: each for name, each in view.class_traits(sync=True).items() if name not in shared}
    names = [*(name for name in said if name in traits), *sorted(traits.keys() - said.keys())]
    lines = [
        f"// The traits of {view.__name__}, as view.py declares them; made by `python -m tools.view_traits`."
    ]
    lines += ["", "export interface Traits {"]
    for name in names:
        if what := said.get(name) or traits[name].help:
            lines += _comment(" ".join(what.split()))
        lines.append(f"  {name}: {_type(traits[name], hints.get(name))};")
    quoted = [f'"{name}"' for name in names]
    listed = f"export const TRAITS = [{', '.join(quoted)}] as const;"
    if len(listed) > _WIDE:
        listed = "\n".join(["export const TRAITS = [", *(f"  {name}," for name in quoted), "] as const;"])
    return "\n".join([*lines, "}", "", listed, ""])


def _comment(text: str) -> list[str]:
    """Return a sentence as a comment of as many lines as it takes."""
    text = text[0].upper() + text[1:]
    if len(text) + 9 <= _WIDE:
        return [f"  /** {text} */"]
    return ["  /**", *textwrap.wrap(text, _WIDE, initial_indent="   * ", subsequent_indent="   * "), "   */"]


def _type(trait: Any, hint: Any) -> str:
    """Return the type that the page gets, from the trait, or from its annotation where that says more."""
    if isinstance(trait, traitlets.Enum):
        name = " | ".join(f'"{each}"' if isinstance(each, str) else str(each) for each in trait.values)
    elif isinstance(trait, traitlets.List | traitlets.Tuple):
        inner = getattr(trait, "_trait", None)
        items = _type(inner, None) if inner is not None else _of_hint(hint)
        name = f"({items})[]" if "|" in items else f"{items}[]"
    else:
        name = next((name for kind, name in _TYPES if isinstance(trait, kind)), "unknown")
    return f"{name} | null" if trait.allow_none and name != "unknown" else name


def _of_hint(hint: Any) -> str:
    return next((_NAMES[each] for each in get_args(hint) if each in _NAMES), "unknown")


def _is_view(value: Any, module: str) -> bool:
    """Whether it is the class of a view with a script that was made in a module."""
    is_own = isinstance(value, type) and issubclass(value, View) and value.__module__ == module
    return is_own and "_esm" in vars(value)


if __name__ == "__main__":
    main()
