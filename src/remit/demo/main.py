"""``remit demo``: set the stage, play, look at what came of it, say so, and check it.

People get the story, a table, a trace and where to look next; programs get one JSON object. Both get
an exit status that is 0 only if everything that the demo promises came true on the ledger and in git.
What was played stays where it was, for looking around, unless it is asked to be removed.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from remit.core.evolve import evolve
from remit.core.facts import Ledger as LedgerFact
from remit.core.refusals import Code, Refused, meaning
from remit.demo import plan, stage
from remit.demo.bundle import NAME
from remit.demo.checks import Found, Outcome, exit_status, judge
from remit.demo.draining import Drained, drain
from remit.demo.governing import Governed, Governing
from remit.demo.landing import Landing
from remit.demo.play import Play, Witness
from remit.demo.room import DemoTrouble, Room, shown, wearing
from remit.demo.stage import Imported
from remit.demo.telling import Teller, chain, decided, table
from remit.ports import ItemQuery, ReadTx, RemitError
from remit.service.integrity import verify
from remit.service.reading.decisions import decision
from remit.service.reading.items import list_items, load_items
from remit.service.reading.trace import trace
from remit.service.reading.triage import triage_list
from remit.service.reading.waiting import blocked
from remit.wiring import Ledger, url_of
from remit.wiring.signing import signatures

SCHEMA: Final = 1
MOST_EVENTS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a play."""

    room: Room
    url: str
    found: Found
    outcomes: Sequence[Outcome]
    seconds: float


def run(*, keep: Path | None, as_json: bool, quiet: bool, clean: bool = False) -> int:
    """Play the demo; returns 0, 6 where a promise was not kept, or what a failure means.

    ``keep`` is a new or empty directory for everything; without it a temporary one is made, and
    stays unless ``clean``. Text goes to stdout; with ``as_json`` one object does, and the story goes
    to stderr. ``quiet`` leaves the story out.
    """
    teller = Teller(sys.stderr if as_json else sys.stdout, quiet=quiet)
    room = None
    try:
        place = keep.absolute() if keep else Path(tempfile.mkdtemp(prefix="remit-demo-"))
        room = Room(place.resolve())
        room.furnish()
        with wearing(room.environment()):
            played = play(room, teller)
    except DemoTrouble as trouble:
        where = f"what it left is in {room.path}" if room else "repeat it"
        return _failed(Code.UNEXPECTED, f"the demo broke off: {trouble}", where, as_json=as_json)
    except RemitError as error:
        return _failed(error.code, error.message, error.hint, as_json=as_json)
    except OSError as error:
        message = f"cannot play the demo: {error.filename or 'the system'}: {error.strerror}"
        hint = "give --keep a new directory that you may write to, or set TMPDIR"
        return _failed(Code.UNEXPECTED, message, hint, as_json=as_json)
    except KeyboardInterrupt:
        where = f"what it left is in {room.path}" if room else "repeat it"
        return _failed(Code.INTERRUPTED, "the demo was interrupted", where, as_json=as_json)
    status = exit_status(played.outcomes)
    if as_json:
        _print_json(played, status)
    else:
        _close(played, teller, kept=not clean)
    if clean:
        room.remove()
    return status


def play(room: Room, teller: Teller) -> Played:
    """Set the stage, play, and gather what came of it."""
    started = time.monotonic()
    teller.say(f"remit demo: everything happens in {shown(str(room.path))}")
    stage.make_origin(room)
    ledger = stage.make_ledger(room)
    url = url_of(room.ledger)
    try:
        imported = stage.bring_backlog(room, ledger)
        counts = imported.first
        teller.at(
            f"imported {counts['rows']} Beads rows; {imported.gated} items may not start, for nothing"
            f" would prove them yet; the same import again: {imported.again['unchanged']} unchanged"
        )
        with ledger.reading() as tx:
            teller.seq = tx.head().seq
        _say_policy(ledger, teller)
        governed = _govern(room, ledger, teller)
        landing = Landing(room, ledger)
        witness = Play(room, ledger, url, teller, landing).run()
        drained = drain(room, ledger, teller)
        room.git(plan.OWNER, room.repository, "pull", "--quiet", "--ff-only", "origin", "main")
        found = gather(room, ledger, imported, governed, witness, drained)
    finally:
        ledger.close()
    return Played(room, url, found, judge(found), time.monotonic() - started)


def _govern(room: Room, ledger: Ledger, teller: Teller) -> Governed:
    """From the backlog to work that may start: a plan, a rule, and one decision of a human."""

    def tell(text: str) -> None:
        teller.follow(ledger)
        teller.at(text)

    governing = Governing(room, ledger, tell)
    stage.confirm(ledger)
    governing.first()
    governing.decide()
    stage.accept_rule(ledger)
    with ledger.reading() as tx:
        listed = list_items(tx, ItemQuery(limit=0))["items"]
    teller.titles = {item["id"]: item["title"] for item in listed}
    teller.follow(ledger)
    return governing.found


def _say_policy(ledger: Ledger, teller: Teller) -> None:
    with ledger.reading() as tx:
        fact = tx.load([("ledger", "ledger")])["ledger", "ledger"]
    if isinstance(fact, LedgerFact) and fact.policy.accept_unproved:
        teller.at(
            "policy accept_unproved is on: whatever nobody signs counts all the same, marked unproved"
        )


def gather(
    room: Room,
    ledger: Ledger,
    imported: Imported,
    governed: Governed,
    witness: Witness,
    drained: Drained,
) -> Found:
    """Read everything that the checks and the closing look at."""
    with ledger.reading() as tx:
        items = {item["work_id"]: item for item in _items(tx)}
        waiting = {item["work_id"]: item for item in blocked(tx, 0)["items"]}
        traced = trace(tx, plan.TRACED)
        human = decision(tx, governed.decision)
        [whole] = load_items(tx, [items[plan.TRACED]["id"]])
        events = tx.events(0, MOST_EVENTS)
    if isinstance(traced, Refused):
        raise DemoTrouble(traced.message)
    place = whole.plan.governed
    tried = room.check((plan.PYTHON, "-m", "units", "90", "km/h", "m/s"), room.repository)
    return Found(
        items,
        waiting,
        events,
        frozenset(room.git(plan.OWNER, room.origin, "rev-list", "main").split()),
        imported,
        governed,
        witness,
        traced,
        human or {},
        place.node if place else "",
        verify(ledger.store, fold=evolve, signatures=signatures()),
        (tried.stdout or tried.stderr).strip(),
        drained,
    )


def _items(tx: ReadTx) -> list[dict[str, Any]]:
    """All items with their open triage records spelt out."""
    records = triage_list(tx, open_only=True, limit=0)["records"]
    items: list[dict[str, Any]] = list_items(tx, ItemQuery(limit=0))["items"]
    for item in items:
        mine = [r for r in records if r["item"] == item["id"]]
        item["triage"] = [{"id": r["id"], "kind": r["kind"], "open": r["open"]} for r in mine]
    return items


def data_of(played: Played) -> dict[str, Any]:
    """The result for programs."""
    found = played.found
    return {
        "ledger": played.url,
        "repository": str(played.room.repository),
        "origin": str(played.room.origin),
        "directory": str(played.room.path),
        "items": list(found.items.values()),
        "import": asdict(found.imported),
        "governed": asdict(found.governed),
        "decision": dict(found.decision),
        "blocked": [
            {
                k: item[k]
                for k in ("id", "work_id", "status", "blocked_by", "waits_on", "how_to_open")
            }
            for item in found.blocked.values()
        ],
        "killed": found.witness.half_done | {"exit": found.witness.killed_exit},
        "late_report": found.witness.late,
        "drained": asdict(found.drained),
        "processes": found.witness.pids,
        "trace": found.trace,
        "events": found.report.events,
        "root": found.report.root,
        "problems": [asdict(problem) for problem in found.report.problems],
        "unproved": dict(found.report.unproved),
        "checks": [
            {
                "name": outcome.name,
                "result": "PASS" if outcome.passed else "FAIL",
                "observed": outcome.observed,
                "required": outcome.required,
            }
            for outcome in played.outcomes
        ],
        "seconds": round(played.seconds, 1),
    }


def _print_json(played: Played, status: int) -> None:
    data = data_of(played)
    if status == 0:
        print(json.dumps({"schema_version": SCHEMA, "data": data}, indent=2))
        return
    failed = [outcome.name for outcome in played.outcomes if not outcome.passed]
    message = f"the demo did not keep its promises: {'; '.join(failed)}"
    _print_error(Code.VERIFICATION_NO, message, f"look at {played.room.path}", data)


def _failed(code: Code, message: str, hint: str, *, as_json: bool) -> int:
    if as_json:
        _print_error(code, message, hint, {})
    else:
        print(f"remit demo: {shown(message, 1_000)}\n  {shown(hint)}", file=sys.stderr)
    return meaning(code).exit_status


def _print_error(code: Code, message: str, hint: str, details: dict[str, Any]) -> None:
    error = {"code": code.value, "message": message, "hint": hint, "details": details}
    print(json.dumps({"schema_version": SCHEMA, "error": error}, indent=2), file=sys.stderr)


def _close(played: Played, teller: Teller, *, kept: bool) -> None:
    """Table, blocked item, trace, ledger verify, checks, and where to look next."""
    found = played.found
    tell = teller.say
    tell()
    for line in table([dict(item) for item in found.items.values()]):
        tell(line)
    waiting = found.blocked.get(plan.WAITING)
    if waiting is not None:
        tell(
            f"\n{waiting['id']} waits: {waiting['blocked_by']}; to open it, {waiting['how_to_open']}"
        )
    tell(f"\nThe chain of {found.trace['id']}, from goal to verification:")
    for line in (*chain(dict(found.trace)), *decided(found.node, dict(found.decision))):
        tell(line)
    report = found.report
    unproved = sum(report.unproved.values())
    tell(
        f"\nledger verify: {report.events} events, {len(report.problems)} problems, root"
        f" {report.root[:16]}..., {unproved} unproved acts,"
        f" {'none is signed' if found.governed.unsigned else 'the decision is signed'}"
    )
    tell(f"\nDid it keep its promises? ({played.seconds:.1f} s)")
    for outcome in played.outcomes:
        tell(f"  {'PASS' if outcome.passed else 'FAIL'}  {shown(outcome.name)}")
        if not outcome.passed:
            tell(f"        found {shown(outcome.observed)}; expected {shown(outcome.required)}")
    passed = sum(outcome.passed for outcome in played.outcomes)
    tell()
    print(f"{passed} of {len(played.outcomes)} checks passed.")
    if kept:
        _look_next(played)


def _program() -> str:
    """How a person calls remit from where they are: by name, or as it lies beside this Python."""
    beside = Path(sys.executable).with_name("remit")
    if shutil.which("remit") is None and beside.exists():
        return shlex.quote(str(beside))
    return "remit"


def _look_next(played: Played) -> None:
    remit = f"{_program()} --ledger {shlex.quote(played.url)}"
    found = played.found
    undone, waiting = found.items[plan.UNDONE]["id"], found.items[plan.WAITING]["id"]
    print(f"\nKept in {shown(str(played.room.path))}. Look around:")
    for what, command in (
        ("all items", f"{remit} list"),
        ("the work that was not done", f"{remit} triage list"),
        ("its history", f"{remit} show {undone}"),
        ("the plan in force", f"{remit} plan show {NAME}"),
        ("what the human signed", f"{remit} decision show {found.governed.decision}"),
        ("why something waits", f"{remit} explain {waiting}"),
        ("a chain of evidence", f"{remit} trace {found.trace['id']}"),
        ("the whole ledger, checked", f"{remit} ledger verify"),
        ("what landed", f"git -C {shlex.quote(str(played.room.repository))} log --oneline"),
    ):
        print(f"  {what + ':':<29} {command}")
