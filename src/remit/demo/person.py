"""The owner of the demo as a person with a key: made here, and asked for a passphrase when it signs.

``ssh-keygen`` makes the key and signs. The passphrase is on no disk: the demo plays the person's
fingers and types it through an askpass program, so the key does not sign by itself for anybody who
finds its file, and remit, which tries that, lets it count. Where the key cannot count here (no
``ssh-keygen``, an agent that cannot be tried), the owner decides without one and the ledger says so.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from remit.core.actor_commands import EnrolKey, KeySpec
from remit.core.refusals import Code, Refused
from remit.demo import plan
from remit.demo.room import DemoTrouble, Room, run
from remit.ports.signing import SignatureFault
from remit.service.operations import Operations
from remit.wiring import Ledger
from remit.wiring.signing import public_key

KEY: Final = "owner"
OPEN_KEY: Final = "owner-without-passphrase"

NO_KEY: Final = "NOT_TESTED"
"""What is said of a key where none could be made."""

_ASKPASS: Final = '#!/bin/sh\nprintf "%s\\n" "$DEMO_PASSPHRASE"\n'


@dataclass(slots=True)
class Person:
    """The owner with a key; ``unsigned`` says why none of it counts, empty where it does."""

    room: Room
    ledger: Ledger
    unsigned: str = ""
    open_key: str = ""
    _passphrase: str = field(default_factory=lambda: secrets.token_hex(16))

    def enrol(self) -> None:
        """Make a key that signs by itself, which is refused, and one that asks, which counts."""
        try:
            self.open_key = self._try(OPEN_KEY, "")
            refused = self._try(KEY, self._passphrase)
        except DemoTrouble as trouble:
            self.open_key = self.open_key or NO_KEY
            self.unsigned = str(trouble)
        else:
            self.unsigned = refused and f"the key was not enrolled: {refused}"

    def acting(self) -> Operations:
        """The canonical operations of the owner, who signs what needs it where the key counts."""
        if self.unsigned:
            return self.ledger.acting(plan.OWNER)
        return self.ledger.acting(plan.OWNER, signer=self.sign, files=(self.room.key(KEY),))

    def sign(self, statement: str, namespace: str) -> str | Refused:
        """Sign a statement as a person does: the program asks, and somebody types."""
        text = self.room.key("statement")
        text.write_text(statement, encoding="utf-8")
        argv = ["ssh-keygen", "-Y", "sign", "-q", "-n", namespace, "-f", str(self.room.key(KEY))]
        done = run([*argv, str(text)], self.room.path, self._typing())
        if done.returncode:
            return Refused(Code.SIGNATURE_MISSING, done.stderr.strip()[-300:], "see its message")
        return Path(f"{text}.sig").read_text(encoding="ascii")

    def _try(self, name: str, passphrase: str) -> str:
        """Make a key and let it count; the code of the refusal, empty where it counts now."""
        path = self.room.key(name)
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", name, "-f", str(path)]
        made = run(argv, self.room.path, self.room.environment())
        found = public_key(path)
        if made.returncode or isinstance(found, SignatureFault):
            raise DemoTrouble(f"ssh-keygen made no key: {made.stderr.strip()[-300:]}")
        spec = KeySpec(found.fingerprint, found.kind, found.blob, found.hardware)
        owner = self.ledger.acting(plan.OWNER, files=(path,))
        answer = owner.run(EnrolKey(plan.OWNER, spec))
        return answer.code.value if isinstance(answer, Refused) else ""

    def _typing(self) -> dict[str, str]:
        """An environment in which somebody types the passphrase."""
        askpass = self.room.key("askpass")
        askpass.write_text(_ASKPASS, encoding="utf-8")
        askpass.chmod(0o700)
        return self.room.environment() | {
            "SSH_ASKPASS": str(askpass),
            "SSH_ASKPASS_REQUIRE": "force",
            "DISPLAY": "none",
            "DEMO_PASSPHRASE": self._passphrase,
        }
