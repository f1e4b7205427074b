"""Tracing: any model, or weights, to a `ForwardTrace`; the implementation of `vt.capture`.

    api.capture ─▶ CaptureInputs ─▶ an adapter ─▶ RawAttention ─▶ assemble ─▶ ForwardTrace

`inputs` parses what was given once, `labels` its token labels (`byte_level` reads those of bytes), and
`selection` which layers and heads are kept. `modules` runs our models and torch's, whose attention calls
`attention_calls` records and `call_kinds` sorts, after `runs` made one map of each place in the model,
while `head_modules` sees which of them are the heads of one layer; `huggingface` asks the model for its
weights, while `watched_layers` sees which layer made which, on a text that `written_text` lets it write if
it is told to; `hooked_models` runs TransformerLens' and `wrapped_models` takes a model out of other
libraries' wrappers; `position_biases` sees what is added to scores for relative positions; `adapters`
chooses among these. `arrays` takes weights that exist already, without torch, and `named_weights` finds
them in caches and outputs. Steps become whole maps in `joined_steps`; bands, blocks and windows in
`whole_maps`, `block_maps` and `window_maps`; `refusals` says why some kinds of model cannot be traced.
Every adapter returns a `RawAttention`, and `assemble` makes the trace of it or says what does not fit.
`virtual_tokens` are those of PEFT; `verify` holds what a model returned against what it attended by, and
`restore` leaves the model as it was.
"""

from viz_transformer.tracing.api import capture

__all__ = ["capture"]
