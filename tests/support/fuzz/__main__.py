"""Run a campaign of bad input: `python -m tests.support.fuzz 1000`, or `make fuzz N=1000`.

Each input is drawn from a seed, so that a failure can be made again: `--door text --one 0/17`. With
`--write`, the table goes to docs/contributing/reliability.md. It ends with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.__main__ import DOCS, machine
from tests.support.fuzz.campaign import FAILURES, Count, quietly, run, try_one
from tests.support.fuzz.doors import DOORS

PAGE = DOCS / "contributing" / "reliability.md"
START, END = "<!-- make fuzz -->", "<!-- end -->"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("n", type=int, nargs="?", default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--door", choices=[door.name for door in DOORS], action="append")
    parser.add_argument("--one", metavar="SEED/NUMBER", help="give one input to the door again")
    parser.add_argument("--write", action="store_true", help=f"write the table to {PAGE.name}")
    options = parser.parse_args()
    quietly()
    doors = [door for door in DOORS if options.door is None or door.name in options.door]
    total = Count()
    if options.one:
        for door in doors:
            try_one(door, options.one, total)
        print("\n".join(total.failures) or f"no failure; {total.refused} refused")
        return bool(total.failures)
    rows = [
        f"Seed {options.seed}. {machine()}",
        f"| door | inputs | refused in one line | {' | '.join(FAILURES)} | most memory |",
        f"|---|{'--:|' * (len(FAILURES) + 3)}",
    ]
    start = time.monotonic()
    for door, count in run(doors, options.n, options.seed):
        total.add(count)
        rows.append(_row(door.name, count))
        print(f"{rows[-1]}  {time.monotonic() - start:.0f} s", *count.failures[:20], sep="\n    ", flush=True)
    page = "\n".join([*rows, _row("**all**", total), ""])
    print(page)
    if options.write:
        before, rest = PAGE.read_text(encoding="utf-8").split(START)
        PAGE.write_text(f"{before}{START}\n\n{page}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    return bool(total.failures)


def _row(name: str, count: Count) -> str:
    numbers = (count.inputs, count.refused, *map(len, count.failed.values()))
    cells = (name, *(f"{number:,}" for number in numbers), f"{count.most_bytes / 1e6:,.0f} MB")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
