"""Several threads of one process share a ledger and its commits, and the process kills itself.

``python -m tests.crash.together URL STEP CALLS LOG …``: one thread a record, each making its calls; the
process dies the STEPth time that the store comes to any step of a write, or says how many there were.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from tests.ground.load import Load
from tests.ground.sidelog import SideLog

from remit.service.group import GroupEngine
from remit.wiring import Settings, open_ledger


def main() -> None:
    """Work as the arguments say."""
    url, step, calls, *logs = sys.argv[1:]
    ledger = open_ledger(url, Settings(group_wait_ms=2))
    passed = 0

    def pause(_step: str) -> None:
        nonlocal passed
        passed += 1
        if passed == int(step):
            os.kill(os.getpid(), signal.SIGKILL)

    start = threading.Barrier(len(logs))

    def work(log: str) -> None:
        load = Load(ledger, SideLog(Path(log)), log, Path(log).name)
        start.wait(60)
        for _ in range(int(calls)):
            load.step()

    ledger.store.pause = pause  # type: ignore[attr-defined]  # of both stores
    threads = [threading.Thread(target=work, args=(log,)) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine = ledger.engine
    assert isinstance(engine, GroupEngine)
    joined = engine.grouped_calls - engine.groups
    ledger.close()
    print(json.dumps({"steps": passed, "joined": joined}), flush=True)


if __name__ == "__main__":
    main()
