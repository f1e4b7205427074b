"""The coreference study: what is held out, that seeds agree in answers and differ in attention."""

from __future__ import annotations

from dataclasses import replace

import jaxtyping
import matplotlib.pyplot as plt
import pytest
import torch

from viz_transformer import explore
from viz_transformer.cli import main
from viz_transformer.corpus.coreference import (
    ANIMAL_ADJECTIVES,
    ANIMALS,
    PLACE_ADJECTIVES,
    PLACES,
    VERBS,
    PronounSentence,
    pronoun_sentences,
    pronoun_vocabulary,
)
from viz_transformer.errors import UserError
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.plots import plot_study
from viz_transformer.recipes import coreference
from viz_transformer.recipes.coreference import (
    COREFERENCE_TRAINING,
    NOUNS,
    CoreferenceModel,
    StudyRow,
    coreference_model,
    coreference_study,
    coreference_trace,
    study_row,
    study_table,
)
from viz_transformer.recipes.coreference.model import IT, PLACE

TIRED = "the animal did not cross the street because it was too tired"
WIDE = "the animal did not cross the street because it was too wide"
SHORT = replace(COREFERENCE_TRAINING, n_steps=3)


@pytest.fixture(scope="module")
def trained() -> dict[tuple[int, str], CoreferenceModel]:
    steps = {(0, "start"): 500, (1, "start"): 500, (0, "it"): 350}  # 500: as the study itself
    with pytest.MonkeyPatch.context() as patch:
        # The checks of shapes take as long as the training; the tests below make them.
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        return {
            (seed, at): coreference_model(
                seed, read_at=at, training=replace(COREFERENCE_TRAINING, n_steps=n_steps)
            )
            for (seed, at), n_steps in steps.items()
        }


@pytest.fixture(scope="module")
def rows(trained: dict[tuple[int, str], CoreferenceModel]) -> dict[tuple[int, str], StudyRow]:
    return {key: study_row(made) for key, made in trained.items()}


def test_the_set_holds_every_sentence_once_on_one_side() -> None:
    parts = pronoun_sentences()
    train, held_out = ({each.words for each in part} for part in (parts.train, parts.held_out))
    assert (len(train), len(held_out)) == (len(parts.train), len(parts.held_out)) == (3300, 660)
    assert not train & held_out
    assert len(ANIMALS) * len(PLACES) * len(VERBS) * 10 == 3960
    assert tuple(TIRED.split()) in held_out
    assert tuple(WIDE.split()) in held_out


def test_no_animal_and_place_of_the_held_out_part_meet_in_training() -> None:
    parts = pronoun_sentences()
    train, held_out = ({(each.animal, each.place) for each in part} for part in (parts.train, parts.held_out))
    assert not train & held_out
    assert len(train) + len(held_out) == len(ANIMALS) * len(PLACES)
    assert {animal for animal, _ in held_out} == set(ANIMALS)
    assert {place for _, place in held_out} == set(PLACES)


def test_training_has_seen_every_word_and_every_answer() -> None:
    parts = pronoun_sentences()
    assert pronoun_vocabulary(parts.train) == pronoun_vocabulary(parts.held_out)
    assert {each.referent for each in parts.train} == set(NOUNS)


def test_the_adjective_alone_decides_which_noun_is_meant() -> None:
    for part in (pronoun_sentences().train, pronoun_sentences().held_out):
        assert sum(each.means_animal for each in part) * 2 == len(part)
        for each in part:
            assert each.means_animal == (each.adjective in ANIMAL_ADJECTIVES)
            assert each.means_animal != (each.adjective in PLACE_ADJECTIVES)
            assert each.referent == each.words[1 if each.means_animal else 6]


def test_every_seed_is_right_on_pairs_of_nouns_that_it_has_never_read(
    rows: dict[tuple[int, str], StudyRow],
) -> None:
    for row in rows.values():
        assert row.n_held_out == 660
        assert row.accuracy >= 0.99


def test_equally_right_seeds_are_differently_attentive(
    rows: dict[tuple[int, str], StudyRow],
) -> None:
    looks, elsewhere = rows[0, "start"].tired, rows[1, "start"].tired
    assert looks.most("animal") > 0.8
    assert looks.mean("animal") > 0.5
    for layer in (0, 1):
        assert elsewhere.most("animal", layer) < 0.35
        assert elsewhere.mean("animal", layer) < 0.15
    assert rows[0, "start"].wide.most("animal") < 0.1
    assert rows[0, "start"].weight > 2 * rows[1, "start"].weight


def test_the_look_of_it_matters_only_where_the_answer_is_read_there(
    rows: dict[tuple[int, str], StudyRow],
) -> None:
    for seed in (0, 1):
        assert rows[seed, "start"].accuracy_blind > 0.99
    assert rows[0, "it"].accuracy_blind < 0.5


def test_the_head_that_looks_most_need_not_matter_most(
    rows: dict[tuple[int, str], StudyRow],
) -> None:
    sure, unsure = rows[0, "start"], rows[1, "start"]
    assert sure.accuracy_without_head > 0.9 > unsure.accuracy_without_head


def test_read_at_the_start_the_last_row_of_it_is_part_of_no_answer(
    trained: dict[tuple[int, str], CoreferenceModel],
) -> None:
    for at, same in (("start", True), ("it", False)):
        made = trained[0, at]
        ids = made.ids([PronounSentence("animal", "cross", "street", "tired")])
        changes = []
        for head, weights in enumerate(made.trace(TIRED).encoder_attention[1]):
            rows = weights.copy()
            rows[IT] = 0
            rows[IT, PLACE] = 1  # the wrong noun, and nothing else
            changes.append(HeadChange("encoder", 1, head, pattern=rows))
        with torch.no_grad():
            before = made.logits(made.model(ids).last_hidden_state)
            after = made.model(ids, interventions=Interventions(heads=changes)).last_hidden_state
        assert torch.allclose(before, made.logits(after), atol=1e-4) == same


def test_a_row_is_the_mean_of_what_it_looks_at_in_each_sentence(
    trained: dict[tuple[int, str], CoreferenceModel], rows: dict[tuple[int, str], StudyRow]
) -> None:
    made, row = trained[0, "start"], rows[0, "start"]
    sentences = pronoun_sentences().held_out
    with torch.no_grad():
        attention = made.model(made.ids(sentences)).encoder_attention
    for looks, meant in ((row.tired, True), (row.wide, False)):
        chosen = [(n, ("<sos>", *s.words)) for n, s in enumerate(sentences) if s.means_animal == meant]
        for noun, shown in ((2, looks.to_animal), (7, looks.to_place)):
            for layer, head in ((0, 1), (1, 3)):
                seen = [
                    attention[layer][n, head, words.index("it"), words.index(words[noun])].item()
                    for n, words in chosen
                ]
                assert shown[layer][head] == pytest.approx(sum(seen) / len(seen), abs=1e-5)


def test_a_trace_shows_the_weights_of_the_model(
    trained: dict[tuple[int, str], CoreferenceModel],
) -> None:
    made = trained[0, "start"]
    with torch.no_grad():
        output = made.model(made.ids([PronounSentence("animal", "cross", "street", "tired")]))
    shown = made.trace(TIRED).encoder_attention
    assert (shown == torch.cat(output.encoder_attention).numpy()).all()


def test_it_is_answered_in_words(trained: dict[tuple[int, str], CoreferenceModel]) -> None:
    for made in trained.values():
        assert made.answer(TIRED) == "animal"
        assert made.answer(WIDE.replace("did not", "didn't").capitalize() + ".") == "street"


def test_the_trace_can_be_explored(trained: dict[tuple[int, str], CoreferenceModel]) -> None:
    trace = trained[0, "start"].trace(TIRED)
    assert trace.source_tokens == ("<sos>", *TIRED.split())
    assert trace.encoder_attention.shape == (2, 4, 13, 13)
    assert explore(trace).trace is trace


def test_training_twice_gives_equal_weights() -> None:
    one, two, other = (coreference_model(seed, training=SHORT).model.state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_training_leaves_torch_as_it_was() -> None:
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    made = coreference_model(0, training=SHORT)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
    assert not made.model.training


def test_the_table_has_a_line_for_every_seed(rows: dict[tuple[int, str], StudyRow]) -> None:
    lines = study_table(list(rows.values())).splitlines()
    assert lines[0].startswith("| seed | read at | right")
    assert [line.split("|")[1:3] for line in lines[2:5]] == [
        [" 0    ", " <sos>   "],
        [" 1    ", " <sos>   "],
        [" 0    ", " it      "],
    ]
    assert f"{rows[0, 'start'].tired.most('animal'):.2f} (mean " in lines[2]
    assert len({len(line) for line in lines[:5]}) == 1


def test_the_picture_shows_the_numbers_of_the_rows(rows: dict[tuple[int, str], StudyRow]) -> None:
    drawn = list(rows.values())
    ax = plot_study(drawn)
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers]
    assert heights == [
        [row.accuracy for row in drawn],
        [row.accuracy_blind for row in drawn],
        [row.tired.most("animal") for row in drawn],
        [row.wide.most("place") for row in drawn],
    ]
    assert ax.get_xticklabels()[2].get_text() == "seed 0\nread at it"
    assert f"{drawn[0].tired.most('animal'):.2f} on the animal" in ax.figure.alt_text
    assert plot_study(drawn, ax=ax) is ax
    plt.close(ax.figure)
    with pytest.raises(UserError, match="given no row"):
        plot_study([])


def test_the_command_prints_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def short(*seeds: range, **options: object) -> list[StudyRow]:
        return coreference_study(*seeds, training=SHORT, **options)

    monkeypatch.setattr(coreference, "coreference_study", short)
    assert main(["coreference", "--seeds", "2", "--read-at", "it"]) == 0
    shown = capsys.readouterr()
    assert [line.split("|")[1].strip() for line in shown.out.splitlines()[2:4]] == ["0", "1"]
    assert "2/2" in shown.err
    assert main(["coreference", "--seeds", "0"]) == 2
    assert capsys.readouterr().err.startswith("viz-transformer: the study was given no seed")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: coreference_study(()), "given no seed"),
        (lambda: coreference_study((0, -1)), "seed=-1"),
        (lambda: coreference_study((0, 0.5)), "seed=0.5"),
        (lambda: coreference_study((0,), read_at="end"), "read_at='end'"),
        (
            lambda: coreference_study((0,), training=replace(SHORT, learning_rate=1e38, warmup_steps=0)),
            "the loss is",
        ),
        (lambda: coreference_trace(0, TIRED, read_at="end"), "read_at='end'"),
    ],
)
def test_what_cannot_be_studied_is_refused(wrong, message) -> None:
    with pytest.raises(UserError, match=message):
        wrong()


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("the dragon did not cross the street because it was too tired", "unknown English word"),
        ("the animal", "is not a sentence of the study"),
        ("the street did not cross the animal because it was too tired", "is not a sentence of the"),
        ("", "holds no word"),
    ],
)
def test_another_sentence_gets_one_line(
    trained: dict[tuple[int, str], CoreferenceModel], sentence: str, message: str
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        trained[0, "start"].trace(sentence)
    assert "\n" not in str(caught.value)
