"""Run by a kernel of `viz-transformer lab` before its first cell (Python's PYTHONSTARTUP)."""

from viz_transformer.jupyter.names import explain_names

explain_names()
del explain_names  # a learner's own names begin with an empty page
