"""Exported pages as files: what they hold, and what they refuse. tests/ui opens them."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from pathlib import Path
from unittest import mock

import anywidget
import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pytest
import traitlets

from tests.support.exported_pages import bytes_of, page_data, page_scripts, policy_of
from tests.support.hand_made_traces import HOSTILE, hostile_trace, make_trace
from viz_transformer import plots
from viz_transformer.errors import FileError, UserError
from viz_transformer.export import export_html
from viz_transformer.export.inline_module import inline_style
from viz_transformer.widgets.explorer import explore


def elements(path: Path, name: str) -> list[tuple[str, str]]:
    """The attributes and the text of each element of this name."""
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"<{name}([^>]*)>(.*?)</{name}>", text, re.S)


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_a_page_holds_state_bytes_and_module(tmp_path: Path) -> None:
    trace = make_trace()
    view = explore(trace, kind="decoder", layer=1, head=3, query=2)
    path = export_html(view, tmp_path / "page.html")
    assert path == tmp_path / "page.html"
    state = page_data(path)["views"][0]["state"]
    assert set(state) >= {"about", "data", "kind", "layer", "head", "query", "key"}
    assert not {name for name in state if name[0] == "_"} | {"layout", "tooltip"} & set(state)
    assert (state["kind"], state["layer"], state["head"]) == ("decoder", 1, 3)
    assert (state["query"], state["key"]) == (2, None)
    weights = bytes_of(state["data"]["traces"][0]["attention"]["decoder"]["weights"])
    shown = np.frombuffer(weights, "<f4").reshape(2, 4, 5, 5)
    np.testing.assert_array_equal(shown, trace.decoder_attention)


class Word(anywidget.AnyWidget):
    """Another class of view; it asks for what it shows, and shows nothing without an answer."""

    _esm = "export default { render({ model, el }) { el.textContent = model.get('word'); } };"
    _css = ".word::after { content: '</style><b>' }"
    word = traitlets.Unicode("hello").tag(sync=True)

    def alt_text(self) -> str:
        return f"The word <{self.word}>."

    def questions(self) -> list[dict]:
        return [{"letter": index} for index in range(-1, 2)]

    def answer(self, request: dict) -> dict:
        if request["letter"] < 0:
            raise UserError("letters count from 0")
        letter = self.word[request["letter"]]
        return {"letters": [letter, letter.encode(), float("nan")]}


def sections(path: Path) -> list[str]:
    """The page's main part, line by line, after its heading."""
    (main,) = re.findall(r"<main>\n(.*)\n</main>", path.read_text(encoding="utf-8"), re.S)
    return main.splitlines()[1:]


def test_views_of_one_class_share_their_script_and_a_view_its_state(tmp_path: Path) -> None:
    views = [explore(make_trace()), Word(), explore(make_trace(), head=2)]
    path = export_html([*views, views[0]], str(tmp_path / "page.html"))
    shown = page_data(path)["views"]
    assert [view["script"] == shown[0]["script"] for view in shown] == [True, False, True]
    assert [view["state"].get("head") for view in shown] == [0, None, 2]
    assert re.findall(r'data-view="(\d)"', path.read_text(encoding="utf-8")) == list("0120")
    assert len(elements(path, "script")) == 3  # the data, the views' scripts, the page's own
    assert len(page_scripts(path)) == 2 + 1  # two classes, and what says that they have run
    ((_, style),) = elements(path, "style")
    sheets = (
        "color-scheme:light dark",
        ".vt-note{",
        ".vt-staged *,",
        ".vt-explorer .vt-data-table",
        ".word::after",
    )
    assert [style.count(part) > 0 for part in sheets] == [True] * 5
    assert (
        style.count(".vt-staged *,") == style.count(".word::after") == 1
    )  # what views share, and a class's own


def test_the_policy_names_each_script_and_style_by_its_hash(tmp_path: Path) -> None:
    path = export_html([explore(make_trace()), Word()], tmp_path / "page.html")
    policy = policy_of(path)
    own = [text for kind, text in elements(path, "script") if "module" in kind]
    assert set(policy["script-src"]) == {hash_of(text) for text in [*page_scripts(path), *own]}
    assert set(policy["style-src"]) == {hash_of(text) for _, text in elements(path, "style")}
    assert policy["default-src"] == ["'none'"]
    assert policy["img-src"] == ["data:"]
    allowed = {source for sources in policy.values() for source in sources}
    assert all(source in ("'none'", "data:") or "'sha256-" in source for source in allowed)
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"<[^>]+ (?:style|on\w+)=", text.partition("<script")[0])


def test_an_exported_page_carries_the_replies_that_a_view_requests(tmp_path: Path) -> None:
    state = page_data(export_html(Word(), tmp_path / "page.html"))["views"][0]["state"]
    assert state == {
        "word": "hello",
        "answers": [
            [{"letter": -1}, {"error": "letters count from 0"}],
            [{"letter": 0}, {"letters": ["h", {"base64": "aA=="}, None]}],
            [{"letter": 1}, {"letters": ["e", {"base64": "ZQ=="}, None]}],
        ],
    }


def test_a_page_that_takes_long_says_how_far_it_is_and_can_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    export_html(Word(), tmp_path / "page.html")
    assert capsys.readouterr() == ("", "")
    for name in ("_work._PAUSE_S", "export.page._QUIET_S", "export.page._LINE_PAUSE_S"):
        monkeypatch.setattr(f"viz_transformer.{name}", 0)
    export_html(Word(), tmp_path / "page.html")
    said = [line for line in capsys.readouterr().err.splitlines() if "Word" in line]
    assert said == [f"Writing page.html: 0 s. Word: answer {number} of 3" for number in (1, 2, 3)]

    with mock.patch.object(Word, "answer", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        export_html(Word(), tmp_path / "other.html")
    assert not (tmp_path / "other.html").exists()


def test_where_no_script_runs_each_view_is_a_picture_or_described(tmp_path: Path) -> None:
    view = explore(make_trace())
    first, second = sections(export_html([view, Word()], tmp_path / "page.html"))
    alt = html.escape(view.alt_text())
    assert '<figure class="vt-instead"><svg aria-hidden="true" width="400" ' in first
    assert f"</svg><p>{alt}</p></figure>" in first
    assert '<figure class="vt-instead"><p>The word &lt;hello&gt;.</p></figure>' in second
    assert "style=" not in first  # no more than a script would it be allowed
    assert len(first) < 62_000


def test_of_a_lab_the_views_and_the_words_are_kept(tmp_path: Path) -> None:
    hidden = ipywidgets.Layout(display="none")
    lab = ipywidgets.VBox(
        [
            ipywidgets.Text("the cat sleeps", description="English"),
            ipywidgets.HTML("<b>el gato</b> <i lang='es'>duerme &lt;eos&gt;</i>"),
            ipywidgets.HBox([ipywidgets.Button(description="dog"), ipywidgets.Label("a <b> c")]),
            ipywidgets.HTML("<style>p { color: red }</style>", description="Problem"),
            ipywidgets.HTML("not now", layout=hidden),
            ipywidgets.VBox([Word(word="hidden")], layout=hidden),
            ipywidgets.ToggleButtons(options=["one", "two"], value="two"),
            Word(word="inside"),
        ]
    )
    path = export_html([lab, Word(word="alone")], tmp_path / "page.html")
    words = [re.sub(r"<figure.*</figure>|<(?!/?p)[^>]*>", "", line) for line in sections(path)]
    assert words == [
        '<p class="vt-text">English: the cat sleeps</p>',
        '<p class="vt-text">el gato duerme &lt;eos&gt;</p>',
        '<p class="vt-text">a &lt;b&gt; c</p>',
        '<p class="vt-text">two</p>',
        "",
        '<p class="vt-note">The controls here need a running notebook.</p>',
        "",
    ]
    shown = [view["state"]["word"] for view in page_data(path)["views"]]
    assert shown == ["inside", "alone"]


def test_a_module_with_missing_imports_is_refused(tmp_path: Path) -> None:
    foreign = 'import React from "https://esm.sh/react";\nexport default {};'
    for module, message in {
        "export const render = 1;": r"must hold one 'export default', and this one holds 0",
        "export default 1;\nexport default 2;": r"holds 2",
        foreign: r"imports others cannot be exported.*'import React from",
    }.items():
        odd = type("Odd", (anywidget.AnyWidget,), {"_esm": module})
        with pytest.raises(UserError, match=message):
            export_html(odd(), tmp_path / "page.html")
        assert not list(tmp_path.iterdir()), module


def test_hostile_text_stays_inside_its_place(tmp_path: Path) -> None:
    title = "</title><script>window.pwned=3</script>"
    path = export_html(explore(hostile_trace()), tmp_path / "page.html", title=title)
    text = path.read_text(encoding="utf-8")
    assert "<script>window.pwned" not in text
    assert "<img" not in text
    assert "\u2028" not in text
    assert len(elements(path, "script")) == text.count("</script>") == 3
    (trace,) = page_data(path)["views"][0]["state"]["data"]["traces"]
    assert trace["sourceTokens"][:-1] == [*HOSTILE[:-1]]


def test_a_heading_that_would_turn_its_direction_is_named_in_pages_and_figures(tmp_path: Path) -> None:
    """As `visible` does it for tokens; what a heading may hold besides stays."""
    headings = {
        "ab\u202ecd": "ab<U+202E>cd",
        "\u202b\u2067x": "<U+202B><U+2067>x",
        "\u2066\u2069": "<U+2066><U+2069>",
        "Figure\u00a01: \u05d0\u05d1\u200f, 👩\u200d💻": "Figure\u00a01: \u05d0\u05d1\u200f, 👩\u200d💻",
    }
    for number, (given, right) in enumerate(headings.items()):
        path = export_html(explore(make_trace()), tmp_path / f"{number}.html", title=given)
        for name in ("title", "h1"):
            assert elements(path, name) == [("", html.escape(right))], given
        figures = (
            plots.plot_curves({"loss": [1, 2]}, title=given).figure,
            plots.plot_probabilities({"a": 0.5}, title=given).figure,
            plots.plot_likeness(np.eye(2), ["a", "b"], title=given).figure,
            plots.plot_reliability([0.5], [1], title=given),
        )
        for figure in figures:
            shown = figure.get_suptitle() or figure.axes[0].get_title("left")
            assert shown.split(" · ")[0] == right
        plt.close("all")
    with pytest.raises(UserError, match="title is 5"):
        export_html(explore(make_trace()), tmp_path / "page.html", title=5)


def test_a_page_names_nothing_to_fetch(tmp_path: Path) -> None:
    text = export_html(explore(make_trace()), tmp_path / "page.html").read_text(encoding="utf-8")
    text = re.sub(r"http://www\.w3\.org/\d{4}/\w+(/\w+)?", "", text)  # names of kinds of elements
    assert not re.search(r"https?://|<link|\bsrc=|@import|url\((?!#)", text)  # url(#…) is in the page
    assert "default-src 'none'" in text


def test_a_page_that_cannot_be_written_leaves_all_as_it_was(tmp_path: Path) -> None:
    view = explore(make_trace())
    with pytest.raises(FileError, match=r"cannot write .*nowhere.*choose a folder that exists"):
        export_html(view, tmp_path / "nowhere" / "page.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(FileError, match=r"folder\.html"):
        export_html(view, tmp_path / "folder.html")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]


def test_values_other_than_views_are_refused(tmp_path: Path) -> None:
    for wrong in ([], (), "view", None, 3, [1], {"a": 1}, ipywidgets.VBox([ipywidgets.Text()])):
        with pytest.raises(UserError, match=r"vt\.explore"):
            export_html(wrong, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_a_large_trace_is_exported_with_all_its_heads(tmp_path: Path) -> None:
    words = tuple(map(str, range(80)))
    view = explore(make_trace(words, words, words))
    path = export_html(view, tmp_path / "page.html")
    data = page_data(path)
    answers = data["views"][0]["state"]["answers"]
    heads = [request["head"] for request, _ in answers if "head" in request]
    assert sorted(map(tuple, heads)) == sorted(
        (kind, layer, head)
        for kind in ("encoder", "decoder", "cross")
        for layer in range(2)
        for head in range(4)
    )
    assert 0.5 < view.export_bytes() / path.stat().st_size <= 1


def test_a_page_that_would_be_too_large_is_refused_before_it_is_made(tmp_path: Path) -> None:
    words = tuple(map(str, range(80)))
    view = explore(make_trace(words, words, words))
    with (
        mock.patch.object(type(view), "answer", side_effect=AssertionError),
        pytest.raises(UserError, match=r"would take 0\.\d MB, more than the 0\.1 MB"),
    ):
        export_html(view, tmp_path / "page.html", max_megabytes=0.1)
    assert not list(tmp_path.iterdir())
    small = explore(make_trace())
    with pytest.raises(UserError, match=r"page\.html' would take 0\.\d MB, more than.*max_megabytes=1"):
        export_html(small, tmp_path / "page.html", max_megabytes=0.01)
    assert export_html(small, tmp_path / "page.html", max_megabytes=1).exists()


def test_a_style_is_carried_without_comments_and_its_strings_stay() -> None:
    style = """/* why */
    .x { /* over
      two lines */
      content: "/* kept */";  /* its mark */
      quotes: '\\'/*' none;
    }
    """
    told = [".x{", 'content:"/* kept */";', "quotes:'\\'/*' none;}"]
    assert [line for line in inline_style(style).splitlines() if line] == told
