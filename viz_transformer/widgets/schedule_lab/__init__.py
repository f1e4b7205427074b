"""The schedule lab: a warm-up and its peak, and the training that they make."""

from viz_transformer.widgets.schedule_lab.view import ScheduleLab, schedule_lab

__all__ = ["ScheduleLab", "schedule_lab"]
