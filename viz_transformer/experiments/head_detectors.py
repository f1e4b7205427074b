"""Detectors of heads: what the heads of any causal model do on random tokens that repeat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._bounds import TEXTS
from viz_transformer.analysis import pattern_scores
from viz_transformer.capturing import capture
from viz_transformer.errors import UserError
from viz_transformer.experiments.checks import check_counts

#: The patterns that such texts distinguish.
_DETECTED = ("previous token", "duplicate token", "induction", "first-token sink")
#: The special tokens of our vocabularies.
_OURS = ("pad", "sos", "eos", "unk", "mask")


def head_scores(
    model: Any,
    vocabulary: Any = None,
    *,
    start_id: int | None = None,
    period: int = 24,
    n_texts: int = 8,
    seed: int = 0,
) -> dict[str, NDArray[np.float64]]:
    """Find the previous-token, duplicate-token and induction heads of a model.

    The model reads texts of random tokens, each text twice over: its second half can be foreseen
    by looking into the first, and in no other way. A head's score is its mean weight on the
    keys that the name means, over the queries that have such keys:

    - ``"previous token"``: the token before;
    - ``"duplicate token"``: the same token, one repeat earlier;
    - ``"induction"``: the token that followed it then, which is the next one to write;
    - ``"first-token sink"``: the first token, where weight goes that is not needed.

    >>> import viz_transformer as vt
    >>> from viz_transformer.recipes import load_induction_model
    >>> scores = vt.head_scores(load_induction_model(), 66, start_id=0)
    >>> scores["induction"].shape, bool(scores["induction"].max() > 0.8)
    ((2, 4), True)

    Show them beside the heads: ``vt.explore(trace, scores=scores)``.

    Args:
        model: any model that `capture` can run on token ids and that has one stack: ours, one of
            Hugging Face's, or a module of your own. An encoder has no induction.
        vocabulary: what tokens are drawn from: their number, or the model's tokenizer or
            vocabulary, whose special tokens are then left out. By default as many as the model's
            configuration says.
        start_id: the token that begins each text; by default the tokenizer's, if it has one.
        period: the most tokens before the repeat; each text has from half of them to all, so that
            a head which looks a fixed distance back scores low.
        n_texts: texts that the scores are a mean of.
        seed: of the tokens.

    Returns:
        By name float64 ``[layer, head]``, from 0 to 1.

    Raises:
        UserError: if a number is out of range, the vocabulary is unknown, or the model cannot be
            captured or has more than one stack.

    Source: Olsson et al. 2022, "In-context Learning and Induction Heads"; TransformerLens scores
    heads by the same diagonals of the same texts.
    """
    check_counts(TEXTS, period=period, n_texts=n_texts)
    if period < 4:
        raise UserError(f"period={period} is too short to distinguish heads; give at least 4, such as 24")
    ids, start_id = _drawable(model, vocabulary, start_id)
    found: dict[str, list[NDArray[np.float64]]] = {}
    for read in _texts(ids, start_id, period, n_texts, np.random.default_rng(seed)):
        # The labels need which tokens are equal, and that the first is not text.
        labels = ["<sos>" if id_ == start_id else str(id_) for id_ in read]
        trace = capture(model, input_ids=[read], tokens=labels)
        if len(trace.kinds) != 1:
            raise UserError(
                f"this model has {' and '.join(trace.kinds)} attention; head_scores reads models of "
                "one stack: give a decoder-only or an encoder-only model"
            )
        for name, scores in pattern_scores(trace, trace.kinds[0]).items():
            found.setdefault(name, []).append(scores)  # [layer, head]
    return {name: np.mean(found[name], axis=0) for name in _DETECTED if name in found}


def _texts(
    ids: NDArray[np.int64], start_id: int | None, period: int, n_texts: int, rng: np.random.Generator
) -> Iterator[list[int]]:
    """Yield texts of random ids, each twice over, behind the start token if there is one."""
    for length in np.linspace(period // 2, period, n_texts).round().astype(int):
        # Different ones, if there are enough: then each has one earlier copy, and no more.
        half = rng.choice(ids, length, replace=length > len(ids)).tolist()
        yield [*([] if start_id is None else [start_id]), *half, *half]


def _drawable(model: Any, vocabulary: Any, start_id: int | None) -> tuple[NDArray[np.int64], int | None]:
    """Return the ids that may be drawn, and the one that begins each text.

    Raises:
        UserError: if their number is unknown.
    """
    if vocabulary is None:
        vocabulary = getattr(getattr(model, "config", None), "vocab_size", None)
    special = [*getattr(vocabulary, "all_special_ids", ())]
    if isinstance(vocabulary, int | np.integer):
        size = int(vocabulary)
    else:
        size = len(vocabulary) if hasattr(vocabulary, "__len__") else 0
        special += [getattr(vocabulary, f"{name}_id", None) for name in _OURS]
        if start_id is None:
            start_id = getattr(vocabulary, "bos_token_id", getattr(vocabulary, "sos_id", None))
    ids = np.array([id_ for id_ in range(size) if id_ not in {*special, start_id}], dtype=np.int64)
    if len(ids) < 2:
        raise UserError(
            f"vocabulary={vocabulary!r:.60} has {len(ids)} tokens to draw from; give their number, such as "
            "head_scores(model, 50257), or the model's tokenizer"
        )
    return ids, start_id
