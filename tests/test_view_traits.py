"""A view's traits are declared in Python alone: what the page knows of them is made from that."""

from __future__ import annotations

import inspect
import re

import traitlets

from tools import view_traits
from viz_transformer.widgets.base.traits import TextSize
from viz_transformer.widgets.base.view import View


class Chosen(View):
    """A view of some choices.

    Attributes:
        kind: one of two,
            as a word.
        head: which head.

    Setting one raises nothing.
    """

    head = traitlets.Int(None, allow_none=True).tag(sync=True)
    kind = traitlets.Enum(("cross", "encoder"), "cross").tag(sync=True)
    pairs = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)
    sides = traitlets.List(traitlets.Enum(("a", "b"))).tag(sync=True)
    weights = traitlets.Bytes().tag(sync=True)
    trace = traitlets.Any()
    text_size = TextSize()


def test_what_the_page_knows_of_traits_is_what_python_declares() -> None:
    assert view_traits.typescript(Chosen).splitlines()[2:] == [
        "export interface Traits {",
        '  kind: "cross" | "encoder";',
        "  head: number | null;",
        "  pairs: number[][];",
        '  sides: ("a" | "b")[];',
        "  text_size: number;",
        "  weights: DataView;",
        "}",
        "",
        'export const TRAITS = ["kind", "head", "pairs", "sides", "text_size", "weights"] as const;',
    ]


def test_each_view_on_the_stage_has_its_traits_beside_it_and_says_what_each_is() -> None:
    for path, text in view_traits.files():
        kept = path.read_text(encoding="utf-8") if path.exists() else ""
        assert kept == text, f"{path.parent.name}: run python -m tools.view_traits"
    for folder, view in view_traits.views():
        said = re.findall(r"^    (\w+): ", inspect.getdoc(view) or "", re.M)
        shared = View.class_traits(sync=True)
        for name, trait in view.class_traits(sync=True).items():
            assert name in said or name in shared or trait.help, f"{folder.name}: {name}"
