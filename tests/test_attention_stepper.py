"""The attention stepper: its arithmetic against torch, the model and its own page; its state."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.attention_steps import barred_steps, random_steps, turned_steps
from tests.support.javascript import answers_in_node
from tests.support.refusals import assert_refused
from viz_transformer import attention_steps, thinking_machines
from viz_transformer.config import ModelConfig
from viz_transformer.model import DecoderOnly, TracedTransformer
from viz_transformer.model.attention_hooks import watched
from viz_transformer.trace import AttentionSteps, compute_head
from viz_transformer.widgets.attention_stepper.payload import layer_payload
from viz_transformer.widgets.attention_stepper.view import AttentionStepper

TEXT = "the black cat sleeps"
KINDS = ("encoder", "decoder", "cross")


@pytest.fixture(scope="module")
def layers(translator) -> dict[tuple[str, int], AttentionSteps]:
    places = itertools.product(KINDS, (0, 1))
    return {at: attention_steps(translator, TEXT, kind=at[0], layer=at[1]) for at in places}


# --- the arithmetic -------------------------------------------------------------------------------


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


def test_weights_and_result_equal_the_models_own(translator, layers) -> None:
    given: dict[str, torch.Tensor] = {}
    module = translator.traced_model.decoder.layers[1].cross_attention
    handle = module.register_forward_hook(lambda _, __, out: given.update(out=out[0].detach()))
    trace = translator.trace(TEXT)
    handle.remove()
    for (kind, layer), steps in layers.items():
        theirs = trace.attention(kind)[layer]  # [head, query, key]
        assert steps.query_tokens == trace.query_tokens(kind)
        assert steps.key_tokens == trace.key_tokens(kind)
        for head, query in np.ndindex(theirs.shape[:2]):
            worked = compute_head(steps, head, query)
            assert np.allclose(worked.weights, theirs[head, query], atol=1e-5)
            if (kind, layer) == ("cross", 1):
                assert np.allclose(worked.result, given["out"][0, query].numpy(), atol=1e-5)


def test_the_switches_do_what_the_interventions_do(translator, layers) -> None:
    # In layer 0, where the vectors are the words' own and no earlier attention has changed them.
    target = translator.translate(TEXT).tokens
    for switch, kind, changes in (
        ({"scale": False}, "encoder", {"scale": False}),
        ({"temperature": 0.5}, "encoder", {"temperature": 0.5}),
        ({"mask": False}, "decoder", {"causal_mask": False}),
    ):
        own = translator.trace(TEXT, target, vt.Interventions(**changes)).attention(kind)[0]
        for head, query in np.ndindex(own.shape[:2]):
            worked = compute_head(layers[kind, 0], head, query, **switch)
            assert np.allclose(worked.weights, own[head, query], atol=1e-5), switch


def test_a_query_that_may_look_at_nothing_gets_zeros_and_large_scores_do_not_overflow() -> None:
    steps = barred_steps()
    worked = compute_head(steps, 0, 1)
    assert not worked.weights.any()
    assert not worked.output.any()
    assert np.isneginf(worked.masked).all()
    assert np.allclose(worked.result, steps.b_o)
    assert compute_head(steps, 0, 0).weights[3] == 0
    assert compute_head(steps, 0, 1, mask=False).weights.sum() == pytest.approx(1)
    large = AttentionSteps(
        kind="cross", query_tokens=["q"], key_tokens=["a", "b", "c"], x=[[1]],
        memory=[[5000], [4999], [-5000]], w_q=[[[1]]], w_k=[[[1]]], w_v=[[[1]]],
    )  # fmt: skip
    assert np.allclose(compute_head(large, 0, 0).weights, [1 / (1 + np.exp(-1)), 1 / (1 + np.e), 0])


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


_NUMBERS_AND_LINES = """({ data, chosen }) => {
  const layer = unpackSteps(data);
  const names = [...layer.steps, "exponentials"];
  const named = (make) => Object.fromEntries(names.map((name) => [name, make(name)]));
  const plain = (value) => (Number.isFinite(value) ? value : String(value));
  return chosen.map((each) => {
    const worked = computeHead(layer, each);
    return [
      named((name) => Array.from(worked.matrices[name].values, plain)),
      named((name) => codeLine(layer, worked, each, name)),
    ];
  });
}"""


def in_javascript(
    steps: AttentionSteps, chosen: list[dict[str, Any]]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What the page computes of a layer from the bytes that it is sent, and the lines that it shows."""
    folder = "widgets/base/head"
    imports = {
        "unpackSteps, computeHead": f"{folder}/arithmetic.ts",
        "codeLine": f"{folder}/step_code.ts",
    }
    return answers_in_node(imports, _NUMBERS_AND_LINES, {"data": layer_payload(steps), "chosen": chosen})


def run_lines(steps: AttentionSteps, lines: list[dict[str, str]], head: int) -> dict[str, Any]:
    """Run the lines that the stepper shows, [head], in their order, and return what they have made."""
    in_a_head = [name for name in steps.steps[1:] if name not in ("concat", "result")]
    in_a_head.insert(in_a_head.index("weights"), "exponentials")

    def run(head: int) -> dict[str, Any]:
        made: dict[str, Any] = {
            "np": np, "x": steps.x, "memory": steps.memory, "mask": steps.mask,
            "d_k": steps.d_head, "W_O": steps.w_o, "b_O": steps.b_o, "cos": steps.cos, "sin": steps.sin,
            "partner": list(steps.partner or ()),
        }  # fmt: skip
        for name in "qkv":
            matrices, bias = getattr(steps, f"w_{name}"), getattr(steps, f"b_{name}")
            at = head * len(matrices) // steps.n_heads
            made[f"W_{name.upper()}"] = matrices[at]
            made[f"b_{name.upper()}"] = None if bias is None else bias[at]
        for name in in_a_head:
            exec(lines[head][name], made)  # as a reader would run it
        return made

    made = run(head)
    if steps.w_o is not None:
        made["outputs_of_all_heads"] = [run(each)["output"] for each in range(steps.n_heads)]
        exec(lines[head]["concat"], made)
        exec(lines[head]["result"], made)
    return made


def test_the_page_computes_what_numpy_does_and_shows_lines_that_do_so(layers) -> None:
    cases = [
        *(barred_steps(), random_steps(4, 4, kind="encoder", bias=False), thinking_machines().steps),
        *(turned_steps(), *(layers[kind, 1] for kind in KINDS)),
    ]
    switches = [
        {"mask": True, "temperature": 1},
        {"mask": True, "temperature": 0.3, "scale": False},
        {"mask": False, "temperature": 2.5},
    ]
    for steps in cases:
        heads, queries = range(steps.n_heads), range(len(steps.query_tokens))
        rows = [({"scale": steps.scale} | each, query) for each in switches for query in queries]
        chosen = [{"query": query, "head": head, **each} for each, query in rows for head in heads]
        shown = iter(in_javascript(steps, chosen))
        for each, query in rows:
            pages = [next(shown) for _ in heads]
            lines = [lines for _, lines in pages]
            for head, (theirs, _) in zip(heads, pages, strict=True):
                ours = compute_head(steps, head, query, **each)
                made = run_lines(steps, lines, head)
                assert {*theirs} == {*steps.steps, "exponentials"}
                for name, values in theirs.items():
                    where = (steps.kind, name, each)
                    wanted = getattr(ours, name)
                    got = [float(str(value).replace("Infinity", "inf")) for value in values]
                    assert np.allclose(got, wanted.ravel(), atol=1e-5), where
                    if name in steps.steps[1:]:
                        assert np.allclose(made[name], wanted, atol=1e-4, rtol=1e-4), where


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
    made = partial(attention_steps, translator, TEXT)
    assert_refused(
        [
            (lambda: compute_head(steps, 2, 0), "head=2"),
            (lambda: compute_head(steps, 0, -1), "query=-1"),
            (lambda: compute_head(steps, 0, 0, temperature=0), "temperature=0"),
            (lambda: made(kind="cross", layer=2), "layer=2, but the cross attention of this model has 2"),
            (lambda: made(kind="both", layer=0), "no 'both' attention"),
            (lambda: made(kind="cross", layer=True), "layer=True"),
            (lambda: thinking_machines(step="concat"), "step='concat' is none of this layer's steps: x, "),
            (lambda: vt.attention_stepper(translator, TEXT, step=30), "step=30"),
            (lambda: AttentionStepper([1, 2]), "shows AttentionSteps, not list"),
        ]
    )


def test_a_layer_is_a_copy_that_cannot_change() -> None:
    x = np.ones((3, 6), dtype=np.float32)
    steps = random_steps(x=x)
    x[0] = 7
    assert steps.x[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        steps.x[0] = 7


def test_watching_leaves_the_model_as_it_was(translator) -> None:
    model = translator.traced_model
    with pytest.raises(vt.UserError, match="dragon"), watched(model, "encoder", 0):
        translator.trace("the dragon")
    assert not model.encoder.layers[0].self_attention._forward_pre_hooks
    with watched(model, "encoder", 0) as watch:
        pass
    with pytest.raises(vt.UserError, match="has not run"):
        _ = watch.inputs


def small(**changes: Any) -> ModelConfig:
    sizes = {"vocab_size": 9, "d_model": 8, "n_heads": 2, "n_encoder_layers": 1,
             "n_decoder_layers": 1, "d_ff": 8, "max_length": 6, "dropout": 0.0}  # fmt: skip
    return ModelConfig(**(sizes | changes))


def test_models_without_scaling_cross_attention_or_dot_products(translator) -> None:
    unscaled, lonely = TracedTransformer(small(scoring="dot", bias=False)).eval(), DecoderOnly(small())
    with watched(unscaled, "encoder", 0) as watch:
        unscaled(torch.tensor([[1, 2]]), torch.tensor([[1]]))
    assert not watch.inputs.scale
    assert watch.inputs.b_q is None
    with watched(lonely, "decoder", 0) as watch:
        lonely(torch.tensor([[1, 2, 3]]))
    assert watch.inputs.query_input.shape == (3, 8)
    cut = vt.Interventions(heads=[vt.HeadChange("encoder", layer=0, head=1, factor=0)])
    rotary, additive = (
        TracedTransformer(small(**each)) for each in ({"positional": "rotary"}, {"scoring": "additive"})
    )
    encoder, cross = ({"kind": kind, "layer": 0} for kind in ("encoder", "cross"))
    assert_refused(
        [
            (lambda: watched(lonely, "cross", 0).__enter__(), "no 'cross' attention"),
            (lambda: watched(rotary, "encoder", 0).__enter__(), "rotary"),
            (lambda: watched(additive, "encoder", 0).__enter__(), "additive"),
            (
                lambda: attention_steps(translator, TEXT, **encoder, interventions=cut),
                "change a head of encoder layer 0",
            ),
        ]
    )
    changed, same = (attention_steps(translator, TEXT, **cross, interventions=each) for each in (cut, None))
    assert not np.allclose(changed.key_vectors, same.key_vectors)


# --- the view ------------------------------------------------------------------------------------


@pytest.fixture
def view(translator) -> AttentionStepper:
    return vt.attention_stepper(translator, TEXT, kind="decoder", layer=1, head=2, query="negro")


def test_the_first_choices_and_the_layers_that_a_page_carries(view: AttentionStepper, translator) -> None:
    assert (view.kind, view.layer, view.head, view.query, view.step) == ("decoder", 1, 2, 2, 0)
    assert (view.scale, view.mask, view.temperature) == (True, True, 1)
    assert (view.key, view.column, view.live) == (None, None, True)
    assert view.steps.query_tokens[view.query] == "negro"
    assert view.places == [[kind, layer] for kind in KINDS for layer in (0, 1)]
    first = vt.attention_stepper(translator, TEXT)
    seen = first.steps.key_tokens[int(first.worked().weights.argmax())]
    assert (first.kind, first.layer, first.steps.query_tokens[first.query], seen) == (
        "cross",
        1,
        "gato",
        "cat",
    )
    assert first.worked().weights.max() > 0.99
    questions = view.questions()
    assert len(questions) == 5
    assert {"text": TEXT, "kind": "cross", "layer": 0} in questions
    assert view.answer(questions[0])["kind"] == "encoder"
    by_hand = thinking_machines(step="weights")
    assert (by_hand.live, by_hand.questions()) == (False, [])
    # The first message to the page says the step: a second one may come after the page has drawn.
    steps = (vt.attention_stepper(translator, TEXT, step="concat"), by_hand, thinking_machines(step=6))
    assert [each.get_state()["step"] for each in steps] == [9, 6, 6]


def test_the_switches_of_interventions_are_those_of_the_view(translator) -> None:
    changed = vt.Interventions(scale=False, temperature=2)
    view = vt.attention_stepper(translator, TEXT, kind="encoder", interventions=changed)
    assert (view.scale, view.temperature) == (False, 2.0)
    theirs = translator.trace(TEXT, interventions=changed).encoder_attention
    assert np.allclose(view.worked().weights, theirs[view.layer, view.head, view.query], atol=1e-5)


def test_another_sentence_or_layer_is_set_in_a_cell_or_the_page(view: AttentionStepper, translator) -> None:
    view.query = 4
    view.text = "the dog runs"
    assert view.steps.query_tokens == ("el", "perro", "corre", "<eos>")
    assert view.query == 3
    view.kind = "cross"
    view.layer = 0
    assert [view.data[name] for name in ("text", "kind", "layer")] == ["the dog runs", "cross", 0]
    weights = translator.trace("the dog runs").cross_attention[0, 2, 3]
    assert np.allclose(view.worked().weights, weights, atol=1e-5)
    # The page asks one question, and sets the answer's place in one message.
    asked = {"text": TEXT, "kind": "decoder", "layer": 1}
    reply = view.answer(asked)
    assert reply == layer_payload(view._fetch(**asked), TEXT)
    assert view.text == "the dog runs"  # an answer changes nothing
    view.set_state({**asked, "query": 1})
    assert (view.text, view.kind, view.layer, view.query) == (TEXT, "decoder", 1, 1)
    assert view.data == reply
    with pytest.raises(vt.UserError, match="dragon"):
        view.answer({"text": "the dragon", "kind": "cross", "layer": 0})


def test_layers_without_memory_biases_or_mask_send_none() -> None:
    plain = layer_payload(random_steps(4, 4, kind="encoder", bias=False))
    assert [plain[name] for name in ("memory", "b_q", "b_o", "mask", "reads")] == [None] * 5


def test_the_figure_and_its_words_are_of_the_state(view: AttentionStepper) -> None:
    view.mask, view.temperature = False, 2.0
    figure = view.figure()
    images = [ax.images[0].get_array() for ax in figure.axes]
    assert len(images) == len(view.steps.steps)
    weights = images[view.steps.steps.index("weights")]
    assert np.allclose(weights[0], view.worked().weights)
    assert figure.alt_text == view.alt_text()
    best = view.steps.key_tokens[int(view.worked().weights.argmax())]
    assert f"Its largest weights: {best}" in view.alt_text()
    nothing = AttentionStepper(barred_steps(), traits={"query": 1})
    assert "attend to nothing" in nothing.alt_text()
    nothing.figure()
