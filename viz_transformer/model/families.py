"""The encoder-only and decoder-only families, made of the same layers.

`EncoderOnly` reads a text in both directions and gives a vector per position, or a class for the
whole text (BERT, DistilBERT). `DecoderOnly` reads from left to right and scores the next word at
every position (GPT-2): with no source there is nothing to look across at, so its layers are the
encoder's behind a causal mask. Each has a traced variant with the same parameters and results.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viz_transformer.config import Family, ModelConfig
from viz_transformer.config.parameters import check_fits
from viz_transformer.errors import UserError
from viz_transformer.model.attention import KeysValues, attend, attend_fused
from viz_transformer.model.autoregressive import AutoregressiveModel, DecoderInputs, Sources
from viz_transformer.model.inputs import check_ids, check_segments
from viz_transformer.model.interventions import UNCHANGED, Interventions, checked
from viz_transformer.model.layers import Dropout, Encoder, initialise
from viz_transformer.model.masks import padding_mask
from viz_transformer.model.outputs import DecoderCache, LayerCache, ModelOutput
from viz_transformer.model.positional import embedding_scale, make_positions


def check_room(config: ModelConfig) -> None:
    """Refuse a model that the machine cannot hold; on the meta device none takes any memory.

    Raises:
        UserError: if it is too large.
    """
    if torch.get_default_device().type == "cpu":
        check_fits(config, torch.get_default_dtype().itemsize)


def of_family(family: Family, config: ModelConfig) -> ModelConfig:
    """Return the config as one of the family: that of a half, from that of the whole.

    Raises:
        UserError: if the config is of the other half, or the model too large for the machine.
    """
    if config.family not in (family, "encoder-decoder"):
        raise UserError(
            f"the configuration is of the family {config.family!r} and has no {family}; "
            f"make it with family={family!r}"
        )
    if config.family != family:
        config = _half_of(family, config)
    check_room(config)
    return config


def _half_of(family: Family, config: ModelConfig) -> ModelConfig:
    vocab_size = config.vocab_size if family == "encoder" else config.output_vocab_size
    return replace(
        config,
        family=family,
        vocab_size=vocab_size,
        target_vocab_size=None,
        start_id=None,
        output_bias=False,
    )


class Embedding(nn.Module):
    """Ids to vectors: the sum of a word's, its position's and its segment's, where there are such.

    Source: Devlin et al. 2019, section 3 and figure 2; without segments Vaswani et al. 2017,
    sections 3.4 and 3.5.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.words = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = make_positions(config)
        self.segments = nn.Embedding(config.n_segments, config.d_model) if config.n_segments else None
        self.scale = embedding_scale(config)
        norm = config.embedding_norm
        self.norm = nn.LayerNorm(config.d_model, config.layer_norm_eps) if norm else nn.Identity()
        self.dropout = Dropout(config.dropout)

    def forward(
        self,
        ids: Int[Tensor, "batch position"],
        segment_ids: Int[Tensor, "batch position"] | None = None,
        interventions: Interventions = UNCHANGED,
        start: int = 0,
    ) -> Float[Tensor, "batch position d_model"]:
        """Return the vectors; where no segments are given, all words are in the first."""
        x = self.words(ids) * self.scale  # [batch, position, d_model]
        x = x + self.position_vectors(ids.shape[1], interventions, start)
        if self.segments is not None:
            segment_ids = torch.zeros_like(ids) if segment_ids is None else segment_ids
            x = x + self.segments(segment_ids) * self.scale
        return self.dropout(self.norm(x))

    def position_vectors(
        self, length: int, interventions: Interventions = UNCHANGED, start: int = 0
    ) -> Float[Tensor, "{length} d_model"]:
        """Return what is added to the words at the positions from `start` on, [length, d_model]."""
        vectors = self.positions(length, start)  # [length, d_model]
        return vectors if interventions.positions else torch.zeros_like(vectors)


class EncoderOnly(nn.Module):
    """An encoder that reads a text in both directions, with or without a head.

    The classification head looks at the first position alone (BERT puts a ``[CLS]`` there), passes
    it through the pooler, if there is one, and scores the classes. The masked-language-model head scores
    every word of the vocabulary at every position, as a softmax over the vocabulary does.

    >>> import torch
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import EncoderOnly
    >>> config = ModelConfig(family="encoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16)
    >>> tuple(EncoderOnly(config)(torch.tensor([[1, 5, 7]])).shape)
    (1, 3, 8)

    Args:
        config: of the family ``"encoder"``; of ``"encoder-decoder"``, its encoder is made.

    Raises:
        UserError: if the config has no encoder.

    Source: Devlin et al. 2019, section 3, and section 3.1 for masked words; Sanh et al. 2019.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config = of_family("encoder", config)
        self.embedding = Embedding(config)
        self.encoder = Encoder(config)
        if config.pooler != "none":
            self.pooler = nn.Linear(config.d_model, config.d_model)
        if config.n_classes:
            self.classifier = nn.Linear(config.d_model, config.n_classes)
        if config.predicts_words and not config.tie_embeddings:
            self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.dropout = Dropout(config.dropout)
        self.apply(initialise)

    def forward(
        self,
        source_ids: Int[Tensor, "batch source"],
        segment_ids: Int[Tensor, "batch source"] | None = None,
    ) -> (
        Float[Tensor, "batch source d_model"]
        | Float[Tensor, "batch classes"]
        | Float[Tensor, "batch source vocab"]
    ):
        """Read a batch of texts.

        Args:
            source_ids: token ids [batch, source], padded with `config.pad_id`.
            segment_ids: [batch, source], which of `config.n_segments` each word belongs to; None
                puts all into the first.

        Returns:
            With a classification head (`config.n_classes`), the classes' logits [batch, classes];
            with the masked-language-model head (`config.predicts_words`), the words' [batch, source, vocab];
            without a head, the vectors [batch, source, d_model].

        Raises:
            UserError: if ids are not whole numbers [batch, position] in range, are longer than
                max_length, or the segments do not fit them.
        """
        x = self.encode(source_ids, segment_ids)
        logits = self.logits(x)
        return x if logits is None else logits

    def encode(
        self,
        source_ids: Int[Tensor, "batch source"],
        segment_ids: Int[Tensor, "batch source"] | None = None,
    ) -> Float[Tensor, "batch source d_model"]:
        """Return the vectors [batch, source, d_model], whether there is a head or not.

        Raises:
            UserError: as `forward`.
        """
        x = self.embed(source_ids, segment_ids)
        x, _ = self.encoder(x, self.padding_mask(source_ids), attend_fused)
        return x

    def embed(
        self,
        source_ids: Int[Tensor, "batch source"],
        segment_ids: Int[Tensor, "batch source"] | None = None,
        interventions: Interventions = UNCHANGED,
    ) -> Float[Tensor, "batch source d_model"]:
        """Turn ids into vectors: word plus position plus segment."""
        config, device = self.config, self.embedding.words.weight.device
        check_ids("source_ids", source_ids, config.vocab_size, config.max_length, device=device)
        if segment_ids is not None:
            check_segments(segment_ids, source_ids, config.n_segments)
        return self.embedding(source_ids, segment_ids, interventions)

    def pool(self, x: Float[Tensor, "batch source d_model"]) -> Float[Tensor, "batch d_model"]:
        """Return one vector for each text: the first position's, passed through the pooler."""
        first = x[:, 0]  # [batch, d_model]
        if self.config.pooler == "none":
            return first
        pooled = self.pooler(first)  # [batch, d_model]
        return pooled.tanh() if self.config.pooler == "tanh" else F.relu(pooled)

    def classify(self, x: Float[Tensor, "batch source d_model"]) -> Float[Tensor, "batch classes"]:
        """Score the classes from the vectors of `encode`.

        Raises:
            UserError: if the model has no classification head.
        """
        if not self.config.n_classes:
            raise UserError("the model has no classification head; make it with n_classes=2 or more")
        return self.classifier(self.dropout(self.pool(x)))  # [batch, classes]

    def score_words(self, x: Float[Tensor, "batch source d_model"]) -> Float[Tensor, "batch source vocab"]:
        """Score each word of the vocabulary at every position, from the vectors of `encode`.

        Raises:
            UserError: if the model has no masked-language-model head.
        """
        if not self.config.predicts_words:
            raise UserError("the model has no masked-language-model head; make it with predicts_words=True")
        words = self.embedding.words if self.config.tie_embeddings else self.output
        return F.linear(x, words.weight)  # [batch, source, vocab]

    def logits(
        self, x: Float[Tensor, "batch source d_model"]
    ) -> Float[Tensor, "batch classes"] | Float[Tensor, "batch source vocab"] | None:
        """Return what the head makes of the vectors of `encode`; None where there is no head."""
        if self.config.predicts_words:
            return self.score_words(x)
        return self.classify(x) if self.config.n_classes else None

    def padding_mask(
        self, ids: Int[Tensor, "batch key"], interventions: Interventions = UNCHANGED
    ) -> Bool[Tensor, "batch 1 1 key"]:
        """Return the padding mask of ids with the model's own `pad_id`."""
        mask = padding_mask(ids, self.config.padding_id)
        return mask if interventions.padding_mask else torch.ones_like(mask)


class TracedEncoderOnly(EncoderOnly):
    """An `EncoderOnly` that returns, beside its result, the attention weights of every head.

    >>> import torch
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import TracedEncoderOnly
    >>> config = ModelConfig(family="encoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16)
    >>> output = TracedEncoderOnly(config)(torch.tensor([[1, 5, 7]]))
    >>> tuple(output.encoder_attention[0].shape)  # [batch, head, query, key]
    (1, 2, 3, 3)

    Args:
        config: the sizes and choices, as of an `EncoderOnly`.
    """

    def forward(  # type: ignore[override]
        self,
        source_ids: Int[Tensor, "batch source"],
        segment_ids: Int[Tensor, "batch source"] | None = None,
        interventions: Interventions | None = None,
    ) -> ModelOutput:
        """Do what `EncoderOnly.forward` does, and keep what it throws away.

        Args:
            source_ids: token ids [batch, source].
            segment_ids: [batch, source], or None.
            interventions: what to switch off or replace in this call; None changes nothing.

        Returns:
            A ModelOutput with `encoder_attention`, `source_positions` and `last_hidden_state`, and
            with `logits` if there is a head.

        Raises:
            UserError: as `EncoderOnly.forward`, or if the interventions do not fit the model.
        """
        changes = checked(interventions, self.config)
        x = self.embed(source_ids, segment_ids, changes)
        mask = self.padding_mask(source_ids, changes)
        x, encoder_attention = self.encoder(x, mask, attend, changes)
        return ModelOutput(
            logits=self.logits(x),
            encoder_attention=encoder_attention,
            source_positions=self.embedding.position_vectors(source_ids.shape[1], changes),
            last_hidden_state=x,
        )


class DecoderOnly(AutoregressiveModel):
    """A language model: at every position it scores the words that may come next.

    >>> import torch
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import DecoderOnly
    >>> config = ModelConfig(family="decoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16)
    >>> tuple(DecoderOnly(config)(torch.tensor([[1, 5, 7]])).shape)  # [batch, position, vocab]
    (1, 3, 10)

    Args:
        config: of the family ``"decoder"``; of ``"encoder-decoder"``, its decoder is made, without
            cross-attention.

    Raises:
        UserError: if the config has no decoder.

    Source: Radford et al. 2019, section 2.3; Liu et al. 2018, section 4.2.3.
    """

    decoder: Encoder
    continues_source = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config = of_family("decoder", config)
        self.embedding = Embedding(config)
        self.decoder = Encoder(config)
        if not config.tie_embeddings:
            self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.output_bias:
            self.output_bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.apply(initialise)

    def forward(self, target_ids: Int[Tensor, "batch target"]) -> Float[Tensor, "batch target vocab"]:
        """Score, at every position, each word of the vocabulary as the next one.

        Args:
            target_ids: token ids [batch, target], padded with `config.pad_id` if there is one.

        Returns:
            logits [batch, target, vocab]; position i has seen the text up to i.

        Raises:
            UserError: if ids are not whole numbers [batch, position] in range, or are longer than
                max_length.
        """
        return self.logits(self.decode(target_ids))

    def decode(self, target_ids: Int[Tensor, "batch target"]) -> Float[Tensor, "batch target d_model"]:
        """Return the vectors [batch, target, d_model] from which the words are scored.

        Raises:
            UserError: as `forward`.
        """
        x = self.embed_target(target_ids)
        x, _ = self.decoder(x, self.target_mask(target_ids), attend_fused)
        return x

    def start_decoding(self, n_texts: int) -> DecoderCache:
        """Return the cache from which `decode_step` reads the first word of `n_texts` texts."""
        weight = self.target_words.weight
        nothing = weight.new_empty(n_texts, self.config.n_heads, 0, self.config.d_head)
        mask = torch.ones(n_texts, 1, 1, 0, dtype=torch.bool, device=weight.device)
        empty = LayerCache(KeysValues(nothing, nothing), None)
        return DecoderCache((empty,) * len(self.decoder.layers), mask)

    def decoder_inputs(
        self, sources: Sources, sos_id: int, pad_id: int, interventions: Interventions | None = None
    ) -> DecoderInputs:
        """Return the sources, all of one length, as what is read first: there is no encoder."""
        ids = torch.tensor([list(source) for source in sources])  # [sentence, position]
        check_ids("target_ids", ids, self.config.vocab_size, self.config.max_length)
        return DecoderInputs(ids, self.start_decoding(len(ids)))

    def embed_unchecked(
        self, ids: Int[Tensor, "batch target"], start: int = 0, interventions: Interventions = UNCHANGED
    ) -> Float[Tensor, "batch target d_model"]:
        """Do what `embed_target` does, with ids that are known to fit."""
        return self.embedding(ids, interventions=interventions, start=start)

    @property
    def target_words(self) -> nn.Embedding:
        """The embedding of the words that the model reads and writes."""
        return self.embedding.words


class TracedDecoderOnly(DecoderOnly):
    """A `DecoderOnly` that returns, beside its logits, the attention weights of every head.

    >>> import torch
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import TracedDecoderOnly
    >>> config = ModelConfig(family="decoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16)
    >>> output = TracedDecoderOnly(config)(torch.tensor([[1, 5, 7]]))
    >>> tuple(output.decoder_attention[0].shape)  # [batch, head, query, key]
    (1, 2, 3, 3)

    Args:
        config: the sizes and choices, as of a `DecoderOnly`.
    """

    def forward(  # type: ignore[override]
        self, target_ids: Int[Tensor, "batch target"], interventions: Interventions | None = None
    ) -> ModelOutput:
        """Do what `DecoderOnly.forward` does, and keep what it throws away.

        Args:
            target_ids: token ids [batch, target].
            interventions: what to switch off or replace in this call; None changes nothing.

        Returns:
            A ModelOutput with `logits`, `decoder_attention`, `target_positions` and
            `last_hidden_state`.

        Raises:
            UserError: as `DecoderOnly.forward`, or if the interventions do not fit the model.
        """
        changes = checked(interventions, self.config)
        x = self.embed_target(target_ids, interventions=changes)
        mask = self.target_mask(target_ids, changes)
        x, decoder_attention = self.decoder(x, mask, attend, changes)
        return ModelOutput(
            logits=self.logits(x),
            decoder_attention=decoder_attention,
            target_positions=self.embedding.position_vectors(target_ids.shape[1], changes),
            last_hidden_state=x,
        )
