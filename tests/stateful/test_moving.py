"""A ledger that wants its adoption signed moves from store to store by one signature, and not without.

No server is needed: the rows of both stores are compared after the move as after any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from tests.core.traffic import SMALL
from tests.core.world import HUMAN, KEYS, played
from tests.stateful.moves import Ground, Trio

from remit.core import commands as c
from remit.core.actor_commands import KeySpec
from remit.core.change import changed
from remit.core.checks import Result
from remit.core.events import EpochAdopted
from remit.core.refusals import Refused
from remit.core.signing import Proof
from remit.service.engine import Call, Done

MINUTE_US = 60_000_000


@pytest.fixture
def trio() -> Iterator[Trio]:
    ground = Ground(None)
    made = Trio(ground, 5, "mixed")
    yield made
    made.close()
    ground.leave()


def strict(trio: Trio, key: KeySpec) -> None:
    """Somebody has a key, and from now on the ledger believes no label."""
    [enrolled] = trio.same.run([Call(c.EnrolKey(HUMAN, key), HUMAN)])
    assert isinstance(enrolled, Done), enrolled
    call = Call(c.SetPolicy(changed(SMALL, accept_unproved=False)), HUMAN)
    wish = Proof("1" * 32, trio.traffic.world.now + MINUTE_US)
    [asked] = trio.same.run([changed(call, proof=wish)])
    assert isinstance(asked, Refused)
    found = {
        "statement": asked.details["statement"],
        "namespace": asked.details["namespace"],
        "fingerprint": key.fingerprint,
        "reach": Result.PASS,
    }
    proof = changed(wish, **found, signature=played(found))
    [answer] = trio.same.run([changed(call, proof=proof)])
    assert isinstance(answer, Done), answer
    trio.compare()


def adopted(trio: Trio) -> list[str]:
    """How well each adoption was proved."""
    events = trio.traffic.world.events()
    return [r.assurance for r in events if isinstance(r.event, EpochAdopted)]


def test_one_signature_adopts_every_copy(trio: Trio) -> None:
    strict(trio, KEYS[HUMAN])
    for moves in (1, 2):
        trio.move(Random(1))
        trio.compare(full=True)
        trio.prove(Random(0))
        assert (trio.moves, adopted(trio)) == (moves, ["signature"] * moves)


def test_a_copy_is_not_adopted_by_a_signature_over_something_else(
    trio: Trio, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict(trio, KEYS[HUMAN])
    right = Trio._statement
    monkeypatch.setattr(
        Trio, "_statement", lambda self, who: changed(right(self, who), nonce="0" * 32)
    )
    with pytest.raises(AssertionError, match="SIGNATURE_STALE"):
        trio.move(Random(1))


def test_where_nobody_could_adopt_a_copy_the_ledger_stays(trio: Trio) -> None:
    expires_at = trio.traffic.world.now + MINUTE_US
    strict(trio, changed(KEYS[HUMAN], expires_at=expires_at))
    trio.traffic.world.pass_us(MINUTE_US)
    trio.move(Random(1))
    assert (trio.moves, adopted(trio)) == (0, [])
