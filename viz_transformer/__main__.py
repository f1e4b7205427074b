"""``python -m viz_transformer`` is ``viz-transformer``."""

import sys

from viz_transformer.cli import main

if __name__ == "__main__":
    sys.exit(main())
