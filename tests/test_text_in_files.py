"""PDF and SVG files of figures: their words are text, and no other figure or setting changes."""

from __future__ import annotations

import ast
import re
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.t2CharStringPen import T2CharStringPen
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

import viz_transformer as vt
from tests.support.hand_made_traces import attention
from viz_transformer.trace import ForwardTrace

WORDS = ("gato", "пёс", "żółw", "a&b<c")
MAKERS = {"plt.figure", "plt.subplots", "plt.subplot_mosaic", "Figure"}
SETTINGS = ("pdf.fonttype", "ps.fonttype", "svg.fonttype")


def trace_of(words: tuple[str, ...] = WORDS) -> ForwardTrace:
    n = len(words)
    return ForwardTrace(source_tokens=words, encoder_attention=attention(1, 2, n, n))


def words_in_svg(path: Path) -> list[str]:
    return ["".join(each.itertext()) for each in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def words_in_pdf(path: Path) -> str:
    """Every character that the fonts of a file map back to, and so every one that can be searched."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", path.read_bytes(), re.DOTALL)
    found = ""
    for stream in streams:
        try:
            text = zlib.decompress(stream)
        except zlib.error:
            continue
        for first, last, code in re.findall(rb"<([0-9a-f]{4})> <([0-9a-f]{4})>\s*\[?<([0-9a-f]{4})>", text):
            count = int(last, 16) - int(first, 16) + 1
            found += "".join(chr(int(code, 16) + i) for i in range(count))
        for code in re.findall(rb"<([0-9a-f]{4})>", text):
            found += chr(int(code, 16))
    return found


def saved_by_pyplot(figure: Figure, path: Path) -> None:
    plt.figure(figure)
    plt.savefig(path)


def figures() -> dict[str, Callable[[], Figure]]:
    """Figures that are made in one call each, and in each of the ways in which the package makes one."""
    trace = trace_of()
    return {
        "heads": lambda: vt.plots.plot_heads(trace, "encoder"),
        "view": lambda: vt.explore(trace).figure(),
        "softmax": lambda: vt.plots.plot_softmax([1.0, 2.0], ["gato", "perro"]),
        "split": lambda: vt.plots.plot_split(["gato", "perro"], d_model=8, n_heads=2),
    }


def assert_text(path: Path, where: object) -> None:
    if path.suffix == ".svg":
        assert words_in_svg(path), where
    else:
        found = [kind in path.read_bytes() for kind in (b"/CIDFontType2", b"/Type3")]
        assert found == [True, False], where


def test_words_are_text_however_a_figure_is_made_and_saved(tmp_path: Path) -> None:
    before = {name: mpl.rcParams[name] for name in SETTINGS}
    ways = {
        "figure": lambda figure, path: figure.savefig(path),
        "format": lambda figure, path: figure.savefig(str(path), format=path.suffix[1:], dpi=90),
        "save_figure": vt.plots.save_figure,
        "pyplot": saved_by_pyplot,
    }
    for how, save in ways.items():
        for ending in ("svg", "pdf") if how == "figure" else ("pdf",) if how == "pyplot" else ("svg",):
            path = tmp_path / f"{how}.{ending}"
            figure = vt.plots.plot_head(trace_of(), "encoder", 0, 1).figure
            save(figure, path)
            plt.close(figure)
            assert_text(path, how)
    for name, make in figures().items():
        figure, path = make(), tmp_path / "made.pdf"
        figure.savefig(path)
        plt.close(figure)
        assert_text(path, name)
    assert {name: mpl.rcParams[name] for name in SETTINGS} == before


def test_every_figure_of_the_package_is_made_as_one_that_keeps_its_text() -> None:
    package, makers = Path(vt.__file__).parent, []
    for path in package.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in MAKERS:
                makers.append(path.name)
                assert "FigureClass" in {each.arg for each in call.keywords}, (path, call.lineno)
    assert set(makers) == {"figures.py"}


def test_the_words_themselves_can_be_read_from_the_files(tmp_path: Path) -> None:
    figure = vt.plots.plot_head(trace_of(), "encoder", 0, 0).figure
    figure.savefig(tmp_path / "head.pdf")
    figure.savefig(tmp_path / "head.svg")
    assert set("".join(WORDS)) <= set(words_in_pdf(tmp_path / "head.pdf"))
    assert words_in_svg(tmp_path / "head.svg").count("żółw") == 2
    assert set(WORDS) <= set(words_in_svg(tmp_path / "head.svg"))


def test_figures_of_others_stay_as_they_set_them_except_through_save_figure(tmp_path: Path) -> None:
    path = tmp_path / "own.svg"
    figure, axes = plt.subplots()
    vt.plots.plot_head(trace_of(), "encoder", 0, 0, ax=axes)
    figure.savefig(path)
    assert words_in_svg(path) == []
    figure.savefig(path.with_suffix(".pdf"))
    assert b"/Type3" in path.with_suffix(".pdf").read_bytes()
    vt.plots.save_figure(figure, path)
    assert "gato" in words_in_svg(path)
    figure.savefig(path)  # and after it
    assert words_in_svg(path) == []
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(path)
    assert "gato" in words_in_svg(path)


def japanese_font(folder: Path) -> Path:
    """A font of one character, 猫, a square, whose outlines are PostScript's."""
    builder = FontBuilder(1000, isTTF=False)
    builder.setupGlyphOrder([".notdef", "cat"])
    builder.setupCharacterMap({ord("猫"): "cat"})
    pen = T2CharStringPen(1000, None)
    pen.moveTo((100, 0))
    for corner in ((900, 0), (900, 800), (100, 800)):
        pen.lineTo(corner)
    pen.closePath()
    square = pen.getCharString()
    builder.setupCFF("Cat", {"FullName": "Cat"}, {".notdef": square, "cat": square}, {})
    builder.setupHorizontalMetrics({".notdef": (1000, 0), "cat": (1000, 100)})
    builder.setupHorizontalHeader(ascent=900, descent=-100)
    builder.setupNameTable({"familyName": "Noto Sans CJK JP", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(folder / "cat.otf")
    return folder / "cat.otf"


def test_a_font_that_type_42_cannot_hold_is_embedded_as_outlines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fontManager, "ttflist", [*fontManager.ttflist])
    fontManager.addfont(str(japanese_font(tmp_path)))
    rows = {("gato", "пёс"): b"/CIDFontType2", ("gato", "猫"): b"/Type3", ("猫",): b"/Type3"}
    for words, kind in rows.items():
        figure = vt.plots.plot_head(trace_of(words), "encoder", 0, 0).figure
        figure.savefig(tmp_path / "cat.pdf")
        data = (tmp_path / "cat.pdf").read_bytes()
        assert [each in data for each in (b"/CIDFontType2", b"/Type3")] == [
            each == kind for each in (b"/CIDFontType2", b"/Type3")
        ], words
        figure.savefig(tmp_path / "cat.svg")
        assert set(words) <= set(words_in_svg(tmp_path / "cat.svg")), words
