"""INV-7: whoever lost its lease can renew, report, complete, fail and intend nothing, on both stores.

The worker is a process of its own that was stopped past the end of its lease. It asks the ledger
without any look at a clock, each verb on an item of its own: while nobody has noticed yet that the
lease ran out, and after somebody else took over.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from tests.ground.children import Child
from tests.workers.ground import Ground
from tests.workers.zombie import VERBS

from remit.core import commands as c
from remit.core.rows import RowKind, RowSpec
from remit.service.engine import Done
from remit.service.operations import item_of, lease_of
from remit.service.reconciling import Reconciler
from remit.wiring import destination
from remit.wiring.reaching import lookup

TTL_MS = 1_000


@pytest.fixture
def items(either: Ground, kind: str) -> list[str]:
    """One item for each verb, ready to be leased."""
    either.folder_destination()
    verbs = VERBS[kind]
    if kind == "delivery":
        row = RowSpec(RowKind.COMMAND, argv=("true",))
        made = [c.CreateItem(f"work to {verb}", rows=(row,)) for verb in verbs]
        return [item_of(Ground.ok(answer)) for answer in either.ann.create(made)]
    if kind == "pure":
        return [either.pure() for _ in verbs]
    return [either.submit() for _ in verbs]


@pytest.fixture
def zombie(either: Ground, kind: str, items: list[str]) -> Iterator[Child]:
    """A worker that stands still, its leases over."""
    child = Child("tests.workers.zombie", either.url, kind, str(TTL_MS), *items)
    assert len(child.line()) == len(items)
    os.waitid(os.P_PID, child.process.pid, os.WSTOPPED)
    ends = [lease.expires_at for lease in either.leases()]
    assert len(ends) == len(items)
    either.until(lambda: either.now() >= max(ends))
    yield child
    child.kill()


def tried(zombie: Child, kind: str) -> dict[str, str]:
    """Let it wake up: what each of its verbs was answered."""
    zombie.process.send_signal(signal.SIGCONT)
    found = dict(zombie.line() for _ in VERBS[kind])
    assert zombie.ended() == 0
    return found


@pytest.mark.parametrize("kind", sorted(VERBS))
def test_inv_7_every_verb_is_refused_though_nobody_took_over(
    either: Ground, zombie: Child, kind: str, items: list[str]
) -> None:
    assert either.events("LeaseExpired") == [], "nobody has noticed yet"
    before = either.count()
    found = tried(zombie, kind)
    assert list(found) == list(VERBS[kind])
    # Its first call has all ends that are due written down, its own among them.
    assert set(found.values()) <= {"LEASE_EXPIRED", "STALE_FENCE"}
    after = {type(r.event).__name__ for r in either.events() if r.seq > before}
    assert after <= {"LateReportRecorded", "LeaseExpired", "EffectUncertain", "RetryDecided"}
    held = "held" if kind == "intended" else "ready"
    assert [either.status(item) for item in items] == [held] * len(items)
    assert either.leases() == []
    assert len(either.events("EffectIntended")) == (len(items) if kind == "intended" else 0)


@pytest.mark.parametrize("kind", sorted(VERBS))
def test_inv_7_every_verb_is_refused_under_a_new_holder(
    either: Ground, zombie: Child, kind: str, items: list[str]
) -> None:
    if kind == "intended":
        # Its effects were looked up behind a fence that the folder confirmed, and found absent.
        either.ok(either.ann.run(c.RecheckHolds()))
        either.until(lambda: _freed(either, items))
    other = either.ledger.acting("bot-2")
    for item in items:
        given = other.lease(c.GrantLease(item, 60_000))
        assert isinstance(given, Done), given
        assert lease_of(given).attempt == 2
    before = [_holding(either, item) for item in items]
    assert tried(zombie, kind) == dict.fromkeys(VERBS[kind], "STALE_FENCE")
    assert [_holding(either, item) for item in items] == before
    assert [lease.actor for lease in either.leases()] == ["bot-2"] * len(items)


def _freed(ground: Ground, items: list[str]) -> bool:
    """Look effects up, and see whether all work may be tried again."""
    lookups = {"exports": lookup(destination(ground.document))}
    Reconciler(ground.ledger.store, lookups, lambda: 0).due()
    ground.ann.run(c.RecheckHolds())
    return all(ground.status(item) == "ready" for item in items)


def _holding(ground: Ground, item: str) -> tuple[object, ...]:
    """All that stands of an item but what is kept of late reports, which is cost and evidence."""
    found = ground.item(item)
    return found.status, found.attempt, found.counted, found.lease, found.triage
