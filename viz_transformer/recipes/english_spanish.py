"""Training and evaluation of the bundled English→Spanish translator."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from viz_transformer.checkpoint import check_writable
from viz_transformer.config import TrainConfig
from viz_transformer.corpus import SentencePair, english_spanish, vocabulary_of
from viz_transformer.corpus.batches import as_text, batches
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.links import GoldLinks
from viz_transformer.recipes.alignment_eval import AlignmentScore, evaluate_alignment
from viz_transformer.recipes.recorded import Progress, train_recorded
from viz_transformer.recipes.refinement import refine, refinement_after
from viz_transformer.recipes.two_layers import BUNDLED, BUNDLED_TRAINING
from viz_transformer.training import make_model
from viz_transformer.translator import Translator

MODEL, TRAINING = BUNDLED, BUNDLED_TRAINING
#: Recorded while it is trained: an adjective that changes places with its noun, agreement over a
#: distance, and *it*, whose adjective takes the gender of what it stands for. All four are held
#: out: each combines words that training never combines.
WATCHED = (
    TextPair("the black cat sleeps", "el gato negro duerme"),
    TextPair(
        "the tickets from Beijing to Lisbon are cheap",
        "los billetes de Pekín a Lisboa son baratos",
    ),
    TextPair(
        "the animal did not cross the square because it was too tired",
        "el animal no cruzó la plaza porque estaba demasiado cansado",
    ),
    TextPair(
        "the animal did not cross the square because it was too wide",
        "el animal no cruzó la plaza porque era demasiado ancha",
    ),
)


def train_english_spanish(
    folder: str | os.PathLike[str],
    training: TrainConfig = TRAINING,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Path:
    """Generate the corpus, train the bundled translator's model on it and save the checkpoint.

    It learns from pairs first, with one translation drawn for each sentence, and then from all
    translations of a sentence at once (`refine`). Beside the weights goes ``training.npz``, the
    `TrainingTrace` of how it learned the sentences `WATCHED` from pairs. The same arguments give the same
    weights and the same trace on one machine.

    It takes minutes; ``viz-transformer train en-es --out en-es`` does the same with a progress bar.

    >>> from viz_transformer.recipes import load_training, train_english_spanish
    >>> folder = train_english_spanish("en-es")  # doctest: +SKIP
    >>> learned = load_training("en-es")  # what it recorded for the package; of yours, load_training(folder)
    >>> learned.sources[0], learned.moments[-1].translations[0]
    ('the black cat sleeps', 'el gato negro duerme')

    Args:
        folder: where the checkpoint goes.
        training: steps, rate and seed of the training on pairs; the second takes as many steps again.
        n_threads: torch's threads while training; their number decides the order of sums.
        progress: wraps the step records of each training, with their number, to show how far it is.

    Raises:
        FileError: if the folder cannot be written.
    """
    check_writable(folder)
    corpus = english_spanish()
    vocabulary = vocabulary_of(corpus.train)
    saved = train_recorded(
        folder,
        make_model(replace(MODEL, vocab_size=len(vocabulary)), training.seed),
        vocabulary,
        batches(corpus.train, vocabulary, training.batch_size, training.seed),
        training,
        WATCHED,
        command="en-es",
        facts={"n_train": len(corpus.train)},
        n_threads=n_threads,
        progress=progress,
    )
    refine(saved, refinement_after(training), n_threads=n_threads, progress=progress)
    return saved


def held_out_sets(n_held_out: int = 2_000, n_of_a_kind: int = 300) -> dict[str, tuple[SentencePair, ...]]:
    """Return what training never shows, by name; the first is of any kind.

    >>> from viz_transformer.recipes import held_out_sets
    >>> sets = held_out_sets(n_held_out=20, n_of_a_kind=1)
    >>> {name: len(pairs) for name, pairs in sets.items()}
    {'held-out combinations': 20, 'held-out tired/wide': 1, 'held-out her/his': 1, 'held-out fish': 1}
    >>> "fish" in sets["held-out fish"][0].source
    True

    Args:
        n_held_out: pairs in the first set.
        n_of_a_kind: pairs in each of the others.
    """
    corpus = english_spanish(0, n_held_out, n_of_a_kind)
    return {
        "held-out combinations": corpus.held_out,
        "held-out tired/wide": corpus.held_out_reasons,
        "held-out her/his": corpus.held_out_owners,
        "held-out fish": corpus.held_out_fish,
    }


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
        UserError: if it does not know a word.
    """
    pairs = english_spanish(0, n_held_out=n).held_out
    texts = [TextPair(as_text(pair.source), as_text(pair.target)) for pair in pairs]
    return evaluate_alignment(translator, texts, [GoldLinks(frozenset(p.links)) for p in pairs])
