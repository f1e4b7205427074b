"""The commands `train`, `evaluate` and `coreference`."""

from __future__ import annotations

import argparse
import os
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viz_transformer._bounds import SEEDS, THREADS, whole_number
from viz_transformer._files import atomic_write, check_not_input, check_unused, given_path
from viz_transformer.errors import UserError

if TYPE_CHECKING:  # commands import what they need when they run
    from viz_transformer.config import ModelConfig, TrainConfig
    from viz_transformer.corpus.columns import Columns
    from viz_transformer.corpus.files import TextPair
    from viz_transformer.corpus.split import Split
    from viz_transformer.recipes.files import TrainingResult
    from viz_transformer.translator import Translator


def add_training(commands: Any) -> None:
    """Add the commands to a parser's."""
    _add_train(commands)
    _add_evaluate(commands)
    _add_coreference(commands)


def _add_train(commands: Any) -> None:
    train = commands.add_parser(
        "train",
        help="train a translator on your own sentence pairs",
        description="Give your own pairs: two files with a sentence a line (--source and --target), or "
        "one with a tab between the sentence and its translation (--pairs). Plain or gzip, UTF-8. In a "
        "clone of the repository en-es, language-model or masked-model makes that bundled model again.",
    )
    train.add_argument("corpus", nargs="?", choices=_BUNDLED, help="a bundled model, in a clone")
    _add_pairs(train, "to learn from")
    train.add_argument("--out", metavar="DIR", help="the checkpoint folder (default: the model's name)")
    train.add_argument("--steps", type=int, metavar="N", help="optimiser steps")
    train.add_argument("--seed", type=int, default=0, metavar="N")
    train.add_argument("--overwrite", action="store_true", help="replace the model that is in --out")
    _add_own(train.add_argument_group("with your own pairs"))
    train.set_defaults(run=_train)


def _add_own(own: Any) -> None:
    """Add the options of a training on one's own pairs."""
    _add_pairs(own, "to measure with (default: held out by rule)", "validation-")
    own.add_argument("--tokens", type=int, metavar="N", help="how many pieces of words (default: 8000)")
    own.add_argument("--words", action="store_true", help="use whole words, not pieces of words")
    own.add_argument("--minutes", type=float, metavar="X", help="stop after X minutes")
    own.add_argument("--look-every", type=int, default=500, metavar="N", help="steps between looks")
    own.add_argument("--resume", action="store_true", help="continue the stopped training in --out")
    own.add_argument("--from", dest="base", metavar="MODEL", help="begin from a trained translator's folder")
    own.add_argument("--drop-long", action="store_true", help="leave out pairs that are too long")
    own.add_argument("--drop-leaks", action="store_true", help="leave out pairs that are also held out")
    own.add_argument("--device", default="cpu", help="cpu, cuda or mps (default: cpu)")
    own.add_argument("--bfloat16", action="store_true", help="faster, where the hardware has it")
    own.add_argument("--threads", type=int, metavar="N", help="threads of the processor")
    own.add_argument(
        "--schedule",
        choices=["cosine", "inverse_sqrt", "constant"],
        help="the learning rate after the warm-up; cosine falls to zero at the last "
        "step (default: inverse_sqrt, which you may stop at any step)",
    )
    own.add_argument(
        "--optimiser",
        choices=["adam", "muon"],
        help="a step of muon takes longer and teaches more (default: adam)",
    )
    for name, kind in _SIZES.items():
        own.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="X")


def _add_evaluate(commands: Any) -> None:
    evaluate = commands.add_parser(
        "evaluate",
        help="translate held-out sentences, and compare them with their translations",
        description="With pairs, or if DIR was trained on pairs, print BLEU, chrF and exact matches. In a "
        "clone of the repository a bundled model is compared with its grammar, which knows every "
        "translation's probability: best hypotheses, next words, samples, and heads switched off.",
    )
    evaluate.add_argument("model", nargs="?", metavar="DIR", help="a checkpoint (default: bundled)")
    _add_pairs(evaluate, "to translate (default: those held out when DIR was trained)")
    evaluate.add_argument(
        "--links",
        metavar="FILE",
        help="which words translate each other, one sentence a line, such as 0-0 1-2, source word first: "
        "prints the alignment error rate of every cross-attention head",
    )
    evaluate.add_argument("--beam-width", type=int, default=4, metavar="N")
    evaluate.add_argument("--length-penalty", type=float, default=0.6, metavar="X")
    evaluate.add_argument("--output", metavar="FILE", help="write the translations, one a line")
    evaluate.add_argument(
        "--reliability",
        metavar="FILE",
        help="without pairs, draw how well calibrated the next words are, as PNG, SVG or PDF",
    )
    evaluate.add_argument("--overwrite", action="store_true", help="replace files that are there already")
    evaluate.set_defaults(run=_evaluate)


#: The models of the generated corpus, which `recipes` makes in a clone.
_BUNDLED = ("en-es", "language-model", "masked-model")
#: Options that set fields of the model's and the training's configurations, with their types.
_SIZES = {
    "d_model": int,
    "n_heads": int,
    "n_layers": int,
    "d_ff": int,
    "dropout": float,
    "max_length": int,
    "batch_tokens": int,
    "learning_rate": float,
    "warmup_steps": int,
    "label_smoothing": float,
    "piece_dropout": float,
    "weight_decay": float,
}


def _add_pairs(parser: Any, what: str, prefix: str = "") -> None:
    parser.add_argument(f"--{prefix}source", metavar="FILE", help=f"sentences {what}")
    parser.add_argument(f"--{prefix}target", metavar="FILE", help="their translations")
    parser.add_argument(f"--{prefix}pairs", metavar="FILE", help="both, with a tab between them")
    parser.add_argument(
        f"--{prefix}columns",
        metavar="A,B",
        help=f"where --{prefix}pairs has the sentence and its translation: numbers from 0, or names that its "
        "first line has (default: 0,1)",
    )


def _pairs(options: argparse.Namespace, prefix: str = "") -> list[TextPair] | None:
    """Return the pairs that the options name, or None if they name none."""
    from viz_transformer.corpus.files import read_pairs, read_table

    source, target, table = (getattr(options, f"{prefix}{name}") for name in ("source", "target", "pairs"))
    dashed, columns = prefix.replace("_", "-"), getattr(options, f"{prefix}columns")
    if columns and not table:
        raise UserError(f"--{dashed}columns names columns of a table; give it with --{dashed}pairs")
    if table and not (source or target):
        return read_table(table, _columns(columns) if columns else None)
    if source and target and not table:
        return read_pairs(source, target)
    if source or target or table:
        raise UserError(f"give --{dashed}source with --{dashed}target, or --{dashed}pairs without them")
    return None


def _columns(given: str) -> Columns:
    """Return two columns by number or by name, from text such as ``1,3`` or ``en,es``."""
    first, _, second = (part.strip() for part in given.partition(","))
    if not (first and second) or "," in second:
        raise UserError(f"--columns {given:.40} are not two columns; give such as 0,1 or en,es")
    if first.isdecimal() and second.isdecimal():
        return int(first), int(second)
    return first, second


def _train(options: argparse.Namespace) -> int:
    pairs = _pairs(options)
    if options.words and options.tokens is not None:
        raise UserError("--tokens sets how many pieces of words to make and --words makes none; give one")
    if options.overwrite and options.resume:
        raise UserError("--resume goes on with the training in --out and --overwrite replaces it; give one")
    if (pairs is None) == (options.corpus is None):
        raise UserError(
            f"give either one of {', '.join(_BUNDLED)} or your own pairs (--source and --target, or --pairs)"
        )
    if pairs is None:
        options.out = options.out or options.corpus
    if not options.out:
        raise UserError("give --out DIR, the folder to save the translator in")
    _check_out(options)
    return _train_bundled(options) if pairs is None else _train_files(options, pairs)


def _check_out(options: argparse.Namespace) -> None:
    """Refuse to replace a model unasked, and the pairs that are read in any case."""
    from viz_transformer.checkpoint import CHECKPOINT_FILES, CHECKSUMS, TRAINING_FILES, WEIGHTS

    folder = given_path(options.out)
    given = [options.source, options.target, options.pairs]
    held_out = [options.validation_source, options.validation_target, options.validation_pairs]
    for name in (*CHECKPOINT_FILES, *TRAINING_FILES):
        check_not_input(folder / name, *given, *held_out)
    # Of processes that train together the first looks, before the others can find what it writes.
    if int(os.environ.get("RANK", "0")) or options.resume or options.overwrite:
        return
    if (folder / WEIGHTS).exists() or (folder / CHECKSUMS).exists():
        raise UserError(
            f"{options.out!r} holds a model already; replace it with --overwrite, go on with its training on "
            "your own pairs with --resume, or give another folder with --out"
        )


def _train_bundled(options: argparse.Namespace) -> int:
    from viz_transformer.recipes import in_a_clone

    own = argparse.ArgumentParser()
    _add_own(own)
    for name, default in vars(own.parse_args([])).items():
        if getattr(options, name) != default:
            option = "from" if name == "base" else name.replace("_", "-")
            raise UserError(
                f"--{option} is for a training on your own pairs, not for {options.corpus}; leave it out"
            )
    in_a_clone(".__main__").make(options.corpus, options.out, options.steps, options.seed)
    return 0


def _train_files(options: argparse.Namespace, pairs: list[TextPair]) -> int:
    from viz_transformer.recipes import files
    from viz_transformer.training.distributed import process_group, rank
    from viz_transformer.training.terminal import with_bar

    parts = _split(options, pairs)
    model, training = _configs(options)
    if options.threads is not None:
        import torch

        whole_number("--threads", options.threads, THREADS)
        torch.set_num_threads(options.threads)
    vocabulary = None
    asked_for = options.words or options.tokens is not None
    if asked_for or not (options.resume or options.base):
        vocabulary = files.vocabulary_for(
            parts.train,
            n_tokens=files.N_TOKENS if options.tokens is None else options.tokens,
            words=options.words,
            languages=(_language(options.source, "source"), _language(options.target, "target")),
        )
    with process_group(options.device) as device:
        is_first = rank() == 0
        if is_first and vocabulary is not None:
            print(f"vocabulary: {len(vocabulary):,} {'words' if options.words else 'pieces of words'}")
        if is_first and options.base and parts.test:  # held out by rule
            print(
                f"begins from {options.base}, which may have read some of the pairs that are held out now; "
                "give pairs that are new to it with --validation-pairs"
            )
        result = files.train_files(
            parts.train,
            parts.validation,
            options.out,
            test=parts.test,
            vocabulary=vocabulary,
            model=model,
            training=training,
            base=options.base,
            look_every=options.look_every,
            minutes=options.minutes,
            drop_long=options.drop_long,
            resume=options.resume,
            overwrite=options.overwrite,
            device=device,
            progress=with_bar if is_first else None,
        )
    if is_first:
        _print_result(result)
    return 0


def _split(options: argparse.Namespace, pairs: list[TextPair]) -> Split:
    """Return the training, validation and test pairs; of given validation pairs, no test."""
    from viz_transformer.corpus.split import Split, split, without_leaks
    from viz_transformer.recipes.files import test_pairs

    validation = _pairs(options, "validation_")
    if validation is None:
        size = max(1, min(1000, len(pairs) // 20))  # a twentieth each, at most a thousand
        parts = split(pairs, size, size)
    else:
        parts = Split(tuple(pairs), tuple(validation), ())
    if options.drop_leaks:
        base = options.base
        held_out = {"validation": parts.validation, "test": test_pairs(given_path(base)) if base else ()}
        train, n_dropped = without_leaks(parts.train, held_out)
        print(f"left out {n_dropped} pairs that are also held out")
        parts = parts._replace(train=tuple(train))
    return parts


def _configs(options: argparse.Namespace) -> tuple[ModelConfig | None, TrainConfig]:
    """Return the configurations for one's own pairs, with what the options change.

    The model's is None where another model's is taken and no option changes it.
    """
    from viz_transformer.recipes.files import MODEL, TRAINING

    given = {name: getattr(options, name) for name in (*_SIZES, "schedule", "optimiser")}
    given["n_encoder_layers"] = given["n_decoder_layers"] = given.pop("n_layers")
    given = {name: value for name, value in given.items() if value is not None}
    of_training = {field.name for field in fields(TRAINING)}
    training = {
        "n_steps": options.steps or TRAINING.n_steps,
        "precision": "bfloat16" if options.bfloat16 else "float32",
        "seed": options.seed,
        **{name: value for name, value in given.items() if name in of_training},
    }
    model = {name: value for name, value in given.items() if name not in of_training}
    own = replace(MODEL, **model) if model or not options.base else None
    return own, replace(TRAINING, **training)


def _print_result(result: TrainingResult) -> None:
    for metrics in result.metrics:
        print(f"step {metrics.step}: validation loss {metrics.validation_loss:.4f} nats per token")
    if result.n_unknown:
        print(
            f"left out {result.n_unknown} validation pairs with words that training lacks; pieces of words "
            "(without --words) spell any text"
        )
    if result.stopped:
        print(f"stopped {result.stopped} at step {result.step}; continue with --resume")
    print(f"wrote {result.folder}")


def _language(path: str | None, otherwise: str) -> str:
    """Return the language that a file's name ends in, as ``train.de.gz`` does."""
    ending = (path or "").removesuffix(".gz").rpartition(".")[2]
    return ending if ending.isalpha() and len(ending) in (2, 3) and ending != "txt" else otherwise


def _evaluate(options: argparse.Namespace) -> int:
    from viz_transformer.checkpoint import CHECKPOINT_FILES
    from viz_transformer.corpus.files import read_table
    from viz_transformer.recipes import in_a_clone
    from viz_transformer.recipes.files import TEST
    from viz_transformer.translator import load_translator

    pairs = _pairs(options)
    model = [Path(options.model, name) for name in (*CHECKPOINT_FILES, TEST)] if options.model else []
    for output in filter(None, (options.output, options.reliability)):
        check_not_input(output, options.source, options.target, options.pairs, options.links, *model)
        check_unused(output, options.overwrite)
    if pairs is None and options.model and (Path(options.model) / TEST).exists():
        pairs = read_table(Path(options.model) / TEST, (0, 1))
    if pairs is None:
        in_a_clone(".report").print_report(
            options.model,
            beam_width=options.beam_width,
            length_penalty=options.length_penalty,
            picture=options.reliability,
        )
        return 0
    return _evaluate_pairs(options, load_translator(options.model), pairs)


def _evaluate_pairs(options: argparse.Namespace, translator: Translator, pairs: list[TextPair]) -> int:
    from viz_transformer.corpus.links import read_links
    from viz_transformer.recipes.alignment_eval import evaluate_alignment
    from viz_transformer.recipes.evaluation import evaluate

    result = evaluate(translator, pairs, options.beam_width, options.length_penalty)
    print(f"BLEU {result.bleu:.2f} ({result.signatures[0]})")
    print(f"chrF2 {result.chrf:.2f} ({result.signatures[1]})")
    print(f"exact {result.n_exact} of {result.n} ({result.n_exact / result.n:.2%})")
    if result.n_unknown:
        print(f"{result.n_unknown} sentences hold unknown words and count as translated by nothing")
    if options.links:
        print(evaluate_alignment(translator, pairs, read_links(options.links)))
    if options.output:
        with atomic_write(options.output) as part:
            part.write_text("".join(f"{one}\n" for one in result.translations), encoding="utf-8")
        print(f"wrote {options.output}")
    return 0


def _add_coreference(commands: Any) -> None:
    study = commands.add_parser(
        "coreference",
        help="train several seeds on what 'it' means: they are equally right and attend differently",
        description="Train a small encoder with each seed to find the noun that 'it' stands for, and "
        "print how many held-out sentences each gets right and what its heads attend to from 'it'.",
    )
    study.add_argument("--seeds", type=int, default=4, metavar="N", help="how many (default: 4)")
    study.add_argument(
        "--read-at",
        choices=["start", "it"],
        default="start",
        help="the position whose vector the answer is read from (default: start)",
    )
    study.set_defaults(run=_coreference)


def _coreference(options: argparse.Namespace) -> int:
    from tqdm.auto import tqdm

    from viz_transformer.recipes.coreference import coreference_study, study_table

    whole_number("--seeds", options.seeds, SEEDS)
    rows = coreference_study(
        range(options.seeds),
        read_at=options.read_at,
        progress=lambda seeds: tqdm(seeds, unit="seed"),
    )
    print(study_table(rows))
    return 0
