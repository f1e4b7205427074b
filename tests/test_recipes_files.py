"""A translator from anybody's pairs: learned, judged, stopped, killed and gone on with."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from viz_transformer import cli, explore, load_translator
from viz_transformer.corpus import english_spanish
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.recipes import files
from viz_transformer.recipes.evaluation import evaluate, validation_loss
from viz_transformer.recipes.notes import read_metrics
from viz_transformer.recipes.saved_trainings import load_training
from viz_transformer.training import Run

pytestmark = pytest.mark.usefixtures("shapes_unchecked")

PAIRS = [
    TextPair(" ".join(pair.source), " ".join(pair.target))
    for pair in {pair.source: pair for pair in english_spanish(n_train=400).train}.values()
]
TRAIN, VALIDATION = PAIRS[:-40], PAIRS[-40:]
MODEL = replace(files.MODEL, d_model=16, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, d_ff=32)
TRAINING = replace(files.TRAINING, n_steps=12, batch_tokens=256, warmup_steps=4)


def train(folder: Path, pairs: list[TextPair] = TRAIN, **changes) -> files.TrainingResult:
    given = {"model": MODEL, "training": TRAINING, "look_every": 5, **changes}
    return files.train_files(pairs, VALIDATION, folder, **given)


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> files.TrainingResult:
    """A training that nothing interrupts."""
    return train(tmp_path_factory.mktemp("whole") / "whole")


def test_it_learns_and_the_folder_is_a_translator(tmp_path: Path) -> None:
    fast = replace(TRAINING, n_steps=90, learning_rate=1e-2, warmup_steps=45)
    done = train(tmp_path / "own", training=fast, look_every=30)
    assert [look.step for look in done.metrics] == [30, 60, 90]
    assert done.metrics[-1].validation_loss < 0.9 * done.metrics[0].validation_loss
    assert (done.step, done.stopped) == (90, "")
    translator = load_translator(done.folder)
    # What is kept is the moving average, at the look where it was best.
    best = min(look.validation_loss for look in done.metrics)
    assert validation_loss(translator.model, VALIDATION, translator.vocabulary) == best
    trace = translator.trace(VALIDATION[0].source, VALIDATION[0].target)
    assert explore(trace).trace.cross_attention.shape[:2] == (1, 2)


@pytest.fixture
def ctrl_c() -> Iterator[Callable[..., None]]:
    """Return what raises Ctrl-C in this thread, heard even where the tests' parent ignores it.

    Two that the system delivers at once count as one; two that are raised here are two.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda *_: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def at_seven(do: Callable[[Any], None]) -> Callable[..., Iterator[Any]]:
    """Return a progress bar that does something with the records after the seventh step."""

    def records_until(records, done, total):
        for record in records:
            if record.step == 7:
                do(records)
            yield record

    return records_until


@pytest.mark.parametrize("where", ["between two steps", "in the middle of a step"])
def test_stopped_and_resumed_it_ends_as_if_uninterrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, whole: files.TrainingResult, ctrl_c
) -> None:
    def in_the_seventh(model, *args, losses=Run._losses):
        if model.step == 6:
            ctrl_c()
        return losses(model, *args)

    if where == "between two steps":
        half = train(tmp_path / "half", progress=at_seven(ctrl_c))
    else:
        monkeypatch.setattr(Run, "_losses", in_the_seventh)
        half = train(tmp_path / "half")
        monkeypatch.undo()
    assert (half.step, half.stopped) == (7, "by hand")
    rest = train(tmp_path / "half", resume=True)
    assert (rest.step, rest.stopped) == (12, "")
    assert [look.step for look in rest.metrics] == [5, 7, 10, 12]
    assert rest.metrics[-1].validation_loss == whole.metrics[-1].validation_loss
    assert weights(rest.folder) == weights(whole.folder)
    seen, expected = load_training(rest.folder), load_training(whole.folder)
    assert [moment.step for moment in seen.moments] == [0, 5, 10, 12]
    assert seen.moments[-1].translations == expected.moments[-1].translations
    assert seen.moments[-1].losses == expected.moments[-1].losses
    np.testing.assert_array_equal(seen.losses, expected.losses)


def test_a_second_ctrl_c_stops_at_once_and_an_ignored_one_is_ignored(
    tmp_path: Path, whole: files.TrainingResult, ctrl_c
) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "own", progress=at_seven(lambda _: (ctrl_c(), ctrl_c())))
    assert [look.step for look in read_metrics(tmp_path / "own")] == [5]
    # As in a script's background job: the Ctrl-C that ends the script is not meant for it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    done = train(tmp_path / "own", resume=True, progress=at_seven(ctrl_c))
    assert (done.step, done.stopped) == (12, "")
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    assert weights(tmp_path / "own") == weights(whole.folder)


def test_pieces_that_are_drawn_anew_are_the_same_after_a_stop(tmp_path: Path) -> None:
    given = {
        "training": replace(TRAINING, piece_dropout=0.3),
        "vocabulary": files.vocabulary_for(TRAIN, n_tokens=400, words=False),
    }
    train(tmp_path / "whole", **given)
    train(tmp_path / "half", **given, minutes=0)
    train(tmp_path / "half", **given, resume=True)
    assert weights(tmp_path / "half") == weights(tmp_path / "whole")
    train(tmp_path / "usual", **{**given, "training": TRAINING})
    assert weights(tmp_path / "usual") != weights(tmp_path / "whole")


def test_a_training_is_only_gone_on_with_when_asked_and_as_it_was_begun(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    short = replace(MODEL, max_length=9)
    for changes, message in (
        ({"model": short}, r"of \d+ pairs are longer than the 9 tokens.*--drop-long"),
        ({"pairs": PAIRS}, "validation"),
    ):
        with pytest.raises(UserError, match=message):
            train(folder, **changes)
        assert not folder.exists()
    assert train(tmp_path / "short", model=short, drop_long=True).step == 12
    done = train(folder, minutes=0)
    assert (done.step, done.stopped) == (1, "after 0 minutes")
    assert [look.step for look in done.metrics] == [1]
    before = {path: path.read_bytes() for path in folder.iterdir()}
    faster = replace(TRAINING, learning_rate=0.1)
    for changes, message in (
        ({}, r"holds a training already.*--resume.*another folder"),
        ({"resume": True, "training": faster}, r"learning_rate=0\.002, not 0\.1"),
        (
            {"resume": True, "pairs": TRAIN[1:]},
            rf"changed: training pairs \({len(TRAIN)} then, {len(TRAIN) - 1} now",
        ),
        ({"resume": True, "pairs": TRAIN[::-1]}, r"changed: training pairs \(as many, other text\); resume"),
    ):
        with pytest.raises(UserError, match=message):
            train(folder, **changes)
        assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert train(folder, resume=True).step == 12


@torch.no_grad()
def spoil(records: Any) -> None:
    records.gi_frame.f_locals["self"].model.source_embedding.weight[:] = torch.nan


def test_a_loss_that_is_no_number_leaves_the_last_good_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"at step 8; lower.*the checkpoint of step 5 is kept"):
        train(tmp_path / "own", progress=at_seven(spoil))
    translator = load_translator(tmp_path / "own")
    loss = validation_loss(translator.model, VALIDATION, translator.vocabulary)
    assert loss == read_metrics(tmp_path / "own")[0].validation_loss


def test_translations_are_judged_as_sacrebleu_does() -> None:
    translator, pairs = load_translator(), VALIDATION[:6]
    found = evaluate(translator, pairs)
    assert (found.n, found.n_exact) == (6, 6)
    assert (found.bleu, found.chrf) == pytest.approx((100, 100))
    other = evaluate(translator, [*pairs[:-1], TextPair(pairs[-1].source, "otra cosa es esto")])
    assert other.n_exact == 5
    assert other.bleu < 100
    assert "version" in other.signatures[0]
    loud = [TextPair(pair.source, f"{pair.target.upper()}.") for pair in pairs]
    assert evaluate(translator, loud).n_exact == 6, "case and a full stop do not matter"
    with pytest.raises(UserError, match="no sentence pairs"):
        evaluate(translator, [])


SIZES = "--steps 14 --look-every 2 --d-model 16 --n-heads 2 --n-layers 1 --d-ff 32 --batch-tokens 256"
ARGUMENTS = [*SIZES.split(), "--threads", "1"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{one.source}\t{one.target}\n" for one in PAIRS), "utf-8")
    return path


def test_the_commands_train_judge_and_translate(table: Path, tmp_path: Path, capsys) -> None:
    folder = tmp_path / "own"
    assert cli.main(["train", "--pairs", str(table), "--out", str(folder), *ARGUMENTS]) == 0
    out = capsys.readouterr().out
    assert "step 14: validation loss" in out
    assert f"wrote {folder}" in out
    made_by = json.loads((folder / "made_by.json").read_text())
    assert made_by["n_train"] == len(PAIRS) - 2 * (len(PAIRS) // 20)
    output = tmp_path / "written.txt"
    assert cli.main(["evaluate", str(folder), "--output", str(output)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^BLEU \d+\.\d\d \(", out)
    assert f"of {len(PAIRS) // 20} " in out
    assert len(output.read_text("utf-8").splitlines()) == len(PAIRS) // 20
    assert cli.main(["translate", "the cat sleeps", "--model", str(folder)]) == 0


def test_impossible_trainings_get_one_line(table: Path, tmp_path: Path, capsys) -> None:
    own = tmp_path / "own"
    from_table = f"train --pairs {table} --out {own}"
    for command, told in {
        "train": "or your own pairs",
        f"train en-es --pairs {table}": "or your own pairs",
        f"train --pairs {table}": "give --out DIR",
        f"train --source {table}": "give --source with --target",
        f"train --pairs {tmp_path}/none --out {own}": "none",
        f"{from_table} --resume": "no checkpoint folder",
        f"{from_table} --words --piece-dropout 0.1": "piece_dropout=0.1 needs pieces of words",
        f"{from_table} --words --tokens 300": "--tokens says how many pieces",
        f"{from_table} --tokens 100": "n_tokens=100 is too small",
        f"train en-es --tokens 300 --out {own}": "--tokens is for a training on your own pairs",
        f"train masked-model --words --out {own}": "--words is for a training on your own pairs",
        f"{from_table} --d-model 7": "n_heads=4",
        f"{from_table} --device abacus": "device=",
        f"evaluate {tmp_path}/none": "no checkpoint folder",
    }.items():
        assert cli.main(command.split()) == 2
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") == 1
        assert not own.exists()


def spoken(n: int, alphabet: str, space: str) -> list[TextPair]:
    """Return pairs of sentences whose words are drawn from an alphabet."""
    rng = random.Random(n)
    words = ["".join(rng.choices(alphabet, k=3)) for _ in range(20)]
    texts = [[rng.choice(words) for _ in range(4)] for _ in range(n)]
    return [TextPair(space.join(text), space.join(reversed(text))) for text in texts]


def test_a_vocabulary_spells_every_script_and_never_sees_what_is_held_out() -> None:
    for name, alphabet, space in (
        ("Chinese", "的一是了我不人在他有", ""),
        ("Thai", "กขคงจฉชซญด", ""),
        ("Japanese", "ひらがなのことばです", ""),
        ("Spanish", "abcdeñáéio", " "),
    ):
        pairs = spoken(60, alphabet, space)
        vocabulary = files.vocabulary_for(pairs[:50], n_tokens=320)
        assert len(vocabulary) <= 320, name
        held_out = [*pairs[50:], TextPair("zebra 斑马 ۸", "zebra")]
        for pair in held_out:
            assert vocabulary.decode(vocabulary.encode(pair.source)) == pair.source, name
        assert vocabulary == files.vocabulary_for(pairs[:50], n_tokens=320)
        assert "z" not in vocabulary.tokens, name
        assert max(map(len, vocabulary.words())) < max(len(pair.source) for pair in pairs), name


def test_held_out_pairs_with_unknown_words_are_counted_and_never_learned(tmp_path: Path) -> None:
    words = files.vocabulary_for(TRAIN, words=True)
    strange = [
        TextPair("the zebra sleeps", "la cebra duerme"),
        TextPair("the cat sleeps", "el quagga duerme"),
    ]
    learned = {word for pair in TRAIN for word in re.findall(r"\w+", f"{pair.source} {pair.target}".lower())}
    known = [
        pair
        for pair in VALIDATION
        if {*re.findall(r"\w+", f"{pair.source} {pair.target}".lower())} <= learned
    ]
    assert len(known) < len(VALIDATION)
    done = files.train_files(
        TRAIN, [*VALIDATION, *strange], tmp_path / "own", model=MODEL, training=TRAINING, vocabulary=words
    )
    assert done.n_unknown == len(VALIDATION) - len(known) + len(strange)
    translator = load_translator(done.folder)
    assert {"zebra", "quagga"}.isdisjoint(translator.vocabulary.tokens)
    assert done.metrics[-1].validation_loss == pytest.approx(
        validation_loss(translator.model, known, words), rel=1e-6
    )
    # Evaluation counts such a sentence as a wrong one; it leaves none out.
    found, known_alone = evaluate(translator, [*known[:4], strange[0]]), evaluate(translator, known[:4])
    assert (found.n, found.n_unknown, found.translations[-1]) == (5, 1, "")
    assert (known_alone.n_unknown, found.translations[:-1]) == (0, known_alone.translations)
    assert found.chrf <= known_alone.chrf
    with pytest.raises(UserError, match="zebra"):
        evaluate(translator, strange[:1])
    with pytest.raises(UserError, match=r"each of the 2 validation pairs .*without spaces.*--words"):
        files.train_files(TRAIN, strange, tmp_path / "none", vocabulary=words)
    assert not (tmp_path / "none").exists()


def test_a_resumed_training_says_which_of_its_pairs_changed(table: Path, tmp_path: Path, capsys) -> None:
    folder, text = tmp_path / "own", table.read_text("utf-8")
    for words in ("--words", "--tokens 300"):
        command = f"train --pairs {table} --out {folder} {words} {' '.join(ARGUMENTS)} --minutes 0".split()
        table.write_text(text, "utf-8")
        assert cli.main([*command, "--overwrite"]) == 0
        before = weights(folder)
        for changed, told in (
            (text + "a zebra\tuna cebra\n", r" pairs \(\d+ then, \d+ now\).*same files.*--from"),
            (text[text.index("\n") + 1 :], r" pairs \(\d+ then, \d+ now\)"),
            (text.replace("cat", "dog", 1), r" pairs \(as many, other text\)"),
        ):
            table.write_text(changed, "utf-8")
            capsys.readouterr()
            assert cli.main([*command, "--resume"]) == 2, told
            error = capsys.readouterr().err
            assert re.search(f"^viz-transformer: since the training in .*{told}", error), error
            assert error.count("\n") == 1
            assert weights(folder) == before
    table.write_text(text, "utf-8")
    assert cli.main([*command[:-2], "--resume"]) == 0
    assert cli.main([*command[:-2], "--resume", "--tokens", "310"]) == 2
    assert "begun with another vocabulary" in capsys.readouterr().err


def test_new_pairs_go_on_from_a_trained_model(table: Path, tmp_path: Path, capsys) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    command = ["train", "--pairs", str(table), *ARGUMENTS]
    assert cli.main([*command, "--tokens", "300", "--out", str(first)]) == 0
    begun = load_translator(first)
    new = tmp_path / "new.tsv"
    new.write_text("".join(f"a zebra of {n} years\tuna cebra de {n} años\n" for n in range(80)), "utf-8")
    on = ["train", "--pairs", str(new), *SIZES.split()[:4], "--from", str(first)]
    assert cli.main([*on, "--minutes", "0", "--learning-rate", "1e-30", "--out", str(second)]) == 0
    gone_on = load_translator(second)
    assert gone_on.vocabulary == begun.vocabulary
    assert gone_on.model.config == begun.model.config
    for name, value in begun.model.state_dict().items():
        torch.testing.assert_close(gone_on.model.state_dict()[name], value, msg=name)
    assert json.loads((second / "made_by.json").read_text())["from"] == str(first)
    assert cli.main([*on, "--learning-rate", "1e-30", "--out", str(second), "--resume"]) == 0
    # What was held out of the first training is held out of the second.
    again = ["train", "--pairs", str(first / files.TEST), "--from", str(first), *SIZES.split()[:4]]
    capsys.readouterr()
    for arguments, told in (
        ([*on, "--tokens", "300"], "base (--from) brings its own vocabulary"),
        ([*on, "--d-model", "32"], "base (--from) brings its own vocabulary and sizes"),
        (again, "first's test sentences are also in training"),
        ([*on[:-1], str(tmp_path / "none")], "no checkpoint folder at"),
        (["train", "en-es", "--from", str(first)], "--from is for a training on your own pairs"),
    ):
        assert cli.main([*arguments, "--out", str(tmp_path / "third")]) == 2, told
        assert told in capsys.readouterr().err
        assert not (tmp_path / "third").exists()
    of_words = tmp_path / "words"
    assert cli.main([*command, "--words", "--out", str(of_words)]) == 0
    capsys.readouterr()
    assert cli.main([*on[:-1], str(of_words), "--out", str(tmp_path / "third")]) == 2
    assert re.search(r"7\d of 7\d training pairs cannot be written .*'zebra'", capsys.readouterr().err)


def killed_while_it_trains(arguments: list[str], state: Path, rng: random.Random) -> int:
    """Run a command in a process of its own, kill it -9 a little after it kept something new."""
    before = state.stat().st_mtime_ns if state.exists() else 0
    process = os.fork()
    if process == 0:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            os._exit(cli.main(arguments))
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status
        if state.exists() and state.stat().st_mtime_ns != before:
            time.sleep(rng.random() / 20)
            os.kill(process, signal.SIGKILL)
            return os.waitpid(process, 0)[1]


def test_killed_at_random_moments_it_ends_with_the_same_weights(table: Path, tmp_path: Path) -> None:
    command = ["train", "--pairs", str(table), *ARGUMENTS, "--steps", "40", "--look-every", "8", "--out"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert cli.main([*command, str(whole)]) == 0
    rng = random.Random(0)
    status = killed_while_it_trains([*command, str(killed)], killed / files.STATE, rng)
    n_killed = 0
    while os.WIFSIGNALED(status):
        n_killed += 1
        load_translator(killed)  # a whole checkpoint stands at every moment
        status = killed_while_it_trains([*command, str(killed), "--resume"], killed / files.STATE, rng)
    assert n_killed >= 3
    assert status == 0
    assert weights(killed) == weights(whole)
