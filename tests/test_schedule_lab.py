"""The schedule lab: what is chosen, which trainings are made, and that the page's rates are ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.javascript import answers_in_node
from viz_transformer.config import TrainConfig
from viz_transformer.training import learning_rate
from viz_transformer.widgets.base.traits import SelectionError

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
    assert trainer.asked == [(0.02, 0, 0), (0.02, 5, 0)]


def test_it_tells_how_the_loss_goes() -> None:
    lab = vt.schedule_lab(Trainer(), PEAKS, WARMUPS, SEEDS, level=("nothing known", 3.0))
    assert "peak 0.01, warm-up 0 steps goes from 0.01 to 0.2" in lab.alt_text()
    (ax,) = lab.figure().axes
    assert ax.lines[0].get_ydata().tolist() == lab.losses.tolist()
    assert set(ax.lines[1].get_ydata()) == {3.0}
    assert repr(lab) == "ScheduleLab(peak=0.01, warmup=0, seed=0)"


@pytest.mark.parametrize(
    "change",
    [
        lambda lab: setattr(lab, "peak", 0.5),
        lambda lab: setattr(lab, "warmup", 7),
        lambda lab: setattr(lab, "seed", 2),
        lambda lab: lab.answer({"peak": 0.01, "warmup": 1, "seed": 0}),
    ],
)
def test_what_was_not_given_is_refused_and_nothing_moves(change) -> None:
    trainer = Trainer()
    lab = vt.schedule_lab(trainer, PEAKS, WARMUPS, SEEDS)
    with pytest.raises(SelectionError, match="choose among"):
        change(lab)
    assert (lab.peak, lab.warmup, lab.seed) == (0.01, 0, 0)
    assert len(trainer.asked) == 1


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: vt.schedule_lab(Trainer(), [], WARMUPS), "give one or more"),
        (lambda: vt.schedule_lab(Trainer(), [0.02, 0.01], WARMUPS), "rising"),
        (lambda: vt.schedule_lab(Trainer(), PEAKS, WARMUPS, peak=3), "choose among"),
        (lambda: vt.schedule_lab(Trainer(), PEAKS, WARMUPS, steps=3), "there is no 'steps'"),
        (lambda: vt.schedule_lab(lambda *_: 3.0, PEAKS, WARMUPS), "a loss for each step"),
    ],
)
def test_a_lab_that_cannot_be_is_refused(make, told: str) -> None:
    with pytest.raises(vt.UserError, match=told):
        make()


def test_a_page_carries_every_training(tmp_path: Path) -> None:
    trainer = Trainer()
    lab = vt.schedule_lab(trainer, PEAKS, WARMUPS, SEEDS)
    vt.export_html(lab, tmp_path / "page.html")
    assert len(trainer.asked) == len(set(trainer.asked)) == len(lab.questions()) == 12
    assert (tmp_path / "page.html").stat().st_size < 100_000 + lab.export_bytes()


def test_the_page_draws_the_rates_of_a_training() -> None:
    found = answers_in_node(
        {"rateOf": "widgets/schedule_lab/rates.js"},
        "(cases) => cases.map((each) => rateOf(...each))",
        [(step, 0.02, warmup) for warmup in WARMUPS for step in range(1, 30)],
    )
    configs = [
        TrainConfig(n_steps=30, learning_rate=0.02, warmup_steps=warmup, schedule="constant")
        for warmup in WARMUPS
    ]
    wanted = [learning_rate(step, config) for config in configs for step in range(1, 30)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
