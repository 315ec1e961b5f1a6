"""A ledger in a file or on a server, with a policy and destinations, and worker processes on it.

Everything is real: the ledger, the destinations, the processes. ``Ground`` hands intents in and says
what became of them; ``Worker`` is ``remit worker`` as a process of its own, whose events are read from
its standard output.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from remit.core import commands as c
from remit.core.canonical import digest_of
from remit.core.change import changed
from remit.core.decide.ledger import RECONCILER
from remit.core.effect_facts import (
    AdmissionPolicy,
    Comparison,
    Effect,
    Envelope,
    Validation,
)
from remit.core.events import Recorded
from remit.core.facts import Item, Lease
from remit.core.ids import effect_key
from remit.ports.destination import digest_of as digest_of_bytes
from remit.service.engine import Done
from remit.service.operations import Caller, Operations
from remit.service.submitting import intent_of, submit
from remit.wiring import Ledger, create_ledger, enforced, open_ledger, url_of

ROOT = Path(__file__).resolve().parents[2]
HUMAN = "ann"
RULES = Validation("VALIDATION-1", 0, "c" * 64, "", (), 0, 0, 0)
POLICY = AdmissionPolicy(
    label="POLICY-1", version=0, digest="a" * 64, document="", validation="VALIDATION-1",
    classes=("*",), operations=("*",),
    replay_classes=("PURE", "IDEMPOTENT", "RECONCILABLE", "COMPENSATABLE", "IRREVERSIBLE"),
    max_payload_bytes=0, storage_limit=0, storage_retry_ms=0, freshness_limit_ms=3_600_000,
    clock_skew_ms=0, capacity_fields=(), rows=("deadline", "destination"),
    human_decision=(), recheck_horizon=1_000, attempts=3, looks=50, backoff_base_ms=50,
    backoff_cap_ms=200, retry_within_ms=3_600_000, admission_owner="", retry_owner="", seq=0,
)  # fmt: skip
ONE = (Comparison("one object", "object_count", "count", "1"),)


def payload_of(effect: str) -> bytes:
    """What the handlers of these tests send."""
    return f"export of {effect}\n".encode()


class Ground:
    """One ledger in a folder, with workers ``bot-1`` and ``bot-2`` enrolled."""

    def __init__(self, folder: Path, url: str = "", **policy: Any) -> None:
        self.folder = folder
        self.url = url or url_of(folder / "ledger.db")
        self.worker_url = self.url
        self.ledger: Ledger = create_ledger(self.url, HUMAN)
        self.ann = self.ledger.acting(HUMAN)
        for name in ("bot-1", "bot-2"):
            self.ok(self.ann.enrol(c.EnrolActor(name, "service")))
        self.ok(self.ann.register_validation(c.RegisterValidation(RULES)))
        self.ok(self.ann.register_policy(c.RegisterPolicy(changed(POLICY, **policy, seq=0))))
        self.document: dict[str, Any] = {}
        self.made = 0

    def close(self) -> None:
        self.ledger.close()

    @staticmethod
    def ok(answer: Any) -> Done:
        assert isinstance(answer, Done), answer
        return answer

    def register(self, document: Mapping[str, Any], label: str = "", **less: Any) -> None:
        """Register a destination by its document; ``less`` changes what is said of it."""
        text = json.dumps(document)
        fact = enforced(document).registered(
            label or f"{document['name']}-1", document["name"], digest_of(text), text
        )
        self.ok(self.ann.register_destination(c.RegisterDestination(changed(fact, **less, seq=0))))

    def folder_destination(self, name: str = "exports") -> Path:
        """Register a folder as a destination, and return it."""
        root = self.folder / name
        root.mkdir(exist_ok=True)
        self.document = {
            "name": name, "kind": "filesystem", "record": f"{name} folder",
            "settings": {"root": str(root), "path": "{effect_id}.txt"},
        }  # fmt: skip
        self.register(self.document)
        return root

    def envelope(self, **parts: Any) -> Envelope:
        """An envelope of its own, of work for the destination ``exports`` unless it is PURE."""
        self.made += 1
        effect = parts.get("effect_id", f"E-{self.made}")
        pure = parts.get("replay_class") == "PURE"
        values: dict[str, Any] = {
            "work_id": f"WORK-{self.made}",
            "message_id": f"MESSAGE-{self.made}",
            "operation_id": "export",
            "effect_id": effect,
            "replay_class": "RECONCILABLE",
            "completion_test": () if pure else ONE,
            "payload_digest": "" if pure else digest_of_bytes(payload_of(effect)),
            "priority_class": "STANDARD",
            "destination": "" if pure else "exports",
        }
        if pure:
            values["completion_test"] = (Comparison("effect", "effect_id", "equals", effect),)
        return Envelope(**{**values, **parts})

    def submit(self, document: str = "", **parts: Any) -> str:
        """Hand an intent in, which has to be admitted; returns its item."""
        (told,) = self.told(document, **parts)
        assert getattr(told, "verdict", "") == "ADMIT", told
        return str(told.item)

    def told(self, document: str = "", **parts: Any) -> list[Any]:
        """Hand an intent in, whatever becomes of it."""
        return list(submit(self.ann, [intent_of(self.envelope(**parts), document)]))

    def pure(self, **parts: Any) -> str:
        """PURE work."""
        return self.submit(replay_class="PURE", operation_id="count", **parts)

    # What became of it.

    def item(self, name: str) -> Item:
        with self.ledger.reading() as tx:
            found = tx.load([("item", name)])["item", name]
        assert isinstance(found, Item)
        return found

    def effect(self, name: str = "E-1") -> Effect:
        with self.ledger.reading() as tx:
            found = tx.load([("effect", name)])["effect", name]
        assert isinstance(found, Effect), f"no effect {name}"
        return found

    def status(self, name: str) -> str:
        return str(self.item(name).status)

    def events(self, kind: str = "", stream: str = "") -> list[Recorded]:
        with self.ledger.reading() as tx:
            found = tx.events(0, 1 << 30)
        return [
            r for r in found if kind in ("", type(r.event).__name__) and stream in ("", r.stream)
        ]

    def policy(self, **changes: Any) -> str:
        """Put another policy in force, before anything is handed in; returns its label."""
        label = "POLICY-2"
        policy = changed(POLICY, label=label, digest="b" * 64, **changes, seq=0)
        self.ok(self.ann.register_policy(c.RegisterPolicy(policy)))
        return label

    def observed(self, command: c.Command) -> Any:
        """What the built-in reconciler is answered."""
        seen = Operations(self.ledger.store, Caller(RECONCILER), self.ledger.engine)
        return seen.observed([command], [""])[0]

    def now(self) -> int:
        """The ledger's time."""
        with self.ledger.reading() as tx:
            return tx.now()

    def count(self) -> int:
        """The newest seq."""
        with self.ledger.reading() as tx:
            return tx.head().seq

    def leases(self) -> list[Lease]:
        """Every lease that the ledger has as given."""
        with self.ledger.reading() as tx:
            names = tx.names("item", "", 1 << 30)
            facts = tx.load([("item", name) for name in names]).values()
        return [f.lease for f in facts if isinstance(f, Item) and f.lease is not None]

    def until(self, true: Callable[[], object], seconds: float = 60) -> None:
        """Wait for something to become so."""
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, "it did not come about"
            time.sleep(0.02)


def key_of(effect: str) -> str:
    return effect_key(effect)


class Worker:
    """``remit worker MODULE:app`` as a process; ``events`` are what it told so far."""

    def __init__(
        self, ground: Ground, name: str, *options: str, actor: str = "bot-1", **env: str
    ) -> None:
        path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
        kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "remit", "worker", name, "--ledger", ground.worker_url, "--as", actor,
             "--json", *options],
            cwd=ground.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**kept, "PYTHONPATH": path, "LC_ALL": "C.UTF-8", **env},
        )  # fmt: skip
        self.events: list[dict[str, Any]] = []
        self.errors = b""
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line)["data"])

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors = self.process.stderr.read()

    def of(self, event: str) -> list[dict[str, Any]]:
        """The events of one kind so far."""
        return [one for one in list(self.events) if one["event"] == event]

    def saw(self, event: str, seconds: float = 60) -> dict[str, Any]:
        """The first event of a kind, once it is there."""
        end = time.monotonic() + seconds
        while not self.of(event):
            assert time.monotonic() < end, f"no {event}: {self.events} {self.errors.decode()}"
            time.sleep(0.02)
        return self.of(event)[0]

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wake(self) -> None:
        self.signal(signal.SIGCONT)

    def ended(self, seconds: float = 60) -> int:
        """Its exit status, and all that it told."""
        status = self.process.wait(seconds)
        for reader in self._readers:
            reader.join(60)
        assert b"Traceback" not in self.errors, self.errors.decode()
        return status

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for reader in self._readers:
            reader.join(60)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


def reopened(ground: Ground) -> Ledger:
    """The ledger as another process opens it."""
    return open_ledger(ground.url)
