"""Where the patches of a picture stand among tokens: found, given, or refused, and never a word."""

from __future__ import annotations

from tests.support.refusals import assert_refused
from viz_transformer.analysis.patches import find_patches

WORDS = ["what", "is", "this"]
PATCHES = [f"row {i // 4}, column {i % 4}" for i in range(16)]
IMAGE = ["<image>"] * 16


def test_patches_are_found_where_the_tokens_tell_and_else_have_to_be_given() -> None:
    found = [
        (PATCHES, (4, 4), 0),
        (["[CLS]", *PATCHES], (4, 4), 1),  # ViT
        (["<s>", *PATCHES, *WORDS], (4, 4, 1), 1),  # LLaVA
        (["<s>", *WORDS, *IMAGE, *WORDS], (4, 4), 4),  # a processor's labels
        ([*IMAGE, "."], (4, 4), 0),
        (["[CLS]", *PATCHES, *["[DET]"] * 5], (4, 4, 1), 1),  # YOLOS
        (["[CLS]", *["[REG]"] * 4, *PATCHES], (4, 4, 5), 5),  # DINOv2 with registers
        ([*IMAGE, "and", *IMAGE], (4, 4, 17), 17),  # the second of two pictures
    ]
    for tokens, grid, start in found:
        assert find_patches(grid, tokens, class_token=True) == (4, 4, start), tokens
    open_grids = [tokens for tokens, grid, _ in found if len(grid) == 3]
    assert_refused(
        [
            *(
                (lambda t=t: find_patches((4, 4), t, class_token=True), "open where among")
                for t in open_grids
            ),
            (lambda: find_patches((4, 4), [*PATCHES, "x"], class_token=False), "open where among the 17"),
            (lambda: find_patches((4, 4, 1), PATCHES, class_token=True), "the first at 1, for 16 tokens"),
            (lambda: find_patches((4, 5), PATCHES, class_token=True), "20 patches for 16 tokens"),
            (lambda: find_patches((4, 0), PATCHES, class_token=True), "give the rows and columns"),
        ]
    )
