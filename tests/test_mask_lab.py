"""The mask lab: its masks against the model's, its numbers against direct calls, its figure."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import viz_transformer as vt
from tests.support.javascript import answers_in_node
from tests.support.refusals import assert_refused
from viz_transformer.errors import UserError
from viz_transformer.model import attend
from viz_transformer.model.masks import causal_mask, padding_mask, to_torch_mask
from viz_transformer.plots import plot_leaks, plot_mask
from viz_transformer.plots.masks import _UNMOVED, WRITTEN
from viz_transformer.trace import KINDS
from viz_transformer.translator import Translator
from viz_transformer.widgets.mask_lab.composition import MISTAKES, PAD, SIDES, MaskState, compose
from viz_transformer.widgets.mask_lab.live import MaskTester, mask_lab
from viz_transformer.widgets.mask_lab.requests import ASKS, mask_request
from viz_transformer.widgets.mask_lab.view import UNMOVED, MaskLab

SOURCE = [["the", "cat", "is", "tired", "<eos>"], ["i", "sleep", "<eos>"]]
TARGET = [["<sos>", "el", "gato", "está"], ["<sos>", "duermo"]]
WRITTEN_WORDS = [["el", "gato", "está", "<eos>"], ["duermo", "<eos>"]]
WORDS = {"source": SOURCE, "target": TARGET, "written": WRITTEN_WORDS}
FOUR = r"bool \[2, 1, 4, 4\]"
FIVE = ["attend", "by hand", "F.sdpa", "nn.MHA", "HF eager"]


@pytest.fixture(scope="module")
def made(translator: Translator) -> MaskLab:
    return mask_lab(translator)


@pytest.fixture
def lab(made: MaskLab) -> MaskLab:
    """The lab as it was made; translating again takes a while where shapes are checked."""
    return MaskLab(**made.words, answer=made.answer)


def asked(lab: MaskLab, ask: str) -> dict[str, Any]:
    """Return the request that asks about the mask on screen."""
    return mask_request(lab.words, lab.state, ask)


def view() -> MaskLab:
    return MaskLab(SOURCE, TARGET, WRITTEN_WORDS)


def ids_of(batch: list[list[str]]) -> torch.Tensor:
    """Return ids [batch, position] in which 0 is padding and nothing else."""
    return torch.tensor([[0 if token == PAD else 1 for token in tokens] for tokens in batch])


#: Lengths of the two sentences, and what is painted over the mask.
DRAWN = [
    ((5, 3), ()),
    ((2, 3), ((1, 0, 1, True), (0, 1, 0, False), (1, 1, 1, False))),
    ((1, 1), ()),
]
EVERY_STATE = [
    MaskState(kind, side, padding, causal, mistake, lengths, painted)
    for kind, side, padding, causal, mistake, (lengths, painted) in itertools.product(
        KINDS, SIDES, (True, False), (True, False), MISTAKES, DRAWN
    )
]
CODE = list(itertools.product(("may", "may_not", "additive"), ("ours", "torch")))
PAGE = """({ words, states, asks, code }) => ({
  presets: PRESETS, unmoved: UNMOVED,
  states: states.map((state) => {
    const composed = composeMask(words, state);
    const { may, queryTokens, keyTokens, written, queries, keys, sentences, allowed, padded } = composed;
    const places = Array.from({ length: sentences }, (_, b) =>
      Array.from({ length: queries }, (_, q) => Array.from({ length: keys }, (_, k) => allowed(b, q, k))));
    return {
      may, queryTokens, keyTokens, written, places, padded,
      refused: whyNotLonger(composed, state),
      asked: asks.map((ask) => maskRequest(words, state, ask)),
      code: code.map((given) => maskCode(composed, ...given)),
    };
  }),
})"""


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the page makes of every state: its mask, its requests and its code."""
    names = {
        "composition": "composeMask",
        "presets": "PRESETS",
        "libraries": "maskCode",
        "requests": "maskRequest, whyNotLonger",
        "leaks": "UNMOVED",
    }
    imports = {exported: f"widgets/mask_lab/{script}.ts" for script, exported in names.items()}
    states = [state.settings() for state in EVERY_STATE]
    return answers_in_node(imports, PAGE, {"words": WORDS, "states": states, "asks": ASKS, "code": CODE})


# --- the mask is that of model.masks ------------------------------------------------------------


def test_a_right_mask_is_that_of_the_model() -> None:
    for state in EVERY_STATE:
        if state.mistake != "none" or state.painted:
            continue
        batch = compose(WORDS, state)
        expected = torch.ones(batch.mask.shape, dtype=torch.bool)
        if state.padding:
            expected = expected & padding_mask(ids_of(batch.keys), 0)
        if state.causal:
            _, _, queries, keys = batch.mask.shape
            expected = expected & causal_mask(max(queries, keys))[..., :queries, :keys]
        assert torch.equal(torch.from_numpy(batch.mask), expected), state


def test_page_and_python_compose_the_same_mask(page: dict[str, Any]) -> None:
    """A page finds a carried reply by its request, so the two are to be equal to the last sign."""
    for state, shown in zip(EVERY_STATE, page["states"], strict=True):
        batch = compose(WORDS, state)
        assert shown["may"] == batch.mask[:, 0].tolist(), state
        assert (shown["queryTokens"], shown["keyTokens"]) == (batch.queries, batch.keys), state
        assert shown["written"] == batch.written
        assert shown["places"] == batch.allowed.tolist(), state
        assert shown["asked"] == [mask_request(WORDS, state, ask) for ask in ASKS], state
        refused = ""
        if shown["asked"][0]["longer"] is None:
            with pytest.raises(UserError) as error:
                compose(WORDS, state, 2)
            refused = str(error.value)
        assert shown["refused"] == refused


def test_the_code_shown_makes_the_mask_shown(page: dict[str, Any]) -> None:
    ours = {"padding_mask": padding_mask, "causal_mask": causal_mask, "to_torch_mask": to_torch_mask}
    for state, shown in zip(EVERY_STATE, page["states"], strict=True):
        expected = torch.from_numpy(compose(WORDS, state).mask)
        ids = {f"{side}_ids": ids_of(shown["padded"][side]) for side in ("source", "target")}
        for (polarity, library), lines in zip(CODE, shown["code"], strict=True):
            names = {"torch": torch, "pad_id": 0, **ids, **(ours if library == "ours" else {})}
            exec("\n".join(lines), names)
            assert torch.equal(names["mask"].expand_as(expected), expected), lines
            if polarity == "may_not":
                assert torch.equal(names["attn_mask"].expand_as(expected), ~expected), lines
            elif polarity == "additive":
                added = names["attn_mask"].expand_as(expected)
                assert torch.equal(added, torch.where(expected, 0.0, -math.inf)), lines


def test_presets_are_answered_in_an_exported_page(page: dict[str, Any]) -> None:
    carried = view().questions()
    for preset in page["presets"]:
        state = MaskState.of({**preset["state"], "lengths": [5, 3], "painted": []})
        asks = [mask_request(WORDS, state, ask) for ask in ("leaks", "formulas", "libraries")]
        assert all(each in carried for each in asks), preset["name"]


# --- the view -----------------------------------------------------------------------------------


def test_a_mask_that_is_set_is_painted() -> None:
    shown = view()
    plain = shown.mask
    wanted = plain.copy()
    wanted[1, 0, 0, 1] = True
    shown.mask = torch.from_numpy(wanted)
    assert shown.painted == [[1, 0, 1, True]]
    np.testing.assert_array_equal(shown.mask, wanted)
    shown.mask = np.ones((1, 1, 1, 4), bool)
    assert shown.mask.all()
    shown.mask = plain
    wrong = (np.ones((2, 1, 4, 4)), np.ones((4, 4), bool), None)
    assert_refused((lambda given=given: setattr(shown, "mask", given), FOUR) for given in wrong)
    assert shown.painted == []


def test_a_smaller_mask_keeps_what_is_chosen_inside() -> None:
    shown = view()
    shown.sentence, shown.query, shown.key, shown.edited = 1, 3, 3, 3
    shown.lengths = [2, 2]
    assert shown.mask.shape == (2, 1, 2, 2)
    assert (shown.sentence, shown.query, shown.key, shown.edited) == (1, None, None, 1)
    shown.lengths = [5, 3]
    shown.mistake = "causal_as_padding"
    shown.sentence = 3
    shown.mistake = "none"
    assert shown.sentence == 1
    shown.set_state({"kind": "cross", "causal": False, "key": 4, "edited": 4, "painted": []})  # at once
    assert (shown.kind, shown.key, shown.edited, shown.mask.shape) == ("cross", 4, 4, (2, 1, 4, 5))


def test_sentences_and_batches_that_do_not_fit_are_refused(translator: Translator) -> None:
    words = [
        ([], [], []),
        (SOURCE, TARGET, TARGET[:1]),
        (SOURCE, TARGET, [["a"], ["b"]]),
        ([[], ["a"]], TARGET, WRITTEN_WORDS),
    ]
    assert_refused((lambda given=given: MaskLab(*given), "as many to write") for given in words)
    few = ("one sentence", ["the cat sleeps"], [])
    assert_refused((lambda given=given: mask_lab(translator, given), "at least two") for given in few)
    assert_refused(
        [
            (lambda: mask_lab(translator, ["the dragon sleeps", "i sleep"]), "dragon"),
            (lambda: view().measure(), "no live model"),
        ]
    )


# --- what is measured ---------------------------------------------------------------------------


def shortest(translator: Translator, batch: list[list[str]]) -> torch.Tensor:
    return torch.tensor([translator.vocabulary.ids_of(tokens) for tokens in batch])


@torch.no_grad()
def test_the_leak_meter_equals_the_model(translator: Translator, lab: MaskLab) -> None:
    """With the right mask, the meter's numbers are those of the model as it is used."""
    measured = lab.measure()
    source = shortest(translator, lab.batch.sources)
    target = shortest(translator, lab.batch.targets)
    before = translator.model(source, target)
    for b, j in itertools.product(range(2), range(7)):
        word = measured["replacements"][b][j]
        assert word in translator.vocabulary.words("target")
        assert word != lab.batch.keys[b][j]
        if lab.batch.keys[b][j] == PAD:
            continue  # given another word there, the model itself would not call it padding
        edited = target.clone()
        edited[b, j] = translator.vocabulary.ids_of([word])[0]
        change = (translator.model(source, edited) - before)[b].abs().amax(-1)
        np.testing.assert_allclose(measured["changes"][b, j], change, atol=2e-5)


def leaks(shown: MaskLab) -> tuple[int, int]:
    """Return how many places leak, and how many did not move though they may."""
    measured, batch = shown.measure(), shown.batch
    moved = measured["changes"].swapaxes(1, 2) >= UNMOVED  # [batch, query, edited]
    read = batch.real[:, :, None]
    return int((moved & ~batch.allowed & read).sum()), int((~moved & batch.allowed).sum())


def test_nothing_leaks_through_the_right_masks(lab: MaskLab) -> None:
    for kind, side in itertools.product(KINDS, SIDES):
        lab.kind, lab.side, lab.causal = kind, side, kind == "decoder"
        measured, real = lab.measure(), lab.batch.real
        assert leaks(lab) == (0, 0), (kind, side)
        longest = measured["longer"][real].max()
        # On the left every word stands at another position.
        assert longest < UNMOVED if side == "right" else longest > 1, (kind, side)
    lab.kind, lab.side, lab.causal = "decoder", "right", True
    changes = lab.measure()["changes"]
    for j, i in itertools.combinations(range(7), 2):
        assert changes[0, i, j] == 0  # exactly
        assert changes[0, j, i] > 0.01


def test_every_mistake_leaks(made: MaskLab) -> None:
    mistakes: list[dict[str, Any]] = [
        {"causal": False},
        {"kind": "encoder", "padding": False, "causal": False},
        {"kind": "cross", "padding": False, "causal": False},
        {"side": "left", "padding": False},
        {"mistake": "inverted"},
        {"padding": False, "mistake": "causal_as_padding"},
        {"kind": "cross", "causal": False, "mistake": "target_padding"},
        {"causal": False, "mistake": "source_as_target"},
        {"causal": True, "mistake": "source_as_target"},
        {"painted": [[0, 0, 3, True]]},
        {"kind": "cross", "causal": False, "painted": [[1, 2, 6, True]]},
    ]
    found = {}
    for mistake in [*mistakes, {"padding": False}]:
        lab = MaskLab(**made.words, answer=made.answer)
        for name, value in mistake.items():
            setattr(lab, name, value)
        found[str(mistake)] = leaks(lab)[0] > 0
        assert (lab.measure()["longer"] is None) == (mistake.get("mistake") == "causal_as_padding")
    # What comes later is hidden, and padding on the right comes last.
    assert found.pop("{'padding': False}") is False
    assert found == {str(mistake): True for mistake in mistakes}


def numbers(library: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return tuple(
        np.frombuffer(library[name], "<f4").reshape(shape)
        for name, shape in zip(("weights", "output"), library["shapes"], strict=True)
    )


def test_each_library_is_asked_live(lab: MaskLab) -> None:
    """The table's numbers are those of direct calls; fully masked rows are where they differ."""
    lab.side = "left"
    asks = ("formulas", "libraries", "eager")
    shown = [library for ask in asks for library in lab.answer(asked(lab, ask))["libraries"]]
    assert [library["short"] for library in shown] == FIVE
    tester = MaskTester(vt.load_translator())
    heads = tester._first_head(lab.kind, tester._batch(lab.kind, asked(lab, "formulas")["batch"]))
    query, key, value = (each.detach() for each in heads)
    mask = torch.from_numpy(lab.mask)
    (empty,) = np.argwhere(~lab.mask.any(-1))[:, [0, 2]]
    assert empty.tolist() == [1, 0]
    fused = F.scaled_dot_product_attention(query, key, value, mask)[:, 0]
    _, weights = attend(query, key, value, mask)
    lowest = torch.finfo(torch.float32).min
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    uniform = (scores + torch.where(mask, 0.0, lowest)).softmax(-1)
    hand = torch.where(mask, scores, -math.inf).softmax(-1)
    expected = [weights, hand, weights, hand, uniform]
    for library, direct in zip(shown, expected, strict=True):
        seen, output = numbers(library)
        np.testing.assert_allclose(seen, direct[:, 0], atol=1e-6, err_msg=library["name"])
        np.testing.assert_allclose(output, (direct @ value)[:, 0, :, :4], atol=1e-5, err_msg=library["name"])
    np.testing.assert_allclose(numbers(shown[2])[1], fused[..., :4], atol=1e-6)
    rows = [numbers(library)[0][1, 0] for library in shown]
    for row, weight in zip(rows, (0, np.nan, 0, np.nan, 1 / 7), strict=True):
        np.testing.assert_allclose(row, weight, rtol=1e-6)


def test_what_is_no_question_is_refused_and_a_library_that_refuses_is_quoted(lab: MaskLab) -> None:
    batch = {"sources": [["a"]], "targets": [["b"]], "mask": [[[1]]]}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"ask": None}, "None is none of 'leaks'"),
        ({"ask": "mood"}, "'mood' is none of 'leaks'"),
        ({"kind": "self"}, "'self' is none of"),
        ({"batch": None}, "None is not a batch"),
        ({"batch": batch}, "not a token of this"),
        ({"batch": {"sources": [["the"], ["the", "cat"]], "targets": []}}, "padded rows"),
    ]
    right = asked(lab, "leaks")
    assert_refused((lambda wrong=wrong: lab.answer({**right, **wrong}), said) for wrong, said in cases)
    lab.padding, lab.mistake = False, "inverted"
    replies = [lab.answer(asked(lab, ask))["libraries"] for ask in ("formulas", "libraries")]
    ours, *others = itertools.chain(*replies)
    assert "hides the past and shows the future" in ours["error"]
    assert not any(library["error"] for library in others)


# --- the figure -----------------------------------------------------------------------------------


def test_the_figure_hatches_what_is_barred_and_blames_no_mask_for_moved_positions(lab: MaskLab) -> None:
    lab.side, lab.sentence = "left", 1
    figure = lab.figure()
    mask, leaks_ = figure.axes
    np.testing.assert_array_equal(mask.images[0].get_array(), lab.mask[1, 0].astype(int))
    hatched = [patch.get_hatch() is not None for patch in mask.patches]
    assert hatched == (~lab.mask[1, 0]).ravel().tolist()
    assert mask.get_yticklabels()[0].get_text() == "<pad> ∅"
    widths = [bar.get_width() for bar in leaks_.patches]
    np.testing.assert_allclose(widths, lab.measure()["changes"][1, lab.edited])
    assert "May attend to nothing: <pad> (0)." in figure.alt_text == lab.alt_text()
    lab.edit, lab.sentence = "padding", 0
    texts = {}
    for side in SIDES:
        lab.side = side
        texts[side] = [text.get_text() for text in lab.figure().axes[1].texts]
    assert texts["right"] == ["0"] * 7
    assert not any(text == "0" or "LEAK" in text for text in texts["left"])


def test_leaks_are_marked_and_what_cannot_be_drawn_is_refused() -> None:
    ax = plot_leaks([0.5, 0.0, 2.0], [False, False, True], ["a", "b", "c"], change="c becomes d")
    assert [text.get_text() for text in ax.texts] == ["0.50  LEAK", "0", "2.00"]
    assert [bar.get_hatch() for bar in ax.patches] == ["xx", None, None]
    assert "1 of 3 outputs leak" in ax.figure.alt_text
    square = np.ones((2, 2), bool)
    assert_refused(
        [
            (lambda: plot_mask(np.ones((2, 2))), "float64"),
            (lambda: plot_mask(causal_mask(2)), r"\[1, 1, 2, 2\]"),
            (lambda: plot_mask(square, keys=["a"]), "1 keys do not fit"),
            (lambda: plot_mask(square, polarity="up"), "none of"),
            (lambda: plot_leaks([1.0], [True, False], ["a"]), "one of each"),
        ]
    )


def test_a_mask_alone_is_drawn_in_each_convention(page: dict[str, Any]) -> None:
    mask = causal_mask(3)[0, 0]
    for polarity, (may, may_not) in WRITTEN.items():
        ax = plot_mask(mask, ["a", "$x$", "c"], polarity=polarity)
        texts = [text.get_text() for text in ax.texts[:3]]
        assert texts == [may, may_not, may_not]
    assert plot_mask(mask, ax=ax) is ax
    assert page["unmoved"] == UNMOVED == _UNMOVED
