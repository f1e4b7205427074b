"""The instruments: shapes, leaks and gradients of any function, each held to a known case."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.exercises.instruments import leak_meter, trace_shapes, who_learns

WORDS = ["the", "cat", "sleeps"]


def attention(x: Tensor) -> Tensor:
    scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
    return scores.softmax(-1) @ x


def running_sum(x: Tensor) -> Tensor:
    return x.cumsum(1)


# Shapes


def test_each_step_stands_with_its_line_and_its_shapes() -> None:
    trace = trace_shapes(attention, torch.randn(2, 3, 4))
    assert [(each.operation, each.inputs, each.output) for each in trace.steps] == [
        ("transpose", ("[2, 3, 4]",), "[2, 4, 3]"),
        ("matmul", ("[2, 3, 4]", "[2, 4, 3]"), "[2, 3, 3]"),
        ("div", ("[2, 3, 3]",), "[2, 3, 3]"),
        ("softmax", ("[2, 3, 3]",), "[2, 3, 3]"),
        ("matmul", ("[2, 3, 3]", "[2, 3, 4]"), "[2, 3, 4]"),
    ]
    assert trace.steps[0].line == "scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])"
    assert trace.steps[-1].line == "return scores.softmax(-1) @ x"
    assert trace.returned == "[2, 3, 4]"
    # A line of several steps is written once.
    assert [bool(row[0].text) for row in trace.rows()] == [True, False, False, True, False]


def test_modules_of_torch_are_traced_and_left_as_they_were() -> None:
    layers, x = nn.Sequential(nn.Linear(4, 6), nn.ReLU()), torch.zeros(2, 4)
    before = layers(x), dict(vars(layers[0]))
    trace = trace_shapes(layers, x)
    steps = [(each.operation, each.inputs, each.line) for each in trace.steps]
    assert steps == [("linear", ("[2, 4]",), ""), ("relu", ("[2, 6]",), "")]
    assert torch.equal(layers(x), before[0])
    assert dict(vars(layers[0])) == before[1]
    assert layers(x).requires_grad


def test_what_is_returned_is_told_by_its_kind() -> None:
    def both(x: Tensor) -> tuple[Tensor, None]:
        return nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x)

    def look(x: Tensor) -> Tensor:
        assert x.shape[0] == len(x) == x.size(0)
        assert x.dtype.is_floating_point
        assert x.dim() == 2
        return x.T

    # Looking at a tensor is no step.
    assert [each.operation for each in trace_shapes(look, torch.zeros(2, 3)).steps] == ["T"]
    trace = trace_shapes(both, torch.zeros(1, 3, 4))
    assert "multi_head_attention_forward" in {each.operation for each in trace.steps}
    assert trace.returned == "a tuple of [1, 3, 4] and [1, 3, 3]"
    assert trace_shapes(lambda x: x > 0, torch.zeros(2)).returned == "bool [2]"
    assert trace_shapes(lambda x: x.long(), torch.zeros(2)).returned == "int [2]"
    assert trace_shapes(lambda x: None, torch.zeros(2)).returned == "None"


def test_an_error_is_the_last_row() -> None:
    def pair(x: Tensor) -> Tensor:
        weights = {}
        return x + weights

    trace = trace_shapes(lambda x: (x + 1) @ x, torch.zeros(2, 3))
    assert [each.failed for each in trace.steps] == [False, True]
    assert trace.steps[-1].operation == "matmul"
    assert trace.returned is None
    assert trace.verdict().startswith("It stops: RuntimeError: ")
    assert "mat1 and mat2 shapes cannot be multiplied" in trace.verdict()
    trace = trace_shapes(pair, torch.zeros(2))
    assert trace.steps[-1].failed
    assert trace.steps[-1].line == "return x + weights"
    assert "TypeError" in trace.error


# Leaks


def test_the_past_is_no_leak_and_the_future_is() -> None:
    past = leak_meter(running_sum, torch.randn(2, 3, 4), WORDS)
    assert not past.leaks.any()
    assert past.moved.tolist() == np.triu(np.ones((3, 3), bool)).tolist()
    assert past.verdict() == "No leak from the future: none of 3 outputs moved."
    whole = leak_meter(attention, torch.randn(2, 3, 4), WORDS)
    assert whole.leaks.tolist() == np.tril(np.ones((3, 3), bool), -1).tolist()
    assert whole.verdict() == "3 of 3 outputs moved that must not know the future."
    shown = str(leak_meter(lambda x: x + 1e-3 * x.mean(1, keepdim=True), torch.randn(2, 3, 4), WORDS))
    assert "0.000" in shown
    assert "e-0" not in shown


def test_a_leak_between_sentences_is_found() -> None:
    x = torch.randn(3, 2, 4)
    assert not leak_meter(attention, x, between="sentences").leaks.any()
    mixed = leak_meter(lambda x: x + x.mean(0), x, between="sentences")
    assert mixed.leaks.sum() == 6
    assert mixed.moved.all()


def test_the_change_is_what_a_second_pass_with_another_word_gives() -> None:
    seen: list[Tensor] = []

    def watched(x: Tensor) -> Tensor:
        seen.append(x.clone())
        return running_sum(x)

    x = torch.randn(1, 3, 4)
    measured = leak_meter(watched, x)
    before, edited = running_sum(seen[0]), running_sum(seen[1])
    np.testing.assert_allclose(measured.changes[0], (edited - before).abs().amax((0, 2)).numpy())
    assert torch.equal(seen[0], x)
    seen.clear()
    assert not leak_meter(watched, torch.tensor([[5, 7, 5]]), WORDS).leaks.any()
    assert [ids.tolist()[0] for ids in seen] == [[5, 7, 5], [7, 7, 5], [5, 5, 5], [5, 7, 7]]
    for seed in range(5):  # even where the input was drawn with the same seed
        torch.manual_seed(seed)
        assert leak_meter(lambda x: x, torch.randn(2, 3, 4), seed=seed).moved.diagonal().all()


def test_nan_is_reported_and_counts_as_a_leak() -> None:
    measured = leak_meter(lambda x: x / 0 * 0, torch.randn(1, 3, 4), WORDS)
    assert measured.leaks.sum() == 3
    assert "NaN leak" in str(measured)


def test_inputs_that_cannot_be_measured_are_refused() -> None:
    for given, message in (
        ({"model": running_sum, "x": torch.zeros(3)}, "needs a batch"),
        ({"model": running_sum, "x": torch.zeros(1, 3, 2), "names": ["a"]}, "1 names"),
        ({"model": running_sum, "x": torch.zeros(1, 3), "between": "words"}, "between='words'"),
        ({"model": lambda x: x.sum(), "x": torch.zeros(1, 3)}, r"the model gave \[\]"),
        ({"model": lambda x: None, "x": torch.zeros(1, 3)}, "the model gave NoneType"),
    ):
        with pytest.raises(UserError, match=message):
            leak_meter(**given)

    class Nothing(nn.Linear):
        def forward(self, x: Tensor) -> None:
            super().forward(x)

    with pytest.raises(UserError, match="returned None"):
        who_learns(Nothing(2, 2), torch.randn(1, 2))


# Gradients


class Silent(nn.Module):
    """Uses one of its two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.used(x)


def test_the_gradient_equals_autograd_and_unused_parameters_are_named() -> None:
    module = Silent()
    found = who_learns(module, torch.randn(2, 4))
    assert found.silent == ("unused.weight", "unused.bias")
    assert found.verdict() == "2 of 4 took no part in the output."
    assert all(parameter.grad is None for parameter in module.parameters())
    (one,) = who_learns(nn.Linear(3, 1, bias=False), torch.tensor([[1.0, 2.0, 2.0]])).parameters
    weight = torch.randn(1, 1, generator=torch.Generator().manual_seed(0)).abs().item()
    assert one.gradient == pytest.approx(3 * weight)


def test_a_layer_used_twice_differs_from_a_copy() -> None:
    layer, copied = nn.Linear(4, 4), nn.Linear(4, 4)
    twice = who_learns(nn.Sequential(layer, layer), torch.randn(2, 4))
    assert [each.same for each in twice.parameters] == [False, False, True, True]
    copied.load_state_dict(layer.state_dict())
    found = who_learns(nn.Sequential(layer, copied), torch.randn(2, 4))
    assert found.twins == ("1.weight", "1.bias")
    assert not any(each.same for each in found.parameters)
    assert found.verdict() == "2 hold the numbers of another."
    # Biases that start as zeros are none; the layers of torch's encoder are, as the clinic says.
    norms = nn.Sequential(nn.LayerNorm(4), nn.LayerNorm(4))
    assert not who_learns(norms, torch.randn(2, 4)).twins
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    assert "layers.1.linear1.weight" in who_learns(encoder, torch.randn(1, 3, 8)).twins


def test_a_gradient_of_nan_is_named() -> None:
    class Root(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return (super().forward(x) * 0).sqrt()

    found = who_learns(Root(2, 2), torch.randn(1, 2))
    assert not found.finite
    assert "not finite" in found.verdict()


def test_each_is_a_table_as_text_and_as_html_and_as_a_widget() -> None:
    x = torch.randn(1, 3, 4)
    for table in (
        trace_shapes(lambda x: x * 2, x),
        leak_meter(attention, x, ["<b>", "a & b", "c"]),
        who_learns(Silent(), x),
    ):
        lines = str(table).splitlines()
        assert lines[-1] == table.verdict()
        assert len(lines) == 2 + len(table.rows())
        page = table._repr_html_()
        assert page.count("<tr>") == 1 + len(table.rows())
        assert "<b>" not in page.replace("<b>" + table.verdict(), "")
        assert table.widget().value == page
    # A narrow table breaks its lines between shapes and never inside one.
    page = trace_shapes(torch.matmul, torch.randn(1, 2, 3), torch.randn(1, 3, 4))._repr_html_()
    assert "[1,\u00a02,\u00a03]  [1,\u00a03,\u00a04]" in page
    assert "white-space: pre;" not in page
