"""The sentences of SECURITY.md on pages, each tried in Chromium and in Firefox."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.support.exported_pages import check_scripts_have_hashes
from tests.support.firefox import Firefox, Tab
from tests.support.hand_made_traces import HOSTILE, make_trace
from tests.support.ui_jupyterlab import errors_of
from tests.support.ui_windows import ELSEWHERE_ASKED
from viz_transformer.bertviz_views import head_view
from viz_transformer.cli import main
from viz_transformer.export import export_html
from viz_transformer.export.notebook import notebook_html
from viz_transformer.export.sanitising import left_out, sanitised, with_cell_styles
from viz_transformer.widgets.explorer import explore

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
CONTROLS = "@jupyter-widgets/controls"
ELSEWHERE = "https://elsewhere.example/x"

#: HTML that runs RUN, asks for something or leads away, and how it is called when it is left out.
HOSTILE_HTML = {
    "<script>RUN</script>": "script",
    "<img src=x onerror=RUN>": "onerror of img",
    "<svg onload=RUN><text>drawn</text></svg>": "svg",
    '<a href="javascript:RUN">click</a>': "href of a",
    '<a href=" java&#10;script:RUN">click</a>': "href of a",
    '<a href=" da&#10;ta:text/html,<script>RUN</script>">click</a>': "href of a",
    '<iframe srcdoc="<script>parent.RUN</script>"></iframe>': "iframe",
    '<iframe class="vt-bertviz" srcdoc="<script>parent.RUN</script>">x</iframe>': "iframe",
    '<object data="data:text/html,<script>parent.RUN</script>"></object>': "object",
    f'<embed src="{ELSEWHERE}">': "embed",
    f'<meta http-equiv="refresh" content="0; url={ELSEWHERE}">': "meta",
    f'<base href="{ELSEWHERE}">': "base",
    f'<link rel="stylesheet" href="{ELSEWHERE}">': "link",
    f'<form action="{ELSEWHERE}"><button autofocus>send</button></form>': "form",
    "<details open ontoggle=RUN>open</details>": "ontoggle of details",
    "<input autofocus onfocus=RUN>": "onfocus of input",
    f'<img src="{ELSEWHERE}.png">': "src of img",
    f'<video poster="{ELSEWHERE}" src="{ELSEWHERE}"></video>': "src of video",
    "<math><mtext><table><mglyph><style><img src=x onerror=RUN></style></mglyph></table></mtext></math>": (
        "mglyph"
    ),
    f'<style>body {{ background: url("{ELSEWHERE}") }}</style>': "style",
    f'<p style="background: url({ELSEWHERE})">words</p>': "style of p",
    f'<p style="list-style: u\\72l({ELSEWHERE}); color: red">words</p>': "style of p",
    '<p style="position: fixed; inset: 0">words</p>': "style of p",
    '<p title="</noscript><img src=x onerror=RUN>">words</p>': "",
    '<p id="vt-page">{"views": [{"script": "x", "state": {}}]}</p>': "",
}
#: What a page from a notebook never holds.
FORBIDDEN = (
    "form, iframe, object, embed, base, main svg, main meta, main script, main style, [style*='fixed']"
)


def running(number: int) -> str:
    """The script of one row of HOSTILE_HTML, which leaves its number."""
    return f"window.pwned={number}"


def rows() -> list[str]:
    return [html.replace("RUN", running(number)) for number, html in enumerate(HOSTILE_HTML)]


def output(**data: Any) -> nbformat.NotebookNode:
    return nbformat.v4.new_output(
        "display_data", data={name.replace("__", "/"): each for name, each in data.items()}
    )


def widget(name: str, module: str, **state: Any) -> dict[str, Any]:
    return {"model_name": name, "model_module": module, "state": state}


def hostile_widgets(html: str, number: int) -> dict[str, dict[str, Any]]:
    """Widgets with some HTML in their text, and two with a script of their own, one under a name of ours."""
    script = f"{running(number)}; export default {{ render() {{ {running(number)} }} }}"
    ours = "viz_transformer.widgets.softmax_lab.view.SoftmaxLab"
    children = [f"IPY_MODEL_{name}{number}" for name in ("text", "label", "own")]
    return {
        f"text{number}": widget("HTMLModel", CONTROLS, value=html, description=html),
        f"label{number}": widget("LabelModel", CONTROLS, value=html),
        f"box{number}": widget("VBoxModel", CONTROLS, children=children),
        f"own{number}": widget("AnyModel", "anywidget", _esm=script, _anywidget_id="theirs.View"),
        f"posing{number}": widget("AnyModel", "anywidget", _esm=script, _anywidget_id=ours),
    }


def hostile_cells(html: str, number: int) -> list[nbformat.NotebookNode]:
    """Cells with some HTML in every place that could hold it."""
    quoted = f'"><i></i>{html}'
    still = output(text__html=f'<div class="vt-still">{html}</div>')
    picture = output(**{"image/png": quoted})
    picture.metadata = {"image/png": {"width": quoted, "alt": quoted}}
    svg = f'<svg xmlns="http://www.w3.org/2000/svg"><script>{running(number)}</script></svg>'
    shown = [
        output(text__html=html),
        output(text__markdown=f"{html}\n\n[a](javascript:{running(number)}) ![b](data:text/html,x)"),
        output(**{"image/svg+xml": svg}),
        output(**{"application/javascript": running(number)}),
        output(text__latex=html),
        output(text__plain=f"\x1b[31m{html}"),
        nbformat.v4.new_output("stream", text=f"\x1b[31m{html}"),
        nbformat.v4.new_output("error", ename=html, evalue=html, traceback=[html]),
        picture,
    ]
    for name in ("box", "own", "posing", "gone"):
        shown += [output(**{VIEW: {"model_id": f"{name}{number}"}}), still]
    tags = {"tags": [quoted.replace(",", ";")]}
    return [
        nbformat.v4.new_markdown_cell(
            f"# Row {number}\n\n{html}\n\n$\\text{{{html}}}$ and text {html} inside"
        ),
        nbformat.v4.new_raw_cell(html, metadata={"raw_mimetype": "text/html"}),
        nbformat.v4.new_code_cell(html, outputs=shown, metadata=tags),
    ]


def hostile_page(folder: Path) -> tuple[Path, str]:
    """The page of a notebook that nobody ran and that holds HOSTILE_HTML, and what was told of it."""
    widgets: dict[str, Any] = {}
    cells: list[nbformat.NotebookNode] = []
    for number, html in enumerate(rows()):
        widgets |= hostile_widgets(html, number)
        cells += hostile_cells(html, number)
    state = {STATE: {"state": widgets, "version_major": 2, "version_minor": 0}}
    notebook = folder / "theirs.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"widgets": state}), notebook)
    told: list[str] = []
    path = notebook_html(notebook, tell=told.append)
    (line,) = told
    return path, line.partition(": ")[2]


def check_nothing_happens(page: Page | Tab, path: Path, what: str = "the page") -> None:
    """Open a page, follow all that could be a script, and see that nothing ran and nothing led away.

    A link to elsewhere stays a link.
    """
    page.goto(path.as_uri())
    page.evaluate(
        "document.querySelectorAll(\"a:not([href^='#'], [href^='http'])\").forEach((link) => link.click())"
    )
    page.evaluate("new Promise((then) => setTimeout(then, 50))")
    assert page.evaluate("window.pwned ?? null") is None, what
    assert page.evaluate("location.href") == path.as_uri(), what
    assert page.evaluate("document.baseURI") == path.as_uri(), what


def check_each_guard(page: Page | Tab, path: Path) -> None:
    """See that a hostile page is safe, and would be with either of its guards."""
    text = path.read_text(encoding="utf-8")
    check_nothing_happens(page, path)
    assert page.evaluate("document.querySelectorAll('h1').length") == len(HOSTILE_HTML)
    assert page.evaluate("(selector) => document.querySelectorAll(selector).length", FORBIDDEN) == 0
    # Sanitised, without its policy.
    alone = path.with_name("alone.html")
    alone.write_text(re.sub(r"<meta http-equiv[^>]*>", "", text), encoding="utf-8")
    check_nothing_happens(page, alone, "without the policy")
    # The policy, without what was sanitised; no policy stops a page that leads itself away.
    for html, (what, name) in zip(rows(), HOSTILE_HTML.items(), strict=True):
        if name != "meta":
            alone.write_text(f"{text.partition('<main')[0]}<main>{html}</main></body>", encoding="utf-8")
            check_nothing_happens(page, alone, what)


def test_a_foreign_notebook_runs_nothing_asks_for_nothing_and_leads_nowhere(
    page: Page, tmp_path: Path
) -> None:
    path, said = hostile_page(tmp_path)
    check_each_guard(page, path)
    assert f'<p class="vt-note">{said}</p>' in path.read_text(encoding="utf-8")
    assert "script (" in said


@pytest.mark.slow
def test_nor_does_it_in_firefox(tmp_path: Path) -> None:
    path, _ = hostile_page(tmp_path)
    (tmp_path / "profile").mkdir()
    with Firefox(tmp_path / "profile") as firefox:
        check_each_guard(firefox.new_page(), path)
        assert firefox.asked == [], ELSEWHERE_ASKED


def test_what_is_left_out_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for html, (what, name) in zip(rows(), HOSTILE_HTML.items(), strict=True):
        assert set(left_out(html, sanitised(html))) >= ({name} if name else set()), what
        assert name or not left_out(html, sanitised(html)), what
    notebook = tmp_path / "theirs.ipynb"
    cell = nbformat.v4.new_code_cell("", outputs=[output(text__html="<blink\x1b>words</blink>")])
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    assert main(["html", str(notebook)]) == 0
    said = "Left out, as it is not safe in a page: blink? (1)."
    assert capsys.readouterr().out == f"{str(notebook)!r}: {said}\nwrote {notebook.with_suffix('.html')}\n"


def test_what_shows_something_is_kept() -> None:
    """Of pandas' tables, films, sounds, lists of tasks and what people write by hand, all that is seen."""
    for html in (
        '<table border="1" class="dataframe"><thead><tr><th valign="top">a</th></tr></thead></table>',
        '<details open=""><summary>More</summary><p align="center">words</p></details>',
        '<span style="color: color-mix(in srgb, var(--x, #e65100) 30%, transparent)">words</span>',
        '<a href="lesson.ipynb#two" name="one">there</a> <font color="red">red</font>',
        '<audio controls=""><source src="data:audio/wav;base64,AAAA" type="audio/wav"></audio>',
        '<input type="checkbox" disabled="" checked=""> done <progress value="1" max="2"></progress>',
    ):
        kept = sanitised(html)
        assert left_out(html, kept) == Counter(), html
        assert sorted(re.split(r"[<> ]+", kept)) == sorted(re.split(r"[<> ]+", html)), html
    # The colours of cells, as pandas writes them.
    style = '<style type="text/css">\n#T_1_row0, #T_1_row1 {\n  color: #fff;\n}\n</style>'
    coloured = with_cell_styles(f'{style}<p id="T_1_row1">words</p>')
    assert coloured == '<p id="T_1_row1" style="color: #fff;">words</p>'


def test_the_policies_name_scripts_by_hash_alone(tmp_path: Path) -> None:
    notebook = tmp_path / "own.ipynb"
    cell = nbformat.v4.new_code_cell("", outputs=[output(text__html=head_view(make_trace())._repr_html_())])
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    for path in (
        export_html(explore(make_trace()), tmp_path / "views.html"),
        notebook_html(notebook, tell=pytest.fail),
        head_view(make_trace()).save(tmp_path / "bertviz.html"),
    ):
        check_scripts_have_hashes(path)


def test_bertviz_in_a_notebook_s_page_draws_in_a_frame_of_its_own(page: Page, tmp_path: Path) -> None:
    """Of this version's frame nothing is lost; for another a line says how to mend it."""
    shown = head_view(make_trace())._repr_html_()
    end = "&lt;/body&gt;"
    refresh = f"&lt;meta http-equiv=refresh content=&quot;0; url={ELSEWHERE}&quot;&gt;"
    outputs = [
        output(text__html=each)
        for each in (
            f"{shown}<p>below</p>",
            shown.replace(end, f"&lt;script&gt;parent.{running(1)}&lt;/script&gt;{end}"),
            shown.replace("allow-scripts", "allow-same-origin"),
            shown.replace(end, f"{refresh}{end}"),
        )
    ]
    notebook = tmp_path / "bertviz.ipynb"
    cell = nbformat.v4.new_code_cell("head_view()", outputs=outputs)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    told: list[str] = []
    path = notebook_html(notebook, tell=told.append)
    errors = errors_of(page)
    check_nothing_happens(page, path)
    expect(page.get_by_text("or by another version. Run the notebook")).to_have_count(2)
    expect(page.get_by_text("below")).to_be_visible()
    assert [line.partition(": ")[2] for line in told] == [
        "Left out, as it is not safe in a page: the frame of a bertviz view (2)."
    ]
    expect(page.locator("iframe")).to_have_count(2)
    frame = page.locator("iframe").first
    assert frame.get_attribute("sandbox") == "allow-scripts"
    expect(frame.content_frame.locator("#attention line").first).to_be_attached()
    (refused,) = errors  # where the last frame would have led
    assert ELSEWHERE.removesuffix("x") in refused


def test_the_title_of_a_notebook_is_text(page: Page, tmp_path: Path) -> None:
    errors = errors_of(page)
    for number, word in enumerate((HOSTILE[0], HOSTILE[1], f'" onload="{running(1)}')):
        notebook = tmp_path / f"{word.replace('/', '')}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("words")]), notebook)
        path = notebook_html(notebook, tmp_path / f"{number}.html")
        check_nothing_happens(page, path, word)
        assert page.title() == notebook.stem
    assert errors == []
