"""The mask lab's requests, sent to Python and to the engine: the same leaks, the same rows."""

from __future__ import annotations

import base64
from random import Random
from typing import Any

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.engine_answers import assert_both_sides_agree, engine_replies
from viz_transformer.widgets.mask_lab.composition import MISTAKES, SIDES, MaskState, compose
from viz_transformer.widgets.mask_lab.requests import mask_request
from viz_transformer.widgets.mask_lab.view import UNMOVED, MaskLab

#: As many states are drawn, or in the weekly suite.
FEW = pytest.mark.parametrize("n_states", [60, pytest.param(400, marks=pytest.mark.weekly)])
MODELS = {
    "translator": vt.load_translator,
    "language model": vt.load_language_model,
    "masked language model": vt.load_masked_model,
}

pytestmark = pytest.mark.usefixtures("shapes_unchecked")  # they would take most of the time


@pytest.fixture(scope="module", params=MODELS)
def lab(request: pytest.FixtureRequest) -> MaskLab:
    return vt.mask_lab(MODELS[request.param]())


def random_states(lab: MaskLab, seed: int, n_states: int) -> list[MaskState]:
    """Return states with any part, mistake and length, and up to eight painted cells."""
    random = Random(seed)
    longest = list(lab.lengths)

    def one() -> MaskState:
        lengths = tuple(random.randint(1, most) for most in longest) if random.random() < 0.5 else longest
        places = {tuple(random.randrange(size) for size in (2, 7, 7)) for _ in range(random.randint(0, 8))}
        return MaskState(
            kind=random.choice(list(lab.kinds)),
            side=random.choice(SIDES),
            padding=random.random() < 0.7,
            causal=random.random() < 0.5,
            mistake=random.choice(MISTAKES),
            lengths=tuple(lengths),
            painted=tuple((*place, random.random() < 0.5) for place in sorted(places)),
        )

    return [one() for _ in range(n_states)]


def floats(sent: Any) -> np.ndarray:
    """Return the numbers of a reply of either side."""
    return np.frombuffer(sent if isinstance(sent, bytes) else base64.b64decode(sent["base64"]), "<f4")


@FEW
def test_the_same_leaks_through_any_mask(lab: MaskLab, n_states: int) -> None:
    states = random_states(lab, 1, n_states)
    requests = [mask_request(lab.words, state, "leaks") for state in states]
    n_leaks = n_refused = 0
    for state, request, found in zip(states, requests, engine_replies(lab, requests), strict=True):
        wanted = lab.answer(request)
        assert (found["shape"], found["replacements"]) == (wanted["shape"], wanted["replacements"]), state
        n_refused += wanted["longer"] is None
        assert (found["longer"] is None) == (wanted["longer"] is None), state
        for name in ("changes", "longer") if wanted["longer"] else ("changes",):
            ours, theirs = floats(found[name]), floats(wanted[name])
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4, err_msg=str(state))
            np.testing.assert_array_equal(ours >= UNMOVED, theirs >= UNMOVED, err_msg=str(state))
        if wanted["writes"] is None:
            assert found["writes"] is None
        else:
            ours, theirs = (np.float64(floats(each["writes"]["shares"])) for each in (found, wanted))
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4, err_msg=str(state))
            words = [np.array(each["writes"]["words"]).ravel() for each in (found, wanted)]
            np.testing.assert_array_equal(*(each[theirs > 0.51] for each in words), err_msg=str(state))
        moved = floats(wanted["changes"]).reshape(wanted["shape"]).swapaxes(1, 2) >= UNMOVED
        n_leaks += bool((moved & ~compose(lab.words, state).allowed).any())
    assert n_states / 4 < n_leaks < n_states
    assert 0 < n_refused < n_states
    if lab.kind != "encoder":  # equal numbers come out equal: a change that is no leak is 0, not merely small
        (found,) = engine_replies(
            lab, [mask_request(lab.words, MaskState(lengths=tuple(lab.lengths)), "leaks")]
        )
        changes = floats(found["changes"]).reshape(found["shape"])  # [batch, edited, query]
        earlier = np.triu_indices(changes.shape[2], 1)
        assert (changes.swapaxes(1, 2)[:, earlier[0], earlier[1]] == 0).all()


@FEW
def test_formulas_and_libraries_make_the_same_of_any_mask(lab: MaskLab, n_states: int) -> None:
    inverted = {"kind": lab.kind, "padding": False, "causal": True, "mistake": "inverted"}
    states = [MaskState(**inverted, lengths=tuple(lab.lengths)), *random_states(lab, 2, n_states)]
    requests = [mask_request(lab.words, state, "formulas") for state in states]
    asks = ("libraries", "eager")
    requests += [mask_request(lab.words, state, ask) for state in states[: n_states // 5] for ask in asks]
    replies = assert_both_sides_agree(lab, requests, atol=1e-4)
    masks = [np.array(request["batch"]["mask"]) for request in requests]
    assert not all(mask.any(-1).all() for mask in masks), (
        "libraries differ in rows that may attend to nothing"
    )
    errors = [each["error"] for reply in replies for each in reply["libraries"]]
    assert any(errors), "our attention refuses a mask that is upside down"


def test_engine_and_python_refuse_with_the_same_message(lab: MaskLab) -> None:
    asked = mask_request(lab.words, lab.state, "leaks")
    row = [lab.words["source"][0][0]] * 63
    long = {"sources": [row], "targets": [row], "mask": [[[1] * 63] * 63]}
    wrong = [
        *({**asked, **changes} for changes in ({"ask": None}, {"ask": "mood"}, {"kind": None})),
        {**asked, "kind": "self"},
        *({**asked, "batch": batch} for batch in (None, {}, {"sources": [["the"], []], "targets": []}, long)),
        {**asked, "batch": {**asked["batch"], "mask": [[[1]]]}},
        *({**asked, "longer": {**asked["longer"], "first": first}} for first in (5, 200)),
        {
            **asked,
            "batch": {**asked["batch"], "sources": [["?!"] * len(row) for row in asked["batch"]["sources"]]},
        },
    ]
    assert all(reply.keys() == {"error"} for reply in assert_both_sides_agree(lab, wrong))
