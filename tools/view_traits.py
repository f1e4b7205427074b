"""Write the traits of each view on the stage as TypeScript beside it: they are declared in Python alone.

`python -m tools.view_traits` does so; a test fails when it must be run again.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import traitlets

from viz_transformer.widgets.base.bundle import STATIC
from viz_transformer.widgets.base.view import View

WIDGETS = Path(__file__).parents[1] / "viz_transformer" / "widgets"
_NAMES = {str: "string", float: "number", int: "number", bool: "boolean"}
#: The first of these that matches a trait gives the page's type.
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
    for script in WIDGETS.glob("*/view.tsx"):  # a new view has not been built, and is imported all the same
        for built in ("js", "style.css"):
            (STATIC / f"{script.parent.name}.{built}").touch()
    for path, text in files():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def files() -> Iterator[tuple[Path, str]]:
    """Yield the path of each view's traits, and its contents."""
    for folder, view in views():
        yield folder / "traits.ts", typescript(view)


def views() -> Iterator[tuple[Path, type[View]]]:
    """Yield the folder and the class of each view on the stage."""
    for script in sorted(WIDGETS.glob("*/view.tsx")):
        module = importlib.import_module(f"viz_transformer.widgets.{script.parent.name}.view")
        (view,) = (each for each in vars(module).values() if _is_view(each, module.__name__))
        yield script.parent, view


def typescript(view: type[View]) -> str:
    """Return the traits of a view that the page gets, as TypeScript: an interface, and their names."""
    said = re.findall(r"^    (\w+): ", inspect.getdoc(view) or "", re.M)
    hints = get_type_hints(view)
    shared = View.class_traits(sync=True)
    traits = {name: each for name, each in view.class_traits(sync=True).items() if name not in shared}
    names = [*(name for name in said if name in traits), *sorted(traits.keys() - set(said))]
    lines = [
        f"// The traits of {view.__name__}, as view.py declares them; made by `python -m tools.view_traits`."
    ]
    lines += ["", "export interface Traits {"]
    lines += [f"  {name}: {_type(traits[name], hints.get(name))};" for name in names]
    quoted = [f'"{name}"' for name in names]
    listed = f"export const TRAITS = [{', '.join(quoted)}] as const;"
    if len(listed) > _WIDE:
        listed = "\n".join(["export const TRAITS = [", *(f"  {name}," for name in quoted), "] as const;"])
    return "\n".join([*lines, "}", "", listed, ""])


def _type(trait: Any, hint: Any) -> str:
    """Return the type that the page gets, from the trait, or from a more precise annotation."""
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
