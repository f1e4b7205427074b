"""The script of a class, which a notebook holds once, and pages unpack."""

from __future__ import annotations

import json
import zlib

import pytest
import traitlets
from ipywidgets.embed import dependency_state

from tests.support.hand_made_traces import make_trace
from viz_transformer.errors import UserError
from viz_transformer.export.page_parts import PageParts
from viz_transformer.widgets.base.shared_script import shared_script, unpacked
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.explorer import explore


class Word(View):
    """A word."""

    _esm = "export default { render({ el }) { el.textContent = 'é'; } };"
    _css = ".word { color: red }"
    word = traitlets.Unicode("hello").tag(sync=True)


def test_the_views_of_a_class_share_one_script() -> None:
    one, other = Word(), Word()
    assert one._shared is other._shared
    assert unpacked(one._shared.script) == "export default { render({ el }) { el.textContent = 'é'; } };"
    assert unpacked(one._shared.sheet) == ".word { color: red }"
    assert one._css == ""
    one._shared.close()
    later = Word()
    assert later._shared is not one._shared
    assert later._shared.comm is not None


def test_a_notebook_of_forty_explorers_is_small() -> None:
    state = dependency_state([explore(make_trace()) for _ in range(40)], drop_defaults=False)
    assert len(json.dumps(state)) < 600_000  # 9.5 MB, if each had its own script


def test_a_script_that_follows_its_file_is_each_view_s_own() -> None:
    class Followed(View):
        _esm = type("Text", (), {"__str__": lambda _: "export default {}"})()

    view = Followed()
    assert view._shared is None
    assert view.get_state(["_esm"]) == {"_esm": "export default {}"}


def test_a_damaged_script_of_a_saved_notebook_is_one_line() -> None:
    whole = shared_script("1", "").script
    for packed in (
        b"",
        whole[:-1],
        whole[:4] + b"?" + whole[5:],
        zlib.compress(b"\xff"),
        zlib.compress(bytes(10**8)),
    ):
        states = {"view": {"_esm": "", "_shared": "IPY_MODEL_own"}, "own": {"script": packed, "sheet": whole}}
        parts = PageParts(states.get, lambda _: "", lambda _: [])
        with pytest.raises(
            UserError, match=r"a view's script is damaged; run its notebook and save it again"
        ):
            parts.add("view")
