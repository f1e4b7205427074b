"""A search kept in a file, replayed without a model, and its attention stitched together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.missing_packages import printed_without_torch
from tests.support.tiny_decoder import EOS, VOCABULARY, tiny_model
from viz_transformer.decoding import beam_search
from viz_transformer.errors import FileError, UserError
from viz_transformer.model import TracedTransformer
from viz_transformer.trace import DecodeTrace

SOURCE = [3, 4, 4, EOS]


@pytest.fixture(scope="module")
def found() -> DecodeTrace:
    """A search that has recorded attention, the second sentence of a batch."""
    return beam_search(tiny_model(11), [[3, EOS], SOURCE], VOCABULARY, beam_width=3, attention=True)[1]


def test_stitched_attention_is_that_of_one_teacher_forced_pass(found: DecodeTrace) -> None:
    model = tiny_model(11)
    traced = TracedTransformer(model.config).eval()
    traced.load_state_dict(model.state_dict())
    assert len(found.hypotheses) == 3
    for rank, hypothesis in enumerate(found.hypotheses):
        stitched = found.forward_trace(rank)
        target = torch.tensor([[VOCABULARY.sos_id, *hypothesis.ids]])
        with torch.no_grad():
            whole = traced(torch.tensor([SOURCE]), target)
        for name in ("decoder_attention", "cross_attention"):
            expected = torch.cat(getattr(whole, name)).numpy()
            np.testing.assert_allclose(getattr(stitched, name), expected, atol=1e-6)
        assert stitched.target_tokens == ("<sos>", *hypothesis.tokens)
        assert stitched.output_tokens == (*hypothesis.tokens, "<eos>")
        assert stitched.source_tokens == ("a", "b", "b", "<eos>")


def test_a_search_is_written_as_a_few_lines(found: DecodeTrace) -> None:
    best = found.hypotheses[0]
    text = " ".join(best.tokens) or "no token"
    assert repr(found).splitlines() == [
        f"DecodeTrace: 3 finished texts, {len(found.steps)} recorded steps of at most 3 hypotheses",
        "source (4): a b b <eos>",
        "prompt (1): <sos>",
        f"best ({len(best.tokens)}): {text}, log-probability {best.log_prob:.3f} nats",
    ]


def test_a_saved_search_is_the_same_again_also_without_torch(found: DecodeTrace, tmp_path: Path) -> None:
    path = found.save(tmp_path / "search.npz")
    again = DecodeTrace.load(path)
    assert again.hypotheses == found.hypotheses
    assert again.source_tokens == found.source_tokens
    for one, other in zip(again.steps, found.steps, strict=True):
        assert one.candidates == other.candidates
        assert one.probable == other.probable
        np.testing.assert_array_equal(one.decoder_attention, other.decoder_attention)
        np.testing.assert_array_equal(one.cross_attention, other.cross_attention)
    np.testing.assert_array_equal(
        again.forward_trace(1).cross_attention, found.forward_trace(1).cross_attention
    )
    said = printed_without_torch(f"trace.DecodeTrace.load({str(path)!r}).hypotheses[0].tokens")
    assert said == repr(found.hypotheses[0].tokens)


def test_attention_of_another_shape_than_the_other_steps_is_refused(found: DecodeTrace) -> None:
    first, second, *others = found.steps
    for name in ("decoder_attention", "cross_attention"):
        for axis in (0, 1, 2):
            doubled = np.repeat(getattr(second, name), 2, axis)  # [hypothesis, layer, head, key]
            said = f"^{name} of step 1 has shape .* or the other steps; decode again"
            with pytest.raises(UserError, match=said):
                replace(found, steps=(first, replace(second, **{name: doubled}), *others))


def test_a_file_that_is_not_a_saved_search_is_refused(found: DecodeTrace, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no trace at"):
        DecodeTrace.load(tmp_path / "none.npz")
    path = found.save(tmp_path / "search.npz")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(FileError, match="damaged"):
        DecodeTrace.load(path)


def test_attention_that_was_not_recorded_is_not_invented() -> None:
    (bare,) = beam_search(tiny_model(11), [SOURCE], VOCABULARY)
    with pytest.raises(UserError, match="attention=True"):
        bare.forward_trace()
    with pytest.raises(UserError, match="rank=9, but there are"):
        bare.forward_trace(9)
    (quick,) = beam_search(tiny_model(11), [SOURCE], VOCABULARY, steps=False)
    assert quick.steps == ()
    assert [h.ids for h in quick.hypotheses] == [h.ids for h in bare.hypotheses]
