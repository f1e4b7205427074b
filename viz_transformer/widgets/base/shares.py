"""What a view shares with the others of a studio: its sentence, and what is chosen in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Shares:
    """Which traits of a view are those that all rooms of a studio share.

    The view takes them from the room before it, and gives them to the next one.

    Attributes:
        traits: by the studio's names the view's: ``"row"``, or ``"explorer.head"`` of a view inside it. Where
            kind and layer are one trait, it is under ``"place"`` (see `View.shared_places`).
        news: what else is set when another choice is carried in.
        where: the values of traits with which the view shows the sentence of all rooms. They are set with
            `news`, and with others the view gives nothing.
    """

    traits: Mapping[str, str] = field(default_factory=dict)
    news: Mapping[str, Any] = field(default_factory=dict)
    where: Mapping[str, Any] = field(default_factory=dict)


#: A head, its words, and the text, for a view that calls them as the studio does.
HEAD = {name: name for name in ("kind", "layer", "head")}
PAIR = {name: name for name in ("query", "key")}
