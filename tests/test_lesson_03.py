"""What the third lesson says in prose, held to the numbers."""

from __future__ import annotations

import math
from inspect import signature

import pytest
import torch
from transformers import BertConfig, GPT2Config, LlamaConfig, T5Config, T5Model

import viz_transformer as vt
from tests.support.lessons import Lesson, table_under
from viz_transformer.exercises import exercise
from viz_transformer.experiments.saturation import drawn_scores, slope_spread, softmax_jacobian
from viz_transformer.experiments.score_variance import score_spread
from viz_transformer.model.scoring import dot, scaled_dot, softmax_steps

LESSON = Lesson("3")
SCORES = torch.tensor([-3.0, 2.0, -1.0, 0.0])


def test_the_row_is_the_articles() -> None:
    assert "scores = [-3.0, 2.0, -1.0, 0.0]" in LESSON["start"]
    expected = torch.tensor([0.0056533, 0.83902451, 0.04177257, 0.11354962])
    torch.testing.assert_close(SCORES.softmax(-1), expected, atol=1e-7, rtol=1e-6)


def test_only_differences_count_and_a_step_is_a_factor_of_e() -> None:
    weights = SCORES.softmax(-1)
    torch.testing.assert_close((SCORES + 100).softmax(-1), weights)
    pushed = (SCORES + torch.tensor([1.0, 0, 0, 0])).softmax(-1)
    before, after = weights[0] / weights[1], pushed[0] / pushed[1]
    assert (after / before).item() == pytest.approx(math.e, rel=1e-5)


def test_size_is_sharpness() -> None:
    assert (SCORES * 0).softmax(-1).tolist() == [0.25] * 4
    assert (SCORES * 8).softmax(-1).max().item() > 0.9999
    assert vt.softmax_lab(times=16).weights.max() > 0.9999  # “… put the slider to 0, and to 16”
    assert vt.softmax_lab(times=0).weights.tolist() == [0.25] * 4


def test_the_naive_softmax_overflows_at_a_thousand() -> None:
    large = torch.tensor([1000.0, 999.0])
    assert large.exp().isinf().all()
    assert (large.exp() / large.exp().sum()).isnan().all()
    steps = softmax_steps(large)
    assert [round(weight, 3) for weight in steps.weights.tolist()] == [0.731, 0.269]
    assert "0.731 and 0.269" in LESSON.prose
    assert steps.exponentials.max() == 1


def test_a_float_ends_before_e_to_the_89() -> None:
    assert torch.finfo(torch.float32).max == pytest.approx(3.4e38, rel=0.01)
    assert torch.tensor(89.0).exp().isinf()
    assert torch.tensor(88.0).exp().isfinite()
    assert math.exp(89) > torch.finfo(torch.float32).max


def test_one_product_has_the_variance_1_and_d_k_of_them_d_k() -> None:
    assert score_spread(1).variance == pytest.approx(1, abs=0.1)
    for d_k in (2**n for n in range(11)):
        spread = score_spread(d_k)
        assert spread.variance == pytest.approx(d_k, rel=0.1)
        assert spread.scaled_variance == pytest.approx(1, abs=0.1)
    assert drawn_scores(64).numel() == 20_000
    assert drawn_scores(64).var().item() == pytest.approx(64, rel=0.02)


def test_undivided_the_largest_weight_takes_nearly_all() -> None:
    spread = score_spread(512)
    assert f"{spread.largest_weight:.2f}" == "0.95"
    assert "one key gets 0.95 of the weight" in LESSON.prose
    assert f"{spread.largest_scaled_weight:.2f}" == "0.32"
    assert "stays near 0.32" in LESSON.prose
    wide = [score_spread(2**n).largest_scaled_weight for n in range(3, 11)]
    assert max(wide) - min(wide) < 0.02
    assert score_spread(1).largest_weight < 0.3  # “At 1 a query hears all keys.”


def test_a_slope_is_largest_where_the_weight_is_one_half() -> None:
    weights = torch.linspace(0, 1, 101)
    slopes = weights * (1 - weights)
    assert slopes.max().item() == pytest.approx(0.25)
    assert weights[slopes.argmax()].item() == pytest.approx(0.5)


def test_the_jacobian_is_torchs_and_its_columns_add_up_to_zero() -> None:
    by_torch = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), SCORES)
    by_formula = softmax_jacobian(SCORES.softmax(-1))
    assert torch.allclose(by_torch, by_formula)
    assert by_formula.sum(0).abs().max() < 1e-6


def test_undivided_most_queries_are_settled_and_half_of_them_are_flat() -> None:
    spread = slope_spread(512)
    assert spread.settled == pytest.approx(0.7, abs=0.02)
    assert "seven out of ten queries" in LESSON.prose
    assert spread.slope < 1.5e-4
    assert "a ten-thousandth" in LESSON.prose
    assert spread.scaled_settled == 0
    for d_k in (64, 128, 256, 512, 1024):
        assert slope_spread(d_k).scaled_slope == pytest.approx(0.21, abs=0.01)
        assert slope_spread(d_k).slope < slope_spread(d_k // 2).slope
    assert "the slope stays near 0.21" in LESSON.prose


def test_the_slope_of_a_saturated_weight_vanishes_in_the_lab() -> None:
    def largest_slope(times: float) -> float:
        weights = (SCORES * times).softmax(-1)
        return (weights * (1 - weights)).max().item()

    found = [largest_slope(times) for times in (1, 2, 4, 8, 16)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.13
    assert found[-1] < 1e-6


def test_d_k_is_the_width_of_a_head() -> None:
    config = vt.load_translator().config
    assert (config.d_model, config.n_heads, config.d_head) == (64, 4, 16)
    ones = torch.ones(1, config.d_head)
    assert dot(ones, ones).item() == 16
    assert scaled_dot(ones, ones).item() == 16 / math.sqrt(16)


def test_divided_by_d_k_itself_the_scores_hardly_differ() -> None:
    scores = drawn_scores(64) / 64
    assert scores.var().item() == pytest.approx(1 / 64, rel=0.02)
    assert scores.softmax(-1).max().item() < 0.2  # of ten keys


@pytest.mark.parametrize(
    ("cell", "secret"),
    [
        ("predict-row", "equal *factors*"),
        ("predict-variance", "so its variance is `d_k`"),
        ("predict-variance", "independent numbers add up"),
        ("predict-slope", "at most 0.25"),
        ("predict-slope", "*undecided*"),
    ],
)
def test_no_prediction_is_given_away_on_its_screen(cell: str, secret: str) -> None:
    assert secret not in LESSON.on_screen_with(cell)
    assert secret in LESSON[cell].partition("afterwards=")[2].replace('"\n    "', "")


def test_the_labs_below_a_prediction_do_not_open_on_its_answer() -> None:
    assert LESSON.run("start", "lab")["lab"].weights.tolist() == [0.25] * 4
    assert LESSON.run("start", "predict-variance", "width-lab")["shown"].power == 0.5


def test_the_widths_of_real_heads_are_those_of_their_published_configurations() -> None:
    rows = table_under(LESSON["real"], "## In a real model")
    ours = vt.load_translator().config
    gpt2, bert, llama, t5 = GPT2Config(), BertConfig(), LlamaConfig(), T5Config()
    first = {name: each.default for name, each in signature(torch.nn.Transformer).parameters.items()}
    for name, d_model, n_heads in (
        ("this translator", ours.d_model, ours.n_heads),
        ("the first Transformer, base (table 3)", first["d_model"], first["nhead"]),
        ("GPT-2, small", gpt2.n_embd, gpt2.n_head),
        ("BERT, base", bert.hidden_size, bert.num_attention_heads),
        ("Llama, 7B (table 2)", llama.hidden_size, llama.num_attention_heads),
        ("T5, small", t5.d_model, t5.num_heads),
    ):
        assert rows[name][:2] == [f"{d_model:,}", f"{n_heads}"]
        assert rows[name][2] == f"{d_model // n_heads}"
        if name != "T5, small":
            assert float(rows[name][3]) == pytest.approx(math.sqrt(d_model / n_heads), abs=0.05)
    assert t5.d_kv == 64
    assert rows["T5, small"][3] == "not divided"


def test_t5_starts_with_smaller_queries_and_does_not_divide() -> None:
    torch.manual_seed(0)
    config = T5Config(num_layers=1, num_decoder_layers=1, vocab_size=8, attn_implementation="eager")
    model = T5Model(config).eval()
    attention = model.encoder.block[0].layer[0].SelfAttention
    ratio = attention.k.weight.std() / attention.q.weight.std()
    assert ratio.item() == pytest.approx(math.sqrt(config.d_kv), rel=0.02)
    attention.relative_attention_bias.weight.data.zero_()
    x = torch.randn(1, 5, config.d_model)
    with torch.no_grad():
        weights = attention(x, output_attentions=True)[-1]  # [batch, head, query, key]
        q, k = (
            each(x).view(1, 5, config.num_heads, config.d_kv).transpose(1, 2)
            for each in (attention.q, attention.k)
        )
        torch.testing.assert_close(weights, dot(q, k).softmax(-1))


@pytest.mark.parametrize(
    "answer", [lambda s: s.softmax(-1), torch.nn.Softmax(-1), lambda s: s.log_softmax(-1).exp()]
)
def test_torchs_own_softmax_is_no_answer(answer) -> None:
    found = exercise("3.2").check(answer)
    assert not found.passed
    assert "That is torch's own" in found.message


def test_the_tour_shows_what_it_says() -> None:
    tour = vt.lesson_tour(3)
    rows = []
    for step in range(len(tour.steps)):
        tour.step = step
        rows.append(tour.view.weights)
    assert rows[0].tolist() == [0.25] * 4
    assert f"{rows[1].max():.2f}." in tour.steps[1]["caption"]
    assert rows[2] == pytest.approx(rows[1])
    assert rows[3].max() > 0.99
    assert (rows[-1] * (1 - rows[-1])).max() < 1e-6
