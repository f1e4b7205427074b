"""The architecture of a live model: every box, and the numbers in it while the model reads a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.course_map import lesson_link, lesson_title
from viz_transformer.errors import UserError
from viz_transformer.huggingface_text import HuggingFaceReader, HuggingFaceText
from viz_transformer.interpreting import AttentionSite, find_sites
from viz_transformer.interpreting.block_parts import BlockPart, read_blocks
from viz_transformer.interpreting.layer_steps import layer_steps
from viz_transformer.language_model import LanguageModel
from viz_transformer.model import EncoderOnly, Transformer, attend
from viz_transformer.model.autoregressive import AutoregressiveModel
from viz_transformer.model.families import Embedding
from viz_transformer.model.layers import DecoderLayer, FeedForward, Residual
from viz_transformer.model.masks import causal_mask
from viz_transformer.model.positional import embedding_scale, make_positions, sinusoidal_encoding
from viz_transformer.source_code import show_source
from viz_transformer.text_model import TextModel
from viz_transformer.trace import ForwardTrace
from viz_transformer.vocabulary import Vocabulary
from viz_transformer.widgets.architecture.view import Architecture
from viz_transformer.widgets.attention_stepper.live import attention_steps
from viz_transformer.widgets.attention_stepper.payload import layer_payload
from viz_transformer.widgets.base.live import give_engine, reader_of, text_for

_TEXTS = {
    "translate": "the black cat sleeps",
    "continue": "el gato",
    "fill": "el [?] negro duerme",
}
_LIKELIEST = 5
_LAB = "a picture of its architecture"
#: What a page may carry of one text.
_MOST_BYTES = 48 * 1024 * 1024
#: What configurations call the function between the matrices of a feed-forward network.
_ACTIVATIONS = ("hidden_act", "activation_function", "hidden_activation", "activation")


def architecture(
    model: Any,
    text: str | None = None,
    *,
    step: int = -1,
    engine: str | None = None,
    tokenizer: Any = None,
) -> Architecture:
    """Return the whole model as one picture, through which a sentence flows step by step.

        vt.architecture(translator, "the black cat sleeps")
        vt.architecture(llama, "The capital of France is", tokenizer=tokenizer)

    >>> import viz_transformer as vt
    >>> view = vt.architecture(vt.load_translator(), "the black cat sleeps", step=3)

    Args:
        model: a translator, language model or masked language model; or a model of Hugging Face's with one
            stack of blocks, drawn as it runs: norms before or after, networks with a gate, keys and
            values that several heads share.
        text: the first sentence; the view takes others. None takes one that suits a model of ours.
        step: the step at which the picture begins, from 0; by default the last, with every box filled.
        engine: where answers are computed: ``"page"``, ``"kernel"``, or None for the page if it can.
        tokenizer: that of a Hugging Face model.

    Raises:
        UserError: if the model cannot read the text, there is no such step, or the page cannot run
            the model.
    """
    model = reader_of(model, _TEXTS, _LAB, tokenizer)
    return _architecture(model, text, step, engine, goes_on=True)


def architecture_of_text(model: Any, text: str, engine: str | None = None) -> Architecture:
    """Return the picture of a text as it is, which a language model does not continue: its last step.

    Args:
        model: as in `architecture`, as the others.
        text: the first text.
        engine: where answers are computed.

    Raises:
        UserError: as `architecture`.
    """
    return _architecture(model, text, -1, engine, goes_on=False)


def _architecture(
    model: Any, text: str | None, step: int, engine: str | None, *, goes_on: bool
) -> Architecture:
    text = text_for(model, text, _TEXTS, _LAB)
    if isinstance(model, HuggingFaceReader):
        return _theirs(model, text, step, engine, goes_on)
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


def _theirs(
    model: HuggingFaceReader, text: str, step: int, engine: str | None, goes_on: bool
) -> Architecture:
    """Return the picture of a model of Hugging Face's."""
    known: dict[str, tuple[ForwardTrace, list[BlockPart], Tensor | None]] = {}

    def read(sentence: str) -> tuple[ForwardTrace, list[BlockPart], Tensor | None]:
        """Let the model read a sentence once, for all requests about it."""
        if sentence not in known:
            known.clear()
            known[sentence] = read_blocks(model.model, _reading(model, sentence, goes_on))
        return known[sentence]

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        sentence = request["sentence"]
        if "kind" not in request:
            n_given = model.n_given(sentence) if goes_on and isinstance(model, HuggingFaceText) else 0
            return {**_reply_of_theirs(model, *read(sentence)), "given": n_given}
        run = _reading(model, sentence, goes_on)
        return layer_payload(layer_steps(model.model, run, request["kind"], request["layer"]), sentence)

    _, parts, logits = read(text)
    site = find_sites(model.model)[0]
    width = next(part.vectors for part in parts if part.vectors is not None).shape[-1]
    view = Architecture(
        answer,
        text,
        boxes=[Box(part.key, part.kind, part.stack, part.layer, part.parameters)._asdict() for part in parts],
        parts=_parts_of_theirs(model, parts, site),
        sizes={
            "d_model": width,
            "n_heads": site.n_heads,
            "n_words": 0 if logits is None else logits.shape[-1],
        },
        kinds=(site.kind,),
        step=step,
    )
    view.made_with(tokenizer=model.tokenizer)
    return give_engine(view, "architecture", model, engine)


def _reading(model: HuggingFaceReader, text: str, goes_on: bool) -> Callable[[], ForwardTrace]:
    """Return what lets a model read a text, and where it goes on, what it writes."""
    if goes_on and isinstance(model, HuggingFaceText):
        answer = model.answer(text)
        return lambda: model.judge(text, answer)[0]
    return lambda: model.trace(text)


def _reply_of_theirs(
    model: HuggingFaceReader, trace: ForwardTrace, parts: list[BlockPart], logits: Tensor | None
) -> dict[str, Any]:
    """Return what `architecture_reply` does."""
    (kind,) = trace.kinds
    weights = trace.attention(kind)
    assert weights is not None  # a kind that is present
    n_bytes = weights.nbytes + sum(part.vectors.nbytes for part in parts if part.vectors is not None)
    if n_bytes > _MOST_BYTES:
        raise UserError(
            f"the vectors of {weights.shape[-1]} tokens take {n_bytes / 2**20:.0f} MiB in all parts, and "
            f"this picture carries at most {_MOST_BYTES / 2**20:.0f}; give a shorter text"
        )
    likeliest = None
    if logits is not None and logits.ndim == 2 and logits.shape[-1] > _LIKELIEST:
        shares, ids = logits.float().softmax(-1).topk(_LIKELIEST)
        likeliest = [
            [[token, share] for token, share in zip(model.tokens_of(row), each, strict=True)]
            for row, each in zip(ids.tolist(), shares.tolist(), strict=True)
        ]
    attentions = [part.key for part in parts if part.kind.endswith("attention")]
    return {
        "source": list(trace.query_tokens(kind)) if kind == "encoder" else None,
        "target": list(trace.target_tokens) if kind == "decoder" else None,
        "written": None if trace.output_tokens is None else list(trace.output_tokens),
        "vectors": {part.key: part.vectors.numpy().tobytes() for part in parts if part.vectors is not None},
        "weights": {key: each.astype("<f4").tobytes() for key, each in zip(attentions, weights, strict=True)},
        "likeliest": likeliest,
    }


@torch.no_grad()
def architecture_reply(model: TextModel, request: dict[str, Any], *, goes_on: bool = True) -> dict[str, Any]:
    """Return the values of every box for a sentence.

    Args:
        model: the model.
        request: the sentence, and perhaps a kind and a layer.
        goes_on: whether a language model continues the text, and what it writes is seen too.

    Returns:
        ``source`` and ``target``, the tokens that each stack reads, and ``written``, those that the
        last one writes (None where there is none), the first of which the text may have ``given``; by the
        keys of boxes, ``vectors`` float32 [position, d_model] and ``weights`` float32 [head, query, key], as
        bytes; and ``likeliest``, for each position of the last stack the tokens with the highest
        probabilities. Of a request that names a kind and a layer, what the attention stepper reads of that
        layer.
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
        "given": model.n_given(text) if continues and isinstance(model, LanguageModel) else 0,
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


class Box(NamedTuple):
    """One box of the picture.

    Attributes:
        key: where its module is in the model, such as ``"encoder.0.self_attention"``.
        part: which of the parts it is, a key of `parts_of`.
        stack: ``"encoder"`` or ``"decoder"``.
        layer: index of its layer, from 0; None outside the layers.
        parameters: how many numbers it learns; a matrix that two boxes share counts in the first.
    """

    key: str
    part: str
    stack: str
    layer: int | None
    parameters: int


def has_position_box(config: ModelConfig) -> bool:
    """Return whether positions are added to the words, and not turned into queries and keys."""
    return config.positional not in ("rotary", "none")


def boxes_of(model: TextModel) -> list[Box]:
    """Return a model's boxes in the order in which a sentence flows through them."""
    network: Any = model.model
    config = model.config
    known: set[int] = set()

    def count(*modules: Any) -> int:
        """Count the parameters that were not counted before."""
        found = {
            id(each): each.numel()
            for module in modules
            for each in (module.parameters() if isinstance(module, nn.Module) else [module])
        }
        new = found.keys() - known
        known.update(new)
        return sum(found[each] for each in new)

    boxes = []
    for stack in ("encoder", "decoder"):
        if stack not in config.family:
            continue
        words, positions = _embedding_modules(network, stack)
        boxes += [
            Box(f"{stack}.tokens", "tokens", stack, None, 0),
            Box(f"{stack}.embedding", "embedding", stack, None, count(*words)),
        ]
        if has_position_box(config):
            boxes.append(Box(f"{stack}.positions", "positions", stack, None, count(*positions)))
        for index, layer in enumerate(getattr(network, stack).layers):
            for key, part, module in _layer_parts(layer, stack, config):
                boxes.append(
                    Box(f"{stack}.{index}.{key}", part, stack, index, count(module) if module else 0)
                )
        if config.norm == "pre":
            norm = getattr(network, stack).norm
            boxes.append(Box(f"{stack}.norm", "last_norm", stack, None, count(norm)))
    if config.family != "encoder" or config.predicts_words:
        learned = [getattr(network, name) for name in ("output", "output_bias") if hasattr(network, name)]
        boxes.append(
            Box(f"{stacks_of(boxes)[-1]}.output", "output", stacks_of(boxes)[-1], None, count(*learned))
        )
    return boxes


def stacks_of(boxes: list[Box]) -> list[str]:
    """Return the stacks that hold boxes, in their order."""
    return list(dict.fromkeys(box.stack for box in boxes))


def _embedding_modules(network: Any, stack: str) -> tuple[list[Any], list[Any]]:
    """Return what the vectors of a stack's words are made of, and those of its positions."""
    if isinstance(network, Transformer):
        side = "source" if stack == "encoder" else "target"
        words = network.source_embedding if side == "source" else network.target_words
        return [words], [getattr(network, f"{side}_positions")]
    embedding = network.embedding
    others = [each for each in (embedding.segments, embedding.norm) if each is not None]
    return [embedding.words], [embedding.positions, *others]


def _layer_parts(layer: Any, stack: str, config: ModelConfig) -> Iterator[tuple[str, str, Any]]:
    """Yield the key, the part and the module of each box of a layer."""
    for name in ("self_attention", "cross_attention", "feed_forward"):
        if not hasattr(layer, name):
            continue
        masked = name == "self_attention" and stack == "decoder"
        residual = getattr(layer, f"{name}_residual")
        if config.norm == "pre":
            yield f"{name}_norm", "norm", residual.norm
        yield name, "masked_self_attention" if masked else name, getattr(layer, name)
        if config.norm == "pre":
            yield f"{name}_residual", "add", None
        else:
            yield f"{name}_residual", "add_norm", residual


def parts_of(config: ModelConfig) -> dict[str, dict[str, Any]]:
    """Return what the parts are: name, text, formula, lesson, and the source that carries them out."""
    head = _head_formula(config)
    rotary = (
        " Queries and keys are rotated by their positions first." if config.positional == "rotary" else ""
    )
    embed = Transformer._embed if config.family == "encoder-decoder" else Embedding.forward
    output = EncoderOnly.score_words if config.family == "encoder" else AutoregressiveModel.logits
    positions = sinusoidal_encoding if "sinusoidal" in config.positional else make_positions
    activation = "max(0, x W₁ + b₁)" if config.activation == "relu" else f"{config.activation}(x W₁ + b₁)"
    scale = " · √d_model" if config.scale_embeddings else ""
    told: dict[str, tuple[list[str], str, str, int, Any]] = {
        "tokens": (["tokens"], "Each word becomes a token, and each token has a number in the vocabulary, "
                   "its id.", "token → id", 2, Vocabulary.encode),
        "embedding": (["embedding"], "Looks up a row of a learned table for each token: its vector.",
                      f"x = E[id]{scale}", 2, embed),
        "positions": (["+ positions"], "Adds a pattern that depends on the position alone, so that "
                      "attention can depend on the word order.", "x + P[position]", 6, positions),
        "self_attention": (["self-", "attention"], "Each word's query is compared with every word's key. The "
                           f"weights say how much of each word's value it takes.{rotary}", head, 4, attend),
        "masked_self_attention": (["masked self-", "attention"], "Self-attention in which a word attends "
                                  f"only to itself and the words before it.{rotary}", head, 8, causal_mask),
        "cross_attention": (["cross-", "attention"], "The queries come from the words written so far, the "
                            "keys and values from the encoder's memory.",
                            "Q = x W^Q,  K = memory W^K,  V = memory W^V", 9, DecoderLayer.forward),
        "feed_forward": (["feed-", "forward"], "The same small network for every word, each word on its own.",
                         f"{activation} W₂ + b₂", 9, FeedForward.forward),
        "add_norm": (["Add &", "Norm"], "Adds the part's output to the part's input, then normalises each "
                     "word's vector.", "LayerNorm(x + part(x))", 9, Residual.merge),
        "norm": (["Norm"], "Normalises each word's vector before the part reads it.", "LayerNorm(x)", 9,
                 Residual.branch),
        "add": (["Add"], "Adds the part's output to the part's input.", "x + part(LayerNorm(x))", 9,
                Residual.merge),
        "last_norm": (["last", "Norm"], "Normalises each word's vector once more, after the last layer.",
                      "LayerNorm(x)", 9, Residual.branch),
        "output": (["softmax"], "Compares the vector with the output vector of every word of the vocabulary, "
                   "and turns the scores into probabilities.",
                   "softmax(x Eᵀ)" if config.tie_embeddings else "softmax(x W)", 7, output),
    }  # fmt: skip
    return {
        name: {
            "lines": lines,
            "name": "".join(lines) if lines[0].endswith("-") else " ".join(lines),
            "text": text,
            "formula": formula,
            "lesson": {"title": f"Lesson {lesson}: {lesson_title(lesson)}", "link": lesson_link(lesson)},
            "source": _source(carried_out),
        }
        for name, (lines, text, formula, lesson, carried_out) in told.items()
    }


def _parts_of_theirs(
    model: HuggingFaceReader, parts: list[BlockPart], site: AttentionSite
) -> dict[str, dict[str, Any]]:
    """Return what `parts_of` does, of the parts that a model of Hugging Face's has."""
    ours = parts_of(ModelConfig(family="encoder" if site.kind == "encoder" else "decoder", vocab_size=8))
    config = model.model.config.get_text_config()
    d, n = site.d_head, site.n_heads
    shared = getattr(config, "num_key_value_heads", None) or n
    heads = f" Here {n} heads of {d} numbers"
    heads += f"; {shared} heads of keys and values serve {n // shared} each." if shared < n else "."
    if any(getattr(config, name, None) for name in ("rope_parameters", "rope_theta")):
        heads += " Queries and keys are turned by their positions first."
    of_kind = {part.kind: part for part in reversed(parts)}
    told = {}
    for kind, part in of_kind.items():
        known = dict(ours.get(kind) or ours["output"])
        carried_out = part.modules[0] if part.modules else model.model
        if kind in ("norm", "add_norm", "last_norm"):
            norm = type(part.modules[-1]).__name__
            summed = "x + part(x)" if kind == "add_norm" else "x"
            known["formula"] = f"{norm}({summed})"
        elif kind.endswith("attention"):
            known["text"] += heads
            known["formula"] = "softmax(Q Kᵀ / √d_k) V"
        elif kind == "feed_forward":
            widths = [
                f"{name.rpartition('.')[2] or 'dense'} {weight.shape[1]:,} → {weight.shape[0]:,}"
                if hasattr(module, "in_features")
                else f"{name.rpartition('.')[2]} {weight.shape[0]:,} → {weight.shape[1]:,}"
                for outer in part.modules
                for name, module in outer.named_modules()
                if (weight := getattr(module, "weight", None)) is not None and weight.ndim == 2
            ]
            gated = any("gate" in each for each in widths)
            known["text"] += f"{' It has a gate.' if gated else ''} Here {', '.join(widths[:4])}."
            act = next((getattr(config, each) for each in _ACTIVATIONS if hasattr(config, each)), "f")
            known["formula"] = f"({act}(x W_gate) · x W_up) W_down" if gated else f"{act}(x W₁ + b₁) W₂ + b₂"
        elif kind == "embedding":
            known["formula"] = "x = E[id]"
        elif kind == "output":
            known["formula"] = "softmax(x W)"
        elif kind == "rest":
            names = [name for name, module in model.model.named_children() if module in part.modules]
            known |= {"name": ", ".join(names), "lines": names, "formula": f"{names[0]}(x)"}
            known["text"] = "It reads the last vectors, and what it makes of them is not drawn."
        elif kind == "add":
            known["formula"] = "x + part(norm(x))"
        told[kind] = known | {"source": _source(type(carried_out).forward)}
    return told


def _head_formula(config: ModelConfig) -> str:
    if config.scoring == "additive":
        return "softmax(v · tanh(q W_q + k W_k)) V"
    return "softmax(Q Kᵀ) V" if config.scoring == "dot" else "softmax(Q Kᵀ / √d_k) V"


def _source(definition: Any) -> dict[str, Any]:
    found = show_source(definition)
    return {"name": found.name, "file": found.file, "line": found.line, "text": found.text}
