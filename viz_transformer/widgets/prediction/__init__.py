"""The prediction: a question that is answered before the result is shown."""

from viz_transformer.widgets.prediction.view import Prediction

__all__ = ["Prediction"]
