"""The architecture of a live model: every box, and the numbers in it while the model reads a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.labs.architecture_boxes import boxes_of, has_position_box, parts_of
from viz_transformer.labs.attention_stepper import attention_steps
from viz_transformer.labs.page_engine import give_engine
from viz_transformer.labs.suited import text_for
from viz_transformer.model import EncoderOnly
from viz_transformer.model.positional import embedding_scale
from viz_transformer.text_model import TextModel
from viz_transformer.widgets.architecture.view import Architecture
from viz_transformer.widgets.attention_stepper.payload import layer_payload

_TEXTS = {
    "translate": "the black cat sleeps",
    "continue": "el gato",
    "fill": "el [?] negro duerme",
}
_LIKELIEST = 5


def architecture(
    model: TextModel, text: str | None = None, *, step: int = -1, engine: str | None = None
) -> Architecture:
    """Return the whole model as one picture, through which a sentence flows step by step.

    >>> import viz_transformer as vt
    >>> view = vt.architecture(vt.load_translator(), "the black cat sleeps", step=3)

    Args:
        model: a translator, language model or masked-word model.
        text: the first sentence; the view takes others. None takes one that suits the model.
        step: the step at which the picture begins, from 0; by default the last, with every box filled.
        engine: who answers the view: ``"page"``, ``"kernel"``, or None for the page if it can.

    Raises:
        UserError: if the model cannot read the text, there is no such step, or the page cannot run
            the model.
    """
    return _architecture(model, text, step, engine, goes_on=True)


def architecture_of_text(model: TextModel, text: str, engine: str | None = None) -> Architecture:
    """Return the picture of a text as it stands, which a language model does not continue: its last step.

    Args:
        model: as in `architecture`, as the others.
        text: the first text.
        engine: who answers the view.

    Raises:
        UserError: as `architecture`.
    """
    return _architecture(model, text, -1, engine, goes_on=False)


def _architecture(
    model: TextModel, text: str | None, step: int, engine: str | None, *, goes_on: bool
) -> Architecture:
    text = text_for(model, text, _TEXTS, "a picture of its architecture")
    config = model.config
    kinds = config.attention_layers
    view = Architecture(
        lambda request: architecture_reply(model, request, goes_on=goes_on),
        text,
        boxes=[box._asdict() for box in boxes_of(model)],
        parts=parts_of(config),
        sizes={"d_model": config.d_model, "n_heads": config.n_heads, "n_words": config.output_vocab_size},
        kinds=tuple(kinds),
        step=step,
    )
    return give_engine(view, "architecture", model, engine, {"goesOn": goes_on})


@torch.no_grad()
def architecture_reply(model: TextModel, request: dict[str, Any], *, goes_on: bool = True) -> dict[str, Any]:
    """Return what stands in every box for a sentence.

    Args:
        model: the model.
        request: the sentence, and perhaps a kind and a layer.
        goes_on: whether a language model continues the text, and what it writes is seen too.

    Returns:
        ``source`` and ``target``, the tokens that each stack reads, and ``written``, those that the
        last one writes (None where there is none); by the keys of boxes, ``vectors`` float32
        [position, d_model] and ``weights`` float32 [head, query, key], as bytes; and ``likeliest``,
        for each position of the last stack the tokens with the highest probabilities. Of a request that names
        a kind and a layer, what the attention stepper reads of that layer.
    """
    text = request["sentence"]
    if "kind" in request:
        return layer_payload(attention_steps(model, text, kind=request["kind"], layer=request["layer"]), text)
    continues = goes_on and model.task == "continue"
    trace = model.judge(text, model.answer(text))[0] if continues else model.trace(text)
    walk = _Walk(model)
    memory = walk.encoder(trace.source_tokens) if trace.source_tokens else None
    last = walk.decoder(trace.target_tokens, memory) if trace.target_tokens else memory
    assert last is not None  # a model has a stack
    tokens = {"source": trace.source_tokens, "target": trace.target_tokens, "written": trace.output_tokens}
    return {
        **{name: None if each is None else list(each) for name, each in tokens.items()},
        "vectors": {key: _bytes(each) for key, each in walk.vectors.items()},
        "weights": {key: _bytes(each) for key, each in walk.weights.items()},
        "likeliest": walk.likeliest(last),
    }


class _Walk:
    """A walk through a model's own modules that keeps what comes out of each."""

    def __init__(self, model: TextModel) -> None:
        self._model = model
        self._network: Any = model.model
        self.vectors: dict[str, Tensor] = {}  # [1, position, d_model]
        self.weights: dict[str, Tensor] = {}  # [1, head, query, key]

    def encoder(self, tokens: tuple[str, ...]) -> tuple[Tensor, Tensor]:
        """Return the encoder's output and the mask of its tokens."""
        ids, network = self._ids(tokens), self._network
        alone = isinstance(network, EncoderOnly)
        words = network.embedding.words if alone else network.source_embedding
        x = network.embed(ids) if alone else network.embed_source(ids)  # [1, source, d_model]
        mask = network.padding_mask(ids)
        return self._stack("encoder", network.encoder, (words(ids), x), mask), mask

    def decoder(
        self, tokens: tuple[str, ...], memory: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the decoder's output."""
        ids, network = self._ids(tokens), self._network
        embedded = network.target_words(ids), network.embed_target(ids)  # [1, target, d_model] both
        mask = network.target_mask(ids)
        return self._stack("decoder", network.decoder, embedded, mask, memory), None

    def likeliest(self, last: tuple[Tensor, Tensor | None]) -> list[list[list[Any]]] | None:
        """Return the likeliest tokens of each position, with their probabilities."""
        if isinstance(self._network, EncoderOnly) and not self._model.config.predicts_words:
            return None
        logits = self._network.logits(last[0])[0].cpu().double()  # [position, vocab]
        probabilities, ids = logits.softmax(-1).topk(min(_LIKELIEST, logits.shape[1]))
        tokens_of = self._model.vocabulary.tokens_of
        return [
            [[token, share] for token, share in zip(tokens_of(row), shares, strict=True)]
            for row, shares in zip(ids.tolist(), probabilities.tolist(), strict=True)
        ]

    def _ids(self, tokens: tuple[str, ...]) -> Tensor:
        device = next(self._network.parameters()).device
        return torch.tensor([self._model.vocabulary.ids_of(tokens)], device=device)  # [1, position]

    def _stack(
        self,
        name: str,
        stack: Any,
        embedded: tuple[Tensor, Tensor],
        mask: Tensor,
        memory: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        words, x = embedded
        config = self._model.config
        if has_position_box(config):
            self.vectors[f"{name}.embedding"] = words * embedding_scale(config)
            self.vectors[f"{name}.positions"] = x
        else:
            self.vectors[f"{name}.embedding"] = x
        for index, layer in enumerate(stack.layers):
            for sublayer in ("self_attention", "cross_attention", "feed_forward"):
                if hasattr(layer, sublayer):
                    x = self._sublayer(f"{name}.{index}.{sublayer}", layer, sublayer, x, mask, memory)
        if config.norm == "pre":
            x = self.vectors[f"{name}.norm"] = stack.norm(x)
        return x

    def _sublayer(
        self,
        key: str,
        layer: Any,
        sublayer: str,
        x: Tensor,
        mask: Tensor,
        memory: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        """Return x after one part of a layer and its residual connection."""
        residual, part = getattr(layer, f"{sublayer}_residual"), getattr(layer, sublayer)
        h = residual.branch(x)  # [1, position, d_model]
        if residual.pre_norm:
            self.vectors[f"{key}_norm"] = h
        if sublayer == "feed_forward":
            new = part(h)
        else:
            read, may_attend = (h, mask) if sublayer == "self_attention" or memory is None else memory
            new, weights = part(h, read, may_attend)
            self.weights[key] = weights
        self.vectors[key] = new
        x = self.vectors[f"{key}_residual"] = residual.merge(x, new)
        return x


def _bytes(tensor: Tensor) -> bytes:
    return tensor[0].cpu().numpy().astype(np.dtype("<f4")).tobytes()
