"""What a Hugging Face model writes, and the inputs with which it reads that again in one pass.

`generate` would hand out its weights step by step, and those of every beam. Reading the finished
text once gives the same weights as whole maps, however the text was written: greedily, by beams, or
drawn at random.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.capturing.arguments import Labels, TokenLabels
from viz_transformer.capturing.running import evaluating, within_sizes
from viz_transformer.errors import UserError


def most_written(config: Any, most: int) -> int:
    """Return how many tokens a decoder may write behind its start: `most`, or as many as it has room for."""
    names = ("max_target_positions", "max_position_embeddings")  # the first is Whisper's
    return min([most, *(n - 1 for name in names if (n := getattr(config, name, None)))])


def write(
    model: Any, named: Mapping[str, Any], tokenizer: Any, max_new_tokens: int, has_both: bool
) -> list[int]:
    """Let a model write, greedily unless its inputs say otherwise, and return the ids [position].

    Args:
        model: of Hugging Face's, with a language-model head.
        named: what its `generate` takes, such as ``num_beams=4``; one sentence.
        tokenizer: labels what is written.
        max_new_tokens: the most tokens that are written, if `named` does not say it.
        has_both: whether it is an encoder–decoder; a decoder's ids begin with its prompt.

    Raises:
        UserError: if the model cannot write, or its words would have no labels.
    """
    if not (hasattr(model, "can_generate") and model.can_generate()):
        instead = "give decoder_input_ids= and target_tokens=" if has_both else "leave out generate=True"
        raise UserError(
            f"{type(model).__name__} cannot write by itself; {instead}, or load the model with its "
            "language-model head"
        )
    if tokenizer is None:
        instead = "decoder_input_ids= and target_tokens="
        if not has_both:
            instead = "the whole text that model.generate wrote: input_ids=ids, tokens=[...]"
        raise UserError(
            "the model writes by itself, and without tokenizer= its tokens have no labels; "
            f"give that, or {instead}"
        )
    if "inputs_embeds" in named:
        raise UserError("a model cannot write on from inputs_embeds=; give the same text's input_ids=")
    given = dict(named) if has_both else _without_padding(named)
    # T5's cache counts the layers of the encoder, which are too few for a deeper decoder; PEFT's prefixes
    # are handed on in the cache.
    options: dict[str, Any] = {} if count_virtual_tokens(model) else {"use_cache": False}
    if "force_unique_generate_call" in inspect.signature(model.generate).parameters:
        options["force_unique_generate_call"] = True  # else Whisper returns the words without their start
    if "generation_config" not in given:
        options |= {"do_sample": False, "num_beams": 1}
        if "max_length" not in given:
            options["max_new_tokens"] = max_new_tokens
    with evaluating(model), within_sizes(model, given.get("input_ids")):
        written = model.generate(**{**options, **given, "output_attentions": False})
    ids = written if isinstance(written, Tensor) else written["sequences"]
    least = 2 if has_both else given["input_ids"].shape[1] + 1
    return _without_end(ids[0].tolist(), model.generation_config, least)


def reading_inputs(
    named: Mapping[str, Any], ids: list[int], has_both: bool, used: Collection[str]
) -> dict[str, Any]:
    """Return what a model's forward takes to read what it wrote, but for the last token.

    Args:
        named: what `write` was given.
        ids: what it returned.
        has_both: whether the model is an encoder–decoder.
        used: the names of inputs that the forward uses; the others told `generate` how to write.
    """
    read = {name: value for name, value in named.items() if name in used and name != "use_cache"}
    device = next(each.device for each in named.values() if isinstance(each, Tensor))
    target = torch.tensor([ids[:-1]], device=device)  # [1, position]
    if has_both:
        read.pop("decoder_attention_mask", None)
        return {**read, "decoder_input_ids": target}
    read = _without_padding(read)
    length = read["input_ids"].shape[1]
    for name, value in read.items():
        if isinstance(value, Tensor) and value.shape == (1, length):
            more = value[:, -1:].expand(1, target.shape[1] - length)
            read[name] = torch.cat([value, more], dim=1)  # [1, position]
    read.pop("position_ids", None)
    return {**read, "input_ids": target}


def _without_padding(named: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the padding of a prompt; its positions are then those that the mask counts."""
    mask = named.get("attention_mask")
    if not isinstance(mask, Tensor) or mask.ndim != 2:
        return dict(named)
    kept = mask[0].bool()
    return {
        name: value[:, kept] if isinstance(value, Tensor) and value.shape == mask.shape else value
        for name, value in named.items()
    }


def _without_end(ids: list[int], config: Any, least: int) -> list[int]:
    """Leave out what fills a text up to the length of a longer one: padding after its end."""
    ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
    fillers = {config.pad_token_id, *ends}
    while len(ids) > least and ids[-1] in fillers and ids[-2] in fillers:
        ids = ids[:-1]
    return ids


def count_virtual_tokens(model: nn.Module) -> int:
    """Return how many virtual tokens PEFT puts before what a model reads.

    Prompt tuning lets a model read further embeddings, which attend as tokens do. Prefix tuning gives each
    layer further keys and values, and no queries.

    Raises:
        UserError: if an encoder–decoder has some: they come before one of the two texts alone.

    Source: Lester et al. 2021, "The Power of Scale for Parameter-Efficient Prompt Tuning", section 2;
    Li & Liang 2021, "Prefix-Tuning", section 4.
    """
    count = getattr(getattr(model, "active_peft_config", None), "num_virtual_tokens", None) or 0
    if count and getattr(model.config, "is_encoder_decoder", False):
        raise UserError(
            f"{type(model).__name__} puts {count} virtual tokens into an encoder–decoder, where they are not "
            "captured; give weights that it returned with output_attentions=True, of one kind: "
            "vt.capture(output.encoder_attentions, tokens=[...])"
        )
    return count


def with_virtual_tokens(
    layers: Mapping[str, Sequence[Any]], labels: Labels, n_virtual: int, n_read: int
) -> tuple[dict[str, list[Any]], Labels]:
    """Return layers [..., query, key] as square maps, and the labels with those of the virtual tokens.

    Virtual tokens that are keys alone have rows of zeros. Labels that name them already stay.

    Args:
        layers: by kind.
        labels: what was given, or what a tokenizer made of a text.
        n_virtual: how many virtual tokens there are.
        n_read: how many positions the text has.
    """

    def square(weights: Any) -> Any:
        if weights is None or weights.shape[-1] != weights.shape[-2] + n_virtual:
            return weights
        return F.pad(weights, (0, 0, n_virtual, 0))  # [..., virtual + query, key]

    def named(side: TokenLabels | None) -> TokenLabels | None:
        if side is None:
            return None
        n_kept = n_read if side.kept is None else int(side.kept.sum())
        kept = None if side.kept is None else np.concatenate([np.ones(n_virtual, dtype=np.bool_), side.kept])
        if len(side.tokens) not in (n_read, n_kept):  # they have names, or what was given does not fit
            return replace(side, kept=kept)
        ahead = tuple(f"virtual {i}" for i in range(n_virtual))
        words = None if side.words is None else ((None,) * n_virtual + side.words)
        return TokenLabels(tokens=(*ahead, *side.tokens), words=words, kept=kept)

    sides = {side: named(getattr(labels, side)) for side in ("tokens", "source", "target")}
    return {kind: list(map(square, of_kind)) for kind, of_kind in layers.items()}, Labels(**sides)
