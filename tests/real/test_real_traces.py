"""data/real is what the pretrained models compute here: the same bytes, or within a thousandth."""

import json
from pathlib import Path

import numpy as np
import pytest

import viz_transformer as vt
from tools import real_traces
from viz_transformer.trace import REAL_TRACES, attention_of

pytestmark = pytest.mark.real


def test_the_recorded_traces_are_made_again(
    smollm2_folder: Path, minilm_folder: Path, tmp_path: Path
) -> None:
    real_traces.record(tmp_path, smollm2_folder, minilm_folder)
    told, made = (
        json.loads((folder / "made_by.json").read_text()) for folder in (real_traces.FOLDER, tmp_path)
    )
    if told["sha256"] == made["sha256"]:
        return
    for name in REAL_TRACES:
        shipped, again = vt.real_trace(name), vt.ForwardTrace.load(tmp_path / f"{name}.npz")
        (kind,) = shipped.kinds
        np.testing.assert_allclose(
            attention_of(again, kind).astype(float), attention_of(shipped, kind).astype(float), atol=1e-3
        )
        assert again.key_tokens(kind) == shipped.key_tokens(kind)
    words = json.loads((tmp_path / "next_words.json").read_text())
    for name, positions in words.items():
        for found, expected in zip(positions, vt.real_next_words(name), strict=True):
            shared = found.keys() & expected.keys()
            assert len(shared) >= 18  # the last of the twenty may change places
            assert all(found[word] == pytest.approx(expected[word], abs=1e-3) for word in shared)
