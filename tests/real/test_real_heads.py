"""Heads of pretrained models: ranked and labelled as plain numpy and plain loops have it."""

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, LlamaForCausalLM

import viz_transformer as vt
from viz_transformer.trace import attention_of

pytestmark = pytest.mark.real

MARY = "When Mary and John went to the store, John gave a drink to"
FOX = (
    "The quick brown fox jumps over the lazy dog, and then it sleeps in the warm sun until the evening comes."
)
#: How many heads have each label, in docs/capture.md too.
SMOLLM2 = {
    MARY: {"first-token sink": 88, "rests on one token": 44, "previous token": 3, "same token": 2},
    FOX: {"first-token sink": 100, "rests on one token": 18, "previous token": 3, "same token": 1},
}
MINILM = {FOX: {"first-token sink": 11, "previous token": 1, "next token": 1}}


@pytest.fixture(scope="module")
def smollm2(smollm2_folder):
    return LlamaForCausalLM.from_pretrained(smollm2_folder), AutoTokenizer.from_pretrained(smollm2_folder)


def test_every_head_is_ranked_as_by_a_loop(smollm2):
    model, tokenizer = smollm2
    ids = tokenizer(MARY, return_tensors="pt").input_ids
    mary, john = (tokenizer(name).input_ids[0] for name in (" Mary", " John"))
    found = vt.rank_heads(model, lambda out: out.logits[0, -1, mary] - out.logits[0, -1, john], input_ids=ids)
    with torch.no_grad():
        for layer in range(0, 30, 7):
            for head in range(0, 9, 4):
                off = vt.HeadChange("decoder", layer, head, factor=0)
                with vt.interventions(model, [off]):
                    logits = model(input_ids=ids).logits[0, -1]
                change = float(logits[mary] - logits[john]) - found.whole
                assert found.changes["decoder"][layer, head] == pytest.approx(change, abs=5e-5)


def by_numpy(weights, kind):
    """Return the evidence of four names for one head, [query, key], by sums over its cells."""
    n = len(weights)
    here = np.arange(n)
    told = here[2:]
    both = told if kind == "decoder" else told[:-1]
    evidence = {
        "previous token": weights[told, told - 1].mean(),
        "same token": weights[told, told].mean(),
        "first-token sink": weights[told, 0].mean(),
    }
    if kind == "encoder":
        evidence["next token"] = weights[both, both + 1].mean()
    best = weights.argmax(axis=1)
    seen = best[(best > 0) & (best < (n if kind == "decoder" else n - 1))]
    if seen.size and max(evidence.values()) < 0.6:
        key = np.bincount(seen).argmax()
        rows = here[key + 2 :] if kind == "decoder" else here[np.abs(here - key) > 1]
        share, even = (best[rows] == key).mean(), np.mean(1 / (rows + 1 if kind == "decoder" else n))
        miss = (1 - share) * np.log2((1 - share) / (1 - even)) if share < 1 else 0
        bits = share * np.log2(share / even) + miss if share else 0
        is_chance = (n - 1) * 2 ** (-len(rows) * bits) > 0.001
        if 3 * len(rows) >= n and share >= 0.6 and weights[rows, key].mean() >= 0.3 and not is_chance:
            return "rests on one token", weights[rows, key].mean()
    name = max(evidence, key=evidence.get)
    return (name, evidence[name]) if evidence[name] >= 0.6 else (None, None)


@pytest.mark.parametrize("text", [MARY, FOX])
def test_labels_of_a_decoder(smollm2, text):
    model, tokenizer = smollm2
    trace = vt.capture(model, text, tokenizer=tokenizer)
    assert_labels(trace, "decoder", SMOLLM2[text])


def test_labels_of_an_encoder(minilm_folder):
    model, tokenizer = AutoModel.from_pretrained(minilm_folder), AutoTokenizer.from_pretrained(minilm_folder)
    trace = vt.capture(model, FOX, tokenizer=tokenizer)
    assert_labels(trace, "encoder", MINILM[FOX])


def assert_labels(trace, kind, expected):
    """Check how many heads have each label, and each label's evidence."""
    labels = vt.analysis.label_heads(trace, kind)
    counts: dict[str, int] = {}
    for layer, head in np.ndindex(attention_of(trace, kind).shape[:2]):
        label = labels[layer][head]
        name, evidence = by_numpy(np.float64(attention_of(trace, kind)[layer, head]), kind)
        assert (label and label.name) == name, (layer, head)
        if label is not None:
            assert label.evidence == pytest.approx(evidence, abs=1e-6)
            counts[label.name] = counts.get(label.name, 0) + 1
    assert counts == expected
