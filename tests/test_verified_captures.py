"""Captures that verify themselves: what a model returns is held against what it attends by."""

from __future__ import annotations

import json
from importlib.metadata import version

import numpy as np
import pytest
import torch
import transformers as hf

import viz_transformer as vt
from tests.support.capture_zoo import inputs_of, make
from tests.support.huggingface_models import sized
from viz_transformer.capturing import verify
from viz_transformer.capturing.verify import LISTED, is_as_its_class, is_verified, verified_classes
from viz_transformer.errors import UserError

IDS, NAMES = [3, 5, 7, 9], list("abcd")


@pytest.fixture(autouse=True)
def no_class_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_right", {})
    monkeypatch.setattr(verify, "is_verified", lambda _: False)


def is_kept(weights) -> bool:
    """Whether a layer's weights are wanted; of others a capture keeps nothing."""
    return weights is not None and weights.numel() > 0


def bert(change, **options):
    """A model of BERT's kind whose second layer returns changed weights, and attends as before."""

    torch.manual_seed(0)
    config = sized(hf.BertConfig, num_hidden_layers=2, num_attention_heads=4)
    model = hf.BertModel._from_config(config, **options).eval()
    model.encoder.layer[1].attention.self.register_forward_hook(
        lambda _, inputs, output: (output[0], change(output[1].clone())) if is_kept(output[1]) else output
    )
    return model


def sharp(model):
    """Let a random model attend to some keys much more than to others."""
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                module.weight.mul_(20)
    return model


def test_other_weights_than_those_of_the_attention_are_refused_by_layer_and_head() -> None:
    def swapped(weights):
        weights[:, 2:] = weights[:, 2:].flip(1)  # heads 2 and 3
        return weights

    def later(weights):
        return weights.roll(1, dims=-1)  # each weight one key too late, in every head

    def one_head(weights):
        weights[:, 3] = 0.25
        return weights

    for change, head in ((swapped, "[23]"), (later, "[0-3]"), (one_head, "3")):
        for implementation, dtype in (("sdpa", None), ("eager", None), ("sdpa", torch.bfloat16)):
            model = sharp(bert(change, attn_implementation=implementation)).to(dtype)
            with pytest.raises(UserError, match=rf"layer 1, those of head {head} are \d.* apart"):
                vt.capture(model, input_ids=IDS, source_tokens=NAMES)
            assert vt.capture(model, input_ids=IDS, source_tokens=NAMES, layers=[0]).kinds == ("encoder",)
            vt.capture(model, input_ids=IDS, source_tokens=NAMES, verify=False)


def test_roundings_and_padding_are_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("bert", "gemma4_text", "gpt2", "llama"):  # the second has a layer of windows
        for dtype in (None, torch.bfloat16):
            model = make(name)
            model = (model if name == "gemma4_text" else sharp(model)).to(dtype)
            for read in (slice(4, None), slice(None, 8)):  # padding on the left, on the right
                monkeypatch.setattr(verify, "_right", {})
                mask = torch.zeros(1, 12, dtype=torch.long)
                mask[:, read] = 1
                given = inputs_of(model)
                vt.capture(model, **given, attention_mask=mask, tokens=[f"t{i}" for i in range(8)])
                assert len(verify._right) == 1, (name, dtype, read)


def test_a_class_is_verified_once_and_a_model_with_a_hook_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    model, runs = make("bert"), []
    forward = type(model).forward
    monkeypatch.setattr(type(model), "forward", lambda *a, **k: runs.append("run") or forward(*a, **k))
    for chosen, n in (
        ({}, 2),
        ({}, 3),
        ({"heads": [1, 3]}, 5),
        ({"heads": [1, 3]}, 6),
        ({"verify": False}, 7),
    ):
        vt.capture(model, input_ids=IDS, source_tokens=NAMES, **chosen)
        assert len(runs) == n, chosen
    hook = model.register_forward_hook(lambda *_: None)
    vt.capture(model, input_ids=IDS, source_tokens=NAMES)
    assert len(runs) == 9
    hook.remove()
    lying = bert(lambda weights: weights.flip(1))  # of a class that is known by now
    with pytest.raises(UserError, match="layer 1, those of head"):
        vt.capture(sharp(lying), input_ids=IDS, source_tokens=NAMES)


def test_a_class_of_the_table_is_verified_only_where_somebody_changed_a_model_of_it() -> None:
    def model() -> hf.BertForMaskedLM:
        return hf.BertForMaskedLM(sized(hf.BertConfig)).eval()

    class Changed(type(model().bert.embeddings)):
        """A part of somebody's own."""

    if version("transformers") != json.loads(LISTED.read_text(encoding="utf-8"))["transformers"]:
        assert verified_classes() == frozenset()
        return
    assert is_verified(model())
    assert is_as_its_class(model())
    hooked, replaced, other, own_kernel = model(), model(), model(), model()
    hooked.bert.encoder.layer[1].attention.register_forward_hook(lambda *_: None)
    replaced.bert.encoder.layer[1].attention.forward = lambda *_, **__: None
    other.bert.embeddings.__class__ = Changed
    own_kernel.config._attn_implementation = "mine"
    subclass = type("MyBert", (hf.BertModel,), {})(sized(hf.BertConfig))
    for changed in (hooked, replaced):
        assert not is_as_its_class(changed)
    for changed in (other, own_kernel, subclass):
        assert not is_verified(changed)


def test_heads_that_a_model_returns_as_their_mean_are_shown_one_by_one() -> None:
    model = make("wavlm", attn_implementation="eager")
    given = inputs_of(model)
    with torch.no_grad():
        means = torch.stack(model(**given, output_attentions=True).attentions)[:, 0].numpy()
    np.testing.assert_array_equal(means[:, 0], means[:, 1])
    trace = vt.capture(model, **given, source_tokens=[str(i) for i in range(means.shape[-1])])
    weights = trace.encoder_attention  # [layer, head, query, key]
    np.testing.assert_allclose(weights.mean(1), means[:, 0], atol=1e-6)
    assert np.abs(weights[:, 0] - weights[:, 1]).max() > 1e-3


def test_what_is_not_as_the_model_says_of_itself_is_said() -> None:
    names = [f"t{i}" for i in range(12)]
    jamba = make("jamba")
    assert vt.capture(jamba, **inputs_of(jamba), tokens=names).notes == (
        "2 layers are shown, and the configuration has 4",
    )
    gpt2 = make("gpt2", attn_implementation="eager")
    assert vt.capture(gpt2, **inputs_of(gpt2), tokens=names).notes == ()
    ahead = torch.zeros(1, 1, 12, 12)  # a mask that hides nothing
    seen = vt.capture(gpt2, **inputs_of(gpt2), attention_mask=ahead, target_tokens=names)
    assert seen.notes == ("the model's configuration is causal, and some of its heads look ahead",)
    assert vt.capture(gpt2, **inputs_of(gpt2), target_tokens=names, layers=[1], heads=[0]).notes == ()
