"""A supervisor to be killed: starts one hostile program and waits."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from remit.drain import supervision
from remit.drain.limits import Limits

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    hostile = Path(__file__).with_name("hostile.py")
    supervision.start(
        [sys.executable, str(hostile), *sys.argv[2:], str(folder)],
        environment={"PATH": os.environ["PATH"]},
        cwd=folder,
        limits=Limits(),
        records=folder,
        name="p",
    )
    print('"started"', flush=True)
    time.sleep(60)
