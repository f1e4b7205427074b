"""Word-alignment evaluation: the alignment error rate of each cross-attention head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.alignment import head_alignment_error_rate
from viz_transformer.analysis.words import between_words, key_words, query_words, word_axis
from viz_transformer.corpus import english_spanish
from viz_transformer.corpus.batches import as_text
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.links import GoldLinks
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.translator import Translator


@dataclass(frozen=True)
class AlignmentScore:
    """How well each cross-attention head aligns words.

    Attributes:
        error_rates: alignment error rate [layer, head], 0 (perfect) to 1.
        n: sentences.
    """

    error_rates: NDArray[np.float64]
    n: int

    @property
    def best(self) -> tuple[int, int]:
        """Layer and head with the lowest error rate."""
        layer, head = np.unravel_index(self.error_rates.argmin(), self.error_rates.shape)
        return int(layer), int(head)

    def __str__(self) -> str:
        """Return the rates as `evaluate` prints them."""
        layer, head = self.best
        rows = [
            f"  layer {n}: {' '.join(f'{rate:.3f}' for rate in r)}" for n, r in enumerate(self.error_rates)
        ]
        first = (
            f"alignment error rate over {self.n} sentences, cross-attention, best in layer {layer}, "
            f"head {head}: {self.error_rates[layer, head]:.3f}"
        )
        return "\n".join([first, *rows])


def evaluate_alignment(
    translator: Translator, pairs: Sequence[TextPair], links: Sequence[GoldLinks]
) -> AlignmentScore:
    """Compare the heads' attention, teacher forced on the given translations, with gold links.

    A word is aligned to the source word with the largest weight in its row; pieces of words are
    joined first (Clark et al. 2019, section 4.1). A special token is never aligned.

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
    traces = [word_level(translator.trace(pair.source, pair.target)) for pair in pairs]
    rates = head_alignment_error_rate(traces, [one.sure for one in links], [one.possible for one in links])
    return AlignmentScore(rates, len(pairs))


def align_english_spanish(translator: Translator, n: int = 500) -> AlignmentScore:
    """Compare every cross-attention head with the word links of some held-out sentences.

    >>> import viz_transformer as vt
    >>> from viz_transformer.recipes import align_english_spanish
    >>> found = align_english_spanish(vt.load_translator(), n=10)
    >>> bool(found.error_rates[found.best] < 0.2), bool(found.error_rates.max() > 0.5)
    (True, True)

    Args:
        translator: reads these sentences: the bundled one, or one trained on the same language.
        n: sentences; of the usual 2,000 the first.

    Returns:
        The error rate of each head.

    Raises:
        UserError: if a word is not in its vocabulary.
    """
    pairs = english_spanish(0, n_held_out=n).held_out
    texts = [TextPair(as_text(pair.source), as_text(pair.target)) for pair in pairs]
    return evaluate_alignment(translator, texts, [GoldLinks(frozenset(p.links)) for p in pairs])


def word_level(trace: ForwardTrace) -> ForwardTrace:
    """Return a trace's cross-attention between whole words."""
    attention = trace.cross_attention  # [layer, head, target, source]
    assert attention is not None, "a translator's trace has cross-attention"
    queries = word_axis(trace.query_tokens("cross"), query_words(trace, "cross"))
    keys = word_axis(trace.key_tokens("cross"), key_words(trace, "cross"))
    return ForwardTrace(
        source_tokens=keys.names,
        target_tokens=("<sos>", *queries.names[:-1]),
        output_tokens=queries.names,
        cross_attention=between_words(attention, queries, keys),
    )
