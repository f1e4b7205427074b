"""What a Hugging Face model writes, and the inputs with which it reads that again in one pass.

`generate` would hand out its weights step by step, and those of every beam. Reading the finished
text once gives the same weights as whole maps, however the text was written: greedily, by beams, or
drawn at random.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor

from viz_transformer.errors import UserError
from viz_transformer.tracing.restore import evaluating
from viz_transformer.tracing.sizes import within_sizes
from viz_transformer.tracing.virtual_tokens import count_virtual_tokens


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
