"""Checks of an experiment's arguments."""

from viz_transformer._bounds import SIZE, Bound, whole_number


def check_counts(bound: Bound = SIZE, **counts: int) -> None:
    """Raise a UserError unless every count is a whole number of at least 1, and of use."""
    for name, count in counts.items():
        whole_number(name, count, bound)
