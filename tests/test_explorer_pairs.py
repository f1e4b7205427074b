"""Pairs of sentences in the explorer, and sound on a time axis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import viz_transformer as vt
from tests.support.hand_made_traces import attention, make_trace
from tests.support.hooked_model import HookedModel
from tests.support.huggingface_models import hf, word_piece
from viz_transformer.analysis import sentence_segments
from viz_transformer.analysis.combine import strongest
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.base.traits import SelectionError
from viz_transformer.widgets.explorer import explore

TOKENS = ("[CLS]", "it", "rains", "[SEP]", "take", "an", "umbrella", "[SEP]")
SEGMENTS = [0, 0, 0, 0, 1, 1, 1, 1]


def pair_trace(tokens: tuple[str, ...] = TOKENS) -> ForwardTrace:
    weights = attention(2, 3, len(tokens), len(tokens))
    return ForwardTrace(source_tokens=tokens, encoder_attention=weights)


@pytest.mark.parametrize(
    ("tokens", "segments"),
    [
        (TOKENS, SEGMENTS),  # as BERT's token_type_ids
        (("<s>", "yes", "</s>", "</s>", "no", "</s>"), [0, 0, 0, 0, 1, 1]),  # RoBERTa
        (("yes", "<sep>", "no", "<sep>", "<cls>"), [0, 0, 1, 1, 1]),  # XLNet
        (("[CLS]", "yes", "[SEP]"), []),
        (("yes", "no"), []),
        (("[SEP]", "yes"), []),
        ((), []),
    ],
)
def test_a_pair_is_found_by_its_separators(tokens: tuple[str, ...], segments: list[int]) -> None:
    assert sentence_segments(tokens) == segments


@pytest.mark.parametrize(
    ("pair", "rows", "cols"),
    [
        ("AA", slice(0, 4), slice(0, 4)),
        ("AB", slice(0, 4), slice(4, 8)),
        ("BA", slice(4, 8), slice(0, 4)),
        ("BB", slice(4, 8), slice(4, 8)),
    ],
)
def test_the_twin_shows_the_sentences_that_are_chosen(pair: str, rows: slice, cols: slice) -> None:
    trace = pair_trace()
    axes = explore(trace, layer=1, head=2, pair=pair).figure().axes[0]
    shown = np.ma.filled(axes.images[0].get_array(), np.nan)
    np.testing.assert_allclose(shown, trace.encoder_attention[1, 2][rows, cols], atol=1e-7)
    assert [label.get_text() for label in axes.get_xticklabels()] == list(TOKENS[cols])


def test_a_page_of_a_large_trace_carries_the_thumbnails_of_each_pair() -> None:
    tokens = (*(f"a{i}" for i in range(60)), "[SEP]", *(f"b{i}" for i in range(80)))
    trace = pair_trace(tokens)
    view = explore(trace)
    asked = [each for each in view.questions() if "overview" in each]
    assert [each["overview"] for each in asked] == [["encoder", pair] for pair in ("AA", "AB", "BA", "BB")]
    reply = view.answer(asked[1])
    expected = np.stack([strongest(layer[:, :61, 61:], 32) for layer in trace.encoder_attention])
    values = np.frombuffer(reply["values"], np.uint8).reshape(expected.shape)
    np.testing.assert_array_equal(values, np.rint(255 * expected))
    assert (reply["rows"], reply["cols"]) == (32, 32)


def test_segments_can_be_given_and_go_with_their_trace() -> None:
    trace = pair_trace(("a", "b", "c", "d"))
    assert explore(trace).segments == []
    given = np.array([[0, 0, 1, 1]])  # as a tokenizer returns them
    view = explore(trace, segments=given, pair="BA")
    assert (view.segments, view.pair) == ([0, 0, 1, 1], "BA")
    view.trace = pair_trace(("a", "b"))
    assert (view.segments, view.pair) == ([], "all")
    view.trace = pair_trace()
    assert view.segments == SEGMENTS
    decoder = ForwardTrace(target_tokens=TOKENS, decoder_attention=attention(1, 1, 8, 8, causal=True))
    assert explore(decoder).segments == []  # a decoder's </s> ends a text
    assert explore(decoder, segments=SEGMENTS, pair="BA").pair == "BA"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"segments": [0, 1]}, "does not fit the 8 tokens; give 0 for each token of sentence A"),
        ({"segments": [0, 1, 2, 0, 0, 0, 0, 0]}, "give 0 for each token of sentence A"),
        ({"segments": "AB"}, "give 0 for each token of sentence A"),
        ({"pair": "A→B"}, "choose one of"),
        ({"seconds_per_frame": 0}, "give the seconds of a source position, 0.02 for Whisper"),
        ({"seconds_per_frame": float("nan")}, "give the seconds of a source position"),
        ({"seconds_per_frame": "fast"}, "seconds_per_frame='fast'; give the seconds of a source position"),
    ],
)
def test_what_does_not_fit_is_said_in_a_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as told:
        explore(pair_trace(), **options)
    assert "\n" not in str(told.value)


def test_one_sentence_has_no_pair_to_choose() -> None:
    view = explore(make_trace())
    with pytest.raises(SelectionError, match="holds no pair of sentences; give segments="):
        view.pair = "AB"
    assert view.pair == "all"


def test_the_twin_names_source_positions_by_their_time() -> None:
    view = explore(make_trace(), kind="cross", seconds_per_frame=0.5)
    axes = view.figure().axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()][:3] == ["0.00 s", "0.50 s", "1.00 s"]
    assert "0.50 s" not in [label.get_text() for label in axes.get_yticklabels()]
    assert " s 0." in view.alt_text() or " s +" in view.alt_text()


def test_a_sound_traces_own_time_is_on_every_axis(tmp_path: Path) -> None:
    silent = make_trace()
    sound = ForwardTrace.load(replace(silent, seconds_per_frame=0.02).save(tmp_path / "sound.npz"))
    view = explore(sound, kind="cross")
    assert (view.seconds_per_frame, explore(sound, seconds_per_frame=0.5).seconds_per_frame) == (0.02, 0.5)
    for axes in (vt.plots.plot_head(sound, "cross", 0, 0), vt.plots.plot_aggregate(sound, "encoder")):
        assert [label.get_text() for label in axes.get_xticklabels()][:2] == ["0.00 s", "0.02 s"]
    assert "0.02 s" in [
        text.get_text() for text in vt.plots.plot_heads(sound, "cross").axes[0].get_xticklabels()
    ]
    view.trace = silent
    assert view.seconds_per_frame == 0.02  # as it was chosen
    for wrong in (0, float("inf"), "fast"):
        with pytest.raises(UserError, match=r"give the seconds of a source position, 0\.02 for Whisper"):
            replace(silent, seconds_per_frame=wrong)


def test_whispers_encoder_tells_the_time() -> None:
    sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2}
    more = {
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 8,
        "decoder_ffn_dim": 8,
        "max_source_positions": 6,
    }
    config = hf.WhisperConfig(vocab_size=8, num_mel_bins=4, **sizes, **more, pad_token_id=0, bos_token_id=1)
    model = hf.WhisperModel(config)
    sound = {"input_features": torch.randn(1, 4, 12), "decoder_input_ids": torch.tensor([[1, 2]])}
    trace = vt.capture(model, **sound, source_tokens=list("abcdef"), target_tokens=list("xy"))
    assert trace.seconds_per_frame == 0.02
    axes = vt.plots.plot_head(trace, "cross", 0, 0)
    assert [label.get_text() for label in axes.get_xticklabels()][-1] == "0.10 s"


def pair_tokenizer(*, types: bool):
    """A tokenizer of pairs without separators that `sentence_segments` knows; `types` tells them apart."""
    words = models.WordLevel({"[UNK]": 0, "it": 1, "rains": 2, "so": 3, "|": 4}, unk_token="[UNK]")
    made = Tokenizer(words)
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="$A |", pair="$A | $B:1 |:1" if types else "$A | $B |", special_tokens=[("|", 4)]
    )
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="[UNK]", model_input_names=["input_ids", "token_type_ids"]
    )


SIZES = {"vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.mark.parametrize("types", [True, False])
def test_a_captured_pair_tells_its_sentences(types: bool, tmp_path: Path) -> None:
    bert, tokenizer = hf.BertModel(hf.BertConfig(**SIZES, intermediate_size=8)), pair_tokenizer(types=types)
    trace = vt.capture(bert, "it rains", "so", tokenizer=tokenizer)
    assert trace.source_tokens == ("it", "rains", "|", "so", "|")
    assert trace.source_segments == (0, 0, 0, 1, 1)
    given = tokenizer("it rains", "so", return_tensors="pt")
    with torch.no_grad():
        bert.set_attn_implementation("eager")
        own = bert.eval()(**given, output_attentions=True).attentions[0][0]
    np.testing.assert_array_equal(trace.encoder_attention[0], own)
    view = explore(ForwardTrace.load(trace.save(tmp_path / "pair.npz")), pair="AB")
    assert view.segments == [0, 0, 0, 1, 1]
    assert vt.capture(bert, "it rains", tokenizer=tokenizer).source_segments is None
    ids, kinds, mask = (torch.tensor([each]) for each in ([5, 1, 2, 3], [0, 0, 1, 1], [0, 1, 1, 1]))
    padded = vt.capture(bert, input_ids=ids, token_type_ids=kinds, attention_mask=mask, tokens=list("abc"))
    assert padded.source_segments == (0, 1, 1)


def test_a_decoder_reads_pairs_too_and_two_texts_are_no_target() -> None:
    gpt = hf.GPT2Model(hf.GPT2Config(vocab_size=8, n_embd=8, n_layer=1, n_head=2))
    trace = vt.capture(gpt, "it rains", "so", tokenizer=pair_tokenizer(types=False))
    assert trace.target_segments == (0, 0, 0, 1, 1)
    assert explore(trace).segments == [0, 0, 0, 1, 1]
    t5 = hf.T5Model(hf.T5Config(vocab_size=8, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2))
    with pytest.raises(UserError, match="for a target, give its ids, decoder_input_ids="):
        vt.capture(t5, "it rains", "so", tokenizer=pair_tokenizer(types=True))
    with pytest.raises(UserError, match="only a tokenizer joins them to a pair"):
        vt.capture(HookedModel(word_piece(special=False)), "it rains", "so")
    with pytest.raises(UserError, match="give each of the 2 tokens 0 for sentence A or 1"):
        ForwardTrace(source_tokens=("a", "b"), source_segments=(0, 2))
