"""What a learner did in the course of fourteen lessons is found under today's names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from viz_transformer import progress
from viz_transformer._files import bundled
from viz_transformer._renamed import NOTEBOOKS, renamed
from viz_transformer.cli import main
from viz_transformer.exercises import exercises_of
from viz_transformer.exercises.course import LESSONS
from viz_transformer.export.site import write_earlier_names

#: The exercises of the fourteen lessons: the name that each had, and its title today.
EARLIER = """
1.1 Count the heads
1.2 Find the head that tells
1.3 Read a row in Python
2.1 Write the ids that the encoder reads
2.2 Pad the rows
2.3 Write the cosine
3.1 Turn a step in the score into a factor
3.2 Write a softmax that does not overflow
3.3 Find the standard deviation of a score
3.4 Write the Jacobian of a softmax
3.5 Find the variance without the root
4.1 Compute a query by hand
4.2 Compute the head's output
4.3 Write the formula as a function
4.4 Count the numbers in additive scoring
4.5 Score every query with every key
5.1 Name the shape after the split
5.2 Split the vectors into heads
5.3 Concatenate the heads
5.4 Find the head
5.5 Make six layers that differ
6.1 Shuffle the words, and take the mean
6.2 Find a hand that never completes a turn
6.3 Compute one row by hand
6.4 Add the positions
6.5 Write a rotary score
7.1 Write a mask by hand
7.2 Write the decoder's mask
7.3 Read the leak meter
7.4 Convert masks for nn.MultiheadAttention
7.5 Write a softmax without NaN
8.1 Normalise one word by hand
8.2 Write LayerNorm for a whole batch
8.3 Test whether a layer passes information between words
8.4 Write the paper's block
8.5 Name three stacks by their gradients
9.1 Name the shape of cross-attention's keys
9.2 Write one head of cross-attention
9.3 Count one encoder layer of the large model
9.4 Count any encoder–decoder
9.5 Give the arguments by name
9.6 Connect the parts
10.1 Embed the tokens of a sentence
10.2 Compute the loss of a uniform guess
10.3 Choose the standard deviation of an embedding table
11.1 Shift the targets
11.2 Compute the loss of one sentence
11.3 Find the loss of a model without any input
11.4 Find the step at which a sentence is learned
11.5 Write the paper's learning rate
11.6 Find the lowest loss
12.1 Count what the cache saves
12.2 Compute the log-probability of a text
12.3 Measure how close a pruned candidate was
12.4 Write the score
12.5 Find where two texts tie
12.6 Write the top-p filter
13.1 Find the lowest error rate that a head can have
13.2 Measure a previous-token head
13.3 Find the head that carries the gender
13.4 Switch three heads off together
13.5 Say what two trainings show
14.1 Make the mask of a padded decoder-only batch
14.2 Name the shape that a classifier returns
14.3 Find the lowest loss without the mask
14.4 Count an encoder layer
14.5 Count DistilBERT to the last parameter
14.6 Choose a family for each task
"""
#: Exercises whose titles have other words now.
REWORDED = {"1.2", "5.3"}
#: The predictions that are still asked in the same words, by how their questions begin.
EARLIER_PREDICTIONS = """
1.p1 tired
2.p1 How many cells of the rectangle will hold <p
2.p2 Whose vector is most like that of “tired”?
3.p1 the: −3, cat: 2, is: −1, black: 0. How is th
3.p2 The variance of q·k where d_k = 64
4.p1 The scores of “thinking” are 2 and 4.5. Whic
4.p2 Three queries, three keys: which shape has t
5.p1 A layer with one head has 16,640 parameters.
5.p2 Four words of 8 numbers, x.reshape(4, 4, 2):
5.p3 house
6.p2 By how much do the scores change, in percent
7.p3 What does softmax return for three scores that
8.p2 How many times smaller is the gradient in th
9.p1 A model with 8 heads has read 6 words and wr
9.p2 How many encoder layers does nn.Transformer(
10.p1 Tokens and positions are added as they are.
10.p2 The loss of the untrained model, embeddings
11.p1 Which of the three has the lowest training l
11.p2 What is the entropy share of the sharpest of
11.p3 How many of the six sentences does it still
11.p4 What probability does the trained model give
11.p5 Where does the loss of its training end, on
12.p2 What is the best translation of “hello world
12.p3 How many different texts are among these ent
12.p4 How many of the 1,000 draws are “la maestra
12.p5 Which text comes most often with a temperatu
12.p6 Where are the points for predictions between
13.p1 The sharpest head
13.p2 Over all held-out sentences
13.p3 tired
14.p3 BERT-Base with 24 heads in place of 12: how
14.p4 Which model gives “maestra” the highest prob
"""
#: Those that are asked in other words; one is gone.
REWORDED_PREDICTIONS = {
    "3.p3": "scoring.p2",
    "6.p1": "6.p1",
    "7.p1": "",
    "7.p2": "8.p2",
    "8.p1": "9.p1",
    "12.p1": "11.p1",
    "14.p1": "families.p1",
    "14.p2": "families.p2",
}


def test_an_exercise_that_went_elsewhere_is_found_by_its_title() -> None:
    titles = {one.name: one.title for lesson in LESSONS for one in exercises_of(lesson)}
    names = {title: name for name, title in titles.items()}
    wrong = {}
    for line in EARLIER.split("\n")[1:-1]:
        name, _, title = line.partition(" ")
        wanted = names.get(title, renamed(name) if name in REWORDED else "")
        if renamed(name) != wanted:
            wrong[name] = f"{title}: say {wanted!r} in renamed.json, which says {renamed(name)!r}"
    assert wrong == {}


def test_a_prediction_that_went_elsewhere_is_found_by_its_question() -> None:
    questions = {}
    for path in bundled("notebooks").glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            for name in re.findall(r'^    name="([\w.]+)"', source, flags=re.MULTILINE):
                questions[name] = source
    wrong = {}
    for line in EARLIER_PREDICTIONS.split("\n")[1:-1]:
        name, _, question = line.partition(" ")
        if question not in questions.get(renamed(name), ""):
            wrong[name] = f"{question}: renamed.json says {renamed(name)!r}"
    assert wrong == {}
    for name, wanted in REWORDED_PREDICTIONS.items():
        assert renamed(name) == wanted
        assert not wanted or wanted in questions


def test_the_name_of_an_earlier_notebook_leads_where_its_exercises_are() -> None:
    for earlier, now in NOTEBOOKS.items():
        lesson = renamed(f"{int(earlier[:2])}.99").partition(".")[0]
        assert now.startswith(f"{int(lesson):02}_" if lesson.isdigit() else f"further_{lesson}"), earlier


def test_notebooks_have_the_names_that_the_table_gives() -> None:
    there = {path.stem for path in bundled("notebooks").glob("*.ipynb")}
    assert set(NOTEBOOKS.values()) <= there
    assert not there & NOTEBOOKS.keys()


def test_progress_of_fourteen_lessons_is_carried_over_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "_unwritten", {})
    solved = {"solved": True, "tries": 2}
    exercises = dict.fromkeys(("1.1", "3.3", "7.1", "9.1", "14.6", "clinic.4"), solved)
    before = json.dumps({"exercises": exercises, "predictions": {"1.p1": 3, "3.p2": 1.5}})
    Path(progress.FILE).write_text(before, encoding="utf-8")
    now = {"1.1", "scoring.1", "8.1", "encoder_and_decoder.1", "clinic.4"}  # one is gone
    assert progress.solved() == now
    assert (progress.prediction_of("1.p1"), progress.prediction_of("scoring.p1")) == (3, 1.5)
    progress.record_attempt("7.1", passed=True)
    assert progress.solved() == {*now, "7.1"}
    assert Path(progress.EARLIER).read_text(encoding="utf-8") == before
    kept = json.loads(Path(progress.FILE).read_text(encoding="utf-8"))
    assert kept["course"] == 2
    assert kept["exercises"]["8.1"] == solved


def test_a_folder_of_the_fourteen_lessons_stays_and_one_line_says_what_is_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("07_masks", "12_decoding"):
        (tmp_path / f"{name}.ipynb").write_text("mine", encoding="utf-8")
    assert main(["lessons", "list", "--folder", str(tmp_path)]) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if "numbers" in each]
    assert line == (
        "The lessons have other numbers now: 07_masks.ipynb is 08_masks.ipynb, 12_decoding.ipynb is "
        "11_decoding.ipynb. Yours stay as they are."
    )
    assert main(["lessons", "reset", "7", "--folder", str(tmp_path)]) == 0
    assert (tmp_path / "07_what_training_minimises.ipynb").is_file()
    assert (tmp_path / "07_masks.ipynb").read_text(encoding="utf-8") == "mine"
    assert main(["lessons", "reset", "07_masks", "--folder", str(tmp_path)]) == 2
    assert "the lesson 07_masks is 08_masks now" in capsys.readouterr().err


def test_a_page_of_an_earlier_name_leads_to_the_lesson(tmp_path: Path) -> None:
    for name in ("08_masks", "11_decoding"):
        (tmp_path / f"{name}.html").touch()
    (tmp_path / "12_decoding.html").write_text("mine", encoding="utf-8")
    for _ in range(2):  # over its own
        write_earlier_names(tmp_path)
    assert len([*tmp_path.iterdir()]) == 4
    text = (tmp_path / "07_masks.html").read_text(encoding="utf-8")
    assert 'http-equiv="refresh" content="0; url=08_masks.html"' in text
    assert (tmp_path / "12_decoding.html").read_text(encoding="utf-8") == "mine"
