"""Configurations: frozen, validated when made, and written to JSON and back without loss."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self, get_args

from viz_transformer.errors import UserError

Norm = Literal["post", "pre"]
Positional = Literal["sinusoidal", "learned", "rotary", "none"]
Scoring = Literal["scaled_dot", "dot", "additive"]
Activation = Literal["relu", "gelu"]


class _JsonConfig:
    """The JSON round trip that both configurations share."""

    def to_json(self) -> str:
        """Return the configuration as indented JSON."""
        return json.dumps(asdict(self), indent=2)  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            UserError: if the text is not JSON, or a field is unknown or out of range.
        """
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise UserError(f"the configuration is not JSON ({error}); write it again") from error
        known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        if not isinstance(values, dict) or set(values) - known:
            unknown = sorted(set(values) - known) if isinstance(values, dict) else values
            raise UserError(
                f"unknown {cls.__name__} fields {unknown!r:.80}; the known ones are {sorted(known)}"
            )
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class ModelConfig(_JsonConfig):
    """The sizes and choices of a Transformer; defaults are the paper's base model.

    Attributes:
        vocab_size: number of tokens; source and target share one vocabulary.
        d_model: width of every position's vector; n_heads must divide it.
        n_heads: attention heads in each attention layer; each is d_model / n_heads wide.
        n_encoder_layers: encoder layers, at least 1.
        n_decoder_layers: decoder layers, at least 1.
        d_ff: inner width of the position-wise feed-forward network.
        max_length: longest sequence that the positions reach, in tokens.
        dropout: probability of dropping an activation, 0 up to but not including 1.
        norm: ``"post"`` (LayerNorm after each residual sum, the paper) or ``"pre"``.
        positional: ``"sinusoidal"`` (the paper), ``"learned"``, ``"rotary"`` (Su et al. 2021: it
            turns queries and keys in place of adding to the words) or ``"none"``.
        scoring: how a query is compared with a key: ``"scaled_dot"`` (the paper), ``"dot"``
            (not divided by √d_k) or ``"additive"`` (Bahdanau et al. 2015).
        activation: the feed-forward network's, ``"relu"`` (the paper) or ``"gelu"``.
        bias: whether the attention projections carry biases.
        tie_embeddings: whether source, target and output share one embedding matrix.
        pad_id: the token id that pads a batch.

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
    pad_id: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        for name in (
            "vocab_size",
            "d_model",
            "n_heads",
            "n_encoder_layers",
            "n_decoder_layers",
            "d_ff",
            "max_length",
        ):
            _check_int(name, getattr(self, name), minimum=1)
        _check_int("pad_id", self.pad_id, minimum=0, maximum=self.vocab_size - 1)
        _check_real("dropout", self.dropout, minimum=0.0, below=1.0)
        for name, choices in (
            ("norm", Norm),
            ("positional", Positional),
            ("scoring", Scoring),
            ("activation", Activation),
        ):
            if getattr(self, name) not in get_args(choices):
                raise UserError(
                    f"{name}={getattr(self, name)!r} is unknown; choose one of {get_args(choices)}"
                )
        if self.d_model % self.n_heads:
            divisors = [n for n in range(1, self.d_model + 1) if self.d_model % n == 0]
            raise UserError(
                f"n_heads={self.n_heads} does not divide d_model={self.d_model}; "
                f"choose one of {divisors if len(divisors) <= 16 else [*divisors[:16], '…']}"
            )
        if self.positional == "sinusoidal" and self.d_model % 2:
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

    @property
    def d_head(self) -> int:
        """Width of one head, d_model / n_heads."""
        return self.d_model // self.n_heads


@dataclass(frozen=True, kw_only=True)
class TrainConfig(_JsonConfig):
    """How a model is trained.

    Attributes:
        n_steps: optimiser steps.
        batch_size: sentence pairs a step.
        learning_rate: the peak, reached after the warm-up.
        warmup_steps: steps of linear rise to the peak; a cosine then falls to zero.
        label_smoothing: probability mass spread over the other tokens, 0 up to but not 1.
        max_grad_norm: the gradient's norm is clipped to this.
        seed: fixes initial weights, dropout and the order of the batches.

    Raises:
        UserError: if a value is out of range.
    """

    n_steps: int = 4000
    batch_size: int = 128
    learning_rate: float = 3e-3
    warmup_steps: int = 200
    label_smoothing: float = 0.0
    max_grad_norm: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        _check_int("n_steps", self.n_steps, minimum=1)
        _check_int("batch_size", self.batch_size, minimum=1)
        _check_int("warmup_steps", self.warmup_steps, minimum=0)
        _check_int("seed", self.seed, minimum=0)
        _check_real("learning_rate", self.learning_rate, minimum=0.0, below=float("inf"))
        _check_real("label_smoothing", self.label_smoothing, minimum=0.0, below=1.0)
        _check_real("max_grad_norm", self.max_grad_norm, minimum=0.0, below=float("inf"))


def _check_int(name: str, value: Any, minimum: int, maximum: int | None = None) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < minimum or (maximum is not None and value > maximum):
        upto = "" if maximum is None else f" and at most {maximum}"
        raise UserError(f"{name}={value!r} must be a whole number of at least {minimum}{upto}")


def _check_real(name: str, value: Any, minimum: float, below: float) -> None:
    if not isinstance(value, int | float) or not minimum <= value < below:
        raise UserError(
            f"{name}={value!r} must be a number from {minimum} up to (not including) {below}"
        )
