"""Conversion of Hugging Face models: BERT, DistilBERT, GPT-2 and Marian (opus-mt) as ours.

The numbers are the same: hidden states, logits and every head's weights. Only names and the way of
storing differ, and the modules here write those differences down, one family each: `bert`, `gpt2`
and `marian`. The library transformers is not imported: a model is known by its `config` and its
`state_dict()`.
"""

from collections.abc import Callable

from torch import nn

from viz_transformer.config import Family
from viz_transformer.errors import UserError
from viz_transformer.model.families import DecoderOnly, EncoderOnly
from viz_transformer.model.huggingface.bert import read_bert, read_distilbert
from viz_transformer.model.huggingface.gpt2 import read_gpt2
from viz_transformer.model.huggingface.marian import read_marian
from viz_transformer.model.huggingface.reading import Reading
from viz_transformer.model.transformer import Transformer

__all__ = ["from_huggingface"]

_READERS: dict[str, Callable[[nn.Module], Reading]] = {
    "bert": read_bert,
    "distilbert": read_distilbert,
    "gpt2": read_gpt2,
    "marian": read_marian,
}
_FAMILIES: dict[Family, type[Transformer | EncoderOnly | DecoderOnly]] = {
    "encoder-decoder": Transformer,
    "encoder": EncoderOnly,
    "decoder": DecoderOnly,
}


def from_huggingface(model: nn.Module) -> Transformer | EncoderOnly | DecoderOnly:
    """Return our own model with the weights of a Hugging Face model.

        from_huggingface(BertModel(config))                                   # random weights
        from_huggingface(AutoModel.from_pretrained("bert-base-uncased"))      # needs the network
        from_huggingface(AutoModelForSeq2SeqLM.from_pretrained("Helsinki-NLP/opus-mt-en-es"))

    Padding is told by `config.pad_id`, so what they take as `attention_mask`, ours finds itself. A
    traced twin is made as for any other model: `TracedEncoderOnly(ours.config)` and then
    `load_state_dict(ours.state_dict())`. Weights are copied, never shared; dtype, device and mode
    (training or evaluation) are kept. Ours has one dropout rate, that of their hidden layers.

    >>> import transformers
    >>> import viz_transformer as vt
    >>> sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    >>> theirs = transformers.BertModel(transformers.BertConfig(vocab_size=20, **sizes))
    >>> type(vt.from_huggingface(theirs)).__name__
    'EncoderOnly'

    Args:
        model: a BertModel, BertForSequenceClassification, DistilBertModel,
            DistilBertForSequenceClassification, GPT2Model, GPT2LMHeadModel, MarianModel or
            MarianMTModel.

    Returns:
        EncoderOnly for BERT and DistilBERT (its result is their `last_hidden_state`, or the logits
        of their classification head), DecoderOnly for GPT-2 and Transformer for Marian (logits).

    Raises:
        UserError: if the model is of another type, or has an option that ours has not; the message
            names it.
    """
    model_type = getattr(getattr(model, "config", None), "model_type", None)
    if not isinstance(model, nn.Module) or model_type is None:
        raise UserError(
            f"{model!r:.60} is not a Hugging Face model; give the model itself, such as "
            "AutoModel.from_pretrained('bert-base-uncased')"
        )
    if model_type not in _READERS:
        raise UserError(
            f"a Hugging Face model of the type {model_type!r} ({type(model).__name__}) cannot be "
            f"mapped; the types that can be are {list(_READERS)}"
        )
    config, weights = _READERS[model_type](model)
    ours = _FAMILIES[config.family](config).to(next(iter(weights.values())))
    ours.load_state_dict(weights)
    return ours.train(model.training)
