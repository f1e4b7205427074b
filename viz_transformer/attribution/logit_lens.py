"""The logit lens: what the model would write if it stopped after each layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.attribution.prompt import Prompt, PromptLike, read_prompt, token_id, token_names
from viz_transformer.attribution.residual import (
    Blocks,
    Stream,
    check_same,
    find_blocks,
    logits_of,
    read_stream,
)
from viz_transformer.errors import UserError
from viz_transformer.trace import LogitLens
from viz_transformer.tracing.restore import evaluating

#: How many logits are held at once: half a GiB in float32.
_MOST_LOGITS = 2**27


def logit_lens(
    model: Any,
    prompt: PromptLike,
    *,
    tokenizer: Any = None,
    target: PromptLike | None = None,
    k: int = 5,
    answer: str | int | None = None,
) -> LogitLens:
    """Read the residual stream after each layer as if it were the last.

        lens = vt.attribution.logit_lens(model, "The capital of France is", tokenizer=tokenizer)
        vt.plots.plot_logit_lens(lens)

    What follows the last block in the model itself (a norm and the output layer, of BERT the head's
    transform too) turns every state of the stream into logits, so the last row is exactly what the model
    says. Early rows are a reading in the language of the last layer,
    which the early layers need not speak.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> lens = vt.attribution.logit_lens(model.model, "el gato", tokenizer=model.vocabulary)
    >>> lens.rows
    ('embedding', 'layer 0', 'layer 1')

    Args:
        model: of Hugging Face's a causal language model, a masked one such as BERT, which fills each
            position, or an encoder–decoder, whose decoder is read; or one of ours.
        prompt: a text, or token ids [position].
        tokenizer: Hugging Face's, or a vocabulary of ours.
        target: of an encoder–decoder, what the decoder reads: the words that it has written so far, or
            ids with the start's first; by default, what a Hugging Face model writes by itself.
        k: how many of the likeliest tokens are kept at each place.
        answer: the token to follow through the layers, an id or a text that is one token; by default
            the one that the model itself puts first at each position.

    Raises:
        UserError: if the model has no such stack or no language-model head, or the text, `k` or `answer`
            does not fit.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
    """
    blocks = find_blocks(model)
    text = read_prompt(model, prompt, tokenizer, target)
    with evaluating(model):
        stream = read_stream(blocks, text)
        n_tokens = stream.logits.shape[-1]
        if not 1 <= k <= n_tokens:
            raise UserError(f"k={k}, but the model scores {n_tokens} tokens; choose 1 to {n_tokens}")
        answers = stream.logits.argmax(-1)  # [position]
        if answer is not None:
            answers = torch.full_like(answers, token_id(tokenizer, answer, n_tokens))
        rows = [_read_row(logits, answers, k) for logits in _logits_by_row(blocks, text, stream)]
    top_ids, top, probabilities, ranks = (np.stack(column) for column in zip(*rows, strict=True))
    names = token_names(tokenizer, top_ids.ravel().tolist())
    return LogitLens(
        tokens=text.tokens,
        top_tokens=np.array(names).reshape(top_ids.shape),
        top_probabilities=top,
        answers=token_names(tokenizer, answers.tolist()),
        answer_probabilities=probabilities,
        answer_ranks=ranks,
    )


def _logits_by_row(blocks: Blocks, prompt: Prompt, stream: Stream) -> Iterator[Tensor]:
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


def _read_row(logits: Tensor, answers: Tensor, k: int) -> tuple[np.ndarray, ...]:
    """Return the likeliest ids and their probabilities, and the answers' probabilities and ranks."""
    probabilities = logits.float().softmax(-1)  # [position, vocab]
    top, ids = probabilities.topk(k)  # [position, k]
    of_answer = probabilities.gather(-1, answers[:, None])[:, 0]  # [position]
    ranks = 1 + (logits > logits.gather(-1, answers[:, None])).sum(-1)  # [position]
    return tuple(each.cpu().numpy() for each in (ids, top, of_answer, ranks))
