"""Models of TransformerLens, and models in other libraries' wrappers, without those libraries."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import viz_transformer as vt
from tests.support.hooked_model import HookedModel, pattern
from tests.support.huggingface_models import llama, word_piece
from tests.support.refusals import assert_refused
from viz_transformer.errors import UserError

WORDS = ("[CLS]", "the", "cat", "sl", "##eeps")


@pytest.fixture
def hooked() -> HookedModel:
    return HookedModel(word_piece(special=False))


def test_the_models_own_tokenizer_reads_and_labels_a_text(hooked) -> None:
    trace = vt.capture(hooked, "the cat sleeps")
    assert (trace.kinds, trace.target_tokens) == (("decoder",), WORDS)
    assert trace.target_words == (None, 0, 1, 2, 2)
    for i, name in enumerate(hooked.hook_dict):
        np.testing.assert_array_equal(trace.decoder_attention[i], pattern(name, 1, 5, "causal")[0])
    assert vt.capture(hooked, "the cat sleeps", prepend_bos=False).target_tokens == WORDS[1:]
    assert "prepend_bos" not in hooked.read.named


def test_ids_are_labelled_too_and_one_sentence_is_read(hooked) -> None:
    ids = hooked.to_tokens("the cat sleeps").repeat(2, 1)
    mask = torch.tensor([[1] * 5, [0, 0, 1, 1, 1]])
    trace = vt.capture(hooked, ids, attention_mask=mask, batch_index=1)
    assert trace.target_tokens == WORDS[2:]
    assert hooked.read.ids.shape == (1, 5)
    assert vt.capture(hooked, input_ids=[2, 4], tokens=["a", "b"]).target_tokens == ("a", "b")
    with pytest.raises(UserError, match="batch_index=0 to 1"):
        vt.capture(hooked, ids)


def test_a_model_that_looks_ahead_is_an_encoder() -> None:
    model = HookedModel(attention_dir="bidirectional")
    assert vt.capture(model, "the cat", tokenizer=word_piece(special=True)).source_tokens[0] == "[CLS]"


def test_only_the_chosen_layers_are_kept_in_the_cache(hooked) -> None:
    trace = vt.capture(hooked, "the cat", layers=[1], heads=[2])
    assert (trace.layer_numbers("decoder"), trace.head_numbers) == ((1,), (2,))
    with pytest.raises(UserError, match=r"layers=\[7\], but the layers that attend are \[0, 1, 2\]"):
        vt.capture(hooked, "the cat", layers=[7])


def test_unreadable_models_get_one_line(hooked) -> None:
    assert_refused(
        [
            (
                lambda: vt.capture(hooked, "the cat", generate=True),
                "writes by a call of its own; write first",
            ),
            (lambda: vt.capture(hooked, "the cat", head_mask=1), "unknown input head_mask="),
            (lambda: vt.capture(hooked), r"reads a text or token ids .*: vt.capture\(model, \"text\"\)"),
            (lambda: vt.capture(hooked, torch.randn(1, 3, 8)), "reads a text or token ids"),
            (lambda: vt.capture(HookedModel(), "the cat"), "this HookedModel has none; give tokenizer="),
        ]
    )


def envoy(inside: nn.Module, **attributes: object) -> object:
    """Wrap a model as nnsight does: in a class below its Envoy, which is no module."""
    base = type("Envoy", (), {"__module__": "nnsight.intervention.envoy"})
    wrapper = type("LanguageModel", (base,), {})()
    vars(wrapper).update(_module=inside, **attributes)
    return wrapper


def test_a_model_in_nnsights_wrapper() -> None:
    model = llama()
    wrapped = envoy(model, tokenizer=word_piece(special=False), _edits=[])
    found, expected = (
        vt.capture(each, "the cat", tokenizer=tokenizer)
        for each, tokenizer in ((wrapped, None), (model, wrapped.tokenizer))
    )
    assert found.target_tokens == expected.target_tokens
    np.testing.assert_array_equal(found.decoder_attention, expected.decoder_attention)


def test_a_wrapper_without_weights_or_with_edits_says_what_to_do() -> None:
    empty, edited = envoy(nn.Linear(2, 2, device="meta")), envoy(llama(), _edits=[1])
    assert_refused(
        [
            (lambda: vt.capture(empty, "the cat"), "no weights yet; load it with dispatch=True"),
            (lambda: vt.capture(edited, "the cat"), "holds edits, which the trace would not show"),
        ]
    )
