"""Which tokens are pieces of one word: as the tokenizer, the marks in its tokens, or the caller says."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import transformers as hf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import viz_transformer as vt
from tests.support.hand_made_traces import attention, make_trace
from tests.support.huggingface_models import tiny
from tests.support.refusals import assert_refused
from viz_transformer.analysis.combine import masked_cells
from viz_transformer.analysis.words import special_tokens
from viz_transformer.capturing.arguments import count_words, labels_of_ids
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace


def unsplit_tokenizer(*, splits: bool = False):
    """A tokenizer like Llama 2's: a space becomes ▁, and no text is split before tokens are sought."""
    pieces = ("▁the", "▁black", "▁cat", "▁New", "▁York", "▁un", "able", "s")
    merges = []
    letters = dict.fromkeys("".join(pieces))
    for piece in pieces:
        grown = piece[0]
        for letter in piece[1:]:
            merges.append((grown, letter))
            grown += letter
    names = ["<unk>", "<s>", *letters, *(one + other for one, other in merges)]
    vocabulary = {name: number for number, name in enumerate(dict.fromkeys(names))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=list(dict.fromkeys(merges)), unk_token="<unk>"))
    if splits:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    else:
        spaces = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        tokenizer.normalizer = normalizers.Sequence(spaces)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>", pad_token="<unk>"
    )


def test_the_words_of_a_text_are_those_between_its_spaces() -> None:
    model, text = tiny("GPT2LMHeadModel"), "the black cats unable"
    right = (None, 0, 1, 2, 2, 3, 3)
    for splits in (False, True):
        tokenizer = unsplit_tokenizer(splits=splits)
        by_text = vt.capture(model, text, tokenizer=tokenizer)
        assert by_text.target_tokens == ("<s>", "▁the", "▁black", "▁cat", "s", "▁un", "able"), splits
        by_ids = vt.capture(model, input_ids=tokenizer(text)["input_ids"], tokenizer=tokenizer)
        assert by_text.target_words == by_ids.target_words == right, splits


def test_words_that_were_given_one_by_one_stay_words() -> None:
    model, tokenizer = tiny("GPT2LMHeadModel"), unsplit_tokenizer()
    for given, right in (
        (["New York", "cats"], (None, 0, 0, 1, 1)),
        (["cats", "New York"], (None, 0, 0, 1, 1)),
        (["unable", "the"], (None, 0, 0, 1)),
    ):
        encoding = tokenizer(
            given, is_split_into_words=True, return_tensors="pt", padding="max_length", max_length=7
        )
        trace = vt.capture(model, **encoding, tokenizer=tokenizer, words=encoding.word_ids())
        assert trace.target_words == right, given
        ax = vt.plots.plot_head(trace, "decoder", 0, 0, merge_words=True)
        assert [text.get_text() for text in ax.get_xticklabels()] == ["<s>", *given]


def test_words_are_counted_by_the_marks_of_the_tokens() -> None:
    cases = {
        "<s> ▁the ▁c at s </s>": (None, 0, 1, 1, 1, None),  # SentencePiece
        "The Ġc at Ġs le eps": (0, 1, 1, 2, 2, 2),  # byte-level
        "<s> the sl ##eep ##s </s> a": (None, 0, 1, 1, 1, None, 2),  # WordPiece
        "The Ġcat </s> The Ġdog": (0, 1, None, 2, 3),
        "sl@@ ee@@ ps cats </s>": (0, 0, 0, 1, None),  # subword-nmt
        "sleep s</w> cats</w> </s>": (0, 0, 1, None),  # OpenAI's first GPT, CLIP
        "▁the▁bla ck▁ c at ▁ s at": (0, 0, 1, 1, 2, 2, 2),  # no text was split before it was learned
        "the cat sleeps": None,
    }
    special = {"<s>", "</s>"}
    assert {tokens: count_words(tokens.split(), special) for tokens in cases} == cases
    assert count_words([*"a cat", "</s>"], special) == (0, 1, 1, 1, 1, None)  # characters


def test_merged_pieces_are_summed_as_keys_and_averaged_as_queries_and_the_figure_says_so() -> None:
    weights = np.array([[[[1, 0, 0], [0.5, 0.25, 0.25], [0, 0.5, 0.5]]]])  # [layer, head, query, key]
    trace = vt.capture(weights, source_tokens=["the", "un", "able"], words=[0, 1, 1])
    assert trace.source_words == (0, 1, 1)
    array = vt.capture(weights, source_tokens=["the", "un", "able"], words=np.array([0, 1, 1]))
    assert array.source_words == (0, 1, 1)
    for words in (len, [0, 1], [0, -1, 1], [0, "un", 1], [0, 1.0, True]):
        with pytest.raises(UserError, match=r"words=.* is not 3 numbers for the 3 tokens"):
            vt.capture(weights, source_tokens=["the", "un", "able"], words=words)
    ax = vt.plots.plot_head(trace, "encoder", 0, 0, merge_words=True)
    np.testing.assert_allclose(ax.images[0].get_array(), [[1, 0], [0.25, 0.75]])
    assert "mean of pieces" in ax.get_ylabel()
    assert "sum of pieces" in ax.get_xlabel()
    assert "pieces" not in vt.plots.plot_head(trace, "encoder", 0, 0).get_xlabel()
    with pytest.raises(UserError, match=r"words=\(0, 1\) is not 3 numbers for the 3 tokens"):
        vt.capture(weights, source_tokens=["the", "un", "able"], words=[0, 1])
    with pytest.raises(UserError, match="is not 3 numbers for the 3 tokens"):
        vt.capture(weights, source_tokens=["the", "un", "able"], words=["the", "unable", "unable"])


def test_a_label_has_the_characters_of_the_text_where_its_token_stands() -> None:
    text = "Más café, žluťoučký kůň; 你好世界 naïve 🙂 ok"
    whitespace, metaspace = pre_tokenizers.Whitespace(), pre_tokenizers.Metaspace()
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False)
    unknown = {"special_tokens": ["[UNK]"], "show_progress": False}
    for model, splits, joins, trainer in (
        (
            models.BPE(),
            to_bytes,
            decoders.ByteLevel(),
            trainers.BpeTrainer(vocab_size=270, initial_alphabet=to_bytes.alphabet(), **unknown),
        ),
        (
            models.WordPiece(unk_token="[UNK]"),
            whitespace,
            decoders.WordPiece(),
            trainers.WordPieceTrainer(vocab_size=60, **unknown),
        ),
        (
            models.Unigram(),
            metaspace,
            decoders.Metaspace(),
            trainers.UnigramTrainer(vocab_size=40, unk_token="[UNK]", **unknown),
        ),
        (
            models.BPE(end_of_word_suffix="</w>"),
            whitespace,
            decoders.BPEDecoder(),
            trainers.BpeTrainer(vocab_size=60, end_of_word_suffix="</w>", **unknown),
        ),
    ):
        tokenizer = Tokenizer(model)
        tokenizer.pre_tokenizer, tokenizer.decoder = splits, joins
        tokenizer.train_from_iterator([text], trainer)
        fast = hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]")
        encoding = fast(text)
        labels = labels_of_ids(fast, encoding["input_ids"], encoding).tokens
        assert len(labels) > 9, labels
        for label, (start, end) in zip(labels, encoding[0].offsets, strict=True):
            shown = re.sub("[▁Ġ]|##|</w>", "", label)
            # The bytes of a part of a character are named.
            assert "<0x" in shown or shown in ("", text[start:end].strip()), labels


def test_the_pieces_of_a_word_are_neighbours() -> None:
    weights, tokens = np.full((1, 1, 5, 5), 0.2), ["the", "ca", "##t", "ru", "##ns"]
    names = {
        (0, 1, 1, 2, 2): ["the", "cat", "runs"],
        (4, 1, 1, 0, 0): ["the", "cat", "runs"],
        (0, 1, None, 0, 0): ["the", "ca", "##t", "runs"],  # as of a pair of texts
        (None, 0, 0, None, None): ["the", "cat", "ru", "##ns"],
    }
    for words, right in names.items():
        trace = vt.capture(weights, tokens=tokens, words=words)
        ax = vt.plots.plot_head(trace, "encoder", 0, 0, merge_words=True)
        assert [text.get_text() for text in ax.get_xticklabels()] == right, words
    trace = vt.capture(weights, tokens=tokens)
    goes_back = {(0, 1, 0, 1, 1): "word 0 at position 2", (0, 1, 1, 2, 1): "word 1 at position 4"}
    goes_back |= {(0, None, 1, 2, 1): "word 1 at position 4", (3, 3, 0, 0, 3): "word 3 at position 4"}
    assert_refused(
        (make, f"goes back to {said}, and the pieces of a word are neighbours")
        for words, said in goes_back.items()
        for make in (
            partial(vt.capture, weights, tokens=tokens, words=words),
            partial(replace, trace, source_words=words),
        )
    )


def test_two_texts_share_no_word() -> None:
    """GPT-2's tokenizer puts nothing between the texts of a pair, and counts the words of each from 0."""
    tokenizer = unsplit_tokenizer(splits=True)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B:1")
    pairs = {
        ("the cats", "unable"): (0, 1, 1, 2, 2),
        ("cats", "cats"): (0, 0, 1, 1),
        ("the", "the black"): (0, 1, 2),
        ("the black cats", "the"): (0, 1, 2, 2, 3),
    }
    for pair, right in pairs.items():
        assert vt.capture(tiny("GPT2LMHeadModel"), *pair, tokenizer=tokenizer).target_words == right, pair


def test_merging_is_refused_where_no_words_are_known() -> None:
    weights = np.full((2, 2, 3, 3), 1 / 3)
    said = r"merge_words=True, but .* vt.capture\(.*words=\[0, 1, 1, 2\]"
    tokens = {"source_tokens": ["the", "un", "able"], "target_tokens": ["a", "b", "c"]}
    unknown = vt.capture(weights, tokens=tokens["source_tokens"])
    view = vt.explore(unknown)
    merged = {"merge_words": True}
    assert_refused(
        (make, said)
        for make in (
            partial(vt.plots.plot_head, unknown, "encoder", 0, 0, **merged),
            partial(vt.plots.plot_aggregate, unknown, "encoder", **merged),
            partial(vt.plots.plot_difference, unknown, unknown, "encoder", 0, 0, **merged),
            partial(vt.explore, unknown, **merged),
            partial(setattr, view, "merge_words", True),
        )
    )
    known = replace(unknown, source_words=(0, 1, 1))
    view = vt.explore(known, **merged)
    view.trace = unknown
    assert not view.merge_words
    # Of an encoder–decoder the words of one side are enough for cross-attention.
    weights_of = {"decoder_attention": weights, "cross_attention": weights}
    both = vt.ForwardTrace(**tokens, **weights_of, source_words=[0, 1, 1])
    assert len(vt.plots.plot_head(both, "cross", 0, 0, **merged).get_xticklabels()) == 2
    assert_refused([(partial(vt.plots.plot_head, both, "decoder", 0, 0, **merged), "target_words=")])
    view = vt.explore(both, **merged)
    view.kind = "decoder"
    assert view.merge_words
    assert len(view.figure().axes[0].get_xticklabels()) == 3


def test_the_future_of_a_decoder_is_masked_and_nothing_else() -> None:
    trace = make_trace()
    np.testing.assert_array_equal(masked_cells(trace, "decoder"), np.triu(np.ones((5, 5), dtype=bool), 1))
    assert not masked_cells(trace, "encoder").any()


def test_a_zero_in_one_head_alone_is_no_mask() -> None:
    weights = attention(2, 3, 4, 4)
    weights[1, 2, 0, 1] = 0
    weights[..., 2, :] = 0  # a query that may look at nothing
    weights[..., :, 3] = 0  # padding
    trace = ForwardTrace(source_tokens=("a", "b", "c", "<pad>"), encoder_attention=weights)
    expected = np.zeros((4, 4), dtype=bool)
    expected[2], expected[:, 3] = True, True
    np.testing.assert_array_equal(masked_cells(trace, "encoder"), expected)


def test_marks_are_known_by_their_spelling_and_words_are_not_taken_for_them() -> None:
    marks = [
        "<sos>",
        "<eos>",
        "<pad>",
        "<s>",
        "</s>",
        "[CLS]",
        "[SEP]",
        "[PAD]",
        "<bos>",
        "<|endoftext|>",
        "<|im_start|>",
    ]
    assert special_tokens(marks) == [True] * len(marks)
    words = ["<b>", "</p>", "[MASK]", "<unk>", "cat", "", "<", "[1]", "<|", "sos", "<|a|b|>"]
    assert special_tokens(words) == [False] * len(words)
