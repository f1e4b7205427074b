"""The exercise form: an exercise that is answered and checked in a page."""

from viz_transformer.widgets.exercise_form.view import ExerciseForm

__all__ = ["ExerciseForm"]
