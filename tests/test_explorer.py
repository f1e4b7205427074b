"""The explorer's Python side: what is selected, what a change keeps, what is refused; pairs and sound."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import viz_transformer as vt
from tests.support.hand_made_traces import SOURCE, TARGET, attention, make_trace, softmax, vision_trace
from tests.support.hooked_model import HookedModel
from tests.support.huggingface_models import hf, word_piece
from tests.support.javascript import answers_in_node
from tests.support.refusals import assert_refused
from tests.support.view_messages import messages
from viz_transformer.analysis import sentence_segments
from viz_transformer.analysis.combine import strongest
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import AttentionExplorer, explore, pack

NAMES = ("kind", "layer", "head", "query", "key")
# Two heads of three words: what each adds for positions, and what its scores of content are.
BIAS = np.array([[[[0, -1, -2], [-1, 0, -1], [-2, -1, 0]], [[0, 0, 3], [0, 0, 0], [1, 0, 0]]]], np.float32)
CONTENT = np.array([[[[1, 0, 0], [0, 2, 0], [0, 0, 0]], [[0, 1, 0], [1, 1, 0], [0, 0, 5]]]], np.float32)


def selection(view: AttentionExplorer) -> tuple[Any, ...]:
    return tuple(getattr(view, name) for name in NAMES)


def encoder_trace(n_layers: int, n_heads: int, n: int = 2, **options: Any) -> ForwardTrace:
    """A trace of an encoder alone, whose weights are all alike."""
    weights = np.full((n_layers, n_heads, n, n), 1 / n, dtype=np.float32)
    return ForwardTrace(source_tokens=[f"w{i}" for i in range(n)], encoder_attention=weights, **options)


# --- the selection ------------------------------------------------------------------------------


def test_it_opens_on_cross_attention_or_on_the_first_kind_of_the_trace() -> None:
    assert selection(explore(make_trace())) == ("cross", 0, 0, None, None)
    assert selection(explore(encoder_trace(1, 2))) == ("encoder", 0, 0, None, None)
    chosen = explore(make_trace(), kind="decoder", layer=1, head=3, query=4, key=0)
    assert selection(chosen) == ("decoder", 1, 3, 4, 0)
    assert repr(chosen) == "AttentionExplorer(kind='decoder', layer=1, head=3, query=4, key=0)"


def test_numbers_of_numpy_become_those_of_python() -> None:
    view = explore(make_trace(), selected=np.array([[0, 1], [1, 3], [0, 1]]), aggregate="mean")
    assert json.dumps(view.get_state(["selected"])) == '{"selected": [[0, 1], [1, 3]]}'  # each pair once
    view.head, view.threshold = np.argmax([0.1, 0.2, 0.9]), np.float32(0.25)
    assert (view.head, type(view.head), view.threshold, type(view.threshold)) == (2, int, 0.25, float)


def test_a_change_from_the_page_arrives_as_one_change() -> None:
    view = explore(make_trace(), query=3)
    seen: list[tuple[Any, ...]] = []
    view.observe(lambda _: seen.append(selection(view)), names=["kind", "layer", "head"])
    view.set_state({"kind": "encoder", "layer": 1, "head": 2, "query": None, "key": 3})
    assert set(seen) == {("encoder", 1, 2, None, 3)}, "no observer sees half a change"


def test_another_kind_keeps_the_words_and_heads_that_it_shares() -> None:
    view = explore(make_trace(), kind="decoder", layer=1, head=3, query=2, key=1)
    view.kind = "cross"  # the same queries, other keys
    assert selection(view) == ("cross", 1, 3, 2, None)
    view.key = 4
    view.kind = "encoder"  # the same keys, other queries
    assert selection(view) == ("encoder", 1, 3, None, 4)
    uneven = ForwardTrace(
        source_tokens=SOURCE,
        target_tokens=TARGET,
        encoder_attention=attention(1, 2, 5, 5),
        cross_attention=attention(3, 4, 5, 5),
    )
    view = explore(uneven, layer=2, head=3)
    view.kind = "encoder"
    assert selection(view) == ("encoder", 0, 1, None, None)


def test_a_picture_that_a_cell_sets_is_what_is_shown() -> None:
    view = explore(make_trace())
    assert (view.linked, view.picture) == (True, "matrix")
    view.picture = "matrix"  # the same name again
    assert not view.linked
    view.linked, view.wall = True, True
    view.picture = "table"
    assert (view.linked, view.wall) == (False, False)
    view.linked = True
    with pytest.raises(UserError, match="picture"):
        view.picture = "map"
    assert (view.linked, view.picture) == (True, "table")  # a wrong name changes nothing
    assert explore(make_trace(), linked=True, picture="lines").linked
    view.set_state({"linked": True, "picture": "lines"})  # as a page sets them, both at once
    assert (view.linked, view.picture) == (True, "lines")


def test_a_new_trace_arrives_in_one_message_and_keeps_what_fits() -> None:
    view = explore(make_trace(), layer=1, head=3, query=1, key=4)
    view.linked_heads = {"encoder": (1, 3)}
    shorter = make_trace(("hi", "<eos>"), ("<sos>", "hola"), ("hola", "<eos>"), n_heads=2)
    with messages(view) as sent:
        view.trace = shorter
    assert selection(view) == ("cross", 1, 1, 1, None)
    assert sent == [{"data", "head", "key", "linked_heads"}]
    assert view.linked_heads == {"encoder": [1, 1]}
    assert view.data == pack(shorter, version=1)
    view.trace = encoder_trace(1, 1, 1)
    assert selection(view) == ("encoder", 0, 0, None, None)


def test_a_value_that_is_not_a_trace_is_refused_and_changes_nothing() -> None:
    view = explore(make_trace(), query=1)
    data, before = view.data, selection(view)
    wrong = (None, "text", ForwardTrace(source_tokens=("a",)))
    said = r"ForwardTrace|holds no attention"
    assert_refused((lambda given=given: setattr(view, "trace", given), said) for given in wrong)
    assert_refused((lambda given=given: explore(given), said) for given in wrong)
    assert_refused(
        [
            (lambda: explore(make_trace(), kind="self"), "kind='self', but this trace holds"),
            (lambda: explore(make_trace(), layer=2), "layer=2, but the cross attention"),
            (lambda: explore(make_trace(), aggregate="sum"), "aggregate='sum'; choose one of"),
        ]
    )
    assert (view.data, selection(view)) == (data, before)


def test_rollout_to_the_output_needs_every_kind_of_attention() -> None:
    trace = make_trace()
    part = replace(trace, decoder_attention=None)
    view = explore(part, kind="encoder", aggregate="rollout")
    with pytest.raises(UserError, match=r"lacks decoder; choose 'head', 'mean' or 'max'"):
        explore(part, aggregate="rollout")
    view.kind = "cross"
    assert view.aggregate == "head"
    assert explore(trace, aggregate="rollout").aggregate == "rollout"


def test_a_difference_is_of_equal_shapes_and_can_be_taken_back() -> None:
    trace, other = make_trace(), make_trace(source=("the", "red", "cat", "sleeps", "<eos>"))
    view = explore(trace, compare=other)
    data = view.data
    assert "difference" in view.about
    for wrong in (make_trace(target=(*TARGET, "bien"), output=None), "text"):
        with pytest.raises(UserError, match=r"compare texts of equally many tokens|shows a ForwardTrace"):
            view.compare = wrong
        assert (view.data, view.compare) == (data, other)
    with messages(view) as sent:
        view.compare = None
    assert sent == [{"data", "about"}]
    assert view.data == pack(trace, version=1)
    assert "difference" not in view.about


# --- the wall of heads ---------------------------------------------------------------------------


def test_the_wall_opens_for_a_model_that_a_strip_is_too_small_for() -> None:
    for n_layers, n_heads, opens in ((6, 16, False), (7, 4, True), (2, 17, True)):
        trace = encoder_trace(n_layers, n_heads)
        assert explore(trace).wall is opens, (n_layers, n_heads)
        assert explore(trace, wall=not opens).wall is not opens
        for given in ({"layer": 1}, {"query": 0}):  # who names a head sees that head
            assert explore(trace, **given).wall is False


def test_scores_are_sent_as_bytes_for_each_kind_and_can_be_sorted_by() -> None:
    scores = np.arange(6.0).reshape(2, 3)
    scores[0, 0] = np.nan
    view = explore(encoder_trace(2, 3), scores={"mine": scores.tolist()}, order="mine")
    sent = np.frombuffer(view.scores["mine"]["encoder"], "<f4").reshape(2, 3)
    np.testing.assert_array_equal(sent, scores.astype(np.float32))
    trace = make_trace()
    ones = {kind: np.ones(trace.attention(kind).shape[:2]) for kind in trace.kinds}
    each = explore(trace, scores={"mine": ones}).scores["mine"]
    assert {kind: len(given) for kind, given in each.items()} == dict.fromkeys(trace.kinds, 4 * 2 * 4)
    assert list(explore(trace, kind="encoder", scores={"a": np.ones((2, 4))}).scores["a"]) == ["encoder"]


def test_scores_pictures_segments_and_times_that_do_not_fit_are_refused() -> None:
    wanted = {
        "takes a dict of arrays, not list": [1, 2],
        "choose a name that is text": {"": np.ones((2, 3))},
        "choose a name that is text and none of": {"entropy": np.ones((2, 3))},
        r"has shape \[3, 2\], but the encoder attention of this trace has \[2, 3\]": {"a": np.ones((3, 2))},
        "is str, which is no array of numbers": {"a": "high"},
        "names the kind 'cross', but this trace holds": {"a": {"cross": np.ones((2, 3))}},
        "holds an infinity; give NaN": {"a": np.full((2, 3), np.inf)},
    }
    time, sentence = "give the seconds of a source position", "give 0 for each token of sentence A"
    pairs = [
        ({"segments": [0, 1]}, f"does not fit the 8 tokens; {sentence}"),
        ({"segments": [0, 1, 2, 0, 0, 0, 0, 0]}, sentence),
        ({"segments": "AB"}, sentence),
        ({"pair": "A→B"}, "choose one of"),
        ({"seconds_per_frame": 0}, f"{time}, 0.02 for Whisper"),
        ({"seconds_per_frame": float("nan")}, time),
        ({"seconds_per_frame": "fast"}, f"seconds_per_frame='fast'; {time}"),
    ]
    pictures = [
        ({"grid": (14, 14)}, r"grid=\(14, 14\) has 196 patches for 13 tokens"),
        ({"grid": (2, 3)}, r"6 patches, .* open where among the 13 tokens .* grid=\(2, 3, start\)"),
        ({"grid": (3, 4, 2)}, r"grid=\(3, 4, 2\) has 12 patches, the first at 2, for 13 tokens"),
        ({"grid": (3, 4, -1)}, "give the rows and columns of patches"),
        ({"grid": 14}, "give the rows and columns of patches"),
        ({"grid": (0, 4)}, "give the rows and columns of patches"),
        ({"image": np.ones((3, 3, 3))}, r"give grid=\(rows, columns\) too"),
        ({"grid": (3, 4), "image": "cat.png"}, "is str of shape .* which is no picture"),
        ({"grid": (3, 4), "image": np.ones((5, 5, 4))}, "which is no picture"),
        (
            {"grid": (3, 4), "image": np.broadcast_to(np.uint8(1), (10**5, 10**5, 3))},
            "number of pixels of image",
        ),
        ({"grid": (3, 4), "image": np.full((5, 5, 3), 1.02)}, r"a little more than 1; .*image.clip\(0, 1\)"),
        ({"grid": (3, 4), "image": np.full((5, 5, 3), -1.5)}, "before it is normalised for the model"),
        ({"grid": (3, 4), "image": np.full((5, 5, 3), np.nan)}, "from 0 to 255 or from 0 to 1"),
    ]
    tables = [
        (encoder_trace(2, 3), [({"scores": given}, said) for said, given in wanted.items()]),
        (pair_trace(), pairs),
        (vision_trace(), pictures),
    ]
    assert_refused((partial(explore, trace, **given), said) for trace, rows in tables for given, said in rows)
    times = (0, float("inf"), "fast")
    assert_refused((partial(replace, make_trace(), seconds_per_frame=each), time) for each in times)


def test_another_trace_keeps_the_scores_and_filters_that_fit_it() -> None:
    view = explore(encoder_trace(8, 3), scores={"mine": np.ones((8, 3))}, order="mine")
    view.layer_filter, view.least_score = [2, 7], 2.5
    view.trace = encoder_trace(8, 3)
    assert (view.order, view.layer_filter, list(view.scores)) == ("mine", [2, 7], ["mine"])
    view.trace = encoder_trace(4, 3)
    assert (view.order, view.layer_filter, dict(view.scores)) == ("layer", [], {})


def test_the_page_gets_the_model_s_numbers_of_layers_and_heads() -> None:
    numbers, kept = {"layers": [4, 9], "heads": [0, 5, 7]}, {"encoder_layers": (4, 9), "heads": (0, 5, 7)}
    small, large = (explore(encoder_trace(2, 3, n_tokens, **kept)).data for n_tokens in (2, 300))
    assert small["numbers"]["encoder"] == large["kinds"][0]["numbers"] == numbers
    whole = [explore(encoder_trace(2, 3, n_tokens)).data for n_tokens in (2, 300)]
    assert (whole[0].get("numbers"), whole[1]["kinds"][0]["numbers"]) == (None, None)


# --- what heads attend by ------------------------------------------------------------------------


def biased_trace(words: str = "abc", scores: np.ndarray = CONTENT + BIAS) -> ForwardTrace:
    return ForwardTrace(
        source_tokens=tuple(words), encoder_attention=softmax(scores), encoder_position_bias=BIAS
    )


def test_content_positions_or_both_are_sent_and_drawn() -> None:
    given = biased_trace()
    view = explore(given, head=1)
    assert (view.attends_by, view.biased, view.data.get("attendsBy")) == ("both", ["encoder"], None)
    for by, scores in (("content", CONTENT), ("positions", BIAS), ("both", CONTENT + BIAS)):
        before = view.data["version"]
        view.set_state({"attends_by": by})  # as the page's list does
        assert view.data["version"] == before + 1
        sent = view.data["traces"][0]["attention"]["encoder"]
        shown = np.frombuffer(sent["weights"], "<f4").reshape(sent["shape"])
        np.testing.assert_allclose(shown, softmax(scores), atol=1e-6)
        drawn = view.figure().axes[0].images[0].get_array()
        np.testing.assert_allclose(drawn, softmax(scores)[0, 1], atol=1e-6)
        assert ("alone" in view.alt_text()) == (by != "both")
    view.set_state({"biased": ["cross"]})
    assert (view.biased, view.trace, view.head) == (["encoder"], given, 1)

    weights = np.tril(softmax(CONTENT + BIAS))  # positions alone leave masked keys at 0
    weights /= weights.sum(-1, keepdims=True)
    masked = ForwardTrace(target_tokens=tuple("abc"), decoder_attention=weights, decoder_position_bias=BIAS)
    alone = vt.analysis.position_bias_alone(masked).decoder_attention
    np.testing.assert_allclose(alone[0, 0, 1], [1 / (1 + np.e), np.e / (1 + np.e), 0], atol=1e-6)
    assert not np.triu(alone, k=1).any()


def test_the_part_stays_with_another_trace_that_has_it_and_with_none_other() -> None:
    view = explore(biased_trace(), attends_by="content", compare=biased_trace("abd", CONTENT * 2 + BIAS))
    assert view.data["attendsBy"] == {"encoder": "content"}
    expected = softmax(CONTENT) - softmax(CONTENT * 2)
    np.testing.assert_allclose(view._trace_view.head("encoder", 0, 1), expected[0, 1], atol=1e-6)
    view.compare = ForwardTrace(source_tokens=tuple("abc"), encoder_attention=softmax(CONTENT))
    assert (view.attends_by, view.biased) == ("both", [])
    assert_refused(
        [
            (lambda: setattr(view, "attends_by", "positions"), "capture a model that adds it, such as T5"),
            (lambda: explore(biased_trace(), attends_by="words"), r"choose one of \['both', 'content', 'pos"),
        ]
    )


# --- pictures ------------------------------------------------------------------------------------


def test_an_image_is_sent_as_bytes_of_a_small_picture() -> None:
    image = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    for given in (image, image.tolist(), np.moveaxis(image, -1, 0), image / 255):
        view = explore(vision_trace(), grid=(3, 4), image=given)
        assert view.grid == [3, 4, 1, 13, 0]
        assert view.image == {**view.image, "width": 40, "height": 30, "pixels": image.tobytes()}
    large = explore(vision_trace(), grid=[3, 4], image=np.ones((600, 1000))).image  # and grey
    assert large == {**large, "width": 250, "height": 150, "pixels": b"\xff" * (250 * 150 * 3)}


# --- pairs of sentences, and sound on a time axis -------------------------------------------------

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

    sizes = {"d_model": 8, "num_mel_bins": 4, "max_source_positions": 6, "vocab_size": 8}
    for part in ("encoder", "decoder"):
        sizes |= {f"{part}_layers": 1, f"{part}_attention_heads": 2, f"{part}_ffn_dim": 8}
    whisper = hf.WhisperModel(hf.WhisperConfig(**sizes, pad_token_id=0, bos_token_id=1))
    heard = {"input_features": torch.randn(1, 4, 12), "decoder_input_ids": torch.tensor([[1, 2]])}
    trace = vt.capture(whisper, **heard, source_tokens=list("abcdef"), target_tokens=list("xy"))
    assert trace.seconds_per_frame == 0.02


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


def test_a_captured_pair_has_its_two_sentences(tmp_path: Path) -> None:
    bert = hf.BertModel(hf.BertConfig(**SIZES, intermediate_size=8))
    bert.set_attn_implementation("eager")
    for types in (True, False):
        tokenizer = pair_tokenizer(types=types)
        trace = vt.capture(bert, "it rains", "so", tokenizer=tokenizer)
        assert trace.source_tokens == ("it", "rains", "|", "so", "|")
        assert trace.source_segments == (0, 0, 0, 1, 1), types
        given = tokenizer("it rains", "so", return_tensors="pt")
        with torch.no_grad():
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
    read = partial(vt.capture, t5, *pair, tokenizer=pair_tokenizer(types=True))
    third_sentence = partial(ForwardTrace, source_tokens=("a", "b"), source_segments=(0, 2))
    assert_refused(
        [
            (read, "for a target, give its ids, decoder_inp"),
            (partial(vt.capture, hooked, *pair), "only a tokenizer joins them to a pair"),
            (third_sentence, "give each of the 2 tokens 0 for sentence A or 1"),
        ]
    )


# --- the page's script ---------------------------------------------------------------------------


def test_the_page_decodes_every_half_as_numpy_does() -> None:
    table = "() => [...new Uint32Array(halfTable().slice().buffer)]"  # the bits: NaN and -0 stay
    bits = answers_in_node({"halfTable": "widgets/base/bytes.ts"}, table, None)
    halves = np.array(bits, np.uint32).view(np.float32)
    expected = np.arange(65536, dtype=np.uint16).view("<f2").astype(np.float32)
    np.testing.assert_array_equal(halves, expected)
    zero = halves == 0
    np.testing.assert_array_equal(np.signbit(halves[zero]), np.signbit(expected[zero]))
