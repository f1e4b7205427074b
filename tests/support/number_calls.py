"""The calls that take a number: those to which it means a size, with what they take at most; and others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args
from unittest.mock import MagicMock

import torch

import viz_transformer as vt
from tests.support.hand_made_traces import make_trace
from tests.support.hand_made_trainings import make_training
from viz_transformer import analysis, corpus, decoding, experiments, plots, recipes
from viz_transformer.cli import main
from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.config.model import Family
from viz_transformer.corpus.batches import batches
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.soft_targets import chosen_sentences
from viz_transformer.errors import UserError
from viz_transformer.experiments.depth import deep_model
from viz_transformer.experiments.saturation import drawn_scores
from viz_transformer.huggingface_text import HuggingFaceText
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer
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

SCORES = [[1.0, 2.0], [0.0, -1.0]]
TRACE, TRAINING = make_trace(), make_training()
POSITIONS = sinusoidal_encoding(24, 16).numpy()

#: As much of a model of Hugging Face's and its tokenizer as is looked at before the number.
WRITER = SimpleNamespace(can_generate=lambda: True, main_input_name="input_ids")
READER = MagicMock(spec=["__call__", "convert_ids_to_tokens"])


@dataclass(frozen=True)
class NumberCall:
    """A call that takes a number, and numbers just within and just beyond what it takes.

    `within` is None where the largest number that is taken costs too much for a test.
    """

    call: Callable[[Any], object]
    within: float | None
    beyond: float


def build(name: str, family: Family = "encoder-decoder") -> Callable[[int], object]:
    return lambda size: MODELS[family](ModelConfig(**{**SMALL, "family": family, name: size}))


def configured(name: str, most: int, **others: Any) -> NumberCall:
    return NumberCall(lambda size: ModelConfig(**{**SMALL, **others, name: size}), most, most + 1)


def training(name: str, most: int) -> NumberCall:
    return NumberCall(lambda number: TrainConfig(**{name: number}), most, most + 1)


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
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            try:
                code = main([*arguments, str(number)])
            except SystemExit as ended:  # what is no number
                code = ended.code
        if code == 2:
            raise UserError("the command refused it")
        return None

    return run


def leak(**options: int) -> object:
    return experiments.measure_causal_leak(causal_mask=True, **options)


def view_of_trace(**options: Any) -> vt.AttentionExplorer:
    return vt.explore(TRACE, **options)


def write_pairs() -> None:
    """Write the file that the commands read."""
    Path("pairs.tsv").write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in PAIRS))


TRAIN = ("train", "--pairs", "pairs.tsv", "--out", "out")
NUMBER_CALLS: dict[str, NumberCall] = {
    # Searches and draws
    "translate": NumberCall(lambda n: vt.load_translator().translate(TEXT, n), 100, 1_001),
    "translate_all": NumberCall(lambda n: vt.load_translator().translate_all([TEXT], n), None, 1_001),
    "decode": NumberCall(lambda n: vt.load_translator().decode(TEXT, n), None, 1_001),
    "complete": NumberCall(lambda n: vt.load_language_model().complete(WORDS, n), None, 1_001),
    "beam_search": NumberCall(lambda n: search(beam_width=n), 1_000, 1_001),
    "n_best": NumberCall(lambda n: search(n_best=n), 4, 5),
    "min_length": NumberCall(lambda n: search(min_length=n), 1, 2),
    "length_penalty": NumberCall(lambda n: search(length_penalty=n), 100, 101),
    "max_length": NumberCall(lambda n: search(decoding.sample, n), 63, 64),
    "evaluate": NumberCall(
        lambda n: evaluate(vt.load_translator(), [TextPair(TEXT, "el gato")], n), 2, 1_001
    ),
    "sample_tokens": NumberCall(lambda n: vt.load_translator().sample_tokens(TEXT, n), 1_000, 400_000),
    "sample_texts": NumberCall(lambda n: vt.load_language_model().sample_texts(WORDS, n), None, 1_000_001),
    "seed of draws": NumberCall(
        lambda n: vt.load_translator().sample_tokens(TEXT, 1, seed=n), 2**63 - 1, 2**63
    ),
    "beam_stepper": NumberCall(lambda n: vt.beam_stepper(vt.load_translator(), TEXT, beam_width=n), 100, 101),
    "beam_stepper.beam_width": NumberCall(lambda n: setattr(stepper(), "beam_width", n), 100, 101),
    # Models
    **{name: configured(name, 1_000) for name in ("n_encoder_layers", "n_decoder_layers")},
    **{name: configured(name, 10_000_000) for name in ("vocab_size", "d_ff", "max_length", "d_model")},
    "n_heads": configured("n_heads", 8),
    "target_vocab_size": configured("target_vocab_size", 10_000_000),
    **{name: configured(name, 10_000_000, family="encoder") for name in ("n_segments", "n_classes")},
    **{f"a wide {family}": NumberCall(build("d_model", family), 16, 9_999_998) for family in MODELS},
    "causal_mask": NumberCall(causal_mask, 100, 10_000_000),
    "sinusoidal_encoding": NumberCall(lambda n: sinusoidal_encoding(n, 1_000), 100, 10**8),
    "SinusoidalPositions": NumberCall(lambda n: SinusoidalPositions(8, n), 1_000, 10**10),
    "RotaryPositions": NumberCall(lambda n: RotaryPositions(n, 1_000), 100, 10**8),
    "threads": NumberCall(lambda n: threads(n).__enter__(), None, 1_025),
    # Trainings
    **{name: training(name, 10_000_000) for name in ("n_steps", "warmup_steps")},
    **{name: training(name, 100_000_000) for name in ("batch_size", "batch_tokens", "accumulate")},
    "seed": training("seed", 2**63 - 1),
    "look_every": NumberCall(lambda n: trained("looks", look_every=n), None, 10_000_001),
    "looks": NumberCall(lambda n: trained("looks", n_steps=n, look_every=1), None, 10_001),
    "moments": NumberCall(lambda n: moments_for(1_000, n), 10_000, 10_001),
    "moments of steps": NumberCall(moments_for, 10_000_000, 10_000_001),
    "batches to skip": NumberCall(
        lambda n: next(batches(PAIRS, vocabulary_for(PAIRS), 2, 0, start=n)), 100, 10_000_001
    ),
    "pieces of words": NumberCall(
        lambda n: vocabulary_for(PAIRS * 9, words=False, n_tokens=n), 1_000_000, 1_000_001
    ),
    # Corpora
    "english_spanish": NumberCall(lambda n: corpus.english_spanish(n, 1), 100, 1_000_001),
    "held out": NumberCall(lambda n: corpus.english_spanish(10, n), 100, 100_001),
    "held out of a kind": NumberCall(lambda n: corpus.english_spanish(10, 1, n).held_out_fish, 100, 1_001),
    "held_out_sets": NumberCall(recipes.held_out_sets, None, 100_001),
    "chosen_sentences": NumberCall(lambda n: chosen_sentences(n, 0), 10, 1_000_001),
    # Experiments
    "score_spread": NumberCall(experiments.score_spread, 1_000, 20_000),
    "score_spread of keys": NumberCall(lambda n: experiments.score_spread(8, n_keys=n), 100, 20_000),
    "score_spread of queries": NumberCall(lambda n: experiments.score_spread(8, n_queries=n), 100, 4_000_000),
    "seed of an experiment": NumberCall(lambda n: experiments.score_spread(8, seed=n), 2**63 - 1, 2**63),
    "slope_spread": NumberCall(experiments.slope_spread, 64, 20_000),
    "drawn_scores": NumberCall(drawn_scores, 64, 20_000),
    "compare_scorings": NumberCall(experiments.compare_scorings, 64, 20_000),
    "compare_scorings of words": NumberCall(
        lambda n: experiments.compare_scorings(8, n_words=n), 100, 10_000
    ),
    "shift": NumberCall(lambda n: experiments.shift_experiment(shift=n), 1_000, 9_999_999),
    "shift of words": NumberCall(lambda n: experiments.shift_experiment(n_words=n), 100, 20_000),
    "shift of a width": NumberCall(lambda n: experiments.shift_experiment(d_model=n), 100, 20_000),
    "deep_model": NumberCall(lambda n: deep_model(n, "pre"), 10, 1_001),
    "head_scores": NumberCall(
        lambda n: experiments.head_scores(vt.load_language_model().model, n_texts=n), 1, 10_001
    ),
    "period": NumberCall(
        lambda n: experiments.head_scores(vt.load_language_model().model, period=n, n_texts=1), 8, 10_001
    ),
    # Reading other models
    "max_new_tokens": NumberCall(
        lambda n: vt.capture(
            vt.load_language_model().model, input_ids=torch.tensor([[1]]), tokens=["a"], max_new_tokens=n
        ),
        None,
        10_001,
    ),
    "max_new_tokens of a lab": NumberCall(lambda n: HuggingFaceText(WRITER, READER, n), None, 10_001),
    # Sizes, seeds and strengths of what is made
    "layers_at_same_depth": NumberCall(lambda n: analysis.layers_at_same_depth(n, 6), 1_000, 1_001),
    "layers of the other": NumberCall(lambda n: analysis.layers_at_same_depth(6, n), 1_000, 1_001),
    "factor of a head": NumberCall(lambda n: vt.HeadChange("cross", 0, 0, factor=n), 1_000_000, 1_000_001),
    "std": NumberCall(lambda n: experiments.UntrainedModel.start(SimpleNamespace(), n), None, 1_000_001),
    "seed of a start": NumberCall(lambda n: experiments.UntrainedModel(n), None, 2**63),
    "gradients_by_depth": NumberCall(experiments.gradients_by_depth, 1, 1_001),
    "seed of gradients": NumberCall(lambda n: experiments.gradients_by_depth(1, seed=n), 2**63 - 1, 2**63),
    "losses_by_depth": NumberCall(experiments.losses_by_depth, None, 1_001),
    "steps of losses": NumberCall(lambda n: experiments.losses_by_depth(1, n_steps=n), 1, 10_000_001),
    "steps of a leak": NumberCall(lambda n: leak(n_steps=n), None, 10_000_001),
    "seed of a leak": NumberCall(lambda n: leak(n_steps=0, seed=n), None, 2**63),
    "random_head": NumberCall(lambda n: experiments.random_head(n), 100, 20_000),
    "random_head of a width": NumberCall(lambda n: experiments.random_head(d_model=n), 100, 20_000),
    "AttentionOnly": NumberCall(lambda n: recipes.AttentionOnly(d_model=n), 64, 1_000_000),
    "AttentionOnly of tokens": NumberCall(lambda n: recipes.AttentionOnly(n), 100, 10_000_001),
    "six_pairs_training": NumberCall(lambda n: recipes.six_pairs_training(n_epochs=n), None, 10_000_001),
    "moments of six pairs": NumberCall(lambda n: recipes.six_pairs_training(0, 1, n), None, 10_001),
    "six_pairs_translator": NumberCall(recipes.six_pairs_translator, None, 10_000_001),
    "align": NumberCall(lambda n: recipes.align_english_spanish(vt.load_translator(), n), None, 100_001),
    "nearest": NumberCall(
        lambda n: vt.load_translator().vocabulary.nearest("cat", n=n), 1_000_000, 1_000_001
    ),
    # Pictures
    "power": NumberCall(lambda n: plots.plot_drawn_scores(SCORES, 8, power=n), 1, 2),
    "drawn width": NumberCall(lambda n: plots.plot_drawn_scores(SCORES, n), 10_000_000, 10_000_001),
    "scaling_lab": NumberCall(
        lambda n: vt.scaling_lab({1: SCORES, n: SCORES}, d_k=1), 10_000_000, 10_000_001
    ),
    "text_size": NumberCall(lambda n: setattr(view_of_trace(), "text_size", n), 4, 5),
    "dpi": NumberCall(
        lambda n: plots.save_figure(plots.plot_probabilities({"a": 1.0}).figure, "a.png", dpi=n), 200, 1_201
    ),
    "bins": NumberCall(lambda n: analysis.reliability([0.5], [True], n_bins=n), 4_096, 4_097),
    "drawn bins": NumberCall(lambda n: plots.plot_reliability([0.5], [True], n_bins=n), 100, 4_097),
    "plot_split": NumberCall(lambda n: plots.plot_split(["a"], n, 1), 1_000, 4_097),
    "plot_split of heads": NumberCall(lambda n: plots.plot_split(["a"], n, n), 4, 129),
    "model_summary_lab": NumberCall(lambda n: setattr(vt.model_summary_lab(), "n_layers", n), 200, 201),
    # Commands
    "translate --beam-width": NumberCall(command("translate", TEXT, "--beam-width"), 4, 1_001),
    "evaluate --beam-width": NumberCall(
        command("evaluate", "--pairs", "pairs.tsv", "--beam-width"), None, 1_001
    ),
    "coreference --seeds": NumberCall(command("coreference", "--seeds"), None, 1_001),
    **{
        f"train --{name}": NumberCall(
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


def options_of(what: str, call: Callable[..., object], names: str) -> dict[str, Callable[[Any], object]]:
    return {f"{what} {name}": lambda n, name=name: call(**{name: n}) for name in names.split()}


def reply(**options: Any) -> object:
    return vt.load_translator().sample(TEXT, **options)


def page(**options: Any) -> object:
    return vt.export_html(view_of_trace(), "page.html", **options)


def head_of_trace(layer: Any = 0, head: Any = 0) -> object:
    return vt.analysis.alignment_links(TRACE, layer, head)


#: Calls in which a number is a place, a share, a strength or a size that may be as large as it likes.
OTHER_CALLS: dict[str, Callable[[Any], object]] = {
    **options_of("explore", view_of_trace, "layer head query key selected threshold seconds_per_frame grid"),
    **options_of("watch_training", partial(vt.watch_training, TRAINING), "moment sentence layer head"),
    **options_of("position_clock", partial(vt.position_clock, POSITIONS), "pair position"),
    **options_of("scaling_lab", partial(vt.scaling_lab, {1: SCORES, 8: SCORES}), "d_k power"),
    **options_of("softmax_lab", vt.softmax_lab, "times"),
    **options_of("model_summary_lab", vt.model_summary_lab, "d_model n_heads n_layers d_ff vocab_size"),
    **options_of("sample", reply, "temperature top_k top_p seed"),
    **options_of("export_html", page, "max_megabytes"),
    **options_of("alignment_links", head_of_trace, "layer head"),
    **options_of("plot_training", partial(plots.plot_training, TRAINING), "moment sentence layer head"),
    "plot_softmax": lambda n: plots.plot_softmax([1.0, 2.0], times=n),
    "plot_similarity": lambda n: plots.plot_similarity(POSITIONS, n),
    "plot_wavelength": lambda n: plots.plot_wavelength(POSITIONS, n),
    "plot_heads": lambda n: plots.plot_heads(TRACE, "cross", layers=[n]),
    "grid": lambda n: view_of_trace(grid=(n, n)),
    "widths": lambda n: vt.scaling_lab({n: SCORES, 8: SCORES}),
    "weights_between": lambda n: analysis.weights_between(TRACE, "cross", n, 0),
    "predict_number": lambda n: vt.predict_number("How many?", n),
    "softmax_lab scores": lambda n: vt.softmax_lab([n, 0]),
    "schedule_lab": lambda n: vt.schedule_lab(lambda *_: [2.0, 1.0], [n], [n], [n]),
    "schedule_lab level": lambda n: vt.schedule_lab(lambda *_: [2.0], [1], [1], [1], level=("ln", n)),
    "rollout": lambda n: analysis.rollout(TRACE, "encoder", residual=n),
}
