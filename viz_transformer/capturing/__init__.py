"""Capturing: any model, or weights, to a `ForwardTrace`; the code behind `vt.capture`.

    arguments, inputs ─▶ an adapter, with its watches ─▶ RawAttention ─▶ assemble ─▶ ForwardTrace

`api` takes the call. `arguments` are the labels and what a trace keeps, `inputs` what the model reads. There
is an adapter for each kind of model: `huggingface` asks the model for its weights, `modules` runs ours and
any other torch module, `hooked_models` those of TransformerLens, and `arrays` takes weights that exist
already, without torch. All return a `RawAttention`, which `assemble` makes a trace of, or a message about
what does not fit.

`running` runs a model, watches its modules by hooks, and leaves it as it was. `attention_calls` and
`softmax_calls` record the attention that a module computes without returning it, and `call_kinds` finds the
layer and the sequences of each call. `whole_maps` makes maps of bands, blocks and windows, `generating` lets
a model write the text that it then reads, `pictures` finds the patches of a picture, and `verify` compares
what a model returned with what it attended by.
"""

from viz_transformer.capturing.api import capture

__all__ = ["capture"]
