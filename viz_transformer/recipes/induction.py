"""The induction model: two layers of attention alone, trained on random syllables that repeat.

It learns one thing: after a syllable that occurred before, what followed it then comes again. Two
heads are needed for that, one above the other. A head of the first layer copies to each position
which token is before it, and an *induction head* of the second looks for the position whose
copy is the token just read. A model of one layer cannot do it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from viz_transformer._bounds import SIZE, fits_memory, whole_number
from viz_transformer._files import bundled, given_path
from viz_transformer.errors import FileError, UserError
from viz_transformer.model.attention import Attention, MultiHeadAttention, attend, attend_fused
from viz_transformer.model.masks import causal_mask
from viz_transformer.trace import ForwardTrace

#: What the model reads: 65 syllables, behind the token that every text starts with.
SYLLABLES = tuple(f"{consonant}{vowel}" for consonant in "bdfgklmnprstv" for vowel in "aeiou")
TOKENS = ("<sos>", *SYLLABLES)
#: The file that holds the model.
INDUCTION = "model.safetensors"
#: How many syllables are repeated, drawn for every batch: so a fixed distance is of no use.
_PERIODS = range(8, 25)


class AttentionOnly(nn.Module):
    """A language model of attention layers alone, without feed-forward networks.

    Pre-norm, with rotary positions and no biases. `vt.capture` and `vt.head_scores` read it as they
    read any module that calls torch's attention.

    >>> import viz_transformer as vt
    >>> from viz_transformer.recipes import AttentionOnly
    >>> untrained = AttentionOnly(n_tokens=10, d_model=8, n_heads=2)
    >>> trace = vt.capture(untrained, input_ids=[[0, 3, 7, 3]], tokens=["<sos>", "be", "du", "be"])
    >>> trace.decoder_attention.shape
    (2, 2, 4, 4)

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
    """

    def __init__(self, n_tokens: int = len(TOKENS), d_model: int = 64, n_heads: int = 4) -> None:
        """Make two layers of random weights, for texts of up to 64 tokens.

        Args:
            n_tokens: different tokens that it reads and writes; by default those of `SYLLABLES`.
            d_model: width of the vectors.
            n_heads: heads of each layer; d_model is a multiple of it.

        Raises:
            UserError: if a number is out of range, or this machine has no room for so many weights.
        """
        super().__init__()
        whole_number("n_tokens", n_tokens, SIZE)
        whole_number("d_model", d_model, SIZE)
        fits_memory(4 * d_model * (2 * n_tokens + 8 * d_model), f"a model of width {d_model:,}")
        self.max_length = 64
        self.embedding = nn.Embedding(n_tokens, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.layers = nn.ModuleList(
            MultiHeadAttention(d_model, n_heads, bias=False, rotary_length=self.max_length) for _ in range(2)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in self.layers)
        self.last_norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, n_tokens, bias=False)

    def forward(
        self, ids: Int[Tensor, "batch position"], attention: Attention = attend_fused
    ) -> Float[Tensor, "batch position n_tokens"]:
        """Return the logits of each next token."""
        return self.read(ids, attention)[0]

    def read(
        self, ids: Int[Tensor, "batch position"], attention: Attention
    ) -> tuple[Float[Tensor, "batch position n_tokens"], list[Tensor | None]]:
        """Return the logits, and each layer's weights [batch, head, query, key] if `attention` has them."""
        mask = causal_mask(ids.shape[1])
        x, attentions = self.embedding(ids), []  # [batch, position, d_model]
        for layer, norm in zip(self.layers, self.norms, strict=True):
            h = norm(x)
            h, weights = layer(h, h, mask, attention)
            x = x + h
            attentions.append(weights)
        return self.output(self.last_norm(x)), attentions

    @torch.no_grad()
    def trace(self, text: str | Sequence[str]) -> ForwardTrace:
        """Return every head's attention while the model reads some syllables, behind ``<sos>``.

        >>> from viz_transformer.recipes import load_induction_model
        >>> load_induction_model().trace("ba ki so mu te ba ki so").target_tokens[:3]
        ('<sos>', 'ba', 'ki')

        Args:
            text: syllables with spaces between them, or a list of them: such as ``ba``, ``de``, ``lu``.

        Raises:
            UserError: if one is unknown, or they are none or too many.
        """
        words = text.split() if isinstance(text, str) else list(text)
        unknown = [word for word in words if word not in SYLLABLES]
        if unknown:
            raise UserError(
                f"{unknown[0]!r} is not one of the model's {len(SYLLABLES)} syllables; "
                f"they are one of {''.join(dict.fromkeys(each[0] for each in SYLLABLES))} "
                "and one of aeiou, such as 'ba' or 'lu'"
            )
        if not 0 < len(words) < self.max_length:
            raise UserError(
                f"the text has {len(words)} syllables, and this model reads 1 to {self.max_length - 1}"
            )
        tokens = ("<sos>", *words)
        ids = torch.tensor([[TOKENS.index(token) for token in tokens]])  # [1, position]
        _, attentions = self.read(ids, attend)
        layers = torch.cat([weights for weights in attentions if weights is not None])
        return ForwardTrace(target_tokens=tokens, decoder_attention=layers.numpy())


def load_induction_model(folder: str | os.PathLike[str] | None = None) -> AttentionOnly:
    """Load the bundled model, or one that was made as it was.

    What followed a syllable before comes again:

    >>> import torch
    >>> from viz_transformer.recipes import load_induction_model
    >>> from viz_transformer.recipes.induction import TOKENS
    >>> read = ["<sos>", *"ba ki so mu ba ki so".split()]
    >>> logits = load_induction_model()(torch.tensor([[TOKENS.index(token) for token in read]]))
    >>> TOKENS[logits[0, -1].argmax()]
    'mu'

    Args:
        folder: where ``model.safetensors`` is.

    Raises:
        FileError: if its file is missing or damaged, or holds another model.
    """
    path = (bundled("data/induction") if folder is None else given_path(folder)) / INDUCTION
    model = AttentionOnly()
    try:
        model.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise FileError(
            f"{str(path)!r} is missing, damaged or another model's ({str(error).splitlines()[0]:.80}); make "
            "one in a clone of the repository with `python -m recipes induction --out DIR`"
        ) from error
    return model.eval()


def repeated_ids(n_texts: int, generator: torch.Generator) -> Int[Tensor, "text position"]:
    """Draw texts of ``<sos>`` and some different syllables, twice; all texts equally many."""
    period = int(torch.randint(_PERIODS.start, _PERIODS.stop, (1,), generator=generator))
    drawn = torch.rand(n_texts, len(SYLLABLES), generator=generator)
    half = drawn.argsort(dim=1)[:, :period] + 1  # [text, period]
    return torch.cat([torch.zeros_like(half[:, :1]), half, half], dim=1)  # [text, 1 + 2 · period]
