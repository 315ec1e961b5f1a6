"""What a store says to a caller that broke its rules: one wording for every store.

All but the last two are bugs, never a user's fault: a decision was made on facts that are not the stored ones, or
events do not continue the head. The transaction is rolled back.
"""

from __future__ import annotations

from remit.core.facts import Key
from remit.core.refusals import Code
from remit.ports import RemitError

_HINT = "this is a bug in remit; nothing was written"


def gap(found: int, expected: int) -> RemitError:
    """An event's seq does not continue the head."""
    return RemitError(
        f"cannot append an event: found seq {found}, expected {expected}, the head plus one",
        _HINT,
        {"seq": found, "expected": expected},
    )


def stream_gap(stream: str, found: int, expected: int) -> RemitError:
    """An event's version does not continue its stream."""
    return RemitError(
        f"cannot append to {stream}: found stream version {found}, expected {expected}",
        _HINT,
        {"stream": stream, "version": found, "expected": expected},
    )


def backwards(seq: int, found: int, expected: int) -> RemitError:
    """An event's time is before the event before it."""
    return RemitError(
        f"cannot append event {seq}: found the time {found}, expected {expected} or later",
        _HINT,
        {"seq": seq, "at": found, "expected": expected},
    )


def mismatch(key: Key, found: str, expected: str) -> RemitError:
    """A row is not what its writer loaded."""
    return RemitError(
        f"cannot write {key[0]} {key[1]}: found {found}, expected {expected} as it was loaded",
        _HINT,
        {"kind": key[0], "id": key[1]},
    )


def twice(key: Key) -> RemitError:
    """One call writes one row twice."""
    return RemitError(
        f"cannot write {key[0]} {key[1]}: found it twice in one call, expected once",
        _HINT,
        {"kind": key[0], "id": key[1]},
    )


def epoch_too_low(ledger_id: str, found: int, known: int) -> RemitError:
    """An adoption does not raise the epoch above every one that is known; no bug, but a rule."""
    return RemitError(
        f"cannot adopt {ledger_id}: found epoch {found}, expected one above {known}",
        f"give --epoch-above {known}, or a higher one that you know of",
        {"epoch": found, "known": known},
        code=Code.EPOCH_TOO_LOW,
    )


def in_use(url: str, held: int) -> RemitError:
    """An import into a ledger that people work in; no bug, but a rule."""
    return RemitError(
        f"cannot import into {url}: it holds {held} events and is in use, expected an empty ledger"
        " or a copy that nobody adopted",
        "name a free place; what is in use takes no events from elsewhere",
        {"url": url, "events": held},
        code=Code.LEDGER_EXISTS,
    )
