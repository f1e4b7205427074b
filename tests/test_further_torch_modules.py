"""What *Going further* says about torch's own modules, held to the numbers."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from tests.support.lessons import Lesson
from viz_transformer.config import ModelConfig
from viz_transformer.exercises import exercise
from viz_transformer.model import Transformer

pytestmark = pytest.mark.usefixtures("folder_thrown_away")

LESSON = Lesson("torch_modules")
#: Runs cells of the lesson, after the first one, which the others build on.
run = partial(LESSON.run, "heads")


@pytest.fixture(autouse=True)
def _without_gradients():
    """Let no cell switch gradients off for the tests after it."""
    with torch.no_grad():
        yield


def test_one_large_multiplication_is_three() -> None:
    made = run("fused-code")
    assert made["same"] == [True, True, True]
    assert made["fused"].shape == torch.nn.MultiheadAttention(64, 4).in_proj_weight.shape
    first, after = exercise("torch_modules.1").wanted.value
    keys = made["layer"].w_k(made["x"])[:, 2 * 16 : 3 * 16]
    torch.testing.assert_close(made["qkv"][:, first:after], keys, atol=1e-5, rtol=1e-5)


def test_torchs_encoder_copies_its_layer_and_ours_does_not() -> None:
    made = run("copied", "shared-code")
    assert len(made["starts"]) == 6
    assert all(torch.equal(made["starts"][0], each) for each in made["starts"])
    sizes = [sum(each.numel() for each in made[name].parameters()) for name in ("stack", "linear")]
    assert sizes == [4_160, 4_160]
    config = ModelConfig(vocab_size=9, d_model=8, n_heads=2, n_encoder_layers=3, n_decoder_layers=1, d_ff=8)
    weights = [each.self_attention.w_q.weight for each in Transformer(config).encoder.layers]
    assert not any(torch.equal(weights[0], each) for each in weights[1:])
