"""Numbers that would fill the memory or never end are refused in one line, everywhere they are taken."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args
from unittest.mock import MagicMock

import pytest
import torch

import viz_transformer as vt
from viz_transformer import _bounds, analysis, corpus, decoding, experiments, plots, recipes
from viz_transformer.cli import main
from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.config.model import Family
from viz_transformer.corpus.batches import batches
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.soft_targets import chosen_sentences
from viz_transformer.errors import UserError
from viz_transformer.experiments.depth import deep_model
from viz_transformer.experiments.saturation import drawn_scores
from viz_transformer.labs.huggingface_text import HuggingFaceText
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer
from viz_transformer.model.families.family_config import check_room
from viz_transformer.model.masks import causal_mask
from viz_transformer.model.positional import RotaryPositions, SinusoidalPositions, sinusoidal_encoding
from viz_transformer.model.threads import threads
from viz_transformer.recipes.evaluation import evaluate
from viz_transformer.recipes.files import train_files, vocabulary_for
from viz_transformer.recipes.recording import moments_for
from viz_transformer.widgets.beam_stepper.view import BeamStepper

TEXT, WORDS = "the cat sleeps", "el gato"
SMALL: dict[str, Any] = {
    **{"vocab_size": 20, "d_model": 8, "n_heads": 2, "d_ff": 8, "max_length": 8},
    **{"n_encoder_layers": 1, "n_decoder_layers": 1},
}
MODELS = dict(zip(get_args(Family), (Transformer, EncoderOnly, DecoderOnly), strict=True))
PAIRS = [TextPair(f"one {word}", f"uno {word}") for word in "abcdefghij"]

#: As much of a model of Hugging Face's and its tokenizer as is looked at before the number.
WRITER = SimpleNamespace(can_generate=lambda: True, main_input_name="input_ids")
READER = MagicMock(spec=["__call__", "convert_ids_to_tokens"])


@dataclass(frozen=True)
class Door:
    """A call that takes a number, and numbers just within and just beyond what it takes.

    `within` is None where the largest number that is taken costs too much for a test.
    """

    call: Callable[[Any], object]
    within: float | None
    beyond: float


def build(name: str, family: Family = "encoder-decoder") -> Callable[[int], object]:
    return lambda size: MODELS[family](ModelConfig(**{**SMALL, "family": family, name: size}))


def configured(name: str, most: int, **others: Any) -> Door:
    return Door(lambda size: ModelConfig(**{**SMALL, **others, name: size}), most, most + 1)


def training(name: str, most: int) -> Door:
    return Door(lambda number: TrainConfig(**{name: number}), most, most + 1)


def search(find: Callable[..., object] = decoding.beam_search, max_length: int = 1, **options: Any) -> object:
    model = vt.load_translator()
    source = model.vocabulary.source_ids(TEXT)
    return find(model.model, [source], model.vocabulary, max_length=max_length, **options)


def stepper() -> BeamStepper:
    return vt.beam_stepper(vt.load_translator(), TEXT)


def trained(folder: str, **options: int) -> object:
    config = ModelConfig(**SMALL)
    training = TrainConfig(n_steps=options.pop("n_steps", 2))
    return train_files(PAIRS, PAIRS[:0], folder, model=config, training=training, **options)


def command(*arguments: str) -> Callable[[Any], object]:
    """Return a function that puts a number behind a command; the command must refuse it with status 2."""

    def run(number: Any) -> object:
        if main([*arguments, str(number)]) == 2:
            raise UserError("the command refused it")
        return None

    return run


TRAIN = ("train", "--pairs", "pairs.tsv", "--out", "out")
DOORS: dict[str, Door] = {
    # Searches and draws
    "translate": Door(lambda n: vt.load_translator().translate(TEXT, n), 100, 1_001),
    "translate_all": Door(lambda n: vt.load_translator().translate_all([TEXT], n), None, 1_001),
    "decode": Door(lambda n: vt.load_translator().decode(TEXT, n), None, 1_001),
    "complete": Door(lambda n: vt.load_language_model().complete(WORDS, n), None, 1_001),
    "beam_search": Door(lambda n: search(beam_width=n), 1_000, 1_001),
    "n_best": Door(lambda n: search(n_best=n), 4, 5),
    "min_length": Door(lambda n: search(min_length=n), 1, 2),
    "length_penalty": Door(lambda n: search(length_penalty=n), 100, 101),
    "max_length": Door(lambda n: search(decoding.sample, n), 63, 64),
    "evaluate": Door(lambda n: evaluate(vt.load_translator(), [TextPair(TEXT, "el gato")], n), 2, 1_001),
    "sample_tokens": Door(lambda n: vt.load_translator().sample_tokens(TEXT, n), 1_000, 400_000),
    "sample_texts": Door(lambda n: vt.load_language_model().sample_texts(WORDS, n), None, 1_000_001),
    "seed of draws": Door(lambda n: vt.load_translator().sample_tokens(TEXT, 1, seed=n), 2**63 - 1, 2**63),
    "beam_stepper": Door(lambda n: vt.beam_stepper(vt.load_translator(), TEXT, beam_width=n), 100, 101),
    "beam_stepper.beam_width": Door(lambda n: setattr(stepper(), "beam_width", n), 100, 101),
    # Models
    **{name: configured(name, 1_000) for name in ("n_encoder_layers", "n_decoder_layers")},
    **{name: configured(name, 10_000_000) for name in ("vocab_size", "d_ff", "max_length", "d_model")},
    "n_heads": configured("n_heads", 8),
    "target_vocab_size": configured("target_vocab_size", 10_000_000),
    **{name: configured(name, 10_000_000, family="encoder") for name in ("n_segments", "n_classes")},
    **{f"a wide {family}": Door(build("d_model", family), 16, 9_999_998) for family in MODELS},
    "causal_mask": Door(causal_mask, 100, 10_000_000),
    "sinusoidal_encoding": Door(lambda n: sinusoidal_encoding(n, 1_000), 100, 10**8),
    "SinusoidalPositions": Door(lambda n: SinusoidalPositions(8, n), 1_000, 10**10),
    "RotaryPositions": Door(lambda n: RotaryPositions(n, 1_000), 100, 10**8),
    "threads": Door(lambda n: threads(n).__enter__(), None, 1_025),
    # Trainings
    **{name: training(name, 10_000_000) for name in ("n_steps", "warmup_steps")},
    **{name: training(name, 100_000_000) for name in ("batch_size", "batch_tokens", "accumulate")},
    "seed": training("seed", 2**63 - 1),
    "look_every": Door(lambda n: trained("looks", look_every=n), None, 10_000_001),
    "looks": Door(lambda n: trained("looks", n_steps=n, look_every=1), None, 10_001),
    "moments": Door(lambda n: moments_for(1_000, n), 10_000, 10_001),
    "moments of steps": Door(moments_for, 10_000_000, 10_000_001),
    "batches to skip": Door(
        lambda n: next(batches(PAIRS, vocabulary_for(PAIRS), 2, 0, start=n)), 100, 10_000_001
    ),
    "pieces of words": Door(
        lambda n: vocabulary_for(PAIRS * 9, words=False, n_tokens=n), 1_000_000, 1_000_001
    ),
    # Corpora
    "english_spanish": Door(lambda n: corpus.english_spanish(n, 1), 100, 1_000_001),
    "held out": Door(lambda n: corpus.english_spanish(10, n), 100, 100_001),
    "held out of a kind": Door(lambda n: corpus.english_spanish(10, 1, n).held_out_fish, 100, 1_001),
    "held_out_sets": Door(recipes.held_out_sets, None, 100_001),
    "chosen_sentences": Door(lambda n: chosen_sentences(n, 0), 10, 1_000_001),
    # Experiments
    "score_spread": Door(experiments.score_spread, 1_000, 20_000),
    "score_spread of keys": Door(lambda n: experiments.score_spread(8, n_keys=n), 100, 20_000),
    "score_spread of queries": Door(lambda n: experiments.score_spread(8, n_queries=n), 100, 4_000_000),
    "seed of an experiment": Door(lambda n: experiments.score_spread(8, seed=n), 2**63 - 1, 2**63),
    "slope_spread": Door(experiments.slope_spread, 64, 20_000),
    "drawn_scores": Door(drawn_scores, 64, 20_000),
    "compare_scorings": Door(experiments.compare_scorings, 64, 20_000),
    "compare_scorings of words": Door(lambda n: experiments.compare_scorings(8, n_words=n), 100, 10_000),
    "shift": Door(lambda n: experiments.shift_experiment(shift=n), 1_000, 9_999_999),
    "shift of words": Door(lambda n: experiments.shift_experiment(n_words=n), 100, 20_000),
    "shift of a width": Door(lambda n: experiments.shift_experiment(d_model=n), 100, 20_000),
    "deep_model": Door(lambda n: deep_model(n, "pre"), 10, 1_001),
    "head_scores": Door(
        lambda n: experiments.head_scores(vt.load_language_model().model, n_texts=n), 1, 10_001
    ),
    "period": Door(
        lambda n: experiments.head_scores(vt.load_language_model().model, period=n, n_texts=1), 8, 10_001
    ),
    # Reading other models
    "max_new_tokens": Door(
        lambda n: vt.capture(
            vt.load_language_model().model, input_ids=torch.tensor([[1]]), tokens=["a"], max_new_tokens=n
        ),
        None,
        10_001,
    ),
    "max_new_tokens of a lab": Door(lambda n: HuggingFaceText(WRITER, READER, n), None, 10_001),
    # Pictures
    "dpi": Door(
        lambda n: plots.save_figure(plots.plot_probabilities({"a": 1.0}).figure, "a.png", dpi=n), 200, 1_201
    ),
    "bins": Door(lambda n: analysis.reliability([0.5], [True], n_bins=n), 4_096, 4_097),
    "drawn bins": Door(lambda n: plots.plot_reliability([0.5], [True], n_bins=n), 100, 4_097),
    "plot_split": Door(lambda n: plots.plot_split(["a"], n, 1), 1_000, 4_097),
    "plot_split of heads": Door(lambda n: plots.plot_split(["a"], n, n), 4, 129),
    "model_summary_lab": Door(lambda n: setattr(vt.model_summary_lab(), "n_layers", n), 200, 201),
    # Commands
    "translate --beam-width": Door(command("translate", TEXT, "--beam-width"), 4, 1_001),
    "evaluate --beam-width": Door(command("evaluate", "--pairs", "pairs.tsv", "--beam-width"), None, 1_001),
    "coreference --seeds": Door(command("coreference", "--seeds"), None, 1_001),
    **{
        f"train --{name}": Door(
            command("train", "--pairs", "pairs.tsv", "--out", "out", f"--{name}"), None, beyond
        )
        for beyond, names in {
            10_000_001: "steps look-every d-ff max-length warmup-steps",
            100_000_001: "batch-tokens",
            9_999_996: "d-model",
            1_025: "threads",
            1_001: "n-layers",
            2**63: "seed",
        }.items()
        for name in names.split()
    },
}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.tsv").write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in PAIRS))


#: One line that names what would do.
_REFUSED = re.compile(
    r".*(at most \d|at least \d|from \d+ to \S|(give|be) 1 to \d| GiB|does not divide|widen|the command).*"
)


def refusal(call: Callable[[Any], object], number: Any) -> str:
    """Return what is wrong with how a call refuses a number; "" where nothing is."""
    try:
        call(number)
    except UserError as error:
        return "" if _REFUSED.fullmatch(str(error)) else f"refused for another reason: {error}"
    except Exception as error:  # the table names the row
        return repr(error)
    return "not refused"


def test_a_number_beyond_its_bound_is_refused_in_one_line_and_nothing_is_written() -> None:
    found = {
        f"{name}: {number}": wrong
        for name, door in DOORS.items()
        for number in (door.beyond, 10**9, 10**18)
        if number >= door.beyond and (wrong := refusal(door.call, number))
    }
    assert found == {}
    assert {path.name for path in Path().iterdir()} == {"pairs.tsv"}


def test_a_number_just_within_its_bound_is_taken() -> None:
    found = {}
    for name, door in DOORS.items():
        try:
            if door.within is not None:
                door.call(door.within)
        except Exception as error:  # the table names the row
            found[name] = repr(error)
    assert found == {}


def test_values_that_are_not_numbers_are_still_refused() -> None:
    names = ["translate", "sample_tokens", "n_steps", "d_model", "score_spread", "bins", "dpi", "shift"]
    found = {
        f"{name}: {value!r}": wrong
        for name in names
        for value in (True, float("nan"), "8", None, 0, -1, 2.5)
        if (wrong := refusal(DOORS[name].call, value))
    }
    assert found == {}


def test_a_model_that_the_machine_cannot_hold_is_refused_and_on_meta_none_is() -> None:
    config = ModelConfig(**{**SMALL, "d_model": 200_000, "d_ff": 800_000})
    with pytest.raises(UserError, match=r"takes .* GiB, and this machine has"):
        Transformer(config)
    with torch.device("meta"):  # where no model takes any memory
        check_room(config)


def test_the_engine_has_the_same_widest_beam() -> None:
    script = Path(vt.__file__).with_name("engine") / "decoding" / "beam.js"
    found = re.search(r"MOST_BEAMS = ([\d_]+);", script.read_text(encoding="utf-8"))
    assert found is not None
    assert int(found[1]) == _bounds.BEAM.most
