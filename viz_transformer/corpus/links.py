"""Gold word alignments, read from a file of links."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from viz_transformer._files import given_path
from viz_transformer.corpus.files import text_lines
from viz_transformer.errors import UserError

_LINK = re.compile(r"(\d{1,9})([-p])(\d{1,9})")


@dataclass(frozen=True)
class GoldLinks:
    """The word links of one sentence pair, as people annotated them.

    Attributes:
        sure: pairs (target index, source index) of words that must be linked, from 0.
        possible: those that may be.
    """

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]] = frozenset()


_NONE = GoldLinks(frozenset())


def read_links(path: str | os.PathLike[str]) -> list[GoldLinks]:
    """Read the links of one sentence per line: ``0-0 1p2 2-1``, source word first; plain or ``.gz``.

    ``-`` marks a sure link and ``p`` a possible one. Words are separated by spaces and counted from
    0. A sentence without links is an empty line.

    Raises:
        FileError: if the file is missing or cannot be read.
        UserError: if something in a line is no link.
    """
    found = []
    for number, line in enumerate(text_lines(given_path(path)), 1):
        if not line:
            found.append(_NONE)
            continue
        links: dict[str, set[tuple[int, int]]] = {"-": set(), "p": set()}
        for part in line.split():
            link = _LINK.fullmatch(part)
            if link is None:
                raise UserError(
                    f"{str(path)!r} line {number} holds {part!r:.40}, which is not a link; write 0-2, "
                    "or 0p2 where it is only possible, the source's word first, from 0"
                )
            links[link[2]].add((int(link[3]), int(link[1])))
        found.append(GoldLinks(frozenset(links["-"]), frozenset(links["p"])))
    return found
