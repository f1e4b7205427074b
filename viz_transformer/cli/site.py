"""The command `site`, which writes the lessons as a static site."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from viz_transformer._extras import need
from viz_transformer._files import given_path
from viz_transformer._renamed import NOTEBOOKS
from viz_transformer.cli.course import course, find_lesson
from viz_transformer.errors import FileError


def add_site(commands: Any) -> None:
    """Add the command to a parser's."""
    site = commands.add_parser(
        "site",
        help="write the lessons as pages that need neither Python nor a network",
        description="Run the lessons and write each as a page whose views still work, and a page "
        "that links to them. They open from a disk and fetch nothing.",
    )
    site.add_argument("folder", metavar="DIR", help="where to write; created if needed")
    site.add_argument(
        "--lesson",
        action="append",
        metavar="LESSON",
        help="a lesson's number, clinic or project; repeat it for several (default: all)",
    )
    site.add_argument("--max-megabytes", type=float, default=50, metavar="N", help="of each page")
    site.add_argument(
        "--overwrite",
        action="store_true",
        help="replace a first page that leads to more lessons than are written",
    )
    site.set_defaults(run=_site)


def _site(options: argparse.Namespace) -> int:
    need("nbconvert")
    names = options.lesson
    lessons = course() if names is None else [find_lesson(name) for name in names]
    if not options.overwrite:
        written = {f"{lesson.path.stem}.html" for lesson in lessons} | (
            {"studio.html"} if names is None else set()
        )
        check_linked(given_path(options.folder), written)

    import viz_transformer as vt
    from viz_transformer.export.site import write_earlier_names, write_site

    index = write_site(
        [lesson.path for lesson in lessons],
        options.folder,
        title="Attention, lesson by lesson",
        studio=vt.studio(vt.load_translator()) if names is None else None,
        max_megabytes=options.max_megabytes,
        progress=lambda written: print(f"wrote {written}", flush=True),
        tell=print,
    )
    write_earlier_names(index.parent)
    print(f"wrote {index}")
    return 0


def check_linked(folder: Path, written: set[str]) -> None:
    """Refuse to write a first page that no longer leads to pages to which the one that is there does."""
    try:
        text = (folder / "index.html").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    linked = set(re.findall(r'href="([^"/]+[.]html)"', text))
    linked -= {f"{old}.html" for old, now in NOTEBOOKS.items() if f"{now}.html" in written}
    if lost := sorted(name for name in linked - written if (folder / name).is_file()):
        raise FileError(
            f"the first page in {str(folder)!r} would no longer lead to {len(lost)} pages that are there, "
            f"such as {lost[0]}; give another folder, or replace it with --overwrite"
        )
