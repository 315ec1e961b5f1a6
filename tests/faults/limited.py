"""Fills a ledger under a limit on the size of any file, and says how far it came and what stopped it."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from tests.faults.test_disk import fill
from tests.ground.ledgers import opened

if __name__ == "__main__":
    ledger = opened(Path(sys.argv[1]))
    limit = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    acknowledged, error = fill(ledger)
    print(json.dumps([acknowledged, error.code.value]), flush=True)
