"""Section 2, masks: polarity, empty rows, the wrong argument, the wrong sentence, the target."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.exercises.answer_types import Exercise, Function, Mistake
from viz_transformer.exercises.clinic.checks import build_module, is_close, no_leak, random_vectors, runs
from viz_transformer.exercises.clinic.hidden_tests import HiddenTests, Property, WrongAnswer

# -- 4: polarity -----------------------------------------------------------------------------------


def _attention_by(weights_of: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return attention that makes its weights from scores and mask in some way."""

    def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return weights_of(scores, mask) @ value

    return attention


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def _inverted(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(mask, -math.inf).softmax(-1)


def _filled_with_zero(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, 0.0).softmax(-1)


def _masked_afterwards(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.softmax(-1) * mask


def _heads_and_mask(rng: np.random.Generator) -> tuple[Tensor, ...]:
    length = int(rng.integers(3, 6))
    qkv = torch.from_numpy(rng.normal(size=(3, 2, length, 4))).float()
    mask = torch.from_numpy(rng.random((length, length)) < 0.5) | torch.eye(length).bool()
    return *qkv.unbind(), mask


POLARITY = Function(
    _attention_by(_masked),
    _heads_and_mask,
    (
        Mistake(
            _attention_by(_inverted),
            "The mask is still inverted: masked_fill fills where its mask is True, and here True means "
            "“may attend”. So it hides exactly the allowed keys.",
        ),
        Mistake(
            _attention_by(_filled_with_zero),
            "The right cells are filled, but 0 (or 1e-9) is a score like any other: e^0 = 1 still gives "
            "the key a weight. For which score is e^score = 0?",
        ),
        Mistake(
            _attention_by(_masked_afterwards),
            "You masked after the softmax, so the hidden words already have part of the weight, and the "
            "rows no longer sum to 1. Mask the scores.",
        ),
    ),
    right="In scaled_dot_product_attention True means the same as in this excerpt, in "
    "nn.MultiheadAttention the opposite. Write the meaning beside every mask.",
)

# -- 5: a row without keys -------------------------------------------------------------------------


def _safe_weights(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)
    return weights * mask.any(-1, keepdim=True)


def _zero_by_zero(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


def _nan_hidden(scores: Tensor, mask: Tensor) -> Tensor:
    return _zero_by_zero(scores, mask).nan_to_num()


def _a_little_added(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.softmax(-1) * mask
    return weights / (weights.sum(-1, keepdim=True) + 1e-9)


def _shared_out(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)


def _words() -> Tensor:
    """Return the mask of three sentences: of four words, of two words, of padding alone."""
    return torch.tensor([[True] * 4, [True] * 2 + [False] * 2, [False] * 4])[:, None]


def _padding_gets_zeros(weights_of: Callable[..., Tensor]) -> bool:
    weights = weights_of(random_vectors(3, 4, 4), _words())
    return is_close(weights[2], torch.zeros(4, 4))


def _hidden_get_no_weight(weights_of: Callable[..., Tensor]) -> bool:
    weights = weights_of(random_vectors(3, 4, 4), _words())
    hidden = weights.masked_select(~_words().expand_as(weights))
    return bool((hidden.nan_to_num() == 0).all())


def _rows_sum_to_one(weights_of: Callable[..., Tensor]) -> bool:
    weights = weights_of(random_vectors(3, 4, 4), _words())
    return is_close(weights[:2].sum(-1), torch.ones(2, 4))


def _gradients_are_finite(weights_of: Callable[..., Tensor]) -> bool:
    scores = random_vectors(3, 4, 4).requires_grad_()
    (weights_of(scores, _words()) * random_vectors(3, 4, 4, seed=1)).sum().backward()
    return scores.grad is not None and bool(scores.grad.isfinite().all())


def _with_large_padding(weights_of: Callable[..., Tensor]) -> Tensor:
    return weights_of(random_vectors(3, 4, 4).masked_fill(~_words(), 500.0), _words())


def _large_padding_is_ignored(weights_of: Callable[..., Tensor]) -> bool:
    quiet = weights_of(random_vectors(3, 4, 4), _words())
    return is_close(_with_large_padding(weights_of)[:2], quiet[:2])


EMPTY_ROW = HiddenTests(
    (
        Property(
            "hidden words get no weight",
            _hidden_get_no_weight,
            "A hidden word gets some weight. If every word of a row is hidden, softmax still distributes "
            "a weight of 1 among them: such a row must become zeros.",
        ),
        Property(
            "a sentence of padding gets zeros",
            _padding_gets_zeros,
            "The sentence of padding still gives NaN: its weights sum to 0, and 0 divided by 0 is NaN. "
            "Test first whether the row has a key that is not hidden.",
        ),
        Property("rows sum to one", _rows_sum_to_one, "A row with at least one allowed key must sum to 1."),
        Property(
            "gradients are finite",
            _gradients_are_finite,
            "The weights are right, but their gradients are NaN: you replaced the NaN after the division, "
            "and the gradient still passes through the division. Prevent the NaN instead.",
        ),
        Property(
            "padding with large scores changes no weight",
            _large_padding_is_ignored,
            "A hidden word with the score 500 takes all the weight before it is hidden, so the other "
            "weights are 0. Hide it before the softmax.",
        ),
    ),
    _safe_weights,
    (
        WrongAnswer("a sentence of padding gets zeros", _zero_by_zero),
        WrongAnswer(
            "a sentence of padding gets zeros",
            _masked,
            "You mask before the softmax, which is right. But for the sentence of padding, the softmax of "
            "−∞ alone is 0 divided by 0 again. Use a very low finite number instead, and then set the "
            "rows whose keys are all hidden to 0.",
        ),
        WrongAnswer("hidden words get no weight", _shared_out),
        WrongAnswer("gradients are finite", _nan_hidden),
        WrongAnswer("padding with large scores changes no weight", _a_little_added),
    ),
    "One sentence of padding no longer spoils the loss of its whole batch.",
    _with_large_padding,
)

# -- 6: the wrong argument -------------------------------------------------------------------------


def _future(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).triu(1)


def _causal(attention: nn.MultiheadAttention, x: Tensor) -> Tensor:
    return attention(x, x, x, attn_mask=_future(x.shape[1]))[0]


def _as_padding_mask(attention: nn.MultiheadAttention, x: Tensor) -> Tensor:
    return attention(x, x, x, key_padding_mask=_future(x.shape[1]))[0]


def _the_past_hidden(attention: nn.MultiheadAttention, x: Tensor) -> Tensor:
    return attention(x, x, x, attn_mask=~_future(x.shape[1]))[0]


def _no_mask(attention: nn.MultiheadAttention, x: Tensor) -> Tensor:
    return attention(x, x, x)[0]


def _itself_alone(attention: nn.MultiheadAttention, x: Tensor) -> Tensor:
    return attention(x, x, x, attn_mask=~torch.eye(x.shape[1], dtype=torch.bool))[0]


def _fixed_size(attention: nn.MultiheadAttention, x: Tensor) -> Tensor:
    return attention(x, x, x, attn_mask=_future(4))[0]


_Causal = Callable[[nn.MultiheadAttention, Tensor], Tensor]


def _attention() -> nn.MultiheadAttention:
    return build_module(nn.MultiheadAttention, 8, 2, batch_first=True)


def _sentences_are_alike(causal: _Causal) -> bool:
    x = random_vectors(1, 4, 8).expand(4, 4, 8)  # one sentence, four times
    output = causal(_attention(), x).nan_to_num()
    return is_close(output, output[:1].expand_as(output))


def _future_is_hidden(causal: _Causal) -> bool:
    attention = _attention()
    return no_leak(lambda x: causal(attention, x), random_vectors(4, 4, 8))


def _past_is_seen(causal: _Causal) -> bool:
    attention, x = _attention(), random_vectors(4, 4, 8)
    other = torch.cat([random_vectors(4, 1, 8, seed=1), x[:, 1:]], 1)
    before, after = causal(attention, x)[:, -1], causal(attention, other)[:, -1]
    return bool(before.isfinite().all()) and not is_close(before, after)


def _any_size(causal: _Causal) -> bool:
    return all(runs(causal, _attention(), random_vectors(*size, 8)) for size in ((2, 4), (3, 5), (1, 2)))


WRONG_SLOT = HiddenTests(
    (
        Property(
            "equal sentences get equal vectors",
            _sentences_are_alike,
            "The mask is still the wrong argument: key_padding_mask is [batch, key], so row 0 of the "
            "causal mask became the padding of sentence 0, row 1 that of sentence 1. It ran because there "
            "are as many sentences as words.",
        ),
        Property(
            "no leak from the future",
            _future_is_hidden,
            "An earlier output changes with a later word. In nn.MultiheadAttention True means “may not "
            "attend”: which words does your mask hide?",
        ),
        Property(
            "earlier words are attended to",
            _past_is_seen,
            "Later words do not leak, but the last word does not attend to the first one either. A causal "
            "mask hides only later words.",
        ),
        Property(
            "any batch, any length",
            _any_size,
            "It works for four sentences of four words, and fails for other sizes. The mask is as "
            "long as a sentence, whatever the batch.",
        ),
    ),
    _causal,
    (
        WrongAnswer("equal sentences get equal vectors", _as_padding_mask),
        WrongAnswer("no leak from the future", _the_past_hidden),
        WrongAnswer(
            "no leak from the future",
            _no_mask,
            "Without any mask every word attends to the whole sentence, later words too. The mask is "
            "right, but it must be another argument.",
        ),
        WrongAnswer("earlier words are attended to", _itself_alone),
        WrongAnswer("any batch, any length", _fixed_size),
    ),
    "attn_mask shows which query may attend to which key, and key_padding_mask which keys are padding.",
    lambda causal: causal(_attention(), random_vectors(4, 4, 8)),
)

# -- 7: the wrong padding --------------------------------------------------------------------------


def _masks(cross: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return a maker of the decoder's masks; `cross` makes that of cross-attention."""

    def decoder_masks(source_ids: Tensor, target_ids: Tensor, pad_id: int = 0) -> tuple[Tensor, Tensor]:
        causal = ~_future(target_ids.shape[1])  # [query, key]
        source, target = source_ids != pad_id, target_ids != pad_id
        return target[:, None, None] & causal, cross(source, target)

    return decoder_masks


def _two_batches(rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    longest = rng.integers(3, 6, size=2)
    longest[1] = longest[0] if rng.random() < 0.5 else longest[1]

    def batch(length: int) -> Tensor:
        ids = rng.integers(1, 9, size=(3, length))
        for row, n_words in zip(ids, rng.integers(1, length + 1, size=3), strict=True):
            row[n_words:] = 0
        return torch.from_numpy(ids)

    return batch(int(longest[0])), batch(int(longest[1]))


WHOSE_PADDING = Function(
    _masks(lambda source, target: source[:, None, None]),
    _two_batches,
    (
        Mistake(
            _masks(lambda source, target: target[:, None, None]),
            "The mask still comes from the target's padding. A mask hides keys. In cross-attention the "
            "queries are words of the target; of which sentence are the keys?",
        ),
        Mistake(
            _masks(lambda source, target: source[:, None, :, None]),
            "The mask comes from the right sentence, but [batch, 1, source, 1] hides queries. The keys "
            "are the last axis.",
        ),
        Mistake(
            _masks(lambda source, target: ~source[:, None, None]),
            "The mask comes from the right sentence, but it is inverted: here True means “may attend”.",
        ),
        Mistake(
            _masks(lambda source, target: source[:, None, None] & target[:, None, :, None]),
            "This also masks the rows of the target's padding. The loss leaves these rows out anyway, and "
            "with every key hidden they give NaN.",
        ),
    ),
    right="A padding mask is always made from the ids of the keys.",
)

# -- 8: source as target ---------------------------------------------------------------------------


class SmallDecoder(nn.Module):
    """A small decoder: it reads the whole source, and the target up to each position."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.words = nn.Parameter(random_vectors(12, 6, seed=seed))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return logits [batch, position, vocab]."""
        read = self.words[target].cumsum(1) + self.words[source].mean(1, keepdim=True)
        return read @ self.words.T


def _loss(logits: Tensor, wanted: Tensor, ignore: int = 0) -> Tensor:
    return F.cross_entropy(logits.transpose(1, 2), wanted, ignore_index=ignore)


def _next_word(model: nn.Module, source: Tensor, target: Tensor, pad_id: int = 0) -> Tensor:
    return _loss(model(source, target[:, :-1]), target[:, 1:], pad_id)


def _copies_the_source(model: nn.Module, source: Tensor, target: Tensor, pad_id: int = 0) -> Tensor:
    return _loss(model(source, source), source, pad_id)


def _reads_what_it_writes(model: nn.Module, source: Tensor, target: Tensor, pad_id: int = 0) -> Tensor:
    return _loss(model(source, target), target, pad_id)


def _backwards(model: nn.Module, source: Tensor, target: Tensor, pad_id: int = 0) -> Tensor:
    return _loss(model(source, target[:, 1:]), target[:, :-1], pad_id)


def _padding_counts(model: nn.Module, source: Tensor, target: Tensor, pad_id: int = 0) -> Tensor:
    return _loss(model(source, target[:, :-1]), target[:, 1:], -100)


def _model_and_pair(rng: np.random.Generator) -> tuple[nn.Module, Tensor, Tensor]:
    ids = rng.integers(3, 12, size=(2, 3, 6))
    source, target = torch.from_numpy(ids[0]), torch.from_numpy(ids[1])
    target[:, 0] = 1
    target[1, 4:] = 0
    return SmallDecoder(int(rng.integers(1000))), source, target


NEXT_WORD = Function(
    _next_word,
    _model_and_pair,
    (
        Mistake(
            _copies_the_source,
            "The source is still used twice: the decoder reads the words that it must predict, and the "
            "translation is not used at all. It learns to copy.",
        ),
        Mistake(
            _reads_what_it_writes,
            "The sentence is right now, but at each position the decoder reads the word that it must "
            "predict. Shift one of the two by one position.",
        ),
        Mistake(
            _backwards,
            "The shift has the wrong direction: the decoder reads a word and must predict the one before it.",
        ),
        Mistake(
            _padding_counts,
            "The loss counts padding as words to predict. Leave it out with ignore_index.",
        ),
    ),
    right="This is teacher forcing: each word is predicted from the right words before it.",
)

EXERCISES = (
    Exercise(
        "clinic.4",
        "Masked attention",
        POLARITY,
        (
            "Give it a mask that is True in the first column alone, and look at the weights.",
            "~mask exchanges True and False.",
        ),
        repairs={
            '    scores = scores.masked_fill(mask, float("-inf"))': (
                "    scores = scores.masked_fill(~mask, 0.0)",
                '    scores = scores.masked_fill(~mask, float("-inf"))',
                "",
            ),
            "    return scores.softmax(-1) @ value": ("    return (scores.softmax(-1) * mask) @ value",),
        },
    ),
    Exercise(
        "clinic.5",
        "Masked weights",
        EMPTY_ROW,
        (
            "Compute the third sentence by hand: its weights times its mask, their sum, and the quotient "
            "of the two.",
            "Before the softmax, fill a very low finite number, torch.finfo(scores.dtype).min, where the "
            "mask is False. Then multiply by mask.any(-1, keepdim=True) to set the rows without a key to "
            "0.",
        ),
        repairs={
            "    weights = scores.softmax(-1) * mask": (
                '    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)',
                "    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)",
            ),
            "    return weights / weights.sum(-1, keepdim=True)": (
                "    return (weights / weights.sum(-1, keepdim=True)).nan_to_num()",
                "    return weights * mask.any(-1, keepdim=True)",
                "    return weights / (weights.sum(-1, keepdim=True) + 1e-9)",
            ),
        },
    ),
    Exercise(
        "clinic.6",
        "Causal self-attention with torch",
        WRONG_SLOT,
        (
            "What are the axes of key_padding_mask, and what are those of attn_mask?",
            "The mask itself is right for this module. Only the name of the argument is wrong.",
        ),
        repairs={
            "    length = x.shape[1]": ("    length = x.shape[0]",),
            "    future = torch.ones(length, length, dtype=torch.bool).triu(1)": (
                "    future = torch.ones(length, length, dtype=torch.bool).tril()",
            ),
            "    output, _ = attention(x, x, x, key_padding_mask=future)": (
                "    output, _ = attention(x, x, x, attn_mask=~future)",
                "    output, _ = attention(x, x, x)",
                "    output, _ = attention(x, x, x, attn_mask=future)",
            ),
        },
    ),
    Exercise(
        "clinic.7",
        "Two masks for a decoder",
        WHOSE_PADDING,
        (
            "In cross-attention, which sentence do the queries come from, and which one the keys?",
            "The keys of cross-attention are the words of the source: [batch, 1, 1, source].",
        ),
        repairs={
            "    is_word = (target_ids != pad_id)[:, None, None]  # [batch, 1, 1, key]": (
                "    is_word = (source_ids != pad_id)[:, None, None]  # [batch, 1, 1, key]",
            ),
            "    return is_word & causal, is_word": (
                "    return is_word & causal, (source_ids == pad_id)[:, None, None]",
                "    return is_word & causal, (source_ids != pad_id)[:, None, :, None]",
                "    return is_word & causal, (source_ids != pad_id)[:, None, None]",
                "    return is_word & causal, (source_ids != pad_id)[:, None, None] & is_word.mT",
            ),
        },
    ),
    Exercise(
        "clinic.8",
        "A training loss",
        NEXT_WORD,
        (
            "What does the encoder read, what does the decoder read, and what must it predict?",
            "target[:, :-1] is the target without its last word, target[:, 1:] without its first.",
        ),
        repairs={
            "    logits = model(source, source)": (
                "    logits = model(source, target)",
                "    logits = model(source, target[:, 1:])",
                "    logits = model(source, target[:, :-1])",
            ),
            "    return F.cross_entropy(logits.transpose(1, 2), source, ignore_index=pad_id)": (
                "    return F.cross_entropy(logits.transpose(1, 2), target, ignore_index=pad_id)",
                "    return F.cross_entropy(logits.transpose(1, 2), target[:, 1:], ignore_index=pad_id)",
                "    return F.cross_entropy(logits.transpose(1, 2), target[:, 1:])",
                "    return F.cross_entropy(logits.transpose(1, 2), target[:, :-1], ignore_index=pad_id)",
            ),
        },
    ),
)
