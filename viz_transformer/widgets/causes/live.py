"""The causes of a live model's answer: parts of one run in another, its lens, and its heads' shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from torch import Tensor

from viz_transformer.errors import UserError
from viz_transformer.interpreting import direct_logit_attribution, logit_lens
from viz_transformer.interpreting.metric import MetricLike, token_names
from viz_transformer.interpreting.patching import PatchRuns
from viz_transformer.interpreting.prompt import PromptLike
from viz_transformer.interpreting.stream import Stream, find_blocks
from viz_transformer.masked_model import MaskedModel
from viz_transformer.text_model import TextModel
from viz_transformer.trace import LogitAttribution, LogitLens
from viz_transformer.widgets.base.traits import check_index
from viz_transformer.widgets.base.view import sendable
from viz_transformer.widgets.causes.view import PATCHED, Causes

#: How many of the likeliest words are shown.
_MOST_WORDS = 5


def patch_lens(
    model: Any,
    clean: PromptLike,
    corrupted: PromptLike,
    metric: MetricLike | None = None,
    *,
    tokenizer: Any = None,
    kind: str | None = None,
    target: PromptLike | None = None,
    position: int | None = None,
) -> Causes:
    """Return a view of two prompts, in which you put parts of the clean run into the corrupted one.

        vt.patch_lens(
            model,
            "When Mary and John went to the store, John gave a drink to",
            "When Mary and John went to the store, Mary gave a drink to",
            (" Mary", " John"),
            tokenizer=tokenizer,
        )

    Drag a word from the clean prompt to a layer, and see how much of the answer it brings back, what the
    model then writes, and where the stream moves. Two more pictures show the clean run alone: its logit lens,
    and what each head adds to the metric. All numbers are those of `vt.attribution`.

    >>> import viz_transformer as vt
    >>> end = "no cruzó la calle porque estaba muy"
    >>> view = vt.patch_lens(vt.load_language_model(), f"el gato negro {end}", f"la vaca negra {end}")
    >>> view.picture, view.restored("heads").shape  # [layer, head]
    ('positions', (2, 4))

    Args:
        model: of Hugging Face's a causal language model, a masked one such as BERT, an encoder–decoder, or a
            classifier; or one of ours, a translator, language model or masked language model among them.
        clean: the prompt whose answer is restored.
        corrupted: a prompt of as many tokens that leads to another answer.
        metric: what is measured, as in `vt.attribution.patching`; by default the logit of what the model
            writes after the clean prompt, minus that of what it writes after the corrupted one.
        tokenizer: Hugging Face's, or a vocabulary of ours.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``: which heads are patched, and which stream; by
            default as in `vt.attribution.patching`.
        target: of an encoder–decoder, the words that it has written so far in both runs.
        position: where the logits are; by default at the one gap of a masked model, or else at the end.

    Raises:
        UserError: as `vt.attribution.patching`.
    """
    asked = {"metric": metric, "tokenizer": tokenizer, "kind": kind, "target": target, "position": position}
    if isinstance(model, MaskedModel):
        clean, corrupted = (model.ids(text) if isinstance(text, str) else text for text in (clean, corrupted))
    if isinstance(model, TextModel):
        model, tokenizer = model.model, model.vocabulary
    options = {"tokenizer": tokenizer, "target": target, "position": position}
    metric = _usual(model, clean, corrupted, options) if metric is None else metric
    runs = {
        what: PatchRuns(
            *(model, clean, corrupted, metric, what),
            **{**options, "kind": "decoder" if (what, kind) == ("positions", "cross") else kind},
        )
        for what in PATCHED
    }
    of_positions = runs["positions"]
    start, place = _start(model, runs, position)
    unchanged = cache(lambda what: runs[what].together([]))
    measured = cache(lambda what, layer: runs[what].layer(layer))
    n_layers = len(of_positions.layers)
    first = n_layers // 2 if n_layers > 2 else 0  # what moves behind it is to be seen
    back = [abs(value - of_positions.corrupted) for value in measured("positions", first)]

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        what = request["what"]
        if "layer" not in request:
            return _patched(runs[what], place, request["patches"], unchanged(what))
        check_index("layer", request["layer"], len(runs[what].layers), owner="the grid has")
        return {"values": measured(what, request["layer"])}

    view = Causes(
        start,
        _finder(model, clean, of_positions, options),
        answer,
        [{"layer": first, "at": back.index(max(back))}],
    )
    view.made_with(**asked)
    return view


def _usual(model: Any, clean: PromptLike, corrupted: PromptLike, options: dict[str, Any]) -> MetricLike:
    """Return what the model writes after the clean prompt, and what after the corrupted one."""
    runs = PatchRuns(model, clean, corrupted, None, "heads", **options)
    place = runs.prompts[0].index_of(options["position"])
    first, second = (int(logits[place].argmax()) for logits in runs.logits)
    return first if first == second else (first, second)


def _start(model: Any, runs: dict[str, PatchRuns], position: int | None) -> tuple[dict[str, Any], int]:
    """Return what the page gets at the beginning, and at which position the logits are."""
    own = runs["positions"]
    place = own.prompts[0].index_of(position)
    stack = find_blocks(model)
    n_heads = max(each.n_heads for each in stack.sites)
    has_cross = bool(stack.cross)
    sizes = {what: [len(each.layers), len(each.layers[0].parts)] for what, each in runs.items()}
    # Of a classifier that reads several positions, a first column is the whole.
    sizes["lens"] = [len(stack.modules) + 1, len(own.prompts[0].tokens) + own.prompts[0].is_classified]
    sizes["direct"] = [len(stack.modules), n_heads * (2 if has_cross else 1) + 1]
    values, namer = (own.clean, own.corrupted), own.prompts[0].namer
    sides = {
        name: {
            "tokens": sendable(own.tokens[i]),
            "value": values[i],
            **_likeliest(own.logits[i][place], namer),
        }
        for i, name in enumerate(("clean", "corrupted"))
    }
    return {
        "sizes": sizes,
        "tokens": sendable(own.prompts[0].tokens),
        "place": place if own.prompts[0].source is None and not own.prompts[0].is_classified else None,
        "metric": own.metric.name,
        "kinds": {what: each.kind for what, each in runs.items()},
        **sides,
    }, place


def _likeliest(logits: Tensor, namer: Any, before: Tensor | None = None) -> dict[str, Any]:
    """Return the likeliest words with their probabilities, and those that they had before."""
    shares, ids = logits.float().softmax(-1).topk(min(_MOST_WORDS, len(logits)))
    found = {"words": sendable(token_names(namer, ids.tolist())), "shares": shares.tolist()}
    return found if before is None else {**found, "before": before.float().softmax(-1)[ids].tolist()}


def _patched(
    runs: PatchRuns, place: int, patches: Sequence[Mapping[str, int]], before: Stream
) -> dict[str, Any]:
    """Return what the model does under several patches at once; `before` is the corrupted run."""
    parts = [(each["layer"], each["at"]) for each in patches]
    for layer, at in parts:
        check_index("layer", layer, len(runs.layers), owner="the grid has")
        check_index("at", at, len(runs.layers[layer].parts), owner="the grid has")
    stream = runs.together(parts)
    size = before.states.float().norm(dim=-1)  # [layer + 1, position]
    moved = (stream.states - before.states).float().norm(dim=-1) / size.clamp(min=1e-9)
    return {
        "value": float(runs.metric.measure(stream.logits)),
        **_likeliest(stream.logits[place], runs.prompts[0].namer, runs.logits[1][place]),
        "moved": moved.clamp(max=1).cpu().numpy().astype("<f2").tobytes(),
    }


def _finder(
    model: Any, clean: PromptLike, runs: PatchRuns, options: dict[str, Any]
) -> Callable[[str], LogitLens | LogitAttribution]:
    """Return what finds the lens of the clean run, or what each head adds; each is found once."""
    ids, read = runs.metric.ids, runs.prompts[0]
    metric: Any = ids if len(ids) == 2 else ids[0] if ids else None
    given: dict[str, Any] = {"tokenizer": options["tokenizer"]}
    if (
        read.source is not None and read.ids is not None
    ):  # what the decoder reads, and not all that it would write
        given["target"] = read.ids[0].tolist()

    @cache
    def find(what: str) -> LogitLens | LogitAttribution:
        if what == "lens":
            return logit_lens(model, clean, metric=metric, **given)
        if metric is None:
            raise UserError("only a logit is a sum of what heads write; give a token or a pair as metric=")
        return direct_logit_attribution(model, clean, metric=metric, position=options["position"], **given)

    return find
