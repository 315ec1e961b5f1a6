"""A worker that asks the ledger by itself, stops before it says anything, and tries everything late.

``python -m tests.workers.zombie URL KIND TTL_MS ITEM …`` leases the items, one for each of its verbs;
with KIND ``intended`` it intends their effects as well. It says which fences it got, stops itself as
SIGSTOP does, and once it wakes up asks each verb of its own item. Nothing in it looks at a clock: what
keeps it from doing anything is the ledger alone. It says what each verb was answered.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core.commands import Command
from remit.core.refusals import Refused
from remit.service.operations import lease_of
from remit.wiring import open_ledger

HEAD, BASE, RESULT = "a" * 40, "b" * 40, hashlib.sha256(b"1").hexdigest()

Verbs = dict[str, Callable[[str, int], Command]]

HOLDING: Final[Verbs] = {
    "renew": lambda item, fence: c.RenewLease(item, fence, 60_000),
    "progress": lambda item, fence: c.ReportProgress(item, fence, c.Text("nearly there")),
    "fail": lambda item, fence: c.FailWork(item, fence, reason=c.Text("no")),
    "release": lambda item, fence: c.ReleaseLease(item, fence, "done with it"),
}
SAYING: Final[Verbs] = {
    "sent": k.NoteSent,
    "report": lambda item, fence: k.ReportEffect(item, fence, "201"),
    "uncertain": lambda item, fence: k.NoteUncertain(item, fence, "TIMEOUT"),
}
VERBS: Final[dict[str, Verbs]] = {
    "leased": {**HOLDING, **SAYING, "intend": k.IntendEffect},
    "intended": {**HOLDING, **SAYING, "intend": k.IntendEffect},
    "pure": {**HOLDING, "complete": lambda item, fence: k.ReportEffect(item, fence, "1", RESULT)},
    "delivery": {
        **HOLDING,
        "complete": lambda item, fence: c.ReportCompletion(item, fence, HEAD, BASE),
    },
}
"""What a holder may ask, by the kind of work and how far it had got."""


def main() -> None:
    """Lease, stop, and try."""
    url, kind, ttl_ms, *items = sys.argv[1:]

    def say(value: Any) -> None:
        print(json.dumps(value), flush=True)

    ledger = open_ledger(url)
    acting = ledger.acting("bot-1")
    granted = [acting.lease(c.GrantLease(item, int(ttl_ms))) for item in items]
    fences = [lease_of(answer).fence for answer in granted]
    if kind == "intended":
        for item, fence in zip(items, fences, strict=True):
            answer = acting.run(k.IntendEffect(item, fence))
            assert not isinstance(answer, Refused), answer
    say(fences)
    os.kill(os.getpid(), signal.SIGSTOP)
    for (verb, made), item, fence in zip(VERBS[kind].items(), items, fences, strict=True):
        answer = acting.run(made(item, fence))
        say([verb, str(answer.code) if isinstance(answer, Refused) else "done"])
    ledger.close()


if __name__ == "__main__":
    main()
