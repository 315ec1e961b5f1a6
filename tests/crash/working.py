"""A caller in a process of its own, for whoever wants to kill it or to fail what it asks the system.

``python -m tests.crash.working URL LOG NAME SEED CALLS [EARLIER LOG …]`` first asks again what earlier
records leave open, then makes its calls, then asks again what failed or stayed unknown. It says one
JSON object: how many calls failed in which way. Calls fail by an injected fault only, so a third
failure of the same call is one of the product.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from tests.ground.load import AWAY, UNKNOWN, Load, exit_status
from tests.ground.sidelog import SideLog, open_calls

from remit.ports import RemitError
from remit.wiring import Ledger, open_ledger

TRIES = 3


def begun(url: str, failed: Counter[int]) -> Ledger:
    """The ledger, opened again where that failed."""
    for _ in range(TRIES - 1):
        try:
            return open_ledger(url)
        except RemitError as error:
            failed[exit_status(error)] += 1
    return open_ledger(url)


def work(load: Load, calls: int, earlier: list[Path], failed: Counter[int]) -> None:
    """All of it; counts in ``failed`` how often which exit status would have been a command's."""
    load.again(*earlier)
    for _ in range(calls):
        try:
            load.step()
        except RemitError as error:
            failed[exit_status(error)] += 1
    for _ in range(TRIES):
        try:
            load.again(load.log.path)
        except RemitError as error:
            failed[exit_status(error)] += 1
    assert open_calls(load.log.path) == []


def main() -> None:
    """Work as the arguments say."""
    url, log, name, seed, calls, *earlier = sys.argv[1:]
    failed: Counter[int] = Counter()
    ledger = begun(url, failed)
    record = SideLog(Path(log))
    load = Load(ledger, record, seed, name)
    work(load, int(calls), [Path(path) for path in earlier], failed)
    ledger.close()
    record.close()
    print(json.dumps({"away": failed.pop(AWAY, 0), "unknown": failed.pop(UNKNOWN, 0)}), flush=True)
    assert not failed, failed


if __name__ == "__main__":
    main()
