"""What auditors see with SQL, on both stores: effects in every state, beside leases, holds and triage.

Another program reads, as one does: a process with its own ``sqlite3`` on the file, and a session that
may only read on the server. What the views show is held against the facts that the ledger decides on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from tests.workers.ground import Ground, key_of
from tests.workers.test_jobs import IDLE, sending

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core.refusals import Refused
from remit.service.adoption import adopt
from remit.service.operations import lease_of
from remit.workers.main import make

READ = """
import json, sqlite3, sys
cursor = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute(sys.argv[2])
rows = [[v.hex() if isinstance(v, bytes) else v for v in row] for row in cursor]
print(json.dumps([[column[0] for column in cursor.description], rows]))
"""

Rows = dict[str, dict[str, Any]]
Look = Callable[[str], Rows]


@pytest.fixture
def look(either: Ground) -> Look:
    """The rows of a view, by the names of its columns, by id or item."""

    def rows(view: str) -> Rows:
        statement = f"SELECT * FROM {view}"  # a name of ours
        if "postgres" not in either.url:
            # A process of its own: two copies of SQLite in one process undo each other's locks.
            asked = [sys.executable, "-c", READ, str(either.folder / "ledger.db"), statement]
            names, found = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
        else:
            with psycopg.connect(either.url, autocommit=True) as server:
                server.execute("SET ROLE remit_reader")
                server.execute("SET search_path = remit")
                read = server.execute(statement.encode())
                names, found = [c.name for c in read.description or ()], read.fetchall()
        given = [dict(zip(names, row, strict=True)) for row in found]
        return {row.get("id") or row["item"]: row for row in given}

    return rows


def observing(ground: Ground, effect: str, result: str, **more: Any) -> None:
    """Let the reconciler see something of an effect."""
    fact = ground.effect(effect)
    command = k.ObserveEffect(
        effect, "exports folder", result, ground.now(), fact.version, consistent=True, **more
    )
    ground.ok(ground.observed(command))


def test_auditors_see_each_effect_with_its_state_attempt_and_times(
    either: Ground, look: Look
) -> None:
    app, _ = sending(either)
    delivered = either.submit(effect_id="E-there")
    make(either.ledger, "bot-1", app, IDLE).run()
    observing(
        either, "E-there", "FOUND", objects=1,
        values=(("effect_id", "E-there"), ("digest", either.effect("E-there").payload_digest)),
    )  # fmt: skip
    pure = either.pure(effect_id="E-pure")
    ready = either.submit(effect_id="E-ready")
    acting = either.ledger.acting("bot-2")
    open_item, twice = (either.submit(effect_id=name) for name in ("E-open", "E-twice"))
    fence = 0
    for item in (open_item, twice):
        fence = lease_of(acting.lease(c.GrantLease(item, 60_000))).fence
        either.ok(acting.run(k.IntendEffect(item, fence)))
    either.ok(acting.run(k.NoteUncertain(twice, fence, "TIMEOUT")))
    either.ok(acting.release(c.ReleaseLease(twice, fence, "no answer")))
    observing(either, "E-twice", "FOUND", objects=2, values=(("effect_id", "E-twice"),))

    effects = look("effects")
    assert {name: row["state"] for name, row in effects.items()} == {
        "E-there": "PRESENT", "E-pure": "NOT_STARTED", "E-ready": "NOT_STARTED",
        "E-open": "INTENDED", "E-twice": "CONTRADICTED",
    }  # fmt: skip
    for name, row in effects.items():
        fact = either.effect(name)
        assert (row["item"], row["version"], row["intents"]) == (
            fact.item,
            fact.version,
            fact.intents,
        )
        assert (row["replay_class"], row["operation"]) == (fact.replay_class, fact.operation)
        assert (row["last_known"], row["epoch"], row["looks"]) == (fact.state, 0, fact.looks)
        assert row["idempotency_key"] == key_of(name)
        assert row["ledger_id"] == either.ledger.store.ledger_id
    _complete(either, effects["E-there"], delivered)
    assert effects["E-pure"]["destination"] is None
    for name in ("attempt", "lease", "fence", "intended_at", "sent_at", "observed_at", "response"):
        assert effects["E-ready"][name] is None, f"{name} of what never began"
    assert (effects["E-open"]["fence"], effects["E-open"]["sent_seq"]) == (fence - 1, None)

    assert look("leases").keys() == {lease.id for lease in either.leases()}
    assert {row["item"] for row in look("triage").values()} == {twice}
    items = look("items")
    assert (items[ready]["status"], items[pure]["status"]) == ("ready", "ready")
    assert look("runs") == {}


def _complete(ground: Ground, row: dict[str, Any], item: str) -> None:
    """All that is shown of an effect that was sent, answered and found."""
    at = {type(r.event).__name__: r for r in ground.events(stream="effect/E-there")}
    fact = ground.effect("E-there")
    assert (row["item"], row["destination"]) == (item, "exports-1")
    assert (row["attempt"], row["lease"], row["fence"]) == (fact.attempt, fact.lease, fact.fence)
    assert (row["response"], row["receipt"]) == ("E-there.txt", fact.receipt)
    for event, name in (
        ("EffectIntended", "intended"), ("EffectSent", "sent"), ("EffectAnswered", "answered"),
        ("EffectObserved", "observed"),
    ):  # fmt: skip
        assert (row[f"{name}_at"], row[f"{name}_seq"]) == (at[event].at, at[event].seq)
    assert (row["present_seq"], row["absent_seq"]) == (row["observed_seq"], None)
    assert row["observation"] == fact.observation


def test_auditors_see_holds_with_what_they_wait_for(either: Ground, look: Look) -> None:
    either.folder_destination()
    item = either.submit()
    acting = either.ledger.acting("bot-1")
    fence = lease_of(acting.lease(c.GrantLease(item, 60_000))).fence
    either.ok(acting.run(k.IntendEffect(item, fence)))
    either.ok(acting.release(c.ReleaseLease(item, fence, "gone")))
    (hold,) = look("holds").values()
    fact = either.item(item).hold
    assert fact is not None
    assert (hold["item"], hold["reason"], hold["owner"]) == (item, fact.reason, fact.owner)
    assert (hold["trigger"], hold["identity"]) == ("reconcile:E-1", fact.identity)
    assert look("leases") == {}


def test_after_an_adoption_no_effect_is_shown_as_known(either: Ground, look: Look) -> None:
    """What was known of a lost time is not what stands: until it is looked up it is uncertain."""
    app, _ = sending(either)
    either.submit(effect_id="E-there")
    make(either.ledger, "bot-1", app, IDLE).run()
    observing(
        either, "E-there", "FOUND", objects=1,
        values=(("effect_id", "E-there"), ("digest", either.effect("E-there").payload_digest)),
    )  # fmt: skip
    assert look("effects")["E-there"]["state"] == "PRESENT"
    assert not isinstance(adopt(either.ann, "put back"), Refused)
    row = look("effects")["E-there"]
    assert (row["state"], row["last_known"], row["epoch"]) == ("UNCERTAIN", "PRESENT", 0)
