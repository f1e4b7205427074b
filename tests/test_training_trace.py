"""Training traces: what they refuse, and that they come back from disk, without torch."""

from __future__ import annotations

import zipfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.missing_packages import printed_without_torch
from viz_transformer.errors import FileError, UserError
from viz_transformer.trace import ForwardTrace, Snapshot, TrainingTrace

STEPS = (0, 3, 10)


def attention(rng: np.random.Generator, *shape: int) -> np.ndarray:
    weights = rng.random(shape) ** 4
    return weights / weights.sum(-1, keepdims=True)


def forward(seed: int, words: tuple[str, ...] = ("the", "cat", "<eos>"), n_heads: int = 3):
    rng, n = np.random.default_rng(seed), len(words)
    return ForwardTrace(
        source_tokens=words,
        target_tokens=("<sos>", "el"),
        output_tokens=("el", "gato"),
        source_words=(*range(n - 1), None),
        encoder_attention=attention(rng, 2, n_heads, n, n),
        decoder_attention=attention(rng, 2, n_heads, 2, 2),
        cross_attention=attention(rng, 2, n_heads, 2, n),
    )


def moment(step: int, **changes: object) -> Snapshot:
    traces = (forward(step), forward(step + 100, ("dogs", "<eos>")))
    values = {"translations": ("el el", f"step {step}"), "losses": (3.5 - step / 4, 1 / 3), "traces": traces}
    return Snapshot(step=step, **{**values, "validation_loss": 3.0 if step else None, **changes})


def training(**changes: object) -> TrainingTrace:
    values = {"name": "seed 0", "sources": ("the cat", "dogs"), "references": ("el gato", "perros")}
    values |= {"steps": [1, 2, 10], "losses": [3.0, 2.0, 0.1], "accuracies": [0, 0.5, 1]}
    return TrainingTrace(**{**values, "moments": tuple(map(moment, STEPS)), **changes})


def assert_equal_but_for_rounding(first: TrainingTrace, again: TrainingTrace) -> None:
    names = ("name", "sources", "references")
    assert [getattr(again, name) for name in names] == [getattr(first, name) for name in names]
    for name in ("steps", "losses", "accuracies"):
        array, other = getattr(first, name), getattr(again, name)
        assert array.dtype == other.dtype
        np.testing.assert_array_equal(array, other)
    for one, other in zip(first.moments, again.moments, strict=True):
        names = ("step", "translations", "losses", "validation_loss")
        assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]
        for here, there in zip(one.traces, other.traces, strict=True):
            for field in fields(ForwardTrace):
                value, read = getattr(here, field.name), getattr(there, field.name)
                if field.name.endswith("_attention") and value is not None:
                    # A weight below 1 has ten binary digits after its first in float16.
                    assert abs(value - read).max() <= 2**-12
                    assert read.dtype == np.float32
                elif not field.name.endswith("_positions"):
                    assert value == read


def test_saved_and_loaded_only_the_weights_are_rounded(tmp_path: Path) -> None:
    losses = np.array([3.0, 2.0, 0.1])
    first = training(losses=losses)
    losses[:] = 0  # what was seen does not change later
    assert first.losses[0] == 3
    with pytest.raises(ValueError, match="read-only"):
        first.losses[0] = 1
    again = TrainingTrace.load(first.save(tmp_path / "x.npz"))
    assert_equal_but_for_rounding(first, again)
    twice = TrainingTrace.load(again.save(tmp_path / "y.npz"))
    assert (tmp_path / "x.npz").read_bytes() == (tmp_path / "y.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "x.npz") as file:  # no clock is in it
        assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    for one, other in zip(again.moments, twice.moments, strict=True):
        for here, there in zip(one.traces, other.traces, strict=True):
            np.testing.assert_array_equal(here.cross_attention, there.cross_attention)


texts = st.text(max_size=6)  # lone surrogates, NULs and U+2028 included


@given(name=texts, source=texts, reference=texts, translation=st.just("</script>\x00") | texts)
def test_hostile_text_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, name: str, source: str, reference: str, translation: str
) -> None:
    moments = tuple(moment(step, translations=(translation, "")) for step in STEPS)
    first = training(name=name, sources=(source, "b"), references=(reference, "b"), moments=moments)
    again = TrainingTrace.load(first.save(tmp_path_factory.mktemp("trace") / "x.npz"))
    assert_equal_but_for_rounding(first, again)


def test_an_encoder_alone_and_an_empty_curve_are_kept_also_where_torch_cannot_be_imported(
    tmp_path: Path,
) -> None:
    def alone(step: int) -> Snapshot:
        only = replace(forward(step), decoder_attention=None, cross_attention=None)
        return moment(step, traces=(only, only))

    first = training(moments=tuple(map(alone, STEPS)), steps=[], losses=[], accuracies=[])
    path = first.save(tmp_path / "x.npz")
    again = TrainingTrace.load(path)
    assert again.moments[0].traces[0].kinds == ("encoder",)
    assert_equal_but_for_rounding(first, again)
    code = f"[moment.step for moment in trace.TrainingTrace.load({str(path)!r}).moments]"
    assert printed_without_torch(code) == "[0, 3, 10]"


def test_what_does_not_fit_is_refused() -> None:
    same = moment(3, traces=(forward(0), forward(0)))
    more_heads = moment(3, traces=(forward(0, n_heads=4), forward(0, ("dogs", "<eos>"))))
    for changes, message in (
        ({"moments": ()}, "at least one moment and one sentence"),
        ({"sources": ()}, "at least one moment and one sentence"),
        ({"references": ("el gato",)}, "references has 1 entries for 2 sentences"),
        (
            {"moments": (moment(0), moment(3, losses=(1.0,)))},
            "losses at step 3 has 1 entries for 2 sentences",
        ),
        ({"moments": (moment(0, translations=("a", "b", "c")),)}, "translations at step 0 has 3 entries"),
        ({"moments": (moment(0, traces=()),)}, "traces at step 0 has 0 entries"),
        ({"moments": (moment(3), moment(0))}, r"steps \[3, 0\] must rise"),
        ({"moments": (moment(3), moment(3))}, r"steps \[3, 3\] must rise"),
        ({"steps": [1, 2]}, "2 steps, 3 losses and 3 accuracies"),
        ({"moments": (moment(0), same)}, "traces of sentence 1 differ in tokens or heads"),
        ({"moments": (moment(0), more_heads)}, "traces of sentence 0 differ in tokens or heads"),
    ):
        with pytest.raises(UserError, match=message):
            training(**changes)


def test_a_damaged_a_missing_and_another_file_are_named(tmp_path: Path) -> None:
    path = training().save(tmp_path / "x.npz")
    content = path.read_bytes()
    with zipfile.ZipFile(path) as file:
        info = file.getinfo("cross.0.npy")
    flipped = bytearray(content)
    flipped[info.header_offset + 30 + len(info.filename) + 60] ^= 1  # one bit of a weight
    for damaged in (flipped, *(content[: int(share * len(content))] for share in (0.2, 0.6, 0.99))):
        path.write_bytes(damaged)
        with pytest.raises(FileError, match="damaged"):
            TrainingTrace.load(path)
    with pytest.raises(FileError, match="not a trace that TrainingTrace"):
        TrainingTrace.load(forward(0).save(tmp_path / "x.npz"))
    with pytest.raises(FileError, match=r"no trace at .*none"):
        TrainingTrace.load(tmp_path / "none.npz")
