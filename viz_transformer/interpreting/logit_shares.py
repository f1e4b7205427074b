"""Direct logit attribution: what each head, each network and the embedding add to a logit."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from viz_transformer.capturing.running import evaluating
from viz_transformer.errors import UserError
from viz_transformer.interpreting.metric import (
    MetricLike,
    difference,
    one_metric,
    sum_of_logits,
    token_names,
)
from viz_transformer.interpreting.prompt import Prompt, PromptLike, read_prompt
from viz_transformer.interpreting.stream import (
    Blocks,
    answering_position,
    check_same,
    class_logits,
    final_norm,
    find_blocks,
    logits_of,
    read_stream,
)
from viz_transformer.interpreting.stream_parts import Added, FrozenNorm, added_by_blocks, exact, not_added
from viz_transformer.trace import LogitAttribution


def direct_logit_attribution(
    model: Any,
    prompt: PromptLike | None = None,
    *,
    tokenizer: Any = None,
    target: PromptLike | None = None,
    token: str | int | None = None,
    against: str | int | None = None,
    metric: MetricLike | None = None,
    position: int | None = None,
    **inputs: Any,
) -> LogitAttribution:
    """Divide a logit among the parts of the model that add to it.

        parts = vt.attribution.direct_logit_attribution(
            model, "The capital of France is", tokenizer=tokenizer, token=" Paris", against=" Rome"
        )
        vt.plots.plot_attribution(parts)

    The final residual stream is a sum of what every head and every feed-forward network added to it.
    With the final norm's scale kept as it is, each summand has a share of the logit, and the shares
    add up to it. Only direct shares are counted: a head that helps a later head gets nothing for that.

    >>> import viz_transformer as vt
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import DecoderOnly
    >>> config = ModelConfig(family="decoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16, norm="pre")
    >>> parts = vt.attribution.direct_logit_attribution(DecoderOnly(config), [1, 5, 7])
    >>> abs(parts.total - parts.logit) < 1e-3
    True

    Args:
        model: a causal language model or an encoder–decoder, of Hugging Face's or ours; its blocks must
            add to the residual stream (pre-norm), as those of GPT-2, Llama, OPT, GPT-NeoX, Gemma, T5 and
            Whisper do; or a classifier that reads one position, as ViT reads its class token.
        prompt: a text, or token ids [position]; or what a processor returns of one picture or sound.
        tokenizer: Hugging Face's, or a vocabulary of ours.
        target: of an encoder–decoder, as in `logit_lens`.
        token: the token whose logit is explained, an id or a text that is one token; by default the
            model's own first choice.
        against: a token whose logit is subtracted.
        metric: in place of these two: a token or a class, or a pair of them (right, wrong).
        position: where the logit is; by default at the end.
        inputs: the model's own inputs by name, in place of the prompt: ``pixel_values=`` of a picture,
            ``input_features=`` or ``input_values=`` of a sound.

    Raises:
        UserError: if the model is no such model, or the text, a token or the position does not fit.

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Wang et al. 2022,
    "Interpretability in the Wild", section 3. TransformerLens: `stack_head_results`.
    """
    blocks = find_blocks(model)
    if len(blocks.sites) != len(blocks.modules) or len(blocks.cross) not in (0, len(blocks.modules)):
        raise UserError(
            f"{len(blocks.modules) - len(blocks.sites)} of the {len(blocks.modules)} blocks of "
            f"{type(model).__name__} have no attention whose heads are known; give a model whose blocks "
            "all attend"
        )
    text = read_prompt(model, prompt, tokenizer, target, named=inputs)
    scored = text.index_of(position)
    with evaluating(model):
        stream = read_stream(blocks, text)
        if len(stream.states) != len(blocks.modules) + 1:
            raise UserError(
                f"the blocks of {type(model).__name__} run several times each, so what one writes "
                "is not told apart; give a model whose blocks each run once"
            )
        logits = stream.logits[scored]  # [vocab] or [class]
        place = answering_position(blocks, text, stream) if text.is_classified else scored
        if place is None:
            raise UserError(
                f"{type(model).__name__} classifies by several positions at once (their mean, or "
                "more than the class token), so a logit is not the sum of what the heads write at one; "
                "patch instead: vt.attribution.patching(…)"
            )
        chosen = text.metric(one_metric(metric, token, against), stream.logits, scored)
        ids = sum_of_logits(chosen, "only a logit is a sum of what heads write")
        layers = list(added_by_blocks(blocks, text, place, stream.states))
        if layers[-1][-1].norm is not None:
            raise not_added(blocks.modules[-1])
        shares = _shares(blocks, text, stream.states[:, place], layers, place, logits, [*ids])
    names = [*token_names(text.namer, ids), None]
    n_layers, n_heads = len(layers), blocks.sites[0].n_heads
    embedding, heads, mlps, biases, constant = shares.split(
        [1, sum(len(each.parts) for layer in layers for each in layer[:-1]), n_layers, n_layers, 1]
    )
    by_layer = heads.reshape(n_layers, -1).float().cpu().numpy()  # [layer, head, then cross head]
    return LogitAttribution(
        tokens=text.tokens,
        position=place,
        token=str(names[0]),
        against=names[1],
        heads=by_layer[:, :n_heads],
        cross_heads=by_layer[:, n_heads:] if blocks.cross else None,
        mlps=mlps.float().cpu().numpy(),
        embedding=float(embedding),
        bias=float(biases.sum() + constant),
        logit=float(difference(logits, ids)),
    )


def _shares(
    blocks: Blocks,
    prompt: Prompt,
    states: Tensor,
    layers: list[tuple[Added, ...]],
    place: int,
    logits: Tensor,
    targets: list[int],
) -> Tensor:
    """Return each part's share of the target: embedding, heads, networks, biases, the constant; float64."""
    norm = final_norm(blocks, prompt, place)
    frozen = FrozenNorm(norm, states[-1])
    parts = torch.cat(
        [
            exact(states[:1]),
            *(each.parts for layer in layers for each in layer[:-1]),
            *(layer[-1].parts for layer in layers),
            torch.stack([torch.stack([each.bias for each in layer]).sum(0) for layer in layers]),
        ]
    )  # [part, d_model]
    constants = torch.stack([frozen.bias, torch.zeros_like(frozen.bias)])
    rows = torch.cat([frozen(parts), constants]).to(states)  # [part + 2, d_model]
    read = class_logits if prompt.is_classified else logits_of
    scored = exact(difference(read(blocks, prompt, norm, rows), targets))  # [part + 2]
    nothing = scored[-1]
    shares = torch.cat([scored[:-2] - nothing, scored[-2:-1]])  # [part + 1]; the logits' bias is constant
    check_same(
        difference(logits, targets).cpu(),
        shares.sum(),
        f"the logits of {type(blocks.model).__name__} are not a linear function of its last norm (Gemma 2 "
        "caps them, a masked model transforms it first), so they cannot be divided; of Gemma 2, set "
        "model.config.final_logit_softcapping = None; else patch: vt.attribution.patching(…)",
        size=logits.abs().max().cpu(),
    )
    return shares
