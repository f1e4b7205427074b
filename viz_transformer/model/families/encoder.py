"""Encoder-only models: a vector for every token; with a head a class for the text, or words."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model.attention import attend, attend_fused
from viz_transformer.model.dropout import Dropout
from viz_transformer.model.families.embedding import Embedding
from viz_transformer.model.families.family_config import of_family
from viz_transformer.model.init_weights import initialise
from viz_transformer.model.inputs import check_ids, check_segments
from viz_transformer.model.interventions import UNCHANGED, Interventions, checked
from viz_transformer.model.masks import padding_mask
from viz_transformer.model.output import ModelOutput
from viz_transformer.model.stacks import Encoder


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
