"""The architecture's view: a model's boxes, and the numbers in them at each step of a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from viz_transformer.errors import UserError
from viz_transformer.widgets.architecture.steps import Step, n_rows, steps_of
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import TEXT, Schema, one_of, whole
from viz_transformer.widgets.base.shares import Shares
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, check_index
from viz_transformer.widgets.base.view import Answer, View, sendable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: From the whole model to one head.
DEPTHS = ("model", "layer", "block", "head")
#: More steps than any sentence has: the last.
_END = 1_000_000
_ABOUT = (
    "Each lane is a word, and it flows from left to right through every part of the model. A strip is "
    "the word's vector after a part: brown below 0, green above. Arcs show which words it attends to. "
    "Click a layer to go into it, then one of its attentions and heads; Escape comes back. Space plays, and "
    "the arrow keys go step by step or to another word."
)


class Architecture(View):
    """A whole Transformer in one picture, with a sentence flowing through it.

    What the viewer chooses is a trait, and setting the trait moves the view.
    ``vt.architecture(model, text)`` makes one.

    >>> import viz_transformer as vt
    >>> view = vt.architecture(vt.load_translator(), "the black cat sleeps")
    >>> view.step, view.head = 3, 1
    >>> view.box
    'encoder.0.self_attention'

    Attributes:
        sentence: the text that the model reads. Setting one that it cannot read raises a UserError
            and changes nothing; if it was typed, the view explains why.
        step: how far the sentence has come, from 0. The encoder's boxes take one step each, for all
            words at once; the decoder's take one for each word.
        box: key of the box that is explained, such as ``"encoder.0.self_attention"``. A box that has
            not been reached moves the step on to it.
        row: index of the word whose numbers are shown; None is the newest.
        head: index of the attention head whose lines are drawn; None is the mean of all.
        opened: whether the code of the box is shown.
        depth: how near the picture is: ``"model"``, ``"layer"``, ``"block"`` (the heads of an attention)
            or ``"head"``, where the numbers are worked out.
        pace: how fast it plays, 0.5 to 8.
        text_size: size of all text; 1 is the usual, 2 suits a projector.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.architecture(model, {sentence})"
    shares = Shares(
        {"sentence": "sentence", "place": "box", "head": "head", "query": "row"}, news={"step": _END}
    )

    boxes: Any = traitlets.List(help="key, part, stack, layer and parameters of each").tag(
        sync=True, content=True
    )
    parts = traitlets.Dict(help="what the parts are").tag(sync=True, content=True)
    sizes = traitlets.Dict(help="d_model, n_heads and n_words").tag(sync=True, content=True)
    sentence = traitlets.Unicode(help="the text that the model reads").tag(sync=True)
    step = Index(0, help="how far the sentence has come, from 0").tag(sync=True)
    box = traitlets.Unicode(help="key of the box that is explained").tag(sync=True)
    row = Index(None, allow_none=True, help="word whose numbers are shown").tag(sync=True)
    head = Index(None, allow_none=True, help="head whose lines are drawn; None: the mean").tag(sync=True)
    depth = traitlets.Unicode("model", help="how near the picture is").tag(sync=True)
    opened = traitlets.Bool(False, help="whether the box's code is shown").tag(sync=True)
    pace = traitlets.Float(2.0, help="how fast it plays").tag(sync=True)
    text_size = TextSize()

    def __init__(
        self,
        answer: Answer,
        sentence: str,
        *,
        boxes: Sequence[Mapping[str, Any]],
        parts: Mapping[str, Mapping[str, Any]],
        sizes: Mapping[str, int],
        kinds: Sequence[str] = (),
        step: int = 0,
    ) -> None:
        """Make a view of the model that `answer` runs.

        Args:
            answer: given ``{"sentence": str}``, it returns the values of every box; see
                `architecture.live.architecture_reply`.
            sentence: the first text.
            boxes: the model's, in the order of the flow.
            parts: what each kind of box is.
            sizes: ``d_model``, ``n_heads`` and ``n_words``, the size of the vocabulary.
            kinds: those of attention of which `answer` gives a layer's numbers, asked for with
                ``{"sentence": str, "kind": str, "layer": int}``.
            step: the first step; -1 is the last, but for what the model does after its output.

        Raises:
            UserError: if the text cannot be read, or there is no such step.
        """
        self._known: dict[str, dict[str, Any]] = {sentence: answer({"sentence": sentence})}
        steps = steps_of(list(map(dict, boxes)), _length(self._known[sentence], "target"))
        step = _opening(steps) if step == -1 else step + len(steps) if step < 0 else step
        check_index("step", step, len(steps), owner="the sentence has")
        traits = {
            "about": _ABOUT,
            "boxes": list(map(dict, boxes)),
            "parts": dict(parts),
            "sizes": dict(sizes),
            "sentence": sentence,
        }
        self._kinds = kinds
        super().__init__(answer=answer, traits=traits)
        self.box = steps[step].box
        self.step = step
        self._tell_opening()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request, as the page would get it.

        Raises:
            UserError: if the sentence cannot be read.
        """
        reply = super().answer(request)
        if "kind" in request:
            return reply
        tokens = {name: reply[name] and sendable(reply[name]) for name in ("source", "target", "written")}
        likeliest = reply["likeliest"] and [
            [[*sendable([token]), share] for token, share in each] for each in reply["likeliest"]
        ]
        return {**reply, **tokens, "likeliest": likeliest}

    def shared_places(self) -> dict[str, str]:
        """Return the keys of the attentions' boxes, by kind and layer."""
        kinds = {"self_attention": "", "cross_attention": "cross"}
        found = [(each, each["key"].rpartition(".")[2]) for each in self.boxes]
        return {
            f"{kinds[part] or each['stack']} {each['layer']}": each["key"]
            for each, part in found
            if part in kinds
        }

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        layer: Schema = {"sentence": TEXT, "kind": one_of(self._kinds), "layer": whole(0, 1_000)}
        return ({"sentence": TEXT}, layer)

    def questions(self) -> list[dict[str, Any]]:
        """Return the requests that this state needs."""
        here: dict[str, Any] = {"sentence": self.sentence}
        if self.depth != "head" or self.engine or self.layer is None:
            return [here]
        kind = "cross" if self._box["part"] == "cross_attention" else self._box["stack"]
        return [here, {**here, "kind": kind, "layer": self.layer}]

    @property
    def steps(self) -> list[Step]:
        """All steps of the sentence."""
        return steps_of(self.boxes, _length(self._read(self.sentence), "target"))

    @property
    def layer(self) -> int | None:
        """Index of the layer of the box that is explained; None outside the layers.

        Setting it moves to the same box of another layer.
        """
        return self._box["layer"]

    @layer.setter
    def layer(self, layer: int) -> None:
        if self.layer is None:
            raise SelectionError(f"box={self.box!r} is in no layer; choose a box in one first")
        self.box = self.box.replace(f".{self.layer}.", f".{layer}.")

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the box's stack that have reached the box at this step."""
        reply = self._read(self.sentence)
        side = "source" if self._box["stack"] == "encoder" else "target"
        return tuple(reply[side][: self._n_rows(self.box)])

    def vectors(self, box: str | None = None) -> NDArray[np.float32]:
        """Return what a box has made so far, [position, d_model].

        Args:
            box: its key; by default the box that is explained.

        Raises:
            UserError: if it makes no vectors.
        """
        key = self.box if box is None else box
        found = self._read(self.sentence)["vectors"]
        if key not in found:
            raise UserError(f"{key!r} makes no vectors; those that do are {', '.join(found)}")
        vectors = np.frombuffer(found[key], "<f4").reshape(-1, self.sizes["d_model"])
        return vectors[: self._n_rows(key)]

    def weights(self, box: str | None = None) -> NDArray[np.float32]:
        """Return the attention weights of a box so far, [head, query, key].

        Args:
            box: its key; by default the box that is explained.

        Raises:
            UserError: if it is no attention.
        """
        key = self.box if box is None else box
        reply = self._read(self.sentence)
        if key not in reply["weights"]:
            raise UserError(f"{key!r} has no weights; those that do are {', '.join(reply['weights'])}")
        queries = _length(reply, "source" if key.startswith("encoder") else "target")
        weights = np.frombuffer(reply["weights"][key], "<f4").reshape(self.sizes["n_heads"], queries, -1)
        rows = self._n_rows(key)
        causal = "cross" not in key and key.startswith("decoder")
        return weights[:, :rows, : rows if causal else None]

    def likeliest(self) -> list[dict[str, float]]:
        """Return, for each position that has reached the output, its likeliest words."""
        found = self._read(self.sentence)["likeliest"]
        output = self.boxes[-1]["key"]
        return [dict(each) for each in (found or [])[: self._n_rows(output)]]

    def figure(self) -> Figure:
        """Return what the view shows now as a matplotlib figure."""
        from viz_transformer.plots.architecture import plot_architecture

        return plot_architecture(self._boxes_now(), self.box, title=self._where())

    def alt_text(self) -> str:
        """Return what the view shows now in words."""
        from viz_transformer.plots.architecture import percent_text

        part = self.parts[self._box["part"]]
        told = f"{self._where()}. {part['text']}"
        if self._box["part"] == "output" and self.tokens:
            gap = self.tokens.index("<mask>") if "<mask>" in self.tokens else len(self.tokens) - 1
            where = "In place of" if self._box["stack"] == "encoder" else "After"
            word, share = max(self.likeliest()[gap].items(), key=lambda each: each[1])
            told += f" {where} “{self.tokens[gap]}” the likeliest word is “{word}”, {percent_text(share)}."
        return told

    def __repr__(self) -> str:
        """Return the state in short."""
        return f"Architecture({self.sentence!r}, step={self.step} of {len(self.steps)}, box={self.box!r})"

    @property
    def _box(self) -> dict[str, Any]:
        return next(box for box in self.boxes if box["key"] == self.box)

    def _n_rows(self, box: str) -> int:
        return n_rows(self.steps, self.step, box, _length(self._read(self.sentence), "source"))

    def _where(self) -> str:
        box = self._box
        layer = "" if box["layer"] is None else f" layer {box['layer']}"
        return (
            f"Step {self.step + 1} of {len(self.steps)}: {box['stack']}{layer}, "
            f"{self.parts[box['part']]['name']}"
        )

    def _boxes_now(self) -> list[dict[str, Any]]:
        """Return the boxes with their values at this step."""
        reply = self._read(self.sentence)
        now = []
        for box in self.boxes:
            key, rows = box["key"], self._n_rows(box["key"])
            side = "source" if box["stack"] == "encoder" else "target"
            now.append(
                {
                    **box,
                    "lines": self.parts[box["part"]]["lines"],
                    "n_rows": _length(reply, side),
                    "tokens": reply[side][:rows],
                    "keys": reply["source"] if box["part"] == "cross_attention" else reply[side],
                    "vectors": self.vectors(key) if key in reply["vectors"] else None,
                    "weights": self.weights(key).mean(0) if key in reply["weights"] else None,
                    "likeliest": self.likeliest() if box["part"] == "output" else None,
                }
            )
        return now

    def _read(self, sentence: str) -> dict[str, Any]:
        if sentence not in self._known:
            try:
                self._known = {sentence: super().answer({"sentence": sentence})}
            except UserError as error:  # a TraitError, so that the old sentence stays
                raise SelectionError(str(error)) from error
        return self._known[sentence]

    def _tell_opening(self) -> None:
        """Tell the page where the call that makes this view opens it."""
        at = _opening(self.steps)
        opening = {"step": at, "box": self.steps[at].box}
        self.made = {**self.made, "usual": {**self.made["usual"], **opening}}

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal: dict[str, Any]) -> str:
        self._read(proposal["value"])
        return proposal["value"]

    @traitlets.observe("sentence")
    def _fit_step(self, _: object) -> None:
        self._tell_opening()
        if self._from_page:  # which chooses the word, and the step, with the sentence
            return
        self.row = None
        self.step = min(self.step, len(self.steps) - 1)

    @traitlets.validate("step")
    def _check_step(self, proposal: dict[str, Any]) -> int:
        if self._from_page:  # which leaves it to the view how long a sentence is that it has not read
            return min(proposal["value"], len(self.steps) - 1)
        check_index("step", proposal["value"], len(self.steps), owner="the sentence has")
        return proposal["value"]

    @traitlets.observe("step")
    def _follow_step(self, _: object) -> None:
        if not self._from_page:
            self.box = self.steps[self.step].box

    @traitlets.validate("box")
    def _check_box(self, proposal: dict[str, Any]) -> str:
        keys = [box["key"] for box in self.boxes]
        if proposal["value"] not in keys:
            raise SelectionError(f"box={proposal['value']!r}, but the boxes are {', '.join(keys)}")
        return proposal["value"]

    @traitlets.observe("box")
    def _reach_box(self, _: object) -> None:
        if not self._from_page and self._n_rows(self.box) == 0:
            with self.hold_trait_notifications():
                self.step = next(at for at, step in enumerate(self.steps) if step.box == self.box)

    @traitlets.validate("head")
    def _check_head(self, proposal: dict[str, Any]) -> int | None:
        check_index("head", proposal["value"], self.sizes["n_heads"], owner="the model has")
        return proposal["value"]

    @traitlets.validate("row")
    def _check_row(self, proposal: dict[str, Any]) -> int | None:
        reply = self._read(self.sentence)
        check_index("row", proposal["value"], max(_length(reply, "source"), _length(reply, "target")),
                    owner="the sentence has")  # fmt: skip
        return proposal["value"]

    @traitlets.validate("depth")
    def _check_depth(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in DEPTHS:
            raise SelectionError(f"depth={proposal['value']!r}; choose one of {', '.join(DEPTHS)}")
        return proposal["value"]

    @traitlets.validate("pace")
    def _check_pace(self, proposal: dict[str, Any]) -> float:
        if not 0.5 <= proposal["value"] <= 8:
            raise SelectionError(f"pace={proposal['value']:g}; give 0.5 to 8 steps a second")
        return proposal["value"]


def _opening(steps: Sequence[Step]) -> int:
    """Return the step at which a picture begins: the last, but for what a model does after its output."""
    return len(steps) - (2 if steps[-1].box == "rest" else 1)


def _length(reply: Mapping[str, Any], side: str) -> int:
    return len(reply[side] or ())
