"""Interventions in any model: bitwise nothing when neutral, and the numbers of sums by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import viz_transformer as vt
from tests.support.attending_models import (
    ARCHITECTURES,
    IDS,
    N_HEADS,
    TARGET,
    Given,
    Stack,
    built,
    own_config,
    run,
)
from tests.support.causal_models import gpt2, jamba
from tests.support.huggingface_models import BERT_SIZES, frozen, hf, same, state, word_piece
from tests.support.refusals import assert_refused
from viz_transformer.errors import UserError
from viz_transformer.huggingface_text import HuggingFaceText
from viz_transformer.interpreting import AttentionSite, HeadRanking, find_sites
from viz_transformer.model import HeadChange, Interventions, TracedTransformer
from viz_transformer.widgets.head_lab.live import ablate

every_architecture = pytest.mark.parametrize("name", ARCHITECTURES)
#: torch's own modules compute what no hook watches in one fused call, whose last digits differ.
FUSED = {"torch's Transformer", "torch's encoder"}


def last_head(site: AttentionSite, **changes) -> HeadChange:
    return HeadChange(site.kind, site.layer, site.n_heads - 1, **changes)


def projected(model: nn.Module, given: Given, site: AttentionSite) -> Tensor:
    """Return what leaves one layer's projection, or torch's attention, which never calls it."""
    is_torchs = isinstance(site.attention, nn.MultiheadAttention)
    module, seen = site.attention if is_torchs else site.projection, []
    handle = module.register_forward_hook(lambda *call: seen.append(call[-1]))
    run(model, given)
    handle.remove()
    return seen[0][0] if is_torchs else seen[0]


@every_architecture
def test_every_layer_is_found(name: str) -> None:
    model, _ = built(name)
    sites = find_sites(model)
    found = {kind: [site.layer for site in sites if site.kind == kind] for kind in {s.kind for s in sites}}
    assert found == {kind: list(range(n)) for kind, n in ARCHITECTURES[name].layers.items()}
    for site in sites:
        assert model.get_submodule(site.name) is site.projection
        assert site.n_heads == N_HEADS
        assert len(site.weight) == site.n_heads * site.d_head


@every_architecture
def test_a_change_without_effect_changes_nothing(name: str) -> None:
    """Neither a neutral one, nor a head that is replaced by its own output."""
    model, given = built(name)
    expected = run(model, given)
    neutral = [HeadChange(s.kind, s.layer, head) for s in find_sites(model) for head in range(s.n_heads)]
    for changes in ([], neutral):
        with vt.interventions(model, heads=changes):
            assert torch.equal(run(model, given), expected)
    said = vt.head_outputs(model, *given.args, **given.named)
    itself = [
        HeadChange(kind, layer, head, output=said[kind][layer, head])
        for kind in said
        for layer, head in np.ndindex(said[kind].shape[:2])
    ]
    with vt.interventions(model, heads=itself):
        found = run(model, given)
    if name in FUSED:
        torch.testing.assert_close(found, expected)
    else:
        assert torch.equal(found, expected)


@every_architecture
def test_a_scaled_head_by_hand(name: str) -> None:
    """What a head adds is its output times its rows of the projection's matrix."""
    model, given = built(name)
    said = vt.head_outputs(model, *given.args, **given.named)
    for site in find_sites(model):
        head = site.n_heads - 1
        rows = site.weight[head * site.d_head :].detach()  # [d_head, d_model]
        adds = torch.from_numpy(said[site.kind][site.layer, head]) @ rows  # [position, d_model]
        expected = projected(model, given, site) - 1.5 * adds
        with vt.interventions(model, heads=[last_head(site, factor=-0.5)]):
            torch.testing.assert_close(projected(model, given, site), expected)


@every_architecture
def test_nothing_is_left_behind_also_after_an_error(name: str) -> None:
    model, given = built(name)
    before, expected = frozen(model), run(model, given)
    changes = [last_head(site, factor=0.0) for site in find_sites(model)]
    with pytest.raises(RuntimeError, match="halfway"), vt.interventions(model, heads=changes):
        raise RuntimeError("halfway")
    assert same(before, state(model))
    assert torch.equal(run(model, given), expected)


def test_the_mean_and_another_input_s_output_by_hand() -> None:
    model, given = built("GPT-2")
    site = find_sites(model)[1]
    own = vt.head_outputs(model, input_ids=IDS)["decoder"]
    other = vt.head_outputs(model, input_ids=IDS.flip(1))["decoder"]
    rows = site.weight[-site.d_head :].detach()
    for change, expected in [
        ({"mean": True}, own[1, -1].mean(0)),
        ({"mean": other[1, -1]}, other[1, -1].mean(0)),
        ({"mean": other[1, -1].mean(0)}, other[1, -1].mean(0)),
        ({"output": other[1, -1]}, other[1, -1]),
        ({"output": torch.from_numpy(other[1, -1]), "factor": 2.0}, 2 * other[1, -1]),
    ]:
        adds = torch.from_numpy(expected - own[1, -1]) @ rows
        whole = projected(model, given, site) + adds
        with vt.interventions(model, heads=[last_head(site, **change)]):
            torch.testing.assert_close(projected(model, given, site), whole)


def changes_of_every_kind() -> list[HeadChange]:
    generator = np.random.default_rng(0)
    return [
        HeadChange("encoder", 0, 1, factor=0.0),
        HeadChange("encoder", 1, 2, mean=True, factor=0.5),
        HeadChange("decoder", 0, 0, output=generator.normal(size=(3, 4))),
        HeadChange("cross", 1, 3, mean=generator.normal(size=4)),
    ]


def patterns_of_every_kind() -> list[HeadChange]:
    rows = torch.rand(3, 5)
    return [
        HeadChange("encoder", 0, 1, pattern="uniform", factor=0.5),
        HeadChange("decoder", 1, 2, pattern="uniform"),
        HeadChange("cross", 0, 0, pattern=rows / rows.sum(-1, keepdim=True)),
    ]


def traced_twin(model: nn.Module) -> TracedTransformer:
    twin = TracedTransformer(own_config()).eval()
    twin.load_state_dict(model.state_dict())
    return twin


def test_our_own_model_gives_the_numbers_of_its_own_interventions() -> None:
    model, given = built("our Transformer")
    traced = traced_twin(model)
    alone = [[change] for change in changes_of_every_kind()]
    for changes in [*alone, changes_of_every_kind(), patterns_of_every_kind()]:
        expected = traced(IDS, TARGET, Interventions(heads=changes)).logits
        with vt.interventions(traced, heads=changes):
            assert torch.equal(traced(IDS, TARGET).logits, expected)
        with vt.interventions(model, heads=changes):
            torch.testing.assert_close(run(model, given), expected)


def test_a_patched_output_in_decoding_is_that_of_the_whole_sentence() -> None:
    model, _ = built("our Transformer")
    changes = Interventions(heads=changes_of_every_kind())
    with torch.no_grad():
        expected = traced_twin(model)(IDS, TARGET, changes).logits
        _, cache = model.decoder_inputs([IDS[0].tolist()], 1, 0, changes)
        for position in range(TARGET.shape[1]):
            step = model.attended_step(TARGET[:, position], cache, changes)
            cache = step.cache
            torch.testing.assert_close(step.logits, expected[:, position])


def test_gradients_flow_through_a_change() -> None:
    model, _ = built("Llama")
    said = vt.head_outputs(model, input_ids=IDS)["decoder"]
    for change in [
        HeadChange("decoder", 0, 1, factor=0.5),
        HeadChange("decoder", 0, 1, mean=True),
        HeadChange("decoder", 0, 1, output=said[1, 1]),
    ]:
        with vt.interventions(model, heads=[change]):
            model(input_ids=IDS).logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_generate_writes_under_the_changes_with_and_without_a_cache() -> None:
    model, _ = built("GPT-2")
    changes = [HeadChange("decoder", 0, head, factor=-1.0) for head in range(N_HEADS)]
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    plain = model.generate(IDS, **options)
    with vt.interventions(model, heads=changes):
        cached = model.generate(IDS, **options)
        assert torch.equal(cached, model.generate(IDS, use_cache=False, **options))
        by_hand = IDS
        for _ in range(6):
            by_hand = torch.cat([by_hand, model(by_hand).logits[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(cached[:, : by_hand.shape[1]], by_hand[:, : cached.shape[1]])
    assert torch.equal(model.generate(IDS, **options), plain)


def test_a_capture_inside_traces_the_changed_model() -> None:
    model, _ = built("torch's Transformer")
    labels = {"source_tokens": list("abcde"), "target_tokens": list("xyz")}
    whole = vt.capture(model, IDS, TARGET, **labels)
    with vt.interventions(model, heads=[HeadChange("encoder", 0, head, factor=0) for head in range(N_HEADS)]):
        changed = vt.capture(model, IDS, TARGET, **labels)
        again = vt.capture(model, IDS, TARGET, **labels)
    assert np.array_equal(whole.encoder_attention[0], changed.encoder_attention[0])
    assert not np.allclose(whole.encoder_attention[1], changed.encoder_attention[1])
    assert np.array_equal(changed.encoder_attention, again.encoder_attention)


@pytest.mark.parametrize("name", ["T5", "torch's Transformer"])
def test_blocks_stand_inside_each_other(name: str) -> None:
    model, given = built(name)
    with vt.interventions(model, heads=[HeadChange("cross", 0, 0, factor=0.5)]):
        once = run(model, given)
        with vt.interventions(model, heads=[HeadChange("cross", 0, 0, factor=0.5)]):
            twice = run(model, given)
        assert torch.equal(run(model, given), once)
    with vt.interventions(model, heads=[HeadChange("cross", 0, 0, factor=0.25)]):
        torch.testing.assert_close(run(model, given), twice)


class Unclear(nn.Module):
    """Attention of which no projection can be told from the others."""

    def __init__(self) -> None:
        super().__init__()
        self.num_heads = 2
        self.q, self.k, self.v, self.one, self.two = (nn.Linear(4, 4) for _ in range(5))


def test_changes_that_make_no_sense_are_refused() -> None:
    assert_refused(
        (lambda given=given: HeadChange("decoder", 0, 0, **given), message)
        for given, message in [
            ({"mean": "all"}, "the mean 'all' is not rows of numbers"),
            ({"mean": False}, r"the mean has shape \[\], but it must be \[d_head\]"),
            ({"mean": [[[1.0]]]}, r"shape \[1, 1, 1\], but it must be \[d_head\], or outputs"),
            ({"output": [1.0, 2.0]}, r"shape \[2\], but it must be \[position, d_head\]"),
            ({"output": [[float("nan")]]}, "not finite"),
            ({"mean": True, "output": [[1.0]]}, "has mean and output; give one"),
            ({"mean": True, "pattern": "uniform"}, "has pattern and mean; give one"),
        ]
    )


def test_changes_that_do_not_fit_the_model_are_refused_and_leave_nothing() -> None:
    model, given = built("GPT-2")
    expected = run(model, given)

    def changed(ids: Tensor, *place: Any, **change: Any) -> None:
        with vt.interventions(model, heads=[HeadChange(*place, **change)]):
            model(ids)

    outside = "layers go from 0 to 1 and heads from 0 to 3"
    first = ("decoder", 0, 0)
    # The first three are refused before the model runs: it is given no ids.
    assert_refused(
        (lambda ids=ids, place=place, change=change: changed(ids, *place, **change), message)
        for ids, place, change, message in [
            (None, ("encoder", 0, 0), {"factor": 0}, r"no encoder attention; it has \['decoder'\]"),
            (None, ("decoder", 2, 0), {"factor": 0}, outside),
            (None, ("decoder", 0, 4), {"factor": 0}, outside),
            (IDS, first, {"output": np.zeros((4, 4))}, r"\[4, 4\], but there are 5 positions of 4 numbers"),
            (IDS, first, {"output": np.zeros((5, 3))}, r"\[5, 3\], but there are 5 positions of 4 numbers"),
            (IDS, first, {"mean": np.zeros(3)}, r"the mean of decoder layer 0 head 0 has shape \[3\]"),
            (IDS, first, {"pattern": torch.eye(4)}, r"\[4, 4\].*5 queries and 5 keys"),
            (IDS[:, :1], first, {"mean": True}, "its own mean"),
        ]
    )
    assert torch.equal(run(model, given), expected)


def test_models_whose_heads_cannot_be_told_are_refused_with_what_was_looked_at() -> None:
    torch.manual_seed(0)
    mamba = hf.MambaForCausalLM(hf.MambaConfig(hidden_size=8, num_hidden_layers=1, vocab_size=11))
    sizes = {**BERT_SIZES, "embedding_size": 8, "vocab_size": 23, "pad_token_id": 0}
    albert = hf.AlbertModel(hf.AlbertConfig(**sizes)).eval()
    assert len(find_sites(albert)) == 1  # layers that run twice are one site
    two = IDS.repeat(2, 1)
    nothing = r"of Sequential .* looked at: the model itself \(Sequential: 0\)"
    assert_refused(
        [
            (lambda: find_sites(nn.Sequential(nn.Linear(4, 4))), nothing),
            (lambda: find_sites(mamba), "MambaForCausalLM"),
            (lambda: find_sites(vt.load_translator()), r"Translator is not a torch module; give its \.model"),
            (
                lambda: find_sites(Stack(Unclear(), width=4)),
                r"looked at: blocks\.0 \(Unclear: q, k, v, one, two\)",
            ),
            (lambda: vt.head_outputs(albert, input_ids=IDS), "ran 2 times"),
            (lambda: vt.head_outputs(built("GPT-2")[0], input_ids=two), "has 2 sentences"),
        ]
    )


def pattern_of(site: AttentionSite, model: nn.Module, given: Given) -> Tensor:
    """Return a pattern of the right shape in which each query attends to the first key alone."""
    said = vt.head_outputs(model, *given.args, **given.named)
    n_queries, n_keys = (
        said[kind].shape[2] for kind in (site.kind, "encoder" if site.kind == "cross" else site.kind)
    )
    pattern = torch.zeros(n_queries, n_keys)
    pattern[:, 0] = 1
    return pattern


@every_architecture
def test_under_a_pattern_on_the_first_key_every_query_gets_its_value(name: str) -> None:
    """The first query of a decoder attends to the first key anyway: its row is the value."""
    model, given = built(name)
    site = next(s for s in find_sites(model) if s.kind != "cross")
    change = last_head(site, pattern=pattern_of(site, model, given))
    if name == "heads in a list":  # its scores have no axis for heads
        with (
            pytest.raises(UserError, match="no pattern can be fixed"),
            vt.interventions(model, heads=[change]),
        ):
            run(model, given)
        return
    own = vt.head_outputs(model, *given.args, **given.named)[site.kind][0, -1]
    with vt.interventions(model, heads=[change]):
        found = vt.head_outputs(model, *given.args, **given.named)[site.kind][0, -1]
    np.testing.assert_allclose(found, np.broadcast_to(found[0], found.shape), atol=1e-6)
    assert not np.allclose(found, own)
    if site.kind == "decoder":
        np.testing.assert_allclose(found[0], own[0], atol=1e-6)


@pytest.mark.parametrize("name", ["GPT-2", "Llama", "BERT", "T5", "Marian", "Whisper"])
def test_a_pattern_is_the_same_however_the_model_attends(name: str) -> None:
    """And a capture of the eager model shows the pattern; T5 knows one way only."""
    model, given = built(name)
    found = []
    for implementation in ("eager", "sdpa"):
        model.set_attn_implementation(implementation)
        for site in find_sites(model)[-2:]:
            pattern = pattern_of(site, model, given)
            for change in ({"pattern": pattern}, {"pattern": "uniform", "factor": 0.5}):
                with vt.interventions(model, heads=[last_head(site, **change)]):
                    found.append(run(model, given))
    for eager, other in zip(found[: len(found) // 2], found[len(found) // 2 :], strict=True):
        torch.testing.assert_close(eager, other, atol=1e-5, rtol=1e-5)


def test_torchs_own_attention_under_a_uniform_pattern_attends_evenly_to_what_the_mask_leaves() -> None:
    model, given = built("torch's Transformer")
    site = next(s for s in find_sites(model) if s.kind == "decoder")
    rows = torch.ones(3, 3).tril()
    by_hand = last_head(site, pattern=rows / rows.sum(-1, keepdim=True))
    with vt.interventions(model, heads=[by_hand]):
        expected = run(model, given)
    with vt.interventions(model, heads=[last_head(site, pattern="uniform")]):
        torch.testing.assert_close(run(model, given), expected)


def test_a_ranking_lists_the_largest_changes_first() -> None:
    changes = {"encoder": np.array([[0.1, -0.5], [0.2, np.nan]]), "cross": np.full((5, 2), 0.01)}
    ranking = HeadRanking(2.0, changes, layers={"encoder": [1, 3]})
    assert ranking.heads[:3] == (("encoder", 1, 1, -0.5), ("encoder", 3, 0, 0.2), ("encoder", 1, 0, 0.1))
    assert len(ranking.heads) == 13
    lines = repr(ranking).splitlines()
    assert lines[0] == "metric of the whole model: 2.0000"
    assert lines[2].split() == ["encoder", "1", "1", "-0.5000"]
    assert lines[-1] == "and 1 heads that change less"


def test_a_metric_that_gives_no_number_is_refused() -> None:
    model, _ = built("GPT-2")
    assert_refused(
        (lambda metric=metric: vt.rank_heads(model, metric, input_ids=IDS), message)
        for metric, message in [
            ("loss", "token 'loss' is no id and has no tokenizer"),
            (slice(0, 1), "no token comes before the first"),
            (("a", "b", "c"), "is no metric; give a token or a class"),
            (lambda output: output.logits, r"a Tensor of shape \[1, 5, 23\], but one number was expected"),
            (lambda output: None, "a NoneType, but one number"),
            (lambda output: float("nan"), "gave nan, but a finite number"),
        ]
    )


def test_layers_have_the_numbers_that_a_trace_gives_them() -> None:
    """Two of this model's four layers attend, 1 and 3."""
    model, ids = jamba(), torch.tensor([[4, 5, 6]])
    assert [site.layer for site in find_sites(model)] == [1, 3]
    trace = vt.capture(model, input_ids=ids, target_tokens=list("abc"))
    assert trace.layer_numbers("decoder") == (1, 3)
    ranking = vt.rank_heads(model, lambda output: output.logits[0, -1, 7], ids)
    assert {head.layer for head in ranking.heads} == {1, 3}
    assert ranking.changes["decoder"].shape == (2, 4)
    with (
        pytest.raises(UserError, match=r"decoder layers that attend are \[1, 3\] and heads from 0 to 3"),
        vt.interventions(model, heads=[vt.HeadChange("decoder", 0, 0, factor=0)]),
    ):
        pass
    words = word_piece(special=False)
    off = {"kind": "decoder", "layer": 1, "head": 0, "factor": 0.0}  # a lab counts the layers that attend
    lab = HuggingFaceText(model, words, max_new_tokens=2)
    reply = ablate(lab, {"sentence": "the cat", "changes": [off]})
    read = torch.tensor([words.convert_tokens_to_ids(list(reply["trace"].target_tokens))])
    with vt.interventions(model, heads=[vt.HeadChange("decoder", 3, 0, factor=0)]), torch.no_grad():
        expected = model(read).logits.log_softmax(-1)[0, 0, read[0, 1]].item()
    assert reply["log_probs"][0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_a_change_reaches_a_model_that_was_compiled_before() -> None:
    model, ids = gpt2(), torch.tensor([[4, 5, 6]])
    compiled = torch.compile(model, backend="eager")
    off = [vt.HeadChange("decoder", 0, head, factor=0) for head in range(4)]
    with torch.no_grad():
        whole = compiled(ids).logits
        with vt.interventions(compiled, heads=off):
            without = compiled(ids).logits
        with vt.interventions(model, heads=off):
            assert torch.equal(compiled(ids).logits, without)
            assert torch.equal(model(ids).logits, without)
        assert not torch.equal(whole, without)
        assert torch.equal(compiled(ids).logits, whole)
