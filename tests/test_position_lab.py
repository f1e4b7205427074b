"""The position lab: its state, its live model, and the numbers that its page computes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import viz_transformer as vt
from tests.support.javascript import answers_in_node
from tests.support.refusals import assert_refused
from viz_transformer._files import bundled
from viz_transformer.analysis.positions import ProbeHead, rms
from viz_transformer.experiments.shift import random_head, shift_experiment
from viz_transformer.model import Interventions
from viz_transformer.model.positional import RotaryPositions, sinusoidal_encoding
from viz_transformer.widgets.position_lab.view import ENCODINGS, PositionLab

SENTENCE = "the dog sees the cat"


@pytest.fixture
def lab(translator: vt.Translator) -> PositionLab:
    return vt.position_lab(translator, SENTENCE)


def small(**changed) -> PositionLab:
    head = ProbeHead(*(part.double().numpy() for part in random_head(4, 8)))
    given = {"sinusoids": sinusoidal_encoding(10, 8), "learned": np.eye(10, 8), "head": head}
    return PositionLab(**{**given, **changed})


# --- state -----------------------------------------------------------------------------------


def test_every_choice_is_a_trait_and_a_view_without_a_model_lacks_the_shuffle(lab: PositionLab) -> None:
    for name, value in (
        ("encoding", "learned"),
        ("pair", np.int64(31)),
        ("position", 63),
        ("offset", -63),
        ("shift", 52),
        ("order", [4, 3, 2, 1, 0]),
        ("positions_on", False),
        ("text_size", 2.0),
    ):
        setattr(lab, name, value)
        assert getattr(lab, name) == value
        assert lab.trait_metadata(name, "sync")
    assert "encoding='learned', pair=31" in repr(lab)
    view = small()
    assert (view.live, view.questions()) == (False, [])
    for encoding in ENCODINGS:
        view.encoding = encoding
        assert len(view.figure().axes) >= 6
        assert encoding in view.alt_text()


def test_tables_and_sentences_that_do_not_fit_are_refused(translator: vt.Translator) -> None:
    head = ProbeHead(*(part.numpy() for part in random_head(4, 6)))
    odd = np.ones((20, 11))
    assert_refused(
        [
            (lambda: small(learned=np.eye(9, 8)), "both must be one"),
            (lambda: small(learned=np.full((10, 8), np.nan)), "give finite numbers"),
            (lambda: small(head=head), "2 to 10 words"),
            (lambda: vt.position_lab(translator, SENTENCE, learned=odd), "odd"),
            (lambda: vt.position_lab(translator, "the dragon sleeps"), "dragon"),
            (lambda: vt.position_lab(translator, ""), "no word"),
        ]
    )


def test_the_tables_are_those_of_the_model_or_ones_own(lab: PositionLab, translator: vt.Translator) -> None:
    np.testing.assert_allclose(lab.table, sinusoidal_encoding(64, 64))
    lab.encoding = "none"
    assert not lab.table.any()
    lab.encoding = "learned"
    stored = load_file(bundled("data/positions/learned.safetensors"))
    np.testing.assert_allclose(lab.table, stored["table"])
    trained = lab.data["trained"]
    np.testing.assert_array_equal(stored["table"][trained:], stored["start"][trained:])
    assert (stored["table"][:trained] != stored["start"][:trained]).any(axis=1).all()
    own = np.random.default_rng(0).normal(size=(20, 12))
    view = vt.position_lab(translator, SENTENCE, learned=own, encoding="learned")
    np.testing.assert_array_equal(view.table, own)
    assert view.data["trained"] == 20


def test_the_claim_is_false_for_sums_and_true_for_rotary(lab: PositionLab) -> None:
    measured = shift_experiment(shift=lab.shift)
    here, moved = lab.shifted_scores()
    assert rms(moved - here) == pytest.approx(measured.sinusoidal.rms_difference, rel=1e-5)
    assert 0.8 < rms(moved - here) < 1.2
    assert rms(here) == pytest.approx(measured.sinusoidal.rms, rel=1e-5)
    assert f"{rms(moved - here):.2f} rms" in lab.alt_text()
    lab.encoding = "rotary"
    here, moved = lab.shifted_scores()
    assert rms(moved - here) < 1e-12
    assert rms(here) == pytest.approx(measured.rotary.rms, rel=1e-5)


# --- the live model --------------------------------------------------------------------------


def test_only_with_positions_the_vectors_move(lab: PositionLab, translator: vt.Translator) -> None:
    for order in lab.orders:
        reply = lab.answer({"order": order, "positions_on": False})
        assert max(reply["moved"]) < 1e-5
        assert reply["translation"] == reply["as_written"]
    order = [0, 4, 2, 3, 1]
    reply = lab.answer({"order": order, "positions_on": True})
    assert reply["as_written"] == "el perro ve el gato"
    assert reply["translation"] == "el gato ve el perro"
    before, after = translator.encode(SENTENCE), translator.encode("the cat sees the dog")
    for place, word in enumerate(order):
        moved = np.linalg.norm(after[place] - before[word]) / np.linalg.norm(before[word])
        assert reply["moved"][word] == pytest.approx(moved, rel=1e-5)
    assert min(reply["moved"]) > 0.03


def test_the_memory_is_the_encoder_s_output(translator: vt.Translator) -> None:
    ids = torch.tensor([translator.vocabulary.source_ids(SENTENCE)])
    for changes in (None, Interventions(positions=False)):
        with torch.no_grad():
            wanted = translator.model.encode(ids, changes)[0]
        np.testing.assert_array_equal(translator.encode(SENTENCE, changes), wanted)


def test_a_page_carries_the_offered_orders_and_the_one_left(
    lab: PositionLab, translator: vt.Translator
) -> None:
    lab.order = [1, 0, 2, 3, 4]
    asked = lab.questions()
    orders = [question["order"] for question in asked]
    assert orders[0] == [0, 1, 2, 3, 4]
    assert all(order in orders for order in ([4, 3, 2, 1, 0], lab.order))
    assert len(asked) == 2 * (len(lab.orders) + 1)
    assert all(len(json.loads(json.dumps(lab.answer(each)))["moved"]) == 5 for each in asked)
    assert vt.position_lab(translator, "hello").orders == [[0]]


# --- what the page computes ------------------------------------------------------------------


PAGE = """({ data, shift, encodings }) => {
    const { tables, head } = unpackPositions(data);
    const list = (matrix) => Array.from(matrix.values);
    return encodings.map((encoding) => {
        const table = tables[encoding];
        const { here, moved, rows } = shiftResult(encoding, table, head, shift);
        return { table: list(table), here: list(here), moved: list(moved),
            by_place: list(scoresByPosition(encoding, table, head)), rows };
    });
}"""


def close(found: list[float], wanted: np.ndarray) -> None:
    """Equal to a millionth of the matrix's own size."""
    wanted = np.asarray(wanted, dtype=np.float64)
    np.testing.assert_allclose(
        np.reshape(found, wanted.shape), wanted, rtol=1e-6, atol=1e-6 * (np.abs(wanted).max() or 1)
    )


def test_the_page_computes_what_python_and_torch_do(lab: PositionLab) -> None:
    lab.shift = 17
    scripts = {
        "unpackPositions, scoresByPosition": "widgets/position_lab/encodings.ts",
        "shiftResult": "widgets/position_lab/shift.ts",
    }
    given = {"data": lab.data, "shift": 17, "encodings": ENCODINGS}
    pages = dict(zip(ENCODINGS, answers_in_node(scripts, PAGE, given), strict=True))
    for encoding, found in pages.items():
        lab.encoding = encoding
        here, moved = lab.shifted_scores()
        close(found["table"], lab.table)
        close(found["here"], here)
        close(found["moved"], moved)
        close(found["by_place"], lab.scores_by_place)
        name, size, changed = found["rows"][-1]
        assert name == "the whole score"
        assert size == pytest.approx(rms(here), rel=1e-6), encoding
        assert changed == pytest.approx(rms(moved - here), rel=1e-5, abs=1e-6), encoding

    # Sinusoids and rotary scores against the model's own modules in double precision.
    words, w_q, w_k = (part.double() for part in random_head(12, 64))
    torch.set_default_dtype(torch.float64)
    try:
        waves, rotary = sinusoidal_encoding(64, 64), RotaryPositions(64, 64)
        turned = [rotary(words @ weight.T, 17) for weight in (w_q, w_k)]
    finally:
        torch.set_default_dtype(torch.float32)
    close(pages["rotary"]["table"], waves.numpy())
    close(pages["rotary"]["moved"], (turned[0] @ turned[1].T / 8).numpy())


# --- the learned table -----------------------------------------------------------------------


def test_the_bundled_table_is_as_its_notes_tell() -> None:
    folder = bundled("data/positions")
    told = " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    assert "neighbours among the 19 positions that a sentence reached grew alike" in told
    found = {}
    for name, table in load_file(folder / "learned.safetensors").items():
        rows = table[:19] / np.linalg.norm(table[:19], axis=1, keepdims=True)
        cosines = rows @ rows.T  # [position, position]
        found[name] = [f"{np.diag(cosines, distance).mean():.2f}" for distance in (1, 2, 3)]
    one, two, three = found["table"]
    assert f"mean cosine of {one} at a distance of one, {two} at two and {three} at three" in told
    assert "before training {}, {} and {}".format(*found["start"]) in told
