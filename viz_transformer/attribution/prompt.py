"""A prompt as a model reads it, and the tokens that it may write next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.intervening import find_sites
from viz_transformer.tracing.inputs import as_ids
from viz_transformer.tracing.labels import TokenLabels, encode, labels_of_ids
from viz_transformer.tracing.written_text import write
from viz_transformer.vocabulary import Tokeniser

#: What may be given as a prompt: a text, or its token ids.
PromptLike = str | Sequence[int] | Tensor
#: At most so many tokens of a target are written.
_MOST_WRITTEN = 60


@dataclass(frozen=True, eq=False)
class Prompt:
    """One prompt.

    Attributes:
        ids: its token ids, [1, position]; of an encoder–decoder, those that the decoder reads.
        labels: its tokens, with the numbers of their words where those are known.
        source: what the encoder of an encoder–decoder reads; else None.
        gap: the position of the one gap that a masked model is to fill; else None.
    """

    ids: Tensor
    labels: TokenLabels
    source: Prompt | None = None
    gap: int | None = None

    def side(self, name: str) -> Prompt:
        """Return what the ``"source"`` or the ``"target"`` side of a model reads."""
        return self.source if name == "source" and self.source is not None else self

    @property
    def tokens(self) -> tuple[str, ...]:
        """Its tokens, [position]."""
        return self.labels.tokens

    def index_of(self, position: int | None) -> int:
        """Return a position counted from 0; −1 is the last, and None the gap or else the last.

        Raises:
            UserError: if the prompt has no such position.
        """
        length = len(self.tokens)
        if position is None:
            return length - 1 if self.gap is None else self.gap
        if not -length <= position < length:
            raise UserError(
                f"position={position}, but the prompt has {length} tokens; choose 0 to {length - 1}, "
                "or −1 for the last"
            )
        return position % length


def read_prompt(
    model: nn.Module,
    prompt: PromptLike,
    tokenizer: Any,
    target: PromptLike | None = None,
    *,
    writes: bool = True,
) -> Prompt:
    """Turn a text or ids into a prompt.

    Args:
        model: the model, for the device of the ids, and because an encoder–decoder reads two texts.
        prompt: a text, or token ids [position] or [1, position].
        tokenizer: Hugging Face's, or a vocabulary of ours, which puts ``<sos>`` before the text of a
            decoder; without one, tokens are named by their ids.
        target: what the decoder of an encoder–decoder reads: the text that it has written so far, or
            ids, the start's among them.
        writes: without a target, True lets the model write one, greedily; False gives the start alone.

    Raises:
        UserError: if a text has no tokenizer, there is not exactly one prompt, or a target is missing
            or does not belong here.
    """
    if any(site.kind == "cross" for site in find_sites(model)):
        source = _read(model, prompt, tokenizer, "source")
        return replace(_read_target(model, source, target, tokenizer, writes), source=source)
    if target is not None:
        raise UserError(
            f"{type(model).__name__} reads one text, and target= is what the decoder of an encoder–decoder "
            "reads; leave it out"
        )
    return _read(model, prompt, tokenizer, "target")


def _read(model: nn.Module, prompt: PromptLike, tokenizer: Any, side: str) -> Prompt:
    encoding = None
    if not isinstance(prompt, str):
        given: Any = prompt
    elif isinstance(tokenizer, Tokeniser):
        given = tokenizer.source_ids(prompt) if side == "source" else tokenizer.target_ids(prompt)[:-1]
    elif tokenizer is not None:
        encoding = encode(tokenizer, prompt)
        given = encoding["input_ids"]
    else:
        raise _no_tokenizer(prompt)
    ids = as_ids(model, given)  # [1, position]
    if ids.ndim != 2 or len(ids) != 1 or not ids.shape[1] or ids.is_floating_point():
        raise UserError(
            f"the prompt has the shape {list(ids.shape)}; give one text, or the token ids of one, with at "
            "least one token"
        )
    found: list[int] = ids[0].tolist()
    gaps = [i for i, each in enumerate(found) if each == getattr(tokenizer, "mask_token_id", None)]
    gap = gaps[0] if len(gaps) == 1 else None
    return Prompt(ids, _labels(tokenizer, found, encoding), gap=gap)


def _read_target(
    model: nn.Module, source: Prompt, target: PromptLike | None, tokenizer: Any, writes: bool
) -> Prompt:
    """Return what a decoder reads.

    Raises:
        UserError: if it is not given, and the model can't say it.
    """
    if target is not None and (not isinstance(target, str) or isinstance(tokenizer, Tokeniser)):
        return _read(model, target, tokenizer, "target")
    settings = getattr(model, "generation_config", None) or getattr(model, "config", None)
    start = getattr(settings, "decoder_start_token_id", None)
    start = getattr(settings, "bos_token_id", None) if start is None else start
    if isinstance(tokenizer, Tokeniser):
        start = tokenizer.sos_id
    if start is None or (target is None and writes and not hasattr(model, "generate")):
        raise UserError(
            f"the decoder of {type(model).__name__} reads a text of its own; give target=, the words that it "
            "has written so far, or their ids"
        )
    if isinstance(target, str):
        if tokenizer is None:
            raise _no_tokenizer(target)
        ids = [start, *tokenizer(text_target=target, add_special_tokens=False)["input_ids"]]
    elif writes:
        room = getattr(model.config, "max_position_embeddings", _MOST_WRITTEN + 1) - 1
        ids = write(model, {"input_ids": source.ids}, tokenizer, min(_MOST_WRITTEN, room), True)[:-1]
    else:
        ids = [start]
    return _read(model, ids, tokenizer, "target")


def _no_tokenizer(text: str) -> UserError:
    return UserError(f"the text {text!r:.40} came without a tokenizer; give tokenizer=, or token ids")


def _labels(tokenizer: Any, ids: list[int], encoding: Any) -> TokenLabels:
    if tokenizer is None or isinstance(tokenizer, Tokeniser):
        words = None if tokenizer is None else tokenizer.word_numbers(ids)
        return TokenLabels(tokens=token_names(tokenizer, ids), words=words)
    return labels_of_ids(tokenizer, ids, encoding)


def token_names(tokenizer: Any, ids: Sequence[int]) -> tuple[str, ...]:
    """Return the tokens of some ids; without a tokenizer, the ids themselves as text."""
    if tokenizer is None:
        return tuple(map(str, ids))
    if isinstance(tokenizer, Tokeniser):
        return tokenizer.tokens_of(ids)
    # A model may score more ids than its tokenizer knows: its matrix is padded to a round number.
    names = tokenizer.convert_ids_to_tokens(list(ids))
    return tuple(str(index) if name is None else name for name, index in zip(names, ids, strict=True))


def token_id(tokenizer: Any, token: str | int, n_tokens: int) -> int:
    """Return the id of one token of a model's vocabulary.

    Args:
        tokenizer: as in `read_prompt`.
        token: an id, or a text that is one token: ``" Paris"``, or the token itself, ``"ĠParis"``.
        n_tokens: how many tokens the model scores.

    Raises:
        UserError: if it is none, or several.
    """
    if isinstance(token, int) and not isinstance(token, bool):
        if 0 <= token < n_tokens:
            return token
        raise UserError(f"token {token}, but the model scores {n_tokens} tokens; give an id below {n_tokens}")
    if not isinstance(token, str) or tokenizer is None:
        raise UserError(f"token {token!r:.40} is no id and has no tokenizer; give its id, or give tokenizer=")
    if isinstance(tokenizer, Tokeniser):
        return tokenizer.ids_of([token])[0]
    pieces = tokenizer(token, add_special_tokens=False)["input_ids"]
    if len(pieces) == 1 and pieces[0] != getattr(tokenizer, "unk_token_id", None):
        return pieces[0]
    known = tokenizer.get_vocab()
    if token in known:
        return known[token]
    named = list(token_names(tokenizer, pieces))
    raise UserError(
        f"{token!r:.40} is {named} to this tokenizer, and one token is needed; give one of its tokens"
    )


def run(model: nn.Module, prompt: Prompt, n_rows: int = 1) -> Tensor:
    """Return a model's logits [row, position, vocab] for a batch of equal rows.

    Raises:
        UserError: if the model returns none.
    """
    return logits_in(model, run_whole(model, prompt, n_rows))


def logits_in(model: nn.Module, output: Any) -> Tensor:
    """Return the logits [row, position, vocab] of what a model returned.

    Raises:
        UserError: if there are none.
    """
    logits = output if isinstance(output, Tensor) else getattr(output, "logits", None)
    if not isinstance(logits, Tensor) or logits.ndim != 3:
        raise UserError(
            f"{type(model).__name__} returns no logits [batch, position, vocab]; load it with its "
            "language-model head: AutoModelForCausalLM, AutoModelForMaskedLM or AutoModelForSeq2SeqLM"
        )
    return logits


def run_whole(model: Any, prompt: Prompt, n_rows: int = 1) -> Any:
    """Return what a model, or its forward, makes of a batch of equal rows."""
    ids = prompt.ids.expand(n_rows, -1)  # [row, position]
    if prompt.source is None:
        return model(ids)
    source = prompt.source.ids.expand(n_rows, -1)  # [row, source position]
    if hasattr(getattr(model, "config", None), "is_encoder_decoder"):
        return model(input_ids=source, decoder_input_ids=ids)
    return model(source, ids)


def target_ids(
    logits: Tensor, tokenizer: Any, token: str | int | None, against: str | int | None
) -> list[int]:
    """Return the ids of the token to explain and, if there is one, of the token it is compared with.

    Args:
        logits: [vocab], of the position where the token is to be written.
        tokenizer: as in `read_prompt`.
        token: None takes the model's own first choice.
        against: None compares with nothing.
    """
    first = int(logits.argmax()) if token is None else token_id(tokenizer, token, len(logits))
    return [first] if against is None else [first, token_id(tokenizer, against, len(logits))]


def difference(logits: Tensor, ids: Sequence[int]) -> Tensor:
    """Return the logit [...] of one id, or of the first minus that of the second, of logits [..., vocab]."""
    picked = logits[..., torch.tensor(list(ids))]  # [..., 1 or 2]
    return picked[..., 0] if len(ids) == 1 else picked[..., 0] - picked[..., 1]
