"""The causes' view: a grid of layers by positions or heads, in each of its pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from viz_transformer._work import between_parts
from viz_transformer.errors import UserError
from viz_transformer.trace import LogitAttribution, LogitLens, PatchingMap, running_text
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import Schema, listed, one_of, record, whole
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, check_index
from viz_transformer.widgets.base.view import Answer, View, sendable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The pictures, and those of them in which parts of one run are put into another.
PICTURES = ("positions", "heads", "lens", "direct")
PATCHED = PICTURES[:2]
#: How many cells of each grid are patched in a page without a model: those that bring back most.
_MOST_CARRIED = 24
_MOST_PATCHES = 64

_ABOUT = (
    "A grid of layers from left to right, by positions or by heads. Patching puts a part of the clean run "
    "into the corrupted run, and measures how much of the answer is restored. The lens turns each state "
    "into words as if it were the last one; direct attribution divides a logit among all heads. Each "
    "shows a part of a cause."
)


class Causes(View):
    """See what brings an answer back, what would be written after each layer, and what each head adds.

    What the viewer chooses is a trait, and setting the trait moves the view; all count from 0.
    ``vt.patch_lens`` makes one of a model, ``vt.explore_lens`` and ``vt.explore_attribution`` of what
    `vt.attribution` found.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> lens = vt.attribution.logit_lens(model.model, "el gato", tokenizer=model.vocabulary)
    >>> view = vt.explore_lens(lens)
    >>> view.layer, view.at = 1, 2

    Attributes:
        picture: ``"positions"``, ``"heads"``, ``"lens"`` or ``"direct"``: of those that the view has.
        patches: what is put from the clean run into the corrupted one, a list of ``{"layer", "at"}``: the
            position, or the head, in a layer.
        layer: the column of the chosen cell, or None.
        at: its row: a position, or a head.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)

    picture = traitlets.Unicode(help="positions, heads, lens or direct").tag(sync=True)
    patches = traitlets.List(traitlets.Dict(), help="what is patched").tag(sync=True)
    layer = Index(None, allow_none=True, help="column of the chosen cell, counted from 0").tag(sync=True)
    at = Index(None, allow_none=True, help="row of the chosen cell, counted from 0").tag(sync=True)
    text_size = TextSize()
    start = traitlets.Dict(help="both runs, what is measured, and the size of each grid").tag(
        sync=True, content=True
    )

    def __init__(
        self,
        start: Mapping[str, Any],
        find: Callable[[str], LogitLens | LogitAttribution],
        patch: Answer | None = None,
        patches: Sequence[Mapping[str, int]] = (),
    ) -> None:
        """Make a view.

        Args:
            start: ``sizes``, of each picture its columns and rows, the ``tokens``, and of two runs what both
                are; see `live`.
            find: given ``"lens"`` or ``"direct"``, returns that.
            patch: given ``{"what": "positions" or "heads", "layer"}``, returns under ``values`` the metric
                with each part of that layer patched; with ``"patches"`` in place of the layer, the metric
                under all of them at once (``value``), the likeliest ``words`` with their ``shares``, now and
                ``before``, and of positions how far the stream has ``moved``, float16 [layer + 1, position].
            patches: what is patched at first.
        """
        self._sizes: dict[str, list[int]] = dict(start["sizes"])
        self._find = find
        first = next(name for name in PICTURES if name in self._sizes)
        self._made_by = (
            "vt.patch_lens(model, clean, corrupted)"
            if patch
            else {"lens": "vt.explore_lens(lens)", "direct": "vt.explore_attribution(parts)"}[first]
        )
        super().__init__(
            answer=patch or (lambda request: {}),
            traits={"about": _ABOUT, "start": dict(start), "picture": first},
        )
        self.patches = [dict(each) for each in patches]

    def heading(self) -> str:
        """Return the text that was read, as a page is headed by it."""
        return running_text(self.start.get("clean", self.start)["tokens"])

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        place = record({"layer": whole(), "at": whole()})
        patched = [name for name in PATCHED if name in self._sizes]
        whole_ones = [name for name in self._sizes if name not in PATCHED]
        return (
            {"what": one_of(patched), "layer": whole()},
            {"what": one_of(patched), "patches": listed(place, _MOST_PATCHES)},
            {"what": one_of(whole_ones)},
        )

    def questions(self) -> list[dict[str, Any]]:
        """Return the requests for every grid, and for the patches that bring back most."""
        asked: list[dict[str, Any]] = []
        for name, (columns, _) in self._sizes.items():
            if name not in PATCHED:
                asked.append({"what": name})
                continue
            asked += [{"what": name, "layer": layer} for layer in range(columns)]
            back = np.abs(self.restored(name))
            strongest = np.argsort(-back, axis=None, kind="stable")[:_MOST_CARRIED]
            alone = [
                [{"layer": int(layer), "at": int(at)}]
                for layer, at in zip(*np.unravel_index(strongest, back.shape), strict=True)
            ]
            now = [self.patches] if name == self.picture and self.patches not in [[], *alone] else []
            asked += [{"what": name, "patches": patches} for patches in [*now, *alone]]
        return asked

    def restored(self, what: str = "positions") -> np.ndarray:
        """Return how much of the clean answer each part brings back, float64 [layer, position or head].

        Args:
            what: ``"positions"`` or ``"heads"``.

        Raises:
            UserError: if the view has no such picture.
        """
        return self._map(what).restored

    def figure(self) -> Figure:
        """Return what the view shows now as a matplotlib figure."""
        from viz_transformer.plots.attribution import plot_attribution, plot_logit_lens, plot_patching

        draw = {"lens": plot_logit_lens, "direct": plot_attribution}.get(self.picture, plot_patching)
        return draw(self._found()).figure  # type: ignore[operator]

    def alt_text(self) -> str:
        """Return what the view shows now in words."""
        from viz_transformer.plots.attribution import (
            describe_attribution,
            describe_logit_lens,
            describe_patching,
        )

        tell = {"lens": describe_logit_lens, "direct": describe_attribution}.get(
            self.picture, describe_patching
        )
        return tell(self._found())  # type: ignore[operator]

    def __repr__(self) -> str:
        """Return what is shown in short."""
        return f"Causes(picture={self.picture!r}, patches={self.patches})"

    def _found(self) -> PatchingMap | LogitLens | LogitAttribution:
        """Return what the picture shows, as `vt.attribution` returns it."""
        if self.picture in PATCHED:
            return self._map(self.picture)
        return self._find(self.picture)

    def _map(self, what: str) -> PatchingMap:
        if what not in PATCHED or what not in self._sizes:
            raise UserError(f"what={what!r}, but this view patches {[*set(PATCHED) & set(self._sizes)]}")
        columns = self._sizes[what][0]
        values = []
        for layer in range(columns):
            between_parts(f"Patching {what} of layer {layer + 1} of {columns}")
            values.append(self.answer({"what": what, "layer": layer})["values"])
        start = self.start
        return PatchingMap(
            what=what,
            kind=start["kinds"][what],
            values=np.array(values),
            clean=start["clean"]["value"],
            corrupted=start["corrupted"]["value"],
            metric=start["metric"],
            clean_tokens=tuple(start["clean"]["tokens"]),
            corrupted_tokens=tuple(start["corrupted"]["tokens"]),
        )

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request, as the page gets it.

        Raises:
            UserError: if it cannot be answered: the model adds no heads, a layer is not there.
        """
        what = request["what"]
        if what in PATCHED:
            return super().answer(request)
        found = self._find(what)
        return lens_reply(found) if isinstance(found, LogitLens) else direct_reply(found)

    @traitlets.validate("picture")
    def _check_picture(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in self._sizes:
            raise SelectionError(f"picture={proposal['value']!r}, but this view has {[*self._sizes]}")
        return proposal["value"]

    @traitlets.validate("patches")
    def _check_patches(self, proposal: dict[str, Any]) -> list[dict[str, int]]:
        given = proposal["value"]
        if given and self.picture not in PATCHED:
            raise SelectionError(f"patches={given!r:.60}, but no part is patched in picture={self.picture!r}")
        if len(given) > _MOST_PATCHES:
            raise SelectionError(f"patches holds {len(given)}; give at most {_MOST_PATCHES}")
        for each in given:
            if set(each) != {"layer", "at"} or each["layer"] is None or each["at"] is None:
                raise SelectionError(f'{dict(each)!r:.60} is no patch; give such as {{"layer": 1, "at": 2}}')
            for name, size in zip(("layer", "at"), self._sizes[self.picture], strict=True):
                check_index(name, each[name], size, owner="the grid has")
        unique = {(each["layer"], each["at"]) for each in given}
        return [{"layer": layer, "at": at} for layer, at in sorted(unique)]

    @traitlets.validate("layer", "at")
    def _check_place(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        columns, rows = self._sizes[self.picture]
        check_index(name, value, columns if name == "layer" else rows, owner="the grid has")
        return value

    @traitlets.observe("picture")
    def _fit_place(self, change: dict[str, Any]) -> None:
        if self._from_page or change["old"] not in self._sizes:
            return
        self.patches, self.layer, self.at = [], None, None


def lens_reply(lens: LogitLens) -> dict[str, Any]:
    """Return a lens as the page gets it."""
    return {
        "rows": [*lens.rows],
        "tokens": sendable(lens.tokens),
        "top": sendable(lens.top_tokens.ravel().tolist()),
        "probabilities": lens.top_probabilities.astype("<f4").tobytes(),
        "k": lens.top_tokens.shape[-1],
        "followed": sendable(lens.answers),
        "shares": lens.answer_probabilities.astype("<f4").tobytes(),
        "ranks": lens.answer_ranks.astype("<f4").tobytes(),
        "metric": lens.metric,
        "values": None if lens.values is None else lens.values.astype("<f4").tobytes(),
    }


def direct_reply(parts: LogitAttribution) -> dict[str, Any]:
    """Return the parts of a logit as the page gets them: rows are heads, and the last one networks."""
    attentions = [parts.heads, *([] if parts.cross_heads is None else [parts.cross_heads])]
    rows = [str(head) for head in range(parts.heads.shape[1])]
    cross = [] if parts.cross_heads is None else [f"cross {head}" for head in range(parts.heads.shape[1])]
    values = np.hstack([*attentions, parts.mlps[:, None]])  # [layer, heads of each attention + 1]
    return {
        "tokens": sendable(parts.tokens),
        "position": parts.position,
        "target": parts.target,
        "rows": [*rows, *cross, "network"],
        "values": values.astype("<f4").tobytes(),
        "embedding": parts.embedding,
        "bias": parts.bias,
        "logit": parts.logit,
    }


def explore_lens(lens: LogitLens) -> Causes:
    """Return a view of a logit lens: layers by positions, and at each place what would be written.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> text = "la vaca no cruzó la calle porque estaba"
    >>> lens = vt.attribution.logit_lens(model.model, text, tokenizer=model.vocabulary)
    >>> view = vt.explore_lens(lens)

    Args:
        lens: what `vt.attribution.logit_lens` returned.

    Raises:
        UserError: if it is none.
    """
    if not isinstance(lens, LogitLens):
        raise UserError(f"{lens!r:.40} is no lens; give what vt.attribution.logit_lens returns")
    sizes = {"lens": [len(lens.rows), len(lens.tokens)]}
    return Causes({"sizes": sizes, "tokens": sendable(lens.tokens)}, lambda _: lens)


def explore_attribution(parts: LogitAttribution) -> Causes:
    """Return a view of what each head adds to a logit: layers by heads.

    >>> import viz_transformer as vt
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import DecoderOnly
    >>> config = ModelConfig(family="decoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16, norm="pre")
    >>> parts = vt.attribution.direct_logit_attribution(DecoderOnly(config), [1, 5, 7])
    >>> view = vt.explore_attribution(parts)

    Args:
        parts: what `vt.attribution.direct_logit_attribution` returned.

    Raises:
        UserError: if it is none.
    """
    if not isinstance(parts, LogitAttribution):
        raise UserError(
            f"{parts!r:.40} is no attribution; give what vt.attribution.direct_logit_attribution returns"
        )
    sizes = {"direct": [len(parts.heads), len(direct_reply(parts)["rows"])]}
    return Causes({"sizes": sizes, "tokens": sendable(parts.tokens)}, lambda _: parts)
