"""The stepper's arithmetic: against torch, against the model's own weights, and line by line."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.attention_steps import barred_steps, in_javascript, random_steps
from viz_transformer.config import ModelConfig
from viz_transformer.labs import attention_steps, thinking_machines
from viz_transformer.model import DecoderOnly, TracedTransformer, attend
from viz_transformer.model.attention_hooks import watched
from viz_transformer.trace import AttentionSteps, compute_head

TEXT = "the black cat does not sleep because it is tired"


@pytest.fixture(scope="module")
def layers(translator) -> dict[tuple[str, int], AttentionSteps]:
    return {
        (kind, layer): attention_steps(translator, TEXT, kind=kind, layer=layer)
        for kind, layer in itertools.product(("encoder", "decoder", "cross"), (0, 1))
    }


def softmax_steps(scores: list[float], **changes: Any) -> AttentionSteps:
    """A layer of one head and one number a word, whose first query has the given scores."""
    keys = [f"k{i}" for i in range(len(scores))]
    return AttentionSteps(
        kind="cross", query_tokens=["q"], key_tokens=keys, x=[[1]],
        memory=np.array(scores)[:, None], w_q=[[[1]]], w_k=[[[1]]], w_v=[[[1]]], **changes,
    )  # fmt: skip


def test_softmax_of_the_published_example() -> None:
    worked = compute_head(softmax_steps([-3, 2, -1, 0]), 0, 0)
    truth = [0.0056533, 0.83902451, 0.04177257, 0.11354962]
    assert np.allclose(worked.weights, truth, atol=1e-8)


@pytest.mark.parametrize(("scale", "mask", "temperature"), [(True, True, 1), (False, False, 0.3)])
def test_it_equals_attend(scale: bool, mask: bool, temperature: float) -> None:
    steps = barred_steps()
    for head, query in itertools.product(range(2), range(3)):
        worked = compute_head(steps, head, query, scale=scale, mask=mask, temperature=temperature)
        q, k, v = (torch.tensor(each).float() for each in (worked.q[None], worked.k, worked.v))
        # attend divides by √3 itself, so that is put into the query where it is not wanted.
        q = q / temperature * (1 if scale else 3**0.5)
        allowed = torch.tensor(steps.mask[query][None]) if mask else None
        output, weights = attend(q, k, v, allowed)
        assert np.allclose(worked.weights, weights[0].numpy(), atol=1e-6)
        assert np.allclose(worked.output, output[0].numpy(), atol=1e-5)


def test_it_equals_torch_multi_head_attention() -> None:
    steps = random_steps(bias=True)
    theirs = torch.nn.MultiheadAttention(6, 2, batch_first=True)
    with torch.no_grad():
        rows = [np.concatenate(getattr(steps, f"w_{name}"), axis=1).T for name in "qkv"]
        theirs.in_proj_weight.copy_(torch.tensor(np.concatenate(rows)))
        biases = [getattr(steps, f"b_{name}").ravel() for name in "qkv"]
        theirs.in_proj_bias.copy_(torch.tensor(np.concatenate(biases)))
        theirs.out_proj.weight.copy_(torch.tensor(steps.w_o.T))
        theirs.out_proj.bias.copy_(torch.tensor(steps.b_o))
        memory = torch.tensor(steps.memory)[None]
        output, weights = theirs(torch.tensor(steps.x)[None], memory, memory, average_attn_weights=False)
    for head, query in itertools.product(range(2), range(3)):
        worked = compute_head(steps, head, query)
        assert np.allclose(worked.weights, weights[0, head, query], atol=1e-6)
        assert np.allclose(worked.result, output[0, query], atol=1e-5)


def test_weights_equal_the_models_own(translator, layers) -> None:
    trace = translator.trace(TEXT)
    for (kind, layer), steps in layers.items():
        theirs = trace.attention(kind)[layer]  # [head, query, key]
        assert steps.query_tokens == trace.query_tokens(kind)
        assert steps.key_tokens == trace.key_tokens(kind)
        for head, query in itertools.product(range(4), range(theirs.shape[1])):
            worked = compute_head(steps, head, query)
            assert np.allclose(worked.weights, theirs[head, query], atol=1e-5)


def test_the_result_is_what_the_layer_gives(translator, layers) -> None:
    model = translator.traced_model
    given: dict[str, torch.Tensor] = {}
    module = model.decoder.layers[1].cross_attention
    handle = module.register_forward_hook(lambda _, __, out: given.update(out=out[0].detach()))
    translator.trace(TEXT)
    handle.remove()
    steps = layers["cross", 1]
    for query in range(len(steps.query_tokens)):
        result = compute_head(steps, 2, query).result
        assert np.allclose(result, given["out"][0, query].numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("switch", "kind", "changes"),
    [
        ({"scale": False}, "encoder", {"scale": False}),
        ({"temperature": 0.5}, "encoder", {"temperature": 0.5}),
        ({"mask": False}, "decoder", {"causal_mask": False}),
    ],
)
def test_the_switches_do_what_the_interventions_do(
    translator, layers, switch: dict, kind: str, changes: dict
) -> None:
    # In layer 0, where the vectors are the words' own and no earlier attention has changed them.
    target = translator.translate(TEXT).tokens
    trace = translator.trace(TEXT, target, vt.Interventions(**changes))
    for head, query in itertools.product(range(4), range(len(layers[kind, 0].query_tokens))):
        worked = compute_head(layers[kind, 0], head, query, **switch)
        assert np.allclose(worked.weights, trace.attention(kind)[0, head, query], atol=1e-5)


def test_a_query_that_may_look_at_nothing_gets_zeros() -> None:
    steps = barred_steps()
    worked = compute_head(steps, 0, 1)
    assert not worked.weights.any()
    assert not worked.output.any()
    assert np.isneginf(worked.masked).all()
    assert np.allclose(worked.result, steps.b_o)
    assert compute_head(steps, 0, 0).weights[3] == 0
    assert compute_head(steps, 0, 1, mask=False).weights.sum() == pytest.approx(1)


def test_large_scores_do_not_overflow() -> None:
    worked = compute_head(softmax_steps([5000, 4999, -5000]), 0, 0)
    assert np.allclose(worked.weights, compute_head(softmax_steps([1, 0, -9999]), 0, 0).weights)


def run_lines(steps: AttentionSteps, lines: list[dict[str, str]], head: int) -> dict[str, Any]:
    """Run the lines that the stepper shows, [head], in their order, and return what they have made."""
    in_a_head = [name for name in steps.steps[1:] if name not in ("concat", "result")]
    in_a_head.insert(in_a_head.index("weights"), "exponentials")

    def run(head: int) -> dict[str, Any]:
        made: dict[str, Any] = {
            "np": np, "x": steps.x, "memory": steps.memory, "mask": steps.mask,
            "d_k": steps.d_head, "W_O": steps.w_o, "b_O": steps.b_o,
        }  # fmt: skip
        for name in "qkv":
            made[f"W_{name.upper()}"] = getattr(steps, f"w_{name}")[head]
            bias = getattr(steps, f"b_{name}")
            made[f"b_{name.upper()}"] = None if bias is None else bias[head]
        for name in in_a_head:
            exec(lines[head][name], made)  # as a reader would run it
        return made

    made = run(head)
    if steps.w_o is not None:
        made["outputs_of_all_heads"] = [run(each)["output"] for each in range(steps.n_heads)]
        exec(lines[head]["concat"], made)
        exec(lines[head]["result"], made)
    return made


@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"scale": False},
        {"temperature": 0.7},
        {"mask": False},
        {"scale": False, "temperature": 2.5, "mask": False},
    ],
)
def test_the_lines_shown_make_the_numbers_shown(layers, switches: dict) -> None:
    cases = [
        *(barred_steps(), random_steps(4, 4, kind="encoder", bias=False)),
        *(thinking_machines().steps, layers["decoder", 1], layers["cross", 0]),
    ]
    for steps in cases:
        heads, queries = range(steps.n_heads), range(len(steps.query_tokens))
        whole = {"scale": steps.scale, "mask": True, "temperature": 1} | switches
        chosen = [{"query": query, "head": head, **whole} for query in queries for head in heads]
        shown = iter(in_javascript(steps, chosen))
        for query in queries:
            lines = [next(shown)[1] for _ in heads]
            for head in heads:
                worked = compute_head(steps, head, query, **switches)
                made = run_lines(steps, lines, head)
                for name in steps.steps[1:]:
                    ours = getattr(worked, name)
                    assert np.allclose(made[name], ours, atol=1e-4, rtol=1e-4), (name, steps.kind)


def test_thinking_machines_by_hand() -> None:
    steps = thinking_machines().steps
    assert steps.steps == ("x", "q", "k", "v", "scores", "scaled", "weights", "output")
    worked = compute_head(steps, 0, 0)
    assert worked.q.tolist() == [2.5, 1, 2]
    assert worked.k.tolist() == [[0, 2, 0], [1, -2, 2]]
    assert worked.v.tolist() == [[0.5, 1, 2], [2, -2, 0]]
    assert worked.scores.tolist() == [2, 4.5]
    assert np.allclose(worked.scaled, [2 / 3**0.5, 4.5 / 3**0.5])
    share = 1 / (1 + np.exp(-2.5 / 3**0.5))
    assert np.allclose(worked.weights, [1 - share, share])
    assert compute_head(steps, 0, 1).q.tolist() == [-2, 1, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "both"}, "unknown attention kind 'both'"),
        ({"x": np.zeros((3, 5))}, r"x has shape \[3, 5\]"),
        ({"x": np.full((3, 6), np.nan)}, "x holds NaN"),
        ({"memory": None}, "3 query_tokens and 4 key_tokens share"),
        ({"w_q": np.zeros((6, 3))}, r"w_q has shape \[6, 3\]"),
        ({"w_o": np.zeros((5, 6))}, r"w_o has shape \[5, 6\]"),
        ({"b_k": np.zeros(6)}, r"b_k has shape \[6\]"),
        ({"mask": np.ones((3, 4))}, "the mask holds float64"),
        ({"mask": np.ones((4, 3), dtype=bool)}, r"mask has shape \[4, 3\]"),
        ({"query_tokens": "abc"}, "must be a sequence of strings"),
        ({"query_tokens": []}, r"x has shape \[3, 6\]"),
        ({"query_reads": ["a"]}, "query_reads has 1"),
    ],
)
def test_bad_layers_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(vt.UserError, match=message) as error:
        random_steps(**changes)
    assert "\n" not in str(error.value)


def test_bad_choices_are_refused() -> None:
    steps = random_steps()
    for choice, message in (
        ({"head": 2, "query": 0}, "head=2"),
        ({"head": 0, "query": -1}, "query=-1"),
        ({"head": 0, "query": 0, "temperature": 0}, "temperature=0"),
    ):
        with pytest.raises(vt.UserError, match=message):
            compute_head(steps, **choice)


def test_a_layer_is_a_copy_that_cannot_change() -> None:
    x = np.ones((3, 6), dtype=np.float32)
    steps = random_steps(x=x)
    x[0] = 7
    assert steps.x[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        steps.x[0] = 7


def test_watching_leaves_the_model_as_it_was(translator) -> None:
    module = translator.traced_model.encoder.layers[0].self_attention
    with (
        pytest.raises(vt.UserError, match="dragon"),
        watched(translator.traced_model, "encoder", 0),
    ):
        translator.trace("the dragon")
    assert not module._forward_pre_hooks
    with watched(translator.traced_model, "encoder", 0) as watch:
        pass
    with pytest.raises(vt.UserError, match="has not run"):
        _ = watch.inputs


def small(**changes: Any) -> ModelConfig:
    sizes = {"vocab_size": 9, "d_model": 8, "n_heads": 2, "n_encoder_layers": 1,
             "n_decoder_layers": 1, "d_ff": 8, "max_length": 6, "dropout": 0.0}  # fmt: skip
    return ModelConfig(**(sizes | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"positional": "rotary"}, "rotary"), ({"scoring": "additive"}, "additive")],
)
def test_other_attention_than_dot_products_is_refused(changes: dict, message: str) -> None:
    model = TracedTransformer(small(**changes))
    with pytest.raises(vt.UserError, match=message), watched(model, "encoder", 0):
        pass


def test_layers_that_are_not_there_are_named(translator) -> None:
    for kind, layer, message in (
        ("cross", 2, "layer=2, but the cross attention of this model has 2"),
        ("both", 0, "no 'both' attention"),
        ("cross", True, "layer=True"),
    ):
        with pytest.raises(vt.UserError, match=message):
            attention_steps(translator, TEXT, kind=kind, layer=layer)
    lonely = DecoderOnly(small())
    with watched(lonely, "decoder", 0) as watch:
        lonely(torch.tensor([[1, 2, 3]]))
    assert watch.inputs.query_input.shape == (3, 8)
    with pytest.raises(vt.UserError, match="no 'cross' attention"), watched(lonely, "cross", 0):
        pass


def test_unscaled_models_and_interventions(translator) -> None:
    model = TracedTransformer(small(scoring="dot", bias=False)).eval()
    with watched(model, "encoder", 0) as watch:
        model(torch.tensor([[1, 2]]), torch.tensor([[1]]))
    assert not watch.inputs.scale
    assert watch.inputs.b_q is None
    cut = vt.Interventions(heads=[vt.HeadChange("encoder", layer=0, head=1, factor=0)])
    with pytest.raises(vt.UserError, match="change a head of encoder layer 0"):
        attention_steps(translator, TEXT, kind="encoder", layer=0, interventions=cut)
    changed = attention_steps(translator, TEXT, kind="cross", layer=0, interventions=cut)
    same = attention_steps(translator, TEXT, kind="cross", layer=0)
    assert not np.allclose(changed.key_vectors, same.key_vectors)
