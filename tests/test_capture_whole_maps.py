"""Maps put together from bands, blocks and windows, against the same attention worked out by position."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import viz_transformer as vt
from tests.support.capture_zoo import inputs_of, make
from tests.support.huggingface_models import frozen, hf, same, state
from viz_transformer.errors import UserError

N = 11  # no multiple of the window: the model pads
IDS = torch.randint(3, 64, (1, N), generator=torch.Generator().manual_seed(1))
NAMES = [f"t{i}" for i in range(N)]


def outputs_of(model: nn.Module, wanted: str, **given) -> list[Tensor]:
    """Run a model, and return what its modules of a name returned, in their order."""
    seen: list[Tensor] = []
    handles = [
        # A copy, because Longformer scales its queries in place.
        module.register_forward_hook(lambda _, __, output: seen.append(copy.deepcopy(output)))
        for name, module in model.named_modules()
        if name.split(".")[-1] == wanted
    ]
    with torch.no_grad():
        model(**given)
    for handle in handles:
        handle.remove()
    return seen


def longformer_by_hand(model: nn.Module, at: list[int], mask: Tensor | None = None) -> np.ndarray:
    """Work Longformer's weights out with one dense mask: a band, and rows and columns at `at`."""
    given = {"input_ids": IDS}
    read = torch.ones(N, dtype=torch.bool)
    if mask is not None:
        given["attention_mask"] = mask
        read = mask[0].bool()
    if at:
        given["global_attention_mask"] = torch.zeros_like(IDS).index_fill_(1, torch.tensor(at), 1)

    def heads(x: Tensor) -> Tensor:  # [head, position, d_head], without the model's own padding
        x = x.transpose(0, 1) if x.shape[1] == 1 else x
        return x[0, :N].unflatten(-1, (4, 8)).transpose(0, 1)

    q, k = (outputs_of(model, name, **given) for name in ("query", "key"))
    layers = []
    for layer, (query, key) in enumerate(zip(q, k, strict=True)):
        i, j = torch.meshgrid(torch.arange(N), torch.arange(N), indexing="ij")
        near = ((i - j).abs() <= 2) & read[j]
        near[:, at] = True
        scores = heads(query) @ heads(key).mT / math.sqrt(8)
        weights = scores.masked_fill(~near, -math.inf).softmax(-1)
        if at:
            of_layer = outputs_of(model, "query_global", **given)[layer]  # [global, 1, d_model]
            own = of_layer.flatten(0, 1).unflatten(-1, (4, 8)).transpose(0, 1)  # [head, global, d_head]
            keys = heads(outputs_of(model, "key_global", **given)[layer])
            far = (own @ keys.mT / math.sqrt(8)).masked_fill(~read, -math.inf)
            weights[:, at] = far.softmax(-1)
        layers.append(weights.masked_fill(~read[:, None], 0.0))
    return torch.stack(layers).numpy()


def test_the_bands_of_longformer() -> None:
    model, padding = make("longformer"), (torch.arange(N) < 8).long()[None]
    before = frozen(model)
    for at, mask in (([], None), ([0], None), ([0, 4, 9], None), ([], padding)):
        given = {} if mask is None else {"attention_mask": mask}
        if at:
            given["global_attention_mask"] = torch.zeros_like(IDS).index_fill_(1, torch.tensor(at), 1)
        trace = vt.capture(model, input_ids=IDS, tokens=NAMES, **given)
        assert same(before, state(model))
        assert trace.kinds == ("encoder",)
        expected = longformer_by_hand(model, at, mask)
        np.testing.assert_allclose(trace.encoder_attention, expected, atol=1e-6, err_msg=str(given))
    part = vt.capture(model, input_ids=IDS, tokens=NAMES, **given, layers=[1], heads=[0, 3])
    np.testing.assert_array_equal(part.encoder_attention, trace.encoder_attention[[1]][:, [0, 3]])


BOTH_SIDES = {
    "input_ids": IDS,
    "decoder_input_ids": IDS[:, :5],
    "source_tokens": NAMES,
    "target_tokens": NAMES[:5],
}


def test_an_encoder_in_bands_beside_a_decoder() -> None:
    trace = vt.capture(make("led"), **BOTH_SIDES)
    band = np.abs(np.subtract.outer(np.arange(N), np.arange(N))) <= 2
    assert not trace.encoder_attention[..., ~band].any()
    np.testing.assert_allclose(trace.encoder_attention.sum(-1), 1, atol=1e-6)
    assert trace.cross_attention.shape == (2, 4, 5, N)


def test_tokens_that_the_model_made_global_have_to_be_named() -> None:
    config = make("longformer").config
    config.sep_token_id = 2
    model = hf.LongformerForQuestionAnswering(config).eval()
    ids = IDS.clone()
    ids[0, [3, 7, 10]] = 2
    with pytest.raises(UserError, match=r"gave \d tokens global attention.*global_attention_mask="):
        vt.capture(model, input_ids=ids, tokens=NAMES)
    classifier = hf.LongformerForSequenceClassification(config).eval()
    weights = vt.capture(classifier, input_ids=IDS, tokens=NAMES).encoder_attention
    assert (weights[:, :, 0] > 0).all()  # the first token attends to all, and all attend to it
    assert (weights[:, :, :, 0] > 0).all()


def test_the_blocks_of_longt5_are_one_band() -> None:
    model = make("longt5")
    trace = vt.capture(model, **BOTH_SIDES)
    # The same parameters in T5, whose scores are masked by hand outside the band: one layer is enough.
    attention, seen = model.encoder.block[0].layer[0].LocalSelfAttention, []
    handle = attention.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    with torch.no_grad():
        model.encoder(IDS)
        handle.remove()
        query, key = (
            part(seen[0])[0].unflatten(-1, (4, 8)).transpose(0, 1) for part in (attention.q, attention.k)
        )
        distance = torch.arange(N) - torch.arange(N)[:, None]  # key - query
        bucket = attention._relative_position_bucket(
            distance, True, attention.relative_attention_num_buckets, 128
        )
        scores = query @ key.mT + attention.relative_attention_bias(bucket).permute(2, 0, 1)
        expected = scores.masked_fill(distance.abs() > 3, -math.inf).softmax(-1)
    np.testing.assert_allclose(trace.encoder_attention[0], expected.numpy(), atol=1e-6)
    part = vt.capture(model, **BOTH_SIDES, layers=[1], heads=[2])
    np.testing.assert_array_equal(part.encoder_attention, trace.encoder_attention[[1]][:, [2]])


def test_the_global_tokens_of_longt5_are_no_positions_but_its_decoder_is_traced() -> None:
    config = make("longt5").config
    config.encoder_attention_type, config.global_block_size = "transient-global", 4
    model = hf.LongT5Model(config).eval()
    with pytest.raises(UserError, match=r"global tokens too.*vt\.capture\(model\.decoder, "):
        vt.capture(model, **BOTH_SIDES)
    with torch.no_grad():
        read = {"encoder_hidden_states": model.encoder(IDS).last_hidden_state}
    labels = {"source_tokens": NAMES, "target_tokens": NAMES[:5]}
    alone = vt.capture(model.decoder, input_ids=IDS[:, :5], **read, **labels)
    assert alone.kinds == ("decoder", "cross")


@pytest.mark.parametrize("n_random", [1, 2])
def test_the_random_blocks_of_bigbird_are_its_first_block_again(n_random) -> None:
    config = make("big_bird, block sparse").config
    config.block_size, config.num_random_blocks = 2, n_random
    model, n = hf.BigBirdModel(config).eval(), 21  # no multiple of the block: the model pads
    ids = torch.randint(3, 64, (1, n), generator=torch.Generator().manual_seed(1))
    trace = vt.capture(model, input_ids=ids, tokens=[f"t{i}" for i in range(n)])
    query, key = (
        outputs_of(model, name, input_ids=ids)[0][0].unflatten(-1, (4, 8)) for name in ("query", "key")
    )
    scores = query.transpose(0, 1) @ key.transpose(0, 1).mT / math.sqrt(8)  # [head, query, key], padded
    block = torch.arange(scores.shape[-1]) // 2
    last = block.max()
    ends = (block == 0) | (block == last)
    near = (block[:, None] - block).abs() <= 1
    # A key that stands k times in the softmax weighs as one with log(k) added to its score.
    again = (~ends[:, None] & (block == 0)) * math.log(1 + n_random)
    seen = (ends[:, None] | ends | near) & (torch.arange(len(block)) < n)
    expected = (scores + again).masked_fill(~seen, -math.inf).softmax(-1)[:, :n, :n]
    np.testing.assert_allclose(trace.encoder_attention[0], expected.numpy(), atol=1e-6)


def test_pooled_queries_of_funnel_say_which_layers_can_be_traced() -> None:
    model = make("funnel")
    given = {"input_ids": IDS[:, :8], "tokens": NAMES[:8]}
    with pytest.raises(UserError, match=r"capture those of one shape at a time: layers=\[0, 2\]"):
        vt.capture(model, **given)
    assert vt.capture(model, **given, layers=[0, 2]).encoder_attention.shape == (2, 4, 8, 8)
    with pytest.raises(UserError, match=r"layer 1 of the encoder has 4 queries and 8 keys.*target_tokens="):
        vt.capture(model, **given, layers=[1])
    with torch.no_grad():
        output = model(IDS[:, :8], output_attentions=True)
    labels = {"source_tokens": NAMES[:8], "target_tokens": NAMES[:4]}
    assert vt.capture([output.attentions[1]], **labels).cross_attention.shape == (1, 4, 4, 8)


def windows_by_hand(weights: Tensor, rows: int, columns: int, shift: int) -> np.ndarray:
    """Set each weight of windows of 4 by 4 at its place, one by one."""
    n_heads = weights.shape[1]
    whole = np.zeros((n_heads, rows * columns, rows * columns), dtype=np.float32)
    for query in range(rows * columns):
        for key in range(rows * columns):
            places = []
            for patch in (query, key):
                r, c = ((patch // columns - shift) % rows, (patch % columns - shift) % columns)
                places.append((r // 4 * (columns // 4) + c // 4, r % 4 * 4 + c % 4))
            (window, inside), (other, key_inside) = places
            if window == other:
                whole[:, query, key] = weights[window, :, inside, key_inside]
    return whole


@pytest.mark.parametrize("name", ["swin", "swinv2"])
def test_the_windows_of_swin_have_their_place_in_the_picture(name) -> None:
    model = make(name, attn_implementation="eager")
    before = frozen(model)
    trace = vt.capture(model, **inputs_of(model), tokens=[f"p{i}" for i in range(64)])
    assert same(before, state(model))
    assert trace.kinds == ("encoder",)
    seen = outputs_of(model, "attention", **inputs_of(model), output_attentions=True)
    for layer, shift in enumerate((0, 2)):  # every second block is shifted by half a window
        expected = windows_by_hand(seen[layer][1], 8, 8, shift)
        np.testing.assert_allclose(trace.encoder_attention[layer], expected, atol=1e-6)
    np.testing.assert_allclose(trace.encoder_attention.sum(-1), 1, atol=1e-5)


class Windows(nn.Module):
    """A layer of windows with the names that timm's and torchvision's Swin have in common."""

    def __init__(self, shift: int, fused: bool) -> None:
        super().__init__()
        self.window_size, self.shift_size, self.fused = (4, 4), [shift, shift], fused
        self.project = nn.Linear(8, 24)
        self.relative_position_bias_table = nn.Parameter(torch.randn(49, 2))  # [offset, head]
        places = torch.cartesian_prod(torch.arange(4), torch.arange(4))  # [patch, down and right]
        offsets = places[:, None] - places + 3
        self.relative_position_index = (offsets[..., 0] * 7 + offsets[..., 1]).flatten()

    def bias(self) -> Tensor:  # [head, query, key]
        return self.relative_position_bias_table[self.relative_position_index.view(16, 16)].permute(2, 0, 1)

    def forward(self, x: Tensor) -> Tensor:  # [picture, row, column, feature]
        shape, down = x.shape, self.shift_size[0]
        x = x.roll((-down, -down), (1, 2)).unflatten(2, (-1, 4)).unflatten(1, (-1, 4)).transpose(2, 3)
        q, k, v = self.project(x.reshape(-1, 16, 8)).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        self.weights = (q @ k.mT / 2 + self.bias()).softmax(-1)  # [window, head, query, key]
        fused = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias()) if self.fused else None
        x = self.weights @ v if fused is None else fused
        x = x.transpose(1, 2).reshape(-1, shape[1] // 4, shape[2] // 4, 4, 4, 8)
        return x.transpose(2, 3).reshape(shape).roll((down, down), (1, 2))


@pytest.mark.parametrize("fused", [True, False])
def test_the_windows_of_other_libraries_have_their_place_too(fused) -> None:
    model = nn.Sequential(Windows(0, fused), Windows(2, fused)).eval()
    before, pictures = frozen(model), torch.randn(2, 8, 12, 8)
    trace = vt.capture(model, pictures, tokens=[f"p{i}" for i in range(96)], batch_index=1)
    assert same(before, state(model))
    with torch.no_grad():
        model(pictures)
    for layer, shift in zip(model, (0, 2), strict=True):
        expected = windows_by_hand(layer.weights[6:].detach(), 8, 12, shift)  # six windows a picture
        np.testing.assert_allclose(trace.encoder_attention[shift // 2], expected, atol=1e-6)
        added = windows_by_hand(layer.bias().detach().expand(6, -1, -1, -1), 8, 12, shift)
        np.testing.assert_array_equal(trace.encoder_position_bias[shift // 2], added)
    with pytest.raises(UserError, match="batch_index=0 to 1"):
        vt.capture(model, pictures, tokens=[f"p{i}" for i in range(96)])


def test_a_deeper_stage_of_swin_is_chosen_by_its_layers() -> None:
    config = make("swin").config
    config.update({"depths": [2, 2], "num_heads": [2, 4]})
    model, given = hf.SwinModel(config).eval(), {"pixel_values": torch.randn(1, 3, 32, 32)}
    with pytest.raises(UserError, match=r"layers=\[2, 3\] \(4 heads, 16 × 16\)"):
        vt.capture(model, **given, tokens=[f"p{i}" for i in range(64)])
    trace = vt.capture(model, **given, tokens=[f"p{i}" for i in range(16)], layers=[2, 3])
    assert trace.encoder_attention.shape == (2, 4, 16, 16)  # 4 by 4 patches are one window
    assert (trace.encoder_attention > 0).all()
    with pytest.raises(UserError, match="6 by 8 patches do not fill windows of 4 by 4"):
        vt.capture(make("swin"), pixel_values=torch.randn(1, 3, 24, 32), tokens=[f"p{i}" for i in range(48)])


def test_the_streams_of_prophetnet_stay_apart() -> None:
    trace = vt.capture(make("prophetnet"), **BOTH_SIDES)
    assert trace.cross_attention.shape == (2, 4, 5, N)
    assert trace.decoder_attention.shape == (2, 4, 5, 5)
    assert not np.triu(trace.decoder_attention, k=1).any()
