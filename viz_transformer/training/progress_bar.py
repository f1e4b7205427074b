"""The progress bar of a training: in a notebook a widget, in a terminal a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tqdm.auto import tqdm

from viz_transformer.training.run import StepRecord


def with_bar(records: Iterable[StepRecord], done: int, total: int) -> Iterator[StepRecord]:
    """Yield the records, showing the steps done of all, the loss and the speed."""
    with tqdm(records, initial=done, total=total, unit="step") as bar:
        for record in bar:
            bar.set_postfix(
                {
                    "loss": f"{record.loss:.4f}",
                    "accuracy": f"{record.token_accuracy:.1%}",
                    "tokens/s": f"{record.tokens_per_second:,.0f}",
                },
                refresh=False,
            )
            yield record
