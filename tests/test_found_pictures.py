"""Where capture finds the patches of pictures: each patch is changed, and its position is seen to change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

import viz_transformer as vt
from tests.support.huggingface_models import eager
from tests.support.refusals import assert_refused
from viz_transformer.capturing.pictures import find_pictures

#: Patches of 8 by 8 pixels of a picture of 16 by 24, and of squares of 32.
PATCH, TEXT, IMAGE = 8, 60, 50
VISION: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": PATCH,
}
LANGUAGE = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "vocab_size": TEXT,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
#: Of each model what is added to its configuration, how many frames it reads, and what it should find.
ALONE: list[tuple[str, dict[str, Any], int, vt.trace.Patches]] = [
    ("ViT", {}, 1, ((4, 4, 1),)),
    ("ViT", {"image_size": [32, 16]}, 1, ((4, 2, 1),)),
    ("DeiT", {}, 1, ((4, 4, 2),)),  # behind a class and a distillation token
    ("Dinov2", {}, 1, ((4, 4, 1),)),
    ("Dinov2WithRegisters", {"num_register_tokens": 3}, 1, ((4, 4, 4),)),
    ("DINOv3ViT", {"num_register_tokens": 4}, 1, ((4, 4, 5),)),
    ("Beit", {}, 1, ((4, 4, 1),)),
    (
        "Yolos",
        {"image_size": [32, 32], "num_detection_tokens": 3},
        1,
        ((4, 4, 1),),
    ),  # before detection tokens
    ("IJepa", {}, 1, ((4, 4, 0),)),
    ("SiglipVision", {}, 1, ((4, 4, 0),)),
    ("CLIPVision", {}, 1, ((4, 4, 1),)),
    ("VideoMAE", {"num_frames": 4, "tubelet_size": 2}, 4, ((4, 4, 0), (4, 4, 16))),
    ("Vivit", {"num_frames": 4, "tubelet_size": [2, 8, 8]}, 4, ((4, 4, 1), (4, 4, 17))),
]


def changed_positions(embed: Callable[[torch.Tensor], torch.Tensor], pixels: torch.Tensor) -> list[Any]:
    """Return which positions change with each patch [frame (,frame …), row, column] of pictures."""
    before = embed(pixels)
    found = []
    pictures = pixels.flatten(0, -4)  # [picture, channel, row, column]
    for number in range(len(pictures)):
        for row in range(0, pixels.shape[-2], PATCH):
            for column in range(0, pixels.shape[-1], PATCH):
                other = pictures.clone()
                other[number, :, row : row + PATCH, column : column + PATCH] += 1
                state = embed(other.view_as(pixels))
                found.append((state != before).any(dim=-1).nonzero()[:, 0].tolist())
    return found


def positions(patches: vt.trace.Patches) -> list[int]:
    """Return all positions of patches, picture by picture, row by row."""
    return [start + i for rows, columns, start in patches for i in range(rows * columns)]


@torch.no_grad()
def test_the_patches_of_a_model_of_pictures_are_those_that_change_with_the_picture() -> None:
    wrong = {}
    for name, more, n_frames, expected in ALONE:
        torch.manual_seed(0)
        config = getattr(transformers, f"{name}Config")(**{**VISION, **more})
        model = getattr(transformers, f"{name}Model")(config).eval()
        sides = config.image_size if isinstance(config.image_size, list) else [config.image_size] * 2
        pixels = torch.rand(1, *([n_frames] if n_frames > 1 else []), 3, *sides)
        found = vt.capture(model, pixel_values=pixels).patches
        seen = changed_positions(
            lambda x, m=model: m(x, output_hidden_states=True).hidden_states[0][0], pixels
        )
        if n_frames > 1:  # two frames are joined
            n = len(seen) // n_frames
            seen = [each for frame in range(0, n_frames, 2) for each in seen[frame * n : (frame + 1) * n]]
        if found != expected or seen != [[position] for position in positions(expected)]:
            wrong[name, str(more)] = found, seen
    assert not wrong


@torch.no_grad()
def with_text(name: str, text: str, vision: str, ids: list[int], **more: Any) -> tuple[Any, dict[str, Any]]:
    """Return a model of pictures and text whose pictures' positions do not see each other, and its inputs."""
    torch.manual_seed(0)
    parts = {
        "text_config": {"model_type": text, **LANGUAGE},
        "vision_config": {"model_type": vision, **VISION},
    }
    config = getattr(transformers, f"{name}Config")(**parts, image_token_id=IMAGE, **more)
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config).eval()
    for place, weights in model.named_parameters():
        if "vision" in place and place.rsplit(".", 2)[-2] in ("out_proj", "projection_layer"):
            weights.zero_()
        if place.endswith("mm_input_projection_weight"):
            weights.normal_()  # Gemma 3 begins with zeros
    return model, {
        "input_ids": torch.tensor([ids]),
        "attention_mask": torch.ones(1, len(ids), dtype=torch.long),
    }


class Words:
    """A processor: it holds the tokenizer of its text."""

    class tokenizer:  # noqa: N801
        """A vocabulary of numbers."""

        all_special_tokens: Sequence[str] = ()

        @staticmethod
        def convert_ids_to_tokens(ids: list[int]) -> list[str]:
            return list(map(str, ids))


SIGLIP, CLIP = "siglip_vision_model", "clip_vision_model"
WITH_TEXT: list[tuple[Any, int, int, vt.trace.Patches]] = [
    (("Llava", "llama", CLIP, [1, 3, *[IMAGE] * 16, 4]), 1, 1, ((4, 4, 2),)),
    (("Llava", "llama", CLIP, [1, *[IMAGE] * 16, 4, *[IMAGE] * 16]), 2, 1, ((4, 4, 1), (4, 4, 18))),
    (("VipLlava", "llama", CLIP, [1, 3, *[IMAGE] * 16, 4]), 1, 1, ((4, 4, 2),)),
    (("PaliGemma", "gemma", SIGLIP, [*[IMAGE] * 16, 1, 3]), 1, 1, ((4, 4, 0),)),
    (("Gemma3", "gemma3_text", SIGLIP, [1, 5, *[IMAGE] * 4, 6]), 1, 2, ((2, 2, 2),)),
    (("AyaVision", "cohere2", SIGLIP, [1, *[IMAGE] * 4, 6]), 1, 2, ((2, 2, 1),)),
    (("InternVL", "qwen2", "internvl_vision", [1, *[IMAGE] * 4, 6]), 1, 2, ((2, 2, 1),)),
    (
        ("Idefics3", "llama", "idefics3_vision", [1, *[IMAGE] * 4, 6, *[IMAGE] * 4]),
        2,
        2,
        ((2, 2, 1), (2, 2, 6)),
    ),
    (("SmolVLM", "llama", "smolvlm_vision", [1, *[IMAGE] * 4, 6]), 1, 2, ((2, 2, 1),)),
]
MORE: dict[str, dict[str, Any]] = {
    "PaliGemma": {"projection_dim": 16, "hidden_size": 16},
    "Gemma3": {"mm_tokens_per_image": 4},
    "VipLlava": {"vision_feature_layers": [-1, -2]},
}


@torch.no_grad()
def test_the_patches_among_a_text_are_those_that_change_with_the_picture() -> None:
    wrong = {}
    for given, n_pictures, side, expected in WITH_TEXT:
        name = given[0]
        model, named = with_text(*given, **MORE.get(name, {}))
        batch = (1, n_pictures) if name in ("Idefics3", "SmolVLM") else (n_pictures,)
        pixels = torch.rand(*batch, 3, 32, 32)
        if name in ("PaliGemma", "Gemma3"):
            named["token_type_ids"] = (named["input_ids"] == IMAGE).long()
        trace = vt.capture(model, **named, pixel_values=pixels)

        def embed(x: torch.Tensor, model: Any = model, named: Any = named) -> torch.Tensor:
            return model(**named, pixel_values=x, output_hidden_states=True).hidden_states[0][0]

        seen = changed_positions(embed, pixels)
        wanted = [
            [start + row // side * columns + column // side]
            for rows, columns, start in expected
            for row in range(rows * side)
            for column in range(columns * side)
        ]
        if trace.patches != expected or seen != wanted or trace.kinds != ("decoder",):
            wrong[given[:2]] = trace.patches, seen, trace.kinds
    assert not wrong


#: Of each Qwen the names that it has for the sizes of its part for pictures.
QWENS: dict[str, dict[str, Any]] = {
    "Qwen2VL": {"embed_dim": 16, "hidden_size": 16, "mlp_ratio": 1},
    "Qwen2_5_VL": {
        **{"hidden_size": 16, "out_hidden_size": 16, "intermediate_size": 16},
        **{"window_size": 16, "fullatt_block_indexes": [1]},
    },
    "Qwen3VL": {
        **{"hidden_size": 16, "out_hidden_size": 16, "intermediate_size": 16},
        **{"num_position_embeddings": 16, "deepstack_visual_indexes": [0]},
    },
}


@torch.no_grad()
def test_the_patches_of_a_qwen_are_those_that_change_with_the_processors_picture() -> None:
    processor = transformers.Qwen2VLImageProcessorPil(
        patch_size=4, temporal_patch_size=2, merge_size=2, size={"shortest_edge": 1, "longest_edge": 10**6}
    )
    pictures = [np.zeros((16, 24, 3), np.uint8), np.zeros((16, 16, 3), np.uint8)]
    ids = [1, *[IMAGE] * 6, 3, *[IMAGE] * 4, 5]
    named = {
        "input_ids": torch.tensor([ids]),
        "mm_token_type_ids": torch.tensor([[int(i == IMAGE) for i in ids]]),
    }
    rope = {"rope_type": "default", "mrope_section": [1, 1, 0], "rope_theta": 1e4, "type": "mrope"}
    wrong = {}
    for name, sizes in QWENS.items():
        torch.manual_seed(0)
        vision = {"depth": 2, "num_heads": 2, "patch_size": 4, "spatial_merge_size": 2, **sizes}
        config = getattr(transformers, f"{name}Config")(
            text_config={**LANGUAGE, "rope_parameters": rope, "rope_scaling": rope},
            vision_config=vision,
            **{"image_token_id": IMAGE, "video_token_id": 51, "vision_start_token_id": 52},
        )
        model = getattr(transformers, f"{name}ForConditionalGeneration")(config).eval()
        for place, weights in model.named_parameters():
            if "visual" in place and ".attn.proj." in place:
                weights.zero_()

        def embed(images: list[Any], model: Any = model) -> torch.Tensor:
            read = {**named, **processor(images=images, return_tensors="pt")}
            return model(**read, output_hidden_states=True).hidden_states[0][0]

        before, seen = embed(pictures), []
        for number, picture in enumerate(pictures):
            for row in range(0, picture.shape[0], 8):
                for column in range(0, picture.shape[1], 8):
                    other = [each.copy() for each in pictures]
                    other[number][row : row + 8, column : column + 8] = 255
                    seen.append((embed(other) != before).any(dim=-1).nonzero()[:, 0].tolist())
        trace = vt.capture(model, **named, **processor(images=pictures, return_tensors="pt"))
        expected = ((2, 3, 1), (2, 2, 8))
        if trace.patches != expected or seen != [[position] for position in positions(expected)]:
            wrong[name] = trace.patches, seen
    assert not wrong


def test_a_video_among_a_text_is_found_frame_by_frame() -> None:
    named = {"input_ids": torch.tensor([[1, *[51] * 6, 3, 4, *[51] * 6]])}
    config = transformers.Qwen2VLConfig(video_token_id=51, image_token_id=IMAGE)
    model = type("Reader", (), {"config": config})
    named["video_grid_thw"] = torch.tensor([[2, 4, 6]])
    assert find_pictures(model, named, lambda _: None, draws=False) == (
        (2, 3, 1),
        (2, 3, 9),
    )  # with times between them
    named["video_grid_thw"] = torch.tensor([[1, 4, 12]])
    assert find_pictures(model, named, lambda _: None, draws=False) is None  # words stand in it


@torch.no_grad()
def test_patches_in_another_order_or_in_part_have_no_grid() -> None:
    sizes = {**VISION, "num_frames": 4}
    joint = made("TimesformerModel", **sizes, attention_type="joint_space_time")
    video = torch.rand(1, 4, 3, 32, 32)
    assert (
        vt.capture(joint, pixel_values=video).patches == ()
    )  # the frames of each patch, one after the other
    masked = made("VideoMAEModel", **sizes)
    hidden = torch.tensor([[False, *[True] * 14, False] * 2])
    trace = vt.capture(masked, pixel_values=video, bool_masked_pos=hidden)
    assert (trace.patches, len(trace.source_tokens)) == ((), 4)
    assert vt.capture(masked, pixel_values=video).patches == ((4, 4, 0), (4, 4, 16))
    assert_refused([(lambda: vt.explore(trace, grid=(2, 2)), "or only some of them: no grid shows")])


@torch.no_grad()
def test_pictures_that_are_padded_to_one_size_have_their_own_grids() -> None:
    ids = torch.tensor([[1, *[IMAGE] * 4, 5]] * 2)
    model = made(
        "LlavaForConditionalGeneration",
        text_config={"model_type": "llama", **LANGUAGE},
        vision_config={"model_type": "pixtral", **VISION},
        image_token_id=IMAGE,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
    )
    pixels, sizes = torch.rand(2, 3, 32, 32), torch.tensor([[8, 32], [32, 8]])
    for number, grid in enumerate(((1, 4, 1), (4, 1, 1))):
        trace = vt.capture(
            model, input_ids=ids, pixel_values=pixels, image_sizes=sizes, batch_index=number, verify=True
        )
        assert trace.patches == (grid,)
    named = {
        "input_ids": torch.tensor([[1, *[IMAGE] * 4, 5, 6, 6, 6, 6], [1, *[IMAGE] * 4, *[IMAGE] * 4, 5]])
    }
    three = torch.rand(3, 3, 32, 32)
    assert_refused(
        [
            (
                lambda: vt.capture(model, **named, pixel_values=three, batch_index=0),
                "pixel_values= holds 3 rows for 2 texts, which does not tell whose each is",
            )
        ]
    )


@torch.no_grad()
def test_what_a_grid_may_be_is_known_of_a_captured_picture() -> None:
    torch.manual_seed(0)
    pixels = torch.rand(1, 3, 32, 32)
    vit = transformers.ViTModel(transformers.ViTConfig(**VISION)).eval()
    trace, image = vt.capture(vit, pixel_values=pixels), np.zeros((32, 32, 3), np.uint8)
    assert vt.explore(trace, image=image).grid == [4, 4, 1, 17, 0]
    assert vt.explore(trace).grid == []
    assert vt.plots.plot_patches(trace, "encoder", 0, 0, query=0).images[-1].get_array().shape == (4, 4)
    video = vt.capture(
        transformers.VideoMAEModel(transformers.VideoMAEConfig(**{**VISION, "num_frames": 4})).eval(),
        pixel_values=torch.rand(1, 4, 3, 32, 32),
    )
    assert vt.explore(video, grid=video.patches[1], image=image).grid == [4, 4, 16, 32, 0]
    shuffled = transformers.ViTMAEModel(transformers.ViTMAEConfig(**VISION, mask_ratio=0.0)).eval()
    drawn = vt.capture(shuffled, pixel_values=pixels)
    assert drawn.patches == ()
    unknown = vt.capture(np.eye(17)[None, None], source_tokens=["[CLS]", *map(str, range(16))])
    assert_refused(
        [
            (
                lambda: vt.explore(trace, grid=(4, 4, 0)),
                r"are \(rows, columns, start\) \(4, 4, 1\); give one",
            ),
            (
                lambda: vt.explore(trace, grid=(2, 8, 1)),
                r"are \(rows, columns, start\) \(4, 4, 1\); give one",
            ),
            (lambda: vt.explore(video, grid=(4, 4)), r"\(4, 4, 0\), \(4, 4, 16\); give one of these"),
            (lambda: vt.explore(video, image=image), "the model read 2 pictures or frames"),
            (
                lambda: vt.explore(drawn, grid=(4, 4, 1)),
                "an order of its own .*some of them: no grid",
            ),
            (lambda: vt.explore(unknown, image=image), "how the picture is cut into patches"),
            (lambda: replace(trace, patches=[(4, 4, 2)]), "does not fit 17 tokens"),
        ]
    )


def test_found_patches_are_kept_in_a_file_and_counted_without_padding(tmp_path: Path) -> None:
    model, named = with_text("Llava", "llama", CLIP, [0, 0, 1, *[IMAGE] * 16, 4])
    named["attention_mask"][0, :2] = 0
    trace = vt.capture(model, **named, pixel_values=torch.rand(1, 3, 32, 32), tokenizer=Words())
    assert (trace.patches, trace.target_tokens[:2]) == (((4, 4, 1),), ("1", "50"))
    assert vt.ForwardTrace.load(trace.save(tmp_path / "trace.npz")).patches == trace.patches


SMALL = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}


def made(name: str, **sizes: Any) -> Any:
    """Return a model of a class, with random weights."""
    torch.manual_seed(0)
    model_class = getattr(transformers, name)
    return model_class(model_class.config_class(**sizes)).eval()


@torch.no_grad()
def test_models_of_pictures_and_text_work_without_labels_or_are_refused_in_a_line() -> None:
    ids, pixels = torch.tensor([[1, 3, 4]]), torch.rand(1, 3, 32, 32)
    both = {"input_ids": ids, "pixel_values": pixels}
    text = {**SMALL, "vocab_size": TEXT, "max_position_embeddings": 40}
    git = made("GitForCausalLM", **text, vision_config=VISION)
    flat = {key: value for key, value in VISION.items() if key != "image_size"}
    siglip2 = made("Siglip2VisionModel", **flat, num_patches=16)
    patches = {"pixel_values": torch.rand(1, 12, 192), "spatial_shapes": torch.tensor([[3, 4]])}
    patches["pixel_attention_mask"] = torch.ones(1, 12)
    table: list[tuple[Any, dict[str, Any], str, int, Any]] = [
        (git, both, "decoder", 20, None),
        (siglip2, patches, "encoder", 12, ((3, 4, 0),)),
    ]
    for model, named, kind, n_positions, found in table:
        own = eager(model, **named).attentions
        trace = vt.capture(model, **named)
        assert (trace.kinds, trace.patches) == ((kind,), found), type(model)
        assert trace.key_tokens(kind) == tuple(map(str, range(n_positions)))
        np.testing.assert_allclose(trace.attention(kind), torch.stack(own)[:, 0], atol=1e-5)
    vision = {**VISION, "projection_dim": 16}
    blip = made("BlipForConditionalGeneration", text_config={**text, "bos_token_id": 1}, vision_config=vision)
    flava = made(
        "FlavaModel",
        text_config={**SMALL, "vocab_size": TEXT},
        image_config={**SMALL, "image_size": 32, "patch_size": PATCH},
        multimodal_config=SMALL,
    )
    assert_refused(
        [
            (
                lambda: vt.capture(blip, **both),
                "over the 17 positions of its picture, and none of its text; .*",
            ),
            (lambda: vt.capture(flava, **both), "FlavaModel joins text_model and image_model"),
        ]
    )


def test_models_that_draw_an_order_of_patches_are_captured_as_they_drew_it() -> None:
    pixels, ids = torch.rand(1, 3, 32, 32), torch.tensor([[1, 3, 4]])
    text = {**SMALL, "vocab_size": TEXT, "max_position_embeddings": 40}
    for model, named in (
        (made("ViTMAEModel", **VISION, mask_ratio=0.5), {"pixel_values": pixels}),
        (
            made("ViltModel", **text, image_size=32, patch_size=PATCH),
            {"pixel_values": pixels, "input_ids": ids},
        ),
    ):
        torch.manual_seed(3)
        own = eager(model, **named).attentions
        torch.manual_seed(3)
        trace = vt.capture(model, **named)
        np.testing.assert_array_equal(trace.encoder_attention, torch.stack(own)[:, 0])
        assert trace.patches == ()


def test_blip_2_reads_pictures_and_text_with_a_language_model_of_either_sort() -> None:
    model = made(
        "Blip2ForConditionalGeneration",
        text_config={
            "model_type": "opt",
            **SMALL,
            "ffn_dim": 16,
            "vocab_size": TEXT,
            "word_embed_proj_dim": 16,
        },
        vision_config=VISION,
        qformer_config={**SMALL, "encoder_hidden_size": 16},
        num_query_tokens=4,
        image_token_index=IMAGE,
    )
    read = {"input_ids": torch.tensor([[*[IMAGE] * 4, 1, 3]]), "pixel_values": torch.rand(1, 3, 32, 32)}
    trace = vt.capture(model, **read, tokenizer=Words())
    assert (trace.kinds, trace.target_tokens) == (("decoder",), ("50", "50", "50", "50", "1", "3"))
    own = eager(model, **read).language_model_outputs.attentions
    np.testing.assert_allclose(trace.decoder_attention, torch.stack(own)[:, 0], atol=1e-5)


def test_windows_of_a_picture_are_refused_with_the_parts_that_can_be_captured() -> None:
    encoder = transformers.DonutSwinConfig(
        image_size=(32, 64), patch_size=4, embed_dim=8, depths=[2, 2], num_heads=[2, 2], window_size=4
    )
    decoder = transformers.MBartConfig(
        **{"vocab_size": TEXT, "d_model": 16, "decoder_layers": 2, "decoder_ffn_dim": 16},
        **{"decoder_attention_heads": 2, "is_decoder": True, "add_cross_attention": True},
    )
    both = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    model = transformers.VisionEncoderDecoderModel(both).eval()
    pixels, ids = torch.rand(1, 3, 32, 64), torch.tensor([[1, 5, 6]])
    said = r"windows of a picture; capture its parts: vt.capture\(model.encoder, ..., layers="
    assert_refused([(lambda: vt.capture(model, pixel_values=pixels, decoder_input_ids=ids), said)])
    assert vt.capture(model.encoder, pixel_values=pixels, layers=[0, 1]).kinds == ("encoder",)
    states = torch.rand(1, 4, 16)
    read = vt.capture(
        model.decoder,
        input_ids=ids,
        encoder_hidden_states=states,
        source_tokens=list("abcd"),
        target_tokens=list("xyz"),
    )
    assert read.kinds == ("decoder", "cross")
