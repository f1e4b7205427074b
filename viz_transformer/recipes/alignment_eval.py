"""Which cross-attention head finds the word that is being translated, held to gold links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.alignment import head_alignment_error_rate
from viz_transformer.analysis.words import between_words, key_words, query_words, word_axis
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.links import GoldLinks
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.translator import Translator


@dataclass(frozen=True)
class Alignment:
    """How well each cross-attention head aligns words.

    Attributes:
        error_rates: alignment error rate [layer, head], 0 (perfect) to 1.
        n: sentences.
    """

    error_rates: NDArray[np.float64]
    n: int

    @property
    def best(self) -> tuple[int, int]:
        """Layer and head of the least error rate."""
        layer, head = np.unravel_index(self.error_rates.argmin(), self.error_rates.shape)
        return int(layer), int(head)


def judge_alignment(
    translator: Translator, pairs: Sequence[TextPair], links: Sequence[GoldLinks]
) -> Alignment:
    """Let the model write the given translations, and hold where its heads look to the links.

    A word is linked to the source word that its row gives most; pieces of words are put together
    first (Clark et al. 2019, section 4.1). A look at a special token is no link.

    Args:
        translator: the model.
        pairs: sentences and their translations.
        links: of each pair, words counted between spaces.

    Raises:
        UserError: if there are not as many links as pairs or none at all, one points beyond its
            sentence, or a sentence cannot be read.
    """
    if len(pairs) != len(links):
        raise UserError(
            f"there are {len(pairs)} sentence pairs and links for {len(links)}; give one line of "
            "links for each pair"
        )
    traces = [_of_words(translator.trace(pair.source, pair.target)) for pair in pairs]
    rates = head_alignment_error_rate(traces, [one.sure for one in links], [one.possible for one in links])
    return Alignment(rates, len(pairs))


def _of_words(trace: ForwardTrace) -> ForwardTrace:
    """Return the cross-attention of a trace between words."""
    queries = word_axis(trace.query_tokens("cross"), query_words(trace, "cross"))
    keys = word_axis(trace.key_tokens("cross"), key_words(trace, "cross"))
    return ForwardTrace(
        source_tokens=keys.names,
        target_tokens=("<sos>", *queries.names[:-1]),
        output_tokens=queries.names,
        cross_attention=between_words(trace.cross_attention, queries, keys),
    )
