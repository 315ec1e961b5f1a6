"""Checks of ``doctor``: what remit needs of this machine, each with what was found.

Four results are kept apart: PASS and FAIL rest on a look, BLOCKED means that a look was not possible,
NOT_TESTED that nobody looked. What this version does not have is NOT_TESTED and says so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from remit.core.gitfacts import RepositoryRefusal
from remit.ports import RemitError
from remit.surfaces.cli import finding
from remit.surfaces.cli.answers import Stop
from remit.surfaces.cli.session import Session

DRIFT_US: Final = 5_000_000
"""How far the wall clock may be from the ledger's."""

ROOM_BYTES: Final = 100 * 1024 * 1024
"""Free disk below which the store is reported as failing."""

MOST_KEYS: Final = 1_000
"""Most events of an actor that are looked at for its keys."""

Check = dict[str, Any]


def check(name: str, result: str, reason: str, hint: str = "") -> Check:
    """One result."""
    return {"name": name, "result": result, "reason": reason, "hint": hint}


def examine(session: Session, repository: Path | None) -> list[Check]:
    """All checks, in the order in which they matter."""
    found = [_python()]
    found += _store(session)
    found += _git(session, repository)
    found.append(
        check("sandbox", "NOT_TESTED", "this version runs no unattended work and has no sandbox")
    )
    found.append(_keys(session))
    return found


def _keys(session: Session) -> Check:
    """Whether a key of the acting human signs unprompted for this user, and so counts for nothing."""
    from remit.core.facts import Actor

    try:
        with session.ledger.reading() as tx:
            fact = tx.load([("actor", session.actor)])["actor", session.actor]
            enrolled = [r.event for r in tx.stream(f"actor/{session.actor}", 0, MOST_KEYS)]
    except (Stop, RemitError):
        return check("keys", "NOT_TESTED", "there is no ledger to ask for keys")
    live = {k.fingerprint for k in fact.keys if not k.revoked} if isinstance(fact, Actor) else set()
    if not live:
        return check("keys", "NOT_TESTED", f"{session.actor} has no key here")
    return _tried([e for e in enrolled if getattr(e, "fingerprint", "") in live], len(live))


def _tried(enrolled: Sequence[Any], number: int) -> Check:
    from remit.core.authority_events import KeyEnrolled
    from remit.ports.signing import SignatureFault
    from remit.wiring.signing import signatures

    adapter, blocked = signatures(), ""
    for event in enrolled:
        if not isinstance(event, KeyEnrolled):
            continue
        key = adapter.key(f"{event.kind} {event.blob}")
        if isinstance(key, SignatureFault):
            return check("keys", "FAIL", f"{event.fingerprint}: {key.reason}", "revoke it")
        reach = adapter.reach(key)
        if reach.result == "FAIL":
            said = f"{event.fingerprint} signs unprompted, by {reach.where}"
            return check("keys", "FAIL", said, "give it a passphrase, or take it out of the agent")
        if reach.result == "BLOCKED":
            blocked = f"{event.fingerprint}: {reach.where} could not be tried"
    if blocked:
        return check("keys", "BLOCKED", blocked, "see that ssh-add and ssh-keygen can be run")
    return check("keys", "PASS", f"{number} keys, none of which signs unprompted where remit looks")


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return check("python", "PASS", f"Python {version} on {sys.platform}")


def _store(session: Session) -> list[Check]:
    from remit.wiring import examine as look
    from remit.wiring import on_server, path_of, shown

    try:
        url = session.url
        if on_server(url):
            clock = _clock(session)
            return [check("store", "PASS", f"{shown(url)}: the server answers"), clock]
        path = path_of(url)
        found = look(url)
        clock = _clock(session)
    except Stop as stopped:
        return [check("store", "BLOCKED", stopped.refused.message, stopped.refused.hint)]
    except RemitError as trouble:
        return [check("store", "FAIL", trouble.message, trouble.hint)]
    durable = found.journal_mode == "wal" and found.synchronous in ("FULL", "EXTRA")
    free = found.free_bytes // (1024 * 1024)
    shared = found.mode & 0o022
    return [
        check(
            "store",
            "PASS" if durable and found.writable else "FAIL",
            f"{path}: journal {found.journal_mode}, synchronous {found.synchronous},"
            f" {'writable' if found.writable else 'not writable by this user'}",
            "" if durable and found.writable else "see who owns the file and its folder",
        ),
        check(
            "file-system",
            "PASS" if found.file_system else "NOT_TESTED",
            found.file_system or "the system does not tell",
        ),
        check(
            "disk",
            "PASS" if found.free_bytes >= ROOM_BYTES else "FAIL",
            f"{free:,} MiB free",
            "" if found.free_bytes >= ROOM_BYTES else "free some space: writes will be refused",
        ),
        check(
            "permissions",
            "FAIL" if shared else "PASS",
            f"mode {found.mode:04o}, owner {found.owner_uid}",
            "others can write the ledger: chmod go-w it" if shared else "",
        ),
        clock,
    ]


def _clock(session: Session) -> Check:
    with session.ledger.reading() as tx:
        ledger_us = tx.now()
    apart = time.time_ns() // 1_000 - ledger_us
    said = f"the wall clock is {apart / 1_000_000:+.1f} s from the ledger's clock"
    if abs(apart) <= DRIFT_US:
        return check("clock", "PASS", said)
    return check(
        "clock",
        "FAIL",
        said,
        "leases go by the ledger's clock; set the machine's clock, the jump is then recorded",
    )


def _git(session: Session, named: Path | None) -> list[Check]:
    at = finding.place()
    if named is None and at.common is None:
        reason = f"{at.cwd} lies in no git repository"
        return [check("git", "NOT_TESTED", reason, "run doctor within the repository")]
    try:
        delivery = session.delivery(named)
    except Stop as stopped:
        return [check("git", "BLOCKED", stopped.refused.message, stopped.refused.hint)]
    except RemitError as trouble:
        return [check("git", "BLOCKED", trouble.message, trouble.hint)]
    from remit.wiring.folders import git_version

    version = git_version(at.cwd)
    if isinstance(version, RepositoryRefusal):
        return [check("git", "FAIL", version.message, version.hint)]
    before = delivery.repository.last_observed_main()
    if isinstance(before, RepositoryRefusal):
        return [check("git", "FAIL", before.message, before.hint)]
    last = f"main last observed at {before}" if before else "main never observed yet"
    found = [check("git", "PASS", f"{version}; the repository can be read; {last}")]
    seen = delivery.repository.observe_main()
    if isinstance(seen, RepositoryRefusal):
        found.append(check("remote", "FAIL", seen.message, seen.hint))
    else:
        found.append(check("remote", "PASS", f"{seen.url} {seen.ref} is at {seen.main_sha}"))
    return found
