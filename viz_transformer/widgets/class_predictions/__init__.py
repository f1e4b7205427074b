"""The answers of a class to its predictions, before and after a discussion."""

from viz_transformer.widgets.class_predictions.view import ClassPredictions

__all__ = ["ClassPredictions"]
