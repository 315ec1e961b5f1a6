"""How a worker works: how much at once, for how long, and when it ends.

Times that the ledger knows are milliseconds, those of the process seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from remit.core.refusals import Code
from remit.ports import RemitError

Tell = Callable[[str, dict[str, Any]], None]
"""Takes what happened and its particulars; called from several threads."""


TTL_MS: Final = 60_000
GRACE_S: Final = 30.0
"""How long a lease holds, and running work may take after a stop, where nobody said."""


@dataclass(frozen=True, slots=True)
class Settings:
    """``classes`` and ``tenants`` narrow what is taken, empty means any.

    ``max_jobs`` 0 means no bound. ``grace_s`` is how long running work may take to finish after a
    stop, ``last_s`` how long a handler whose work was handed back is waited for.
    """

    concurrency: int = 1
    classes: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    max_jobs: int = 0
    exit_when_idle: bool = False
    ttl_ms: int = TTL_MS
    reconcile: bool = False
    grace_s: float = GRACE_S
    last_s: float = 1.0
    shortest_s: float = 0.05
    longest_s: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.concurrency <= 1_000:
            raise RemitError(
                f"the concurrency is {self.concurrency}, expected 1 to 1000",
                "start more workers for more",
                code=Code.BAD_INPUT,
            )
