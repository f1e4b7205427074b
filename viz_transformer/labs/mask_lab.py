"""The mask lab of a live translator: what leaks through a mask, and what each library makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from viz_transformer.errors import UserError
from viz_transformer.labs.mask_libraries import EAGER, LIBRARIES, HeadInputs, float32_bytes, run_library
from viz_transformer.model.attention import attend_fused
from viz_transformer.model.masks import causal_mask, padding_mask
from viz_transformer.model.threads import threads_for
from viz_transformer.translator import Translator, load_translator
from viz_transformer.vocabulary import Side
from viz_transformer.widgets.mask_lab.composition import MaskedBatch, MaskState, Words, compose
from viz_transformer.widgets.mask_lab.view import MaskLab

#: Two sentences that differ in length, in English and in Spanish: each kind has padding to hide.
SENTENCES = ("the black cat is very tired", "who sees the queen")
_EXTRA = 2  # padding tokens added, to see whether anything moves


def mask_lab(translator: Translator | None = None, sentences: Sequence[str] = SENTENCES) -> MaskLab:
    """Return a view to compose and paint masks, joined to libraries and a live translator.

    Args:
        translator: the model that the leak meter asks; by default the bundled one.
        sentences: a batch of sentences to translate, at least two, so that padding means something.

    Raises:
        UserError: if there are fewer than two sentences, or one cannot be translated.
    """
    if isinstance(sentences, str) or len(sentences) < 2:
        raise UserError(
            f"mask_lab was given {sentences!r:.60}, but needs a batch of at least two sentences, "
            "so that the shorter is padded; give a list such as ['the cat sleeps', 'i sleep']"
        )
    translator = load_translator() if translator is None else translator
    vocabulary = translator.vocabulary
    sources = [vocabulary.source_ids(text) for text in sentences]
    targets = [vocabulary.ids_of(translation.tokens) for translation in translator.translate_all(sentences)]
    words = {
        "source": [vocabulary.tokens_of(ids) for ids in sources],
        "target": [vocabulary.tokens_of([vocabulary.sos_id, *ids]) for ids in targets],
        "written": [vocabulary.tokens_of([*ids, vocabulary.eos_id]) for ids in targets],
    }
    return MaskLab(**words, answer=MaskTester(translator, words).answer)


class MaskTester:
    """The effect of a mask, measured in a live model and in the libraries.

    Args:
        translator: the model.
        words: the tokens of the batch, as `MaskLab.words`.
    """

    def __init__(self, translator: Translator, words: Words) -> None:
        self.model = translator.model
        self.vocabulary = translator.vocabulary
        self.words = words

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the effect of a mask.

        For ``"leaks"`` the reply holds ``changes``, float32 [batch, edited, query]: the largest change
        of a logit of a query's output (in the encoder: of a number of its vector) when one key is
        replaced by another word; ``longer``, the same [batch, query] when two padding tokens are
        added; and ``replacements``, the other word for each key.

        For ``"libraries"`` or ``"eager"`` it holds for each library the ``weights``
        [batch, query, key] and the ``output`` [batch, query, feature] that it gives for the same
        queries, keys and values: those of the model's first head.

        Arrays travel as little-endian float32 bytes in C order.

        Raises:
            UserError: if the request is none of these, or the sentences are too long.
        """
        state, asked = MaskState.of(request), request.get("ask")
        batch = compose(self.words, state)
        with torch.no_grad(), threads_for(self.model.config):
            if asked == "leaks":
                return self._leaks(state, batch)
            if asked in ("libraries", "eager"):
                head = self._first_head(state, batch)
                mask = torch.from_numpy(batch.mask)
                libraries = LIBRARIES if asked == "libraries" else EAGER
                return {"libraries": [run_library(each, head, mask) for each in libraries]}
        raise UserError(f"{asked!r} is not 'leaks', 'libraries' or 'eager'")

    def _leaks(self, state: MaskState, batch: MaskedBatch) -> dict[str, Any]:
        sources, targets = self._ids(batch.sources), self._ids(batch.targets)
        edited = targets if state.kind == "decoder" else sources
        n_sentences, n_keys = edited.shape
        english = state.kind != "decoder" or state.mistake == "source_as_target"
        others = self._replacements(edited, "source" if english else "target")
        # Row 0 of each sentence is unchanged; in row 1 + j its key j is another word. All rows go
        # through in one batch, so that equal numbers come out equal to the last bit.
        rows = edited[:, None].repeat(1, 1 + n_keys, 1)  # [batch, row, key]
        places = torch.arange(n_keys)
        rows[:, places + 1, places] = others
        rows = rows.flatten(0, 1)  # [batch * row, key]

        def repeated(x: Tensor) -> Tensor:
            return x.repeat_interleave(1 + n_keys, 0)

        masks = self._masks(state, batch, sources, targets)
        outputs = self._outputs(
            state.kind,
            sources=repeated(sources) if state.kind == "decoder" else rows,
            targets=rows if state.kind == "decoder" else repeated(targets),
            masks={kind: repeated(mask) for kind, mask in masks.items()},
        )
        outputs = outputs.unflatten(0, (n_sentences, 1 + n_keys))  # [batch, row, query, feature]
        changes = (outputs[:, 1:] - outputs[:, :1]).abs().amax(-1)  # [batch, edited, query]
        return {
            "shape": list(changes.shape),
            "changes": float32_bytes(changes),
            "replacements": [list(self.vocabulary.tokens_of(row)) for row in others.tolist()],
            **self._longer(state, outputs[:, 0]),
        }

    def _longer(self, state: MaskState, before: Tensor) -> dict[str, Any]:
        """Return the change that two more padding tokens make."""
        try:
            batch = compose(self.words, state, _EXTRA)
        except UserError as error:
            return {"longer": None, "refused": str(error)}
        sources, targets = self._ids(batch.sources), self._ids(batch.targets)
        masks = self._masks(state, batch, sources, targets)
        after = self._outputs(state.kind, sources, targets, masks)
        same = slice(_EXTRA, None) if state.side == "left" else slice(-_EXTRA)
        return {"longer": float32_bytes((after[:, same] - before).abs().amax(-1)), "refused": ""}

    def _correct_masks(self, sources: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Return the correct mask of each kind of attention."""
        source_mask = padding_mask(sources, self.vocabulary.pad_id)  # [batch, 1, 1, source]
        target_mask = padding_mask(targets, self.vocabulary.pad_id)  # [batch, 1, 1, target]
        return {
            "encoder": source_mask,
            "decoder": target_mask & causal_mask(targets.shape[1]),
            "cross": source_mask,
        }

    def _masks(
        self, state: MaskState, batch: MaskedBatch, sources: Tensor, targets: Tensor
    ) -> dict[str, Tensor]:
        """Return the composed mask for its kind of attention, and the correct ones for the others."""
        correct = self._correct_masks(sources, targets)
        return {**correct, state.kind: torch.from_numpy(batch.mask)}

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
        memory, _ = model.encoder(model.embed_source(sources), masks["encoder"], attention)
        if kind == "encoder":
            return memory
        x = model.embed_target(targets)
        x, _, _ = model.decoder(x, masks["decoder"], memory, masks["cross"], attention)
        return model.logits(x)  # [batch, target, vocab]

    def _first_head(self, state: MaskState, batch: MaskedBatch) -> HeadInputs:
        """Return queries, keys and values of head 0 in the first layer, under correct masks."""
        seen: list[HeadInputs] = []

        def attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Any:
            seen.append(HeadInputs(query[:, :1], key[:, :1], value[:, :1]))  # [batch, 1, …, d_head]
            return attend_fused(query, key, value, *rest)

        sources, targets = self._ids(batch.sources), self._ids(batch.targets)
        masks = self._correct_masks(sources, targets)
        self._outputs(state.kind, sources, targets, masks, attention)
        n_encoder = len(self.model.encoder.layers)
        return seen[{"encoder": 0, "decoder": n_encoder, "cross": n_encoder + 1}[state.kind]]

    def _replacements(self, ids: Tensor, side: Side) -> Tensor:
        """Return for each id another word of that side, the nearest by cosine similarity."""
        known = torch.tensor(self.vocabulary.ids_of(self.vocabulary.words(side)))
        own = side == "target" and self.model.config.has_target_embedding
        embedding = self.model.target_embedding if own else self.model.source_embedding
        unit = torch.nn.functional.normalize(embedding.weight, dim=-1)
        similarity = unit[ids] @ unit[known].T  # [batch, key, known]
        similarity[ids[..., None] == known] = -1  # another word than itself
        return known[similarity.argmax(-1)]

    def _ids(self, batch: Sequence[Sequence[str]]) -> Tensor:
        """Return ids [batch, position]."""
        longest = self.model.config.max_length - _EXTRA
        if len(batch[0]) > longest:
            raise UserError(
                f"the longest sentence has {len(batch[0])} tokens, and the leak meter reads at "
                f"most {longest} with this model; give shorter sentences"
            )
        return torch.tensor([self.vocabulary.ids_of(tokens) for tokens in batch])
