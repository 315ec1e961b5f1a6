"""Leases are renewed while work goes on, and work ends with the lease, however the store behaves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.drain.ground import BOUND_S, Ground, until

from remit.core.refusals import Code, Refused
from remit.drain.renewal import Renewal, boot_s
from remit.drain.supervision import Reason
from remit.ports import StoreUnavailable

NO = Refused(Code.STALE_FENCE, "the fence is not current", "")


class Stops(list[str]):
    """What the process was told to stop for."""

    def within(self, seconds: float) -> list[str]:
        end = time.monotonic() + seconds
        while not self and time.monotonic() < end:
            time.sleep(0.01)
        return list(self)


def renewal(
    stops: Stops,
    renew: Callable[[], int | Refused] = lambda: 60_000,
    killed: Callable[[], bool] = lambda: False,
    holds_ms: int = 60_000,
) -> Renewal:
    return Renewal(
        holds_ms, boot_s(), renew=renew, killed=killed, stop=stops.append, look_ms=20
    )  # fmt: skip


def test_it_is_renewed_again_and_again_off_the_thread_of_who_asked() -> None:
    stops, threads = Stops(), set[str]()

    def renew() -> int:
        threads.add(threading.current_thread().name)
        return 3_000

    kept = renewal(stops, renew, holds_ms=3_000)
    until(lambda: kept.renewals >= 3)
    kept.let_go()
    assert (stops, threads) == ([], {"remit-renew"})
    count = kept.renewals
    time.sleep(0.3)
    assert kept.renewals <= count + 1


def test_a_refusal_stops_it_once_and_is_kept() -> None:
    stops = Stops()
    kept = renewal(stops, lambda: NO, killed=lambda: bool(stops), holds_ms=3_000)
    assert stops.within(60) == ["lease-refused"]
    assert kept.refused is NO
    time.sleep(0.2)
    assert stops == ["lease-refused"]


def test_a_store_that_is_away_is_asked_again_until_the_lease_is_over() -> None:
    stops, asked = Stops(), list[float]()

    def away() -> int:
        asked.append(boot_s())
        raise StoreUnavailable("away", "wait")

    began = boot_s()
    renewal(stops, away, holds_ms=3_000)
    assert stops.within(60) == ["lease-over"]
    assert boot_s() - began >= 3
    assert len(asked) >= 2


def test_a_store_that_never_answers_holds_up_neither_clock_nor_switch() -> None:
    hang = threading.Event()
    stops = Stops()
    renewal(stops, lambda: int(hang.wait(200)), lambda: hang.wait(200), holds_ms=300)
    assert stops.within(60) == ["lease-over"]
    stops = Stops()
    renewal(stops, lambda: int(hang.wait(200)), lambda: True, holds_ms=60)
    assert stops.within(60)[0] in ("kill-switch", "lease-over")
    stops = Stops()
    renewal(stops, lambda: int(hang.wait(200)), lambda: True)
    assert stops.within(60) == ["kill-switch"]
    hang.set()


def test_a_fault_ends_the_work_and_is_kept() -> None:
    stops = Stops()

    def broken() -> bool:
        raise ValueError("planted")

    kept = renewal(stops, killed=broken)
    assert stops.within(60) == ["fault"]
    assert isinstance(kept.fault, ValueError)


def test_the_kill_switch_ends_a_deaf_process_within_five_seconds(
    ground: Ground,
) -> None:  # a fixture
    speaking = threading.Event()
    process = ground.start("ignore", on_line=lambda *_: speaking.set())
    switch = ground.folder / "switch"
    kept = Renewal(60_000, boot_s(), renew=lambda: 60_000, killed=switch.exists, stop=process.stop)
    assert speaking.wait(60)
    engaged = time.monotonic()
    Path(switch).touch()
    ended = process.wait(60_000)
    assert ended is not None
    assert time.monotonic() - engaged < BOUND_S
    assert (ended.reason, ended.asked) == (Reason.STOPPED, "kill-switch")
    kept.let_go()
