"""Activation patching: which part of a clean run brings its answer back into a corrupted run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from viz_transformer.capturing.running import evaluating
from viz_transformer.errors import UserError
from viz_transformer.interpreting.batched_runs import KeptRun, agree
from viz_transformer.interpreting.heads import rewritten
from viz_transformer.interpreting.metric import MetricLike, as_number
from viz_transformer.interpreting.prompt import PromptLike, read_prompt, run
from viz_transformer.interpreting.sites import AttentionSite, find_sites
from viz_transformer.interpreting.stream import Stream, before, find_blocks, read_stream
from viz_transformer.trace import KINDS, PatchingMap


def patching(
    model: Any,
    clean: PromptLike,
    corrupted: PromptLike,
    metric: MetricLike,
    what: str = "heads",
    *,
    tokenizer: Any = None,
    kind: str | None = None,
    target: PromptLike | None = None,
    position: int | None = None,
    width: int = 1,
    batch_size: int = 16,
) -> PatchingMap:
    """Put one part of the clean run into the corrupted run at a time, and measure what comes back.

        found = vt.attribution.patching(
            model,
            "When Mary and John went out, John gave a bag to",
            "When Mary and John went out, Mary gave a bag to",
            metric=(" Mary", " John"),
            tokenizer=tokenizer,
        )
        vt.plots.plot_patching(found)

    >>> import viz_transformer as vt
    >>> model, prompts = vt.load_language_model(), ("el gato", "la vaca")
    >>> options = {"metric": "duerme", "tokenizer": model.vocabulary}
    >>> found = vt.attribution.patching(model.model, *prompts, **options)
    >>> found.values.shape  # [layer, head]
    (2, 4)

    Args:
        model: of Hugging Face's a causal language model, a masked one such as BERT, an encoder–decoder, or a
            classifier; or one of ours.
        clean: the prompt whose answer is restored: a text, token ids [position], or a picture or a
            sound, as the numbers that the model reads or as what its processor returns.
        corrupted: a prompt of the same length that leads to another answer.
        metric: what is measured: a token or a class, whose logit it is; two of them, for the difference of
            their logits; a slice of positions, for the mean loss of the clean prompt's tokens there; or a
            function of the logits [position, vocab], of a classifier [class].
        what: ``"heads"`` patches the output of a head at all positions; ``"positions"`` patches the
            residual stream that enters a layer, at one position.
        tokenizer: Hugging Face's, or a vocabulary of ours.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``: which heads, or which stream; by default, of an
            encoder–decoder the cross-attention's heads and the encoder's stream, else what there is.
        target: of an encoder–decoder, the words that it has written so far in both runs, or their ids; by
            default none, so that its first word is measured.
        position: where the logits are; by default at the one gap of a masked model, or else at the end.
        width: how many neighbouring positions are patched together: 50 frames of Whisper are a second.
        batch_size: how many patched runs are computed at once.

    Raises:
        UserError: if the prompts differ in length or the metric does not tell them apart, or as
            `logit_lens`.

    Source: Meng et al. 2022, "Locating and Editing Factual Associations in GPT", section 2.1; Wang et
    al. 2022, "Interpretability in the Wild"; Heimersheim & Nanda 2024, "How to use and interpret
    activation patching".
    """
    if not isinstance(batch_size, int) or batch_size < 1:
        raise UserError(f"batch_size={batch_size!r:.40}; give a whole number of at least 1")
    options = {"tokenizer": tokenizer, "kind": kind, "target": target, "position": position, "width": width}
    runs = PatchRuns(model, clean, corrupted, metric, what, **options)
    return PatchingMap(
        what=what,
        kind=runs.kind,
        values=np.array([runs.layer(layer, batch_size) for layer in range(len(runs.layers))]),
        clean=runs.clean,
        corrupted=runs.corrupted,
        metric=runs.metric.name,
        clean_tokens=_joined(runs.tokens[0], width),
        corrupted_tokens=_joined(runs.tokens[1], width),
    )


@dataclass(frozen=True, eq=False)
class PatchedLayer:
    """What can be patched in one layer.

    Attributes:
        path: the module where it is, as `named_modules` names it.
        hook: given a function from the numbers there, [1, position, …], to those that replace them,
            applies it in every run inside a ``with`` block.
        parts: bool [part, position or 1, …], True where a part's numbers are.
    """

    path: str
    hook: Callable[[Callable[[Tensor], Tensor]], AbstractContextManager[Any]]
    parts: Tensor


class PatchRuns:
    """A clean and a corrupted run, parts of the one of which can be put into the other.

    Attributes:
        model: what runs.
        kind: whose heads, or which stream, is patched.
        prompts: the clean one and the corrupted one.
        tokens: theirs, as the patched layers read them.
        layers: what can be patched in each.
        metric: what is measured.
        logits: of both runs, [position, vocab].
        clean: the metric of the clean run.
        corrupted: that of the corrupted run.
    """

    def __init__(
        self,
        model: Any,
        clean: PromptLike,
        corrupted: PromptLike,
        metric: MetricLike | None,
        what: str,
        *,
        tokenizer: Any = None,
        kind: str | None = None,
        target: PromptLike | None = None,
        position: int | None = None,
        width: int = 1,
    ) -> None:
        """Run both prompts, and keep of the clean run what can be patched; see `patching`."""
        if what not in ("heads", "positions"):
            raise UserError(f"what={what!r}; choose 'heads' or 'positions'")
        if not isinstance(width, int) or width < 1:
            raise UserError(f"width={width!r:.40}; give a whole number of at least 1")
        if width > 1 and what == "heads":
            raise UserError(
                f"width={width} joins positions, and what='heads' patches heads; give what='positions'"
            )
        self.model, self.kind = model, _kind_of(model, what, kind)
        first, second = (
            read_prompt(model, each, tokenizer, target, writes=False) for each in (clean, corrupted)
        )
        self.prompts = first, second
        side = KINDS[self.kind].query
        self.tokens = first.side(side).tokens, second.side(side).tokens
        lengths = tuple(map(len, self.tokens))
        if lengths[0] != lengths[1]:
            raise UserError(
                f"the clean prompt has {lengths[0]} tokens and the corrupted one "
                f"{lengths[1]}, but a position is patched by the same position; change "
                "words for others of as many tokens"
            )
        self.layers = (
            _layers_of_heads(model, self.kind)
            if what == "heads"
            else _layers_of_positions(model, self.kind, lengths[0], width)
        )
        with evaluating(model):
            self._clean_numbers, clean_logits = self._run_clean()  # of each layer [1, position, …]
            self._begun: KeptRun | None = self._begin()
            corrupted_logits = (self._begun.output if self._begun else run(model, second))[0]
            self.logits = clean_logits, corrupted_logits
            self.metric = first.metric(metric, clean_logits, first.index_of(position))
            self.clean, self.corrupted = (as_number(self.metric.measure(each)) for each in self.logits)
        ends = self.clean, self.corrupted
        if not np.isfinite(ends).all() or abs(ends[0] - ends[1]) <= 1e-6 * max(1.0, abs(ends[0])):
            raise UserError(
                f"the {self.metric.name} is {ends[0]:.4g} in the clean run and {ends[1]:.4g} in the "
                "corrupted one, so there is nothing to bring back; give prompts that lead to different "
                "answers, or another metric"
            )

    def layer(self, layer: int, batch_size: int = 16) -> list[float]:
        """Return the metric with each part of a layer patched."""
        with evaluating(self.model):
            patched = self._patched(layer, batch_size, self._begun)
            return [as_number(self.metric.measure(logits)) for logits in patched]

    def together(self, parts: Sequence[tuple[int, int]]) -> Stream:
        """Return the corrupted run with some parts, each a layer and a number, patched at once."""
        with evaluating(self.model), ExitStack() as hooks:
            for layer in {layer for layer, _ in parts}:
                chosen = self.layers[layer].parts[[part for at, part in parts if at == layer]]
                hooks.enter_context(self._patch(layer, chosen.any(0)))
            stack = None if self.kind == "cross" else self.kind
            return read_stream(find_blocks(self.model, stack), self.prompts[1])

    def _run_clean(self) -> tuple[list[Tensor], Tensor]:
        """Return each layer's numbers in the clean run [1, position, …], and the logits [position, vocab]."""
        found: list[Tensor] = []

        def keep(numbers: Tensor) -> Tensor:
            found.append(numbers)
            return numbers

        with ExitStack() as hooks:
            for each in self.layers:
                hooks.enter_context(each.hook(keep))
            logits = run(self.model, self.prompts[0])[0]
        if len(found) != len(self.layers) or any(len(numbers) != 1 for numbers in found):
            raise UserError(
                f"a layer of {type(self.model).__name__} runs several times or on parts of what it reads "
                "(Swin's windows), so no one output can be patched; give a model whose layers each read "
                "the whole once"
            )
        return found, logits

    def _begin(self) -> KeptRun | None:
        """Return the corrupted run, for patched ones to begin with; None if their logits then differ."""
        last = len(self.layers) - 1
        try:
            rows = partial(run, self.model, self.prompts[1])
            kept = KeptRun(self.model, rows, [each.path for each in self.layers])
            logits = [next(self._patched(last, 2, each)) for each in (kept, None)]
        except Exception:  # the model's own error comes again, if it has one
            return None
        return kept if agree(*logits) else None

    def _patched(self, layer: int, batch_size: int, begun: KeptRun | None) -> Iterator[Tensor]:
        """Yield the logits [position, vocab] of the corrupted run with each part of a layer patched."""
        here = self.layers[layer]
        for parts in here.parts.split(batch_size):
            beginning = begun.beginning_at([here.path], len(parts)) if begun else nullcontext()
            with beginning, self._patch(layer, parts):
                logits = run(self.model, self.prompts[1], len(parts))
            yield from logits

    def _patch(self, layer: int, parts: Tensor) -> AbstractContextManager[Any]:
        """Put the clean numbers of a layer into each run, where the parts are."""
        clean = self._clean_numbers[layer]
        parts = parts.to(clean.device)
        return self.layers[layer].hook(lambda numbers: torch.where(parts, clean, numbers))


def _kind_of(model: Any, what: str, kind: str | None) -> str:
    """Return which heads, or which stream, are patched."""
    kinds = {site.kind for site in find_sites(model)}
    if kind is None:
        usual = ("cross", "decoder", "encoder") if what == "heads" else ("encoder", "decoder")
        return next(each for each in usual if each in kinds)
    possible = [each for each in KINDS if each in kinds and (what == "heads" or each != "cross")]
    if kind not in possible:
        raise UserError(f"kind={kind!r}, but {type(model).__name__} has {what} of {possible}; choose one")
    return kind


def _layers_of_heads(model: nn.Module, kind: str) -> list[PatchedLayer]:
    """Return, for each layer, its heads' outputs [1, position, head, d_head]."""

    def layer(site: AttentionSite) -> PatchedLayer:
        parts = torch.eye(site.n_heads).bool()[:, None, :, None]  # [part, 1, head, 1]
        return PatchedLayer(site.name, lambda change: rewritten([(site, change)]), parts)

    return [layer(site) for site in find_sites(model) if site.kind == kind]


def _layers_of_positions(model: nn.Module, kind: str, n_positions: int, width: int) -> list[PatchedLayer]:
    """Return, for each layer, the positions of the stream that enters it, [1, position, d_model]."""
    part_of = torch.arange(n_positions) // width  # [position]
    parts = (part_of == part_of.unique()[:, None])[..., None]  # [part, position, 1]
    paths = {module: path for path, module in model.named_modules()}
    blocks = find_blocks(model, kind).modules
    return [PatchedLayer(paths[block], partial(before, block), parts) for block in blocks]


def _joined(tokens: tuple[str, ...], width: int) -> tuple[str, ...]:
    """Return the names of so many neighbouring positions each: the first and the last."""
    groups = [tokens[i : i + width] for i in range(0, len(tokens), width)]
    return tuple(each[0] if len(each) == 1 else f"{each[0]}–{each[-1]}" for each in groups)
