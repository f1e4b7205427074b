"""The clock of positions: what is chosen, and that the page's hands are numpy's."""

from __future__ import annotations

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.javascript import answers_in_node
from viz_transformer.analysis.positions import look_alikes
from viz_transformer.model.positional import sinusoidal_encoding
from viz_transformer.widgets.base.traits import SelectionError

TABLE = sinusoidal_encoding(64, 64).numpy()


def test_it_tells_what_the_chosen_hand_does() -> None:
    clock = vt.position_clock(TABLE, 3, position=7)
    assert clock.alike == look_alikes(TABLE, 7, 3) == (22, 37, 51, 52)
    assert "one turn every 14.9 tokens" in clock.alt_text()
    assert "position 7 from 4 others" in clock.alt_text()
    clock.pair, clock.position = np.int64(0), 40
    assert clock.figure().alt_text == clock.alt_text()
    assert repr(clock) == "PositionClock(pair=0, position=40)"


def test_any_table_will_do() -> None:
    clock = vt.position_clock(np.random.default_rng(0).normal(size=(5, 3)))
    assert not clock.data["sinusoidal"]
    assert "turn" not in clock.alt_text()


@pytest.mark.parametrize(("name", "value"), [("pair", 32), ("pair", -1), ("position", 64)])
def test_what_the_table_lacks_is_refused_and_nothing_moves(name: str, value: int) -> None:
    clock = vt.position_clock(TABLE)
    with pytest.raises(SelectionError, match="this table has"):
        setattr(clock, name, value)
    assert (clock.pair, clock.position) == (0, 0)


@pytest.mark.parametrize("table", [[1, 2], [[1], [2]], [[np.nan, 1]]])
def test_what_is_no_table_is_refused(table) -> None:
    with pytest.raises(vt.UserError, match="position, d_model"):
        vt.position_clock(table)


def test_the_page_turns_the_hands_as_numpy_does() -> None:
    answer = """({ bytes, places }) => {
        const shape = { n_positions: 64, d_model: 64 };
        const table = readTable({ ...shape, table: new DataView(Uint8Array.from(bytes).buffer) });
        return places.map(([pair, position]) => ({
            hand: handOf(table, pair, position), alike: lookAlikes(table, position, pair) }));
    }"""
    places = [(pair, position) for pair in (0, 3, 9, 31) for position in (0, 7, 63)]
    found = answers_in_node(
        {
            "readTable": "widgets/position_clock/view.js",
            "handOf": "widgets/position_clock/view.js",
            "lookAlikes": "widgets/base/js/clock_hands.js",
        },
        answer,
        {"bytes": list(vt.position_clock(TABLE).data["table"]), "places": places},
    )
    for (pair, position), page in zip(places, found, strict=True):
        angle = position / 10_000 ** (2 * pair / 64)
        np.testing.assert_allclose(page["hand"], [np.sin(angle), np.cos(angle)], atol=1e-6)
        assert tuple(page["alike"]) == look_alikes(TABLE, position, pair)
