"""Recorded trainings in files, those of the bundled models and others, loaded without torch."""

from __future__ import annotations

import os

from viz_transformer._files import bundled, given_path
from viz_transformer.errors import UserError
from viz_transformer.trace import TrainingTrace

#: File name of the recorded training beside its checkpoint.
TRAINING_TRACE = "training.npz"
#: The recorded trainings that come with the package.
BUNDLED_TRAININGS = {
    "en-es": "data/en-es/training.npz",
    "language-model": "data/language-model/training.npz",
    "masked-model": "data/masked-model/training.npz",
    "six-pairs-0": "data/six-pairs/seed-0.npz",
    "six-pairs-1": "data/six-pairs/seed-1.npz",
    "six-pairs-large": "data/six-pairs/large.npz",
}


def load_training(name: str | os.PathLike[str], *, checked: bool = True) -> TrainingTrace:
    """Load a recorded training.

    >>> import viz_transformer as vt
    >>> vt.load_training("language-model").moments[0].step
    0

    Args:
        name: ``"en-es"``, ``"language-model"`` or ``"masked-model"``, those of the bundled models;
            ``"six-pairs-0"`` and ``"six-pairs-1"``, the
            tiny model's with two seeds; ``"six-pairs-large"``, that of a model too large for six
            pairs. Or the path of a file that `TrainingTrace.save` wrote, or of a trained folder.
        checked: whether the file's content must be what was saved; False loads a changed one as it is.

    Raises:
        UserError: if there is no such training.
        FileError: if its file is damaged.
    """
    if isinstance(name, str) and name in BUNDLED_TRAININGS:
        return TrainingTrace.load(bundled(BUNDLED_TRAININGS[name]))
    path = given_path(name)
    path = path / TRAINING_TRACE if path.is_dir() else path
    if not path.is_file():
        raise UserError(
            f"no recorded training {str(name)!r}; choose one of {list(BUNDLED_TRAININGS)}, or "
            f"give a file, or a folder with a {TRAINING_TRACE}"
        )
    return TrainingTrace.load(path, checked=checked)
