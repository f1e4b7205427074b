"""Head cards: what is summed up over texts is what the texts say, counted by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support import causal_models as causal
from tests.support import two_sided_models as two_sided
from tests.support.javascript import answers_in_node
from tests.support.spanish_models import small_language_model
from viz_transformer.analysis import head_card, pattern_scores
from viz_transformer.analysis.head_patterns import head_patterns
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace

LENGTHS = (5, 9, 12, 7)


def decoders() -> Iterator[ForwardTrace]:
    """Two layers of three heads over texts of several lengths; head 1·2 looks at the token before."""
    random = np.random.default_rng(0)
    for n in LENGTHS:
        weights = np.tril(random.random((2, 3, n, n)) + 0.05)
        weights[1, 2] += 20 * np.eye(n, k=-1) * random.random((n, 1))
        weights[1, 2, -1] = np.eye(n)[0]  # but from the last token at the first
        weights /= weights.sum(-1, keepdims=True)
        tokens = [f"word{i}" for i in range(n)]
        yield ForwardTrace(target_tokens=tokens, decoder_attention=weights.astype(np.float32))


def test_a_card_is_what_is_counted_by_hand() -> None:
    card = head_card(decoders(), "decoder", 1, 2)
    heads = [trace.decoder_attention[1, 2].astype(float) for trace in decoders()]
    n_rows = sum(LENGTHS)
    assert (card.n_texts, card.n_rows) == (4, n_rows)
    for offset, share, even in zip(card.offsets, card.weight_by_offset, card.even_by_offset, strict=True):
        by_hand = sum(np.diagonal(head, offset).sum() for head in heads) / n_rows
        assert share == pytest.approx(by_hand, abs=1e-9)
        evenly = sum(sum(1 / (query + 1) for query in range(-offset, n)) for n in LENGTHS)
        assert even == pytest.approx(evenly / n_rows)
    assert card.weight_by_offset.sum() == pytest.approx(1, abs=1e-5)
    assert card.label is not None
    assert card.pattern == card.label.name == "previous token"
    scores = [np.diagonal(head, -1)[1:] for head in heads]  # the first two queries cannot tell
    tops = [head[2:].argmax(1) == np.arange(1, len(head) - 1) for head in heads]
    assert card.n_told == sum(map(len, scores))
    assert card.held == pytest.approx(np.concatenate(tops).mean())
    counted, _ = np.histogram(np.concatenate(scores), bins=10, range=(0, 1))
    np.testing.assert_array_equal(card.tenths, counted)
    every = [pattern_scores(trace, "decoder")["previous token"] for trace in decoders()]
    np.testing.assert_allclose(card.scores, np.mean(every, axis=0))
    for tenth, example in enumerate(card.examples):
        assert (example is None) == (card.tenths[tenth] == 0)
        if example is not None:
            head = heads[LENGTHS.index(len(example.key_tokens))]
            np.testing.assert_allclose(example.weights, head[example.query], atol=1e-6)
            inside = [x for x in np.concatenate(scores) if min(int(10 * x), 9) == tenth]
            assert example.score == pytest.approx(max(inside))


def test_a_head_without_a_label_is_held_against_what_it_follows_most() -> None:
    card = head_card(decoders(), "decoder", 0, 0)
    assert card.label is None
    names = {pattern.name for trace in decoders() for pattern in head_patterns(trace, "decoder")}
    assert card.pattern in names
    assert repr(card).startswith("head 0·0 of the decoder self-attention, 4 texts: no label\n")


def test_losses_are_compared_text_by_text_and_all_arrays_can_be_saved(tmp_path) -> None:
    losses = np.array([1.0, 2.0, 1.5, 1.0]), np.array([1.5, 2.0, 2.0, 2.0])
    card = head_card(decoders(), "decoder", 1, 2).with_losses(*losses)
    assert card.loss_change == pytest.approx(0.5)
    np.savez(tmp_path / "card.npz", **card.arrays)
    with np.load(tmp_path / "card.npz") as saved:
        assert {"weight_by_offset", "scores", "losses_without"} <= {*saved}
    assert head_card(decoders(), "decoder", 1, 2).loss_change is None


def test_what_has_no_such_head_is_refused() -> None:
    with pytest.raises(UserError, match="needs texts"):
        head_card(iter(()), "decoder", 0, 0)
    with pytest.raises(UserError, match=r"but the decoder attention has the layers \[0, 1\]"):
        head_card(decoders(), "decoder", 2, 0)
    one, *_ = decoders()
    other = ForwardTrace(target_tokens=one.target_tokens, decoder_attention=one.decoder_attention[:1])
    with pytest.raises(UserError, match="differ in layers or heads"):
        head_card([one, other], "decoder", 0, 0)


def test_the_card_of_a_live_model_has_the_losses_with_and_without_the_head() -> None:
    model, texts = small_language_model(), ["el gato duerme", "el gato negro duerme"]
    view = vt.head_card(model, texts, layer=1, head=1)
    off = vt.Interventions(heads=[vt.HeadChange("decoder", 1, 1, factor=0.0)])
    np.testing.assert_allclose(view.card.losses, [-model.log_probs(text).mean() for text in texts])
    np.testing.assert_allclose(
        view.card.losses_without, [-model.log_probs(text, off).mean() for text in texts]
    )
    every = np.concatenate([model.log_probs(text) for text in texts])
    without = np.concatenate([model.log_probs(text, off) for text in texts])
    assert view.card.loss_change == pytest.approx(every.mean() - without.mean())
    assert view.data["first"]["losses"]["whole"] == pytest.approx(-every.mean())
    reply = view.answer({"layer": 0, "head": 1})
    assert (reply["layer"], reply["head"]) == (0, 1)
    assert view.questions() == [{"layer": 1, "head": 1}, {"layer": 0, "head": 1}]
    view.layer, view.head = 0, 1
    np.testing.assert_array_equal(
        view.card.scores, head_card(map(model.trace, texts), "decoder", 0, 1).scores
    )


def test_a_language_model_of_hugging_faces_reads_a_file(tmp_path) -> None:
    model, tokenizer = causal.gpt2(), causal.tokenizer()
    path = tmp_path / "texts.txt"
    path.write_text(f"{causal.CLEAN}\n\n{causal.CORRUPTED}\n", encoding="utf-8")
    card = vt.head_card(model, path, layer=1, head=2, tokenizer=tokenizer).card
    for text, loss, without in zip(
        (causal.CLEAN, causal.CORRUPTED), card.losses, card.losses_without, strict=True
    ):
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        with torch.no_grad():
            assert loss == pytest.approx(float(model(ids, labels=ids).loss), abs=1e-5)
            with vt.interventions(model, [vt.HeadChange("decoder", 1, 2, factor=0.0)]):
                assert without == pytest.approx(float(model(ids, labels=ids).loss), abs=1e-5)


def test_an_encoder_has_a_card_without_losses() -> None:
    texts = ["the cat sleeps well", "the dog sleeps"]
    view = vt.head_card(two_sided.bert(), texts, tokenizer=two_sided.tokenizer())
    assert view.card.kind == "encoder"
    assert view.card.losses is None
    assert "loss not measured" in repr(view.card)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": 3}, "reads no texts"),
        ({"texts": []}, "no text to read"),
        ({"texts": "no_such.txt"}, "is no file"),
        ({"texts": [3]}, "3"),
        ({"texts": ["el dragón"]}, "dragón"),
        ({"kind": "cross"}, "the model has"),
        ({"head": 9}, r"heads \[0, 1\]"),
        ({"n_texts": 0}, "n_texts=0"),
    ],
)
def test_what_makes_no_card_is_refused_in_one_line(options, message) -> None:
    with pytest.raises(UserError, match=message) as refused:
        vt.head_card(**{"model": small_language_model(), "texts": ["el gato duerme"]} | options)
    assert "\n" not in str(refused.value)


@pytest.mark.usefixtures("no_window")
def test_the_figure_has_a_bar_for_each_distance_and_a_ring_around_the_head() -> None:
    card = head_card(decoders(), "decoder", 1, 2)
    figure = vt.plots.plot_head_card(card)
    by_offset, by_tenth, heads = figure.axes
    assert sum(bar.get_height() for bar in by_offset.patches) == pytest.approx(1, abs=1e-5)
    assert [bar.get_height() for bar in by_tenth.patches] == card.tenths.tolist()
    (ring,) = [each for each in heads.collections if each.get_gid() == "chosen"]
    np.testing.assert_allclose(ring.get_offsets()[0], [card.scores[1, 2], card.entropies[1, 2]])


def test_the_keys_with_room_are_those_around_the_query_and_what_it_looks_at() -> None:
    cases = [
        ([0.1, 0.8, 0.1], 2, 100),
        ([0.9, 0, 0, 0, 0, 0.1], 5, 30),  # the query, its key, and one neighbour
        ([0, 0, 0, 1, 0, 0, 0], None, 30),
        ([1, 0, 0, 0], 3, 5),  # these two, whatever the room
    ]
    call = "keysWithin({ weights, own }, weights.map(() => 10), room)"
    answer = f"(cases) => cases.map(([weights, own, room]) => {call})"
    found = answers_in_node({"keysWithin": "widgets/head_card/card.ts"}, answer, cases)
    assert found == [[0, 1, 2], [0, 1, 5], [2, 3, 4], [0, 3]]
