"""The initial loss lab's view: starts of an untrained model, measured beforehand and sent as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import traitlets
from numpy.typing import NDArray

from viz_transformer._numbers import fixed_number, short_number
from viz_transformer.errors import UserError
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, check_index
from viz_transformer.widgets.base.view import View, sendable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "The bars show the logit that the untrained model gives each token as the next one, once it has "
    "read up to the chosen word. The curve shows its loss on all sentences. Change the size of the "
    "embeddings, with the slider or along the curve, or choose another word."
)


class Start(Protocol):
    """What an untrained model makes of the sentences; `experiments.initial_loss.InitialLoss` is one."""

    @property
    def std(self) -> float:
        """Standard deviation of the numbers in its embedding table."""

    @property
    def loss(self) -> float:
        """Cross-entropy per real target token, in nats."""

    @property
    def echo(self) -> float:
        """Share of the places at which the token just read has the largest logit."""

    @property
    def logits(self) -> NDArray[np.float32]:
        """Logits [sentence, target, vocab]."""


class InitialLossLab(View):
    """See the scores and the loss of an untrained model, by the scale of its embeddings.

    What the viewer chooses is a trait, and setting the trait moves the view.
    ``vt.initial_loss_lab()`` makes one.

    >>> import viz_transformer as vt
    >>> view = vt.initial_loss_lab(stds=(0.02, 1.0))
    >>> view.std = 0.02

    Attributes:
        std: standard deviation of the embeddings, one of `stds`.
        sentence: index of the sentence that the decoder reads, from 0.
        place: index of the word in it that was just read, from 0: the scores are of the next one.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.
        stds: the standard deviations that were measured, rising.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.initial_loss_lab(model, sentence={sentence}, place={place})"

    data = traitlets.Dict(help="the measured starts, as the page reads them").tag(sync=True, content=True)
    std = traitlets.Float(help="standard deviation of the embeddings").tag(sync=True)
    sentence = Index(0, help="the sentence, counted from 0").tag(sync=True)
    place = Index(0, help="the word just read, counted from 0").tag(sync=True)
    text_size = TextSize()

    def __init__(
        self,
        starts: Sequence[Start],
        tokens: Sequence[str],
        read: NDArray[np.integer],
        wanted: NDArray[np.integer],
        pad_id: int,
        *,
        std: float,
        sentence: int = 0,
        place: int = 0,
    ) -> None:
        """Make a view of starts that were measured.

        Args:
            starts: two or more, of different standard deviations.
            tokens: all tokens, by id.
            read: ids [sentence, place] that the decoder reads.
            wanted: ids [sentence, place] that it should predict.
            pad_id: the id in `wanted` where a sentence has ended.
            std: the first standard deviation shown.
            sentence: the first sentence.
            place: the first place in it.

        Raises:
            UserError: if there are fewer than two starts, or none that is chosen.
        """
        self._starts = {start.std: start for start in sorted(starts, key=lambda start: start.std)}
        if len(self._starts) < 2:
            raise UserError(f"stds has {len(self._starts)} different values; give two or more to choose from")
        self._tokens = tuple(tokens)
        lengths = (wanted != pad_id).sum(axis=1)  # [sentence]
        self._read = [row[:n].tolist() for row, n in zip(read, lengths, strict=True)]
        self._wanted = [row[:n].tolist() for row, n in zip(wanted, lengths, strict=True)]
        super().__init__(traits={"about": _ABOUT, "data": self._payload(), "std": std, "sentence": sentence})
        self.place = place

    @property
    def stds(self) -> tuple[float, ...]:
        """The standard deviations that were measured, rising."""
        return tuple(self._starts)

    def figure(self) -> Figure:
        """Return what the view shows now as a matplotlib figure: the scores, and the curve of the loss."""
        from viz_transformer.plots.embeddings import plot_start

        start = self._starts[self.std]
        return plot_start(
            self._logits(start)[self.sentence][self.place],
            self._tokens,
            read=self._read[self.sentence][self.place],
            wanted=self._wanted[self.sentence][self.place],
            losses=[(each.std, each.loss) for each in self._starts.values()],
            here=(start.std, start.loss),
        )

    def alt_text(self) -> str:
        """Return what the view shows now in words."""
        start = self._starts[self.std]
        said = " ".join(self._tokens[i] for i in self._read[self.sentence][: self.place + 1])
        scores = self._logits(start)[self.sentence][self.place]  # [vocab]
        read, wanted = (ids[self.sentence][self.place] for ids in (self._read, self._wanted))
        return (
            f"Embeddings with standard deviation {short_number(start.std, 3)}: loss {start.loss:.1f}, "
            f"where a uniform guess gives {math.log(len(self._tokens)):.2f}. After “{said}” the "
            f"token just read has the logit {fixed_number(scores[read], 1)}, and "
            f"{self._tokens[wanted]}, which should be written, {fixed_number(scores[wanted], 1)}."
        )

    def __repr__(self) -> str:
        """Return what is chosen in short."""
        return f"InitialLossLab(std={self.std:.3g}, sentence={self.sentence}, place={self.place})"

    def _logits(self, start: Start) -> list[NDArray[np.float32]]:
        """Return the logits at the real places of each sentence, each [place, vocab]."""
        return [each[: len(ids)] for each, ids in zip(start.logits, self._read, strict=True)]

    def _payload(self) -> dict[str, Any]:
        starts = self._starts.values()
        logits = np.concatenate([each for start in starts for each in self._logits(start)])
        return {
            "stds": [start.std for start in starts],
            "losses": [start.loss for start in starts],
            "echoes": [start.echo for start in starts],
            "tokens": sendable(self._tokens),
            "read": self._read,
            "wanted": self._wanted,
            "logits": logits.astype("<f4").tobytes(),  # [std, place of all sentences, vocab]
        }

    @traitlets.validate("std")
    def _check_std(self, proposal: dict[str, Any]) -> float:
        if proposal["value"] not in self._starts:
            told = ", ".join(f"{std:.4g}" for std in self._starts)
            raise SelectionError(f"std={proposal['value']!r} was not measured; choose one of stds: {told}")
        return proposal["value"]

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal: dict[str, Any]) -> int:
        check_index("sentence", proposal["value"], len(self._read))
        return proposal["value"]

    @traitlets.validate("place")
    def _check_place(self, proposal: dict[str, Any]) -> int:
        check_index("place", proposal["value"], len(self._read[self.sentence]), owner="the sentence has")
        return proposal["value"]

    @traitlets.observe("sentence")
    def _fit_place(self, _: object) -> None:
        self.place = min(self.place, len(self._read[self.sentence]) - 1)
