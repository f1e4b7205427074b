"""The training scrubber: a recorded training, dragged through moment by moment."""

from viz_transformer.widgets.training_scrubber.view import TrainingScrubber, watch_training

__all__ = ["TrainingScrubber", "watch_training"]
