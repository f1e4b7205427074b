"""The encoder–decoder Transformer, from token ids to logits.

`Transformer` returns logits and computes attention the fast way. `TracedTransformer`, in `traced`,
is the same model, with the same parameters, that also returns what every head looked at.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model.attention import attend, attend_fused
from viz_transformer.model.autoregressive import AutoregressiveModel, DecoderInputs, Sources
from viz_transformer.model.families import check_room
from viz_transformer.model.inputs import check_batch, check_ids
from viz_transformer.model.interventions import UNCHANGED, Interventions, checked
from viz_transformer.model.layers import Decoder, Dropout, Encoder, initialise
from viz_transformer.model.masks import check_memory
from viz_transformer.model.outputs import DecoderCache, ModelOutput
from viz_transformer.model.positional import embedding_scale, make_positions


class Transformer(AutoregressiveModel):
    """The encoder–decoder of "Attention Is All You Need".

    >>> import torch
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import Transformer
    >>> config = ModelConfig(vocab_size=10, d_model=8, n_heads=2, d_ff=16)
    >>> model = Transformer(config)
    >>> tuple(model(torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6]])).shape)  # [batch, target, vocab]
    (1, 2, 10)

    Args:
        config: sizes and choices; the defaults are the paper's base model.

    Raises:
        UserError: if the config is that of another family.

    Source: Vaswani et al. 2017, section 3 and figure 1.
    """

    decoder: Decoder
    continues_source = False

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if config.family != "encoder-decoder":
            raise UserError(
                f"the configuration is of the family {config.family!r}, and Transformer is an "
                "encoder–decoder; make an EncoderOnly or a DecoderOnly of it"
            )
        check_room(config)
        self.config = config
        # Tied (section 3.4), one matrix serves source, target and output, and is stored once;
        # with a vocabulary of the target's own, one serves target and output.
        self.source_embedding = nn.Embedding(config.vocab_size, config.d_model)
        if config.has_target_embedding:
            self.target_embedding = nn.Embedding(config.output_vocab_size, config.d_model)
        if not config.tie_embeddings:
            self.output = nn.Linear(config.d_model, config.output_vocab_size, bias=False)
        if config.output_bias:
            self.output_bias = nn.Parameter(torch.zeros(config.output_vocab_size))
        self.source_positions = make_positions(config)
        self.target_positions = make_positions(config)
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.apply(initialise)

    def forward(
        self, source_ids: Int[Tensor, "batch source"], target_ids: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Score, at every target position, each word of the vocabulary as the next one.

        Args:
            source_ids: token ids [batch, source], padded with `config.pad_id`.
            target_ids: token ids [batch, target], starting with ``<sos>``.

        Returns:
            logits [batch, target, vocab]; position i has seen the target up to i.

        Raises:
            UserError: if ids are not whole numbers [batch, position] below vocab_size, are longer
                than max_length, or differ in batch size.
        """
        memory = self.encode(source_ids)
        return self._decode(target_ids, memory, self.padding_mask(source_ids))

    def encode(
        self,
        source_ids: Int[Tensor, "batch source"],
        interventions: Interventions | None = None,
    ) -> Float[Tensor, "batch source d_model"]:
        """Read the source: the encoder's output [batch, source, d_model], the decoder's memory.

        Raises:
            UserError: as `forward`, or if the interventions do not fit the model.
        """
        changes = checked(interventions, self.config)
        x = self.embed_source(source_ids, changes)
        memory, _ = self.encoder(x, self.padding_mask(source_ids, changes), attend_fused, changes)
        return memory

    def decode(
        self,
        target_ids: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "batch 1 1 source"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Return the logits [batch, target, vocab] for a source that `encode` has read.

        Args:
            target_ids: token ids [batch, target].
            memory: what `encode` returned, [batch, source, d_model].
            source_mask: `padding_mask` of the source ids, [batch, 1, 1, source].

        Raises:
            UserError: as `forward`, or if the memory is of another dtype or device than the
                model, or the source mask of another shape or False everywhere.
        """
        check_memory(memory, source_mask, self.source_embedding.weight)
        return self._decode(target_ids, memory, source_mask)

    def _decode(self, target_ids: Tensor, memory: Tensor, source_mask: Tensor) -> Tensor:
        x = self.embed_target(target_ids)
        check_batch(target_ids, memory)
        target_mask = self.target_mask(target_ids)
        x, _, _ = self.decoder(x, target_mask, memory, source_mask, attend_fused)
        return self.logits(x)

    def start_decoding(
        self,
        memory: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "batch 1 1 source"],
    ) -> DecoderCache:
        """Return the cache from which `decode_step` writes the first word.

        Raises:
            UserError: as `decode`.
        """
        check_memory(memory, source_mask, self.source_embedding.weight)
        return self.decoder.start(memory, source_mask)

    def decoder_inputs(
        self, sources: Sources, sos_id: int, pad_id: int, interventions: Interventions | None = None
    ) -> DecoderInputs:
        """Read the sources; the decoder begins with ``<sos>``."""
        device = self.source_embedding.weight.device
        rows = [torch.tensor(list(source), dtype=torch.long, device=device) for source in sources]
        ids = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)
        first_ids = torch.full((len(sources), 1), sos_id)  # [sentence, 1]
        memory = self.encode(ids, interventions)  # [sentence, source, d_model]
        return DecoderInputs(first_ids, self.start_decoding(memory, self.padding_mask(ids, interventions)))

    def embed_source(
        self, source_ids: Int[Tensor, "batch source"], interventions: Interventions = UNCHANGED
    ) -> Float[Tensor, "batch source d_model"]:
        """Turn source ids into vectors: word plus position.

        Raises:
            UserError: if the ids do not fit the model.
        """
        config, embedding = self.config, self.source_embedding
        device = embedding.weight.device
        check_ids("source_ids", source_ids, config.vocab_size, config.max_length, device=device)
        positions = self._position_vectors(self.source_positions, source_ids, 0, interventions)
        return self._embed(source_ids, embedding, positions)

    def embed_unchecked(
        self, ids: Int[Tensor, "batch target"], start: int = 0, interventions: Interventions = UNCHANGED
    ) -> Float[Tensor, "batch target d_model"]:
        """Do what `embed_target` does, with ids that are known to fit."""
        positions = self._position_vectors(self.target_positions, ids, start, interventions)
        return self._embed(ids, self.target_words, positions)

    @property
    def target_words(self) -> nn.Embedding:
        """The target's embedding, which the source shares where both have one vocabulary."""
        own = self.config.has_target_embedding
        return self.target_embedding if own else self.source_embedding

    def _embed(self, ids: Tensor, embedding: nn.Embedding, positions: Tensor) -> Tensor:
        x = embedding(ids) * embedding_scale(self.config)  # [batch, position, d_model]
        return self.dropout(x + positions)

    def _position_vectors(
        self, positions: nn.Module, ids: Tensor, start: int, interventions: Interventions
    ) -> Tensor:
        vectors = positions(ids.shape[1], start)  # [position, d_model]
        return vectors if interventions.positions else torch.zeros_like(vectors)


class TracedTransformer(Transformer):
    """A `Transformer` that returns, beside its logits, the attention weights of every head.

    >>> import torch
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import TracedTransformer
    >>> config = ModelConfig(vocab_size=10, d_model=8, n_heads=2, d_ff=16)
    >>> output = TracedTransformer(config)(torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6]]))
    >>> tuple(output.cross_attention[0].shape)  # [batch, head, target, source]
    (1, 2, 2, 3)

    Args:
        config: the sizes and choices, as of a `Transformer`.
    """

    def forward(  # type: ignore[override]
        self,
        source_ids: Int[Tensor, "batch source"],
        target_ids: Int[Tensor, "batch target"],
        interventions: Interventions | None = None,
    ) -> ModelOutput:
        """Do what `Transformer.forward` does, and keep what it throws away.

        Args:
            source_ids: token ids [batch, source].
            target_ids: token ids [batch, target].
            interventions: what to switch off or replace in this call; None changes nothing.

        Raises:
            UserError: as `Transformer.forward`, or if the interventions do not fit the model.
        """
        changes = checked(interventions, self.config)
        x = self.embed_source(source_ids, changes)
        source_mask = self.padding_mask(source_ids, changes)
        memory, encoder_attention = self.encoder(x, source_mask, attend, changes)

        x = self.embed_target(target_ids, interventions=changes)
        check_batch(target_ids, memory)
        target_mask = self.target_mask(target_ids, changes)
        x, decoder_attention, cross_attention = self.decoder(
            x, target_mask, memory, source_mask, attend, changes
        )
        return ModelOutput(
            logits=self.logits(x),
            encoder_attention=encoder_attention,
            decoder_attention=decoder_attention,
            cross_attention=cross_attention,
            source_positions=self._position_vectors(self.source_positions, source_ids, 0, changes),
            target_positions=self._position_vectors(self.target_positions, target_ids, 0, changes),
            last_hidden_state=x,
        )
