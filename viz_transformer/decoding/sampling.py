"""Sampling: words drawn from the distribution, or from its top k or top p."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from random import Random

import torch
from torch import Tensor

from viz_transformer._bounds import SEED, SENTENCES, room_for, whole_number
from viz_transformer._numbers import finite
from viz_transformer._text import shown
from viz_transformer.decoding.constraints import (
    Constraints,
    Words,
    ends,
    is_whole,
    make_constraints,
    named_source,
)
from viz_transformer.decoding.recorder import Forbidding
from viz_transformer.decoding.steps import Steps, evaluating, open_steps
from viz_transformer.errors import UserError
from viz_transformer.model.autoregressive import AutoregressiveModel
from viz_transformer.model.interventions import Interventions
from viz_transformer.trace import Candidate, DecodeStep, DecodeTrace, Hypothesis, Probable

_N_SHOWN = 12  # how much of each distribution's top is kept


def sample(
    model: AutoregressiveModel,
    sources: Sequence[Sequence[int]],
    vocabulary: Words,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | Sequence[int] = 0,
    min_length: int = 0,
    max_length: int | None = None,
    prefix: Sequence[int] | Sequence[Sequence[int]] = (),
    interventions: Interventions | None = None,
) -> list[DecodeTrace]:
    """Write each text by drawing words.

    Logits are divided by the temperature, then all but the `top_k` most probable words are left
    out, then all but the fewest that together have a probability of `top_p`; one of the rest is
    drawn by its share of their probability. Each sentence has its own generator, so the same seed
    gives the same text, alone or in a batch, on any machine and in an exported page: a word takes
    one number of Python's `random.Random(seed)`, and is the first up to which the shares, summed in
    float64 in the order of ids, exceed it.

    >>> import viz_transformer as vt
    >>> from viz_transformer.decoding import sample
    >>> translator = vt.load_translator()
    >>> source = translator.vocabulary.source_ids("the black cat sleeps")
    >>> (found,) = sample(translator.model, [source], translator.vocabulary, temperature=0.5, seed=1)
    >>> len(found.hypotheses)
    1

    Args:
        model: a Transformer, or a DecoderOnly; evaluated without dropout, its mode is put back.
        sources: ids of each source, ``<eos>`` at its end; of a DecoderOnly, what it continues.
        vocabulary: names the tokens.
        temperature: above 0; below 1 favours the probable words, above 1 evens them out.
        top_k: how many words are left, at least 1; None leaves all.
        top_p: the probability that is left, above 0 and at most 1; None leaves all.
        seed: of the draws, one for all sentences or one for each.
        min_length: fewest words before ``<eos>``.
        max_length: most words; by default what `default_max_length` says.
        prefix: ids that every text must begin with, or one list of them for each.
        interventions: what to switch off or replace while it writes; None changes nothing.

    Returns:
        One DecodeTrace per source with one hypothesis, whose `log_prob` is that of the whole
        distribution, and whose `score` is the same. A step's candidates are its most probable
        words: the drawn one is kept (or finished), those left out are forbidden, the others
        pruned; `share` is the probability with which each could be drawn.

    Raises:
        UserError: as `beam_search`, or if temperature, top_k, top_p or seed is out of range.

    Source: Fan et al. 2018, "Hierarchical Neural Story Generation" (top-k);
    Holtzman et al. 2020, section 3.1 (top-p).
    """
    check_filters(temperature, top_k, top_p)
    seeds = list(seed) if isinstance(seed, Sequence) else [seed] * len(sources)
    if len(seeds) != len(sources) or not all(is_whole(each) and each >= 0 for each in seeds):
        raise UserError(
            f"seed={shown(seed)} must be a whole number of at least 0, or one for each of the "
            f"{len(sources)} sentences"
        )
    constraints = make_constraints(model, sources, vocabulary, min_length, max_length, prefix)
    traces: dict[int, DecodeTrace] = {}
    with evaluating(model):
        for numbers, steps, ids in open_steps(model, sources, constraints, interventions):
            draws = Draws(constraints, numbers, temperature, top_k, top_p, seeds)
            draws.run(steps, ids, constraints)
            for place, number in enumerate(numbers):
                tokens = named_source(model, vocabulary, sources[number])
                traces[number] = draws.trace(place, *tokens)
    return [traces[number] for number in range(len(sources))]


def sample_ids(
    model: AutoregressiveModel,
    source: Sequence[int],
    vocabulary: Words,
    n: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    min_length: int = 0,
    max_length: int | None = None,
    prefix: Sequence[int] = (),
    interventions: Interventions | None = None,
) -> list[tuple[int, ...]]:
    """Write `n` texts of one source by drawing words, all at once and without a record.

    Each text is an independent draw from what `sample` draws from, with the same arguments; one
    generator draws them all, so a text is not that of `sample` with the same seed.

    >>> import viz_transformer as vt
    >>> from viz_transformer.decoding import sample_ids
    >>> translator = vt.load_translator()
    >>> source = translator.vocabulary.source_ids("the black cat sleeps")
    >>> len(sample_ids(translator.model, source, translator.vocabulary, n=3))
    3

    Args:
        model: that writes.
        source: token ids; empty for a language model.
        vocabulary: of the model.
        n: how many texts; with a vocabulary of the bundled translator's size, some 350,000.
        temperature: as in `sample`.
        top_k: as in `sample`.
        top_p: as in `sample`.
        seed: fixes the draws.
        min_length: as in `sample`.
        max_length: as in `sample`.
        prefix: token ids that every text begins with.
        interventions: what to switch off or replace; None changes nothing.

    Returns:
        The ids of each text, without ``<sos>`` and ``<eos>``.

    Raises:
        UserError: as `sample`, or if n is not a whole number of at least 1.
    """
    check_filters(temperature, top_k, top_p)
    whole_number("n", n, SENTENCES)
    room_for(n * len(vocabulary.tokens), f"n={n} texts")
    whole_number("seed", seed, SEED, least=0)
    constraints = make_constraints(model, [source], vocabulary, min_length, max_length, prefix)
    generator = torch.Generator().manual_seed(seed)
    written: list[Tensor] = []  # of each step, [text]
    ended = torch.zeros(n, dtype=torch.bool)
    with evaluating(model):
        ((_, steps, ids),) = open_steps(model, [source], constraints, interventions)
        while not ended.all():  # at its maximum length a text must end
            logits = steps.step(ids)  # [1, vocab] at first, then [text, vocab]
            allowed = constraints.forbid(logits.clone(), len(written), [0] * len(logits))
            shares = kept_probabilities(allowed, temperature, top_k, top_p)
            if not written:  # the source and the first step are read once for all
                ids = shares[0].multinomial(n, replacement=True, generator=generator)  # [text]
                steps.select(torch.zeros(n, dtype=torch.long))
            else:
                ids = shares.multinomial(1, generator=generator)[:, 0]  # [text]
            ended |= ids == vocabulary.eos_id
            written.append(ids)
    rows = torch.stack(written, 1).tolist()  # [text, step]
    return [tuple(row[: row.index(vocabulary.eos_id)]) for row in rows]


def kept_probabilities(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """Return with which probability each word is drawn [..., vocab]; those left out have 0.

    Of equally probable words at the edge the lower ids stay.

    >>> import torch
    >>> from viz_transformer.decoding import kept_probabilities
    >>> kept_probabilities(torch.tensor([1.0, 1.0, 0.0]), top_k=2).tolist()
    [0.5, 0.5, 0.0]

    Args:
        logits: scores of words [..., vocab].
        temperature: scores are divided by it; above 0.
        top_k: how many words are left; None leaves all.
        top_p: the probability that is left, up to 1; None leaves all.
    """
    scaled = (logits / float(temperature)).softmax(-1)  # [..., vocab]
    if top_k is None and top_p is None:
        return scaled
    values, order = scaled.sort(dim=-1, descending=True, stable=True)  # [..., rank]
    rank = torch.arange(values.shape[-1], device=values.device)
    left = torch.ones_like(values, dtype=torch.bool)
    if top_k is not None:
        left &= rank < min(top_k, len(rank))  # torch takes no number of more than 64 bits
        values = values * left / (values * left).sum(-1, keepdim=True)
    if top_p is not None and top_p < 1:  # at 1 all stay, though rounded sums may reach it early
        # A word stays while those before it have not reached top_p: the one that does, stays too.
        left &= values.cumsum(-1) - values < top_p
    values = values * left
    values = values / values.sum(-1, keepdim=True)
    return torch.zeros_like(scaled).scatter_(-1, order, values)


class Draws:
    """The texts of one batch as they are drawn."""

    def __init__(
        self,
        constraints: Forbidding,
        numbers: list[int],
        temperature: float,
        top_k: int | None,
        top_p: float | None,
        seeds: list[int],
    ) -> None:
        """Begin to draw.

        Args:
            constraints: what may be written.
            numbers: which sentences these are.
            temperature: as in `sample`.
            top_k: as in `sample`.
            top_p: as in `sample`.
            seeds: of all sentences.
        """
        self._constraints, self._numbers = constraints, numbers
        self._filter = (temperature, top_k, top_p)
        self._generators = [Random(seeds[number]) for number in numbers]
        self._ids: list[list[int]] = [[] for _ in numbers]
        self._log_probs = [0.0] * len(numbers)
        self._steps: list[list[DecodeStep]] = [[] for _ in numbers]
        self._paths: list[list[int]] = [[] for _ in numbers]
        self._ended = [False] * len(numbers)

    def run(self, steps: Steps, ids: Tensor, constraints: Constraints) -> None:
        """Draw until every text has ended."""
        for step in range(constraints.longest + 1):
            logits = steps.step(ids)  # [sentence, vocab]
            drawn = self.draw(step, logits, constraints.forbid(logits.clone(), step, self._numbers))
            if all(self._ended):
                return
            ids = torch.tensor(drawn)

    def draw(self, step: int, logits: Tensor, allowed: Tensor) -> list[int]:
        """Draw a word of each text, and take note of it where the text has not ended.

        Args:
            step: number of words written before.
            logits: the model's own, [sentence, vocab].
            allowed: the same, -inf where a word may not be written.
        """
        log_probs = logits.log_softmax(-1)
        shares = kept_probabilities(allowed.double(), *self._filter)  # [sentence, vocab]
        drawn = [
            _drawn(share.tolist(), generator.random())
            for share, generator in zip(shares, self._generators, strict=True)
        ]
        for place, token in enumerate(drawn):
            if not self._ended[place]:
                self._note(place, step, token, log_probs[place], shares[place])
                self._ended[place] = token in ends(self._constraints.words)
        return drawn

    def _note(self, place: int, step: int, drawn: int, log_probs: Tensor, shares: Tensor) -> None:
        words, before = self._constraints.words, self._log_probs[place]
        shown = log_probs.topk(min(_N_SHOWN, len(log_probs))).indices.tolist()
        if drawn not in shown:
            shown.append(drawn)
        candidates = []
        for token in shown:
            log_prob, share = log_probs[token].item(), shares[token].item()
            why = self._constraints.why_forbidden(token, step, self._numbers[place])
            if token == drawn:
                status = "finished" if token in ends(words) else "kept"
                reason = "drawn"
            elif share > 0:
                status, reason = "pruned", "not drawn"
            else:
                status, reason = "forbidden", why or f"left out by {self._left_out_by()}"
            candidates.append(
                Candidate(
                    parent=0,
                    token=words.tokens[token],
                    log_prob=before + log_prob,
                    score=before + log_prob,
                    status=status,
                    reason=reason,
                    token_log_prob=log_prob,
                    share=share,
                )
            )
        probable = tuple(Probable(token=words.tokens[t], log_prob=log_probs[t].item()) for t in shown)
        self._steps[place].append(DecodeStep(candidates=tuple(candidates), probable=(probable,)))
        self._paths[place].append(shown.index(drawn))
        self._log_probs[place] += log_probs[drawn].item()
        self._ids[place].append(drawn)

    def _left_out_by(self) -> str:
        _, top_k, top_p = self._filter
        names = [f"top_k={top_k}"] if top_k is not None else []
        return " and ".join([*names, f"top_p={top_p}"] if top_p is not None else names) or "rounding"

    def trace(
        self, place: int, source_tokens: tuple[str, ...], prompt_tokens: tuple[str, ...]
    ) -> DecodeTrace:
        """Return one text and how it was drawn."""
        tokens, ids = self._constraints.words.tokens, tuple(self._ids[place])
        ids = ids[:-1] if self._ended[place] else ids  # without <eos>
        hypothesis = Hypothesis(
            ids=ids,
            tokens=tuple(tokens[i] for i in ids),
            log_prob=self._log_probs[place],
            score=self._log_probs[place],
            path=tuple(self._paths[place]),
        )
        return DecodeTrace(
            source_tokens=source_tokens,
            hypotheses=(hypothesis,),
            steps=tuple(self._steps[place]),
            prompt_tokens=prompt_tokens,
            end_token=tokens[self._constraints.words.eos_id],
        )


def _drawn(shares: Sequence[float], number: float) -> int:
    """Return the id that a number from 0 up to 1 draws; engine/decoding/sampling.ts does the same."""
    sums = list(accumulate(shares))
    return bisect(sums, number * sums[-1], hi=len(sums) - 1)


def check_filters(temperature: object, top_k: object, top_p: object) -> None:
    """Refuse a temperature, a top_k or a top_p that is out of range.

    Raises:
        UserError: if one is.
    """
    if (finite(temperature) or 0.0) <= 0:
        raise UserError(
            f"temperature={shown(temperature)} must be a number above 0; for the most probable word "
            "each time, use greedy"
        )
    if top_k is not None and (not is_whole(top_k) or top_k < 1):
        raise UserError(f"top_k={shown(top_k)} must be a whole number of at least 1, or None for all")
    if top_p is not None and not 0 < (finite(top_p) or 0.0) <= 1:
        raise UserError(f"top_p={shown(top_p)} must be above 0 and at most 1, or None for all")
