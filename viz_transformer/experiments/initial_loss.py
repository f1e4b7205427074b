"""The initial loss of the large six-pairs model, by the scale of its embeddings."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from viz_transformer._bounds import FACTOR, SEED, at_most, whole_number
from viz_transformer._numbers import finite
from viz_transformer._text import shown
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import as_text, pad
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.errors import UserError
from viz_transformer.recipes.six_pairs import LARGE_MODEL
from viz_transformer.training import make_model
from viz_transformer.training.loss import token_loss


class InitialLoss(NamedTuple):
    """The output of an untrained model on the six pairs.

    >>> import numpy as np
    >>> from viz_transformer.experiments import InitialLoss
    >>> start = InitialLoss(std=1.0, loss=294.0, echo=1.0, logits=np.zeros((6, 5, 35)))
    >>> round(start.loss / np.log(start.logits.shape[-1]))  # times a uniform guess's
    83

    Attributes:
        std: standard deviation of the numbers in its embedding table.
        loss: cross-entropy per real target token, in nats.
        echo: share of the positions at which the token just read has the largest logit.
        logits: [sentence, target, vocab].
    """

    std: float
    loss: float
    echo: float
    logits: NDArray[np.float32]


class UntrainedModel:
    """The paper's base model on the six pairs, untrained.

    One embedding table serves source, target and output. Its numbers are drawn once; `start`
    multiplies them, so that their standard deviation is all that differs.

    >>> from viz_transformer.experiments import UntrainedModel
    >>> model = UntrainedModel()
    >>> for std in (1.0, 0.02):
    ...     print(std, round(model.start(std).loss, -1))
    1.0 290.0
    0.02 0.0

    Attributes:
        vocabulary: of the six pairs, 35 tokens.
        source: ids [sentence, position] that the encoder reads.
        read: ids [sentence, position] that the decoder reads.
        wanted: ids [sentence, position] that it should predict.
        n_parameters: how many numbers the model has.
    """

    def __init__(self, seed: int = 0, *, matrices: str = "torch") -> None:
        """Draw the model.

        Args:
            seed: of the weights.
            matrices: ``"torch"`` for the matrices that `nn.Linear` starts with, ``"xavier"`` for
                those that this package starts with.

        Raises:
            UserError: if the matrices are neither, or the seed is no number that a generator takes.
        """
        whole_number("seed", seed, SEED, least=0)
        if matrices not in ("torch", "xavier"):
            raise UserError(f"matrices={matrices!r} is unknown; choose 'torch' or 'xavier'")
        self.vocabulary = vocabulary_of(SIX_PAIRS)
        config = replace(LARGE_MODEL, vocab_size=len(self.vocabulary))
        self._model = make_model(config, seed).eval()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            for module in self._model.modules():
                if isinstance(module, nn.Embedding) or (
                    isinstance(module, nn.Linear) and matrices == "torch"
                ):
                    module.reset_parameters()  # what torch draws: of an embedding, N(0, 1)
        self._drawn = self._model.source_embedding.weight.detach().clone()  # [vocab, d_model]
        self.n_parameters = sum(each.numel() for each in self._model.parameters())
        pad_id = self.vocabulary.pad_id
        self.source = pad([self.vocabulary.source_ids(as_text(p.source)) for p in SIX_PAIRS], pad_id)
        target = pad([self.vocabulary.target_ids(as_text(p.target)) for p in SIX_PAIRS], pad_id)
        self.read, self.wanted = target[:, :-1], target[:, 1:]

    def start(self, std: float) -> InitialLoss:
        """Return the loss and logits when the embeddings have this standard deviation.

        Raises:
            UserError: if it is not above 0.
        """
        if not finite(std) or not std > 0:
            raise UserError(f"std={shown(std)} must be a number above 0")
        at_most("std", std, FACTOR)
        read, wanted = torch.from_numpy(self.read), torch.from_numpy(self.wanted)
        with torch.no_grad():
            self._model.source_embedding.weight.copy_(self._drawn * std)
            logits = self._model(torch.from_numpy(self.source), read)  # [sentence, target, vocab]
        loss, _ = token_loss(logits, wanted, self.vocabulary.pad_id)
        real = wanted != self.vocabulary.pad_id
        echo = ((logits.argmax(-1) == read) & real).sum() / real.sum()
        return InitialLoss(std, loss.item(), echo.item(), logits.numpy())
