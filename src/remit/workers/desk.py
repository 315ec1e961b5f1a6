"""The desk: where a worker asks the ledger, and asks again until it knows what became of it.

Every call has a command id of its own, made of a name that no other process has and a number. A call
whose outcome is unknown, or that found the store away, is asked again under the same id until its
time is over, so that nothing is done twice and nothing is taken as done that is not (INV-9).
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from remit.core.commands import Command
from remit.ports import OutcomeUnknown, StoreUnavailable
from remit.service.engine import Answer
from remit.service.operations import Operations
from remit.workers.clock import boot_s

T = TypeVar("T")

FIRST_S = 0.02
LONGEST_S = 1.0
"""Shortest and longest wait before the store is asked again."""


class Desk:
    """One worker's calls."""

    def __init__(self, operations: Operations) -> None:
        self.operations = operations
        self._run = os.urandom(8).hex()
        self._pid = os.getpid()
        self._numbers = itertools.count(1)

    def new_id(self) -> str:
        """A command id that was never used."""
        return f"worker-{self._run}/{next(self._numbers)}"

    def ask(
        self,
        commands: Sequence[Command],
        until_s: float,
        *,
        urgent: bool = False,
        command_id: str = "",
    ) -> list[Answer]:
        """Run commands in one transaction, and again as long as nobody knows whether they ran.

        Raises ``StoreUnavailable`` or ``OutcomeUnknown`` once the worker's clock has passed
        ``until_s``, and in a forked process at once: its store refuses it, and it never becomes one.
        """
        named = command_id or self.new_id()
        return self.insist(
            lambda: self.operations.run(commands, command_id=named, urgent=urgent), until_s
        )

    def insist(self, call: Callable[[], T], until_s: float) -> T:
        """Make a call that may be repeated until it is answered or its time is over."""
        wait = FIRST_S
        while True:
            try:
                return call()
            except (OutcomeUnknown, StoreUnavailable):
                if boot_s() + wait > until_s or os.getpid() != self._pid:
                    raise
            time.sleep(wait * random.uniform(0.5, 1.0))  # noqa: S311  # jitter is no secret
            wait = min(2 * wait, LONGEST_S)
