"""A pretrained model: its heads ranked, the first picture of a head lab, and a capture of it."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any
from unittest import mock

import torch

import viz_transformer as vt
from benchmarks.forward import median_ratio
from benchmarks.memory import can_be_measured, in_a_fresh_process, peak_mib
from benchmarks.table import Goal, Table
from tools import real_models
from viz_transformer.interpreting import find_sites

TEXT = "When Mary and John went to the store, John gave a drink to"
N_TOKENS, ROUNDS = 300, 11
RANK, LOOP, FORWARD, CAPTURE, VERIFIED, LAB = (
    "`vt.rank_heads`, 270 heads",
    "a loop with a run for each head",
    f"Hugging Face's eager forward, with its weights, {N_TOKENS} tokens",
    "`vt.capture`, `verify=False`",
    "`vt.capture` with the check that a new class gets",
    "`vt.head_lab`, until its first picture",
)


def load() -> tuple[Any, Any]:
    """Return SmolLM2 and its tokenizer, which `make real` has fetched."""
    from transformers import AutoTokenizer, LlamaForCausalLM

    real_models.make()
    folder = real_models.SMOLLM2
    model = LlamaForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    return model, AutoTokenizer.from_pretrained(folder)


def passes() -> dict[str, Callable[[], Any]]:
    """Make a forward of one text of random tokens, and captures of it."""
    from viz_transformer.capturing import verify

    model, _ = load()
    torch.manual_seed(0)
    given: dict[str, Any] = {"input_ids": torch.randint(1000, (1, N_TOKENS))}
    tokens = [str(i) for i in range(N_TOKENS)]

    def verified() -> Any:
        verify._right.clear()
        with mock.patch.object(verify, "is_verified", return_value=False):  # as of a class of one's own
            return vt.capture(model, **given, tokens=tokens)

    return {
        FORWARD: lambda: model(**given, use_cache=False, output_attentions=True),
        CAPTURE: lambda: vt.capture(model, **given, tokens=tokens, verify=False),
        VERIFIED: verified,
    }


@torch.no_grad()
def peak(name: str) -> float:
    """Return how far one pass raises a process's memory, in MiB."""
    torch.set_num_threads(1)
    one_pass = passes()[name]
    one_pass()
    return peak_mib(one_pass)


def timed(action: Callable[[], Any]) -> float:
    """Return the seconds of the processor that an action takes."""
    start = time.process_time()
    action()
    return time.process_time() - start


@torch.no_grad()
def ranking_s() -> dict[str, float]:
    """Time all heads in a ranking and in a plain loop, and a head lab."""
    model, tokenizer = load()
    ids = tokenizer(TEXT, return_tensors="pt").input_ids
    mary, john = (tokenizer(name).input_ids[0] for name in (" Mary", " John"))

    def metric(output: Any) -> Any:
        return output.logits[0, -1, mary] - output.logits[0, -1, john]

    def loop() -> None:
        for site in find_sites(model):
            for head in range(site.n_heads):
                off = vt.HeadChange(site.kind, site.layer, head, factor=0.0)
                with vt.interventions(model, [off]):
                    float(metric(model(input_ids=ids)))

    model(input_ids=ids)
    found = {RANK: timed(lambda: vt.rank_heads(model, metric, input_ids=ids)), LOOP: timed(loop)}
    return {**found, LAB: timed(lambda: vt.head_lab(model, TEXT, tokenizer=tokenizer))}


def run() -> Table:
    """Measure, on one thread."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    seconds: dict[str, list[float]] = {name: [] for name in (FORWARD, CAPTURE, VERIFIED)}
    every = passes()
    with torch.no_grad():
        for action in every.values():
            action()
        for _ in range(ROUNDS):
            for name, action in every.items():
                seconds[name].append(timed(action))
    ratios = {name: median_ratio(of, seconds[FORWARD]) for name, of in seconds.items()}
    peaks = {
        name: in_a_fresh_process("benchmarks.real", f"peak({name!r})")
        for name in seconds
        if can_be_measured()
    }
    ranking = ranking_s()
    ratios |= {LOOP: 1.0, RANK: ranking[RANK] / ranking[LOOP]}
    shown = {**{name: statistics.median(of) for name, of in seconds.items()}, **ranking}
    more = peaks[CAPTURE] / peaks[FORWARD] if peaks else 1.0
    goals = (
        (f"{RANK}, in at most 0.45 × the time of the loop", f"{ratios[RANK]:.2f} ×", ratios[RANK] <= 0.45),
        (f"{LAB}, in at most 8 s", f"{ranking[LAB]:.1f} s", ranking[LAB] <= 8),
        (f"{CAPTURE}, in at most 1.10 × the time", f"{ratios[CAPTURE]:.2f} ×", ratios[CAPTURE] <= 1.10),
        (f"{CAPTURE}, in at most 1.02 × the memory", f"{more:.2f} ×", more <= 1.02),
    )
    return Table(
        title="A pretrained model",
        text="SmolLM2-135M-Instruct, 30 layers of 9 heads, in float32 on one thread; the text of the ranking "
        "has 14 tokens. Time is that of the processor. Forwards and captures: medians of "
        f"{ROUNDS} rounds, in which all take their turn, and of the rounds' ratios; memory is how far a "
        "second pass raises the peak of a process of its own, what it returns included. Classes in the "
        "table of those that were verified, Llama's among them, need no check.",
        columns=("what", "time", "ratio", "memory"),
        rows=tuple(
            (
                name,
                f"{shown[name]:.2f} s",
                f"{ratios[name]:.2f} ×" if name in ratios else "",
                f"{peaks[name]:.0f} MiB" if name in peaks else "",
            )
            for name in (RANK, LOOP, LAB, FORWARD, CAPTURE, VERIFIED)
        ),
        goals=tuple(Goal(*each) for each in goals),
        versions=(("torch", torch.__version__), ("transformers", version("transformers"))),
    )
