"""Experiments: what the lessons measure, each a function from a configuration to numbers."""
