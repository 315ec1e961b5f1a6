"""Identities, and how the derived ones are made.

Work, lease, attempt, requirement, row and triage ids are short and readable because people type
them. They are counters of one ledger, so they never carry meaning of their own. Lease and attempt
ids derive from epoch, item and attempt, never from a sequence number or from chance: the same
history by hand and by drain then names the same things, and an id known before a restore can never
be issued again after it.

Nothing here may look at a clock or draw a random number.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, NewType

ItemId = NewType("ItemId", str)
LeaseId = NewType("LeaseId", str)
AttemptId = NewType("AttemptId", str)
RequirementId = NewType("RequirementId", str)
RowId = NewType("RowId", str)
GoalId = NewType("GoalId", str)
TriageId = NewType("TriageId", str)
ActorName = NewType("ActorName", str)
Seq = NewType("Seq", int)
Fence = NewType("Fence", int)
Micros = NewType("Micros", int)
"""A point in time: microseconds since 1970-01-01T00:00:00Z on the ledger's own clock."""

EPOCH_SHIFT: Final = 32
"""A fence is ``epoch << 32 | counter``: an adopted ledger out-fences every lease before it."""

MAX_EPOCH: Final = (1 << 21) - 1
"""Keeps every fence below 2**53, so that any JSON reader holds it exactly."""

MAX_INTEGER: Final = (1 << 53) - 1

_ACTOR = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}\Z")
_ALIAS = re.compile(r"[^\x00-\x20\x7f-\xa0]{1,200}\Z")
_ITEM = re.compile(r"W-[1-9][0-9]{0,15}\Z")


def item_id(number: int) -> ItemId:
    """``W-104`` for 104."""
    return ItemId(f"W-{number}")


def item_number(item: str) -> int:
    """104 for ``W-104``; the caller has made sure that it is an item id."""
    return int(item[2:])


def is_item_id(text: str) -> bool:
    """Whether the text has the form of an item id; says nothing about whether it exists."""
    return _ITEM.match(text) is not None


def is_actor_name(text: str) -> bool:
    """Letters, digits and ``. _ @ + -``, 1 to 64, starting with a letter or digit."""
    return _ACTOR.match(text) is not None


def is_alias(text: str) -> bool:
    """1 to 200 characters with no blanks or controls, and not itself in the form of an item id."""
    return _ALIAS.match(text) is not None and not is_item_id(text)


def attempt_id(epoch: int, item: str, attempt: int) -> AttemptId:
    """``A-104.2`` for the second attempt at W-104; ``A-104.2e1`` after the first adoption."""
    return AttemptId(f"A-{item[2:]}.{attempt}" + (f"e{epoch}" if epoch else ""))


def lease_id(epoch: int, item: str, attempt: int) -> LeaseId:
    """``L-104.2``: one lease an attempt, so both share their number."""
    return LeaseId(f"L-{item[2:]}.{attempt}" + (f"e{epoch}" if epoch else ""))


def fence_of(epoch: int, counter: int) -> Fence:
    """The fence that the ledger's counter gives in this epoch."""
    return Fence((epoch << EPOCH_SHIFT) | counter)


def effect_key(effect: str) -> str:
    """The idempotency key of an effect, from its id alone: the same for every attempt and epoch."""
    return hashlib.sha256(b"remit effect\n" + effect.encode("utf-8", "surrogatepass")).hexdigest()
