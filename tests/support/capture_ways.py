"""The ways besides a plain text in which the models of capture_zoo.py are captured.

These are what `generate` returned, greedily and by beams, and the padded sentence of a batch.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

import viz_transformer as vt
from tests.support.capture_zoo import (
    N_TARGET,
    Comparison,
    compared,
    configured,
    inputs_of,
    labels_of,
    make,
    own_weights,
    uncached,
)
from tests.support.huggingface_models import hf
from viz_transformer.errors import UserError

N_BEAMS, N_NEW = 3, 5
#: They carry a state: `generate` has no weights to return, and raises for some of them.
STATEFUL = {"falcon_mamba", "mamba", "mamba2", "rwkv"}
#: What `generate` returns of these models is no whole map of a text: why, and for how many beams.
_SINK = "a part of each row goes to a sink, of which what generate returns tells nothing"
_BOTH = (1, N_BEAMS)
UNWRITTEN: dict[str, tuple[str, tuple[int, ...]]] = {
    "big_bird, block sparse": ("its blocks are not returned", _BOTH),
    "cpmant": ("it returns the rows of its prompt, too", _BOTH),
    "flint": (_SINK, _BOTH),
    "gpt_oss": (_SINK, _BOTH),
    "led": ("its encoder's are bands", _BOTH),
    "longt5": ("its encoder's are blocks", _BOTH),
    "mimo_v2_flash": (_SINK, _BOTH),
    "pegasus_x": ("its encoder's are blocks", _BOTH),
    "prophetnet": ("its encoder's are scores", _BOTH),
    "whisper": (
        "its generate keeps one beam of each step, and seldom the one that the text continues",
        (N_BEAMS,),
    ),
    "xlnet": ("each layer has two streams", _BOTH),
}
#: transformers does not reorder its recurrent states with the beams; without a cache there are none.
UNCACHED = {"recurrent_gemma"}


class Drawn:
    """Scores drawn at random, so that words differ and beams change places; no special token."""

    def __init__(self) -> None:
        self._generator = torch.Generator().manual_seed(1)

    def __call__(self, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores [batch, word]."""
        drawn = torch.randn(scores.shape, generator=self._generator)
        drawn[:, :3] = -torch.inf
        return drawn


def writer(name: str) -> nn.Module | None:
    """Make a configuration's model with the head that writes, with eager attention; None without one."""
    from transformers.models.auto import modeling_auto as auto

    heads = {
        "AutoModelForSpeechSeq2Seq": auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES,
        "AutoModelForSeq2SeqLM": auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        "AutoModelForCausalLM": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    }
    config = configured(name)
    head = next((head for head, types in heads.items() if config.model_type in types), None)
    if head is None or name in STATEFUL:
        return None
    if head == "AutoModelForCausalLM" and hasattr(config, "is_decoder"):
        config.is_decoder = True  # BERT and its like write only as decoders
    torch.manual_seed(0)
    model = getattr(hf, head).from_config(config, attn_implementation="eager").eval()
    return model if model.can_generate() else None


def generated(name: str, n_beams: int) -> Comparison | None:
    """Capture what `generate` returned, and compare it with one pass over the text; None without a head."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = writer(name)
        if model is None:
            return None
        given = inputs_of(model)
        has_both = given.pop("decoder_input_ids", None) is not None
        output = model.generate(
            **given,
            **({"decoder_start_token_id": 1} if has_both else {}),
            use_cache=name not in UNCACHED,
            num_beams=n_beams,
            do_sample=False,
            max_new_tokens=N_NEW,
            min_new_tokens=N_NEW,
            logits_processor=[Drawn()],
            output_attentions=True,
            return_dict_in_generate=True,
        )
        read = output.sequences[:, :-1]  # the last token was written and never read
        if name == "xlm":  # reads a mask where the next word will stand
            read = nn.functional.pad(read, (0, 1), value=model.config.mask_token_id)
        with torch.no_grad():
            truth = model(**read_at_once(model, given, read, has_both), output_attentions=True)
        labels = {"tokens": [f"t{i}" for i in range(read.shape[1])]}
        if has_both:
            source = labels_of(name, truth, given | {"decoder_input_ids": read})["source_tokens"]
            labels = {"source_tokens": source, "target_tokens": labels["tokens"]}
        try:
            trace = vt.capture(output, batch_index=0, **labels)
        except UserError as error:
            return Comparison(refusal=str(error))
    return compared(trace, {kind: own_weights(name, truth, kind) for kind in trace.kinds})


def read_at_once(
    model: nn.Module, given: Mapping[str, torch.Tensor], read: torch.Tensor, has_both: bool
) -> dict[str, Any]:
    """Return what a forward takes to read a written text, [1, position], in one pass."""
    if has_both:
        once = {**given, "decoder_input_ids": read}
        return once | uncached(once)
    once = {"input_ids": read}
    if "position_ids" in inspect.signature(model.forward).parameters:
        # `generate` counts from 0; the forward of RoBERTa and its like, by itself, from behind padding's 0.
        once["position_ids"] = torch.arange(read.shape[1])[None]
    return once


def padded(name: str) -> Comparison | None:
    """Capture the padded one of two sentences, and compare it with the eager model's row of the batch.

    A decoder's padding stands on the left, any other on the right. None for what takes no mask.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, twin = make(name), make(name, attn_implementation="eager")
        twin.load_state_dict(model.state_dict())
        given = inputs_of(model)
        parameters = inspect.signature(model.forward).parameters
        main = model.main_input_name
        if main == "pixel_values" or "attention_mask" not in parameters:
            return None
        is_text, has_both = main == "input_ids", "decoder_input_ids" in given
        batch = {key: torch.cat([value, value.flip(1)]) for key, value in given.items()}
        n_read = batch[main].shape[2 if name == "whisper" else 1]
        mask = torch.ones(2, n_read, dtype=torch.long)
        is_left = is_text and not has_both and is_decoder(model)
        mask[1, slice(n_read // 3) if is_left else slice(-(n_read // 3), None)] = 0
        batch["attention_mask"] = mask
        sides = {"source": mask[1].bool()}
        if is_text:
            batch[main] = batch[main] * mask
        if has_both:
            sides["target"] = torch.ones(N_TARGET, dtype=torch.bool)
            if "decoder_attention_mask" in parameters:
                sides["target"][-2:] = False
                batch["decoder_attention_mask"] = torch.stack([torch.ones(N_TARGET), sides["target"]]).long()
                batch["decoder_input_ids"] = batch["decoder_input_ids"] * batch["decoder_attention_mask"]
        with torch.no_grad():
            output = twin(**batch, **uncached(batch), output_attentions=True)
        labels = {
            f"{side}_tokens": [f"{side[0]}{i}" for i in range(int(kept.sum()))]
            for side, kept in sides.items()
            if is_text or side == "target"
        }
        if is_text and not has_both:
            labels = {"tokens": labels["source_tokens"]}
        try:
            trace = vt.capture(model, **batch, batch_index=1, **labels)
        except UserError as error:
            return Comparison(refusal=str(error))
    queries = {"encoder": "source", "decoder": "target" if has_both else "source", "cross": "target"}
    expected = {}
    for kind in trace.kinds:
        query, key = queries[kind], "source" if kind != "decoder" else queries[kind]
        row = {
            f"{stack}attentions": [
                layer[1:2] for layer in output.get(f"{stack}attentions") or () if is_map(layer)
            ]
            for stack in ("", f"{kind}_")
        }
        expected[kind] = without(own_weights(name, row, kind), sides[query], sides[key])
    return compared(trace, expected)


def is_decoder(model: nn.Module) -> bool:
    """Return whether a model's modules say that they are causal."""
    return any(getattr(module, "is_causal", False) for module in model.modules())


def is_map(layer: Any) -> bool:
    """Return whether a layer's weights are [batch, head, query, key]."""
    return isinstance(layer, torch.Tensor) and layer.ndim == 4


def without(weights: np.ndarray | None, queries: torch.Tensor, keys: torch.Tensor) -> np.ndarray | None:
    """Leave padding out of weights [layer, head, query, key]; a sound has fewer positions than samples."""
    if weights is None:
        return None
    for axis, kept in ((2, queries), (3, keys)):
        if weights.shape[axis] == len(kept):
            weights = np.compress(kept.numpy(), weights, axis=axis)
    return weights
