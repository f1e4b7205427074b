"""Files that are read: saved traces, checkpoints, corpora; and files that are written."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save

import viz_transformer as vt
from tests.support.fuzz.campaign import ChangedError, Drawn, HalfWrittenError
from tests.support.fuzz.value_doors import look_at
from tests.support.fuzz.values import TEXTS, any_value, array_value, damaged, json_value, mutated
from tests.support.hand_made_traces import make_trace
from tests.support.hand_made_trainings import make_training
from tests.support.small_models import small_config
from viz_transformer.checkpoint import CONFIG, VOCABULARY, WEIGHTS, Checkpoint
from viz_transformer.corpus.files import read_pairs, read_table
from viz_transformer.corpus.links import read_links
from viz_transformer.model import Transformer
from viz_transformer.plots import plot_heads, save_figure
from viz_transformer.vocabulary import Vocabulary

_LOADERS = {"forward": vt.ForwardTrace, "decode": vt.DecodeTrace, "training": vt.TrainingTrace}


@cache
def _saved() -> dict[str, bytes]:
    """Return a good file of each kind of trace."""
    decoded = vt.load_translator().decode("the black cat sleeps", beam_width=2, attention=True)
    records = {"forward": make_trace(), "decode": decoded, "training": make_training(steps=(0, 5))}
    return {name: record.save(f"{name}.npz").read_bytes() for name, record in records.items()}


def saved_trace(rng: Random) -> Drawn:
    """Draw a file of a trace with something wrong in it, load it and show it."""
    kind = rng.choice(list(_LOADERS))
    data = _saved()[kind]
    way = rng.choice(["bytes", "plain", "plain", "plain", "arrays", "arrays", "bomb", "nested", "none"])
    path = Path(rng.choice(["x.npz", "x", "ü\udcff.npz"]))
    if way == "bytes":
        path.write_bytes(damaged(rng, data))
    elif way != "none":
        _rewrite(rng, data, way, path)
    given = path if rng.random() < 0.9 else any_value(rng)
    checked = rng.random() < 0.2  # or else nothing but the checksum is tried
    return f"{kind} {way}", lambda: look_at(_LOADERS[kind].load(given, checked=checked))


def _rewrite(rng: Random, data: bytes, way: str, path: Path) -> None:
    with np.load(io.BytesIO(data)) as file:
        arrays = {name: file[name] for name in file.files}
    name = "tokens" if "tokens" in arrays else "trace"
    plain = json.loads(arrays.pop(name).tobytes())
    if way == "plain":
        form = plain.pop("format")
        for _ in range(rng.choice([1, 1, 3])):
            plain = mutated(rng, plain)
        plain = {**plain, "format": form} if isinstance(plain, dict) else plain
    elif way == "arrays" and arrays:
        chosen = rng.choice(sorted(arrays))
        other = array_value(rng) if rng.random() < 0.5 else _reshaped(rng, arrays[chosen])
        if rng.random() < 0.2:
            del arrays[chosen]
        elif isinstance(other, np.ndarray) and other.nbytes < 10**6 and not other.dtype.hasobject:
            arrays[chosen] = other
    elif way == "bomb":
        arrays[rng.choice(sorted(arrays))] = np.zeros(rng.choice([2**22, 2**24, 2**27]), np.float32)
    text = json.dumps(plain)
    if way == "nested":
        text = "[" * 100_000
    arrays[name] = np.frombuffer(text.encode(), dtype=np.uint8)
    with path.open("wb") as opened:
        (np.savez_compressed if way == "bomb" or rng.random() < 0.5 else np.savez)(opened, **arrays)


def _reshaped(rng: Random, array: np.ndarray) -> np.ndarray:
    nan = array.astype("f8") * np.nan
    return rng.choice([array.ravel(), array[None], array[..., :0], array[..., :1], nan, array.T])


@cache
def _checkpoint() -> dict[str, bytes]:
    words = Vocabulary(["the", "cat"], ["el", "gato"])
    model = Transformer(small_config(vocab_size=len(words))).eval()
    Checkpoint(model, words).save("good")
    return {each.name: each.read_bytes() for each in Path("good").iterdir()}


def checkpoint(rng: Random) -> Drawn:
    """Draw a checkpoint folder with something wrong in it, load it and translate."""
    files = dict(_checkpoint())
    name = rng.choice([CONFIG, CONFIG, VOCABULARY, WEIGHTS, WEIGHTS])
    if name == WEIGHTS and rng.random() < 0.7:
        files[name] = save(_other_weights(rng, load(files[name])))
    elif rng.random() < 0.15:
        files[name] = rng.choice([b"[" * 100_000, b"", b"null", b"\xff\xfe", b'{"a":' * 50_000])
    elif name == WEIGHTS or rng.random() < 0.15:
        files[name] = damaged(rng, files[name])
    else:
        plain = json.loads(files[name])
        sizes = [key for key in plain if isinstance(plain[key], int) and not isinstance(plain[key], bool)]
        if name == CONFIG and rng.random() < 0.5:
            plain[rng.choice(sizes)] = rng.choice([10**4, 10**6, 10**9, 10**12, 0, 2, 4, 64])
        files[name] = json.dumps(mutated(rng, plain) if rng.random() < 0.7 else plain).encode()
    if rng.random() < 0.05:
        del files[name]
    Path("model").mkdir()
    for each, data in files.items():
        (Path("model") / each).write_bytes(data)
    checked = rng.random() < 0.2  # or else nothing but the checksums is tried
    return f"{name}", lambda: vt.load_translator("model", checked=checked).translate("the cat")


def _other_weights(rng: Random, weights: dict[str, Any]) -> dict[str, Any]:
    name = rng.choice(sorted(weights))
    one = weights[name].clone()
    change = rng.choice(["inf", "nan", "shape", "dtype", "gone", "more", "huge"])
    if change in ("inf", "nan"):
        one.view(-1)[rng.randrange(one.numel())] = float(change)
    if change == "huge":
        one *= 1e38
    other = {"shape": one.ravel(), "dtype": one.to(rng.choice([torch.int8, torch.bfloat16]))}
    weights = {**weights, name: other.get(change, one).contiguous()}
    if change == "gone":
        del weights[name]
    return {**weights, "another": one.clone()} if change == "more" else weights


def flipped(rng: Random) -> Drawn:
    """Draw a file of a trace or a checkpoint with a few bits flipped, and load it."""
    kind = rng.choice(["checkpoint", *_LOADERS])
    files = dict(_checkpoint() if kind == "checkpoint" else {"x.npz": _saved()[kind]})
    name = rng.choice(sorted(files))
    data = bytearray(files[name])
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return f"{kind} {name}", lambda: _refused_or_unchanged(kind, {**files, name: bytes(data)})


def _refused_or_unchanged(kind: str, files: dict[str, bytes]) -> None:
    if _loaded(kind, files) != _whole(kind):
        raise ChangedError("it was loaded, and holds other values")


@cache
def _whole(kind: str) -> dict[str, Any]:
    return _loaded(kind, _checkpoint() if kind == "checkpoint" else {"x.npz": _saved()[kind]})


def _loaded(kind: str, files: dict[str, bytes]) -> dict[str, Any]:
    """Return all that is loaded from files, by name and as bytes."""
    with TemporaryDirectory(dir=".") as folder:
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        if kind == "checkpoint":
            found = Checkpoint.load(folder)
            texts = {"config": found.model.config.to_json(), "vocabulary": found.vocabulary.to_json()}
            return {"weights": save(found.model.state_dict()), **texts}
        again = _LOADERS[kind].load(Path(folder, "x.npz")).save(Path(folder, "again.npz"))
        with np.load(again) as arrays:
            return {name: (str(arrays[name].dtype), arrays[name].tobytes()) for name in arrays.files}


_LINES = (
    *("the cat\tel gato", "a\tb\tc", "", "\t", "only one", "0-0 1p2", "9-9", "x-y"),
    "the. cat. sat.\tel. gato.",
)


def corpus(rng: Random) -> Drawn:
    """Draw a file of sentence pairs or links, and read it."""
    line = lambda: rng.choice(_LINES) if rng.random() < 0.7 else rng.choice(TEXTS).replace("\ud800", "")  # noqa: E731
    text = rng.choice(["\n", "\r\n", "\r", "\u2028"]).join(line() for _ in range(rng.choice([0, 1, 3, 50])))
    data = text.encode("utf-8", "replace")
    way = rng.choice(["plain", "plain", "bytes", "utf-16", "long", "many", "gzip", "bomb", "garbage"])
    data = {
        "bytes": lambda: damaged(rng, data),
        "utf-16": lambda: text.encode("utf-16", "replace"),
        "long": lambda: b"a b\t" + rng.choice([b"x", b"x y ", b". ", b"a.b", b"a.", "é".encode()]) * 10**6,
        "many": lambda: b"the cat\tel gato\n" * rng.choice([10**4, 3 * 10**5]),
        "gzip": lambda: damaged(rng, gzip.compress(data)),
        "bomb": lambda: gzip.compress(b"a\tb\n" * rng.choice([10**4, 10**8]), 1),
        "garbage": lambda: rng.randbytes(10_000),
    }.get(way, lambda: data)()
    Path(name := "table.gz" if way in ("gzip", "bomb") else "table.tsv").write_bytes(data)
    readers: dict[str, Callable[[Any], Any]] = {
        "read_table": read_table,
        "read_pairs": lambda path: read_pairs(path, path),
        "read_links": read_links,
        "columns": lambda path: read_table(path, columns=json_value(rng)),
    }
    reader = rng.choice(list(readers))
    given = name if rng.random() < 0.9 else any_value(rng)
    return f"{reader} {way}", lambda: readers[reader](given)


def written(rng: Random) -> Drawn:
    """Draw a place to write to: what was there stays whole, or is replaced."""
    writers: dict[str, Callable[[Any], Any]] = {
        "trace.save": make_trace().save,
        "export_html": lambda path: vt.export_html(vt.explore(make_trace()), path),
        "save_figure": lambda path: save_figure(plot_heads(make_trace(), "cross"), path),
        "too small": lambda path: vt.export_html(vt.explore(make_trace()), path, max_megabytes=0.01),
    }
    name = rng.choice(list(writers))
    Path("folder").mkdir()
    Path("old.png").write_bytes(b"old")
    Path("old.html").write_bytes(b"old")
    places = ["old.png", "old.html", "folder", "folder/no/x.png", "x" * 300, "a\0b", "\ud800.html", ""]
    path = rng.choice([*places, "/dev/full", "/proc/x.html", "new.html", Path("old.png"), b"old.png"])
    path = path if rng.random() < 0.8 else any_value(rng)

    def call() -> None:
        try:
            writers[name](path)
        except Exception:
            if {Path("old.png").read_bytes(), Path("old.html").read_bytes()} != {b"old"}:
                raise HalfWrittenError("the old file changed") from None
            raise

    return f"{name}({str(path)[:60] if isinstance(path, str | Path) else type(path).__name__!r})", call
