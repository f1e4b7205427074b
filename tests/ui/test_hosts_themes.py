"""A view in pages that name no colours for it: it stands on what is really behind it."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt

#: Draws a view in a page, in a shadow tree if `shadow` says so, as a host would.
DRAW = """async ([esm, css, state, shadow]) => {
    const place = document.querySelector('#place');
    const tree = shadow ? place.attachShadow({mode: 'open'}) : place;
    tree.append(Object.assign(document.createElement('style'), {textContent: css}));
    const el = tree.appendChild(document.createElement('div'));
    const source = URL.createObjectURL(new Blob([esm], {type: 'text/javascript'}));
    const {default: view} = await import(source);
    const model = {get: (trait) => state[trait], set() {}, save_changes() {}, on() {}, off() {}};
    view.render({model, el});
}"""

LIGHT, DARK = "rgb(250, 240, 230)", "rgb(24, 28, 26)"
JUPYTER = f"<body style='--jp-layout-color0: {DARK}; --jp-ui-font-color0: #fff'>"
CASES = {
    "a white page, a dark system": (f"<body style='background: {LIGHT}'>", False, LIGHT, "light"),
    "a dark page, a dark system": (f"<body style='background: {DARK}'>", False, DARK, "dark"),
    "a dark page around a shadow tree": (f"<body style='background: {DARK}'>", True, DARK, "dark"),
    "a colour named in another way": ("<body style='background: oklch(0.25 0.01 150)'>", True, None, "dark"),
    "no background, light text": ("<body style='color: #ddd'>", False, "rgb(20, 22, 28)", "dark"),
    "no background, the page's scheme is dark": (
        "<style>:root { color-scheme: dark }</style><body>",
        False,
        "rgb(20, 22, 28)",
        "dark",
    ),
    "nothing at all": ("<body>", False, "rgb(255, 255, 255)", "light"),
    "JupyterLab's own name for it": (JUPYTER, True, DARK, "dark"),
    "VS Code's own name for it": (f"<body style='--vscode-editor-background: {DARK}'>", False, DARK, "dark"),
}


def draw(page: Page, body: str, shadow: bool) -> Locator:
    view = vt.predict_number("How many heads?", 8, unit="heads")
    kept = ("about", "kind", "options", "unit", "question", "afterwards", "guess", "truth", "revealed")
    state = {name: getattr(view, name) for name in kept}
    page.set_content(f"{body}<div id='place'></div>")
    page.evaluate(DRAW, [view._esm, view._css, state, shadow])
    root = page.locator(".vt-prediction")
    expect(root).to_have_attribute("data-vt-drawn", "1")
    return root


def test_a_view_is_as_light_or_dark_as_its_page(new_page: Callable[..., Page]) -> None:
    page = new_page(scheme="dark")
    for case, (body, shadow, background, theme) in CASES.items():
        root = draw(page, body, shadow)
        assert root.get_attribute("data-theme") == theme, case
        shown = root.evaluate("(root) => getComputedStyle(root).backgroundColor")
        assert background in (None, shown), case


def test_a_page_that_turns_dark_takes_its_view_along(page: Page) -> None:
    root = draw(page, "<style>.dark { background: #181c1a }</style><body>", True)
    expect(root).to_have_attribute("data-theme", "light")
    page.evaluate("document.body.className = 'dark'")
    expect(root).to_have_css("background-color", "rgb(24, 28, 26)")
    expect(root).to_have_attribute("data-theme", "dark")
