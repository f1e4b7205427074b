"""The configuration of a model: its sizes and choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, get_args

from viz_transformer._bounds import LAYERS, SIZE
from viz_transformer.config.checks import JsonConfig, check_choice, check_int, check_real
from viz_transformer.config.presets import PRESETS
from viz_transformer.errors import UserError

Family = Literal["encoder-decoder", "encoder", "decoder"]
Norm = Literal["post", "pre"]
Positional = Literal["sinusoidal", "sinusoidal_halves", "learned", "rotary", "none"]
Scoring = Literal["scaled_dot", "dot", "additive"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
Pooler = Literal["none", "tanh", "relu"]

#: The options that only some families have: the value that means "no", and those families.
_FOR_FAMILIES: dict[str, tuple[object, tuple[Family, ...]]] = {
    "target_vocab_size": (None, ("encoder-decoder",)),
    "start_id": (None, ("encoder-decoder",)),
    "output_bias": (False, ("encoder-decoder", "decoder")),
    "embedding_norm": (False, ("encoder", "decoder")),
    "n_segments": (0, ("encoder",)),
    "pooler": ("none", ("encoder",)),
    "n_classes": (0, ("encoder",)),
    "predicts_words": (False, ("encoder",)),
}


@dataclass(frozen=True, kw_only=True)
class ModelConfig(JsonConfig):
    """The sizes and choices of a Transformer; defaults are the paper's base model.

    >>> from viz_transformer.config import ModelConfig
    >>> config = ModelConfig(vocab_size=100, d_model=32, n_heads=4)
    >>> config.d_head, config.n_encoder_layers
    (8, 6)

    Attributes:
        vocab_size: number of tokens; of the source where `target_vocab_size` is given.
        d_model: width of every position's vector; n_heads must divide it.
        n_heads: attention heads in each attention layer; each is d_model / n_heads wide.
        n_encoder_layers: encoder layers, at least 1; made 0 in the family ``"decoder"``.
        n_decoder_layers: decoder layers, at least 1; made 0 in the family ``"encoder"``.
        d_ff: inner width of the position-wise feed-forward network.
        max_length: longest sequence that the positions reach, in tokens.
        dropout: probability of dropping an activation, 0 up to but not including 1.
        norm: ``"post"`` (LayerNorm after each residual sum, the paper) or ``"pre"``.
        positional: ``"sinusoidal"`` (the paper: sines and cosines in turn),
            ``"sinusoidal_halves"`` (the same numbers, first all sines, then all cosines),
            ``"learned"``, ``"rotary"`` (Su et al. 2021: it turns queries and keys in place of
            adding to the words) or ``"none"``.
        scoring: how a query is compared with a key: ``"scaled_dot"`` (the paper), ``"dot"``
            (not divided by √d_k) or ``"additive"`` (Bahdanau et al. 2015).
        activation: the feed-forward network's: ``"relu"`` (the paper), ``"gelu"``,
            ``"gelu_tanh"`` (an approximation of GELU, GPT-2's) or ``"silu"`` (swish).
        bias: whether the attention projections carry biases.
        tie_embeddings: whether the output layer is the embedding matrix, which source and target
            then share too if they share a vocabulary.
        pad_id: the token id that pads a batch; None, where there is no padding, not in the family
            ``"encoder-decoder"``.
        family: ``"encoder-decoder"`` (`Transformer`), ``"encoder"`` (`EncoderOnly`) or
            ``"decoder"`` (`DecoderOnly`).
        target_vocab_size: number of target tokens; None: source and target share a vocabulary.
        start_id: the token that every target starts with, where it is known; needed where it is
            `pad_id`, so that the first position is not taken for padding.
        scale_embeddings: whether embeddings, and learned positions with them, are multiplied by
            √d_model (the paper) or taken as they are (BERT, GPT-2).
        output_bias: whether every word has a bias added to its logit.
        embedding_norm: whether a LayerNorm follows the sum of the embeddings (BERT).
        n_segments: kinds of segment embeddings (BERT has 2, sentence A and sentence B), or 0.
        pooler: a layer on the first position's vector: ``"tanh"`` (BERT), ``"relu"`` or
            ``"none"``.
        n_classes: classes of the classification head, or 0 for none.
        predicts_words: whether every word of the vocabulary is scored at every position, as the
            masked word is in BERT's training.
        layer_norm_eps: added to the variance in every LayerNorm.

    Raises:
        UserError: if a value is out of range; the message says what would do.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3 and table 3.
    """

    vocab_size: int = 37_000
    d_model: int = 512
    n_heads: int = 8
    n_encoder_layers: int = 6
    n_decoder_layers: int = 6
    d_ff: int = 2048
    max_length: int = 512
    dropout: float = 0.1
    norm: Norm = "post"
    positional: Positional = "sinusoidal"
    scoring: Scoring = "scaled_dot"
    activation: Activation = "relu"
    bias: bool = True
    tie_embeddings: bool = True
    pad_id: int | None = 0
    family: Family = "encoder-decoder"
    target_vocab_size: int | None = None
    start_id: int | None = None
    scale_embeddings: bool = True
    output_bias: bool = False
    embedding_norm: bool = False
    n_segments: int = 0
    pooler: Pooler = "none"
    n_classes: int = 0
    predicts_words: bool = False
    layer_norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        """Check every value."""
        for name, choices in (
            ("family", Family),
            ("norm", Norm),
            ("positional", Positional),
            ("scoring", Scoring),
            ("activation", Activation),
            ("pooler", Pooler),
        ):
            check_choice(name, getattr(self, name), get_args(choices))
        for name, stack in (("n_encoder_layers", "encoder"), ("n_decoder_layers", "decoder")):
            if stack in self.family:
                check_int(name, getattr(self, name), minimum=1, bound=LAYERS)
            else:  # the truth about a model without that stack
                object.__setattr__(self, name, 0)
        for name in ("vocab_size", "d_model", "n_heads", "d_ff", "max_length"):
            check_int(name, getattr(self, name), minimum=1, bound=SIZE)
        for name in ("n_segments", "n_classes"):
            check_int(name, getattr(self, name), minimum=0, bound=SIZE)
        if self.target_vocab_size is not None:
            check_int("target_vocab_size", self.target_vocab_size, minimum=1, bound=SIZE)
        if self.pad_id is not None or self.family == "encoder-decoder":
            smaller = min(self.vocab_size, self.output_vocab_size)
            check_int("pad_id", self.pad_id, minimum=0, maximum=smaller - 1)
        if self.start_id is not None:
            check_int("start_id", self.start_id, minimum=0, maximum=self.output_vocab_size - 1)
        check_real("dropout", self.dropout, minimum=0.0, below=1.0)
        check_real("layer_norm_eps", self.layer_norm_eps, minimum=0.0, below=1.0)
        for name, (absent, families) in _FOR_FAMILIES.items():
            if getattr(self, name) != absent and self.family not in families:
                raise UserError(
                    f"{name}={getattr(self, name)!r} has no meaning in family={self.family!r}; "
                    f"leave it out, or choose a family of {families}"
                )
        if self.predicts_words and self.n_classes:
            raise UserError(
                f"predicts_words=True and n_classes={self.n_classes} are two heads, and a model has "
                "one; leave one of them out"
            )
        self._check_width()

    def _check_width(self) -> None:
        if self.d_model % self.n_heads:
            divisors = [n for n in range(1, min(self.d_model, 4096) + 1) if self.d_model % n == 0][:16]
            raise UserError(
                f"n_heads={self.n_heads} does not divide d_model={self.d_model}; choose one of {divisors}"
            )
        if self.positional.startswith("sinusoidal") and self.d_model % 2:
            raise UserError(
                f"d_model={self.d_model} is odd, and sinusoidal positions pair a sine with a "
                f"cosine; use {self.d_model + 1} or positional='learned'"
            )
        if self.positional == "rotary" and self.d_head % 2:
            raise UserError(
                f"d_head={self.d_head} (d_model={self.d_model} / n_heads={self.n_heads}) is odd, "
                "and rotary positions turn pairs of numbers; choose sizes such as d_model=32 and "
                "n_heads=4, or positional='learned'"
            )

    @classmethod
    def preset(cls, name: str) -> Self:
        """Return a published model's configuration, such as ``"bert-base"`` or ``"gpt2"``.

        To change some of it, use `dataclasses.replace(ModelConfig.preset(name), vocab_size=100)`.

        Raises:
            UserError: if there is no preset of that name; the message lists those there are.
        """
        if name not in PRESETS:
            raise UserError(f"unknown preset {name!r}; choose one of {list(PRESETS)}")
        return cls(**PRESETS[name])

    @property
    def d_head(self) -> int:
        """Width of one head, d_model / n_heads."""
        return self.d_model // self.n_heads

    @property
    def attention_layers(self) -> dict[str, int]:
        """Number of layers of each kind of attention that there is: encoder, decoder, cross."""
        n_cross = self.n_decoder_layers if self.n_encoder_layers else 0
        layers = {"encoder": self.n_encoder_layers, "decoder": self.n_decoder_layers, "cross": n_cross}
        return {kind: n_layers for kind, n_layers in layers.items() if n_layers}

    @property
    def padding_id(self) -> int:
        """The id that counts as padding: `pad_id`, or -1, which no token has, where it is None."""
        return -1 if self.pad_id is None else self.pad_id

    @property
    def output_vocab_size(self) -> int:
        """Number of tokens that the model may write: the target's where it has its own."""
        return self.vocab_size if self.target_vocab_size is None else self.target_vocab_size

    @property
    def has_target_embedding(self) -> bool:
        """Whether the target's words have a matrix of their own, not the source's."""
        return self.target_vocab_size is not None or not self.tie_embeddings
