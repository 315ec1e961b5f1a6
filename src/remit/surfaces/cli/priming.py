"""``prime`` and ``hook``: what an agent is told when it begins, and a guard while it edits.

The conventions are those of agents that call hooks: a hook reads one JSON object from standard input;
what a session-start hook answers becomes context; a guard that exits 2 keeps the tool from running and
its standard error is the reason, while any other failure lets it run. So the guard exits 2 for whatever
it cannot make sense of inside a clone of an attempt. It is a help to an honest agent and no border: a
shell command passes it by. What comes back is compared with the scope in any case.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from remit.core.refusals import Code, Refused
from remit.core.scopes import in_scope
from remit.ports import RemitError
from remit.surfaces.cli import finding
from remit.surfaces.cli.answers import Answer, Stop
from remit.surfaces.cli.declare import WORK, stands
from remit.surfaces.cli.groups import app, hook
from remit.surfaces.cli.session import Session
from remit.surfaces.cli.visible import visible

if TYPE_CHECKING:
    from remit.surfaces.cli.screen import Screen

INPUT_BYTES: Final = 4 << 20
BEGIN: Final = "<!-- remit:begin -->"
END: Final = "<!-- remit:end -->"
BLOCK: Final = f"""\
{BEGIN}
## Work items

This repository keeps its work on a ledger with `remit`. Run `remit prime` before you begin and after
your context was compacted: it names the commands, the rules and where things stand.

- `remit ready` lists what may be worked on; `remit lease --next --clone DIR` takes the next one.
- `remit brief ID` says what is wanted, what decides it, and which paths may change.
- `remit report completion ID --fence N` hands work in. A refused report means: stop.
- Never work without a lease, outside the scope, or around a check.
{END}
"""
EDITS: Final = ("Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch")
_PATHS: Final = ("file_path", "notebook_path", "path")
_PATCH: Final = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


def text() -> str:
    """The text that does not change."""
    return Path(__file__).with_name("prime.md").read_text("utf-8")


def _now(session: Session) -> tuple[str, dict[str, Any]]:
    """Where things stand, as text and as data."""
    from remit.service.reading.items import ready
    from remit.service.reading.registers import policy

    try:
        with session.reading() as tx:
            switch = policy(tx)["kill_switch"]
            found = ready(tx, 5)
    except RemitError as away:
        said = f"\n## Now\n\nThe ledger cannot be read: {visible(away.message)}\n"
        return said, {"ready": None, "first": [], "kill_switch": None, "attempt": None}
    first = [item["id"] for item in found["items"]]
    note = finding.attempt_note(finding.place())
    attempt = None
    lines = [
        f"- ready: {found['total']}" + (f", first {', '.join(first)}" if first else ""),
        f"- kill switch: {'on, so no lease is given' if switch else 'off'}",
    ]
    if isinstance(note.get("item"), str) and isinstance(note.get("fence"), int):
        attempt = {"item": note["item"], "fence": note["fence"]}
        lines.append(f"- this is a clone for {visible(note['item'])}, fence {note['fence']}")
    data = {"ready": found["total"], "first": first, "kill_switch": switch, "attempt": attempt}
    return "\n## Now\n\n" + "\n".join(lines) + "\n", data


def _has_ledger(session: Session) -> bool:
    """Whether a ledger belongs here; that one was named and is not there is an error as ever."""
    try:
        return bool(session.url)
    except Stop as stopped:
        if stopped.refused.code is Code.LEDGER_MISSING:
            return False
        raise


def _shown(screen: Screen, data: Any) -> None:
    if data["text"]:
        screen.raw(data["text"])


@stands(app, "prime", WORK, "remit prime", "remit prime --agents-md >> AGENTS.md")
def prime(
    session: Session,
    agents_md: Annotated[
        bool, typer.Option("--agents-md", help="Print a block for AGENTS.md instead.")
    ] = False,
) -> Answer:
    """Print what an agent should know: the commands, the rules, and where things stand.

    Where no ledger is, nothing is printed, so that a hook may call it in every repository.
    """
    if agents_md:
        return Answer({"text": BLOCK, "now": None}, _shown)
    if not _has_ledger(session):
        return Answer({"text": "", "now": None}, _shown)
    now, data = _now(session)
    return Answer({"text": text() + now, "now": data}, _shown)


def _answered(screen: Screen, data: Any) -> None:
    if data["hook"] is not None:
        screen.raw(msgspec.json.encode(data["hook"]).decode() + "\n")


@stands(hook, "session-start", WORK, "remit hook session-start")
def session_start(session: Session) -> Answer:
    """Answer a session-start hook with the text of 'remit prime' as context.

    Where no ledger is, it answers nothing. What the hook is handed on standard input is not read.
    """
    if not _has_ledger(session):
        return Answer({"hook": None}, _answered)
    said = text() + _now(session)[0]
    output = {"hookEventName": "SessionStart", "additionalContext": said}
    return Answer({"hook": {"hookSpecificOutput": output}}, _answered)


@stands(hook, "settings", WORK, "remit hook settings")
def settings(session: Session) -> Answer:
    """Print the hooks for .claude/settings.json: context at the start, and the guard of edits."""
    del session
    start = [{"type": "command", "command": "remit hook session-start"}]
    guard = [{"type": "command", "command": "remit hook guard"}]
    hooks = {
        "SessionStart": [{"matcher": "startup|resume|clear|compact", "hooks": start}],
        "PreToolUse": [{"matcher": "|".join(EDITS), "hooks": guard}],
    }
    return Answer({"hook": {"hooks": hooks}}, _settings)


def _settings(screen: Screen, data: Any) -> None:
    screen.raw(msgspec.json.format(msgspec.json.encode(data["hook"])).decode() + "\n")


def _guarded(screen: Screen, data: Any) -> None:
    del screen
    if not data["allowed"]:
        print(visible(data["reason"], 2_000), file=sys.stderr)


@stands(hook, "guard", WORK, "remit hook guard")
def guard(session: Session) -> Answer:
    """Answer a hook before an edit: exits 2, with the reason, where a path is outside the scope.

    It reads the hook's JSON on standard input. Outside a clone of an attempt there is no scope and
    nothing is refused; inside one, what cannot be told is refused.
    """
    try:
        reason = _objection(session, sys.stdin.buffer.read(INPUT_BYTES + 1))
    except (Stop, RemitError, OSError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        said = error.refused.message if isinstance(error, Stop) else str(error)
        reason = f"remit cannot tell whether this edit is in scope: {said}"
    allowed = not reason
    return Answer({"allowed": allowed, "reason": reason}, _guarded, 0 if allowed else 2)


def _objection(session: Session, data: bytes) -> str:
    """Why an edit is refused; empty where nothing is against it."""
    scope, item = _scope(session)
    if scope is None:
        return ""
    if len(data) > INPUT_BYTES:
        raise ValueError(f"the hook was handed more than {INPUT_BYTES} bytes")
    call = msgspec.json.decode(data, type=dict[str, Any])
    given = call.get("tool_input")
    if call.get("tool_name") not in EDITS:
        return ""
    paths = _paths(given if isinstance(given, dict) else {})
    if not paths:
        raise ValueError("the hook names no path")
    at = finding.place()
    top = (at.top or at.cwd).resolve()
    cwd = call.get("cwd")
    base = Path(cwd) if isinstance(cwd, str) and cwd.startswith("/") else at.cwd
    for path in paths:
        outside = _outside(base / path, top, scope)
        if outside:
            named = ", ".join(scope[:10]) or "nothing"
            return (
                f"{outside}: {path} may not change under {item}, whose scope is {named}. Leave it,"
                " or write it down as an item of its own: remit create"
            )
    return ""


def _paths(given: dict[str, Any]) -> list[str]:
    """The paths that a tool is about to change."""
    found = [given[name] for name in _PATHS if isinstance(given.get(name), str)]
    for value in given.values():
        for line in value.splitlines() if isinstance(value, str) else ():
            found += [line.removeprefix(mark) for mark in _PATCH if line.startswith(mark)]
    return [path.strip() for path in found if path.strip()]


def _outside(path: Path, top: Path, scope: tuple[str, ...]) -> str:
    """What is wrong with a path, by where it really lies; empty where nothing is."""
    real = Path(os.path.realpath(path))
    allowed = (os.environ.get("REMIT_REPORT", ""), os.environ.get("REMIT_PROGRESS", ""))
    if str(path) in allowed:
        return ""
    if not real.is_relative_to(top):
        return "outside the clone"
    inner = real.relative_to(top)
    if ".git" in inner.parts:
        return "git's own files"
    return "" if in_scope(inner.as_posix(), scope) else "outside the scope"


def _scope(session: Session) -> tuple[tuple[str, ...] | None, str]:
    """The scope that holds here, and whose it is; None outside a clone of an attempt."""
    from remit.service.reading.brief import build

    handed = os.environ.get("REMIT_SCOPE")
    if handed is not None and os.environ.get("REMIT_ITEM"):
        return tuple(handed.split("\n")) if handed else (), os.environ["REMIT_ITEM"]
    note = finding.attempt_note(finding.place())
    item = note.get("item")
    if not isinstance(item, str):
        return None, ""
    with session.reading() as tx:
        found = build(tx, item)
    if isinstance(found, Refused):
        raise Stop(found)
    return tuple(found["scope"]), item
