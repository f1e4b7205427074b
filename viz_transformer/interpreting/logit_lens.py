"""The logit lens: what the model would predict if it stopped after each layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.capturing.running import evaluating
from viz_transformer.errors import UserError
from viz_transformer.interpreting.metric import MetricLike, difference, sum_of_logits, token_id, token_names
from viz_transformer.interpreting.prompt import Prompt, PromptLike, read_prompt
from viz_transformer.interpreting.stream import (
    Blocks,
    Stream,
    answering_position,
    check_same,
    class_logits,
    find_blocks,
    logits_of,
    read_stream,
    whole_logits,
)
from viz_transformer.trace import LogitLens

#: How many logits are held at once: half a GiB in float32.
_MOST_LOGITS = 2**27
_USUAL_K = 5


def logit_lens(
    model: Any,
    prompt: PromptLike | None = None,
    *,
    tokenizer: Any = None,
    target: PromptLike | None = None,
    k: int | None = None,
    answer: str | int | None = None,
    metric: MetricLike | None = None,
    **inputs: Any,
) -> LogitLens:
    """Read the residual stream after each layer as if it were the last.

        lens = vt.attribution.logit_lens(model, "The capital of France is", tokenizer=tokenizer)
        vt.plots.plot_logit_lens(lens)

    What follows the last block in the model itself (a norm and the output layer, of BERT the head's
    transform too) turns every state of the stream into logits, so the last row is exactly the model's own
    prediction. Early rows are read as if they were states of the last layer, which they need not resemble.

    Of a classifier, which reads its class token or a mean, the lens gives the class that each position's
    state would be read as, a picture's patches among them. Where no position alone is the model's answer, a
    first column, ``[whole]``, is.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> lens = vt.attribution.logit_lens(model.model, "el gato", tokenizer=model.vocabulary)
    >>> lens.rows
    ('embedding', 'layer 0', 'layer 1')

    Args:
        model: of Hugging Face's a causal language model, a masked one such as BERT, which fills each
            position, an encoder–decoder, whose decoder is read, or a classifier; or one of ours.
        prompt: a text, or token ids [position]; or what a processor returns of one picture or sound.
        tokenizer: Hugging Face's, or a vocabulary of ours.
        target: of an encoder–decoder, what the decoder reads: the words that it has written so far, or
            ids with the start's first; by default, what a Hugging Face model writes by itself.
        k: how many of the likeliest tokens are kept at each place; by default 5.
        answer: the token to follow through the layers, an id or a text that is one token, or a class; by
            default the one that the model itself puts first at each position, or the first of `metric`.
        metric: a token or a class, or a pair of them (right, wrong), whose logits are measured too.
        inputs: the model's own inputs by name, in place of the prompt: ``pixel_values=`` of a picture,
            ``input_features=`` or ``input_values=`` of a sound.

    Raises:
        UserError: if the model has no such stack or no language-model head, or the input, `k` or `answer`
            does not fit.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens"; of pictures Vilas et al. 2023,
    "Analyzing Vision Transformers for Image Classification in Class Embedding Space", section 3.
    """
    blocks = find_blocks(model)
    text = read_prompt(model, prompt, tokenizer, target, named=inputs)
    with evaluating(model):
        stream = read_stream(blocks, text)
        n_tokens = stream.logits.shape[-1]
        what = "classes" if text.is_classified else "tokens"
        k = min(_USUAL_K, n_tokens) if k is None else k
        if not isinstance(k, int) or not 1 <= k <= n_tokens:
            raise UserError(f"k={k!r:.40}, but the model scores {n_tokens} {what}; choose 1 to {n_tokens}")
        columns, rows_of_logits = (
            _class_rows(blocks, text, stream)
            if text.is_classified
            else (text.tokens, _token_rows(blocks, text, stream))
        )
        answers = stream.logits.argmax(-1).expand(len(columns))  # [position]
        chosen = None if metric is None else text.metric(metric, stream.logits, -1)
        ids = () if chosen is None else sum_of_logits(chosen, "a lens measures one at every position")
        if answer is not None or ids:
            followed = ids[0] if answer is None else token_id(text.namer, answer, n_tokens)
            answers = torch.full_like(answers, followed)
        rows = [_read_row(logits, answers, k, ids) for logits in rows_of_logits]
    top_ids, top, probabilities, ranks, values = (np.stack(column) for column in zip(*rows, strict=True))
    names = token_names(text.namer, top_ids.ravel().tolist())
    return LogitLens(
        tokens=columns,
        top_tokens=np.array(names).reshape(top_ids.shape),
        top_probabilities=top,
        answers=token_names(text.namer, answers.tolist()),
        answer_probabilities=probabilities,
        answer_ranks=ranks,
        metric=None if chosen is None else chosen.name,
        values=None if chosen is None else values,
    )


def _class_rows(blocks: Blocks, prompt: Prompt, stream: Stream) -> tuple[tuple[str, ...], Iterator[Tensor]]:
    """Return the columns of a classifier's lens, and each row's logits [column, class].

    Where no position alone is the model's answer, a first column is: that of the whole state.
    """
    flat = stream.states.flatten(0, 1)  # [row · position, d_model]
    logits = class_logits(blocks, prompt, blocks.modules[-1], flat)  # [row · position, class]
    rows = logits.unflatten(0, stream.states.shape[:2])  # [row, position, class]
    place = answering_position(blocks, prompt, stream)
    if place is not None:
        rows[-1, place] = stream.logits[0]
        return prompt.tokens, iter(rows)
    whole = whole_logits(blocks, prompt, blocks.modules[-1], stream.states)  # [row, class]
    whole[-1] = stream.logits[0]
    return ("[whole]", *prompt.tokens), iter(torch.cat([whole[:, None], rows], dim=1))  # [row, column, class]


def _token_rows(blocks: Blocks, prompt: Prompt, stream: Stream) -> Iterator[Tensor]:
    """Yield the logits [position, vocab] of each row of the stream, the last from the model itself."""
    last = blocks.modules[-1]
    for states in stream.states.split(max(1, _MOST_LOGITS // stream.logits.numel())):
        flat = logits_of(blocks, prompt, last, states.flatten(0, 1))  # [row · position, vocab]
        logits = flat.unflatten(0, states.shape[:2])  # [row, position, vocab]
        if states[-1].data_ptr() != stream.states[-1].data_ptr():
            yield from logits
            continue
        check_same(
            stream.logits,
            logits[-1],
            f"{type(blocks.model).__name__} makes its logits of more than its last block's output, "
            "so its layers cannot be read by themselves",
        )
        yield from logits[:-1]
    yield stream.logits


def _read_row(logits: Tensor, answers: Tensor, k: int, of: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Return the likeliest ids, their probabilities, the answers' and their ranks, and a sum of logits."""
    probabilities = logits.float().softmax(-1)  # [position, vocab]
    top, ids = probabilities.topk(k)  # [position, k]
    of_answer = probabilities.gather(-1, answers[:, None])[:, 0]  # [position]
    ranks = 1 + (logits > logits.gather(-1, answers[:, None])).sum(-1)  # [position]
    measured = (difference(logits, of) if of else logits[:, 0]).float()  # [position]
    return tuple(each.cpu().numpy() for each in (ids, top, of_answer, ranks, measured))
