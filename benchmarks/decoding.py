"""Tokens per second of greedy and beam search, against Hugging Face's and a loop with no cache."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
import transformers

from benchmarks.table import Goal, Table
from tests.support.huggingface_models import marian_words
from viz_transformer.decoding import beam_search, greedy
from viz_transformer.model import Transformer, from_huggingface

#: d_model, layers of encoder and decoder, heads.
SIZES = ((64, 2, 4), (256, 3, 4), (512, 6, 8))
N_WORDS, SOURCE_LENGTH, BEAM_WIDTH = 2000, 16, 4
BATCHES, LENGTHS = (1, 32), (16, 64, 256)
#: Both sides run by turns until they have taken this long together, at most 7 times each.
SECONDS = 5.0
PAD, EOS = N_WORDS - 1, 0
WORDS = marian_words(N_WORDS)


def models(d_model: int, n_layers: int, n_heads: int) -> tuple[torch.nn.Module, Transformer]:
    """Return a random MarianMTModel and ours, with the same weights."""
    torch.manual_seed(0)
    config = transformers.MarianConfig(
        vocab_size=N_WORDS,
        d_model=d_model,
        encoder_layers=n_layers,
        decoder_layers=n_layers,
        encoder_attention_heads=n_heads,
        decoder_attention_heads=n_heads,
        encoder_ffn_dim=4 * d_model,
        decoder_ffn_dim=4 * d_model,
        max_position_embeddings=512,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=PAD,
        forced_eos_token_id=None,
        init_std=0.1,
    )
    theirs = transformers.MarianMTModel(config).eval()
    return theirs, from_huggingface(theirs).eval()


@torch.no_grad()
def plain_loop(model: Transformer, source: list[int], length: int) -> None:
    """Beam search with no cache: each hypothesis by itself and whole, at every step."""
    source_ids = torch.tensor([source])
    source_mask = model.padding_mask(source_ids)
    memory = model.encode(source_ids)
    live = [([PAD], 0.0)]
    for _ in range(length):
        continued = []
        for ids, log_prob in live:
            logits = model.decode(torch.tensor([ids]), memory, source_mask)
            log_probs = logits[0, -1].log_softmax(-1)
            log_probs[[PAD, EOS]] = -torch.inf
            best = log_probs.topk(BEAM_WIDTH)
            continued += [
                ([*ids, token], log_prob + more)
                for token, more in zip(best.indices.tolist(), best.values.tolist(), strict=True)
            ]
        continued.sort(key=lambda path: path[1], reverse=True)
        live = continued[:BEAM_WIDTH]


def seconds(*calls: Callable[[], object]) -> list[float]:
    """Time calls by turns, so that a busy moment strikes all; return each one's median."""
    times: list[list[float]] = [[] for _ in calls]
    while len(times[0]) < 7 and sum(map(sum, times)) < SECONDS:
        for call, durations in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            durations.append(time.perf_counter() - start)
    return [statistics.median(durations) for durations in times]


def sides(
    theirs: torch.nn.Module, ours: Transformer, batch: int, length: int, width: int
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return our call and theirs: texts of one forced length."""
    torch.manual_seed(batch)
    sources = torch.randint(1, PAD, (batch, SOURCE_LENGTH))
    sources[:, -1] = EOS
    rows = sources.tolist()

    def we() -> object:
        given = {"min_length": length, "max_length": length}
        if width == 1:
            return greedy(ours, rows, WORDS, **given)
        return beam_search(ours, rows, WORDS, beam_width=width, steps=False, **given)

    def they() -> object:
        return theirs.generate(
            sources,
            attention_mask=torch.ones_like(sources),
            num_beams=width,
            do_sample=False,
            min_new_tokens=length,
            max_new_tokens=length,
            bad_words_ids=[[PAD]],
        )

    return we, they


def run() -> Table:
    """Measure every size, batch and length."""
    transformers.logging.set_verbosity_error()
    rows, ratios = [], []
    loops: dict[int, float] = {}
    goals = []
    for size in SIZES:
        theirs, ours = models(*size)
        d_model, n_layers, _ = size
        start = time.perf_counter()
        plain_loop(ours, [*range(1, SOURCE_LENGTH), EOS], 64)
        loops[d_model] = 64 / (time.perf_counter() - start)
        for width in (1, BEAM_WIDTH):
            for warm_up in sides(theirs, ours, 2, 4, width):
                warm_up()
            for batch in BATCHES:
                for length in LENGTHS:
                    we, they = seconds(*sides(theirs, ours, batch, length, width))
                    ratios.append(they / we)
                    name = "greedy" if width == 1 else f"beam {width}"
                    loop = ""
                    if width > 1 and length == 64:
                        faster = batch * length / we / loops[d_model]
                        loop = f"{faster:.1f} ×"
                        wanted = 6 if batch == 1 else 30
                        text = f"d_model {d_model}, batch {batch}: {wanted} × the plain loop"
                        goals.append(Goal(text, f"{faster:.1f} ×", faster >= wanted))
                    cells = (
                        f"{batch * length / we:,.0f}",
                        f"{batch * length / they:,.0f}",
                        f"{ratios[-1]:.2f} ×",
                        loop,
                    )
                    where = (f"{d_model}, {n_layers}+{n_layers}", name, str(batch), str(length))
                    rows.append((*where, *cells))
    least = min(ratios)
    n_short = sum(ratio < 1.3 for ratio in ratios)
    goals.append(Goal("never slower than generate", f"{least:.2f} × at the least", least >= 1))
    goals.append(
        Goal(
            "1.3 × generate everywhere",
            f"{least:.2f} × at the least; below it in {n_short} of {len(ratios)}",
            n_short == 0,
        )
    )
    return Table(
        title="Decoding",
        text=f"The same random weights in a MarianMTModel and in ours ({N_WORDS:,} words), sources "
        f"of {SOURCE_LENGTH} tokens, texts of one forced length; tokens written per second, "
        "medians of 1 to 7 runs by turns. `generate` and ours both keep a key/value cache. The "
        "plain loop keeps none, and runs each hypothesis by itself and whole at every step; it was "
        f"run once, with a beam of {BEAM_WIDTH}, one sentence and 64 tokens: "
        + ", ".join(f"{loop:.0f} tokens/s at d_model {size}" for size, loop in loops.items())
        + ".",
        columns=(
            "d_model, layers",
            "search",
            "batch",
            "length",
            "ours, tokens/s",
            "generate, tokens/s",
            "faster by",
            "than the loop",
        ),
        rows=tuple(rows),
        goals=tuple(goals),
        versions=(("torch", torch.__version__), ("transformers", transformers.__version__)),
    )
