"""``python -m remit.demo``: the demo without the rest of the command line.

The same as ``remit demo``; it is here so that the demo runs where only the package is installed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from remit.demo.main import run


def main() -> int:
    """Read the options and play."""
    parser = argparse.ArgumentParser(
        prog="python -m remit.demo", description="The whole lifecycle."
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="a new or empty directory to use")
    parser.add_argument("--clean", action="store_true", help="remove everything afterwards")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quiet", action="store_true", help="leave the story out")
    options = parser.parse_args()
    return run(keep=options.keep, as_json=options.json, quiet=options.quiet, clean=options.clean)


if __name__ == "__main__":
    sys.exit(main())
