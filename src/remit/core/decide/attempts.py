"""Decisions on evidence that remit itself gathers: what it saw of an attempt, and proofs of parity.

Nobody hands either in. What an attempt did is kept on the attempt's own stream, where it changes no item:
under its live lease, or afterwards for what only shows later, such as how an agent ended. A proof of
parity is written by remit's own verifier and by nobody else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from remit.core import run_events as e
from remit.core.asking import Command
from remit.core.checks import Check
from remit.core.decide.asking import bad, fenced, find
from remit.core.decide.reports import attempt_of
from remit.core.facts import Attempt, Item, Lease
from remit.core.ids import MAX_INTEGER
from remit.core.refusals import Code, Refused
from remit.core.run_commands import RecordAttempt, RecordParityProof
from remit.core.services import VERIFIER
from remit.core.view import Draft

MOST_CHECKS: Final = 200
MOST_FIGURES: Final = 100
LONGEST: Final = 1_000
"""Longest part of a check or figure, in characters."""

_PHASE: Final = re.compile(r"[a-z][a-z0-9:-]{0,63}\Z")
_FIGURE: Final = re.compile(r"[a-z][a-z0-9:_-]{0,63}\Z")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")


def _note(draft: Draft, cmd: RecordAttempt) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    refused = _unfit(cmd)
    if refused is not None:
        return refused
    lease = fenced(draft, item, cmd.fence, "note on the attempt at")
    live = not isinstance(lease, Refused)
    if isinstance(lease, Lease):
        name, of = attempt_of(draft, lease), lease.id
    elif _held_once(draft, item, cmd.attempt):
        name, of = cmd.attempt, f"L-{cmd.attempt[2:]}"
    else:
        return lease
    event = e.AttemptNoted(
        item.id, of, cmd.phase, live, cmd.checks, cmd.figures, cmd.text.inline, cmd.text.ref
    )
    draft.emit("attempt", name, event)
    return None


def _held_once(draft: Draft, item: Item, attempt: str) -> bool:
    """Whether the asking actor held a lease here, and the stream of this attempt of it was begun."""
    if not attempt.startswith(f"A-{item.id[2:]}.") or draft.ask.actor not in item.holders:
        return False
    known = draft.get("attempt", attempt)
    return isinstance(known, Attempt) and known.item == item.id


def _unfit(cmd: RecordAttempt) -> Refused | None:
    if not _PHASE.match(cmd.phase):
        return bad("phase", cmd.phase, "1 to 64 of a-z, 0-9, : and -")
    if len(cmd.checks) > MOST_CHECKS or len(cmd.figures) > MOST_FIGURES:
        found = f"{len(cmd.checks)} and {len(cmd.figures)}"
        return bad("checks and figures", found, f"at most {MOST_CHECKS} and {MOST_FIGURES}")
    for check in cmd.checks:
        for part in Check.__slots__:
            text = str(getattr(check, part))
            if len(text) > LONGEST or not text.isprintable():
                return bad(f"{part} of a check", text, f"at most {LONGEST} printable characters")
    for name, value in cmd.figures:
        if not _FIGURE.match(name):
            return bad("name of a figure", name, "1 to 64 of a-z, 0-9, :, _ and -")
        if len(value) > LONGEST or not value.isprintable():
            return bad(f"figure {name}", value, f"at most {LONGEST} printable characters")
    return None


def _proof(draft: Draft, cmd: RecordParityProof) -> Refused | None:
    if draft.ask.actor != VERIFIER:
        return Refused(
            Code.ACTOR_KIND_REFUSED,
            f"cannot record a proof of parity as {draft.ask.actor}: only remit itself does",
            "run 'remit prove parity'",
            {"actor": draft.ask.actor},
        )
    if not _DIGEST.match(cmd.code):
        return bad("code", cmd.code, "a digest: 64 hexadecimal digits in lower case")
    if not 0 < len(cmd.release) <= 64 or not cmd.release.isprintable():
        return bad("release", cmd.release, "1 to 64 printable characters")
    if cmd.result not in ("PASS", "FAIL"):
        return bad("result", cmd.result, "PASS or FAIL")
    for name in ("scenarios", "mutants"):
        if not 0 <= getattr(cmd, name) <= MAX_INTEGER:
            return bad(name, getattr(cmd, name), f"0 to {MAX_INTEGER}")
    event = e.ParityProved(cmd.release, cmd.code, cmd.scenarios, cmd.mutants, cmd.result)
    draft.emit("proof", cmd.code, event)
    return None


HANDLERS: Final[dict[type[Command], Callable[[Draft, Any], Refused | None]]] = {
    RecordAttempt: _note,
    RecordParityProof: _proof,
}
