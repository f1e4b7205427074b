"""Decoding steps in JavaScript give the numbers of those in torch."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.engine import LOGITS, WEIGHTS, near, run_engine
from tests.support.engine_cases import lengths_of, random_ids, random_interventions, random_model
from tests.support.small_models import traced
from viz_transformer.config import ModelConfig
from viz_transformer.decoding.steps import CachedSteps
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.widgets.base.live import plain_interventions


@pytest.fixture(scope="module")
def writers():
    """The bundled models that write, each in its traced variant."""
    return {
        "translator": traced(vt.load_translator().model),
        "language-model": traced(vt.load_language_model().model),
    }


@torch.no_grad()
def expected_steps(model, case: dict[str, Any], interventions: Interventions | None) -> dict[str, Any]:
    """Take the steps of a case in torch."""
    ids = case["source"] if "source" in case else case["prompt"]
    first_ids, cache = model.decoder_inputs([ids], sos_id=1, pad_id=0, interventions=interventions)
    steps = CachedSteps(model, cache, interventions, record_attention=True)
    taken = []
    for number, each in enumerate(case["walk"]):
        if each.get("select"):
            steps.select(torch.tensor(each["select"]))
        logits = steps.step(first_ids if number == 0 else torch.tensor(each["ids"]))
        taken.append((logits.numpy(), *(None if w is None else w.numpy() for w in steps.attention)))
    prompt = steps.prompt_attention
    return {"taken": taken, "prompt": None if prompt is None else prompt[0].numpy()}


def random_walk(rng: Random, first: int, config: ModelConfig, n_steps: int) -> list[dict[str, Any]]:
    """Draw the ids of each step, and which texts go on."""
    walk: list[dict[str, Any]] = [{"ids": [first]}]
    for _ in range(n_steps):
        n_before = len(walk[-1]["ids"])
        select = [rng.randrange(n_before) for _ in range(rng.randint(1, 4))]
        walk.append({"select": select, "ids": [rng.randrange(config.output_vocab_size) for _ in select]})
    return walk


def test_steps_agree(writers, tmp_path):
    rng = Random(5)
    drawn = {str(number): random_model(rng) for number in range(30)}
    models = writers | {name: model for name, model in drawn.items() if model.config.family != "encoder"}
    cases, settings = [], []
    for name, model in models.items():
        ids = random_ids(rng, model.config)
        # Some word must be there: torch refuses to write from a source that is all padding.
        begin = {"source": [1, *ids["source"]]} if "source" in ids else {"prompt": ids["target"][:6]}
        first = 1 if "source" in ids else begin["prompt"][-1]
        changes = random_interventions(
            rng, model.config, lengths_of(model.config, len(begin.get("source", ())), 12)
        )
        changes = replace(changes, heads=[looking_back(change) for change in changes.heads])
        walk = random_walk(rng, first, model.config, n_steps=3)
        for each in (None, changes):
            options = {"interventions": plain_interventions(each), "attention": True}
            cases.append({"model": name, **begin, "walk": walk, "options": options})
            settings.append((model, each))
    for got, case, (model, changes) in zip(run_engine(tmp_path, models, cases), cases, settings, strict=True):
        want = expected_steps(deepcopy(model).double(), case, changes)
        check_steps(got, want, expected_steps(model, case, changes))


def looking_back(change: HeadChange) -> HeadChange:
    """Return a change of a head whose pattern looks at no word that is yet to be written."""
    if change.kind != "decoder" or change.pattern in (None, "uniform"):
        return change
    rows = torch.tensor(change.pattern).tril() + 1e-9 * torch.eye(len(change.pattern))
    return replace(change, pattern=(rows / rows.sum(-1, keepdim=True)).tolist())


def check_steps(got: dict[str, Any], want: dict[str, Any], rough: dict[str, Any]) -> None:
    assert "error" not in got, got
    assert (got["prompt"] is None) == (want["prompt"] is None)
    if want["prompt"] is not None:
        near(got["prompt"], want["prompt"], rough["prompt"], WEIGHTS)
    for step, exact, near_it in zip(got["taken"], want["taken"], rough["taken"], strict=True):
        near(np.stack(step["logits"]), exact[0], near_it[0], LOGITS)
        for kind, wanted, torchs in zip(("decoder", "cross"), exact[1:], near_it[1:], strict=True):
            found = [row[kind] for row in step["attention"]]
            assert (found[0] is None) == (wanted is None)
            if wanted is not None:
                near(np.stack(found), wanted, torchs, WEIGHTS)


def test_a_walk_through_the_steps_ends_where_the_forward_does(writers, tmp_path):
    options = {"attention": True}
    cases = []
    for name, model in writers.items():
        ids = random_ids(Random(1), model.config)
        begin = {"source": ids["source"]} if "source" in ids else {"prompt": ids["target"][:1]}
        walk = [{"ids": [word]} for word in ids["target"]]
        cases.append({"model": name, **ids, "options": {}})
        cases.append({"model": name, **begin, "walk": walk, "options": options})
    results = run_engine(tmp_path, writers, cases)
    for whole, steps in zip(results[::2], results[1::2], strict=True):
        for position, step in enumerate(steps["taken"]):
            assert abs(step["logits"][0] - whole["logits"][position]).max() == 0
            weights = whole["attention"]["decoder"][:, :, position, : position + 1]
            assert (step["attention"][0]["decoder"] == weights).all()
