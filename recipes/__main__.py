"""The command ``python -m recipes``: make one of the bundled files again, or judge a bundled model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import recipes
from viz_transformer.errors import UserError
from viz_transformer.recipes import TRAINING_TRACE
from viz_transformer.training.terminal import with_bar

#: The models whose training is long and recorded: the recipe, and the training that it takes by default.
MODELS = {
    "en-es": (recipes.train_english_spanish, recipes.TRAINING),
    "language-model": (recipes.train_language_model, recipes.LANGUAGE_MODEL_TRAINING),
    "masked-model": (recipes.train_masked_model, recipes.MASKED_MODEL_TRAINING),
}
#: The recipes of the smaller files.
FILES = {
    "six-pairs": recipes.write_six_pairs_trainings,
    "positions": recipes.train_learned_positions,
    "induction": recipes.train_induction_model,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one recipe; return 0, or 2 with one line on standard error if input cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m recipes", description=__doc__)
    commands = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name in (*MODELS, *FILES):
        recipe = commands.add_parser(name, help=f"makes data/{name}")
        recipe.add_argument("--out", metavar="DIR", help=f"where it goes (default: {name})")
        if name in MODELS:
            recipe.add_argument("--steps", type=int, metavar="N", help="optimiser steps")
            recipe.add_argument("--seed", type=int, default=0, metavar="N")
    judge = commands.add_parser("evaluate", help="compare a model with the grammar that it learned")
    judge.add_argument("model", nargs="?", metavar="DIR", help="a checkpoint (default: the translator)")
    options = parser.parse_args(arguments)
    try:
        if options.name == "evaluate":
            from recipes.report import print_report

            print_report(options.model)
        else:
            make(options.name, options.out or options.name, *_steps_and_seed(options))
    except UserError as error:
        print(f"recipes: {error}", file=sys.stderr)
        return 2
    return 0


def make(name: str, out: str, steps: int | None = None, seed: int = 0) -> Path:
    """Run a recipe by its name, with a progress bar if it is a long one, and print what it wrote."""
    if name in FILES:
        folder = FILES[name](out)
        print(f"wrote {folder}")
        return folder
    recipe, usual = MODELS[name]
    training = replace(usual, n_steps=usual.n_steps if steps is None else steps, seed=seed)
    folder = recipe(out, training, progress=lambda records, total: with_bar(records, 0, total))
    print(f"wrote {folder}, and a record of the training: {folder / TRAINING_TRACE}")
    return folder


def _steps_and_seed(options: argparse.Namespace) -> tuple[int | None, int]:
    return getattr(options, "steps", None), getattr(options, "seed", 0)


if __name__ == "__main__":
    sys.exit(main())
