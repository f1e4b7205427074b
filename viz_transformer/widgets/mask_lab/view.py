"""The mask lab: a mask composed from parts or painted, and what leaks through it in a live model."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import TEXT, Schema, listed, one_of, or_none, record, whole
from viz_transformer.widgets.base.shares import PAIR, Shares
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, Unfolded, check_index
from viz_transformer.widgets.base.view import Answer, View, sendable
from viz_transformer.widgets.mask_lab.composition import (
    MISTAKES,
    PAD,
    SIDES,
    STATE,
    MaskedBatch,
    MaskState,
    compose,
)
from viz_transformer.widgets.mask_lab.requests import ASKS, mask_request

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POLARITIES = ("may", "may_not", "additive")
EDITS = ("word", "padding")
_ABOUT = (
    "Each row is a query, the word that attends, and each column a key, a word to attend to. The mask "
    "hides the hatched cells. Change one word, and the leak meter shows which outputs of a live model "
    "move: a word that the mask hides must not move them."
)
#: A smaller change is float32's rounding and no leak; leaks.ts has the same number.
UNMOVED = 1e-4
#: The presets with a mistake; an exported page carries their replies too, see `questions`.
_MISTAKEN_PRESETS = (
    {"kind": "decoder", "causal": True, "mistake": "inverted"},
    {"kind": "decoder", "padding": False, "causal": True, "mistake": "causal_as_padding"},
    {"kind": "cross", "causal": False, "mistake": "target_padding"},
    {"kind": "decoder", "causal": False, "mistake": "source_as_target"},
    {"kind": "decoder", "causal": True, "mistake": "source_as_target"},
)


class MaskLab(View):
    """Compose padding, causal and cross masks, paint cells, and see what leaks.

    What the viewer chooses is a trait; setting it moves the view. Positions count from 0.

    >>> import viz_transformer as vt
    >>> lab = vt.mask_lab()
    >>> lab.kind, lab.mistake = "encoder", "inverted"

    Attributes:
        kind: ``"encoder"``, ``"decoder"`` (self-attention) or ``"cross"``, of those in `kinds`.
        side: where the padding is, ``"right"`` or ``"left"`` of the words.
        padding: whether the mask hides padding.
        causal: whether the mask hides what comes later.
        mistake: ``"none"``; ``"inverted"``: True and False exchanged; ``"causal_as_padding"``: the
            look-ahead mask given as a padding mask, to a batch as long as its sentences;
            ``"target_padding"``: cross-attention with the padding of the target; or
            ``"source_as_target"``: the decoder reads the very words that it has to write.
        lengths: tokens kept of each sentence; the rest becomes padding.
        painted: cells set by hand, a list of [sentence, query, key, may attend]; cells outside
            the mask are ignored.
        polarity: how the cells are written: ``"may"``: True = may attend, as here and in
            F.scaled_dot_product_attention; ``"may_not"``: True = may not, as in
            nn.MultiheadAttention; ``"additive"``: 0 and −inf.
        sentence: which of the batch is shown.
        query: row of the chosen cell, or None.
        key: column of the chosen cell, or None.
        edit: what the leak meter changes, ``"word"`` or ``"padding"``: two more padding tokens.
        edited: position of the key whose word is changed.
        unfolded: the open panels, of ``"shapes"``, ``"code"`` and ``"libraries"``.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.

    Setting one of them to an invalid value raises SelectionError and leaves the view unchanged.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.mask_lab(model)"
    _call_sets = ("causal", "query", "key", "edited")
    shares = Shares({"kind": "kind", **PAIR}, where={"sentence": 0, "side": "right"})

    words = traitlets.Dict(help="tokens of the batch: source, target (read) and written").tag(
        sync=True, content=True
    )
    kinds = traitlets.List(traitlets.Unicode(), list(KINDS), help="kinds of attention that there are").tag(
        sync=True, content=True
    )
    kind = traitlets.Unicode("decoder", help="encoder, decoder or cross").tag(sync=True)
    side = traitlets.Unicode("right", help="where the padding is, right or left").tag(sync=True)
    padding = traitlets.Bool(True, help="hide padding").tag(sync=True)
    causal = traitlets.Bool(True, help="hide what comes later").tag(sync=True)
    mistake = traitlets.Unicode("none", help="a mistake to look at").tag(sync=True)
    lengths: traitlets.List[int] = traitlets.List(help="tokens kept of each sentence").tag(sync=True)
    painted: traitlets.List[list[Any]] = traitlets.List(help="cells set by hand").tag(sync=True)
    polarity = traitlets.Unicode("may", help="may, may_not or additive").tag(sync=True)
    sentence = Index(help="sentence shown, counted from 0").tag(sync=True)
    query = Index(None, allow_none=True, help="chosen query, counted from 0").tag(sync=True)
    key = Index(None, allow_none=True, help="chosen key, counted from 0").tag(sync=True)
    edit = traitlets.Unicode("word", help="word or padding").tag(sync=True)
    edited = Index(help="key whose word is changed, counted from 0").tag(sync=True)
    unfolded = Unfolded("shapes", "code", "libraries")
    text_size = TextSize()

    def __init__(
        self,
        source: Sequence[Sequence[str]],
        target: Sequence[Sequence[str]],
        written: Sequence[Sequence[str]],
        *,
        kinds: Sequence[str] = tuple(KINDS),
        answer: Answer | None = None,
    ) -> None:
        """Make a view of a batch; `vt.mask_lab` makes one with a live model.

        Args:
            source: tokens that the encoder reads, for each sentence, without padding.
            target: tokens that the decoder reads.
            written: tokens that it writes, as many as it reads.
            kinds: the kinds of attention that the model has; of others no mask is shown.
            answer: the function that answers requests, such as `vt.MaskTester.answer`.

        Raises:
            UserError: if the sentences do not match, or one is empty.
        """
        words = {
            name: [sendable(tokens) for tokens in each]
            for name, each in (("source", source), ("target", target), ("written", written))
        }
        sizes = {name: [len(tokens) for tokens in each] for name, each in words.items()}
        if (
            sizes["target"] != sizes["written"]
            or len(sizes["source"]) != len(sizes["target"])
            or not all(itertools.chain([sizes["source"]], *sizes.values()))
        ):
            raise UserError(
                f"the sentences have {sizes['source']} tokens to read, {sizes['target']} of the "
                f"target to read and {sizes['written']} to write; give each sentence at least one "
                "of each, and as many to write as the decoder reads"
            )
        first: dict[str, Any] = {
            "words": words,
            "lengths": longest_sides(words),
            "about": _ABOUT,
            "kinds": list(kinds),
        }
        if "decoder" not in kinds:
            first |= {"kind": kinds[0], "causal": False}
        super().__init__(
            answer=answer, traits={"about": _ABOUT, **first, "edited": len(words["target"][0]) // 2}
        )

    @property
    def state(self) -> MaskState:
        """The parts of the mask."""
        return MaskState.of({name: getattr(self, name) for name in STATE})

    @property
    def batch(self) -> MaskedBatch:
        """The padded words and the mask, as they are on screen."""
        return compose(self.words, self.state)

    @property
    def mask(self) -> np.ndarray:
        """The mask on screen, bool [batch, 1, query, key], True = may attend, for `attend`.

        Setting it paints the cells that differ from what the parts make.

        Raises:
            UserError: if what is set is not boolean, or does not broadcast to this shape.
        """
        return self.batch.mask

    @mask.setter
    def mask(self, mask: Any) -> None:
        unpainted = {**self.state.settings(), "painted": ()}
        plain = compose(self.words, MaskState.of(unpainted)).mask
        given = np.asarray(mask)
        fits = given.ndim == 4 and all(
            have in (1, want) for have, want in zip(given.shape, plain.shape, strict=True)
        )
        if given.dtype != bool or not fits:
            raise UserError(
                f"the mask given is {given.dtype} of shape {list(given.shape)}, but here it is "
                f"bool {list(plain.shape)}, [batch, 1, query, key], or of length 1 on some axes; "
                "compare to make one, and give it its missing axes, such as mask[:, None]"
            )
        wanted = np.broadcast_to(given, plain.shape)
        cells = np.argwhere(wanted != plain)  # [cell, axis]
        self.painted = [[int(b), int(q), int(k), bool(wanted[b, 0, q, k])] for b, _, q, k in cells]

    def measure(self) -> dict[str, Any]:
        """Return what leaks through the mask on screen, measured in the live model.

        Returns:
            ``changes`` [batch, edited, query]: the largest change of an output when a key becomes
            another word; ``longer`` [batch, query]: the same when two padding tokens are added, or
            None if the mask would then be refused; ``allowed`` bool [batch, query, key]: which
            output may depend on which key; ``replacements[batch][key]``: the other words.

        Raises:
            UserError: if there is no live model, or it refuses the request.
        """
        reply = self.answer(mask_request(self.words, self.state, "leaks"))
        changes = np.frombuffer(reply["changes"], "<f4").reshape(reply["shape"])
        longer = reply["longer"]
        if longer is not None:
            longer = np.frombuffer(longer, "<f4").reshape(changes.shape[0], changes.shape[2])
        return {
            "changes": changes,
            "longer": longer,
            "allowed": self.batch.allowed,
            "replacements": reply["replacements"],
        }

    def select_leak(self) -> None:
        """Select the token that leaks to most outputs, of equals a word, then the one that moves them most.

        Raises:
            UserError: if there is no live model, or it refuses the request.
        """
        changes, batch = self.measure()["changes"], self.batch
        leaks = (changes >= UNMOVED) & batch.real[:, None] & ~batch.allowed.swapaxes(1, 2)
        moved = np.where(leaks, changes, 0)  # [batch, edited, query]
        if leaks.any():
            words = [[token != PAD for token in row] for row in batch.keys]
            rank = np.lexsort([each.ravel() for each in (moved.max(-1), np.array(words), leaks.sum(-1))])
            b, key = map(int, np.unravel_index(rank[-1], leaks.shape[:2]))
            self.sentence, self.edited, self.edit = b, key, "word"
            self.query, self.key = int(moved[b, key].argmax()), key

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        rows = listed(listed(TEXT, 200), 50)
        cell = listed(listed(listed(one_of([0, 1]), 200), 200), 50)
        batch = {"sources": rows, "targets": rows, "mask": cell}
        asked = {"kind": one_of(self.kinds), "batch": record(batch)}
        longer = or_none(record({**batch, "first": whole(0, 200)}))
        return (
            {"ask": one_of(["leaks"]), **asked, "vocabulary": one_of(["source", "target"]), "longer": longer},
            {"ask": one_of(ASKS[1:]), **asked},
        )

    def questions(self) -> list[dict[str, Any]]:
        """Return the requests of every preset, and of each part on or off.

        In a page without an engine, other painted cells and shortened sentences have no reply.
        """
        lengths = {"lengths": list(self.lengths)}
        usual = {"side": "right", "padding": True, "mistake": "none", "painted": [], **lengths}
        states = [self.state.settings()]
        for kind, side, padding, causal in itertools.product(self.kinds, SIDES, (True, False), (True, False)):
            parts = {"kind": kind, "side": side, "padding": padding, "causal": causal}
            states.append({**usual, **parts})
        states += [{**usual, **preset} for preset in _MISTAKEN_PRESETS if preset["kind"] in self.kinds]
        distinct = [state for i, state in enumerate(states) if state not in states[:i]]
        requests: list[dict[str, Any]] = []
        for state in map(MaskState.of, distinct):
            asked = ["leaks", "formulas", "libraries"]
            if not compose(self.words, state).mask.any(-1).all():
                asked.append("eager")  # it differs in fully masked rows alone
            requests += [mask_request(self.words, state, ask) for ask in asked]
        return requests

    def python_questions(self) -> list[dict[str, Any]]:
        """Return the requests about what torch and Hugging Face make of the presets."""
        return [each for each in self.questions() if each["ask"] in ("libraries", "eager")]

    def figure(self) -> Figure:
        """Return the mask on screen, and what leaks if there is a model, as a figure."""
        from viz_transformer.plots.masks import plot_mask_lab

        batch, sentence = self.batch, self.sentence
        leaks = None
        if self.live:
            measured = self.measure()
            rows = measured["longer"] if self.edit == "padding" else measured["changes"]
            if rows is not None:
                moved = rows[sentence] if self.edit == "padding" else rows[sentence, self.edited]
                leaks = {
                    "changes": moved,
                    "allowed": self._may_move(batch),
                    "real": batch.real[sentence],
                    "change": self._edit_in_words(measured["replacements"]),
                }
        return plot_mask_lab(
            batch.mask[sentence, 0],
            batch.queries[sentence],
            batch.keys[sentence],
            polarity=self.polarity,
            leaks=leaks,
            alt_text=self.alt_text(),
        )

    def alt_text(self) -> str:
        """Return the mask in words: its parts, how many cells are masked, and fully masked rows."""
        batch = self.batch
        mask = batch.mask[self.sentence, 0]  # [query, key]
        parts = [
            *(["padding"] if self.padding else []),
            *(["causal"] if self.causal else []),
            *([] if self.mistake == "none" else [f"mistake {self.mistake!r}"]),
            *(["painted cells"] if self.painted else []),
        ]
        empty = [f"{batch.queries[self.sentence][i]} ({i})" for i in np.flatnonzero(~mask.any(-1))]
        return (
            f"Mask of {self.kind} attention for sentence {self.sentence}, made of "
            f"{', '.join(parts) or 'no part'}: {mask.shape[0]} queries, {mask.shape[1]} keys, "
            f"{int((~mask).sum())} of {mask.size} cells masked (hatched). "
            + (f"May attend to nothing: {', '.join(empty)}." if empty else "Every row has a key.")
        )

    def _may_move(self, batch: MaskedBatch) -> np.ndarray:
        """Return bool [query]: which outputs may move with the edit chosen."""
        if self.edit == "padding":
            # Padding on the left shifts each word to another position, which no mask can hide.
            return np.full_like(batch.real[self.sentence], self.side == "left")
        return batch.allowed[self.sentence, :, self.edited]

    def _edit_in_words(self, replacements: list[list[str]]) -> str:
        if self.edit == "padding":
            return "two more padding tokens"
        word = self.batch.keys[self.sentence][self.edited]
        return f"{word} becomes {replacements[self.sentence][self.edited]}"

    def _sizes(self) -> dict[str, int]:
        sentences, _, queries, keys = self.mask.shape
        return {"sentence": sentences, "query": queries, "key": keys, "edited": keys}

    @traitlets.validate("kind", "side", "mistake", "polarity", "edit")
    def _check_name(self, proposal: dict[str, Any]) -> str:
        name, value = proposal["trait"].name, proposal["value"]
        known = {
            "kind": self.kinds,
            "side": SIDES,
            "mistake": MISTAKES,
            "polarity": POLARITIES,
            "edit": EDITS,
        }[name]
        if value not in known:
            raise SelectionError(f"{name}={value!r} is none of {list(known)}")
        return value

    @traitlets.validate("lengths")
    def _check_lengths(self, proposal: dict[str, Any]) -> list[int]:
        lengths = list(proposal["value"])
        longest = longest_sides(self.words)
        fits = len(lengths) == len(longest) and all(
            isinstance(length, int | np.integer) and 1 <= length <= most
            for length, most in zip(lengths, longest, strict=False)
        )
        if not fits:
            raise SelectionError(
                f"lengths={lengths}, but the sentences have {longest} tokens; give as many "
                "lengths, each from 1 to that"
            )
        return [int(length) for length in lengths]

    @traitlets.validate("painted")
    def _check_painted(self, proposal: dict[str, Any]) -> list[list[Any]]:
        try:
            cells = [(int(b), int(q), int(k), bool(may)) for b, q, k, may in proposal["value"]]
        except (TypeError, ValueError) as error:
            raise SelectionError(
                f"painted={proposal['value']!r:.60} is no list of [sentence, query, key, may]"
            ) from error
        if any(min(cell) < 0 for cell in cells):
            raise SelectionError(f"painted={cells!r:.60} holds a place below 0; count from 0")
        return [list(cell) for cell in cells]

    @traitlets.validate("sentence", "query", "key", "edited")
    def _check_index(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        check_index(name, value, self._sizes()[name], owner="this mask has")
        return value

    @traitlets.observe("words", "kind", "side", "mistake", "lengths")
    def _on_state(self, change: dict[str, Any]) -> None:
        if change["old"] in ("", [], {}, traitlets.Undefined):
            return
        sizes = self._sizes()
        with self.hold_sync(), self.hold_trait_notifications():
            for name in ("query", "key"):
                if (getattr(self, name) or 0) >= sizes[name]:
                    setattr(self, name, None)
            for name in ("sentence", "edited"):
                setattr(self, name, min(getattr(self, name), sizes[name] - 1))


def longest_sides(words: Mapping[str, Sequence[Sequence[str]]]) -> list[int]:
    """Return the tokens of each sentence, on its longer side."""
    return [max(map(len, pair)) for pair in zip(words["source"], words["target"], strict=True)]
