"""A page with several views carries what they share once."""

from __future__ import annotations

from tests.support.javascript import answers_in_node
from viz_transformer.export.inline_module import in_one, inline_module, view_scripts
from viz_transformer.widgets.base.bundle import STATIC, built

#: Bytes of a view with its style, and with its part of what all share.
MOST_BYTES = 23_800
VIEWS = sorted(path.name.removesuffix(".part.js") for path in STATIC.glob("*.part.js"))
OURS = {view: inline_module(built(f"{view}.js")) for view in VIEWS if view != "shared"}


def test_one_script_registers_every_view_and_stays_small() -> None:
    script = in_one([each.name for each in OURS.values()])
    run = """(script) => {
      (0, eval)(script);
      return Object.entries(vtViews).map(([name, view]) => [name, typeof view.render]);
    }"""
    assert dict(answers_in_node({}, run, script)) == {each.name: "function" for each in OURS.values()}
    styles = sum(path.stat().st_size for path in STATIC.glob("*.css"))
    assert len(script.encode()) + styles <= MOST_BYTES * len(OURS)


def test_a_page_takes_the_shorter_way() -> None:
    alone = {OURS["explorer"].name: OURS["explorer"]}
    assert view_scripts(alone) == [OURS["explorer"].text]
    foreign = inline_module("export default { render() {} }")
    several = {each.name: each for each in [*OURS.values(), foreign]}
    others, shared = view_scripts(several)
    assert others == foreign.text
    assert len(shared) < sum(len(each.text) for each in OURS.values()) / 2
