"""Makes one call in a process of its own, so that it can be killed at any moment of it.

``python -m tests.crash.asking URL LOG CALL``: says ``"ready"`` once the ledger is open, makes the call
when a line comes, keeps a record of it, and says ``"told"`` after the answer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.ground.load import Load
from tests.ground.sidelog import SideLog

from remit.wiring import open_ledger

if __name__ == "__main__":
    url, log, asked = sys.argv[1:]
    ledger = open_ledger(url)
    with ledger.reading():  # a connection is there before the call begins
        pass
    print(json.dumps("ready"), flush=True)
    sys.stdin.readline()
    Load(ledger, SideLog(Path(log)), 0, "once").call(json.loads(asked))
    print(json.dumps("told"), flush=True)
    sys.stdin.read()
