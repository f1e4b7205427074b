"""The coreference study: what is held out, that seeds agree in answers and differ in attention."""

from __future__ import annotations

import re
from dataclasses import replace

import jaxtyping
import matplotlib.pyplot as plt
import pytest
import torch

from tests.support.refusals import assert_refused
from viz_transformer import explore
from viz_transformer.cli import main
from viz_transformer.corpus import coreference as corpus
from viz_transformer.corpus.coreference import PronounSentence, pronoun_sentences, pronoun_vocabulary
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.plots import plot_study
from viz_transformer.recipes import coreference
from viz_transformer.recipes.coreference import (
    IT,
    PLACE,
    CoreferenceModel,
    StudyRow,
    coreference_model,
    study_row,
)

TIRED = "the animal did not cross the street because it was too tired"
WIDE = "the animal did not cross the street because it was too wide"
SENTENCE = PronounSentence("animal", "cross", "street", "tired")
SHORT = replace(coreference.COREFERENCE_TRAINING, n_steps=3)
#: A key for each model of the study: its seed, and where its answer is read.
Key = tuple[int, str]


def models_of_the_study(**n_steps: int) -> dict[Key, CoreferenceModel]:
    with pytest.MonkeyPatch.context() as patch:
        # The checks of shapes take as long as the training; the tests below make them.
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        return {
            (seed, at): coreference_model(
                seed, read_at=at, training=replace(coreference.COREFERENCE_TRAINING, n_steps=n_steps[at])
            )
            for seed, at in ((0, "start"), (1, "start"), (0, "it"))
        }


@pytest.fixture(scope="module")
def begun() -> dict[Key, CoreferenceModel]:
    return models_of_the_study(start=3, it=3)


@pytest.fixture(scope="module")
def rows(begun: dict[Key, CoreferenceModel]) -> dict[Key, StudyRow]:
    return {key: study_row(made) for key, made in begun.items()}


def test_training_holds_every_word_and_answer_but_no_held_out_pair_of_nouns() -> None:
    parts = pronoun_sentences()
    train, held_out = ({each.words for each in part} for part in (parts.train, parts.held_out))
    assert (len(train), len(held_out)) == (len(parts.train), len(parts.held_out)) == (3300, 660)
    assert not train & held_out
    assert len(corpus.ANIMALS) * len(corpus.PLACES) * len(corpus.VERBS) * 10 == 3960
    assert {tuple(TIRED.split()), tuple(WIDE.split())} <= held_out
    nouns, new = ({(each.animal, each.place) for each in part} for part in (parts.train, parts.held_out))
    assert not nouns & new
    assert len(nouns) + len(new) == len(corpus.ANIMALS) * len(corpus.PLACES)
    assert ({animal for animal, _ in new}, {place for _, place in new}) == (
        set(corpus.ANIMALS),
        set(corpus.PLACES),
    )
    assert pronoun_vocabulary(parts.train) == pronoun_vocabulary(parts.held_out)
    assert {each.referent for each in parts.train} == set(coreference.NOUNS)
    for part in (parts.train, parts.held_out):  # the adjective alone decides which noun is meant
        assert sum(each.means_animal for each in part) * 2 == len(part)
        for each in part:
            assert each.means_animal == (each.adjective in corpus.ANIMAL_ADJECTIVES)
            assert each.means_animal != (each.adjective in corpus.PLACE_ADJECTIVES)
            assert each.referent == each.words[1 if each.means_animal else 6]


@pytest.mark.weekly
def test_equally_right_seeds_are_differently_attentive() -> None:
    trained = models_of_the_study(start=500, it=350)  # 500: as the study itself
    for made in trained.values():
        assert made.answer(TIRED) == "animal"
        assert made.answer(WIDE.replace("did not", "didn't").capitalize() + ".") == "street"
    rows = {key: study_row(made) for key, made in trained.items()}
    for row in rows.values():
        assert row.n_held_out == 660
        assert row.accuracy >= 0.99
    sure, unsure, at_it = rows[0, "start"], rows[1, "start"], rows[0, "it"]
    assert sure.tired.most("animal") > 0.8
    assert sure.tired.mean("animal") > 0.5
    for layer in (0, 1):
        assert unsure.tired.most("animal", layer) < 0.35
        assert unsure.tired.mean("animal", layer) < 0.15
    assert sure.wide.most("animal") < 0.1
    assert sure.weight > 2 * unsure.weight
    # What *it* looks at matters only where the answer is read there.
    assert min(sure.accuracy_blind, unsure.accuracy_blind) > 0.99
    assert at_it.accuracy_blind < 0.5
    # The head that looks most need not matter most.
    assert sure.accuracy_without_head > 0.9 > unsure.accuracy_without_head


def test_read_at_the_start_the_last_row_of_it_is_part_of_no_answer(
    begun: dict[Key, CoreferenceModel],
) -> None:
    for at, same in (("start", True), ("it", False)):
        made = begun[0, at]
        ids = made.ids([SENTENCE])
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


def test_a_row_is_the_mean_of_its_attention_over_sentences(
    begun: dict[Key, CoreferenceModel], rows: dict[Key, StudyRow]
) -> None:
    made, row = begun[0, "start"], rows[0, "start"]
    sentences = pronoun_sentences().held_out
    with torch.no_grad():
        attention = made.model(made.ids(sentences)).encoder_attention
    for looks, meant in ((row.tired, True), (row.wide, False)):
        chosen = [(n, ("<sos>", *s.words)) for n, s in enumerate(sentences) if s.means_animal == meant]
        for noun, shown in ((2, looks.to_animal), (7, looks.to_place)):
            for layer, head in ((0, 1), (1, 3)):
                weights = attention[layer][:, head]
                seen = [weights[n, words.index("it"), words.index(words[noun])].item() for n, words in chosen]
                assert shown[layer][head] == pytest.approx(sum(seen) / len(seen), abs=1e-5)


def test_the_trace_of_a_sentence_shows_the_weights_and_can_be_explored(
    begun: dict[Key, CoreferenceModel],
) -> None:
    made = begun[0, "start"]
    trace = made.trace(TIRED)
    assert trace.source_tokens == ("<sos>", *TIRED.split())
    with torch.no_grad():
        output = made.model(made.ids([SENTENCE]))
    assert (trace.encoder_attention == torch.cat(output.encoder_attention).numpy()).all()
    assert explore(trace).trace is trace
    likeliest = int(made.logits(output.last_hidden_state).argmax())
    assert made.answer(TIRED) == coreference.NOUNS[likeliest]


def test_training_twice_gives_equal_weights_and_leaves_torch_as_it_was() -> None:
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    models = [coreference_model(seed, training=SHORT).model for seed in (3, 3, 4)]
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
    assert not models[0].training
    one, two, other = (model.state_dict() for model in models)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_the_table_and_the_picture_show_the_numbers_of_the_rows(rows: dict[Key, StudyRow]) -> None:
    drawn = list(rows.values())
    lines = coreference.study_table(drawn).splitlines()
    assert lines[0].startswith("| seed | read at | right")
    named = [[cell.strip() for cell in line.split("|")[1:3]] for line in lines[2:5]]
    assert named == [["0", "<sos>"], ["1", "<sos>"], ["0", "it"]]
    assert f"{drawn[0].tired.most('animal'):.2f} (mean " in lines[2]
    assert len({len(line) for line in lines[:5]}) == 1
    ax = plot_study(drawn)
    assert [[bar.get_height() for bar in bars] for bars in ax.containers] == [
        [row.accuracy for row in drawn],
        [row.accuracy_blind for row in drawn],
        [row.tired.most("animal") for row in drawn],
        [row.wide.most("place") for row in drawn],
    ]
    assert ax.get_xticklabels()[2].get_text() == "seed 0\nread at it"
    assert f"{drawn[0].tired.most('animal'):.2f} on the animal" in ax.figure.alt_text
    assert plot_study(drawn, ax=ax) is ax
    plt.close(ax.figure)


def test_the_command_prints_the_table(monkeypatch, capsys) -> None:
    study = coreference.coreference_study

    def short(*seeds: range, **options: object) -> list[StudyRow]:
        return study(*seeds, training=SHORT, **options)

    monkeypatch.setattr(coreference, "coreference_study", short)
    assert main(["coreference", "--seeds", "2", "--read-at", "it"]) == 0
    shown = capsys.readouterr()
    assert [line.split("|")[1].strip() for line in shown.out.splitlines()[2:4]] == ["0", "1"]
    assert "2/2" in shown.err
    assert main(["coreference", "--seeds", "0"]) == 2
    error = capsys.readouterr().err
    assert re.fullmatch("viz-transformer: .*seed.*\n", error)


def test_questions_that_the_study_cannot_answer_are_refused(begun: dict[Key, CoreferenceModel]) -> None:
    trace, study = begun[0, "start"].trace, coreference.coreference_study
    too_fast = replace(SHORT, learning_rate=1e38, warmup_steps=0)
    dragon = TIRED.replace("animal", "dragon")
    turned = "the street did not cross the animal because it was too tired"
    assert_refused(
        [
            (lambda: study(()), "given no seed"),
            (lambda: study((0, -1)), "seed=-1"),
            (lambda: study((0, 0.5)), "seed=0.5"),
            (lambda: study((0,), read_at="end"), "read_at='end'"),
            (lambda: study((0,), training=too_fast), "the loss is"),
            (lambda: coreference.coreference_trace(0, TIRED, read_at="end"), "read_at='end'"),
            (lambda: plot_study([]), "given no row"),
            (lambda: trace(dragon), "unknown English word"),
            (lambda: trace("the animal"), "is not a sentence of the study"),
            (lambda: trace(turned), "is not a sentence of the"),
            (lambda: trace(""), "holds no word"),
        ]
    )
