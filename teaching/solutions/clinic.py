# %% clinic.1
def softmax(scores):
    """Turn each row of scores [..., key] into weights that add up to 1."""
    exponentials = torch.exp(scores - scores.amax(-1, keepdim=True))
    return exponentials / exponentials.sum(-1, keepdim=True)


# %% clinic.2
def add_positions(x, table):
    """Add to each word the row of the table for its position."""
    return x + table[: x.shape[1]]


# %% clinic.3
def additive_scores(query, key, w_q, w_k, v):
    """Score every query with every key: [batch, n_q, n_k]."""
    q = (query @ w_q).unsqueeze(2)
    k = (key @ w_k).unsqueeze(1)
    return torch.tanh(q + k) @ v


# %% clinic.4
def attention(query, key, value, mask):
    """Scaled dot-product attention; mask: bool [query, key], True = may attend."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ value


# %% clinic.5
def masked_weights(scores, mask):
    """Return weights [batch, query, key]: rows add up to 1, or are zeros if all is hidden."""
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1) * mask.any(-1, keepdim=True)


# %% clinic.6
def causal_self_attention(attention, x):
    """Let each word look at itself and at those before it."""
    length = x.shape[1]
    future = torch.ones(length, length, dtype=torch.bool).triu(1)  # True = may not attend
    output, _ = attention(x, x, x, attn_mask=future)
    return output


# %% clinic.7
def decoder_masks(source_ids, target_ids, pad_id=0):
    """Return the masks of self-attention [batch, 1, query, key] and cross-attention."""
    length = target_ids.shape[1]
    causal = torch.ones(length, length, dtype=torch.bool).tril()  # [query, key]
    is_target_word = (target_ids != pad_id)[:, None, None]  # [batch, 1, 1, key]
    is_source_word = (source_ids != pad_id)[:, None, None]  # [batch, 1, 1, source]
    return is_target_word & causal, is_source_word


# %% clinic.8
def next_word_loss(model, source, target, pad_id=0):
    """Return the mean loss of a word."""
    logits = model(source, target[:, :-1])
    return F.cross_entropy(logits.transpose(1, 2), target[:, 1:], ignore_index=pad_id)


# %% clinic.9
def self_attention(x, w_qkv, n_heads):
    """Causal self-attention of several heads, without W_O."""
    batch, length, d_model = x.shape
    q, k, v = (
        part.unflatten(-1, (n_heads, -1)).transpose(1, 2)  # [batch, head, position, d_head]
        for part in (x @ w_qkv).chunk(3, dim=-1)
    )
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # [batch, head, query, key]
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    heads = scores.masked_fill(future, float("-inf")).softmax(-1) @ v
    return heads.transpose(1, 2).reshape(batch, length, d_model)


# %% clinic.10
class CrossAttention(nn.Module):
    """One head: queries from one sequence, keys and values from another."""

    def __init__(self, d_model):
        super().__init__()
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value):
        q = self.w_q(query)
        k = self.w_k(key)
        v = self.w_v(value)
        weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
        return self.w_o(weights @ v)


# %% clinic.11
class Block(nn.Module):
    """Attention and a feed-forward network, each with its residual and LayerNorm."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )

    def forward(self, x, may_not=None, padding=None):
        """x: [batch, position, d_model]; the masks: see above."""
        attended, _ = self.attention(x, x, x, attn_mask=may_not, key_padding_mask=padding)
        x = self.norm_1(x + attended)
        return self.norm_2(x + self.feed_forward(x))


# %% clinic.12
class Stack(nn.Module):
    """Different layers, one after another."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(n_layers)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


# %% clinic.13
class TiedTable(nn.Module):
    """One table of word vectors, on the way in and on the way out."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.d_model = d_model
        self.table = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.table.weight, std=d_model**-0.5)

    def embed(self, ids):
        """Ids [batch, position] -> vectors [batch, position, d_model]."""
        return self.table(ids) * math.sqrt(self.d_model)

    def logits(self, x):
        """Vectors [batch, position, d_model] -> logits [batch, position, vocab]."""
        return x @ self.table.weight.T


# %% clinic.14
def beam_search(step, width, max_length):
    """Return the finished hypotheses: pairs of words and log-probability, each once."""
    beam, finished = [((), 0.0)], []
    for _ in range(max_length):
        grown = []
        for words, log_prob in beam:
            for word, more in step(words).items():
                grown.append(((*words, word), log_prob + more))
        grown.sort(key=lambda hypothesis: hypothesis[1], reverse=True)
        beam = grown[:width]
        finished += [each for each in beam if each[0][-1] == "<eos>"]
        beam = [each for each in beam if each[0][-1] != "<eos>"]
    return finished
