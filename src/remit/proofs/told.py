"""What callers asked for and what they were told, in the form that the history checker takes.

A caller that may be killed at any moment keeps a record beside the ledger: before a call what it asks,
after the answer what it was told. This module adds such records up. Three things follow for each
command id: whether anybody used it, which events were acknowledged under it, and whether its callers
were told, every time that they asked, that nothing was done. A call without an answer says nothing,
and so does an answer that leaves the outcome open: the ledger may then hold the command, once, or not.

Pure like the checker: reading the records is the business of whoever kept them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from remit.core.events import Recorded
from remit.core.facts import Fact, Key
from remit.proofs.history import Acknowledged, Problem, judge


class Said(StrEnum):
    """What became of one command in one call, as its caller heard it."""

    DONE = "done"
    REFUSED = "refused"
    AWAY = "away"
    UNKNOWN = "unknown"
    NOTHING = "nothing"


NOT_DONE = (Said.REFUSED, Said.AWAY)
"""Answers that promise that nothing was done."""


@dataclass(frozen=True, slots=True)
class Word:
    """One command of one call: when it was asked, and what was heard (``NOTHING``: no answer)."""

    command_id: str
    said: Said
    events: tuple[Recorded, ...] = ()
    asked_us: int = 0
    answered_us: int = 0


@dataclass(frozen=True, slots=True)
class Account:
    """All words added up, as ``judge`` takes them."""

    sent: frozenset[str]
    acknowledged: tuple[Acknowledged, ...]
    denied: frozenset[str]

    def judge(
        self, events: Sequence[Recorded], rows: dict[Key, Fact] | None = None
    ) -> tuple[Problem, ...]:
        """Everything that is wrong with a history in the light of this account."""
        return judge(
            events, acknowledged=self.acknowledged, refused=self.denied, sent=self.sent, rows=rows
        )


def account(words: Iterable[Word]) -> Account:
    """Add up what was said. An id that was asked twice counts from its first call on."""
    first: dict[str, int] = {}
    heard: dict[str, set[Said]] = {}
    told: list[Acknowledged] = []
    for word in sorted(words, key=lambda w: w.asked_us):
        since = first.setdefault(word.command_id, word.asked_us)
        heard.setdefault(word.command_id, set()).add(word.said)
        if word.said is Said.DONE:
            told.append(Acknowledged(word.command_id, word.events, since, word.answered_us))
    denied = (name for name, said in heard.items() if said <= set(NOT_DONE))
    return Account(frozenset(heard), tuple(told), frozenset(denied))


__all__ = ["NOT_DONE", "Account", "Said", "Word", "account"]
