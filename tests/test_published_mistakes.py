"""Mistakes that published Transformer tutorials carry, and that this package must not.

Each test names the mistake in its docstring, the way a learner meets it. The clinic will show them
broken; here is the proof that they are mended.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch

from tests.support.six_pairs import SIX_PAIRS, VOCABULARY
from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus.batches import batches
from viz_transformer.decoding import beam_search, greedy, length_norm
from viz_transformer.errors import UserError
from viz_transformer.experiments.shift import shift_experiment
from viz_transformer.model import DecoderOnly, EncoderOnly, TracedTransformer, Transformer
from viz_transformer.model.attention import MultiHeadAttention, attend
from viz_transformer.model.masks import causal_mask, padding_mask, to_torch_mask
from viz_transformer.model.scoring import AdditiveScore, softmax_steps
from viz_transformer.recipes.six_pairs import SIX_PAIRS_MODEL
from viz_transformer.training import fit, make_model, token_loss
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import UnknownWordError

pytestmark = pytest.mark.usefixtures("shapes_unchecked")

CONFIG = replace(SIX_PAIRS_MODEL, vocab_size=len(VOCABULARY), bias=True)


@pytest.fixture
def model() -> Transformer:
    return make_model(CONFIG, 0).eval()


def ids(*rows: list[int]) -> torch.Tensor:
    return torch.tensor(rows)


class TestTranslatorFromScratch:
    """A translator from scratch, on six pairs."""

    def test_weights_are_not_thrown_away(self) -> None:
        x = torch.randn(2, 5, 8)
        _, weights = MultiHeadAttention(8, 2)(x, x)
        assert weights.shape == (2, 2, 5, 5)

    def test_dropout_is_there_and_works_in_training(self, model: Transformer) -> None:
        source, target = ids([3, 4, 2]), ids([1, 5])
        assert torch.equal(model(source, target), model(source, target))
        model.train()
        assert not torch.equal(model(source, target), model(source, target))

    def test_padding_of_the_target_is_masked_also_on_the_left(self, model: Transformer) -> None:
        logits = model(ids([3, 4, 2]), ids([0, 0, 1, 5]))
        assert torch.isfinite(logits).all()
        traced = TracedTransformer(CONFIG).eval()
        output = traced(ids([3, 4, 2]), ids([0, 0, 1, 5]))
        assert (output.decoder_attention[0][..., :2] == 0).all()

    def test_a_source_of_padding_alone_gives_a_finite_loss(self, model: Transformer) -> None:
        target = ids([1, 5, 2])
        loss, _ = token_loss(model(ids([0, 0]), target[:, :-1]), target[:, 1:], pad_id=0)
        loss.backward()
        assert torch.isfinite(loss)
        assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)

    def test_empty_input_is_refused_not_translated(self, model: Transformer) -> None:
        with pytest.raises(UserError, match="holds no word"):
            Translator(model, VOCABULARY).translate("")

    def test_a_long_source_is_refused_not_cut(self, model: Transformer) -> None:
        with pytest.raises(UserError, match="25 words, and this model reads at most 19"):
            Translator(model, VOCABULARY).translate("cat " * 25)

    def test_a_long_target_keeps_its_end(self) -> None:
        assert VOCABULARY.target_ids("gato " * 20)[-1] == VOCABULARY.eos_id

    def test_an_unknown_word_is_more_than_a_key_error(self) -> None:
        with pytest.raises(UnknownWordError, match="unknown English word 'dog'"):
            VOCABULARY.encode("the dog")

    def test_a_beam_wider_than_the_vocabulary_does_not_crash(self, model: Transformer) -> None:
        (found,) = beam_search(model, [[3, 2]], VOCABULARY, beam_width=100, max_length=3)
        assert len(found.hypotheses) == 100

    def test_finished_hypotheses_are_not_copied_at_each_step(self, model: Transformer) -> None:
        (found,) = beam_search(model, [[3, 2]], VOCABULARY, beam_width=8)
        ids_found = [hypothesis.ids for hypothesis in found.hypotheses]
        assert len(ids_found) == len(set(ids_found)) <= 8

    def test_a_longer_translation_can_win_by_length_normalisation(self) -> None:
        # The published case: *buenos* at -2.01 beat *buenos dias* at -2.26.
        short, long = -2.01, -2.26
        assert short > long
        assert short / length_norm(2, 1.0) < long / length_norm(3, 1.0)

    def test_padding_and_start_are_not_emitted(self, model: Transformer) -> None:
        assert not set(greedy(model, [[3, 4, 2]], VOCABULARY)[0]) & {0, 1}

    def test_the_untrained_model_does_not_echo_its_input(self, model: Transformer) -> None:
        """With N(0, 1) embeddings, tied, the loss starts at 292 where ln 35 is 3.6."""
        target = ids([1, 5, 9, 7, 2])
        loss, _ = token_loss(model(ids([3, 4, 2]), target[:, :-1]), target[:, 1:], pad_id=0)
        with torch.no_grad():
            model.source_embedding.weight.mul_(CONFIG.d_model**0.5)
        large, _ = token_loss(model(ids([3, 4, 2]), target[:, :-1]), target[:, 1:], pad_id=0)
        assert loss < 12 < large


class TestTorchsOwnModule:
    """A model on torch.nn.Transformer, and its inference."""

    def test_arguments_cannot_land_in_the_wrong_parameters(self) -> None:
        """Given by position, 2048 became the number of encoder layers."""
        with pytest.raises(TypeError):
            ModelConfig(1000, 512, 8, 6, 2048)  # type: ignore[misc]

    def test_the_encoding_runs_along_the_positions_and_not_the_batch(self, model: Transformer) -> None:
        x = model.embed_source(ids([5, 5, 5], [5, 5, 5]))
        assert torch.equal(x[0], x[1])
        assert not torch.allclose(x[0, 0], x[0, 1])

    def test_a_causal_mask_is_no_padding_mask_even_if_the_batch_is_as_long(self, model: Transformer) -> None:
        source = torch.full((4, 4), 5)
        memory = model.encode(source)
        with pytest.raises(UserError, match="4, 4"):
            model.decode(source, memory, causal_mask(4)[0, 0])

    def test_the_future_does_not_leak(self, model: Transformer) -> None:
        one, other = ids([1, 5, 6, 7]), ids([1, 5, 9, 8])
        source = ids([3, 4, 2])
        torch.testing.assert_close(model(source, one)[:, :2], model(source, other)[:, :2])

    def test_training_writes_the_target_shifted_by_one(self) -> None:
        """With the source, or the target itself, as what is written, this could be learned by
        copying; the word after next could not."""
        model = make_model(CONFIG, 0)
        stream = batches(SIX_PAIRS, VOCABULARY, 6, 0)
        list(fit(model, stream, TrainConfig(n_steps=250, batch_size=6, warmup_steps=10)))
        target = torch.tensor([VOCABULARY.target_ids("el gato es negro")])
        source = torch.tensor([VOCABULARY.source_ids("the cat is black")])
        assert torch.equal(model(source, target[:, :-1]).argmax(-1), target[:, 1:])

    def test_softmax_does_not_overflow_at_a_thousand(self) -> None:
        weights = softmax_steps([1000.0, 999.0]).weights
        torch.testing.assert_close(weights, torch.tensor([0.7310586, 0.2689414]).to(weights))

    def test_a_shift_changes_additive_scores_and_not_rotary_ones(self) -> None:
        """The published claim, that query·key is the same under a shift, holds for rotary only."""
        measured = shift_experiment()
        assert measured.positions.largest_difference < 1e-4
        assert measured.rotary.largest_difference < 1e-5
        assert measured.sinusoidal.rms_difference > 0.3


class TestSimplified:
    """A simplified sequence-to-sequence model."""

    def test_true_means_may_attend(self) -> None:
        query, key, value = torch.randn(3, 1, 1, 2, 4).unbind()
        mask = torch.tensor([[[[True, False], [True, True]]]])
        _, weights = attend(query, key, value, mask)
        assert weights[0, 0, 0].tolist() == [1, 0]
        assert torch.equal(to_torch_mask(mask), ~mask)

    def test_ids_are_embedded(self, model: Transformer) -> None:
        assert model.embed_source(ids([3, 4])).shape == (1, 2, CONFIG.d_model)

    def test_cross_attention_is_masked_by_the_sources_padding(self) -> None:
        traced = TracedTransformer(CONFIG).eval()
        output = traced(ids([3, 4, 2, 0, 0]), ids([1, 5, 6]))
        for weights in output.cross_attention:
            assert (weights[..., 3:] == 0).all()
            assert (weights[..., :3] > 0).all()

    def test_without_positions_it_is_equivariant_not_invariant(self) -> None:
        config = ModelConfig(**{**CONFIG.__dict__, "positional": "none"})
        model = make_model(config, 0).eval()
        order = torch.tensor([2, 0, 1])
        source = ids([3, 4, 5])
        memory = model.encode(source)
        torch.testing.assert_close(model.encode(source[:, order]), memory[:, order])
        assert not torch.allclose(memory[:, order], memory)


class TestThreeFamilies:
    """The three families; tests/test_families.py has more."""

    def test_both_masks_are_heeded(self) -> None:
        padded, other = ids([3, 4, 2, 0]), ids([3, 4, 2])
        encoder = EncoderOnly(CONFIG).eval()
        torch.testing.assert_close(encoder(padded)[:, :3], encoder(other))
        decoder = DecoderOnly(CONFIG).eval()
        torch.testing.assert_close(decoder(ids([3, 4, 5]))[:, :2], decoder(ids([3, 4]))[:, :2])

    def test_batch_comes_first_throughout(self, model: Transformer) -> None:
        """Mixed with sequence-first, a batch of 3 and a length of 3 would run and be wrong."""
        source, target = torch.randint(3, 30, (3, 3)), torch.randint(3, 30, (3, 3))
        alone = torch.cat([model(source[i : i + 1], target[i : i + 1]) for i in range(3)])
        torch.testing.assert_close(model(source, target), alone)


class TestPaperNotes:
    """Notes on the paper, with code."""

    def test_key_and_value_are_not_ignored(self) -> None:
        attention = MultiHeadAttention(8, 2)
        query, one, other = torch.randn(3, 1, 4, 8).unbind()
        assert not torch.allclose(attention(query, one)[0], attention(query, other)[0])

    def test_heads_are_merged(self) -> None:
        x = torch.randn(2, 5, 8)
        assert MultiHeadAttention(8, 2)(x, x)[0].shape == x.shape

    def test_layers_differ_and_none_is_reused(self, model: Transformer) -> None:
        for stack in (model.encoder, model.decoder):
            for one, other in itertools.combinations(stack.layers, 2):
                assert one is not other
                assert not torch.equal(one.self_attention.w_q.weight, other.self_attention.w_q.weight)

    def test_additive_scores_pair_every_query_with_every_key(self) -> None:
        """Broadcast wrongly, n_q = n_k scores each query with one key alone, in silence."""
        score = AdditiveScore(n_heads=1, d_head=4)
        query, key = torch.randn(2, 1, 1, 3, 4).unbind()
        together = score(query, key)
        for i, j in itertools.product(range(3), range(3)):
            alone = score(query[:, :, i : i + 1], key[:, :, j : j + 1])
            torch.testing.assert_close(together[0, 0, i, j], alone[0, 0, 0, 0])

    def test_a_padding_mask_has_the_shape_of_the_keys(self) -> None:
        assert padding_mask(ids([3, 0], [3, 4]), 0).shape == (2, 1, 1, 2)
