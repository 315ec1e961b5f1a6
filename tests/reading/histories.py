"""Random histories through the operations: what many people and agents do in no good order."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from tests.core.triaging import put
from tests.ground.ledgers import AGENTS, BASE, HEAD, HUMAN, REVIEWER, all_items, row
from tests.importing.backlogs import crooked, write

from remit.core import commands as c
from remit.exchange.beads_backlog import BeadsBacklog
from remit.service.importing import Import
from remit.wiring import Ledger


class History:
    """One ledger and the chance that drives it."""

    def __init__(self, ledger: Ledger, folder: Path, seed: int) -> None:
        self.ledger = ledger
        self.folder = folder
        self.chance = Random(seed)

    def step(self) -> str:
        """One call of a random kind, most likely one that is refused now and then; its name."""
        kinds = (
            "create", "create", "lease", "lease", "release", "report", "complete", "complete",
            "review", "close", "edit", "note", "depend", "undepend", "triage", "resolve", "fail",
            "rule", "import", "switch", "many",
        )  # fmt: skip
        kind = self.chance.choice(kinds)
        getattr(self, f"_{kind}")()
        return kind

    def _any(self, *statuses: str) -> Any:
        with self.ledger.store.read() as tx:
            found = [i for i in all_items(tx) if not statuses or str(i.status) in statuses]
        return self.chance.choice(found) if found else None

    def _name(self, *statuses: str) -> str:
        item = self._any(*statuses) or self._any()
        return item.id if item else "W-1"

    def _create(self) -> None:
        chance = self.chance
        rows = (row(),) if chance.random() < 0.7 else ()
        waits = ((self._name(), chance.choice(("blocks", "parent-child", "waits-for"))),)
        self.ledger.acting(HUMAN).create(
            c.CreateItem(
                f"item {chance.randrange(1_000)}",
                body="text " * chance.choice((0, 5, 1_000)),
                rows=rows,
                priority=chance.randrange(5),
                tenant=chance.choice(("default", "other")),
                depends_on=waits if chance.random() < 0.3 else (),
            )
        )

    def _many(self) -> None:
        self.ledger.acting(HUMAN).create([c.CreateItem("of many", rows=(row(),))] * 3)

    def _lease(self) -> None:
        name = self._name("ready") if self.chance.random() < 0.5 else ""
        self.ledger.acting(self.chance.choice(AGENTS)).lease(c.GrantLease(name))

    def _held(self) -> tuple[str, int, str]:
        item = self._any("leased")
        if item is None or item.lease is None:
            return "W-1", 1, "bob"
        return item.id, item.lease.fence, item.lease.actor

    def _release(self) -> None:
        item, fence, actor = self._held()
        self.ledger.acting(actor).release(c.ReleaseLease(item, fence))

    def _report(self) -> None:
        item, fence, actor = self._held()
        self.ledger.acting(actor).report_progress(c.ReportProgress(item, fence, c.Text("half")))

    def _complete(self) -> None:
        item, fence, actor = self._held()
        report = c.ReportCompletion(item, fence, HEAD, BASE)
        self.ledger.acting(actor).report_completion(report, lease_next=self.chance.random() < 0.3)

    def _fail(self) -> None:
        item, fence, actor = self._held()
        self.ledger.acting(actor).fail(c.FailWork(item, fence, reason=c.Text("no")))

    def _review(self) -> None:
        approve = self.chance.random() < 0.5
        command = c.ReviewWork(self._name("in-review"), approve, c.Text("seen"))
        self.ledger.acting(REVIEWER).review(command)

    def _close(self) -> None:
        item = self._name()
        outcome = self.chance.choice(("cancelled", "failed", "superseded"))
        successor = self._name() if outcome == "superseded" else ""
        self.ledger.acting(HUMAN).close(c.CloseItem(item, outcome, c.Text("so"), successor))

    def _edit(self) -> None:
        rows = (row("echo"),) if self.chance.random() < 0.5 else ()
        command = c.ReviseItem(self._name("draft"), title="edited", rows=rows, clarify=True)
        self.ledger.acting(HUMAN).revise(command)

    def _note(self) -> None:
        self.ledger.acting("bob").note(c.AddNote(self._name(), c.Text("hm")))

    def _depend(self) -> None:
        kind = self.chance.choice(("blocks", "parent-child", "conditional-blocks", "waits-for"))
        command = c.AddDependency(self._name("draft", "ready", "held"), self._name(), kind)
        self.ledger.acting(HUMAN).add_dependency(command)

    def _undepend(self) -> None:
        item = self._any("held")
        if item is not None and item.dependencies:
            target = self.chance.choice(item.dependencies).target.removeprefix("?")
            self.ledger.acting(HUMAN).remove_dependency(c.RemoveDependency(item.id, target))

    def _triage(self) -> None:
        self.ledger.acting(HUMAN).triage(put(self._name("ready", "held"), "ambiguity"))

    def _resolve(self) -> None:
        item = self._any("triaged")
        if item is not None and item.triage:
            how = self.chance.choice(("requeue", "cancel", "return"))
            self.ledger.acting(HUMAN).resolve(c.ResolveTriage(item.triage[0], how, "done"))

    def _rule(self) -> None:
        digest = self.chance.choice("de") * 64
        rule = c.RegisterRule("default", digest, ("true",), "")
        self.ledger.acting(HUMAN).run([rule, c.AcceptRule("default")])

    def _import(self) -> None:
        entries = crooked(6, self.chance.randrange(3))
        path = write(self.folder / "backlog.jsonl", json.loads(json.dumps(entries)))
        Import(self.ledger.acting(HUMAN), BeadsBacklog(path), "default", None).run()

    def _switch(self) -> None:
        human = self.ledger.acting(HUMAN)
        human.engage_kill_switch("stop")
        human.release_kill_switch("go")
