"""The pretrained models that `make real` fetches."""

from pathlib import Path

import pytest

from tools import real_models


@pytest.fixture(scope="session")
def smollm2_folder() -> Path:
    """SmolLM2-135M-Instruct: 30 layers of 9 heads, three of which share a key and a value."""
    return _made(real_models.SMOLLM2)


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """all-MiniLM-L6-v2: BERT with 6 layers of 12 heads."""
    return _made(real_models.MINILM)


def _made(folder: Path) -> Path:
    if not folder.exists():
        pytest.fail(f"{folder} is not there; `make real` fetches the models and runs these tests")
    return folder
