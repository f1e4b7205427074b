"""The command `coreference`, which runs the coreference study."""

from __future__ import annotations

import argparse
from typing import Any


def add_coreference(commands: Any) -> None:
    """Add the command to a parser's."""
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

    from viz_transformer._bounds import SEEDS, whole_number
    from viz_transformer.recipes.coreference import coreference_study, study_table

    whole_number("--seeds", options.seeds, SEEDS)
    rows = coreference_study(
        range(options.seeds),
        read_at=options.read_at,
        progress=lambda seeds: tqdm(seeds, unit="seed"),
    )
    print(study_table(rows))
    return 0
