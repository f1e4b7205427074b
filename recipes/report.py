"""The report on a bundled model: how far it is from the grammar, and which of its heads it needs.

The figures of docs/models.md are from here: ``python -m recipes evaluate [DIR]``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import islice

from recipes.judging import (
    SampleCheck,
    check_samples,
    check_vocabulary,
    fill_gaps,
    label_spanish_heads,
    label_translator_heads,
    open_sentences,
    sample_language_model,
    spanish_head_losses,
)
from viz_transformer.analysis import HeadLabel, reliability
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.corpus import SentencePair, draw, english_spanish, translation_tokens
from viz_transformer.corpus.batches import as_text
from viz_transformer.corpus.repetition import QUESTION
from viz_transformer.language_model import LanguageModel, load_language_model
from viz_transformer.masked_model import MaskedModel, load_masked_model
from viz_transformer.plots import plot_reliability, save_figure
from viz_transformer.recipes.alignment_eval import align_english_spanish
from viz_transformer.recipes.grammar_eval import (
    Grammar,
    GrammarScore,
    evaluate_against_grammar,
    held_out_sets,
)
from viz_transformer.recipes.head_eval import NEEDED, HeadLosses, head_losses
from viz_transformer.translator import Translator, load_translator

Labels = Mapping[str, Sequence[Sequence[HeadLabel | None]]]
_MOST_SHOWN = 10  # sentences whose hypothesis, or word, is not what it should be
#: What heads are judged by: the loss with one switched off, and their names.
_N_PAIRS, _N_LABELLED = 500, 200
_N_SAMPLED, _N_DRAWS, _N_TEXTS, _N_GAPS = 20, 1000, 1000, 60
_DOUBTFUL = 0.05


def print_report(
    folder: str | os.PathLike[str] | None = None,
    *,
    beam_width: int = 4,
    length_penalty: float = 0.6,
    picture: str | None = None,
) -> None:
    """Print what a model of the generated language has learned of it, whatever its family.

    Args:
        folder: the checkpoint; by default the bundled translator's.
        beam_width: of a translator's search for the best hypothesis.
        length_penalty: of the search.
        picture: where a translator's reliability diagram is written; None for nowhere.

    Raises:
        FileError: if the folder is missing or damaged.
        UserError: if the model was made for another language.
    """
    family = "encoder-decoder" if folder is None else Checkpoint.load(folder).model.config.family
    if family == "decoder":
        _report_texts(load_language_model(folder))
    elif family == "encoder":
        _report_gaps(load_masked_model(folder))
    else:
        translator = load_translator(folder)
        # Drawing the held-out sentences takes a while: a model of another language is refused first.
        check_vocabulary(translator, list(islice(draw(seed=0), 1000)))
        print_grammar_report(
            translator,
            held_out_sets(),
            translation_tokens,
            beam_width=beam_width,
            length_penalty=length_penalty,
            picture=picture,
        )
        print(align_english_spanish(translator))


def print_grammar_report(
    translator: Translator,
    sets: Mapping[str, Sequence[SentencePair]],
    translations: Grammar,
    *,
    beam_width: int = 4,
    length_penalty: float = 0.6,
    picture: str | None = None,
) -> None:
    """Print how far a translator is from a grammar, and which of its heads are needed.

    Args:
        translator: the model.
        sets: held-out pairs by the name of the set; samples and heads are judged by the first.
        translations: all translations of a sentence with their probabilities.
        beam_width: as in `print_report`.
        length_penalty: as in `print_report`.
        picture: as in `print_report`, of the first set.

    Raises:
        UserError: if the translator was made for another language.
    """
    first, *_ = sets
    check_vocabulary(translator, [pair for pairs in sets.values() for pair in pairs])
    for name, pairs in sets.items():
        sentences = list(dict.fromkeys(as_text(pair.source) for pair in pairs))
        score = evaluate_against_grammar(
            translator, sentences, translations, beam_width=beam_width, length_penalty=length_penalty
        )
        _print_score(name, score, beam_width, length_penalty)
        if name == first and picture is not None:
            figure = plot_reliability(
                score.predicted, expected=score.expected, weights=score.weights, title="Next words"
            )
            print(f"  wrote {save_figure(figure, picture)}")
    chosen = open_sentences([as_text(pair.source) for pair in sets[first]], translations, _N_SAMPLED)
    _print_samples([check_samples(translator, sentence, translations, _N_DRAWS) for sentence in chosen])
    losses = head_losses(translator, sets[first][:_N_PAIRS])
    _print_heads(losses, label_translator_heads(translator, sets[first][:_N_LABELLED]), "drawn pairs")


def _print_score(name: str, score: GrammarScore, beam_width: int, length_penalty: float) -> None:
    bins = reliability(score.predicted, expected=score.expected, weights=score.weights)
    print(f"{name}: {score.n:,} sentences, best hypothesis of beam {beam_width}, penalty {length_penalty:g}")
    print(f"  the grammar allows it    {score.n_allowed:>6,} of {score.n:,}  {score.share_allowed:.2%}")
    print(f"  it is the likeliest      {score.n_mode:>6,} of {score.n:,}  {score.share_mode:.2%}")
    print(f"  loss over all translations  {score.loss:.4f} nats per token")
    print(f"  the language's own entropy  {score.entropy:.4f}")
    print(f"  KL of the next words        {score.kl:.4f}")
    print(f"  expected calibration error  {bins.error:.4f} ({len(score.predicted):,} predictions)")
    for what, wrong in (("not allowed", score.wrong), ("allowed, not the likeliest", score.not_mode)):
        if wrong:
            print(f"  {what}: {len(wrong):,}" + f", the first {_MOST_SHOWN}" * (len(wrong) > _MOST_SHOWN))
        for source, wrote, likeliest in wrong[:_MOST_SHOWN]:
            print(f"    {source}\n      wrote     {wrote}\n      likeliest {likeliest}")


def _print_samples(checks: Sequence[SampleCheck]) -> None:
    n_doubtful = sum(check.p_value < _DOUBTFUL for check in checks)
    print(f"samples: {_N_DRAWS:,} translations drawn of each of {len(checks)} sentences")
    print(
        f"  p < {_DOUBTFUL:g} in {n_doubtful}; samples of the grammar itself would give "
        f"{_DOUBTFUL * len(checks):.1g} on average"
    )
    print("  largest difference of a share, in standard errors; p; allowed; translations; sentence")
    for check in checks:
        print(
            f"  {check.largest:6.2f}  {check.p_value:.4f}  {check.n_allowed / check.n:7.2%}  "
            f"{len(check.shares):4d}  {check.source}"
        )


def _report_texts(model: LanguageModel) -> None:
    found = sample_language_model(model, _N_TEXTS)
    share = found.n_accepted / found.n
    print(f"{found.n:,} texts drawn: the grammar allows {found.n_accepted:,} of them  {share:.2%}")
    print(f"    {found.n_twice:,} of these ask ¿cómo? and repeat their sentence, word for word")
    for text in found.refused[:_MOST_SHOWN]:
        print(f"    not: {text}")
    _report_spanish_heads(model)
    if set(QUESTION) <= set(model.vocabulary.tokens):
        _report_spanish_heads(model, twice=True)


def _report_gaps(model: MaskedModel) -> None:
    score = fill_gaps(model, english_spanish(n_train=0).held_out[:_N_GAPS])
    print(f"{score.n} held-out sentences with one gap")
    print(f"  the likeliest word is the grammar's  {score.n_mode} of {score.n}")
    print(f"  KL from the grammar's distribution   {score.kl:.4f} nats")
    print(f"  the gap's own entropy                {score.entropy:.4f}")
    for text, guess, best in score.wrong[:_MOST_SHOWN]:
        print(f"    {text}: {guess!r}, and the grammar's is {best!r}")
    _report_spanish_heads(model)


def _report_spanish_heads(model: LanguageModel | MaskedModel, *, twice: bool = False) -> None:
    pairs = english_spanish(n_train=0).held_out
    losses = spanish_head_losses(model, pairs[:_N_PAIRS], twice=twice)
    (kind,) = losses.rises
    labels = {kind: label_spanish_heads(model, pairs[:_N_LABELLED], twice=twice)}
    _print_heads(losses, labels, f"held-out sentences{' repeated' if twice else ''}")


def _print_heads(losses: HeadLosses, labels: Labels, texts: str) -> None:
    n_labelled = sum(label is not None for kind in labels.values() for layer in kind for label in layer)
    print(
        f"heads: switched off one at a time, {losses.n_needed} of {losses.n_heads} raise the loss on "
        f"{losses.n:,} {texts} ({losses.loss:.4f} nats per token to predict) by more than {NEEDED:g}; "
        f"{n_labelled} have a label"
    )
    for kind, rises in losses.rises.items():
        for layer, of_layer in enumerate(rises):
            for head, rise in enumerate(of_layer):
                label = labels[kind][layer][head]
                named = f"  {label.name}: {label.sentence}" if label else ""
                print(f"  {kind:7} layer {layer} head {head}  {rise:+.4f}{named}")
