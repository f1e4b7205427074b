"""All heads of a model in order of what a metric loses without each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.attending_models import IDS, TARGET, built
from tests.support.causal_models import gpt2, jamba
from tests.support.huggingface_models import word_piece
from viz_transformer.errors import UserError
from viz_transformer.intervening import find_sites
from viz_transformer.labs.head_lab import ablate
from viz_transformer.labs.huggingface_text import HuggingFaceText


def difference(output: Any) -> Any:
    logits = output if isinstance(output, torch.Tensor) else output.logits
    return logits[0, -1, 5] - logits[0, -1, 9]


def test_each_change_is_the_metric_without_that_head() -> None:
    model, _ = built("T5")
    ranking = vt.rank_heads(model, difference, input_ids=IDS, decoder_input_ids=TARGET)
    assert {kind: changes.shape for kind, changes in ranking.changes.items()} == {
        "encoder": (2, 4),
        "decoder": (2, 4),
        "cross": (2, 4),
    }
    with torch.no_grad():
        whole = float(difference(model(input_ids=IDS, decoder_input_ids=TARGET)))
        with vt.interventions(model, heads=[vt.HeadChange("cross", 1, 2, factor=0)]):
            without = float(difference(model(input_ids=IDS, decoder_input_ids=TARGET)))
    assert ranking.whole == whole
    assert ranking.changes["cross"][1, 2] == without - whole


def test_the_heads_are_printed_from_the_largest_change_on() -> None:
    model, _ = built("T5")
    ranking = vt.rank_heads(model, difference, input_ids=IDS, decoder_input_ids=TARGET)
    sizes = [abs(each.change) for each in ranking.heads]
    assert len(sizes) == 24
    assert sizes == sorted(sizes, reverse=True)
    first, lines = ranking.heads[0], repr(ranking).splitlines()
    assert lines[0] == f"metric of the whole model: {ranking.whole:.4f}"
    assert lines[2].split() == [first.kind, str(first.layer), str(first.head), f"{first.change:+.4f}"]
    assert lines[-1] == "and 12 heads that change less"
    assert np.abs(ranking.changes[first.kind]).max() == sizes[0]


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("loss", "metric='loss' is no function"),
        (lambda output: output.logits, r"a Tensor of shape \[1, 5, 23\], but one number was expected"),
        (lambda output: None, "a NoneType, but one number"),
        (lambda output: float("nan"), "gave nan, but a finite number"),
    ],
)
def test_a_metric_that_gives_no_number_is_refused(metric: Any, message: str) -> None:
    model, _ = built("GPT-2")
    with pytest.raises(UserError, match=message):
        vt.rank_heads(model, metric, input_ids=IDS)


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
