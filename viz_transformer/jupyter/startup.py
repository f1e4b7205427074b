"""Start-up script of a kernel of `viz-transformer lab` (Python's PYTHONSTARTUP)."""

from viz_transformer.jupyter.name_errors import explain_name_errors

explain_name_errors()
del explain_name_errors  # the learner starts with an empty namespace
