"""Any model in, a `ForwardTrace` out.

`api` holds `capture` and chooses the way. `modules` runs our models and torch's, where `calls`
sees every attention call and `classify` says whose it is; `huggingface` asks the model itself;
`arrays` takes weights that are there already. `labels` names the positions, `restore` leaves the
model as it was, and `assemble` makes the trace, or refuses what does not fit.
"""

from viz_transformer.tracing.api import capture

__all__ = ["capture"]
