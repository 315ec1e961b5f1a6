"""Async handlers: one event loop in a thread of its own, and a job whose calls can be awaited.

Renewals do not depend on it, so a loop that some handler blocks loses no lease by that. A call that
waits for the ledger or a destination runs on a thread of its own and leaves the loop free.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from remit.ports.destination import Response
from remit.workers.job import Job

T = TypeVar("T")


class Loop:
    """An event loop for the handlers of one worker."""

    def __init__(self, many: int) -> None:
        self.loop = asyncio.new_event_loop()
        self.calls = ThreadPoolExecutor(many, "remit-call")
        self.waits = ThreadPoolExecutor(many, "remit-wait")
        self._stopped = False
        self._thread = threading.Thread(target=self._forever, daemon=True)
        self._thread.start()

    def _forever(self) -> None:
        """Run until stopped: asyncio lets SystemExit and KeyboardInterrupt of a task end the loop."""
        try:
            while not self._stopped:
                with suppress(SystemExit, KeyboardInterrupt):
                    self.loop.run_forever()
        finally:
            self.loop.close()

    def run(self, work: Awaitable[T]) -> T:
        """Run something on the loop and wait for it, from another thread; raises what it raises.

        What it raises is carried over as a value: as an exception of a task, ``sys.exit()`` would end
        the loop before anybody was told.
        """
        here = os.getpid()

        async def whole() -> tuple[list[T], BaseException | None]:
            try:
                return [await work], None
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001  # raised again in the thread that waits
                return [], error
            finally:
                if os.getpid() != here:  # a process that the handler forked is no second worker
                    os._exit(0)

        found, error = asyncio.run_coroutine_threadsafe(whole(), self.loop).result()
        if error is not None:
            raise error
        return found[0]

    def stop(self) -> None:
        """End the loop; what still runs on it is left where it is."""
        self._stopped = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        for calls in (self.calls, self.waits):
            calls.shutdown(wait=False, cancel_futures=True)
        self._thread.join(1)


class AsyncJob:
    """A ``Job`` for ``async`` handlers: everything of it, with calls that are awaited."""

    def __init__(self, job: Job, loop: Loop) -> None:
        self.job = job
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        """What a job is and whether it goes on, as ``Job`` says it."""
        return getattr(self.job, name)

    async def send(self, payload: bytes, *, timeout_ms: int = 0) -> Response:
        """Like ``Job.send``."""
        return await self._away(lambda: self.job.send(payload, timeout_ms=timeout_ms))

    async def progress(self, text: str = "") -> None:
        """Like ``Job.progress``."""
        await self._away(lambda: self.job.progress(text))

    async def intend(self, payload_digest: str = "", request_expires_at: int | None = None) -> None:
        """Like ``Job.intend``."""
        await self._away(lambda: self.job.intend(payload_digest, request_expires_at))

    async def note_sent(self, payload_digest: str = "") -> None:
        """Like ``Job.note_sent``."""
        await self._away(lambda: self.job.note_sent(payload_digest))

    async def answered(self, response: str, text: str = "") -> None:
        """Like ``Job.answered``."""
        await self._away(lambda: self.job.answered(response, text))

    async def uncertain(self, reason: str = "NO_RESPONSE") -> None:
        """Like ``Job.uncertain``."""
        await self._away(lambda: self.job.uncertain(reason))

    async def wait(self, seconds: float) -> bool:
        """Like ``Job.wait``."""
        # On threads of its own: a task that only waits must not hold up the one that sends.
        return await self._loop.loop.run_in_executor(
            self._loop.waits, lambda: self.job.wait(seconds)
        )

    async def _away(self, call: Callable[[], T]) -> T:
        return await self._loop.loop.run_in_executor(self._loop.calls, call)
