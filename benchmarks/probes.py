"""How each view's page is seen to be drawn, and what a viewer does in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Action:
    """One thing that a viewer does.

    Attributes:
        act: a JavaScript function of a number, 1, 2, 3 …, that sends the event.
        answer: a JavaScript expression that is worth something else once the view has answered.
    """

    act: str
    answer: str


@dataclass(frozen=True)
class Probe:
    """What is measured in one view's page.

    Attributes:
        name: how the view is called in the table.
        package: the package that it comes from; None for our own.
        painted: a JavaScript expression that is true once the view is in the page.
        switch: to go to the same head of the next layer.
        point: to look at another token.
    """

    name: str
    package: str | None
    painted: str
    switch: Action
    point: Action


def _text_of(selector: str) -> str:
    return f"document.querySelector('{selector}').textContent"


_DRAWN = "document.querySelector('.vt-explorer').dataset.vtDrawn"
_MOVE = """(i) => {
    const canvas = %s;
    const box = canvas.getBoundingClientRect();
    const at = {clientX: box.x + box.width * (0.4 + 0.05 * i),
                clientY: box.y + box.height * (0.4 + 0.05 * i), bubbles: true};
    canvas.dispatchEvent(%s);
}"""
_LAST_CANVAS = "[...document.querySelectorAll('canvas')].at(-1)"
_SELECT_NEXT = """() => {
    const layer = document.querySelector('select#layer');
    layer.selectedIndex += 1;
    layer.dispatchEvent(new Event('change', {bubbles: true}));
}"""
_PIXELS = f"""((canvas) => canvas.getContext('2d')
    .getImageData(0, 0, canvas.width, canvas.height).data
    .reduce((sum, value, i) => (sum * 31 + value * (i % 97)) % 1000003, 0))({_LAST_CANVAS})"""

EXPLORER = Probe(
    name="explorer",
    package=None,
    painted="document.querySelector('[data-vt-drawn]')",
    switch=Action(
        """() => document.querySelector('.vt-heads canvas').dispatchEvent(
            new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}))""",
        _DRAWN,
    ),
    point=Action(
        _MOVE % ("document.querySelector('.vt-head canvas')", "new PointerEvent('pointermove', at)"),
        _DRAWN,
    ),
)
# React's `mouseenter` is made from `mouseover`.
_CIRCUITSVIS = Probe(
    name="CircuitsVis",
    package="circuitsvis",
    painted=f"((canvas) => canvas?.width && canvas.getContext('2d').getImageData("
    "canvas.width / 2 - 20, canvas.height / 2 - 20, 40, 40).data.some((value) => value))"
    f"({_LAST_CANVAS})",
    switch=Action(
        """(i) => {
            const names = [...document.querySelectorAll('h4')];
            const next = names.find((name) => name.textContent === `L${i}H0`);
            next.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
        }""",
        _text_of("h2"),
    ),
    point=Action(_MOVE % (_LAST_CANVAS, "new MouseEvent('mousemove', at)"), _PIXELS),
)
PROBES: tuple[Probe, ...] = (
    EXPLORER,
    Probe(
        name="bertviz",
        package="bertviz",
        painted="document.querySelector('svg line')",
        switch=Action(_SELECT_NEXT, "document.querySelector('select#layer').value"),
        point=Action(
            """(i) => document.querySelectorAll('#left text')[i].dispatchEvent(
                new MouseEvent('mouseover', {bubbles: true}))""",
            "document.querySelector('line[visibility=visible]').getAttribute('y1')",
        ),
    ),
    _CIRCUITSVIS,
    Probe(
        name="inspectus",
        package="inspectus",
        painted="document.querySelector('.cell')",
        switch=Action(
            """(i) => document.querySelectorAll('.dimension-values')[0]
                .querySelectorAll('.value')[i].click()""",
            "document.querySelector('.matrix').innerHTML",
        ),
        point=Action(
            """(i) => document.querySelectorAll('.src-tokens .token')[i].click()""",
            "document.querySelector('.matrix').innerHTML",
        ),
    ),
    Probe(
        name="attnview",
        package="attnview",
        painted="document.querySelector('#weights tr')",
        switch=Action(_SELECT_NEXT, _text_of("#meta")),
        point=Action("() => document.querySelector('#next').click()", _text_of("#question")),
    ),
)
