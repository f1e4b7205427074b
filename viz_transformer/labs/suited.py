"""Checks that a model suits a lab, and the text that a lab begins with where none is given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from viz_transformer.errors import UserError
from viz_transformer.text_model import TextModel

#: By task, what a model is called, and what loads it.
_NAMES = {"translate": "translator", "continue": "language model", "fill": "masked-word model"}
_LOADERS = {
    "translate": "vt.load_translator()",
    "continue": "vt.load_language_model()",
    "fill": "vt.load_masked_model()",
}


def check_suits(model: Any, tasks: Collection[str], lab: str) -> None:
    """Check that a model has one of the tasks that suit a lab.

    Args:
        model: any object.
        tasks: of ``"translate"``, ``"continue"`` and ``"fill"``.
        lab: what the lab does with the model, for the message.

    Raises:
        UserError: if it has not.
    """
    if isinstance(model, TextModel) and model.task in tasks:
        return
    if isinstance(model, TextModel):
        problem = f"{model.name} does not suit {lab}"
    else:
        problem = f"{model!r:.60} is no {' or '.join(_NAMES[task] for task in tasks)}"
    raise UserError(
        f"{problem}; give {' or '.join(f'a {_NAMES[task]} ({_LOADERS[task]})' for task in tasks)}"
    )


def text_for(model: TextModel, text: str | None, defaults: Mapping[str, str], lab: str) -> str:
    """Return the text given, or the default for what the model does with a text.

    Args:
        model: the model.
        text: a text, or None.
        defaults: a text for each task that suits the lab.
        lab: as in `check_suits`.

    Raises:
        UserError: as `check_suits`.
    """
    check_suits(model, defaults, lab)
    return defaults[model.task] if text is None else text
