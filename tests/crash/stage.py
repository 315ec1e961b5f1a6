"""The ledger that every crash begins from, with an item at each stage, and the calls that crash.

A call is named by what a person would type. Each is made with the command id ``again`` wherever the
operation takes one, so that it can be repeated after a crash.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.contract.builders import Hands
from tests.core.triaging import put
from tests.ground import gitlab
from tests.ground.ledgers import AGENTS, BASE, HEAD, HUMAN, REVIEWER, done, row

from remit.core import commands as c
from remit.core.events import EpochAdopted
from remit.core.refusals import Code, Refused
from remit.exchange.beads_backlog import BeadsBacklog
from remit.ports import RemitError, Store
from remit.service.engine import Call, Done, Engine
from remit.service.importing import Import
from remit.service.operations import item_of, lease_of
from remit.stores.postgres import opening
from remit.stores.sqlite.copies import backup, restore
from remit.stores.sqlite.store import SqliteStore, create_store, open_store
from remit.wiring import Ledger

AGAIN: Final = "again"
LONG: Final = "a long report\n" * 600


@dataclass(frozen=True)
class Place:
    """One copy of the stage: a folder with the ledger, the repository and a backlog.

    ``url`` names a database where the ledger lies in PostgreSQL.
    """

    folder: Path
    url: str = ""

    @property
    def path(self) -> Path:
        return self.folder / "ledger.db"

    @property
    def host(self) -> Path:
        return self.folder / "host"

    def ledger(self) -> Ledger:
        """The ledger, under a clock that stands still, so that two runs can be compared whole."""
        if self.url:
            return Ledger(opening.open_store(self.url, readings=Hands()))
        return Ledger(open_store(self.path, readings=Hands()))

    def facts(self) -> dict[str, Any]:
        """Ids and fences that the calls need."""
        found: dict[str, Any] = json.loads((self.folder / "facts.json").read_text())
        return found


def build(folder: Path, url: str = "") -> Place:
    """Make the stage. Needs an environment that is settled for git."""
    folder.mkdir()
    place = Place(folder, url)
    host = gitlab.lab(folder)
    store: Store
    if url:
        store = opening.create_store(url, "ledger-1", readings=Hands())
    else:
        store = create_store(place.path, "ledger-1", readings=Hands())
    ledger = Ledger(store)
    done(ledger.acting(HUMAN).run(c.CreateLedger("ledger-1", HUMAN)))
    enrol = [c.EnrolActor(agent, "agent") for agent in AGENTS] + [c.EnrolActor(REVIEWER, "human")]
    for answer in ledger.acting(HUMAN).enrol(enrol):
        done(answer)
    facts: dict[str, Any] = {}
    for stage in ("ready", "other", "leased", "handing", "in-review", "approved", "shipped"):
        facts[stage] = _to(ledger, host, stage, facts)
    triaged = _to(ledger, host, "ready", facts)
    record = done(ledger.acting(HUMAN).triage(put(triaged, "ambiguity")))
    facts["record"] = record.events[0].event.record  # type: ignore[attr-defined]  # ItemTriaged
    bare = done(ledger.acting(HUMAN).create(c.CreateItem("without a row")))
    facts["draft"] = item_of(bare)
    rule = c.RegisterRule("default", "d" * 64, ("true",), "")
    done(ledger.acting(HUMAN).run(rule))
    (folder / "facts.json").write_text(json.dumps(facts))
    (folder / "backlog.jsonl").write_text(_backlog())
    if isinstance(store, SqliteStore):
        backup(store, folder / "backup.db")
        restore(folder / "backup.db", folder / "restored.db", readings=Hands()).close()
    ledger.close()
    return place


def _to(ledger: Ledger, host: Path, stage: str, facts: dict[str, Any]) -> str:
    """An item at this stage; its fence goes to ``facts``."""
    bob, eve = ledger.acting("bob"), ledger.acting(REVIEWER)
    spec = row("test", "-f", f"{stage}.txt")
    item = item_of(done(ledger.acting(HUMAN).create(c.CreateItem(stage, rows=(spec,)))))
    if stage in ("ready", "other"):
        return item
    fence = lease_of(done(bob.lease(c.GrantLease(item)))).fence
    facts[f"{stage} fence"] = fence
    if stage == "leased":
        return item
    if stage == "handing":
        facts["handing head"] = gitlab.commit(host, {f"{stage}.txt": "x"})
        return item
    if stage == "in-review":
        done(bob.report_completion(c.ReportCompletion(item, fence, HEAD, BASE)))
        return item
    delivery = ledger.delivery("bob", host)
    sha = gitlab.commit(host, {f"{stage}.txt": "x"})
    done(delivery.hand_in(item, fence, sha))
    done(eve.review(c.ReviewWork(item, approve=True, reason=c.Text("good"))))
    gitlab.git(host, "push", "-q", "origin", "main")
    facts[f"{stage} sha"] = sha
    if stage == "shipped":
        done(ledger.delivery(HUMAN, host).mark_shipped(item, sha))
    return item


def _backlog() -> str:
    """Rows of every outcome, with edges back, forth, to nowhere and in a circle."""
    lines = []
    for i in range(60):
        edges = [{"issue_id": f"b-{i}", "depends_on_id": f"b-{i + 7}", "type": "blocks"}]
        entry: dict[str, Any] = {
            "id": f"b-{i}",
            "title": f"row {i}",
            "description": "text " * i,
            "status": ("open", "closed", "in_progress", "tombstone", "odd")[i % 5],
            "dependencies": edges if i % 3 else [],
        }
        if i % 20 == 19:
            entry["title"] = ""
        if i in (40, 41):
            entry["dependencies"] = [
                {"issue_id": f"b-{i}", "depends_on_id": f"b-{81 - i}", "type": "blocks"}
            ]
            entry["status"] = "open"
        lines.append(json.dumps(entry))
    lines.insert(30, "{broken")
    return "\n".join(lines) + "\n"


Act = Callable[[Ledger, Place], Any]


def _ops(actor: str, name: str, make: Callable[[dict[str, Any]], Any], **how: Any) -> Act:
    def act(ledger: Ledger, place: Place) -> Any:
        commands = make(place.facts())
        return getattr(ledger.acting(actor), name)(commands, command_id=AGAIN, **how)

    return act


def _import(ledger: Ledger, place: Place) -> Any:
    backlog = BeadsBacklog(place.folder / "backlog.jsonl")
    return Import(ledger.acting(HUMAN), backlog, "default", None).run()


def _backup(ledger: Ledger, place: Place) -> Any:
    assert isinstance(ledger.store, SqliteStore)
    try:
        return str(backup(ledger.store, place.folder / "copy.db").seq)
    except RemitError as error:
        if error.code is Code.LEDGER_EXISTS:
            return "there"
        raise


def _adopt(ledger: Ledger, place: Place) -> Any:
    restored = open_store(place.folder / "restored.db", readings=Hands())
    restored.pause = ledger.store.pause  # type: ignore[attr-defined]  # of the SQLite store
    with restored.read() as tx:
        before = tx.commands([AGAIN]).get(AGAIN)
    above = restored.epoch_known()
    if before:
        assert isinstance(before[0].event, EpochAdopted)
        above = before[0].event.epoch - 1
    call = Call(c.AdoptEpoch(above, "restored"), HUMAN, command_id=AGAIN)
    answer = Engine(restored).run([call], adopting=True)[0]
    restored.close()
    return answer


def _ship(ledger: Ledger, place: Place) -> Any:
    facts = place.facts()
    delivery = ledger.delivery(HUMAN, place.host)
    return delivery.mark_shipped(facts["approved"], facts["approved sha"], command_id=AGAIN)


def _verify(ledger: Ledger, place: Place) -> Any:
    return ledger.delivery(HUMAN, place.host).verify(place.facts()["shipped"], command_id=AGAIN)


def _hand_in(ledger: Ledger, place: Place) -> Any:
    facts = place.facts()
    return ledger.delivery("bob", place.host).hand_in(
        facts["handing"], facts["handing fence"], facts["handing head"], text=LONG, command_id=AGAIN
    )


def _kill_switch(ledger: Ledger, _place: Place) -> Any:
    return ledger.acting("cyd").engage_kill_switch("stop", command_id=AGAIN)


CALLS: Final[dict[str, Act]] = {
    "create": _ops(
        HUMAN, "create", lambda _: c.CreateItem("new", body=LONG, rows=(row(),), alias="new-1")
    ),
    "create many": _ops(
        HUMAN,
        "create",
        lambda f: [c.CreateItem(f"n{i}", depends_on=((f["ready"], "blocks"),)) for i in range(5)],
    ),
    "create atomic": _ops(
        HUMAN, "create", lambda _: [c.CreateItem(f"n{i}") for i in range(3)], atomic=True
    ),
    "lease": _ops("cyd", "lease", lambda f: c.GrantLease(f["ready"])),
    "lease next": _ops("cyd", "lease", lambda _: c.GrantLease()),
    "renew": _ops(
        "bob", "renew", lambda f: c.RenewLease(f["leased"], f["leased fence"], 3_600_000)
    ),
    "release": _ops(
        "bob", "release", lambda f: c.ReleaseLease(f["leased"], f["leased fence"], "no")
    ),
    "progress": _ops(
        "bob",
        "report_progress",
        lambda f: c.ReportProgress(f["leased"], f["leased fence"], c.Text(LONG)),
    ),
    "completion": _ops(
        "bob",
        "report_completion",
        lambda f: c.ReportCompletion(f["leased"], f["leased fence"], HEAD, BASE, text=c.Text(LONG)),
    ),
    "completion and next": _ops(
        "bob",
        "report_completion",
        lambda f: c.ReportCompletion(f["leased"], f["leased fence"], HEAD, BASE),
        lease_next=True,
    ),
    "fail": _ops("bob", "fail", lambda f: c.FailWork(f["leased"], f["leased fence"])),
    "review": _ops(
        REVIEWER,
        "review",
        lambda f: c.ReviewWork(f["in-review"], approve=True, reason=c.Text("fine")),
    ),
    "reject": _ops(
        REVIEWER,
        "review",
        lambda f: c.ReviewWork(f["in-review"], approve=False, reason=c.Text("not yet")),
    ),
    "triage": _ops(HUMAN, "triage", lambda f: put(f["ready"], "ambiguity")),
    "resolve": _ops(
        HUMAN, "resolve", lambda f: c.ResolveTriage(f["record"], "requeue", "clear now")
    ),
    "close": _ops(HUMAN, "close", lambda f: c.CloseItem(f["other"], "cancelled", c.Text("not"))),
    "edit": _ops(HUMAN, "revise", lambda f: c.ReviseItem(f["draft"], title="x", rows=(row(),))),
    "note": _ops(HUMAN, "note", lambda f: c.AddNote(f["draft"], c.Text(LONG))),
    "dep add": _ops(HUMAN, "add_dependency", lambda f: c.AddDependency(f["ready"], f["draft"])),
    "rule accept": _ops(HUMAN, "run", lambda _: c.AcceptRule("default", "", "good")),
    "actor add": _ops(HUMAN, "enrol", lambda _: c.EnrolActor("zoe", "agent")),
    "actor revoke": _ops(HUMAN, "revoke", lambda _: c.RevokeActor("dot", "gone")),
    "kill switch": _kill_switch,
    "hand in": _hand_in,
    "ship": _ship,
    "verify": _verify,
    "import": _import,
    "backup": _backup,
    "adopt": _adopt,
}
"""Every mutating operation, by what a person would type."""

WITHOUT_ID: Final = ("import", "backup")
"""Operations that are repeated as they are, without a command id."""

OF_A_FILE: Final = ("adopt", "backup")
"""Operations that need another copy of the ledger's file beside it."""


def accepted(answer: Any) -> list[Done]:
    """The parts of an answer, none of which may be a refusal."""
    if isinstance(answer, list | tuple):
        return [one for part in answer for one in accepted(part)]
    assert not isinstance(answer, Refused), answer
    return [answer] if isinstance(answer, Done) else []


def happened(answer: Any) -> list[bool]:
    """Whether each part of an answer was there before; fails where one was refused."""
    return [one.repeated for one in accepted(answer)]
