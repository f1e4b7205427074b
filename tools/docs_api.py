"""The API's pages: each public name of the package, as mkdocstrings reads it.

Docstrings are not repeated here. This module only puts the names in groups, and makes from
each class of view the table of its traits.
"""

from __future__ import annotations

import functools
import inspect
import pydoc
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import griffe
import traitlets

import viz_transformer as vt
from viz_transformer.widgets.base.traits import Share
from viz_transformer.widgets.base.view import View

#: The names that are neither views nor modules, by the title of their page.
GROUPS = {
    "Models": [
        "load_translator",
        "Translator",
        "load_language_model",
        "LanguageModel",
        "load_masked_model",
        "MaskedModel",
        "from_huggingface",
    ],
    "Traces": [
        "capture",
        "ForwardTrace",
        "DecodeTrace",
        "load_training",
        "TrainingTrace",
        "real_trace",
        "real_next_words",
    ],
    "Heads": [
        "interventions",
        "interventions_of",
        "head_outputs",
        "rank_heads",
        "head_scores",
        "HeadChange",
        "Interventions",
        "attention_steps",
        "compare_scorings",
        "MaskTester",
    ],
    "Predictions": [
        "prediction",
        "predict_choice",
        "predict_number",
        "predict_row",
        "explain",
        "share_predictions",
    ],
    "Pages, the course, errors": ["export_html", "show_source", "show_tensor", "you_are_here", "UserError"],
}
#: Rooms whose names one imports from where they are: ``from viz_transformer.corpus import translations``.
ROOMS = [
    "config",
    "vocabulary",
    "corpus",
    "trace",
    "model",
    "training",
    "decoding",
    "recipes",
    "experiments",
    "interpreting",
    "engine",
]
#: What a trait holds, in Python's words; the first that fits.
_TYPES: list[tuple[type, str]] = [
    (Share, "float, 0 to 1"),
    (traitlets.Bool, "bool"),
    (traitlets.Int, "int"),
    (traitlets.Float, "float"),
    (traitlets.Unicode, "str"),
    (traitlets.List, "list"),
    (traitlets.Dict, "dict"),
    (traitlets.TraitType, "any"),
]


@functools.cache
def pages() -> dict[str, tuple[str, str]]:
    """Return the title and the Markdown of each page of the API, by its path in the site's sources."""
    found = {f"api/{_slug(title)}.md": (title, _page(title, names)) for title, names in GROUPS.items()}
    for name, members in views().items():
        alive = f"[See it alive](../live.md#{name}) in the gallery."
        found[f"api/{name}.md"] = (f"vt.{name}", _page(f"vt.{name}", members, alive))
    for name in modules():
        found[f"api/{name}.md"] = (f"vt.{name}", _module(f"vt.{name}", getattr(vt, name), set(vt.__all__)))
    for name in ROOMS:
        there = {each for room in (vt, *map(vt.__getattr__, modules())) for each in dir(room)}
        title = f"viz_transformer.{name}"
        found[f"api/{name}.md"] = (title, _module(title, import_module(title), there))
    return {"api/index.md": ("Every name", _index(found)), **found}


def page_of(name: str) -> str:
    """Return the path of the page with the entry of a name that the package itself has."""
    (path,) = (path for path, (_, text) in pages().items() if f"heading: vt.{name}\n" in text)
    return path


def navigation() -> list[dict[str, Any]]:
    """Return the API's part of the site's navigation."""
    listed = [{title: path} for path, (title, _) in pages().items()]
    n_first, n_views, n_rooms = 1 + len(GROUPS), len(views()), len(ROOMS)
    views_and_more = listed[n_first:-n_rooms]
    return [
        listed[0],
        {"Views": views_and_more[:n_views]},
        *listed[1:n_first],
        *views_and_more[n_views:],
        {"Rooms of the package": listed[-n_rooms:]},
    ]


def modules() -> list[str]:
    """Return the names of the public modules."""
    return [name for name in vt.__all__ if isinstance(getattr(vt, name), ModuleType)]


def views() -> dict[str, list[str]]:
    """Return the public names that make or are a view, by the name of the function that comes first."""
    classes = {name: getattr(vt, name) for name in dir(vt)}
    by_class: dict[type, list[str]] = {}
    for name in vt.__all__:
        made = getattr(vt, name)
        if inspect.isfunction(made):
            returned = made.__annotations__["return"]  # a class, or its name
            made = classes.get(returned, returned)
        if inspect.isclass(made) and issubclass(made, View):
            by_class.setdefault(made, []).append(name)
    ordered = [sorted(names, key=_functions_first) for names in by_class.values()]
    return {names[0]: names for names in sorted(ordered)}


def _functions_first(name: str) -> tuple[bool, str]:
    """Order names: one calls the functions, and meets the classes in what they return."""
    return name[:1].isupper(), name


def traits(view: type[View]) -> str:
    """Return the table of the traits that a view's docstring lists, with type and first value."""
    rows = [f"| `{name}` | {kind} | {first} | {text} |" for name, kind, first, text in trait_rows(view)]
    return "\n".join(["| trait | type | at first | what it is |", "|---|---|---|---|", *rows])


def trait_rows(view: type[View]) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, type, first value and explanation of each trait that a view's docstring lists."""
    known = view.class_traits()
    docstring = griffe.Docstring(inspect.getdoc(view) or "", parser="google")
    for section in docstring.parse(warnings=False):
        if section.kind is not griffe.DocstringSectionKind.attributes:
            continue
        for attribute in section.value:
            trait = known.get(attribute.name)
            kind, first = _described(trait) if trait else ("read only", "")
            text = " ".join(attribute.description.split()).replace("|", r"\|")
            yield attribute.name, kind, first, text


def _described(trait: traitlets.TraitType[Any, Any]) -> tuple[str, str]:
    """Return a trait's type and its first value, in Python's words."""
    kind = next(text for each, text in _TYPES if isinstance(trait, each))
    first = trait.default()
    return f"{kind} or None" if trait.allow_none else kind, f"`{first!r}`"


def _slug(title: str) -> str:
    return title.split(",")[0].lower()


def _page(title: str, names: list[str], about: str = "") -> str:
    parts = [_entry(f"vt.{name}", getattr(vt, name)) for name in names]
    return "\n\n".join([f"# {title}", about, *parts])


def _module(title: str, module: ModuleType, there: set[str]) -> str:
    """Return the page of a module: its functions and classes, without those that have their entry `there`."""
    made = {name: getattr(module, name) for name in getattr(module, "__all__", dir(module))}
    own = sorted({name for name in made if is_ours(made[name])} - there, key=_functions_first)
    about = inspect.cleandoc(module.__doc__ or "")
    return "\n\n".join([f"# {title}", about, *(_entry(f"{title}.{each}", made[each]) for each in own)])


def is_ours(made: Any) -> bool:
    """Whether a name stands for a function or a class of the package, and for no constant or other's."""
    return callable(made) and getattr(made, "__module__", "").startswith("viz_transformer")


def _entry(name: str, made: Any) -> str:
    """Return the directive by which mkdocstrings writes the entry of a function or a class."""
    path = f"{made.__module__}.{made.__qualname__}"
    options = ["heading_level: 2", f"heading: {name}", f"toc_label: {name.rpartition('.')[2]}"]
    if not (inspect.isclass(made) and issubclass(made, View)):
        return _directive(path, options)
    whole = _directive(path, [*options, "members: false", "show_docstring_attributes: false"])
    methods = [_directive(f"{path}.{each}", ["heading_level: 3"]) for each in own_methods(made)]
    return "\n\n".join([whole, traits(made), *methods])


def own_methods(view: type[View]) -> list[str]:
    """Return the names of the methods that a view adds to what every view has."""
    return [
        name
        for name, made in vars(view).items()
        if inspect.isfunction(made) and not name.startswith("_") and not hasattr(View, name)
    ]


def _directive(path: str, options: list[str]) -> str:
    return "\n".join([f"::: {path}", "    options:", *(f"      {each}" for each in options)])


def _index(found: dict[str, tuple[str, str]]) -> str:
    """Return the list of all names, each with the first line of its docstring."""
    rows = []
    for path, (_, text) in found.items():
        for line in text.splitlines():
            if line.strip().startswith("heading: "):
                name = line.strip().removeprefix("heading: ")
                rows.append((name, path.removeprefix("api/")))
    lines = [f"| [`{name}`]({path}) | {_first_line(name)} |" for name, path in sorted(rows, key=_order)]
    return "\n".join([INTRODUCTION, "| name | what it is |", "|---|---|", *lines])


def _order(row: tuple[str, str]) -> tuple[bool, int, str]:
    """Put the package's own names first, then those of its modules, then those of its rooms."""
    return not row[0].startswith("vt."), row[0].count("."), row[0].lower()


def _first_line(name: str) -> str:
    made = pydoc.locate(f"viz_transformer.{name.partition('.')[2]}")
    return (inspect.getdoc(made) or "").partition("\n")[0].replace("|", r"\|")


INTRODUCTION = """# Every public name

```python
import viz_transformer as vt
```

Each name of `vt` has its arguments with their types, what it returns, what it raises, and an example that a
test runs. What you choose in a view is a trait: read it, set it, or watch it with
`view.observe(function, "head")`. Every view also has `about`, `figure()`, which draws it with matplotlib, and
`alt_text()`, which says it in words.

At the end stand, explained in the same way, the names that the package's rooms have for each other, and for
you if you build on them: `from viz_transformer.corpus import translations`.
"""
