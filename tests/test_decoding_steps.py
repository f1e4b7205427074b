"""The fast step against the model's own layers, and both against whole passes."""

from __future__ import annotations

import itertools

import pytest
import torch

from viz_transformer.config import ModelConfig
from viz_transformer.decoding.constraints import make_constraints
from viz_transformer.decoding.fused import FusedSteps
from viz_transformer.decoding.steps import CachedSteps, Steps, open_steps
from viz_transformer.model import DecoderOnly, TracedDecoderOnly, TracedTransformer, Transformer
from viz_transformer.training import make_model
from viz_transformer.vocabulary import Vocabulary

VOCABULARY = Vocabulary([f"w{i}" for i in range(9)], [f"w{i}" for i in range(9)])
SOURCES = [[3, 4, 5, 2], [6, 2], [7, 8, 2]]

VARIANTS = [
    {"norm": norm, "positional": positional, "bias": bias}
    for norm, positional, bias in itertools.product(
        ("pre", "post"), ("sinusoidal", "learned", "rotary"), (True, False)
    )
] + [{"activation": "gelu", "scoring": "dot"}, {"positional": "none", "tie_embeddings": False}]


def assert_close(found: torch.Tensor, expected: torch.Tensor, row: object = "") -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5, msg=lambda text: f"{row}: {text}")


def config(**changes) -> ModelConfig:
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "max_length": 90, "dropout": 0.2}
    layers = {"n_encoder_layers": 1, "n_decoder_layers": 2}
    return ModelConfig(vocab_size=len(VOCABULARY), **sizes, **layers, **changes)


def opened(model, sources: list[list[int]], attention: bool = False) -> tuple[Steps, torch.Tensor]:
    """The steps of the one batch, and what they read first."""
    constraints = make_constraints(model, sources, VOCABULARY, 0, 50, ())
    [(_, steps, ids)] = open_steps(model, sources, constraints, None, attention)
    return steps, ids


def walk(steps, ids: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
    """Logits [row, step, vocab] of the texts [row, step], the rows in another order each time."""
    logits = [steps.step(ids)]
    for column in texts.T:
        logits.append(steps.step(column))
    return torch.stack(logits, dim=1)


@torch.no_grad()
def test_the_fused_steps_equal_a_whole_pass() -> None:
    for changes in VARIANTS:
        model = make_model(config(**changes), seed=0).eval()
        steps, ids = opened(model, SOURCES)
        assert isinstance(steps, FusedSteps)
        texts = torch.randint(3, 12, (3, 45))  # longer than the room there is at first
        found = walk(steps, ids, texts)
        for row, source in enumerate(SOURCES):
            target = torch.cat([torch.tensor([VOCABULARY.sos_id]), texts[row]])[None]
            whole = model(torch.tensor([source]), target)[0]
            assert_close(found[row], whole, changes)


@torch.no_grad()
def test_a_decoder_only_model_reads_its_prompt_at_once() -> None:
    prompts = [[3, 4, 5, 6], [7, 8, 9, 10]]
    for changes in VARIANTS[:6]:
        model = DecoderOnly(config(**changes)).eval()
        texts = torch.randint(3, 12, (2, 40))
        found = walk(*opened(model, prompts), texts)
        whole = model(torch.cat([torch.tensor(prompts), texts], dim=1))[:, 3:]
        assert_close(found, whole, changes)


@pytest.mark.parametrize("alone", [False, True])
@torch.no_grad()
def test_both_ways_go_on_with_the_rows_that_are_selected(alone: bool) -> None:
    """Hypotheses dropped, doubled and exchanged, sentences that leave: as in a beam search."""
    model = (DecoderOnly(config()) if alone else Transformer(config())).eval()
    sources = [[3, 4, 5], [6, 7, 8], [5, 4, 3]] if alone else SOURCES
    first = torch.tensor(sources) if alone else torch.full((3,), VOCABULARY.sos_id)
    cache = model.decoder_inputs(sources, VOCABULARY.sos_id, VOCABULARY.pad_id).cache
    logits = []
    for steps in (opened(model, sources)[0], CachedSteps(model, cache, None, record_attention=False)):
        found = [steps.step(first)]
        steps.select(torch.tensor([0, 0, 1, 1, 2, 2]))  # two hypotheses for each sentence
        found.append(steps.step(torch.tensor([3, 4, 5, 6, 7, 8])))
        steps.select(torch.tensor([1, 0, 2, 2, 5, 4]))  # exchanged, one doubled
        found.append(steps.step(torch.tensor([3, 4, 5, 6, 7, 8])))
        steps.select(torch.tensor([3, 2, 4, 4]), torch.tensor([1, 2]))  # the first one leaves
        found.append(steps.step(torch.tensor([9, 9, 10, 11])))
        logits.append(torch.cat(found))
    assert_close(*logits)


@pytest.mark.parametrize("alone", [False, True])
@torch.no_grad()
def test_attention_by_steps_is_that_of_a_whole_pass(alone: bool) -> None:
    model = (DecoderOnly(config()) if alone else Transformer(config())).eval()
    traced = (TracedDecoderOnly if alone else TracedTransformer)(config()).eval()
    traced.load_state_dict(model.state_dict())
    source = [3, 4, 5, 2]
    steps, ids = opened(model, [source], attention=True)
    text = torch.tensor([6, 7, 8])
    attended = []
    steps.step(ids)
    attended.append(steps.attention)
    for column in text[:, None]:
        steps.step(column)
        attended.append(steps.attention)
    before = source if alone else [VOCABULARY.sos_id]
    target = torch.tensor([[*before, *text]])
    whole = traced(target) if alone else traced(torch.tensor([source]), target)
    decoder = torch.cat(whole.decoder_attention)  # [layer, head, query, key]
    for index, (own, cross) in enumerate(attended):
        query = len(before) - 1 + index
        torch.testing.assert_close(own[0], decoder[:, :, query, : query + 1])
        if not alone:
            torch.testing.assert_close(cross[0], torch.cat(whole.cross_attention)[:, :, index])
    if alone:
        torch.testing.assert_close(steps.prompt_attention[0], decoder[:, :, :3, :4])


def test_additive_scores_are_not_fused() -> None:
    model = Transformer(config(scoring="additive")).eval()
    assert isinstance(opened(model, SOURCES)[0], CachedSteps)
