"""The colours of shared.json: equal steps look equal, everyone sees the signs, and text can be read."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from tests.support.colours import VISIONS, apart, contrast, oklab
from viz_transformer._shared import SHARED
from viz_transformer.plots.colour import SIGNED, STOPS, ink_on, signed_colormap, weight_colormap

THEMES = ("light", "dark")


@pytest.mark.parametrize("theme", THEMES)
def test_equal_differences_of_weight_look_equal(theme: str) -> None:
    lightness = np.array([oklab(stop)[0] for stop in STOPS[theme]])
    steps = np.diff(lightness) * (1 if theme == "dark" else -1)
    assert len(steps) == 8
    np.testing.assert_allclose(steps, steps.mean(), atol=0.006)
    assert abs(lightness[0] - lightness[-1]) > 0.6


@pytest.mark.parametrize("theme", THEMES)
def test_numbers_can_be_read_on_every_colour_of_a_scale(theme: str) -> None:
    for scale in (weight_colormap(theme), signed_colormap(theme)):
        for colour in scale(np.linspace(0, 1, 101))[:, :3]:
            ink = {"#000": "#000000", "#fff": "#ffffff"}[ink_on(colour)]
            assert contrast(to_hex(colour), ink) >= 4.5, (scale.name, colour)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISIONS)
def test_a_number_below_0_does_not_look_like_its_opposite(theme: str, vision: str) -> None:
    stops = SIGNED[theme]
    for below, above in zip(stops[:4], stops[:4:-1], strict=True):
        assert apart(below, above, vision) > 0.045, (below, above)
    sizes = [[abs(oklab(stop, vision)[0] - oklab(stops[4], vision)[0]) for stop in side]
             for side in (stops[3::-1], stops[5:])]  # fmt: skip
    assert all((np.diff(side) > 0).all() for side in sizes), "more is further from the middle"


def test_the_weight_s_colour_is_the_end_of_its_scale() -> None:
    assert SHARED["colours"]["weight"][:2] == [STOPS[theme][-1] for theme in THEMES]


#: What is written in a colour, and on which it stands.
TEXT = [
    *((role, "page") for role in ("ink", "muted", "query", "key", "weight", "you")),
    *((role, "page") for role in ("below", "above", "right", "wrong")),
    *((role, "raised") for role in ("ink", "muted", "query", "key", "you")),
    *((role, f"{role}-tint") for role in ("query", "key", "weight", "you")),
    *(("ink", tint) for tint in ("query-tint", "key-tint", "weight-tint", "you-tint", "word-tint")),
    *(("query", behind) for behind in ("weight-tint", "line", "key-tint")),
]


@pytest.mark.parametrize("theme", [0, 1], ids=THEMES)
def test_text_and_bars_can_be_seen(theme: int) -> None:
    named = {role: each[theme] for role, each in SHARED["colours"].items()}
    for role, behind in TEXT:
        assert contrast(named[role], named[behind]) >= 4.5, (role, behind)
    assert contrast(named["fill"], named["page"]) >= 3


@pytest.mark.parametrize("theme", [0, 1], ids=THEMES)
@pytest.mark.parametrize("vision", VISIONS)
def test_roles_are_told_apart_by_everyone(theme: int, vision: str) -> None:
    for pair in (("query", "key"), ("query", "weight"), ("key", "weight"), ("below", "above")):
        one, other = (SHARED["colours"][role][theme] for role in pair)
        assert apart(one, other, vision) > 0.07, pair
