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
from tests.support.refusals import assert_refused
from viz_transformer.analysis import sentence_segments
from viz_transformer.analysis.combine import strongest
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import explore

TOKENS = ("[CLS]", "it", "rains", "[SEP]", "take", "an", "umbrella", "[SEP]")
SEGMENTS = [0, 0, 0, 0, 1, 1, 1, 1]


def pair_trace(tokens: tuple[str, ...] = TOKENS) -> ForwardTrace:
    weights = attention(2, 3, len(tokens), len(tokens))
    return ForwardTrace(source_tokens=tokens, encoder_attention=weights)


def ticks(axis: list[Any]) -> list[str]:
    return [label.get_text() for label in axis]


def test_a_pair_is_found_by_its_separators() -> None:
    cases = [
        (TOKENS, SEGMENTS),  # as BERT's token_type_ids
        (("<s>", "yes", "</s>", "</s>", "no", "</s>"), [0, 0, 0, 0, 1, 1]),  # RoBERTa
        (("yes", "<sep>", "no", "<sep>", "<cls>"), [0, 0, 1, 1, 1]),  # XLNet
        (("[CLS]", "yes", "[SEP]"), []),
        (("yes", "no"), []),
        (("[SEP]", "yes"), []),
        ((), []),
    ]
    assert [sentence_segments(tokens) for tokens, _ in cases] == [segments for _, segments in cases]


def test_the_figure_shows_the_sentences_that_are_chosen() -> None:
    trace = pair_trace()
    view = explore(trace, layer=1, head=2)
    part = {"A": slice(0, 4), "B": slice(4, 8)}
    for pair in ("AA", "AB", "BA", "BB"):
        view.pair = pair
        axes = view.figure().axes[0]
        shown = np.ma.filled(axes.images[0].get_array(), np.nan)
        rows, cols = part[pair[0]], part[pair[1]]
        np.testing.assert_allclose(shown, trace.encoder_attention[1, 2][rows, cols], atol=1e-7, err_msg=pair)
        assert ticks(axes.get_xticklabels()) == list(TOKENS[cols])


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


def test_segments_and_times_that_do_not_fit_are_refused() -> None:
    cases = [
        ({"segments": [0, 1]}, "does not fit the 8 tokens; give 0 for each token of sentence A"),
        ({"segments": [0, 1, 2, 0, 0, 0, 0, 0]}, "give 0 for each token of sentence A"),
        ({"segments": "AB"}, "give 0 for each token of sentence A"),
        ({"pair": "A→B"}, "choose one of"),
        ({"seconds_per_frame": 0}, "give the seconds of a source position, 0.02 for Whisper"),
        ({"seconds_per_frame": float("nan")}, "give the seconds of a source position"),
        ({"seconds_per_frame": "fast"}, "seconds_per_frame='fast'; give the seconds of a source position"),
    ]
    assert_refused((lambda given=given: explore(pair_trace(), **given), said) for given, said in cases)
    said = r"give the seconds of a source position, 0\.02 for Whisper"
    for wrong in (0, float("inf"), "fast"):
        with pytest.raises(UserError, match=said):
            replace(make_trace(), seconds_per_frame=wrong)


def test_source_positions_are_named_by_their_time(tmp_path: Path) -> None:
    silent = make_trace()
    given = explore(silent, kind="cross", seconds_per_frame=0.5)
    axes = given.figure().axes[0]
    assert ticks(axes.get_xticklabels())[:3] == ["0.00 s", "0.50 s", "1.00 s"]
    assert "0.50 s" not in ticks(axes.get_yticklabels())
    assert " s 0." in given.alt_text() or " s +" in given.alt_text()
    sound = ForwardTrace.load(replace(silent, seconds_per_frame=0.02).save(tmp_path / "sound.npz"))
    view = explore(sound, kind="cross")
    assert (view.seconds_per_frame, explore(sound, seconds_per_frame=0.5).seconds_per_frame) == (0.02, 0.5)
    for axes in (vt.plots.plot_head(sound, "cross", 0, 0), vt.plots.plot_aggregate(sound, "encoder")):
        assert ticks(axes.get_xticklabels())[:2] == ["0.00 s", "0.02 s"]
    assert "0.02 s" in ticks(vt.plots.plot_heads(sound, "cross").axes[0].get_xticklabels())
    view.trace = silent
    assert view.seconds_per_frame == 0.02  # as it was chosen


def test_whispers_encoder_tells_the_time() -> None:
    sizes = {"d_model": 8, "num_mel_bins": 4, "max_source_positions": 6, "vocab_size": 8}
    for part in ("encoder", "decoder"):
        sizes |= {f"{part}_layers": 1, f"{part}_attention_heads": 2, f"{part}_ffn_dim": 8}
    config = hf.WhisperConfig(**sizes, pad_token_id=0, bos_token_id=1)
    model = hf.WhisperModel(config)
    sound = {"input_features": torch.randn(1, 4, 12), "decoder_input_ids": torch.tensor([[1, 2]])}
    trace = vt.capture(model, **sound, source_tokens=list("abcdef"), target_tokens=list("xy"))
    assert trace.seconds_per_frame == 0.02
    assert ticks(vt.plots.plot_head(trace, "cross", 0, 0).get_xticklabels())[-1] == "0.10 s"


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
    pair, hooked = ("it rains", "so"), HookedModel(word_piece(special=False))
    tokenizer = pair_tokenizer(types=True)
    assert_refused(
        [
            (lambda: vt.capture(t5, *pair, tokenizer=tokenizer), "for a target, give its ids, decoder_inp"),
            (lambda: vt.capture(hooked, *pair), "only a tokenizer joins them to a pair"),
            (
                lambda: ForwardTrace(source_tokens=("a", "b"), source_segments=(0, 2)),
                "give each of the 2 tokens 0 for sentence A or 1",
            ),
        ]
    )
