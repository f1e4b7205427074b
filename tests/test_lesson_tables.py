"""The lessons' tables “In a real model”: the sizes are those of the published configurations."""

from __future__ import annotations

import json
import math
from inspect import signature
from types import SimpleNamespace

import pytest
import torch
import transformers as hf
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from transformers.models.llama.modeling_llama import LlamaAttention
from transformers.models.mistral.modeling_mistral import MistralAttention

import viz_transformer as vt
from tests.support.lessons import Lesson, table_under
from tests.support.source_code import ROOT
from viz_transformer.config import ModelConfig, count_parameters
from viz_transformer.exercises import exercise
from viz_transformer.model.attention import MultiHeadAttention

BERT, GPT2, LLAMA, MISTRAL = hf.BertConfig(), hf.GPT2Config(), hf.LlamaConfig(), hf.MistralConfig()
T5, BART = hf.T5Config(), hf.BartConfig()
BASE = ModelConfig.preset("transformer-base")
#: The defaults of `torch.nn.Transformer`, which are the first Transformer's sizes.
FIRST = SimpleNamespace(**{k: v.default for k, v in signature(torch.nn.Transformer).parameters.items()})
OURS = "this translator"
PAPER = "the first Transformer, base (table 3)"


@pytest.fixture(scope="module")
def ours(translator: vt.Translator) -> ModelConfig:
    return translator.config


def rows(lesson: str, cell: str = "real") -> dict[str, list[str]]:
    return table_under(Lesson(lesson)[cell], "## In a real model")


def texts(*numbers: object) -> list[str]:
    """Numbers as a table writes them."""
    return [f"{each:,}" if isinstance(each, int) else str(each) for each in numbers]


def n_parameters(module: torch.nn.Module) -> int:
    return sum(each.numel() for each in module.parameters())


def test_the_tables_tell_published_sizes(translator: vt.Translator, ours: ModelConfig) -> None:
    """Of the lessons whose tables need no model to be built: the columns that are sizes."""

    def head_sizes(width: int, d_k: int) -> tuple[int, int, int]:
        return width, d_k, 3 * width * d_k

    def masks(longest: int, pad_id: int | None) -> tuple[str, object]:
        return f"{longest:,} tokens", "has none" if pad_id is None else pad_id

    llama, toy = (LLAMA.hidden_size, LLAMA.num_attention_heads), vt.thinking_machines().steps.w_q[0].shape
    wanted = {
        ("2", "real", (0, 2)): {
            OURS: (ours.vocab_size, ours.d_model),
            "GPT-2, small (sections 2.2, 2.3)": (GPT2.vocab_size, GPT2.n_embd),
            "BERT, base": (BERT.vocab_size, BERT.hidden_size),
            "T5, small": (T5.vocab_size, T5.d_model),
        },
        ("scoring", "real", (0, 1, 2)): {
            OURS: (ours.d_model, ours.n_heads, ours.d_head),
            PAPER: (FIRST.d_model, FIRST.nhead, FIRST.d_model // FIRST.nhead),
            "GPT-2, small": (GPT2.n_embd, GPT2.n_head, GPT2.n_embd // GPT2.n_head),
            "BERT, base": (BERT.hidden_size, BERT.num_attention_heads, 64),
            "Llama, 7B (table 2)": (*llama, llama[0] // llama[1]),
            "T5, small": (T5.d_model, T5.num_heads, T5.d_kv),
        },
        ("4", "in-a-real-model", (0, 1, 2)): {
            "thinking machines": head_sizes(*toy),
            "our translator": head_sizes(ours.d_model, ours.d_head),
            PAPER: head_sizes(FIRST.d_model, FIRST.d_model // FIRST.nhead),
            "GPT-2, small": head_sizes(GPT2.n_embd, GPT2.n_embd // GPT2.n_head),
            "Llama, 7B (table 2)": head_sizes(llama[0], llama[0] // llama[1]),
        },
        ("masks", "real", (1, 2)): {
            "this translator's decoder": masks(ours.max_length, translator.vocabulary.pad_id),
            "BERT, base": masks(BERT.max_position_embeddings, BERT.pad_token_id),
            "GPT-2, small": masks(GPT2.n_positions, GPT2.pad_token_id),
            "Mistral, 7B (table 1)": masks(MISTRAL.sliding_window, MISTRAL.pad_token_id),
        },
        ("initial_loss", "real", (0, 1)): {
            "the first Transformer, base": (512, f"1/√d_model = {512**-0.5:.3f}"),
            "GPT-2, small": (GPT2.n_embd, GPT2.initializer_range),
            "BERT, base": (BERT.hidden_size, BERT.initializer_range),
            "T5, small": (T5.d_model, f"{T5.initializer_factor:g}"),
        },
    }
    wrong = {}
    for (lesson, cell, columns), models in wanted.items():
        found = rows(lesson, cell)
        told = {name: [found[name][column] for column in columns] for name in models}
        sizes = {name: texts(*each) for name, each in models.items()}
        if told != sizes:
            wrong[lesson] = (told, sizes)
    assert not wrong
    assert BERT.type_vocab_size == 2  # “one of 2 learned segment vectors”
    assert all(each.tie_word_embeddings for each in (GPT2, BERT, T5))


def test_tables_computed_from_sizes_are_right() -> None:
    assert not Lesson("1").lacks(
        f"GPT-2, small, has {GPT2.n_layer * GPT2.n_head} heads, and Llama, 7B, has "
        f"{LLAMA.num_hidden_layers * LLAMA.num_attention_heads:,}:"
    )
    for tokens, _, d_model, parameters in rows("2").values():
        assert f"{int(tokens.replace(',', '')) * int(d_model):,}" == parameters
    for name, (*_, width, divisor) in rows("scoring").items():
        if name == "T5, small":
            assert divisor == "not divided"
        else:
            assert float(divisor) == pytest.approx(math.sqrt(int(width)), abs=0.05)


def test_5_how_many_parameters_their_attention_has(ours: ModelConfig) -> None:
    with torch.device("meta"):  # shapes without numbers
        layers = {
            OURS: (MultiHeadAttention(64, 4), ours.n_heads, ours.n_heads, ours.d_model),
            PAPER: (MultiHeadAttention(512, 8, bias=False), FIRST.nhead, FIRST.nhead, FIRST.d_model),
            "GPT-2, small": (GPT2Attention(GPT2, layer_idx=0), GPT2.n_head, GPT2.n_head, GPT2.n_embd),
        }
        for name, config, layer in (
            ("Llama, 7B (table 2)", LLAMA, LlamaAttention(LLAMA, 0)),
            ("Mistral, 7B (table 1)", MISTRAL, MistralAttention(MISTRAL, 0)),
        ):
            n_heads, n_shared = config.num_attention_heads, config.num_key_value_heads
            layers[name] = (layer, n_heads, n_shared, config.hidden_size)
    assert rows("torch_modules") == {
        name: texts(n_heads, d_model // n_heads, n_shared, n_parameters(layer))
        for name, (layer, n_heads, n_shared, d_model) in layers.items()
    }
    assert MISTRAL.num_attention_heads // MISTRAL.num_key_value_heads == 4  # “four heads share each”


def test_6_how_they_are_told_the_order() -> None:
    found = rows("positions", "remember")
    with torch.device("meta"):
        bert, gpt2 = hf.BertModel(BERT).embeddings.position_embeddings, hf.GPT2Model(GPT2).wpe
        biases = [
            each for name, each in hf.T5Model(T5).named_parameters() if "relative_attention_bias" in name
        ]
    for name, table, longest in (
        ("BERT, base", bert, BERT.max_position_embeddings),
        ("GPT-2, small", gpt2, GPT2.n_positions),
    ):
        assert found[name][1:] == [f"{table.weight.numel():,}", f"{longest:,} tokens"]
        assert len(table.weight) == longest
    assert found["T5, small (section 2.1)"][1] == f"{sum(each.numel() for each in biases)}"
    assert len(biases) == 2  # encoder and decoder
    assert (T5.relative_attention_num_buckets, T5.relative_attention_max_distance) == (32, 128)
    llama = found["Llama, 7B (section 2.2)"]
    assert llama[1:] == ["0", f"{LLAMA.max_position_embeddings:,} tokens"]
    assert "rotary" in llama[0]


def test_9_how_their_blocks_are_built(ours: ModelConfig) -> None:
    def block(layers: object, norm: str, width: int, inner: int, activation: str) -> list[str]:
        return [f"{layers}", f"{norm}-norm", f"{width:,} → {inner:,} → {width:,}, {activation}".casefold()]

    def of_a_pair(config: ModelConfig) -> list[str]:
        layers = f"{config.n_encoder_layers} + {config.n_decoder_layers}"
        return block(layers, config.norm, config.d_model, config.d_ff, config.activation)

    found = {name: [*row[:2], row[2].casefold()] for name, row in rows("block").items()}
    llama = (LLAMA.num_hidden_layers, "pre", LLAMA.hidden_size, LLAMA.intermediate_size, "SwiGLU")
    assert found == {
        OURS: of_a_pair(ours),
        PAPER: of_a_pair(BASE),
        "BERT, base": block(BERT.num_hidden_layers, "post", BERT.hidden_size, BERT.intermediate_size, "GELU"),
        "GPT-2, small": block(GPT2.n_layer, "pre", GPT2.n_embd, 4 * GPT2.n_embd, "GELU"),
        "T5, small": block(f"{T5.num_layers} + {T5.num_decoder_layers}", "pre", T5.d_model, T5.d_ff, "ReLU"),
        "Llama, 7B (table 2)": block(*llama),
    }
    activations = (BERT.hidden_act, GPT2.activation_function, T5.feed_forward_proj, LLAMA.hidden_act)
    assert activations == ("gelu", "gelu_new", "relu", "silu")


def test_how_large_encoder_and_decoder_are(ours: ModelConfig) -> None:
    with torch.device("meta"):
        n_t5 = n_parameters(hf.T5ForConditionalGeneration(T5))
        n_bart = n_parameters(hf.BartForConditionalGeneration(BART))
    first = ModelConfig(vocab_size=37_000, bias=False)
    of_ours = (ours.n_encoder_layers, ours.n_decoder_layers, ours.d_model, ours.d_ff, ours.vocab_size)
    of_t5 = (T5.num_layers, T5.num_decoder_layers, T5.d_model, T5.d_ff, T5.vocab_size)
    of_bart = (BART.encoder_layers, BART.decoder_layers, BART.d_model, BART.encoder_ffn_dim, BART.vocab_size)
    found = rows("encoder_and_decoder")
    for name, (n_encoder, n_decoder, *sizes) in {
        OURS: (*of_ours, count_parameters(ours)),
        "T5, small": (*of_t5, f"{n_t5 / 1e6:.0f} million"),
        "BART, large": (*of_bart, f"{n_bart / 1e6:.0f} million"),
        PAPER: (first.n_encoder_layers, first.n_decoder_layers, first.d_model, first.d_ff),
    }.items():
        wanted = [f"{n_encoder} + {n_decoder}", *texts(*sizes)]
        assert found[name][: len(wanted)] == wanted, name
    assert (
        f"they hold {T5.vocab_size * T5.d_model / n_t5:.0%} of T5's parameters"
        in Lesson("encoder_and_decoder").prose
    )
    assert count_parameters(first) == pytest.approx(65e6, rel=0.05)  # the paper rounds, and has 37,000 tokens


def test_reading_heads_and_families_tell_the_sizes_of_published_models() -> None:
    layers, heads = BERT.num_hidden_layers, BERT.num_attention_heads
    table = Lesson("reading_heads")["hugging-face-real"]
    assert f"| heads in all | 2 × 4, three kinds: 24 | {layers} × {heads}: {layers * heads} |" in table
    for name, theirs in (("bert-base", BERT), ("gpt2", GPT2)):
        mine = ModelConfig.preset(name)
        inner = getattr(theirs, "intermediate_size", None) or 4 * theirs.hidden_size
        sizes = (mine.n_encoder_layers + mine.n_decoder_layers, mine.d_model, mine.n_heads, mine.d_ff)
        assert sizes == (theirs.num_hidden_layers, theirs.hidden_size, theirs.num_attention_heads, inner)
    assert not Lesson("families").lacks(
        f"T5-Small has {T5.num_layers} + {T5.num_decoder_layers} layers of width {T5.d_model}, "
        f"{T5.num_heads} heads and an inner width of {T5.d_ff};",
        f"BART-Large has {BART.encoder_layers} + {BART.decoder_layers} layers of width {BART.d_model}, "
        f"{BART.encoder_attention_heads} heads and an inner width of {BART.encoder_ffn_dim}.",
        cell="predict-heads-text",
    )


def test_how_long_they_were_trained() -> None:
    found = rows("training")
    made = json.loads((ROOT / "data" / "en-es" / "made_by.json").read_text())
    run = made["training"]
    assert made["refinement"]["training"]["n_steps"] == run["n_steps"]  # “8,000 more”
    times = [f"{run['n_steps']:,} steps", f"{run['batch_size']} pairs", f"{run['warmup_steps']} steps"]
    assert found[OURS] == [*times, str(run["learning_rate"])]
    assert run["optimiser"] == "muon"
    peak = exercise("training.4").wanted.reference(4000, 512, 4000)
    assert found["the first Transformer, base (sections 5.1–5.3)"][2:] == ["4,000 steps", f"{peak:.4f}"]
