"""``python -m remit``: the command line without an installed script.

It exists so that a checkout can be used before anything is installed, and does nothing else.
"""

from __future__ import annotations

import sys

from remit.surfaces.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
