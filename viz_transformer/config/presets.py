"""Published model sizes by name, for `ModelConfig.preset`.

Only what differs from the defaults of `ModelConfig` is written down here.

Sources: Vaswani et al. 2017, table 3 (base and big); Devlin et al. 2019, section 3 (BERT); Sanh
et al. 2019, section 3 (DistilBERT); Radford et al. 2019, table 2 (GPT-2); and the configurations
published with the models' weights.
"""

from __future__ import annotations

from typing import Any

_BERT: dict[str, Any] = {
    "family": "encoder",
    "vocab_size": 30_522,
    "d_model": 768,
    "n_heads": 12,
    "n_encoder_layers": 12,
    "d_ff": 3072,
    "positional": "learned",
    "activation": "gelu",
    "n_segments": 2,
    "scale_embeddings": False,
    "embedding_norm": True,
    "pooler": "tanh",
    "layer_norm_eps": 1e-12,
}

_GPT2: dict[str, Any] = {
    "family": "decoder",
    "vocab_size": 50_257,
    "d_model": 768,
    "n_heads": 12,
    "n_decoder_layers": 12,
    "d_ff": 3072,
    "max_length": 1024,
    "norm": "pre",
    "positional": "learned",
    "activation": "gelu_tanh",
    "pad_id": None,
    "scale_embeddings": False,
}

#: Each preset's values, beside the defaults of `ModelConfig`.
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {
        "vocab_size": 35,
        "d_model": 32,
        "n_heads": 4,
        "n_encoder_layers": 2,
        "n_decoder_layers": 2,
        "d_ff": 64,
        "max_length": 64,
        "dropout": 0.0,
        "bias": False,
    },
    "transformer-base": {},
    "transformer-big": {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "dropout": 0.3},
    "bert-base": _BERT,
    "bert-large": _BERT | {"d_model": 1024, "n_heads": 16, "n_encoder_layers": 24, "d_ff": 4096},
    # Half of BERT's layers, and neither segments nor a pooler.
    "distilbert": _BERT | {"n_encoder_layers": 6, "n_segments": 0, "pooler": "none"},
    "gpt2": _GPT2,
    "gpt2-medium": _GPT2 | {"d_model": 1024, "n_heads": 16, "n_decoder_layers": 24, "d_ff": 4096},
    "gpt2-large": _GPT2 | {"d_model": 1280, "n_heads": 20, "n_decoder_layers": 36, "d_ff": 5120},
}
