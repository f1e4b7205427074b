"""Any model in, a `ForwardTrace` out.

`door` holds `capture` and chooses the way. `modules` runs our models and torch's, where `calls`
sees every attention call and `sorting` says whose it is; `huggingface` asks the model itself;
`arrays` takes weights that are there already. `labels` names the positions, `state` leaves the
model as it was, and `assemble` makes the trace, or refuses what does not fit.
"""

from viz_transformer.capture.door import capture

__all__ = ["capture"]
