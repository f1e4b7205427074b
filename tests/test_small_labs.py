"""The labs of one chart: what they tell and draw, and that their pages compute what numpy does."""

from __future__ import annotations

import ast
import io
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import viz_transformer as vt
from tests.support.exported_pages import bytes_of, page_data
from tests.support.hand_made_starts import TOKENS, hand_made_starts
from tests.support.javascript import answers_in_node
from tests.support.refusals import assert_refused
from viz_transformer._files import bundled
from viz_transformer.analysis.positions import look_alikes
from viz_transformer.analysis.projection import principal_plane
from viz_transformer.config import TrainConfig
from viz_transformer.experiments.saturation import drawn_scores
from viz_transformer.model.positional import sinusoidal_encoding
from viz_transformer.plots import plot_softmax
from viz_transformer.plots.figures import set_alt_text
from viz_transformer.training import learning_rate
from viz_transformer.widgets.embedding_map import EmbeddingMap
from viz_transformer.widgets.figure_lab.view import MAX_EXPORTED, value_text
from viz_transformer.widgets.initial_loss_lab.live import STDS

# --- the clock of positions ----------------------------------------------------------------------

TABLE = sinusoidal_encoding(64, 64).numpy()


def test_the_clock_describes_the_chosen_pair() -> None:
    clock = vt.position_clock(TABLE, 3, position=7)
    assert clock.alike == look_alikes(TABLE, 7, 3) == (22, 37, 51, 52)
    assert "one turn every 14.9 tokens" in clock.alt_text()
    assert "position 7 from 4 others" in clock.alt_text()
    clock.pair, clock.position = np.int64(0), 40
    assert clock.figure().alt_text == clock.alt_text()
    assert repr(clock) == "PositionClock(pair=0, position=40)"
    other = vt.position_clock(np.random.default_rng(0).normal(size=(5, 3)))  # any table will do
    assert not other.data["sinusoidal"]
    assert "turn" not in other.alt_text()


def test_the_page_turns_the_hands_as_numpy_does() -> None:
    answer = """({ bytes, places }) => {
        const table = readTable(bytes, 64, 64);
        return places.map(([pair, position]) => ({
            hand: handOf(table, pair, position), alike: lookAlikes(table, position, pair) }));
    }"""
    places = [(pair, position) for pair in (0, 3, 9, 31) for position in (0, 7, 63)]
    found = answers_in_node(
        {"readTable, handOf, lookAlikes": "widgets/base/positions/hands.ts"},
        answer,
        {"bytes": vt.position_clock(TABLE).data["table"], "places": places},
    )
    for (pair, position), page in zip(places, found, strict=True):
        angle = position / 10_000 ** (2 * pair / 64)
        np.testing.assert_allclose(page["hand"], [np.cos(angle), np.sin(angle)], atol=1e-6)
        assert tuple(page["alike"]) == look_alikes(TABLE, position, pair)


# --- the scaling of scores -----------------------------------------------------------------------

WIDTHS = (1, 8, 64, 512)
SCORES = {d_k: drawn_scores(d_k, n_queries=60).numpy() for d_k in WIDTHS}


def test_the_scaling_lab_gives_the_spread_of_the_scores() -> None:
    lab = vt.scaling_lab(SCORES)
    assert f"q·k at d_k 64, variance {SCORES[64].var():.3g}" in lab.alt_text()
    lab.d_k, lab.power = np.int64(512), 0.5
    assert f"q·k / √d_k at d_k 512, variance {SCORES[512].var() / 512:.3g}" in lab.alt_text()
    assert lab.figure().alt_text == lab.alt_text()
    assert repr(lab) == "ScalingLab(d_k=512, power=0.5)"


def test_the_page_of_the_scaling_lab_computes_what_numpy_does() -> None:
    answer = """({ bytes, widths, powers }) => {
        const all = decodeWeights(bytes, "float16");
        const each = all.length / widths.length;
        return powers.map((power) => widths.map((width, i) => {
            const scores = all.subarray(i * each, (i + 1) * each);
            const { weights, largest } = rowWeights(scores, 10, width ** power);
            const counts = Array.from(histogram(scores, width ** power, 60, 80));
            return { scores: Array.from(scores), variance: variance(scores), largest,
                weights: Array.from(weights), counts };
        }));
    }"""
    powers = [0.0, 0.35, 0.5, 1.0]
    found = answers_in_node(
        {
            "decodeWeights": "widgets/base/bytes.ts",
            "rowWeights, histogram, variance": "widgets/scaling_lab/spread.ts",
        },
        answer,
        {"bytes": vt.scaling_lab(SCORES).data["scores"], "widths": WIDTHS, "powers": powers},
    )
    for power, pages in zip(powers, found, strict=True):
        for width, page in zip(WIDTHS, pages, strict=True):
            halves = SCORES[width].astype("<f2").astype(float)  # [query, key]
            np.testing.assert_array_equal(page["scores"], halves.ravel())
            np.testing.assert_allclose(halves, SCORES[width], rtol=1e-3)
            assert page["variance"] == pytest.approx(halves.var(), rel=1e-9)
            every = halves / width**power
            parts = np.exp(every - every.max(-1, keepdims=True))
            weights = parts / parts.sum(-1, keepdims=True)
            np.testing.assert_allclose(page["weights"], weights.ravel(), atol=1e-9)
            assert page["largest"] == pytest.approx(weights.max(-1).mean(), rel=1e-9)
            counts, _ = np.histogram(every, np.linspace(-60, 60, 81))
            assert np.abs(np.subtract(page["counts"], counts)).sum() <= 2  # a score on an edge


# --- softmax -------------------------------------------------------------------------------------


def test_the_softmax_lab_gives_the_weights_of_its_scores() -> None:
    names = ["the", "cat", "is", "black"]
    lab = vt.softmax_lab([-3, 2, -1, 0], names)
    assert lab.alt_text().endswith("the 0.006, cat 0.839, is 0.042, black 0.114.")
    assert lab.alt_text() == plot_softmax(lab.scores, names).alt_text
    lab.times = 0
    assert lab.weights.tolist() == [0.25] * 4
    lab.scores, lab.times = [0, 0, 5, 0], 16.0
    assert "is 1.000" in lab.alt_text()
    assert repr(lab) == "SoftmaxLab(scores=[0.0, 0.0, 5.0, 0.0], times=16)"
    for slopes in (False, True):
        plain = vt.softmax_lab(slopes=slopes)
        assert (plain.labels[3], len(plain.figure().axes)) == ("key 3", 3 + slopes)


def test_the_page_computes_the_softmax_of_numpy() -> None:
    rng = np.random.default_rng(0)
    cases = [(rng.uniform(-5, 5, size).round(1).tolist(), t) for size in (1, 4, 12) for t in (0, 1, 16)]
    found = answers_in_node(
        {"softmaxSteps": "widgets/softmax_lab/softmax.ts"},
        "(cases) => cases.map(([scores, times]) => softmaxSteps(scores, times))",
        cases,
    )
    for (scores, times), steps in zip(cases, found, strict=True):
        lab = vt.softmax_lab(scores, times=times)
        powers = np.exp(times * np.array(scores) - (times * np.array(scores)).max())
        np.testing.assert_allclose(lab.weights, powers / powers.sum(), atol=1e-12)
        np.testing.assert_allclose(steps["weights"], lab.weights, atol=1e-12)
        np.testing.assert_allclose(steps["slopes"], lab.weights * (1 - lab.weights), atol=1e-12)
        if times == 16:
            drawn = [bar.get_height() for bar in lab.figure().axes[1].containers[0]]
            np.testing.assert_allclose(steps["parts"], drawn, atol=1e-12)


# --- schedules of the learning rate ----------------------------------------------------------------

PEAKS, WARMUPS, SEEDS = [0.01, 0.02], [0, 5, 10], [0, 1]


class Trainer:
    """Makes up losses, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, int, int]] = []

    def __call__(self, peak: float, warmup: int, seed: int) -> list[float]:
        self.asked.append((peak, warmup, seed))
        return [peak * step + warmup + seed for step in range(1, 21)]


def test_a_training_is_made_when_it_is_first_asked_for() -> None:
    trainer = Trainer()
    lab = vt.schedule_lab(trainer, PEAKS, WARMUPS, SEEDS, peak=0.02)
    assert trainer.asked == [(0.02, 0, 0)]
    lab.warmup = np.int64(5)
    assert trainer.asked == [(0.02, 0, 0)]
    np.testing.assert_allclose(lab.losses, [0.02 * step + 5 for step in range(1, 21)], rtol=1e-6)
    reply = lab.answer({"peak": 0.02, "warmup": 5, "seed": 0})
    assert np.frombuffer(reply["losses"], "<f4").tolist() == lab.losses.tolist()
    assert_refused([(lambda: lab.answer({"peak": 0.01, "warmup": 1, "seed": 0}), "choose among")])
    assert trainer.asked == [(0.02, 0, 0), (0.02, 5, 0)]


def test_the_schedule_lab_describes_the_loss() -> None:
    lab = vt.schedule_lab(Trainer(), PEAKS, WARMUPS, SEEDS, level=("nothing known", 3.0))
    assert "peak 0.01, warm-up 0 steps goes from 0.01 to 0.2" in lab.alt_text()
    (ax,) = lab.figure().axes
    assert ax.lines[0].get_ydata().tolist() == lab.losses.tolist()
    assert set(ax.lines[1].get_ydata()) == {3.0}
    assert repr(lab) == "ScheduleLab(peak=0.01, warmup=0, seed=0)"


def test_a_page_carries_every_training_and_draws_the_rates_of_each(tmp_path: Path) -> None:
    trainer = Trainer()
    lab = vt.schedule_lab(trainer, PEAKS, WARMUPS, SEEDS)
    vt.export_html(lab, tmp_path / "page.html")
    assert len(trainer.asked) == len(set(trainer.asked)) == len(lab.questions()) == 12
    assert (tmp_path / "page.html").stat().st_size < 100_000 + lab.export_bytes()
    cases = [(step, 0.02, warmup) for warmup in WARMUPS for step in range(1, 30)]
    rates = "(cases) => cases.map((each) => rateOf(...each))"
    found = answers_in_node({"rateOf": "widgets/schedule_lab/rates.ts"}, rates, cases)
    options = {"n_steps": 30, "learning_rate": 0.02, "schedule": "constant"}
    wanted = [learning_rate(step, TrainConfig(warmup_steps=warmup, **options)) for step, _, warmup in cases]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


# --- the loss before training ----------------------------------------------------------------------


def test_the_initial_loss_lab_describes_and_draws_the_choice() -> None:
    lab = vt.initial_loss_lab(hand_made_starts(), [1.0, 0.5, 2.0], sentence=0, place=1)
    assert lab.stds == (0.5, 1.0, 2.0)
    assert repr(lab) == "InitialLossLab(std=1, sentence=0, place=1)"
    assert "standard deviation 1: loss 102.0, where a uniform guess gives 1.79" in lab.alt_text()
    assert "After “<sos> gato”" in lab.alt_text()
    left, right = lab.figure().axes
    start = hand_made_starts().start(1.0)
    np.testing.assert_allclose([bar.get_height() for bar in left.patches], start.logits[0, 1])
    np.testing.assert_allclose(right.lines[0].get_ydata(), [52, 102, 202])
    lab.std, lab.place = 2.0, 2
    assert "loss 202.0" in lab.alt_text()
    lab.sentence = 1  # which has two real places
    assert lab.place == 1
    assert "“<sos> gato” the token just read" in lab.alt_text()
    assert 512**-0.5 in STDS  # the scale of the paper
    assert sorted(STDS) == list(STDS)


def test_the_page_reads_the_scores_of_every_place(tmp_path: Path) -> None:
    lab = vt.initial_loss_lab(hand_made_starts(), [1.0, 0.5, 2.0], sentence=0, place=1)
    (view,) = page_data(vt.export_html(lab, tmp_path / "page.html"))["views"]
    assert "answers" not in view["state"]
    data = view["state"]["data"]
    places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    found = answers_in_node(
        {"logitsAt": "widgets/initial_loss_lab/starts.ts"},
        """({ starts, places }) => starts.stds.map((_, index) => places.map(([sentence, place]) =>
            logitsAt(starts, { index, sentence, place })))""",
        {"starts": data | {"logits": bytes_of(data["logits"])}, "places": places},
    )
    for std, rows in zip(lab.stds, found, strict=True):
        logits = hand_made_starts().start(std).logits
        np.testing.assert_allclose(rows, [logits[each] for each in places], rtol=1e-6)
    assert data["tokens"] == list(TOKENS)


# --- the map of embeddings -------------------------------------------------------------------------

RNG = np.random.default_rng(0)
#: Twelve vectors that differ most along one direction, less along another, and hardly at all elsewhere.
VECTORS = RNG.normal(size=(12, 3)) @ np.diag([5.0, 2.0, 0.1])


def test_the_plane_keeps_the_directions_in_which_vectors_differ_most() -> None:
    plane = principal_plane(VECTORS)
    centred = VECTORS - VECTORS.mean(axis=0)
    variances, axes = np.linalg.eigh(centred.T @ centred)  # rising
    np.testing.assert_allclose(np.abs(plane.points), np.abs(centred @ axes[:, [2, 1]]), atol=1e-9)
    np.testing.assert_allclose(plane.shares, variances[[2, 1]] / variances.sum())
    largest = np.abs(plane.points).argmax(axis=0)
    assert (plane.points[largest, [0, 1]] > 0).all(), "the sign is settled"
    flat = RNG.normal(size=(9, 2)) @ np.linalg.qr(RNG.normal(size=(5, 5)))[0][:2]
    drawn = principal_plane(flat)  # points in a plane keep their distances
    assert sum(drawn.shares) == pytest.approx(1)
    for points in (flat, drawn.points):
        points -= points.mean(axis=0)
    np.testing.assert_allclose(drawn.points @ drawn.points.T, flat @ flat.T, atol=1e-9)


def test_the_map_has_every_token_but_padding_and_names_the_nearest() -> None:
    shown, vocabulary = vt.embedding_map(token="maestra"), vt.load_translator().vocabulary
    tokens, data = list(vocabulary.tokens[1:]), shown.data
    assert data["tokens"] == tokens
    groups = dict(zip(tokens, (data["groups"][group] for group in data["group_of"]), strict=True))
    wanted = {"cat": "English", "gato": "Spanish", "animal": "English and Spanish", "<eos>": "special"}
    assert {token: groups[token] for token in wanted} == wanted
    assert tokens[shown.nearest[0].index] == "profesora"  # by the whole vectors
    assert "profesora 0.95" in shown.alt_text()
    assert "11% of their variance" in shown.alt_text()
    for model in (vt.load_language_model(), vt.load_masked_model()):
        assert vt.embedding_map(model, "gato").token == "gato"


# --- figures that are drawn for what is chosen -----------------------------------------------------

CONTROLS = {"size": [1.0, 2.0, 4.0], "colour": ("red", "blue")}


class Drawer:
    """Draws a square, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, str]] = []

    def __call__(self, size: float, colour: str) -> Figure:
        self.asked.append((size, colour))
        figure = Figure(figsize=(size, 1), facecolor=colour)
        set_alt_text(figure, f"A {colour} figure, {size:g} wide.")
        return figure


def image(reply: dict) -> Image.Image:
    return Image.open(io.BytesIO(reply["png"])).convert("RGB")


def test_the_picture_follows_the_choice() -> None:
    lab = vt.figure_lab(Drawer(), CONTROLS)
    assert lab.values == {"size": 1.0, "colour": "red"}
    assert lab.places == lab.first["places"] == [0, 0]
    assert image(lab.first).getpixel((5, 5)) == (255, 0, 0)
    assert [control["kind"] for control in lab.controls] == ["slider", "choice"]
    assert lab.controls[0]["texts"] == ["1", "2", "4"]
    lab = vt.figure_lab(Drawer(), CONTROLS, start={"size": 2.0})
    lab.choose(colour="blue")
    assert lab.places == [1, 1]
    reply = lab.answer({"places": [1, 1]})
    assert (reply["width"], reply["height"]) == (200, 100)
    assert image(reply).size == (400, 200)  # for a stage that enlarges it
    assert image(reply).getpixel((5, 5)) == (0, 0, 255)
    assert lab.alt_text() == reply["alt"] == "A blue figure, 2 wide."
    assert lab.figure().get_size_inches().tolist() == [2, 1]
    assert repr(lab) == "FigureLab(size=2.0, colour='blue')"
    axes = vt.figure_lab(lambda size: Figure(figsize=(size, 1)).subplots(), {"size": [1, 3]})
    assert isinstance(axes.figure(), Figure)
    assert axes.alt_text() == "Picture for size 1."
    told = [value_text(value) for value in (1.0, -3.5, 512**0.5, "cat", 7)]
    assert told == ["1", "−3.5", "22.63", "cat", "7"]


def test_what_makes_no_lab_of_one_chart_is_refused() -> None:
    lab, starts, names = vt.figure_lab(Drawer(), CONTROLS), hand_made_starts(), [f"t{i}" for i in range(12)]
    zeros = VECTORS.copy()
    zeros[4] = 0
    scores_64, scores_8, infinite = SCORES[64], SCORES[8], [[np.inf]]
    tables = [
        (vt.position_clock, [([1, 2],), ([[1], [2]],), ([[np.nan, 1]],)], "position, d_model"),
        (vt.scaling_lab, [({64: scores_64},)], "two or more"),
        (vt.scaling_lab, [({64: scores_64, 8: scores_8},)], "rising"),
        (vt.scaling_lab, [({8: scores_8, 64: scores_64[:3]},)], "the same for all"),
        (vt.scaling_lab, [({8: [1, 2], 64: [1, 2]},)], "query, key"),
        (vt.scaling_lab, [({8: infinite, 64: [[1]]},)], "finite"),
        (vt.softmax_lab, [([0, 1], ["the"]), ([], None), ([0] * 13, None)], "one for each"),
        (vt.schedule_lab, [(Trainer(), [], WARMUPS)], "give one or more"),
        (vt.schedule_lab, [(Trainer(), [0.02, 0.01], WARMUPS)], "rising"),
        (vt.schedule_lab, [(lambda *_: 3.0, PEAKS, WARMUPS)], "a loss for each step"),
        (partial(vt.schedule_lab, peak=3), [(Trainer(), PEAKS, WARMUPS)], "choose among"),
        (partial(vt.schedule_lab, steps=3), [(Trainer(), PEAKS, WARMUPS)], "there is no 'steps'"),
        (vt.initial_loss_lab, [(starts, [1.0]), (None, 3)], "give two or more"),
        (partial(vt.initial_loss_lab, std=3, sentence=0), [(starts, [1, 2])], r"std=3\.0"),
        (partial(vt.embedding_map, token="blorp"), [()], "'blorp' is not in this model's vocabulary"),
        (EmbeddingMap, [(VECTORS, names[:-1])], "12 vectors, 11 tokens"),
        (EmbeddingMap, [(VECTORS, names, ["a"])], "1 groups"),
        (EmbeddingMap, [(VECTORS, names, list("abcdeabcdeab"))], "four groups"),
        (partial(EmbeddingMap, token="t4"), [(zeros, names)], "points nowhere"),
        (principal_plane, [(np.ones((1, 4)),), (np.ones((4, 1)),)], "at least 2"),
        (principal_plane, [(np.ones((4, 4)),)], "one point"),
        (partial(lab.choose, size=3.0), [()], "size=3.0 is none of"),
        (partial(lab.choose, shape=1), [()], "no control 'shape'"),
        (lab.answer, [({"places": [-1, 0]},)], "give a place from 0 for each"),
        (partial(vt.figure_lab, Drawer()), [({},), ({"size": [1]},), ({"size": [1, 2, 1]},)], "needs"),
    ]
    assert_refused((partial(make, *given), said) for make, each, said in tables for given in each)
    assert lab.places == [0, 0]


def test_a_page_carries_every_picture_once_or_each_control_moved_alone(tmp_path: Path) -> None:
    drawer = Drawer()
    lab = vt.figure_lab(drawer, CONTROLS)
    places = [[size, colour] for size in range(3) for colour in range(2)]
    assert [question["places"] for question in lab.questions()] == places
    (view,) = page_data(vt.export_html(lab, tmp_path / "page.html"))["views"]
    assert [reply["alt"] for _, reply in view["state"]["answers"]][3] == "A blue figure, 2 wide."
    lab.answer({"places": [2, 1]})
    assert len(set(drawer.asked)) == 6
    assert len(drawer.asked) == 7, "the first is drawn once more, for where no script runs"
    colours = ("red", "blue", "green", "black", "white", "grey", "tan")
    many = vt.figure_lab(Drawer(), {"size": range(1, 9), "colour": colours})
    places = [question["places"] for question in many.questions()]
    assert places[0] == many.places
    assert len(places) == len({tuple(each) for each in places}) == 1 + 7 + 6
    assert max((np.array(each) != many.places).sum() for each in places) == 1
    assert many.export_bytes() == 40_000 * len(places)


def picture_counts(code: str) -> Iterator[int]:
    """How many pictures each figure lab of a cell has: the product of its controls' values."""
    nodes = list(ast.walk(ast.parse(code)))
    lists = {ast.unparse(node.targets[0]): node.value for node in nodes if isinstance(node, ast.Assign)}
    for node in nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "vt.figure_lab":
            values = [lists[each.id] if isinstance(each, ast.Name) else each for each in node.args[1].values]
            yield math.prod(
                len(each.elts if isinstance(each, ast.List) else range(*map(ast.literal_eval, each.args)))
                for each in values
            )


def test_the_page_of_a_lesson_carries_every_picture_of_its_figure_labs() -> None:
    cells = [
        cell
        for path in bundled("notebooks").glob("*.ipynb")
        for cell in nbformat.read(path, as_version=4).cells
        if "vt.figure_lab(" in cell.source
    ]
    counts = {cell.id: max(picture_counts(cell.source)) for cell in cells}
    assert {"split-view", "data-lab", "cache-lab", "factor-lab", "scorings", "depth-lab", "size-lab"} <= set(
        counts
    )
    assert max(counts.values()) <= MAX_EXPORTED, counts
