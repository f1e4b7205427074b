"""The model in JavaScript gives the numbers of the model in torch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.engine import LOGITS, WEIGHTS, near, run_engine
from tests.support.engine_cases import (
    lengths_of,
    random_ids,
    random_interventions,
    random_masks,
    random_model,
)
from tests.support.small_models import traced
from viz_transformer.corpus import english_spanish
from viz_transformer.errors import UserError
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.model.attention import attend
from viz_transformer.model.attention_hooks import watched
from viz_transformer.model.interventions import UNCHANGED
from viz_transformer.widgets.base.live import plain_interventions

N_SENTENCES = 200  # of each bundled model
KINDS = ("encoder", "decoder", "cross")


@pytest.fixture(scope="module")
def text_models():
    return {
        "translator": vt.load_translator(),
        "language-model": vt.load_language_model(),
        "masked-model": vt.load_masked_model(),
    }


@pytest.fixture(scope="module")
def models(text_models):
    """The bundled models, each in its traced variant."""
    return {name: traced(model.model) for name, model in text_models.items()}


@pytest.fixture(scope="module")
def exact(models):
    """The same in float64: torch's float32 is up to 1e-5 away from it, four times as far as the engine."""
    return {name: deepcopy(model).double() for name, model in models.items()}


@pytest.fixture(scope="module")
def sentences(text_models):
    """Held-out sentences for each model, as the ids that it reads."""
    pairs = english_spanish(n_train=0, n_held_out=N_SENTENCES, n_of_a_kind=0).held_out
    words = {name: model.vocabulary for name, model in text_models.items()}
    rng = Random(0)

    def target(name: str, spanish: Sequence[str]) -> list[int]:
        return list(words[name].target_ids(" ".join(spanish)))

    def with_gap(spanish: Sequence[str]) -> list[int]:
        ids = target("masked-model", spanish)[1:]
        ids[rng.randrange(len(ids) - 1)] = words["masked-model"].mask_id
        return ids

    def translated(source: Sequence[str], spanish: Sequence[str]) -> dict[str, list[int]]:
        ids = list(words["translator"].source_ids(" ".join(source)))
        return {"source": ids, "target": target("translator", spanish)[:-1]}

    return {
        "translator": [translated(pair.source, pair.target) for pair in pairs],
        "language-model": [{"target": target("language-model", pair.target)} for pair in pairs],
        "masked-model": [{"source": with_gap(pair.target)} for pair in pairs],
    }


def expected(
    model,
    *sentences: dict[str, list[int]],
    interventions: Interventions = UNCHANGED,
    masks: dict | None = None,
) -> list[dict[str, Any]]:
    """Return what a model of torch makes of sentences of one length, under masks in place of its own."""
    masks = {kind: torch.tensor(mask, dtype=torch.bool)[None, None] for kind, mask in (masks or {}).items()}
    source, target = (
        torch.tensor([ids[side] for ids in sentences]) if side in sentences[0] else None
        for side in ("source", "target")
    )
    found: dict[str, Any] = {"memory": None}
    with torch.no_grad():
        if source is not None:
            embed = model.embed if target is None else model.embed_source
            x = embed(source, interventions=interventions)
            source_mask = model.padding_mask(source, interventions)
            mask = masks.get("encoder", source_mask)
            x, weights = model.encoder(x, mask, attend, interventions)
            found |= {"memory": x, "encoder": torch.stack(weights, dim=1)}
        if target is not None:
            looked_at = () if source is None else (x, masks.get("cross", source_mask))
            x = model.embed_target(target, interventions=interventions)
            mask = masks.get("decoder", model.target_mask(target, interventions))
            x, *weights = model.decoder(x, mask, *looked_at, attend, interventions)
            stacked = [torch.stack(layers, dim=1) for layers in weights]
            found |= dict(zip(("decoder", "cross"), stacked, strict=False))
        found["logits"] = model.logits(x)
    return [
        {name: None if value is None else value[row].numpy() for name, value in found.items()}
        for row in range(len(sentences))
    ]


def check(
    got: dict[str, Any], want: dict[str, Any], what: Any = "", rough: dict[str, Any] | None = None
) -> None:
    """Compare what the engine gave with what torch gave."""
    assert "error" not in got, (got, what)
    assert got["attention"].keys() == want.keys() - {"logits", "memory"}
    for name, wanted in want.items():
        found = got["attention"][name] if name in KINDS else got[name]
        assert (found is None) == (wanted is None), what
        if wanted is not None:
            allowed = WEIGHTS if name in KINDS else LOGITS
            near(found, wanted, None if rough is None else rough[name], allowed, (name, what))


def test_the_bundled_models_agree_on_held_out_sentences(models, exact, sentences, tmp_path):
    cases = [{"model": name, **ids, "options": {}} for name, each in sentences.items() for ids in each]
    results = iter(run_engine(tmp_path, models, cases))
    for name, each in sentences.items():
        by_lengths: dict[tuple, list] = {}
        for ids, got in zip(each, results, strict=False):
            by_lengths.setdefault(tuple(map(len, ids.values())), []).append((ids, got))
        for together in by_lengths.values():  # torch reads them in one batch
            for (ids, got), want in zip(
                together, expected(exact[name], *(ids for ids, _ in together)), strict=True
            ):
                check(got, want, ids)


def flat(masks: dict[str, list[list[int]]]) -> dict[str, list[int]]:
    return {kind: [may for row in mask for may in row] for kind, mask in masks.items()}


def test_interventions_and_masks_agree(models, exact, sentences, tmp_path):
    # Torch's float32 is as exact as a processor's vectors are wide; its plain code is the same on all.
    if os.environ.get("ATEN_CPU_CAPABILITY") != "default":
        test = [sys.executable, "-m", "pytest", "-q", f"{__file__}::test_interventions_and_masks_agree"]
        plain = {**os.environ, "ATEN_CPU_CAPABILITY": "default"}
        ended = subprocess.run(test, env=plain, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout
        return
    rng = Random(19)
    cases, drawn = [], []
    for number in range(200):
        name = rng.choice(list(models))
        ids = {side: list(each) for side, each in sentences[name][number].items()}
        for each in ids.values():  # padding, to be hidden or shown
            each.extend([0] * rng.choice([0, 0, 2]))
        lengths = lengths_of(models[name].config, len(ids.get("source", ())), len(ids.get("target", ())))
        interventions = random_interventions(rng, models[name].config, lengths)
        masks = random_masks(rng, lengths)
        drawn.append((name, ids, {"interventions": interventions, "masks": masks}))
        options = {"interventions": plain_interventions(interventions), "masks": flat(masks)}
        cases.append({"model": name, **ids, "options": options})
    for got, (name, ids, changes) in zip(run_engine(tmp_path, models, cases), drawn, strict=True):
        (want,), (rough,) = expected(exact[name], ids, **changes), expected(models[name], ids, **changes)
        check(got, want, changes, rough)


@pytest.mark.parametrize("n_models", [80, pytest.param(1_500, marks=pytest.mark.weekly)])
def test_configurations_that_are_not_bundled_agree(tmp_path, n_models):
    rng = Random(3)
    models = {str(number): random_model(rng) for number in range(n_models)}
    drawn = []
    for name, model in models.items():
        ids = random_ids(rng, model.config)
        lengths = lengths_of(model.config, len(ids.get("source", ())), len(ids.get("target", ())))
        changes = random_interventions(rng, model.config, lengths)
        drawn += [(name, ids, UNCHANGED), (name, ids, changes)]
    cases = [
        {"model": name, **ids, "options": {"interventions": plain_interventions(changes)}}
        for name, ids, changes in drawn
    ]
    for got, (name, ids, changes) in zip(run_engine(tmp_path, models, cases), drawn, strict=True):
        (rough,) = expected(models[name], ids, interventions=changes)
        (want,) = expected(deepcopy(models[name]).double(), ids, interventions=changes)
        check(got, want, (models[name].config, changes), rough)


def test_watched_attention_agrees_with_python(models, sentences, tmp_path):
    places = [
        (name, kind, layer)
        for name, model in models.items()
        for kind, n_layers in model.config.attention_layers.items()
        for layer in range(n_layers)
    ]
    cases = [
        {"model": name, **sentences[name][0], "options": {"watch": {"kind": kind, "layer": layer}}}
        for name, kind, layer in places
    ]
    for got, (name, kind, layer) in zip(run_engine(tmp_path, models, cases), places, strict=True):
        with torch.no_grad(), watched(models[name], kind, layer) as watch:
            models[name](*(torch.tensor([ids]) for ids in sentences[name][0].values()))
        for camel, value in got["watched"].items():
            wanted = getattr(watch.inputs, re.sub("([A-Z])", r"_\1", camel).lower())
            if isinstance(value, bool):
                assert value == wanted
            else:
                found = np.stack(value) if isinstance(value, list) else value
                assert abs(found.reshape(wanted.shape) - wanted.float().numpy()).max() <= WEIGHTS


def test_float16_weights_are_read(models, sentences, tmp_path):
    rounded, ids = deepcopy(models["language-model"]), sentences["language-model"][0]
    halved = deepcopy(rounded).half()
    rounded.load_state_dict(halved.state_dict())  # as float32
    (got,) = run_engine(tmp_path, {"half": halved}, [{"model": "half", **ids, "options": {}}])
    (want,) = expected(rounded, ids)
    check(got, want)


#: What is changed of a right head, so that no model takes it, or not the translator.
WRONG_HEADS = [
    {"kind": "sideways"}, {"kind": "cross", "layer": 2}, {"layer": -1}, {"head": 4},
    {"pattern": "even"}, {"pattern": [0.5, 0.5]}, {"pattern": [[0.5, 0.7]]}, {"pattern": [[0.5, 0.5]]},
]  # fmt: skip


def test_the_engine_gives_python_s_message(models, tmp_path):
    model, ids = models["translator"], {"source": [5, 6, 7], "target": [1, 8]}
    head = {"kind": "encoder", "layer": 0, "head": 0}
    wrong = [{"temperature": 0, "heads": []}, {"heads": [head, head]}]
    wrong += [{"heads": [{**head, **each}]} for each in WRONG_HEADS]
    cases, messages = [], []

    def run(source: list[int], target: list[int], heads: Sequence[dict] = (), **changes: Any) -> None:
        changes["heads"] = [HeadChange(**each) for each in heads]
        model(torch.tensor([source]), torch.tensor([target]), Interventions(**changes))

    for each in wrong:
        cases.append({"model": "translator", **ids, "options": {"interventions": each}})
        with pytest.raises(UserError) as raised:
            run(**ids, **each)
        messages.append(str(raised.value))
    for source, target in (([5, 761], [1]), ([5], [1] * 65), ([-1], [1])):
        cases.append({"model": "translator", "source": source, "target": target, "options": {}})
        with pytest.raises(UserError) as raised:
            run(source, target)
        messages.append(str(raised.value))
    for kind, layer in (("cross", 2), ("sideways", 0)):
        cases.append({"model": "translator", **ids, "options": {"watch": {"kind": kind, "layer": layer}}})
        with pytest.raises(UserError) as raised, watched(model, kind, layer):
            pass
        messages.append(str(raised.value))
    assert [got.get("error") for got in run_engine(tmp_path, models, cases)] == messages
