"""The stepper's arithmetic: against torch, against the model's own weights, and line by line."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.attention_steps import barred_steps, in_javascript, random_steps
from tests.support.refusals import assert_refused
from viz_transformer.config import ModelConfig
from viz_transformer.labs import attention_steps, thinking_machines
from viz_transformer.model import DecoderOnly, TracedTransformer
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


def test_the_switches_do_what_the_interventions_do(translator, layers) -> None:
    # In layer 0, where the vectors are the words' own and no earlier attention has changed them.
    target = translator.translate(TEXT).tokens
    for switch, kind, changes in (
        ({"scale": False}, "encoder", {"scale": False}),
        ({"temperature": 0.5}, "encoder", {"temperature": 0.5}),
        ({"mask": False}, "decoder", {"causal_mask": False}),
    ):
        trace = translator.trace(TEXT, target, vt.Interventions(**changes))
        for head, query in itertools.product(range(4), range(len(layers[kind, 0].query_tokens))):
            worked = compute_head(layers[kind, 0], head, query, **switch)
            own = trace.attention(kind)[0, head, query]
            assert np.allclose(worked.weights, own, atol=1e-5), switch


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


def test_the_lines_shown_make_the_numbers_shown(layers) -> None:
    cases = [
        *(barred_steps(), random_steps(4, 4, kind="encoder", bias=False)),
        *(thinking_machines().steps, layers["decoder", 1], layers["cross", 0]),
    ]
    every = [
        {"mask": True, "temperature": 1},
        {"mask": True, "temperature": 1, "scale": False},
        {"mask": True, "temperature": 0.7},
        {"mask": False, "temperature": 1},
        {"mask": False, "temperature": 2.5, "scale": False},
    ]
    for steps in cases:
        heads, queries = range(steps.n_heads), range(len(steps.query_tokens))
        rows = [({"scale": steps.scale} | switches, query) for switches in every for query in queries]
        chosen = [{"query": query, "head": head, **switches} for switches, query in rows for head in heads]
        shown = iter(in_javascript(steps, chosen))
        for switches, query in rows:
            lines = [next(shown)[1] for _ in heads]
            for head in heads:
                worked = compute_head(steps, head, query, **switches)
                made = run_lines(steps, lines, head)
                for name in steps.steps[1:]:
                    ours = getattr(worked, name)
                    where = (name, steps.kind, switches)
                    assert np.allclose(made[name], ours, atol=1e-4, rtol=1e-4), where


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


def test_bad_layers_and_choices_are_refused(translator) -> None:
    cases = [
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
    ]
    assert_refused((lambda given=given: random_steps(**given), said) for given, said in cases)
    steps = random_steps()
    choices = [((2, 0), "head=2"), ((0, -1), "query=-1")]
    assert_refused((lambda each=each: compute_head(steps, *each), said) for each, said in choices)
    with pytest.raises(vt.UserError, match="temperature=0"):
        compute_head(steps, 0, 0, temperature=0)
    places = [
        (("cross", 2), "layer=2, but the cross attention of this model has 2"),
        (("both", 0), "no 'both' attention"),
        (("cross", True), "layer=True"),
    ]
    made = partial(attention_steps, translator, TEXT)
    assert_refused((lambda at=at: made(kind=at[0], layer=at[1]), said) for at, said in places)


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


def test_other_attention_than_dot_products_is_refused() -> None:
    for changes in ({"positional": "rotary"}, {"scoring": "additive"}):
        (name,) = changes.values()
        model = TracedTransformer(small(**changes))
        with pytest.raises(vt.UserError, match=name), watched(model, "encoder", 0):
            pass


def test_a_decoder_alone_has_no_cross_attention() -> None:
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
