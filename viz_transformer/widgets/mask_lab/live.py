"""The mask lab of a live model: what leaks through a mask, and what each library makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.language_model import LanguageModel
from viz_transformer.masked_model import MaskedModel
from viz_transformer.model import DecoderOnly, EncoderOnly
from viz_transformer.model.attention import attend_fused
from viz_transformer.model.mask_libraries import LIBRARIES, HeadInputs, float32_bytes, run_library
from viz_transformer.model.masks import causal_mask, padding_mask
from viz_transformer.model.threads import threads_for
from viz_transformer.trace import KINDS, ForwardTrace
from viz_transformer.translator import Translator, load_translator
from viz_transformer.vocabulary import Side
from viz_transformer.widgets.base.live import check_suits, give_engine
from viz_transformer.widgets.base.view import sendable
from viz_transformer.widgets.mask_lab.requests import ASKS
from viz_transformer.widgets.mask_lab.view import MaskLab, longest_sides

#: Two sentences that differ in length, in English and in Spanish: each kind has padding to hide.
SENTENCES = ("the black cat is very tired", "Maria sees the queen")
SPANISH_SENTENCES = ("el gato negro duerme", "la vaca come")
_SPARE = 2  # positions that the longer batch needs


def mask_lab(
    model: Translator | LanguageModel | MaskedModel | None = None,
    sentences: Sequence[str] | None = None,
    engine: str | None = None,
) -> MaskLab:
    """Return a view to paint and combine masks, tried out in libraries and in a live model.

    With a translator it opens without the look-ahead mask, at the word that leaks most.

    >>> import viz_transformer as vt
    >>> lab = vt.mask_lab(sentences=["the cat sleeps", "the black cat sleeps near the house"])
    >>> type(lab).__name__
    'MaskLab'

    Args:
        model: the model that the leak meter asks; by default the bundled translator. Of a language
            model the view shows the decoder's masks, of a masked language model the encoder's.
        sentences: a batch of sentences that the model translates or reads, at least two, so that
            padding means something.
        engine: what measures the leaks: ``"page"``, ``"kernel"``, or None for the page if it can.

    Raises:
        UserError: if there are fewer than two sentences, one does not suit the model, or the page
            cannot compute with it.
    """
    model = load_translator() if model is None else model
    check_suits(model, ("translate", "continue", "fill"), "a mask lab")
    if sentences is None:
        sentences = SENTENCES if model.task == "translate" else SPANISH_SENTENCES
    if isinstance(sentences, str) or len(sentences) < 2:
        raise UserError(
            f"mask_lab was given {sentences!r:.60}, but needs a batch of at least two sentences, "
            "so that the shorter is padded; give a list such as ['the cat sleeps', 'i sleep']"
        )
    words = batch_words([model.trace(each) for each in sentences])
    view = MaskLab(**words, kinds=tuple(model.config.attention_layers), answer=MaskTester(model).answer)
    if model.task == "translate":
        view.causal = False  # what a look-ahead mask is for is seen without one
        with suppress(UserError):  # sentences too long to be measured, which the view explains
            view.select_leak()
    return give_engine(view, "mask_lab", model, engine)


def batch_words(traces: Sequence[ForwardTrace]) -> dict[str, list[tuple[str, ...]]]:
    """Return the tokens that the encoder reads, that the decoder reads, and that it writes.

    A side that the model lacks has those of the other; the view shows no mask over it.

    Args:
        traces: what a model makes of each sentence.
    """
    return {
        "source": [each.source_tokens or each.output_tokens or () for each in traces],
        "target": [each.target_tokens or each.source_tokens for each in traces],
        "written": [each.output_tokens or each.source_tokens for each in traces],
    }


def batch_traits(traces: Sequence[ForwardTrace]) -> dict[str, Any]:
    """Return the traits of a mask lab that show another batch: all its words, and nothing chosen in them.

    Args:
        traces: what a model makes of each sentence.
    """
    words = {name: [sendable(tokens) for tokens in each] for name, each in batch_words(traces).items()}
    nothing: dict[str, Any] = {"painted": [], "sentence": 0, "query": None, "key": None, "edited": 0}
    return {"words": words, "lengths": longest_sides(words), **nothing}


class Batch(NamedTuple):
    """Padded sentences and the mask over them, as a request holds them.

    Attributes:
        sources: what the encoder reads, ids [batch, source].
        targets: what the decoder reads, ids [batch, target].
        mask: bool [batch, 1, query, key], True = may attend.
    """

    sources: Tensor
    targets: Tensor
    mask: Tensor


class MaskTester:
    """The effect of a mask, measured in a live model and in the libraries.

    >>> import viz_transformer as vt
    >>> tester = vt.MaskTester(vt.load_translator())

    Args:
        model: in which the masks are tried.
    """

    def __init__(self, model: Translator | LanguageModel | MaskedModel) -> None:
        self.model = model.model
        self.vocabulary = model.vocabulary

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the effect of a mask; see `widgets.mask_lab.requests`.

        For ``"leaks"`` the reply holds ``changes``, float32 [batch, edited, query]: the largest change
        of a logit of a query's output (in the encoder: of a number of its vector) when one key is
        replaced by another word; ``longer``, the same [batch, query] in the longer batch, or None;
        ``replacements``, the other word for each key; and ``writes``: the likeliest ``words`` of each
        output with this mask and with the right masks, for each mask, sentence and query, and their
        ``shares``, or None in the encoder.

        For ``"formulas"``, ``"libraries"`` or ``"eager"`` it holds for each way to compute attention
        the ``weights`` [batch, query, key] and the ``output`` [batch, query, feature] that it gives for
        the same queries, keys and values: those of the model's first head.

        Arrays travel as little-endian float32 bytes in C order.

        Raises:
            UserError: if the request is none of these, or the sentences are too long.
        """
        asked, kind = request.get("ask"), request.get("kind")
        if asked not in ASKS:
            raise UserError(f"{asked!r} is none of {', '.join(map(repr, ASKS))}")
        kinds = self.model.config.attention_layers
        if kind not in kinds:
            raise UserError(f"kind={kind!r} is none of {list(kinds)}, which this model has")
        batch = self._batch(kind, request.get("batch"))
        self._check_length(batch)
        with torch.no_grad(), threads_for(self.model.config):
            if asked == "leaks":
                return self._leaks(kind, batch, request)
            head = self._first_head(kind, batch)
            return {"libraries": [run_library(each, head, batch.mask) for each in LIBRARIES[asked]]}

    def _leaks(self, kind: str, batch: Batch, request: dict[str, Any]) -> dict[str, Any]:
        edited = batch.targets if kind == "decoder" else batch.sources
        n_sentences, n_keys = edited.shape
        others = self._replacements(edited, request["vocabulary"])
        # Row 0 of each sentence is unchanged; in row 1 + j its key j is another word. All rows go
        # through in one batch, so that equal numbers come out equal to the last bit.
        rows = edited[:, None].repeat(1, 1 + n_keys, 1)  # [batch, row, key]
        places = torch.arange(n_keys)
        rows[:, places + 1, places] = others
        rows = rows.flatten(0, 1)  # [batch * row, key]

        def repeated(x: Tensor) -> Tensor:
            return x.repeat_interleave(1 + n_keys, 0)

        outputs = self._outputs(
            kind,
            sources=repeated(batch.sources) if kind == "decoder" else rows,
            targets=rows if kind == "decoder" else repeated(batch.targets),
            masks={name: repeated(mask) for name, mask in self._masks(kind, batch).items()},
        )
        outputs = outputs.unflatten(0, (n_sentences, 1 + n_keys))  # [batch, row, query, feature]
        changes = (outputs[:, 1:] - outputs[:, :1]).abs().amax(-1)  # [batch, edited, query]
        longer = request["longer"]
        return {
            "shape": list(changes.shape),
            "changes": float32_bytes(changes),
            "replacements": [list(self.vocabulary.tokens_of(row)) for row in others.tolist()],
            "writes": None if kind == "encoder" else self._writes(kind, batch, outputs[:, 0]),
            "longer": None if longer is None else self._longer(kind, longer, outputs[:, 0]),
        }

    def _writes(self, kind: str, batch: Batch, logits: Tensor) -> dict[str, Any]:
        """Return the likeliest word of each output with the mask, and with the right masks."""
        right = self._outputs(kind, batch.sources, batch.targets, self._correct_masks(batch))
        shares, ids = torch.stack([logits, right]).softmax(-1).max(-1)  # [mask, batch, query]
        words = [[list(self.vocabulary.tokens_of(row)) for row in each] for each in ids.tolist()]
        return {"words": words, "shares": float32_bytes(shares)}

    def _longer(self, kind: str, longer: dict[str, Any], before: Tensor) -> bytes:
        """Return the change that more padding makes to the outputs before.

        Raises:
            UserError: if the longer batch does not hold the one before.
        """
        batch, first = self._batch(kind, longer), longer["first"]
        after = self._outputs(kind, batch.sources, batch.targets, self._masks(kind, batch))
        after = after[:, first : first + before.shape[1]]  # [batch, query, feature]
        if after.shape != before.shape:
            raise UserError(
                f"the longer batch holds {len(after)} × {after.shape[1]} of the {len(before)} × "
                f"{before.shape[1]} tokens; give the same sentences, longer, and where their tokens begin"
            )
        return float32_bytes((after - before).abs().amax(-1))

    def _correct_masks(self, batch: Batch) -> dict[str, Tensor]:
        """Return the correct mask of each kind of attention."""
        source_mask = padding_mask(batch.sources, self.vocabulary.pad_id)  # [batch, 1, 1, source]
        target_mask = padding_mask(batch.targets, self.vocabulary.pad_id)  # [batch, 1, 1, target]
        return {
            "encoder": source_mask,
            "decoder": target_mask & causal_mask(batch.targets.shape[1]),
            "cross": source_mask,
        }

    def _masks(self, kind: str, batch: Batch) -> dict[str, Tensor]:
        """Return the batch's mask for its kind of attention, and the correct ones for the others."""
        return {**self._correct_masks(batch), kind: batch.mask}

    def _outputs(
        self,
        kind: str,
        sources: Tensor,
        targets: Tensor,
        masks: dict[str, Tensor],
        attention: Callable = attend_fused,
    ) -> Tensor:
        """Run the model with these masks; return logits, or for the encoder its vectors."""
        model = self.model
        if isinstance(model, EncoderOnly):
            return model.encoder(model.embed(sources), masks["encoder"], attention)[0]
        if isinstance(model, DecoderOnly):
            x, _ = model.decoder(model.embed_target(targets), masks["decoder"], attention)
            return model.logits(x)  # [batch, target, vocab]
        memory, _ = model.encoder(model.embed_source(sources), masks["encoder"], attention)
        if kind == "encoder":
            return memory
        x = model.embed_target(targets)
        x, _, _ = model.decoder(x, masks["decoder"], memory, masks["cross"], attention)
        return model.logits(x)  # [batch, target, vocab]

    def _first_head(self, kind: str, batch: Batch) -> HeadInputs:
        """Return queries, keys and values of head 0 in the first layer, under correct masks."""
        seen: list[HeadInputs] = []

        def attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Any:
            seen.append(HeadInputs(query[:, :1], key[:, :1], value[:, :1]))  # [batch, 1, …, d_head]
            return attend_fused(query, key, value, *rest)

        self._outputs(kind, batch.sources, batch.targets, self._correct_masks(batch), attention)
        n_encoder = self.model.config.n_encoder_layers
        return seen[{"encoder": 0, "decoder": n_encoder, "cross": n_encoder + 1}[kind]]

    def _replacements(self, ids: Tensor, side: Side) -> Tensor:
        """Return for each id another word of that side, the nearest by cosine similarity."""
        known = torch.tensor(self.vocabulary.ids_of(self.vocabulary.words(side)))
        embedding = self._embedding(side)
        unit = torch.nn.functional.normalize(embedding.weight, dim=-1)
        similarity = unit[ids] @ unit[known].T  # [batch, key, known]
        similarity[ids[..., None] == known] = -1  # another word than itself
        return known[similarity.argmax(-1)]

    def _embedding(self, side: Side) -> nn.Embedding:
        """Return the embedding of one side's words."""
        if isinstance(self.model, EncoderOnly):
            return self.model.embedding.words
        if isinstance(self.model, DecoderOnly) or side == "target":
            return self.model.target_words
        return self.model.source_embedding

    def _batch(self, kind: str, given: Any) -> Batch:
        """Return the ids and the mask of a batch of tokens."""
        if not _is_batch(kind, given):
            raise UserError(
                f"{given!r:.80} is not a batch; give sources and targets as padded rows of known tokens, "
                "and a mask [batch][query][key]"
            )
        sources, targets = (
            torch.tensor([self.vocabulary.ids_of(tokens) for tokens in given[side]])
            for side in ("sources", "targets")
        )
        return Batch(sources, targets, torch.tensor(given["mask"]).bool()[:, None])

    def _check_length(self, batch: Batch) -> None:
        """Check that there is room for the sentences, and for two more padding tokens."""
        length = max(batch.sources.shape[1], batch.targets.shape[1])
        longest = self.model.config.max_length - _SPARE
        if length > longest:
            raise UserError(
                f"the longest sentence has {length} tokens, and the leak meter reads at "
                f"most {longest} with this model; give shorter sentences"
            )


def _is_batch(kind: str, given: Any) -> bool:
    """Return whether there are as many tokens in each row, and a mask over them."""
    try:
        shapes = {side: np.shape(given[f"{side}s"]) for side in ("source", "target")}
        n_sentences = len(given["mask"])
        wanted = (n_sentences, shapes[KINDS[kind].query][1], shapes[KINDS[kind].key][1])
        return np.shape(given["mask"]) == wanted and all(
            len(shape) == 2 and shape[0] == n_sentences for shape in shapes.values()
        )
    except (KeyError, IndexError, TypeError, ValueError):
        return False
