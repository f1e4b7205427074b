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

    Beside the weights goes ``training.npz``, the `TrainingTrace` of how it learned the sentences
    `WATCHED`. The same arguments give the same weights and the same trace on one machine.

    Args:
        folder: where the checkpoint goes.
        training: steps, rate and seed.
        n_threads: torch's threads while training; their number decides the order of sums.
        progress: wraps the step records, with their number, to show how far training is.

    Raises:
        FileError: if the folder cannot be written.
    """
    check_writable(folder)
    corpus = english_spanish()
    vocabulary = vocabulary_of(corpus.train)
    return train_recorded(
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


def held_out_sets() -> dict[str, tuple[SentencePair, ...]]:
    """Return what training never shows, by name; the first is of any kind."""
    corpus = english_spanish(n_train=0)
    return {
        "held-out combinations": corpus.held_out,
        "held-out tired/wide": corpus.held_out_reasons,
        "held-out her/his": corpus.held_out_owners,
        "held-out fish": corpus.held_out_fish,
    }


def align_english_spanish(translator: Translator, n: int = 500) -> AlignmentScore:
    """Compare every cross-attention head with the word links of the first `n` held-out sentences."""
    pairs = english_spanish(n_train=0).held_out[:n]
    texts = [TextPair(as_text(pair.source), as_text(pair.target)) for pair in pairs]
    return evaluate_alignment(translator, texts, [GoldLinks(frozenset(p.links)) for p in pairs])
