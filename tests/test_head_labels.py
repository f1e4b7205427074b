"""Names for heads: planted heads are found, and everything doubtful stays unnamed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.planted_heads import cross_heads, decoder_heads, encoder_heads
from tests.support.refusals import assert_refused
from viz_transformer.analysis import HeadLabel, label_heads, label_heads_together, pattern_scores
from viz_transformer.analysis.head_patterns import head_patterns, separator_tokens
from viz_transformer.trace import ForwardTrace

N = 12


def looking_at(keys: np.ndarray, n_keys: int, share: float = 0.9) -> np.ndarray:
    """Weights ``[query, key]``: `share` on each query's key, the rest evenly on all keys."""
    return share * np.eye(n_keys)[keys] + (1 - share) / n_keys


def causal(weights: np.ndarray) -> np.ndarray:
    masked = np.tril(weights)
    return masked / masked.sum(axis=-1, keepdims=True)


def trace_of(kind: str, *heads: np.ndarray) -> ForwardTrace:
    """A trace of one layer with the given heads ``[query, key]``."""
    weights = np.stack(heads)[None]
    n_queries, n_keys = weights.shape[-2:]
    return ForwardTrace(
        source_tokens=("s",) * n_keys if kind != "decoder" else (),
        target_tokens=("t",) * n_queries if kind != "encoder" else (),
        **{f"{kind}_attention": weights},
    )


def names(kind: str, *heads: np.ndarray) -> list[str | None]:
    (layer,) = label_heads(trace_of(kind, *heads), kind)
    return [label and label.name for label in layer]


def planted(n: int = N, share: float = 0.9) -> dict[str, np.ndarray]:
    """One self-attention head per name, ``[query, key]``."""
    here = np.arange(n)
    return {
        "previous token": looking_at(np.maximum(here - 1, 0), n, share),
        "next token": looking_at(np.minimum(here + 1, n - 1), n, share),
        "same token": looking_at(here, n, share),
        "first-token sink": looking_at(np.zeros(n, dtype=int), n, share),
        "last-token sink": looking_at(np.full(n, n - 1), n, share),
        "broad": np.full((n, n), 1 / n),
    }


#: The mask of a decoder hides their keys.
HIDDEN = ("next token", "last-token sink")


@given(n=st.integers(10, 24), share=st.floats(0.75, 1.0))
def test_each_planted_head_is_found_in_self_attention(n: int, share: float) -> None:
    heads = planted(n, share)
    assert names("encoder", *heads.values()) == list(heads)
    heads = {name: causal(head) for name, head in heads.items() if name not in HIDDEN}
    assert names("decoder", *heads.values()) == list(heads)


@given(n_target=st.integers(10, 20), n_source=st.integers(10, 20))
def test_each_planted_head_is_found_in_cross_attention(n_target: int, n_source: int) -> None:
    line = np.round(np.linspace(0, n_source - 1, n_target)).astype(int)
    heads = {
        "diagonal alignment": looking_at(line, n_source),
        "first-token sink": looking_at(np.zeros(n_target, dtype=int), n_source),
        "last-token sink": looking_at(np.full(n_target, n_source - 1), n_source),
        "broad": np.full((n_target, n_source), 1 / n_source),
    }
    assert names("cross", *heads.values()) == list(heads)


def test_the_diagonal_bears_a_word_order_that_differs_by_one() -> None:
    """the black cat sleeps and … -> el gato negro duerme y …"""
    order = np.array([0, 2, 1, 3, 4, 5, 7, 6, 8, 9])
    assert names("cross", looking_at(order, 10)) == ["diagonal alignment"]
    assert names("cross", looking_at(order[::-1], 10)) == [None]


def test_the_evidence_is_the_mean_weight_and_says_what_chance_would_give() -> None:
    head = looking_at(np.maximum(np.arange(N) - 1, 0), N, share=0.88)
    ((label,),) = label_heads(trace_of("encoder", head), "encoder")
    assert isinstance(label, HeadLabel)
    assert label.evidence == pytest.approx(0.88 + 0.12 / N, abs=1e-6)
    assert label.uniform == pytest.approx(1 / N)
    assert label.n_rows == N - 2
    assert label.sentence == (
        "puts 0.89 of its weight on the token before, mean of 10 rows; even attention would put 0.08 there"
    )
    # Chance counts only the keys that a decoder reaches.
    ((label,),) = label_heads(trace_of("decoder", causal(head)), "decoder")
    assert label.uniform == pytest.approx(np.mean(1 / np.arange(3, N + 1)))


@pytest.mark.parametrize("n", [6, 8, 12, 20])
def test_random_heads_get_almost_no_labels(n: int) -> None:
    """Of 400 heads with random scores, and of 400 that look at one random key a row, 1% at most."""
    rng = np.random.default_rng(n)
    soft = np.exp(rng.normal(size=(400, n, n)))
    soft /= soft.sum(axis=-1, keepdims=True)
    hard = np.eye(n)[rng.integers(0, n, size=(400, n))]
    for heads in (soft, hard):
        for kind in ("encoder", "cross"):
            assert sum(name is not None for name in names(kind, *heads)) <= 4
        masked = [causal(head + 1e-9) for head in heads]
        assert sum(name is not None for name in names("decoder", *masked)) <= 8


def test_mixtures_stay_unnamed() -> None:
    """Also in a sentence so long that one half of the weight cannot be chance."""
    heads = planted(24, share=1.0)
    del heads["broad"]
    seen = [causal(head) for name, head in heads.items() if name not in HIDDEN]
    for kind, whole, n_pairs in (("encoder", heads.values(), 10), ("decoder", seen, 3)):
        mixed = [(one + other) / 2 for one, other in itertools.combinations(whole, 2)]
        assert names(kind, *mixed) == [None] * n_pairs, kind


def test_short_sentences_stay_unnamed_alone_and_earn_a_name_together() -> None:
    for n in range(1, 5):
        heads = [*planted(n, share=1.0).values()]
        assert names("encoder", *heads) == [None] * len(heads)
        assert names("decoder", *map(causal, (heads[0], heads[2], heads[3]))) == [None] * 3
        assert names("cross", *heads) == [None] * len(heads)
    short = trace_of("encoder", planted(4)["previous token"])
    assert label_heads(short, "encoder") == ((None,),)
    label = label_heads_together([short] * 20, "encoder")[0][0]
    assert label is not None
    assert label.name == "previous token"


def test_a_row_of_zeros_is_no_evidence() -> None:
    padded = planted()["same token"]
    padded[8:] = 0
    ((label,),) = label_heads(trace_of("encoder", padded), "encoder")
    assert (label.name, label.n_rows) == ("same token", 6)
    padded[4:] = 0  # two rows that count are left
    assert names("encoder", padded) == [None]
    assert names("encoder", np.zeros((N, N))) == [None]


def test_each_layer_and_head_has_its_place() -> None:
    heads = planted()
    weights = np.stack([*heads.values()]).reshape(3, 2, N, N)
    trace = ForwardTrace(source_tokens=("s",) * N, encoder_attention=weights)
    found = label_heads(trace, "encoder")
    assert [[label.name for label in layer] for layer in found] == [
        ["previous token", "next token"],
        ["same token", "first-token sink"],
        ["last-token sink", "broad"],
    ]


def test_several_sentences_are_read_as_one() -> None:
    """A head that looks back in one sentence and stays put in another has the mean of both."""
    back, stay = planted()["previous token"], planted()["same token"]
    alone = label_heads(trace_of("encoder", back), "encoder")[0][0]
    together = label_heads_together([trace_of("encoder", back)] * 3, "encoder")[0][0]
    assert alone is not None
    assert together is not None
    assert (together.name, together.n_rows) == (alone.name, 3 * alone.n_rows)
    assert together.evidence == pytest.approx(alone.evidence)
    assert together.uniform == pytest.approx(alone.uniform)
    mixed = [trace_of("encoder", back), trace_of("encoder", stay)]
    assert label_heads_together(mixed, "encoder") == ((None,),)


def test_traces_that_cannot_be_labelled_are_refused() -> None:
    one, two = trace_of("encoder", planted()["broad"]), trace_of("encoder", *planted().values())
    of_one_model = "the traces of one model"
    assert_refused(
        [
            (lambda: label_heads(one, "cross"), "no cross attention"),
            (lambda: label_heads_together([], "encoder"), of_one_model),
            (lambda: label_heads_together([one, two], "encoder"), of_one_model),
        ]
    )


def test_heads_that_follow_the_tokens_are_found_with_the_scores_of_their_patterns() -> None:
    for kind, make in (("decoder", decoder_heads), ("encoder", encoder_heads), ("cross", cross_heads)):
        trace, expected = make()
        (found,) = label_heads(trace, kind)
        assert [label and label.name for label in found] == expected
        scores = {} if kind == "cross" else pattern_scores(trace, kind)
        for head, label in enumerate(found if scores else ()):
            assert label is not None
            if label.name == "rests on one token":  # on any one: it has no one score
                continue
            assert scores[label.name].shape == trace.attention(kind).shape[:2]
            assert scores[label.name][0, head] == pytest.approx(label.evidence)
            assert max(scores, key=lambda name: scores[name][0, head]) == label.name


def test_the_evidence_of_an_induction_head_is_its_mean_weight_on_what_followed_before() -> None:
    trace, names = decoder_heads()
    label = label_heads(trace, "decoder")[0][names.index("induction")]
    assert label is not None
    head = trace.decoder_attention[0, names.index("induction")]
    on_keys = [head[query, query - 11] for query in range(13, 25)]
    assert label.evidence == pytest.approx(np.mean(on_keys), abs=1e-6)
    assert label.n_rows == 12
    assert label.sentence.startswith(
        f"puts {label.evidence:.2f} of its weight on the token after an earlier copy of the token just read, "
    )


def test_a_copy_that_another_name_means_too_is_no_evidence() -> None:
    """In "a b a b …" the token after the earlier copy is the one before: that name is older."""
    n = 16
    trace = ForwardTrace(
        target_tokens=tuple("ab" * (n // 2)),
        decoder_attention=causal(looking_at(np.maximum(np.arange(n) - 1, 0), n))[None, None],
    )
    ((label,),) = label_heads(trace, "decoder")
    assert label is not None
    assert label.name == "previous token"


def test_special_tokens_are_no_copies_of_each_other() -> None:
    n = 24
    tokens = ("[CLS]", "a", *("[PAD]",) * (n - 2))
    trace = ForwardTrace(source_tokens=tokens, encoder_attention=np.full((1, 1, n, n), 1 / n))
    patterns = {each.name: each for each in head_patterns(trace, "encoder")}
    assert not patterns["duplicate token"].rows.any()
    assert not patterns["separator"].rows.any(), "padding separates nothing"


def test_separators_are_known_by_their_spelling() -> None:
    separating = ("[SEP]", "<eos>", "</s>", "<|endoftext|>", ".", "Ġ,", "▁;", "##)", "!</w>", "--", "¿")
    others = ("[CLS]", "<sos>", "<s>", "<pad>", "[MASK]", "<unk>", "a", "Ġ", "", "3.", "$", "Ġthe")
    assert separator_tokens(separating) == [True] * len(separating)
    assert separator_tokens(others) == [False] * len(others)


def test_a_pattern_without_rows_has_no_scores() -> None:
    trace = trace_of("encoder", *planted().values())
    assert (
        not {"duplicate token", "same word", "separator", "induction"}
        & pattern_scores(trace, "encoder").keys()
    )
    masked = pattern_scores(trace_of("decoder", causal(planted()["broad"])), "decoder")
    assert "previous token" in masked
    assert not {"next token", "offset +2"} & masked.keys(), "a causal mask hides their keys"
    nothing = trace_of("encoder", np.zeros((N, N)))
    assert pattern_scores(nothing, "encoder")["previous token"] == 0


def test_a_head_rests_on_one_token_if_most_queries_that_see_it_do_so_most() -> None:
    n, key = 14, 6
    resting = causal(looking_at(np.full(n, key), n, share=0.45))
    trace = ForwardTrace(target_tokens=tuple("abcdefghijklmn"), decoder_attention=resting[None, None])
    ((label,),) = label_heads(trace, "decoder")
    assert label is not None
    on_key = resting[key + 2 :, key]
    assert (label.name, label.n_rows) == ("rests on one token", len(on_key))
    assert label.evidence == pytest.approx(on_key.mean())
    assert label.sentence.startswith(
        f"puts {on_key.mean():.2f} of its weight on “g”, token 6, mean of 6 rows"
    )
    ((together,),) = label_heads_together([trace] * 3, "decoder")
    assert together is not None
    assert together.n_rows == 18
    faint, late = (causal(looking_at(np.full(n, k), n, share=share)) for k, share in ((6, 0.2), (10, 0.45)))
    assert "rests on one token" not in names("decoder", faint, late)


def test_a_monotone_alignment_moves_further_than_its_rows_are_wide() -> None:
    query, key = np.arange(20)[:, None], np.arange(300)
    narrow, wide = (np.exp(-0.5 * ((key - 40 - 2 * query) / width) ** 2) for width in (4, 40))
    found = [weights / weights.sum(axis=1, keepdims=True) for weights in (narrow, wide, narrow[::-1])]
    assert names("cross", *found) == ["monotone alignment", None, None]
    ((label, *_),) = label_heads(trace_of("cross", *found), "cross")
    assert label is not None
    looked = found[0] @ np.arange(300)
    assert label.evidence == pytest.approx(np.corrcoef(np.arange(20), looked)[0, 1])
    short = trace_of("cross", found[0][:6])
    assert label_heads(short, "cross") == ((None,),)
    ((together,),) = label_heads_together([short] * 3, "cross")
    assert together is not None
    assert together.name == "monotone alignment"
