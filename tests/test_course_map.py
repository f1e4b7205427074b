"""The map of the course: every lesson has its parts, and every link leads to a lesson."""

from __future__ import annotations

import re

import pytest

from tests.support.source_code import ROOT
from viz_transformer import UserError, you_are_here
from viz_transformer.cli.course import course
from viz_transformer.course_map import LESSONS, lesson_title
from viz_transformer.export.site import Page, _linked_to_pages


def test_every_lesson_of_the_course_has_its_parts_marked_and_is_led_to() -> None:
    assert list(LESSONS) == sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
    titles = [lesson.title for lesson in course() if lesson.key.isdigit()]
    for lesson, title in enumerate(titles, start=1):
        assert lesson_title(lesson) == title
        here = you_are_here(lesson)
        text = here._repr_html_()
        marked = re.findall(r'<a href="[^"]*" aria-current="true"[^>]*>(.*?) <small>', text)
        assert set(marked) == {part.replace("&", "&amp;") for part in here.parts}
        assert f"lesson {lesson} of {len(LESSONS)}" in text
        assert all(part in repr(here) for part in here.parts)
        assert set(re.findall(r'href="([^"]*)\.ipynb"', text)) == set(LESSONS)


def test_the_map_survives_without_style_sheets_scripts_and_identifiers() -> None:
    whole = you_are_here(8)._repr_html_()
    # The one style is for the figures in other cells of a dark notebook, which finds them by the one class.
    figures, text = re.fullmatch(r"<style>(.*?)</style>(.*)", whole, re.DOTALL).groups()
    assert ".jp-Notebook:has(.vt-you-are-here) .jp-RenderedImage img" in figures
    text = text.replace('class="vt-you-are-here"', "", 1)
    assert not re.search(r"<(?:style|script|svg)|\b(?:id|class|on\w+)=|var\(", text)
    pages = [Page(ROOT / "notebooks" / f"{name}.ipynb", name, "") for name in LESSONS]
    on_a_site = _linked_to_pages(whole, pages)
    assert 'href="08_masks.html"' in on_a_site
    assert ".ipynb" not in on_a_site
    for lesson in (0, len(LESSONS) + 1, "7"):
        with pytest.raises(UserError, match=f"there is no lesson .*the lessons are 1 to {len(LESSONS)}"):
            you_are_here(lesson)
