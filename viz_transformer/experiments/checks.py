"""Checks of an experiment's arguments."""

from viz_transformer.config.checks import check_int


def check_counts(**counts: int) -> None:
    """Raise a UserError unless every count is a whole number of at least 1."""
    for name, count in counts.items():
        check_int(name, count, minimum=1)
