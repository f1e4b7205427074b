"""Initial weights of a new model."""

from torch import nn


def initialise(module: nn.Module) -> None:
    """Draw embeddings from N(0, 1/√d_model), matrices after Xavier; set biases to zero.

    For `nn.Module.apply`. Source: Glorot and Bengio 2010, equation 16, for the matrices.
    """
    if isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
    elif isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
