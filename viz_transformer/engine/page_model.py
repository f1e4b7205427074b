"""The widget that carries a trained model into a page, where its script computes with it."""

from __future__ import annotations

import hashlib

import anywidget
import traitlets

from viz_transformer.widgets.base.bundle import bundle


class PageModel(anywidget.AnyWidget):
    """A model's weights and vocabulary for the page. It draws nothing; views refer to it.

    A notebook or an exported page holds it once, however many views ask it.

    >>> import viz_transformer as vt
    >>> lab = vt.translation_lab(vt.load_translator(), "the black cat sleeps")
    >>> (model,) = lab.engine["models"].values()
    >>> type(model).__name__
    'PageModel'

    Attributes:
        config: the model's configuration as JSON.
        vocabulary: its vocabulary as JSON.
        weights: its parameters as safetensors.
        digest: what views find the model's engine by: equal contents have one.
    """

    _esm = bundle(__file__)

    config = traitlets.Unicode(help="the configuration, JSON").tag(sync=True)
    vocabulary = traitlets.Unicode(help="the vocabulary, JSON").tag(sync=True)
    weights = traitlets.Bytes(help="the parameters, safetensors").tag(sync=True)
    digest = traitlets.Unicode(help="SHA-256 of the contents").tag(sync=True)

    def __init__(self, config: str, vocabulary: str, weights: bytes) -> None:
        """Carry a model: the texts and bytes of the three files of its checkpoint."""
        super().__init__(
            config=config,
            vocabulary=vocabulary,
            weights=weights,
            digest=digest_of(config, vocabulary, weights),
        )

    def __repr__(self) -> str:
        """Return the size in short: all the traits would take a megabyte."""
        return f"PageModel({len(self.weights):,} bytes)"


def digest_of(config: str, vocabulary: str, weights: bytes) -> str:
    """Return the digest of a model's three parts."""
    parts = (config.encode(), vocabulary.encode(), weights)
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
