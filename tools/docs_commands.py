"""The page of the command line: the text of each command's ``--help``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from viz_transformer.cli import make_parser


def page() -> str:
    """Return the page's Markdown: a heading and the help for each command."""
    parts = [f"## {each.prog}\n\n```text\n{each.format_help()}```" for each in _parsers(make_parser())]
    return "\n\n".join(["# The command line", *parts])


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and those of its commands, each with lines that fit a page."""
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=80)
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _parsers(each)
