"""Every command about keys and tokens, and human acts with signatures, asked of a ledger beside all others.

The core is told of signatures that were found good or not, as the service tells it; no cryptography is
played. So a ledger of this traffic passes from labels to keys, and most flaws of a signature are met.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.core.traffic import Ask
from tests.core.world import HUMAN, KEYS, OTHER, SECOND, World, key_spec, played

from remit.core import commands as c
from remit.core.change import changed
from remit.core.checks import Result
from remit.core.commands import Command
from remit.core.facts import Ledger
from remit.core.refusals import Refused
from remit.core.signing import Proof, Shown
from remit.service.calling import ACTS
from remit.service.engine import Call

TOKENS = ("1" * 16, "2" * 16, "3" * 16)
PEOPLE = (HUMAN, HUMAN, OTHER, "fay", "bob", "nobody")
FLAWS: tuple[dict[str, Any], ...] = (
    {"namespace": "remit-probe"},
    {"fingerprint": KEYS[OTHER].fingerprint},
    {"fingerprint": "SHA256:" + "x" * 43},
    {"reach": Result.FAIL},
    {"reach": Result.BLOCKED},
    {"hardware": True},
    {"statement": "{}"},
    {"until": 0},
)


class Proving:
    """Asks about what proves who acts, in one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.nonces = 0

    def ask(self, rnd: Random) -> Ask:
        """One of all the ways."""
        return rnd.choice(WAYS)(self, rnd)

    def shown(self, call: Call, rnd: Random) -> Call:
        """The call with what its caller shows: mostly what would prove it, at times something else."""
        if rnd.random() < 0.02:
            return changed(call, token=Shown(rnd.choice(TOKENS), rnd.choice("ab") * 64))
        ledger = self.world.fact("ledger", "ledger")
        needed = isinstance(ledger, Ledger) and not ledger.policy.accept_unproved
        if type(call.command) not in ACTS or rnd.random() > (0.9 if needed else 0.1):
            return call
        self.nonces += rnd.random() < 0.95
        wish = Proof(f"{self.nonces:032x}", self.world.now + 60 * SECOND)
        [asked] = self.world.engine.run([changed(call, command_id="", proof=wish)])
        if not isinstance(asked, Refused) or "statement" not in asked.details:
            return call
        key = KEYS.get(call.actor, KEYS[HUMAN])
        flaw = rnd.choice(FLAWS) if rnd.random() < 0.3 else {}
        found = {
            "statement": asked.details["statement"],
            "namespace": asked.details["namespace"],
            "fingerprint": key.fingerprint,
            "reach": Result.PASS,
            "presence": rnd.random() < 0.2,
        }
        found = {**found, **flaw}
        return changed(call, proof=changed(wish, **found, signature=played(found)))

    def _key(self, rnd: Random) -> Ask:
        name = rnd.choice((HUMAN, OTHER, "fay", "bob"))
        spec = rnd.choice((KEYS.get(name, KEYS[HUMAN]), key_spec("x"), KEYS[HUMAN]))
        more: dict[str, Any] = rnd.choice(({}, {}, {}, {"reach": "FAIL"}, {"reach": "BLOCKED"}))
        if rnd.random() < 0.2:
            more = {"expires_at": self.world.now + rnd.randint(-1, 9_000_000)}
        return rnd.choice(PEOPLE), c.EnrolKey(name, changed(spec, **more))

    def _no_key(self, rnd: Random) -> Ask:
        name = rnd.choice((HUMAN, OTHER, "fay"))
        return rnd.choice(PEOPLE), c.RevokeKey(name, KEYS[rnd.choice((*KEYS,))].fingerprint, "lost")

    def _token(self, rnd: Random) -> Ask:
        expires = self.world.now + rnd.randint(-1, 9_000_000) if rnd.random() < 0.3 else None
        command = c.IssueToken(
            rnd.choice(("bob", "cat", HUMAN)),
            rnd.choice((*TOKENS, "no id")),
            rnd.choice("ab") * 64,
            rnd.choice(("", "", "W-1", "W-99")),
            rnd.choice(("", "", "L-1.1")),
            expires,
        )
        return rnd.choice((HUMAN, HUMAN, "bob")), command

    def _no_token(self, rnd: Random) -> Ask:
        return rnd.choice((HUMAN, HUMAN, "bob")), c.RevokeToken(rnd.choice(TOKENS), "seen")

    def _proof(self, rnd: Random) -> Ask:
        ledger = self.world.fact("ledger", "ledger")
        assert isinstance(ledger, Ledger)
        wanted = changed(ledger.policy, accept_unproved=rnd.random() < 0.9)
        return rnd.choice((HUMAN, OTHER)), c.SetPolicy(wanted)


WAYS: tuple[Callable[[Proving, Random], tuple[str, Command]], ...] = (
    Proving._key,
    Proving._key,
    Proving._no_key,
    Proving._token,
    Proving._no_token,
    Proving._proof,
)
