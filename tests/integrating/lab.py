"""A ledger, a bare origin and a host repository with approved work, to integrate for real.

Nothing is faked: git pushes to a bare repository beside, whose hook can count, refuse, kill or lose an
answer, and the ledger is a SQLite file, so that another process can go on where one was killed.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remit.core import commands as c
from remit.core.checks import Result
from remit.core.effect_facts import Effect
from remit.core.events import Event, stream_of
from remit.core.facts import Item
from remit.core.item_events import ItemTriaged, LeaseGranted
from remit.core.refusals import Code, Refused
from remit.core.rows import RowCheck, RowKind, RowReason, RowResult, RowSpec, Verdict
from remit.ports.outside import Found, RowFound
from remit.service.engine import Done
from remit.service.integrating import Integrated, Integration
from remit.wiring import Ledger, Settings, create_ledger, open_ledger, url_of

GREEN = ("sh", "-c", "grep -q good work.txt")
IDENTITY = {
    **{f"GIT_{role}_NAME": "Ada" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "ada@example.org" for role in ("AUTHOR", "COMMITTER")},
    "GIT_CONFIG_NOSYSTEM": "1",
}


@dataclass
class Lab:
    """What a test works in."""

    root: Path
    settings: Settings = field(default_factory=Settings)
    _ledger: Ledger | None = None

    @property
    def origin(self) -> Path:
        return self.root / "origin.git"

    @property
    def host(self) -> Path:
        return self.root / "host"

    @property
    def url(self) -> str:
        return url_of(self.root / "ledger.db")

    @property
    def ledger(self) -> Ledger:
        if self._ledger is None:
            self._ledger = open_ledger(self.url)
        self._ledger.settings = self.settings
        return self._ledger

    def git(self, *args: str, cwd: Path | None = None, ok: bool = True) -> str:
        done = subprocess.run(["git", *args], cwd=cwd or self.host, capture_output=True, timeout=60)
        if ok and done.returncode:
            raise AssertionError(f"git {args} in {cwd}: {done.stderr.decode()}")
        return done.stdout.decode().strip()

    def laid(self) -> Lab:
        """Make the repositories and the ledger."""
        self.git("init", "-q", "--bare", "-b", "main", str(self.origin), cwd=self.root)
        self.git("config", "core.logAllRefUpdates", "always", cwd=self.origin)
        self.git("init", "-q", "-b", "main", str(self.host), cwd=self.root)
        self.git("remote", "add", "origin", f"file://{self.origin}")
        self.git("config", "user.name", "Host")
        self.git("config", "user.email", "host@example.org")
        self.commit({"a.txt": "one\n", "work.txt": "\n".join("0123456789") + "\n"})
        self.git("push", "-q", "origin", "HEAD:main")
        self._ledger = create_ledger(self.url, "ann")
        for name, kind in (("bob", "agent"), ("cat", "agent"), ("eve", "human")):
            self.ok("ann", c.EnrolActor(name, kind))
        return self

    def commit(self, files: dict[str, str], cwd: Path | None = None, say: str = "c") -> str:
        where = cwd or self.host
        for name, content in files.items():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            (where / name).write_text(content)
        self.git("add", "-A", cwd=where)
        self.git("commit", "-q", "-m", say, cwd=where)
        return self.git("rev-parse", "HEAD", cwd=where)

    def ok(self, actor: str, command: Any, command_id: str = "") -> Done:
        answer = self.ledger.acting(actor).run(command, command_id=command_id)
        assert isinstance(answer, Done), answer
        return answer

    def item(self, name: str) -> Item:
        with self.ledger.reading() as tx:
            found = tx.load([("item", name)])["item", name]
        assert isinstance(found, Item)
        return found

    def records(self, name: str) -> list[ItemTriaged]:
        """The triage records of an item, as they were opened."""
        return [e for e in self.stream(name) if isinstance(e, ItemTriaged)]

    def stream(self, name: str) -> list[Event]:
        with self.ledger.reading() as tx:
            return [r.event for r in tx.stream(name, 0, 1_000)]

    def effect(self, name: str) -> Effect:
        with self.ledger.reading() as tx:
            found = tx.load([("effect", f"push/{name}")])["effect", f"push/{name}"]
        assert isinstance(found, Effect)
        return found

    def pushed(self, name: str) -> list[Event]:
        """What the ledger says of the push of an item."""
        return self.stream(stream_of("effect", f"push/{name}"))

    def events(self, name: str) -> list[str]:
        return [type(event).__name__ for event in self.stream(name)]

    def handed_in(
        self,
        files: dict[str, str] | None = None,
        *,
        argv: tuple[str, ...] = GREEN,
        scope: tuple[str, ...] = ("**",),
        commits: int = 1,
        merged: bool = False,
    ) -> str:
        """Work that waits for a review: leased, cloned, committed and taken over."""
        rows = (RowSpec(RowKind.COMMAND, argv=argv),)
        made = self.ok("ann", c.CreateItem("Do it", rows=rows, scope=scope))
        name = made.events[-1].stream if made.events[-1].stream.startswith("W-") else ""
        name = name or next(r.stream for r in made.events if r.stream.startswith("W-"))
        leased = self.ok("bob", c.GrantLease(name))
        [lease] = [r.event.lease for r in leased.events if isinstance(r.event, LeaseGranted)]
        delivery = self.ledger.delivery("bob", self.host)
        clone = self.root / f"clone-{name}"
        cloned = delivery.clone(name, lease.fence, clone)
        assert not isinstance(cloned, Refused), cloned
        wanted = files or {"work.txt": "\n".join("012345678") + "\ngood\n"}
        head = ""
        for number in range(commits):
            more = {} if number == commits - 1 else {f"n{number}.txt": f"{number}\n"}
            head = self.commit(more or wanted, cwd=clone, say=f"step {number}")
        if merged:
            self.git("checkout", "-q", "-b", "side", "HEAD~1", cwd=clone)
            self.commit({"side.txt": "x\n"}, cwd=clone)
            self.git("merge", "-q", "--no-ff", "-m", "both", head, cwd=clone)
            head = self.git("rev-parse", "HEAD", cwd=clone)
        done = delivery.hand_in(name, lease.fence, head, clone=clone)
        assert isinstance(done, Done), done
        return name

    def approved(self, *args: Any, **how: Any) -> str:
        """Work that somebody else has approved."""
        name = self.handed_in(*args, **how)
        self.ok("eve", c.ReviewWork(name, True, c.Text("good")))
        return name

    def integration(self, actor: str = "ann", **how: Any) -> Integration:
        return self.ledger.integration(actor, self.host, **how)

    def integrate(self, name: str, **how: Any) -> Integrated:
        found = self.integration().integrate(name, **how)
        assert isinstance(found, Integrated), found
        return found

    def refused(self, name: str, code: Code, **how: Any) -> Refused:
        found = self.integration().integrate(name, **how)
        assert isinstance(found, Refused), found
        assert found.code is code, found
        assert found.message
        assert found.hint
        return found

    def landed(self) -> list[str]:
        """Every commit that main of the origin ever named, oldest first: its own record."""
        log = self.origin / "logs" / "refs" / "heads" / "main"
        return [line.split()[1] for line in log.read_text().splitlines()]

    def main(self) -> str:
        return self.git("rev-parse", "refs/heads/main", cwd=self.origin)

    def moved(self, files: dict[str, str], name: str = "other") -> str:
        """Somebody else pushes to main."""
        path = self.root / name
        if not path.exists():
            self.git("clone", "-q", str(self.origin), str(path), cwd=self.root)
        self.git("pull", "-q", "--rebase", "origin", "main", cwd=path)
        made = self.commit(files, cwd=path, say="theirs")
        self.git("push", "-q", "origin", "HEAD:main", cwd=path)
        return made

    def hook(self, name: str, script: str) -> None:
        """Let the origin run this at a push."""
        path = self.origin / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()


class Broken:
    """A verifier that could start nothing."""

    def verify(
        self, shipped: str, base: str, rows: Sequence[tuple[str, RowSpec]], *rest: Any
    ) -> Found:
        reason = RowReason.START_FAILED
        check = RowCheck("ran-to-end", Result.BLOCKED, "START_FAILED", "exited", reason)
        result = RowResult(Verdict.SHIP_VERIFY_GAP, reason, (check,))
        return Found(
            tuple(RowFound(row, result, 0, 0, b"no cell") for row, _ in rows), "PASS", (), ()
        )


def environment(home: Path) -> dict[str, str]:
    """Nothing of the machine's own settings plays a part."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, **IDENTITY, "HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / "gitconfig")}
