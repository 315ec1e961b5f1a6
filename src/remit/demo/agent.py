"""One scripted agent as a process of its own: ``python -m remit.demo.agent``.

It does what any worker does: it leases the next item, gets a clone of its own, edits files, commits,
runs the item's check and hands its commit in. What it writes is scripted; all else is real. It ends
when the demo says so, when the demo is gone, or when nothing came for a long time.

With ``--first`` it begins with a named item under a short lease and stops in the middle of it, where
the demo kills it. With ``--late`` it is that worker come back: it finishes the commit in its old
clone and reports it under its old fence, as if nothing had happened.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from remit.core.commands import GrantLease, RenewLease, ReportProgress, Text
from remit.core.facts import Item, Lease
from remit.core.refusals import Code, Refused
from remit.demo.changes import CHANGES, Change
from remit.demo.plan import UNDONE
from remit.demo.room import DemoTrouble, Room
from remit.service.delivery import Cloned, Delivery
from remit.service.engine import Done
from remit.service.operations import Operations, lease_of
from remit.service.reading.items import find, load_items, rows
from remit.wiring import Ledger, open_ledger

PAUSE_SECONDS: Final = 0.1
IDLE_SECONDS: Final = 90
STUCK_SECONDS: Final = 90


@dataclass(frozen=True, slots=True)
class Agent:
    """One worker: its name, its room, and the operations in that name."""

    name: str
    room: Room
    ledger: Ledger
    operations: Operations
    delivery: Delivery
    parent: int

    def say(self, text: str) -> None:
        """Write a line to this agent's own log."""
        print(f"{self.name}: {text}", flush=True)

    def loop(self) -> None:
        """Lease next, work, hand in, until told to stop."""
        last = time.monotonic()
        while not self.room.stop.exists() and os.getppid() == self.parent:
            answer = self.operations.lease(GrantLease())
            if isinstance(answer, Done):
                self.work(lease_of(answer))
                last = time.monotonic()
            elif answer.code is not Code.NOTHING_READY:
                raise DemoTrouble(f"{self.name} got no lease: {answer.message}")
            elif time.monotonic() - last > IDLE_SECONDS:
                return
            else:
                time.sleep(PAUSE_SECONDS)

    def work(self, lease: Lease) -> None:
        """One attempt, from the clone to the hand-in."""
        item = self.item(lease.item)
        change = self.change(item)
        cloned = self.clone(lease)
        where = Path(cloned.path)
        change.write(where)
        head = self.commit(where, change.says)
        if item.alias != UNDONE:
            self.must_be_green(item, where)
        report = ReportProgress(item.id, lease.fence, Text(f"committed {head[:12]}"))
        accepted(self.operations.report_progress(report), "report progress")
        answer = self.delivery.hand_in(
            item.id,
            lease.fence,
            head,
            clone=where,
            branch=cloned.branch,
            text=change.says,
            command_id=f"{lease.id}/hand-in",
        )
        accepted(answer, f"hand in {item.id}")
        self.say(f"handed in {item.id} at {head}")

    def stop_halfway(self, alias: str, ttl_ms: int) -> None:
        """Lease a named item, do half of it, and wait there to be killed."""
        with self.ledger.reading() as tx:
            name = find(tx, alias)
        if isinstance(name, Refused):
            raise DemoTrouble(name.message)
        answer = self.operations.lease(GrantLease(name, ttl_ms))
        lease = lease_of(accepted(answer, f"lease {name}"))
        change = self.change(self.item(name))
        cloned = self.clone(lease)
        change.write(Path(cloned.path), rest=False)
        head = self.commit(Path(cloned.path), "Half of it")
        report = ReportProgress(name, lease.fence, Text("half of it is done"))
        accepted(self.operations.report_progress(report), "report progress")
        accepted(self.operations.renew(RenewLease(name, lease.fence)), "renew")
        state = {
            "item": name,
            "alias": alias,
            "fence": lease.fence,
            "attempt": lease.attempt,
            "clone": cloned.path,
            "branch": cloned.branch,
            "head": head,
            "pid": os.getpid(),
        }
        _write(self.room.half_done, state)
        self.say(f"stopped half way through {name}")
        until = time.monotonic() + STUCK_SECONDS
        while time.monotonic() < until and os.getppid() == self.parent:
            time.sleep(PAUSE_SECONDS)
        raise DemoTrouble(f"{self.name} waited to be killed, and nobody did")

    def report_late(self) -> None:
        """Finish the old attempt and report it under the old fence."""
        state = json.loads(self.room.half_done.read_text(encoding="utf-8"))
        where = Path(state["clone"])
        change = CHANGES[state["alias"]]
        change.write(where, first=False)
        head = self.commit(where, change.says)
        answer = self.delivery.hand_in(
            state["item"],
            state["fence"],
            head,
            clone=where,
            branch=state["branch"],
            text=change.says,
            command_id=f"late-{self.name}-{state['fence']}",
        )
        no = answer if isinstance(answer, Refused) else None
        found = {
            "item": state["item"],
            "fence": state["fence"],
            "head": head,
            "pid": os.getpid(),
            "code": no.code.value if no else "ACCEPTED",
            "message": no.message if no else "",
            "current_fence": no.details.get("current") if no else None,
        }
        _write(self.room.late, found)
        self.say(f"reported {state['item']} late: {found['code']}")

    def item(self, name: str) -> Item:
        """The item as it stands."""
        with self.ledger.reading() as tx:
            [item] = load_items(tx, [name])
        return item

    def change(self, item: Item) -> Change:
        """What is scripted for an item."""
        change = CHANGES.get(item.alias)
        if change is None:
            raise DemoTrouble(f"{self.name} leased {item.id}, for which nothing is scripted")
        return change

    def clone(self, lease: Lease) -> Cloned:
        """The clone of this attempt, from a freshly observed main."""
        where = self.room.clone(f"{lease.item}.{lease.attempt}-{self.name}")
        made = self.delivery.clone(lease.item, lease.fence, where)
        if isinstance(made, Refused):
            raise DemoTrouble(f"{self.name} got no clone for {lease.item}: {made.message}")
        return made

    def commit(self, where: Path, message: str) -> str:
        """Commit all that changed; returns the commit."""
        self.room.git(self.name, where, "add", "--all")
        self.room.git(self.name, where, "commit", "--quiet", "--message", message)
        return self.room.git(self.name, where, "rev-parse", "HEAD")

    def must_be_green(self, item: Item, where: Path) -> None:
        """Run the item's own checks before handing in."""
        with self.ledger.reading() as tx:
            registered = rows(tx, item)
        for row in registered:
            if row["argv"]:
                done = self.room.check(row["argv"], where)
                self.say(f"{' '.join(row['argv'])}: exit {done.returncode}")
                if done.returncode != row["expected_exit"]:
                    raise DemoTrouble(f"the check of {item.id} is red: {done.stderr[-300:]}")


def accepted(answer: Any, doing: str) -> Done:
    """The answer, which must not be a refusal."""
    if isinstance(answer, Done):
        return answer
    raise DemoTrouble(f"cannot {doing}: {answer.code.value}: {answer.message}")


def _write(path: Path, value: dict[str, Any]) -> None:
    """Put a small file in its place whole."""
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play one agent; returns 0, or 1 with a line that says what did not work."""
    parser = argparse.ArgumentParser(prog="remit.demo.agent", description="One scripted agent.")
    parser.add_argument("--ledger", required=True, metavar="URL")
    parser.add_argument("--room", required=True, type=Path, metavar="DIR")
    parser.add_argument("--name", required=True)
    parser.add_argument("--first", default="", metavar="ID", help="stop half way through this item")
    parser.add_argument("--ttl-ms", default=0, type=int, metavar="N", help="length of that lease")
    parser.add_argument("--late", action="store_true", help="report the half-done item late")
    options = parser.parse_args(arguments)
    parent = os.getppid()
    room = Room(options.room)
    ledger = open_ledger(options.ledger)
    try:
        operations = ledger.acting(options.name)
        delivery = ledger.delivery(options.name, room.repository)
        agent = Agent(options.name, room, ledger, operations, delivery, parent)
        if options.late:
            agent.report_late()
        if options.first:
            agent.stop_halfway(options.first, options.ttl_ms)
        agent.loop()
    except DemoTrouble as trouble:
        print(f"{options.name}: {trouble}", file=sys.stderr, flush=True)
        return 1
    finally:
        ledger.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
