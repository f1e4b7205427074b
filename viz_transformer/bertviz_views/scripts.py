"""bertviz's JavaScript, read from the installed package without importing it.

Importing bertviz loads torch and transformers, which drawing a trace does not need.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from viz_transformer._extras import missing
from viz_transformer.errors import UserError

#: What stands in bertviz's scripts where its Python writes the data.
_PLACE = "const params = PYTHON_PARAMS;"
# Where bertviz tells require.js which hosts to fetch from.
_ADDRESSES = re.compile(r"^require\.config\(\{.*?^\}\);\n", re.MULTILINE | re.DOTALL)


def bertviz_version() -> str:
    """Return the installed version.

    Raises:
        UserError: if bertviz is not installed.
    """
    try:
        return version("bertviz")
    except PackageNotFoundError as error:
        raise missing("bertviz") from error


@cache
def read_script(name: str) -> str:
    """Return bertviz's JavaScript of one view, which takes its data from `bertviz.params`.

    Raises:
        UserError: if bertviz is not installed, or its script is not laid out as in 1.4.
    """
    found = find_spec("bertviz")
    if found is None or not found.submodule_search_locations:
        raise missing("bertviz")
    path = Path(found.submodule_search_locations[0]) / f"{name}.js"
    script = path.read_text(encoding="utf-8") if path.is_file() else ""
    if script.count(_PLACE) != 1 or not _ADDRESSES.search(script):
        raise UserError(
            f"bertviz {bertviz_version()} has no {name} that works offline; install the "
            'version that this view is made for: pip install "bertviz==1.4.1"'
        )
    script = script.replace(_PLACE, "const params = bertviz.params;")
    return _ADDRESSES.sub("", script)
