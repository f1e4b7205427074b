"""Notebooks to pages: what is read from their files, and what is refused. tests/ui opens them."""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path

import nbformat
import pytest

from tests.support.exported_pages import page_data, page_scripts
from tests.support.notebooks import write_notebook
from viz_transformer.cli import main
from viz_transformer.errors import FileError, UserError
from viz_transformer.export.inline_module import inline_module
from viz_transformer.export.notebook import notebook_html
from viz_transformer.widgets.base.shared_script import LOADER, SharedScript, packed
from viz_transformer.widgets.softmax_lab.view import SoftmaxLab

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
STILL = '<style>.vt-still p {}</style>\n<div class="vt-still"><img alt="two words"></div>'


def output(**data: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_output("display_data", data=data)


def model(name: str, module: str, state: dict, buffers: list | None = None) -> dict:
    return {
        "model_name": name,
        "model_module": module,
        "model_module_version": "*",
        "state": state,
        "buffers": buffers or [],
    }


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A notebook as JupyterLab saves it: defaults left out, bytes apart, a style with the view."""
    bytes_ = {"encoding": "base64", "path": ["data", "weights", 0], "data": "AAEC"}
    models = {
        "view": model(
            "AnyModel",
            "anywidget",
            {
                "_esm": SoftmaxLab._esm,
                "_shared": None,
                "_anywidget_id": f"{SoftmaxLab.__module__}.SoftmaxLab",
                "layout": "IPY_MODEL_layout",
                "data": {"words": "one", "weights": [None]},
            },
            [bytes_],
        ),
        "box": model(
            "VBoxModel",
            "@jupyter-widgets/controls",
            {"children": ["IPY_MODEL_text", "IPY_MODEL_view", "IPY_MODEL_gone"]},
        ),
        "text": model("HTMLModel", "@jupyter-widgets/controls", {"value": "<i>hello</i>"}),
        "layout": model("LayoutModel", "@jupyter-widgets/base", {}),
    }
    outputs = {
        "a box": [output(**{VIEW: {"model_id": "box"}}), output(**{"text/html": STILL})],
        "a view": [output(**{VIEW: {"model_id": "view"}})],
        "lost": [output(**{VIEW: {"model_id": "gone"}})],
        "lost, with a still": [
            output(**{VIEW: {"model_id": "gone"}}),
            output(**{"text/html": STILL}),
        ],
    }
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source, outputs=shown) for source, shown in outputs.items()],
        metadata={"widgets": {STATE: {"state": models, "version_major": 2, "version_minor": 0}}},
    )
    path = tmp_path / "saved.ipynb"
    nbformat.write(notebook, path)
    return path


def test_views_replace_jupyter_s_own_output(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, path = saved.read_bytes(), saved.with_suffix(".html")
    assert main(["html", str(saved)]) == 0
    assert capsys.readouterr().out == f"wrote {path}\n"
    assert saved.read_bytes() == before
    (shown,) = page_data(path)["views"]
    weights = {"base64": base64.b64encode(bytes([0, 1, 2])).decode()}
    assert shown["state"] == {"data": {"words": "one", "weights": [weights]}}
    text = path.read_text(encoding="utf-8")
    assert text.count('data-view="0"') == 2
    assert '<p class="vt-text">hello</p>' in text
    # Before the view in the box its picture, before the other what it is called.
    assert text.count('<figure class="vt-instead"><div class="vt-still"><img alt="two words">') == 1
    assert text.count('<figure class="vt-instead"><p>SoftmaxLab</p></figure>') == 1
    assert text.count("saved without its state") == 2
    assert text.count('<img alt="two words">') == 2
    assert "IPY_MODEL" not in text
    # It names no script or style to fetch.
    assert "default-src 'none'" in text
    for sign in ("cdnjs", "unpkg", "jsdelivr", "<script src", "<link", "@import", "url(http"):
        assert sign not in text
    assert VIEW not in text


def test_a_view_of_another_version_becomes_its_picture_with_a_line(saved: Path) -> None:
    notebook = nbformat.read(saved, as_version=4)
    states = notebook.metadata["widgets"][STATE]["state"]
    # The view is of this version, and what it computes with is not.
    states["engine"] = model("AnyModel", "anywidget", {"_esm": "1", "_anywidget_id": "x.PageModel"})
    states["view"]["state"]["engine"] = {"models": {"model": "IPY_MODEL_engine"}}
    nbformat.write(notebook, saved)
    told: list[str] = []
    text = notebook_html(saved, tell=told.append).read_text(encoding="utf-8")
    assert "the script of PageModel (1), the script of SoftmaxLab (1)." in told[0]
    assert text.count("or by another version. Run the notebook and save it again") == 4
    assert text.count('<img alt="two words">') == 2
    assert "data-view" not in text
    assert "script-src 'none'" in text


def test_the_script_that_views_share_is_taken_if_it_is_of_this_version(saved: Path) -> None:
    own = SoftmaxLab._esm
    notebook = nbformat.read(saved, as_version=4)
    states = notebook.metadata["widgets"][STATE]["state"]
    states["view"]["state"] |= {"_esm": LOADER, "_shared": "IPY_MODEL_shared"}
    theirs = "export default { render() { document.title = 'theirs'; } };"
    for script, is_taken in ((packed(own), True), (packed(theirs), False), (b"damaged", False)):
        sent = [base64.b64encode(each).decode() for each in (script, packed("body { color: red }"))]
        buffers = [
            {"encoding": "base64", "path": [name], "data": data}
            for name, data in zip(("script", "sheet"), sent, strict=True)
        ]
        states["shared"] = model("AnyModel", "anywidget", {"_esm": SharedScript._esm}, buffers)
        nbformat.write(notebook, saved)
        told: list[str] = []
        page = notebook_html(saved, tell=told.append)
        text = page.read_text(encoding="utf-8")
        scripts = page_scripts(page) if "vt-scripts" in text else []
        assert (inline_module(own).text in scripts) == is_taken
        assert "theirs" not in text + "".join(scripts)
        assert "color: red" not in text
        assert ("data-view" in text, bool(told)) == (is_taken, not is_taken)


def test_what_no_jupyter_wrote_is_left_out_or_refused_in_one_line(saved: Path) -> None:
    def spoil(name: str, value: object) -> None:
        notebook = json.loads(whole)
        states = notebook["metadata"]["widgets"][STATE]["state"]
        holders = {
            "widgets": notebook["metadata"],
            STATE: notebook["metadata"]["widgets"],
            "view": states,
            "state": states["view"],
            "buffers": states["view"],
            VIEW: notebook["cells"][0]["outputs"][0]["data"],
        }
        holders[name][name] = value
        saved.write_text(json.dumps(notebook), encoding="utf-8")

    whole = saved.read_text(encoding="utf-8")
    odd = [
        *(("view", each) for each in (None, [], "x")),
        *(("state", each) for each in (None, [], "x")),
        *(
            ("buffers", [{"path": path, "data": "AAEC"}])
            for path in (["nowhere", 1], ["__proto__", "x"], "x")
        ),
        *((VIEW, each) for each in ("abc", {"model_id": ["a"]})),
        *((STATE, each) for each in (None, [], "x")),
        *(("widgets", each) for each in ([], "x", 5)),
    ]
    refused = []
    for name, value in odd:
        spoil(name, value)
        try:
            notebook_html(saved, tell=lambda _: None)
        except FileError as error:
            refused.append(str(error))
    assert len(refused) > 8
    assert all(re.fullmatch(r"'.*saved.ipynb' (holds|is not) .*", line) for line in refused), refused


def test_a_cell_that_raises_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "fails.ipynb", "1", "raise ValueError('no\\nmore')")
    with pytest.raises(UserError, match=r"cell of .*fails.ipynb' raised ValueError: no; fix it"):
        notebook_html(path, execute=True)
    assert [each.name for each in tmp_path.iterdir()] == ["fails.ipynb"]


def test_a_notebook_without_views_needs_none(tmp_path: Path) -> None:
    path = write_notebook(tmp_path / "plain.ipynb", "print(6 * 7)")
    text = notebook_html(path, execute=True).read_text(encoding="utf-8")
    assert "42" in text
    assert "vt-page" not in text


def test_only_words_of_the_code_that_are_coloured_are_marked_up(tmp_path: Path) -> None:
    source = "import torch as t\nx = t.ones(2) < 3  # two"
    page = notebook_html(write_notebook(tmp_path / "code.ipynb", source)).read_text(encoding="utf-8")
    code = page[page.index("<pre>") : page.index("</pre>")]
    style = page[: page.index("<body")]
    marked = set(re.findall(r'<span class="(\w+)">', code))
    assert marked == {"kn", "k", "mi", "c1"}
    assert all(re.search(rf"\.{kind}\b", style) for kind in marked)
    assert html.unescape(re.sub(r"<[^>]*>", "", code)).strip() == source


def test_text_that_was_sent_in_pieces_is_one_block(tmp_path: Path) -> None:
    sent = ("one, ", "two\n", "three")
    pieces = [nbformat.v4.new_output("stream", name="stdout", text=text) for text in sent]
    cell = nbformat.v4.new_code_cell("print()", outputs=pieces)
    notebook = tmp_path / "pieces.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    assert "<pre>one, two\nthree" in notebook_html(notebook).read_text(encoding="utf-8")


def test_code_that_is_folded_in_the_notebook_is_folded_on_the_page(tmp_path: Path) -> None:
    map_alone = "vt.you_are_here(4)"  # the page shows the map, and no code for it
    path = write_notebook(tmp_path / "plain.ipynb", "answer = 42", "question = 6 * 7", map_alone)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].metadata["jupyter"] = {"source_hidden": True}
    nbformat.write(notebook, path)
    text = notebook_html(path).read_text(encoding="utf-8")
    folded = re.findall(r"<details.*?</details>", text, flags=re.DOTALL)
    assert ["answer" in each for each in folded] == [True]
    assert "question" in text.replace(folded[0], "")
    assert "answer" not in text.replace(folded[0], "")
    assert "you_are_here" not in text


def test_unreadable_and_unwritable_files_are_refused(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read .*none.ipynb"):
        notebook_html(tmp_path / "none.ipynb")
    (tmp_path / "odd.ipynb").write_text("{}")
    with pytest.raises(FileError, match=r"odd.ipynb' is not a notebook"):
        notebook_html(tmp_path / "odd.ipynb")
    with pytest.raises(FileError, match=r"cannot write"):
        notebook_html(saved, tmp_path / "nowhere" / "page.html")
    with pytest.raises(UserError, match=r"would take 0\.\d MB, more than the 0\.01 MB"):
        notebook_html(saved, max_megabytes=0.01)
    assert not list(tmp_path.glob("*.html"))
