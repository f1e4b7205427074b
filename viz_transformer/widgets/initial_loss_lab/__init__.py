"""The initial loss lab: an untrained model's scores and loss by the scale of its embeddings."""

from viz_transformer.widgets.initial_loss_lab.view import InitialLossLab

__all__ = ["InitialLossLab"]
