"""Beam search over a batch of sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_transformer._bounds import BEAM, room_for, whole_number
from viz_transformer._numbers import finite
from viz_transformer._text import shown
from viz_transformer.decoding.constraints import (
    Constraints,
    Words,
    make_constraints,
    named_source,
)
from viz_transformer.decoding.length_penalty import MOST_PENALTY, LengthNorm, length_norm
from viz_transformer.decoding.recorder import Ranked, Recorder
from viz_transformer.decoding.steps import Steps, evaluating, open_steps
from viz_transformer.errors import UserError
from viz_transformer.model.autoregressive import AutoregressiveModel
from viz_transformer.model.interventions import Interventions
from viz_transformer.trace import DecodeTrace, Hypothesis


def beam_search(
    model: AutoregressiveModel,
    sources: Sequence[Sequence[int]],
    vocabulary: Words,
    *,
    beam_width: int = 4,
    length_penalty: float = 0.6,
    norm: LengthNorm = length_norm,
    min_length: int = 0,
    max_length: int | None = None,
    prefix: Sequence[int] | Sequence[Sequence[int]] = (),
    early_stop: bool = True,
    n_best: int | None = None,
    interventions: Interventions | None = None,
    steps: bool = True,
    attention: bool = False,
) -> list[DecodeTrace]:
    """Write a batch of texts, following the `beam_width` most probable beginnings of each.

    At each step the continuations of all hypotheses are ranked by log-probability; of equal ones
    the earlier hypothesis comes first, then the lower id. Among the first `beam_width` those that
    end with ``<eos>`` are finished, each once; the best `beam_width` of the others are kept. Width
    1 is greedy search. At `max_length` words only ``<eos>`` may follow. The finished are ranked by
    score, log-probability divided by `norm`.

    >>> import viz_transformer as vt
    >>> from viz_transformer.decoding import beam_search
    >>> translator = vt.load_translator()
    >>> source = translator.vocabulary.source_ids("the black cat sleeps")
    >>> (found,) = beam_search(translator.model, [source], translator.vocabulary, beam_width=3)
    >>> found.hypotheses[0].tokens
    ('el', 'gato', 'negro', 'duerme')

    Args:
        model: a Transformer, or a DecoderOnly; evaluated without dropout, its mode is put back.
        sources: ids of each source, ``<eos>`` at its end; of a DecoderOnly, what it continues.
        vocabulary: names the tokens.
        beam_width: hypotheses followed, 1 to 1,000.
        length_penalty: 0 favours short texts; larger values favour longer ones; at most 100.
        norm: `length_norm`, or `power_norm` for scores as Hugging Face's.
        min_length: fewest words before ``<eos>``.
        max_length: most words; by default what `default_max_length` says.
        prefix: ids that every text must begin with, or one list of them for each.
        early_stop: True ends a search as soon as `beam_width` hypotheses are finished; False goes
            on while one that is not can still become better than the worst of them.
        n_best: how many hypotheses to return; by default all that are finished.
        interventions: what to switch off or replace while it writes; None changes nothing.
        steps: whether to record each step's candidates; without them it is quicker.
        attention: whether to record what every head looked at, at each step; implies `steps`.

    Returns:
        One DecodeTrace per source, its hypotheses best first.

    Raises:
        UserError: if there is no source or one without a word, a number is out of range, a prefix
            is of other words, or the interventions do not fit the model.

    Source: Wu et al. 2016, section 7; early stopping and candidates: Klein et al. 2017 (OpenNMT).
    """
    settings = _settings(beam_width, length_penalty, norm, early_stop, n_best, len(vocabulary.tokens))
    constraints = make_constraints(model, sources, vocabulary, min_length, max_length, prefix)
    traces = {
        number: search.trace(place, *named_source(model, vocabulary, sources[number]))
        for number, search, place in _searches(
            model, sources, constraints, settings, interventions, steps=steps, attention=attention
        )
    }
    return [traces[number] for number in range(len(sources))]


def best_texts(
    model: AutoregressiveModel,
    sources: Sequence[Sequence[int]],
    vocabulary: Words,
    *,
    beam_width: int,
    length_penalty: float,
    max_length: int | None,
    interventions: Interventions | None,
) -> list[tuple[Hypothesis, ...]]:
    """Return what `beam_search` finds for each source, best first, without a record of the search.

    Raises:
        UserError: as `beam_search`.
    """
    settings = _settings(beam_width, length_penalty, length_norm, True, None, len(vocabulary.tokens))
    constraints = make_constraints(model, sources, vocabulary, 0, max_length, ())
    found = {
        number: search.hypotheses(place)
        for number, search, place in _searches(model, sources, constraints, settings, interventions)
    }
    return [found[number] for number in range(len(sources))]


def _searches(
    model: AutoregressiveModel,
    sources: Sequence[Sequence[int]],
    constraints: Constraints,
    settings: _Settings,
    interventions: Interventions | None,
    *,
    steps: bool = False,
    attention: bool = False,
) -> Iterator[tuple[int, _Search, int]]:
    """Search, and yield the number of each source, with its search and its place there."""
    with evaluating(model):
        for numbers, decoder_steps, ids in open_steps(model, sources, constraints, interventions, attention):
            records = steps or attention
            recorder = Recorder(constraints, settings.beam_width, settings.norm) if records else None
            search = _Search(decoder_steps, ids, constraints, numbers, settings, recorder)
            search.run()
            for place, number in enumerate(numbers):
                yield number, search, place


@dataclass(frozen=True)
class _Settings:
    beam_width: int
    norm: Callable[[int], float]
    early_stop: bool
    n_best: int


def _settings(
    beam_width: int,
    length_penalty: float,
    norm: LengthNorm,
    early_stop: bool,
    n_best: int | None,
    n_words: int,
) -> _Settings:
    """Check the numbers of a search.

    Raises:
        UserError: if one is out of range.
    """
    whole_number("beam_width", beam_width, BEAM)
    room_for(beam_width * n_words, f"beam_width={beam_width}")
    if n_best is not None:
        whole_number("n_best", n_best, BEAM)
        if n_best > beam_width:
            raise UserError(
                f"n_best={n_best} hypotheses cannot come from beam_width={beam_width}; widen the beam"
            )
    penalty = finite(length_penalty)
    if penalty is None or not 0 <= penalty <= MOST_PENALTY:
        raise UserError(f"length_penalty={shown(length_penalty)} must be a number from 0 to {MOST_PENALTY}")
    return _Settings(beam_width, lambda length: norm(length, penalty), early_stop, n_best or beam_width)


@dataclass(frozen=True)
class _End:
    """A finished hypothesis: where it ended, and what its score is."""

    step: int
    parent: int
    rank: int  # among the candidates of its last step
    log_prob: float
    score: float


@dataclass
class _Search:
    """The search over one batch; sentences leave it as they are done."""

    steps: Steps
    ids: Tensor
    constraints: Constraints
    numbers: list[int]
    settings: _Settings
    recorder: Recorder | None
    active: list[int] = field(default_factory=list)  # places in `numbers` still searched
    history: list[tuple[dict[int, int], Tensor, Tensor, Tensor]] = field(default_factory=list)

    def run(self) -> None:
        """Search until every sentence is done."""
        self.active = list(range(len(self.numbers)))
        self.rows = {place: place for place in self.active}  # place → row of the tensors
        self.finished: list[list[_End]] = [[] for _ in self.numbers]
        totals = torch.zeros(len(self.numbers), 1)  # [sentence, hypothesis]
        for step in range(self.constraints.longest + 1):
            logits = self.steps.step(self.ids)  # [row, vocab]
            totals = self._advance(logits, totals, step)
            if not self.active:
                break

    def _advance(self, logits: Tensor, totals: Tensor, step: int) -> Tensor:
        """Write one more word everywhere; return the log-probabilities [sentence, hypothesis]."""
        width, end = self.settings.beam_width, self.constraints.words.eos_id
        n_sentences, n_live = totals.shape
        total = logits.logsumexp(-1, keepdim=True)  # [row, 1]
        if self.recorder:
            self.recorder.on_logits(logits - total, totals, self.active, self.steps.attention)
        sentences = [self.numbers[place] for place in self.active for _ in range(n_live)]
        logits = self.constraints.forbid(logits, step, sentences)
        values, ids = ranked(logits, min(2 * width, logits.shape[1]))  # [row, candidate]
        each = ids.shape[1]
        sums = totals.reshape(-1, 1) + (values - total)  # [row, candidate]
        sums = sums.reshape(n_sentences, n_live * each)
        # Stable: of equal sums the earlier hypothesis is first, and then the lower id.
        sums, order = sums.sort(dim=1, descending=True, stable=True)
        sums, order = sums[:, : 2 * width], order[:, : 2 * width]
        if (missing := 2 * width - sums.shape[1]) > 0:  # of a small vocabulary; what fills up is impossible
            sums = F.pad(sums, (0, missing), value=-torch.inf)
            order = F.pad(order, (0, missing))
        tokens = ids.reshape(n_sentences, -1).gather(1, order)  # [sentence, candidate]
        parents = order // each  # [sentence, candidate]

        ends = tokens == end
        # Mostly nothing ends, and the first `width` are kept as they stand.
        quiet = not ends.any() and bool(sums[:, width - 1].isfinite().all())
        if quiet:
            kept = torch.arange(width).expand(n_sentences, -1)  # [sentence, hypothesis]
            kept_sums, kept_parents, kept_tokens = (part[:, :width] for part in (sums, parents, tokens))
        else:
            # The best that go on, in their order; -inf stands for what is not there.
            kept = ends.to(torch.int8).argsort(dim=1, stable=True)[:, :width]
            kept_sums = sums.gather(1, kept).masked_fill(ends.gather(1, kept), -torch.inf)
            kept_parents, kept_tokens = parents.gather(1, kept), tokens.gather(1, kept)
            self._finish(sums, parents, ends, step)
        self.history.append((self.rows, kept_parents, kept_tokens, kept))
        if self.recorder:
            self.recorder.on_ranked(Ranked(sums, parents, tokens, kept, kept_sums))

        rows = kept_parents + n_live * torch.arange(n_sentences)[:, None]  # [sentence, hypothesis]
        going = None
        if not (quiet and self.settings.early_stop):
            going = self._going(kept_sums, step)
        if going is not None:
            rows, kept_sums, kept_tokens = rows[going], kept_sums[going], kept_tokens[going]
            self.active = [self.active[row] for row in going.tolist()]
            self.rows = {place: row for row, place in enumerate(self.active)}
        if self.active:
            self.steps.select(rows.flatten(), going)
        self.ids = kept_tokens.flatten()
        return kept_sums

    def _finish(self, sums: Tensor, parents: Tensor, ends: Tensor, step: int) -> None:
        """Take note of the hypotheses that end here: those among the first `beam_width`."""
        settings = self.settings
        ending = (ends & sums.isfinite())[:, : settings.beam_width].nonzero().tolist()
        norm = settings.norm(step + 1)
        changed = set()
        for row, rank in ending:
            log_prob = sums[row, rank].item()
            found = _End(step, int(parents[row, rank]), rank, log_prob, log_prob / norm)
            self.finished[self.active[row]].append(found)
            changed.add(self.active[row])
        for place in changed:  # the sort is stable: of equal scores the one that ended first
            ordered = sorted(self.finished[place], key=lambda one: -one.score)
            self.finished[place] = ordered[: settings.beam_width]

    def _going(self, kept_sums: Tensor, step: int) -> Tensor | None:
        """Return the rows of the sentences whose search goes on, or None for all."""
        settings = self.settings
        best = kept_sums[:, 0].tolist()
        going = []
        for row, place in enumerate(self.active):
            finished = self.finished[place]
            alive = best[row] > -float("inf")
            if alive and len(finished) == settings.beam_width:
                # No score gets better than the log-probability of now over the norm to come.
                longest = self.constraints.max_lengths[self.numbers[place]] + 1
                norm = max(settings.norm(step + 2), settings.norm(longest))
                alive = not settings.early_stop and best[row] / norm > finished[-1].score
            if alive:
                going.append(row)
        if len(going) == len(self.active):
            return None
        return torch.tensor(going, dtype=torch.long)

    def hypotheses(self, place: int) -> tuple[Hypothesis, ...]:
        """Return what was found for one sentence, best first."""
        tokens = self.constraints.words.tokens
        hypotheses = []
        for end in self.finished[place][: self.settings.n_best]:
            ids, path, parent = [], [end.rank], end.parent
            for where, parents, words, ranks in reversed(self.history[: end.step]):
                row = where[place]
                ids.append(int(words[row, parent]))
                path.append(int(ranks[row, parent]))
                parent = int(parents[row, parent])
            ids.reverse()
            hypotheses.append(
                Hypothesis(
                    ids=tuple(ids),
                    tokens=tuple(tokens[i] for i in ids),
                    log_prob=end.log_prob,
                    score=end.score,
                    path=tuple(reversed(path)),
                )
            )
        return tuple(hypotheses)

    def trace(
        self, place: int, source_tokens: tuple[str, ...], prompt_tokens: tuple[str, ...]
    ) -> DecodeTrace:
        """Return the search over one sentence."""
        steps = self.recorder.steps(place, self.numbers[place], len(source_tokens)) if self.recorder else ()
        of_prompt = self.steps.prompt_attention
        return DecodeTrace(
            source_tokens=source_tokens,
            hypotheses=self.hypotheses(place),
            steps=steps,
            prompt_tokens=prompt_tokens,
            end_token=self.constraints.words.tokens[self.constraints.words.eos_id],
            prompt_attention=None if of_prompt is None else of_prompt[place].numpy(),
        )


def ranked(logits: Tensor, n_best: int) -> tuple[Tensor, Tensor]:
    """Return the `n_best` largest of each row with their ids, of equal ones the lower id first."""
    n_more = min(n_best + 1, logits.shape[1])
    values, ids = logits.topk(n_more)  # [row, n_more]
    # torch.topk leaves the order of equals open. They are rare, and only then all is sorted.
    if values.diff(dim=1).eq(0).any():  # two of -inf differ by NaN, and do not matter
        values, ids = logits.sort(dim=1, descending=True, stable=True)
    return values[:, :n_best], ids[:, :n_best]
