"""A ledger that accepts nothing unproved, its people with real keys, and an agent that means no good.

The agent runs as the same user: it reads the ledger's file, gives every command and every variable, and has
whatever lies about in the person's home. What it does not have is a passphrase.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.ground.people import Key, SecurityKey, make_key, typing
from tests.surfaces.cli.calling import Cli, Ran

from remit.core import commands as c
from remit.core.refusals import Refused
from remit.service.operations import item_of, lease_of
from remit.wiring import Ledger, open_ledger, url_of

KIND = ("--kind", "dependency-bypass", "--about", "node/n1", "--proposal", "a" * 64)
OPTIONS = ("--option", "pay=Pay it", "--keep", "wait=Wait", "--against", "wait=It is due")


@dataclass
class Stage:
    """The place where it all happens; ``files`` counts the statements that were written."""

    folder: Path
    cli: Cli
    keys: dict[str, Key] = field(default_factory=dict)
    device: SecurityKey = field(default_factory=SecurityKey)
    token: str = ""
    files: int = 0
    agent: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        """The home of the one user that everybody here is."""
        return self.folder / "home"

    @property
    def path(self) -> Path:
        """The ledger's file."""
        return self.cli.cwd / ".remit" / "ledger.db"

    @property
    def socket(self) -> Path:
        """Where the ssh-agent listens."""
        return self.folder / "agent.sock"

    def open(self) -> Ledger:
        """The ledger, opened."""
        return open_ledger(url_of(self.path))

    def run(self, *argv: str, actor: str, cwd: Path | None = None) -> Ran:
        """A call, as it is."""
        return self.cli.run(*argv, "--json", "--as", actor, cwd=cwd)

    def statement(self, *argv: str, actor: str, cwd: Path | None = None) -> Path:
        """The statement that this call wants signed, in a file of its own."""
        self.files += 1
        path = self.folder / f"statement-{self.files}"
        ran = self.run(*argv, "--statement", str(path), actor=actor, cwd=cwd)
        assert ran.status == 5, ran
        assert ran.error["code"] == "SIGNATURE_WANTED"
        return path

    def bring(self, path: Path, signature: str, *argv: str, actor: str, **how: Any) -> Ran:
        """A call with a statement and a signature from elsewhere."""
        Path(f"{path}.sig").write_text(signature)
        return self.run(*argv, "--statement", str(path), actor=actor, **how)

    def signed(self, *argv: str, actor: str = "ann", key: str = "", **how: Any) -> Ran:
        """A call that its human signs, properly."""
        path = self.statement(*argv, actor=actor, **how)
        text = self.keys[key or actor].sign(path.read_bytes(), self.namespace(path))
        return self.bring(path, text, *argv, actor=actor, **how)

    def done(self, *argv: str, actor: str = "ann", key: str = "", **how: Any) -> Any:
        """The data of a call that its human signs and that must be accepted."""
        ran = self.signed(*argv, actor=actor, key=key, **how)
        assert ran.status == 0, ran
        return ran.data

    def namespace(self, path: Path) -> str:
        """In which namespace a statement is signed."""
        from remit.core.signing import NAMESPACES

        return NAMESPACES[str(json.loads(path.read_text())["act"])]

    def proposed(self, *more: str) -> str:
        """A decision that the agent proposes."""
        ran = self.run("decision", "propose", "Skip it", *KIND, *OPTIONS, *more, actor="bot")
        assert ran.status == 0, ran
        return str(ran.data["decision"]["id"])

    def handed_in(self, actor: str, *rows: Any) -> str:
        """An item that this actor worked on and handed in."""
        ledger = self.open()
        self.files += 1
        made = ledger.acting(actor).create(
            c.CreateItem("work", rows=rows or (self.row,)), command_id=f"made-{self.files}-{actor}"
        )
        item = item_of(made)
        lease = lease_of(ledger.acting(actor).lease(c.GrantLease(item)))
        answer = ledger.acting(actor).report_completion(
            c.ReportCompletion(item, lease.fence, "a" * 40, "b" * 40, "branch", "c" * 40)
        )
        assert not isinstance(answer, Refused), answer
        ledger.close()
        return item

    @property
    def row(self) -> Any:
        """A check of an item."""
        from remit.core.rows import RowKind, RowSpec

        return RowSpec(RowKind.COMMAND, argv=("true",))


def make_stage(folder: Path) -> Stage:
    """ann and bea with keys, bot with a token, everything signed; the environment must be set."""
    home = folder / "home"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    here = folder / "here"
    here.mkdir()
    stage = Stage(folder, Cli(here))
    for name in ("ann", "ann-2", "ann-3", "ann-4", "bea", "evil", "evil-2", "kept"):
        stage.keys[name] = make_key(folder, name)
    stage.keys["plain"] = make_key(folder, "plain", passphrase="")
    ran = stage.cli.run("init", "--human", "ann", "--key", f"{folder}/ann.pub", "--json")
    assert ran.status == 0, ran
    stage.done("actor", "add", "bot")
    stage.done("actor", "add", "bea", "--kind", "human", "--public", f"{folder}/bea.pub")
    soon = datetime.now(UTC) + timedelta(seconds=8)
    for name, more in (
        ("ann-4", ("--expires", soon.isoformat())),
        ("ann-2", ()),
        ("ann-3", ()),
        ("kept", ()),
    ):
        stage.done("actor", "key", "ann", "--public", f"{folder}/{name}.pub", *more)
    found = stage.run("actor", "list", actor="ann").data["actors"][0]["keys"]
    stage.done("actor", "key", "ann", "--revoke", found[3]["fingerprint"])
    (folder / "device.pub").write_text(stage.device.line)
    stage.done("actor", "key", "ann", "--public", f"{folder}/device.pub")
    ran = stage.run("actor", "token", "bot", actor="ann")
    stage.token = ran.data["token"]
    while datetime.now(UTC) <= soon:  # until a key of ann's has expired
        time.sleep(0.05)
    return stage


def unlock(stage: Stage, name: str) -> None:
    """The person unlocks a key in an ssh-agent, which then signs for whoever asks."""
    argv = ["ssh-agent", "-D", "-a", str(stage.socket)]
    stage.agent = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    while not stage.socket.exists():
        time.sleep(0.01)
    key = stage.keys[name]
    env = {**typing(key), "SSH_AUTH_SOCK": str(stage.socket)}
    subprocess.run(["ssh-add", "-q", str(key.path)], env=env, check=True, capture_output=True)


def lock(stage: Stage) -> None:
    """The agent ends."""
    if stage.agent is not None:
        stage.agent.terminate()
        stage.agent.wait()
        stage.agent = None
    if stage.socket.exists():
        os.unlink(stage.socket)
