"""The position lab: its state, its live model, and the numbers that its page computes."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import viz_transformer as vt
from tests.support.javascript import module_url
from tools.ensure import find_node
from viz_transformer import recipes
from viz_transformer._files import bundled
from viz_transformer.analysis.positions import ProbeHead, rms
from viz_transformer.errors import UserError
from viz_transformer.experiments.shift import random_head, shift_experiment
from viz_transformer.model import Interventions
from viz_transformer.model.positional import RotaryPositions, sinusoidal_encoding
from viz_transformer.widgets.base.traits import SelectionError
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


def test_every_choice_is_a_trait(lab: PositionLab) -> None:
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


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("encoding", "wavy", "choose one of sinusoidal"),
        ("pair", 32, "choose 0 to 31"),
        ("position", -1, "choose 0 to 63"),
        ("offset", 64, "choose -63 to 63"),
        ("shift", 53, "choose 0 to 52"),
        ("text_size", 9.0, "give 0.5 to 4"),
        ("order", [0, 1, 2, 3], "each of the 5 words once"),
        ("order", [0, 1, 2, 3, 3], "each of the 5 words once"),
    ],
)
def test_what_is_not_there_is_refused_and_changes_nothing(
    lab: PositionLab, name: str, value, told: str
) -> None:
    before = getattr(lab, name)
    with pytest.raises(SelectionError, match=told) as error:
        setattr(lab, name, value)
    assert "\n" not in str(error.value)
    assert getattr(lab, name) == before


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UserError, match="both must be one"):
        small(learned=np.eye(9, 8))
    with pytest.raises(UserError, match="give finite numbers"):
        small(learned=np.full((10, 8), np.nan))
    with pytest.raises(UserError, match="2 to 10 words"):
        small(head=ProbeHead(*(part.numpy() for part in random_head(4, 6))))


def test_a_view_without_a_model_is_whole_but_for_the_shuffle() -> None:
    view = small()
    assert not view.live
    assert view.questions() == []
    for encoding in ENCODINGS:
        view.encoding = encoding
        assert len(view.figure().axes) >= 6
        assert encoding in view.alt_text()


def test_the_tables_are_those_of_the_model(lab: PositionLab) -> None:
    np.testing.assert_allclose(lab.table, sinusoidal_encoding(64, 64))
    lab.encoding = "none"
    assert not lab.table.any()
    lab.encoding = "learned"
    stored = load_file(bundled("data/positions/learned.safetensors"))
    np.testing.assert_allclose(lab.table, stored["table"])
    trained = lab.data["trained"]
    np.testing.assert_array_equal(stored["table"][trained:], stored["start"][trained:])
    assert (stored["table"][:trained] != stored["start"][:trained]).any(axis=1).all()


def test_a_table_of_ones_own_takes_the_learned_ones_place(translator: vt.Translator) -> None:
    own = np.random.default_rng(0).normal(size=(20, 12))
    view = vt.position_lab(translator, SENTENCE, learned=own, encoding="learned")
    np.testing.assert_array_equal(view.table, own)
    assert view.data["trained"] == 20
    with pytest.raises(UserError, match="odd"):
        vt.position_lab(translator, SENTENCE, learned=own[:, :11])


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


def test_without_positions_the_vectors_only_change_places(lab: PositionLab) -> None:
    for order in lab.data["orders"]:
        reply = lab.answer({"order": order, "positions_on": False})
        assert max(reply["moved"]) < 1e-5
        assert reply["translation"] == reply["as_written"]


def test_with_positions_the_vectors_move(lab: PositionLab, translator: vt.Translator) -> None:
    order = [0, 4, 2, 3, 1]
    reply = lab.answer({"order": order, "positions_on": True})
    assert reply["as_written"] == "el perro ve el gato"
    assert reply["translation"] == "el gato ve el perro"
    before = translator.encode(SENTENCE)
    after = translator.encode("the cat sees the dog")
    for place, word in enumerate(order):
        moved = np.linalg.norm(after[place] - before[word]) / np.linalg.norm(before[word])
        assert reply["moved"][word] == pytest.approx(moved, rel=1e-5)
    assert min(reply["moved"]) > 0.03


def test_encoding_is_what_the_decoder_reads(translator: vt.Translator) -> None:
    ids = torch.tensor([translator.vocabulary.source_ids(SENTENCE)])
    for changes in (None, Interventions(positions=False)):
        with torch.no_grad():
            wanted = translator.model.encode(ids, changes)[0]
        np.testing.assert_array_equal(translator.encode(SENTENCE, changes), wanted)


def test_a_page_carries_the_offered_orders_and_the_one_left(lab: PositionLab) -> None:
    lab.order = [1, 0, 2, 3, 4]
    asked = lab.questions()
    orders = [question["order"] for question in asked]
    assert orders[0] == [0, 1, 2, 3, 4]
    assert [4, 3, 2, 1, 0] in orders
    assert lab.order in orders
    assert len(asked) == 2 * (len(lab.data["orders"]) + 1)
    for question in asked:
        assert len(json.loads(json.dumps(lab.answer(question)))["moved"]) == 5


def test_a_sentence_of_one_word_and_one_that_cannot_be(translator: vt.Translator) -> None:
    assert vt.position_lab(translator, "hello").data["orders"] == [[0]]
    for sentence in ("the dragon sleeps", ""):
        with pytest.raises(UserError):
            vt.position_lab(translator, sentence)


# --- what the page computes ------------------------------------------------------------------


def computed_in_js(lab: PositionLab, encoding: str, shift: int) -> dict:
    """Return what encodings.js makes of the bytes that the page gets."""
    sent = {
        name: {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
        for name, value in lab.data.items()
    }
    script = f"""
        import {{ unpackPositions }} from "{module_url("widgets/position_lab/view.js")}";
        import {{ shiftResult }} from "{module_url("widgets/position_lab/shift.js")}";
        import {{ scoresByPosition }} from "{module_url("widgets/position_lab/encodings.js")}";
        import {{ revive }} from "{module_url("export/page.js")}";
        let text = "";
        for await (const part of process.stdin) text += part;
        const {{ tables, head }} = unpackPositions(revive(JSON.parse(text)));
        const table = tables["{encoding}"];
        const {{ here, moved, rows }} = shiftResult("{encoding}", table, head, {shift});
        const list = (matrix) => Array.from(matrix.values);
        console.log(JSON.stringify({{ table: list(table), here: list(here), moved: list(moved),
            by_place: list(scoresByPosition("{encoding}", table, head)), rows }}));
    """
    done = subprocess.run(
        [find_node(), "--input-type=module", "-e", script],
        input=json.dumps(sent),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def close(found: list[float], wanted: np.ndarray) -> None:
    """Equal to a millionth of the matrix's own size."""
    wanted = np.asarray(wanted, dtype=np.float64)
    np.testing.assert_allclose(
        np.reshape(found, wanted.shape), wanted, rtol=1e-6, atol=1e-6 * (np.abs(wanted).max() or 1)
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_page_computes_what_python_does(lab: PositionLab, encoding: str) -> None:
    lab.encoding, lab.shift = encoding, 17
    found = computed_in_js(lab, encoding, 17)
    here, moved = lab.shifted_scores()
    close(found["table"], lab.table)
    close(found["here"], here)
    close(found["moved"], moved)
    close(found["by_place"], lab.scores_by_place)
    name, size, changed = found["rows"][-1]
    assert name == "the whole score"
    assert size == pytest.approx(rms(here), rel=1e-6)
    assert changed == pytest.approx(rms(moved - here), rel=1e-5, abs=1e-6)


def test_the_page_computes_what_torch_does(lab: PositionLab) -> None:
    """Sinusoids and rotary scores, against the model's own modules in double precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        waves = sinusoidal_encoding(64, 64)
        words, w_q, w_k = (part.double() for part in random_head_single())
        rotary = RotaryPositions(64, 64)
        turned = [rotary(words @ weight.T, 17) for weight in (w_q, w_k)]
        scores = turned[0] @ turned[1].T / 8
    finally:
        torch.set_default_dtype(before)
    found = computed_in_js(lab, "rotary", 17)
    close(found["table"], waves.numpy())
    close(found["moved"], scores.numpy())


def random_head_single() -> tuple[torch.Tensor, ...]:
    """Draw the head in single precision, whatever torch's default is now."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        return tuple(random_head(12, 64))
    finally:
        torch.set_default_dtype(before)


# --- the learned table -----------------------------------------------------------------------


def test_the_bundled_table_is_the_file_that_its_notes_name() -> None:
    folder = bundled("data/positions")
    data = (folder / "learned.safetensors").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    notes = json.loads((folder / "made_by.json").read_text())
    assert notes["sha256"] == {"learned.safetensors": digest}
    assert digest in (folder / "README.md").read_text()
    assert len(data) <= 40_000
    assert notes["training"]["n_steps"] == recipes.POSITIONS_TRAINING.n_steps


def test_the_notes_tell_how_alike_neighbours_grew() -> None:
    folder = bundled("data/positions")
    told = " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    tables = load_file(folder / "learned.safetensors")
    n_trained = 19
    assert f"neighbours among the {n_trained} positions that a sentence reached grew alike" in told
    found = {}
    for name, table in tables.items():
        rows = table[:n_trained] / np.linalg.norm(table[:n_trained], axis=1, keepdims=True)
        cosines = rows @ rows.T  # [position, position]
        found[name] = [f"{np.diag(cosines, distance).mean():.2f}" for distance in (1, 2, 3)]
    one, two, three = found["table"]
    assert f"mean cosine of {one} at a distance of one, {two} at two and {three} at three" in told
    one, two, three = found["start"]
    assert f"before training {one}, {two} and {three}" in told


@pytest.mark.usefixtures("shapes_unchecked")
def test_its_recipe_gives_the_same_file_twice(tmp_path: Path) -> None:
    training = replace(recipes.POSITIONS_TRAINING, n_steps=5, batch_size=16)
    files = []
    for name in ("first", "again"):
        folder = recipes.train_learned_positions(tmp_path / name, training, n_train=600)
        recipes.train_learned_positions(folder, training, n_train=600)  # over what is there
        files.append((folder / recipes.POSITIONS).read_bytes())
        notes = json.loads((folder / "made_by.json").read_text())
        digest = hashlib.sha256(files[-1]).hexdigest()
        assert notes["sha256"] == {recipes.POSITIONS: digest}
    assert files[0] == files[1]
    tables = load_file(tmp_path / "first" / recipes.POSITIONS)
    assert tables["table"].shape == (64, 64)
    assert (tables["table"] != tables["start"]).any(axis=1)[:4].all()


def test_a_folder_that_cannot_be_made_is_said_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot make the folder"):
        recipes.train_learned_positions(tmp_path / "file" / "below")
