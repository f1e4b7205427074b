"""Errors for the user.

Each is one line: the value that was given, what was expected, and how to fix it. The command line
shows that line and exits with 2; a lesson shows it in place of a traceback. Any other exception is
a bug of ours and keeps its traceback.
"""

from __future__ import annotations

import re

#: Of a longer message, the middle is left out: its end says how to fix it.
_MOST_LETTERS = 1_000


#: The folder of the documentation in the project, for the messages that name a page.
DOCUMENTATION = "docs/"


class UserError(ValueError):
    """An input that can't be used; the message says how to fix it.

    >>> import viz_transformer as vt
    >>> try:
    ...     vt.load_translator().translate("the quick zebra sleeps")
    ... except vt.UserError:
    ...     print("the translator does not know a word")
    the translator does not know a word

    Args:
        message: what was given, what was expected and how to mend it.
    """

    def __init__(self, message: str) -> None:
        """Keep the message as one line, whatever it repeats of the input."""
        line = re.sub(r"\s*\n\s*", " ", message)
        if len(line) > _MOST_LETTERS:
            line = f"{line[: 2 * _MOST_LETTERS // 3]} … {line[-_MOST_LETTERS // 4 :]}"
        super().__init__(line)


class FileError(UserError, OSError):
    """A file or folder that cannot be read or written."""

    def __str__(self) -> str:
        """Return the message alone; OSError would put an errno before it."""
        return str(self.args[0])


class MissingPackageError(UserError, ModuleNotFoundError):
    """A package that only an extra brings and that is not installed; the message says which extra."""

    def __init__(self, message: str, name: str) -> None:
        """Keep the message, and the package's name, as ImportError does."""
        super().__init__(message)
        self.name = name
