"""Builds a stage in the folder that it is given, in an environment of its own for git."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.crash.stage import build
from tests.ground.gitlab import settle

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    settle(folder.parent / "home")
    build(folder)
