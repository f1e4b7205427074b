"""Print constraints.txt for the packages installed beside this Python: `make lock` calls it."""

import re
import sys
from importlib.metadata import distributions

HEADER = """\
# Exact versions that this project is tested with. Written by `make lock`; do not edit by hand.
"""
#: The project itself, and what installs it.
LEFT_OUT = {"viz-transformer", "pip"}


def constraints() -> str:
    """Return one `name==version` line a package, without local suffixes such as `+cpu`.

    A pin without a suffix is met by each build of that version, so that every machine may take
    the build that suits it.
    """
    pins = {}
    for distribution in distributions():
        name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
        # What only the CUDA build of torch asks for is pinned by torch itself.
        if name not in LEFT_OUT and not re.match(r"nvidia-|cuda-|triton$", name):
            pins[name] = distribution.version.partition("+")[0]
    return HEADER + "".join(f"{name}=={version}\n" for name, version in sorted(pins.items()))


if __name__ == "__main__":
    sys.stdout.write(constraints())
