"""One test for each configuration of the zoo of models."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.capture_zoo import CONFIGURATIONS, UNLISTED


def each_configuration(sample: Sequence[str]) -> pytest.MarkDecorator:
    """Run a test with each `name`: those of the sample always, the others weekly."""
    others = sorted((CONFIGURATIONS | UNLISTED).keys() - set(sample))
    weekly = [pytest.param(name, marks=pytest.mark.weekly) for name in others]
    return pytest.mark.parametrize("name", [*sample, *weekly])
