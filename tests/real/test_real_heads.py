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


def beyond_chance(mean, even, n_rows, n_names=1):
    """Chernoff's bound of a mean of n rows whose expectation is that of even attention."""
    miss = (1 - mean) * np.log2((1 - mean) / (1 - even)) if mean < 1 else 0
    return n_names * 2 ** (-n_rows * (mean * np.log2(mean / even) + miss)) <= 0.001


def by_numpy(weights, kind):
    """Return the name of one head, [query, key], and its evidence, by sums over its cells."""
    n = len(weights)
    here, best = np.arange(n), weights.argmax(axis=1)
    even = 1 / (here + 1 if kind == "decoder" else np.full(n, n))
    rows, last = here[2:], n if kind == "decoder" else n - 1
    means = {"previous token": (rows, -1), "same token": (rows, 0)}
    if kind == "encoder":
        means["next token"] = (rows[:-1], 1)
    evidence = {name: weights[rows, rows + by].mean() for name, (rows, by) in means.items()}
    evidence["first-token sink"] = weights[rows, 0].mean()
    name = max(evidence, key=evidence.get)
    if evidence[name] >= 0.6 and beyond_chance(evidence[name], even[rows].mean(), len(rows)):
        return name, evidence[name]
    seen = best[(best > 0) & (best < last)]
    if seen.size:
        key = np.bincount(seen).argmax()
        rows = here[key + 2 :] if kind == "decoder" else here[np.abs(here - key) > 1]
        share, weight = (best[rows] == key).mean() if rows.size else 0, weights[rows, key].sum()
        is_enough = 3 * len(rows) >= n and share >= 0.6 and weight >= 0.3 * len(rows)
        if is_enough and beyond_chance(share, even[rows].mean(), len(rows), n_names=last - 1):
            return "rests on one token", weight / len(rows)
    return None, None


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
