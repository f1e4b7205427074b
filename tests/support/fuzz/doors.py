"""Every door of the package, and what is given to it."""

from __future__ import annotations

from tests.support.fuzz import answer_doors, capture_door, file_doors, number_door, page_doors, value_doors
from tests.support.fuzz.campaign import Door

DOORS: tuple[Door, ...] = (
    Door("text", value_doors.text, 4),
    Door("trace constructors", value_doors.constructor, 4),
    Door("captured weights", capture_door.captured, 4),
    Door("numbers", number_door.number, 4),
    Door("saved traces", file_doors.saved_trace, 3),
    Door("checkpoints", file_doors.checkpoint, 2),
    Door("flipped bits", file_doors.flipped, 2),
    Door("corpora", file_doors.corpus, 2),
    Door("files written", file_doors.written, 1),
    Door("messages from the page", page_doors.message, 6),
    Door("choices in the page", page_doors.state, 2),
    Door("exercises", answer_doors.exercise, 3),
    Door("command line", answer_doors.command, 1),
)
