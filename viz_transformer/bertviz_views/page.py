"""The HTML page that bertviz draws in: its libraries, the data, and the installed bertviz's scripts."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from viz_transformer._extras import missing
from viz_transformer._html import policy_element, script_json, source_hash
from viz_transformer.bertviz_views.drawings import Drawing
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS

#: What stands in bertviz's scripts where its Python writes the data.
_PLACE = "const params = PYTHON_PARAMS;"
# Where bertviz tells require.js which hosts to fetch from.
_ADDRESSES = re.compile(r"^require\.config\(\{.*?^\}\);\n", re.MULTILINE | re.DOTALL)


def bertviz_version() -> str:
    """Return the installed version."""
    try:
        return version("bertviz")
    except PackageNotFoundError as error:
        raise missing("bertviz") from error


@cache
def read_script(name: str) -> str:
    """Return bertviz's JavaScript of one view, which takes its data from `bertviz.params`."""
    found = find_spec("bertviz")
    if found is None or not found.submodule_search_locations:
        raise missing("bertviz")
    path = Path(found.submodule_search_locations[0]) / f"{name}.js"
    script = path.read_text(encoding="utf-8") if path.is_file() else ""
    if script.count(_PLACE) != 1 or not _ADDRESSES.search(script):
        raise UserError(
            f"bertviz {bertviz_version()} has no {name} that works offline; install the "
            'version that this view is made for: pip install "bertviz==1.4.1"'
        )
    script = script.replace(_PLACE, "const params = bertviz.params;")
    return _ADDRESSES.sub("", script)


_HERE = Path(__file__).parent

_PAGE = """<!doctype html>
<html lang="en" data-mode="{mode}" data-view="{view}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{policy}
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
{sections}
<script type="application/json" id="data">{data}</script>
{scripts}
</body>
</html>
"""

# bertviz looks its places up as `#bertviz-0 #vis`: the root's name tells the drawings apart.
_SECTION = """<section>
{heading}<p>{note}</p>
<div class="bertviz" id="bertviz-{number}">
<div class="menus">{menus}</div>
<div id="vis"></div>
</div>
</section>"""

_CAPTIONS = {
    "head_view": "Each line is one attention weight, from the query on the left (looks) to the key "
    "on the right (is looked at): the stronger the line, the larger the weight. Each coloured "
    "square is a head: click to hide it, double-click to see it alone.",
    "model_view": "Each small picture is one head: its lines go from the queries on the left "
    "(look) to the keys on the right (are looked at). Click a picture to enlarge it.",
}
#: How many characters of text stand in a line where a notebook is narrow.
_LINE = 80
#: The colours of bertviz's heads begin again after this many.
_N_COLOURS = 10


def build(view: str, title: str, drawings: Sequence[Drawing], script: str, display_mode: str | None) -> str:
    """Return the whole page, in ASCII: drawings one below the other, each by bertviz's own script.

    The view is "head_view" or "model_view", the mode "light", "dark" or None for what the browser prefers.
    """
    scripts = _scripts(script)
    allowed = {"script-src": [source_hash(each) for each in scripts], "style-src": ["'unsafe-inline'"]}
    text = _PAGE.format(
        mode=display_mode or "auto",
        view=view,
        policy=policy_element(allowed),
        title=html.escape(title),
        style=_static("page.css"),
        sections="\n".join(
            _section(view, number, drawing, drawings) for number, drawing in enumerate(drawings)
        ),
        data=script_json([each.data() for each in drawings]),
        scripts="\n".join(f"<script>{each}</script>" for each in scripts),
    )
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _scripts(script: str) -> list[str]:
    """Return what a page runs, in its order, around bertviz's own script."""
    return [*_libraries(), *map(_escaped, (_static("require_stub.js"), script, _static("draw.js")))]


def script_hashes() -> set[str]:
    """Return the hashes of all that pages of this version run; none if bertviz is not installed."""
    try:
        return {source_hash(each) for name in _CAPTIONS for each in _scripts(read_script(name))}
    except UserError:
        return set()


def fixed_bytes(script: str) -> int:
    """Return how long a page is before any weight is in it, to within a few kilobytes."""
    return len(script) + sum(map(len, _libraries()))


def height_px(view: str, drawings: Sequence[Drawing]) -> int:
    """Return how high the page is, from the sizes that bertviz's scripts draw with."""
    height = 16.0  # around the page
    for drawing in drawings:
        tokens = max(max(lengths) for lengths in drawing.lengths.values())
        if view == "head_view":
            picture = 22.5 * tokens + 30
        else:
            thumbnail = 7 * 12 / drawing.n_heads * tokens + 10
            picture = max(len(drawing.layers) * thumbnail + 38, 18 * tokens + 55)
        lines = math.ceil(len(_note(view, drawing, drawings)) / _LINE)
        heading = 36 if len(drawings) > 1 else 0
        menus = 32 if _menus(view, drawing) else 0
        height += heading + 20 * lines + 8 + menus + picture
    return math.ceil(height)


def _section(view: str, number: int, drawing: Drawing, drawings: Sequence[Drawing]) -> str:
    heading = ""
    if len(drawings) > 1:
        size = f"{_count(drawing.n_layers, 'layer')} of {_count(drawing.n_heads, 'head')}"
        heading = f"<h2>{KINDS[drawing.kinds[0]].title}: {size}</h2>\n"
    return _SECTION.format(
        heading=heading,
        note=html.escape(_note(view, drawing, drawings)),
        number=number,
        menus=_menus(view, drawing),
    )


def _menus(view: str, drawing: Drawing) -> str:
    menus = []
    if view == "head_view":
        menus.append('<label>Layer: <select id="layer"></select></label>')
    if len(drawing.kinds) > 1:
        options = "".join(
            f'<option value="{i}">{kind.capitalize()}</option>' for i, kind in enumerate(drawing.kinds)
        )
        menus.append(f'<label>Attention: <select id="filter">{options}</select></label>')
    return " ".join(menus)


def _note(view: str, drawing: Drawing, drawings: Sequence[Drawing]) -> str:
    """Return what must be said of a drawing; the first says what holds for all."""
    parts = []
    if drawing is drawings[0]:
        parts += [f"Drawn by bertviz {bertviz_version()}.", _CAPTIONS[view]]
        if len(drawings) > 1:
            parts.append(
                "bertviz has one menu of layers and heads for all kinds of attention; as these "
                "differ in them, each kind is drawn on its own, and none is left out."
            )
    if len(drawing.layers) < drawing.n_layers:
        parts.append(f"Of {_count(drawing.n_layers, 'layer')}: {_list(drawing.layers)}.")
    if len(drawing.heads) < drawing.n_heads:
        parts.append(f"Of {_count(drawing.n_heads, 'head')}, from left to right: {_list(drawing.heads)}.")
    if view == "head_view" and len(drawing.heads) > _N_COLOURS:
        parts.append(f"bertviz has {_N_COLOURS} colours; then they begin again.")
    return " ".join(parts)


def _count(n: int, name: str) -> str:
    return f"{n} {name}" if n == 1 else f"{n} {name}s"


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


@cache
def _libraries() -> tuple[str, ...]:
    # jQuery's last line names a file for debuggers to fetch.
    jquery = (_HERE / "vendor" / "jquery-2.1.0.min.js").read_text(encoding="utf-8")
    d3 = (_HERE / "vendor" / "d3-5.7.0.min.js").read_text(encoding="utf-8")
    return _escaped(jquery.partition("//# sourceMappingURL")[0]), _escaped(d3)


def _escaped(script: str) -> str:
    """Return the same script in ASCII; its other characters are in strings and comments."""
    return "".join(each if each.isascii() else f"\\u{ord(each):04x}" for each in script)


def _static(name: str) -> str:
    return (_HERE / "static" / name).read_text(encoding="utf-8")
