"""Tracing: any model, or weights, to a `ForwardTrace`; the implementation of `vt.capture`.

    api.capture ─▶ CaptureInputs ─▶ an adapter ─▶ RawAttention ─▶ assemble ─▶ ForwardTrace

`inputs` parses what was given once, `labels` its token labels. `modules` runs our models and
torch's, whose attention calls `attention_calls` records and sorts; `huggingface` asks the model
for its weights; `arrays` takes weights that exist already. Every adapter returns a `RawAttention`,
and `assemble` makes the trace of it or says what does not fit. `restore` leaves the model as it
was.
"""

from viz_transformer.tracing.api import capture

__all__ = ["capture"]
