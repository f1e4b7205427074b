"""The architecture as one picture: what stands in its boxes, its steps, and its page's own answers."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.engine_answers import assert_both_sides_agree
from tests.support.javascript import answers_in_node
from tests.support.refusals import assert_refused
from viz_transformer.config import ModelConfig
from viz_transformer.config.parameters import count_parameters
from viz_transformer.model import EncoderOnly
from viz_transformer.text_model import TextModel
from viz_transformer.training import make_model
from viz_transformer.translator import Translator, load_translator
from viz_transformer.widgets.architecture.live import architecture

SENTENCE = "the black cat sleeps"

pytestmark = pytest.mark.usefixtures("shapes_unchecked")  # they would take most of the time


def other_translator(**options: object) -> Translator:
    """One with random weights and parts that the bundled one does not have."""
    vocabulary = load_translator().vocabulary
    sizes = {"d_model": 16, "n_heads": 2, "n_encoder_layers": 4, "n_decoder_layers": 3, "d_ff": 24}
    config = ModelConfig(vocab_size=len(vocabulary), **{**sizes, **options})
    return Translator(make_model(config, 1).eval(), vocabulary)


def loaded(kind: str) -> tuple[TextModel, str]:
    if kind == "translator":
        return load_translator(), SENTENCE
    if kind == "language model":
        return vt.load_language_model(), "el gato"
    if kind == "masked language model":
        return vt.load_masked_model(), "el [?] negro duerme"
    if kind == "pre-norm, rotary":
        return other_translator(norm="pre", positional="rotary", activation="gelu"), SENTENCE
    return other_translator(tie_embeddings=False, positional="learned", scoring="additive"), SENTENCE


KINDS = ("translator", "language model", "masked language model", "pre-norm, rotary", "additive, untied")
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_the_last_box_of_each_stack_holds_what_the_model_itself_computes(kind: str) -> None:
    model, text = loaded(kind)
    view = architecture(model, text)
    trace = model.trace(text) if model.task == "fill" else model.judge(text, model.answer(text))[0]
    last = {box["stack"]: box["key"] for box in view.boxes if box["part"] != "output"}
    ids = torch.tensor([model.vocabulary.ids_of(trace.source_tokens or trace.target_tokens)])
    with torch.no_grad():
        alone = model.model.decode(ids) if model.task == "continue" else model.model.encode(ids)
    stack = "decoder" if model.task == "continue" else "encoder"
    np.testing.assert_allclose(view.vectors(last[stack]), alone[0].numpy(), atol=1e-4)
    for box in view.boxes:
        if box["part"].endswith("attention"):
            kind_of = "cross" if box["part"] == "cross_attention" else box["stack"]
            weights = trace.attention(kind_of)[box["layer"]]
            np.testing.assert_allclose(view.weights(box["key"]), weights, atol=1e-5)


@each_kind
def test_every_box_is_explained_and_every_parameter_stands_in_one(kind: str) -> None:
    model, text = loaded(kind)
    view = architecture(model, text)
    assert sum(box["parameters"] for box in view.boxes) == count_parameters(model.config)
    for box in view.boxes:
        part = view.parts[box["part"]]
        assert part["text"].endswith(".")
        assert part["formula"]
        assert re.fullmatch(r"\d\d_\w+\.ipynb", part["lesson"]["link"])
        assert part["source"]["text"].startswith(("def ", "class "))


def test_the_likeliest_words_are_the_models_own() -> None:
    translator = load_translator()
    view = architecture(translator, SENTENCE)
    (written,) = [translator.translate(SENTENCE).tokens]
    assert [max(each, key=each.get) for each in view.likeliest()] == [*written, "<eos>"]
    shares = np.exp(translator.log_probs(SENTENCE))
    np.testing.assert_allclose([max(each.values()) for each in view.likeliest()], shares, atol=1e-6)
    model = vt.load_language_model()
    after = architecture(model, "el gato").likeliest()[2]
    best = dict(list(model.next_words("el gato").items())[:5])
    assert list(after) == list(best)
    assert after == pytest.approx(best, abs=1e-6)


def test_words_flow_one_by_one_through_the_decoder() -> None:
    view = architecture(load_translator(), SENTENCE, step=0)
    assert (view.box, view.tokens) == ("encoder.tokens", ("the", "black", "cat", "sleeps", "<eos>"))
    assert view.vectors("encoder.embedding").shape == (0, 64)
    n_encoder = sum(box["stack"] == "encoder" for box in view.boxes)
    n_decoder = len(view.boxes) - n_encoder
    assert len(view.steps) == n_encoder + 5 * n_decoder
    view.step = n_encoder + n_decoder + 3
    assert (view.box, view.layer) == ("decoder.0.self_attention", 0)
    assert view.tokens == ("<sos>", "el")
    assert view.weights().shape == (4, 2, 2)
    assert view.vectors("decoder.0.feed_forward").shape == (1, 64)
    assert view.vectors("encoder.1.feed_forward").shape == (5, 64)


def test_a_box_that_is_chosen_is_reached() -> None:
    view = architecture(load_translator(), SENTENCE, step=0)
    view.box = "decoder.0.cross_attention"
    assert view.steps[view.step] == ("decoder.0.cross_attention", 0)
    reached = view.step
    view.box = "encoder.0.feed_forward"
    assert view.step == reached
    view.layer = 1
    assert (view.box, view.step) == ("encoder.1.feed_forward", reached)
    assert "encoder layer 1, feed-forward" in view.alt_text()
    view.step = -1 + len(view.steps)
    assert "After “duerme” the likeliest word is “<eos>”, >99%." in view.alt_text()


def test_another_sentence_flows_and_a_box_without_numbers_is_refused() -> None:
    view = architecture(load_translator(), SENTENCE)
    assert_refused(
        [
            (lambda: view.vectors("encoder.tokens"), "makes no vectors"),
            (lambda: view.weights("encoder.embedding"), "has no weights"),
        ]
    )
    view.sentence = "the cat"
    assert view.step < len(view.steps)
    assert view.steps[-1].word == 2
    assert "the cat" in repr(view)
    asked = architecture(load_translator(), engine="kernel").questions()
    assert asked == [{"sentence": SENTENCE}]


@each_kind
def test_the_page_answers_as_the_kernel_does(kind: str) -> None:
    model, text = loaded(kind)
    requests = [{"sentence": each} for each in (text, "dragón", "")]
    requests += [{"sentence": text, "kind": each, "layer": 0} for each in model.config.attention_layers]
    assert_both_sides_agree(architecture(model, text), requests)


def test_the_page_counts_steps_as_python_does() -> None:
    view = architecture(load_translator(), SENTENCE)
    found = answers_in_node(
        {"stepsOf, rowsAt": "widgets/architecture/steps.ts"},
        """({ boxes, nTarget, nSource, at }) => {
            const steps = stepsOf(boxes, nTarget);
            return { steps, rows: at.map((step) => Object.fromEntries(rowsAt(steps, step, nSource))) };
        }""",
        {"boxes": view.boxes, "nTarget": 5, "nSource": 5, "at": [0, 20, 90]},
    )
    assert [(each["box"], each["word"]) for each in found["steps"]] == view.steps
    for step, rows in zip([0, 20, 90], found["rows"], strict=True):
        view.step = step
        ours = {box["key"]: view._n_rows(box["key"]) for box in view.boxes}
        assert rows == {key: n for key, n in ours.items() if n}


@pytest.mark.parametrize("kind", ["translator", "language model", "masked language model"])
def test_the_figure_draws_the_boxes_of_the_open_layers(kind: str) -> None:
    model, text = loaded(kind)
    view = architecture(model, text, step=0)
    for step in (0, len(view.steps) // 2, len(view.steps) - 1):
        view.step = step
        figure = view.figure()
        drawn = [each.get_text() for each in figure.axes[0].texts]
        assert any(f"Step {step + 1} of {len(view.steps)}" in each for each in drawn)
        assert "\n".join(view.parts[view._box["part"]]["lines"]) in drawn or view._box["part"] == "tokens"
        for token in view.tokens if view.box.endswith("tokens") else ():
            assert token in drawn


def test_an_encoder_without_a_head_ends_with_its_vectors() -> None:
    model = vt.load_masked_model()
    config = ModelConfig(**{**model.config.__dict__, "predicts_words": False})
    bare = type(model).__new__(type(model))
    TextModel.__init__(bare, EncoderOnly(config).eval(), model.vocabulary, type(model.traced_model)(config))
    bare._mask_id = model._mask_id
    view = architecture(bare, "el gato", engine="kernel")
    assert view.boxes[-1]["part"] == "add_norm"
    assert view.likeliest() == []
