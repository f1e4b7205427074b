"""Files of traces: each carries a checksum, and what does not fit it is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.hand_made_traces import make_trace
from tests.support.hand_made_trainings import make_training
from viz_transformer._files import bundled
from viz_transformer.errors import FileError

MADE: dict[str, Callable[[], Any]] = {
    "forward": make_trace,
    "a search": lambda: vt.load_translator().decode("the black cat sleeps", beam_width=2, attention=True),
    "training": lambda: make_training(steps=(0, 5)),
}


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


@pytest.mark.parametrize("kind", MADE)
def test_a_changed_file_is_named_and_loads_by_asking(kind: str, tmp_path: Path) -> None:
    record = MADE[kind]()
    path = record.save(tmp_path / "x.npz")
    arrays = arrays_of(path)
    weights = next(name for name, array in sorted(arrays.items()) if array.ndim > 3)
    other = np.ascontiguousarray(arrays[weights][..., ::-1, :])
    for change in (
        {weights: other},
        {weights: arrays[weights].astype(np.float64)},
        {"sha256": arrays["sha256"][::-1]},
        {"sha256": None},
    ):
        changed = {name: array for name, array in {**arrays, **change}.items() if array is not None}
        np.savez(path, **changed)
        with pytest.raises(FileError, match=r"x\.npz.*does not fit its checksum; checked=False") as caught:
            type(record).load(path)
        assert "\n" not in str(caught.value)
        again = arrays_of(type(record).load(path, checked=False).save(tmp_path / "again.npz"))
        expected = changed[weights].astype(arrays[weights].dtype)
        assert (again[weights] == expected).all()


@pytest.mark.parametrize("kind", MADE)
def test_a_flipped_bit_is_refused_or_changes_nothing(kind: str, tmp_path: Path) -> None:
    record = MADE[kind]()
    path = record.save(tmp_path / "x.npz")
    whole, arrays, rng = path.read_bytes(), arrays_of(path), Random(0)
    n_refused = 0
    for bit in rng.sample(range(8 * len(whole)), 60):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            again = arrays_of(type(record).load(path).save(tmp_path / "again.npz"))
        except FileError:
            n_refused += 1
            continue
        assert all((again[name] == array).all() for name, array in arrays.items())
    assert n_refused > 30


def test_a_file_without_a_checksum_loads_as_before(tmp_path: Path) -> None:
    """As every trace was saved by earlier versions, the bundled ones too."""
    assert "sha256" not in arrays_of(bundled("data/six-pairs/seed-0.npz"))
    assert vt.load_training("six-pairs-0").moments
    trace = make_trace()
    arrays = arrays_of(trace.save(tmp_path / "x.npz"))
    text = arrays.pop("tokens").tobytes().replace(b"ForwardTrace/2", b"ForwardTrace/1")
    del arrays["sha256"]
    np.savez(tmp_path / "x.npz", tokens=np.frombuffer(text, np.uint8), **arrays)
    assert vt.ForwardTrace.load(tmp_path / "x.npz").source_tokens == trace.source_tokens
