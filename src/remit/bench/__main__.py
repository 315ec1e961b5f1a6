"""``python -m remit.bench``: the benchmarks without the rest of the command line.

It takes the same options as ``remit bench`` and gives the same table, so that a checkout can
be measured before its command line can.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from remit.bench.main import run


def main() -> int:
    """Read the options and run; returns the exit status."""
    parser = argparse.ArgumentParser(prog="remit.bench", description="Measure this machine.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    parser.add_argument("--plot", type=Path, help="draw the figures into this SVG file")
    parser.add_argument("--store", default="", help="sqlite or postgresql; both unless it is said")
    options = parser.parse_args()
    return run(
        quick=options.quick,
        as_json=options.json,
        out=options.out,
        plot=options.plot,
        store=options.store,
    )


if __name__ == "__main__":
    sys.exit(main())
