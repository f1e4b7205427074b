"""Solutions to lesson 9, for teachers: the answer cell of each exercise, solved."""

# %% encoder_and_decoder.1
keys = [1, 4, 7, 16]


# %% encoder_and_decoder.2
def cross_attention(x, memory, w_q, w_k, w_v):
    """Return what x [target, d_model] finds in the memory [source, d_model]: [target, d_k]."""
    query, key, value = x @ w_q, memory @ w_k, memory @ w_v
    scores = query @ key.T / key.shape[-1] ** 0.5
    return scores.softmax(-1) @ value


# %% encoder_and_decoder.3
encoder_layer = 4 * 512 * 512 + (512 * 2048 + 2048 + 2048 * 512 + 512) + 2 * (512 + 512)


# %% encoder_and_decoder.4
def count_parameters(vocab_size, d_model, d_ff, n_layers):
    """Return how many parameters the whole model learns."""
    attention = 4 * d_model * d_model
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder_layer + decoder_layer)


# %% encoder_and_decoder.5
arguments = {
    "d_model": 256,
    "nhead": 4,
    "num_encoder_layers": 3,
    "num_decoder_layers": 3,
    "dim_feedforward": 1024,
    "dropout": 0.2,
    "batch_first": True,
}


# %% encoder_and_decoder.6
def scores_of_all_words(model, source_ids, target_ids):
    """Return the logits [sentence, target, vocabulary] that the model gives."""
    memory = model.encode(source_ids)
    return model.decode(target_ids, memory, model.padding_mask(source_ids))
