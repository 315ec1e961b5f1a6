"""Commands of effect work: hand intents in, say what capacity there is, and what rules admission.

What is submitted gets a verdict, whatever it is; only what could not be read or stored is refused.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from remit.core import commands as c
from remit.core.refusals import Code, Refused, meaning
from remit.service.reading import capacity as reading_capacity
from remit.service.submitting import Submitted, intent_of, submit
from remit.surfaces.cli import reads
from remit.surfaces.cli.answers import Answer, Stop
from remit.surfaces.cli.declare import OPERATE, WORK, stands, writes
from remit.surfaces.cli.declare import reads as read
from remit.surfaces.cli.documents import FileName
from remit.surfaces.cli.groups import app, capacity, policy
from remit.surfaces.cli.inputs import read_bytes, told, wrong
from remit.surfaces.cli.looking import Limit
from remit.surfaces.cli.planning import event_of
from remit.surfaces.cli.session import Session, accepted

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen

CHUNK: Final = 500
"""Intents of one transaction, so that no other writer waits long."""

MOST: Final = 16 * 1024 * 1024
"""Longest document that is read, in bytes."""


def _verdicts(screen: Screen, data: Any) -> None:
    screen.table(
        ("work", "item", "verdict", "reason", "owner", "recheck"),
        [
            (v["work_id"], v["item"], v["verdict"], v["reason"], v["owner"], v["recheck"])
            for v in data["verdicts"]
        ],
    )
    for refused in data["refused"]:
        screen.line(f"{refused['work_id']}: {refused['code']}: {refused['message']}", "red")


@writes(app, "submit", WORK, "remit submit export.yaml", "remit submit - --json < intents.json")
def submit_file(session: Session, file: FileName) -> Answer:
    """Hand in intents of effect work, one or many; each gets a receipt and a verdict.

    A message that comes again with the same content returns its receipt. The exit status is 0
    whatever the verdicts are; where one could not be stored, it is that of the refusal.
    """
    from remit.wiring.documents import submissions

    found, problems = submissions(read_bytes(file, MOST))
    if problems:
        raise wrong("intents", file, problems)
    intents = [intent_of(s.envelope, s.document, s.size, s.faults) for s in found]
    verdicts: list[dict[str, Any]] = []
    refused: list[tuple[str, Refused]] = []
    for start in range(0, len(intents), CHUNK):
        part = intents[start : start + CHUNK]
        own = f"{session.command_id}/{start}" if start else session.command_id
        for one, answer in zip(part, submit(session.operations, part, command_id=own), strict=True):
            if isinstance(answer, Refused):
                refused.append((one.envelope.work_id, answer))
            else:
                verdicts.append(verdict(answer))
    if refused and not verdicts:
        raise Stop(refused[0][1])
    return Answer(
        {
            "verdicts": verdicts,
            "refused": [
                {"work_id": work, "code": no.code.value, "message": no.message, "hint": no.hint,
                 "details": dict(no.details)}
                for work, no in refused
            ],
        },
        _verdicts,
        _status(refused),
    )  # fmt: skip


def _status(refused: list[tuple[str, Refused]]) -> int:
    return meaning(refused[0][1].code).exit_status if refused else 0


def verdict(found: Submitted) -> dict[str, Any]:
    """What became of a message, as the interface names it."""
    from remit.service.reading.rendering import plain, rfc3339

    return {
        "work_id": found.work_id,
        "item": found.item,
        "receipt": found.receipt,
        "verdict": found.verdict,
        "reason": found.reason,
        "owner": found.owner,
        "recheck": found.trigger,
        "recheck_at": rfc3339(found.recheck_at) if found.recheck_at else None,
        "checks": [plain(check) for check in found.checks],
        "seq": found.seq,
        "repeated": found.repeated,
    }


# Capacity.


def _observations(screen: Screen, data: Any) -> None:
    screen.table(
        ("id", "class", "observed at", "start delay", "duration", "in flight", "limit", "used by"),
        [
            (
                o["id"], o["work_class"], o["observed_at"], _ms(o["start_delay_ms"]),
                _ms(o["duration_ms"]), _figure(o["in_flight"]), _figure(o["worker_limit"]),
                str(o["admitted"]),
            )
            for o in data["observations"]
        ],
    )  # fmt: skip


def _figure(value: int | None) -> str:
    return "-" if value is None else str(value)


def _ms(value: int | None) -> str:
    return "-" if value is None else f"{value / 1000:g} s"


@writes(capacity, "observe", OPERATE, "remit capacity observe capacity.yaml")
def capacity_observe(
    session: Session,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="YAML or JSON; - reads standard input.")
    ] = None,
    work_class: Annotated[
        str, typer.Option("--class", metavar="NAME", help="Derive it from this ledger's own work.")
    ] = "",
) -> Answer:
    """Post what was observed of how much work can be done; holds that waited for it come due.

    With --class the built-in observer derives the figures from leases and completions on this
    ledger; too few of them are no evidence, and nothing is posted.
    """
    from remit.wiring.documents import observations

    if (file is None) == (not work_class):
        raise Stop(
            Refused(Code.BAD_INPUT, "expected a file or --class, one of them", "name one of them")
        )
    if file is None:
        from remit.service.observing import observe

        answer = observe(session.operations, work_class, command_id=session.command_id)
        done = [accepted(answer)]
    else:
        found, problems = observations(read_bytes(file, MOST))
        if problems:
            raise wrong("observations", file, problems)
        commands = [c.ObserveCapacity(one) for one in found]
        answers = session.operations.observe_capacity(commands, command_id=session.command_id)
        done = [accepted(answer) for answer in answers]
    with session.ledger.reading() as tx:
        shown = [
            reading_capacity.observation(tx, r.entity)
            for d in done
            for r in d.events
            if r.stream.startswith("capacity/")
        ]
    data = {"observations": shown, "observation": shown[-1] if shown else None}
    return Answer(data, _observations)


@read(capacity, "show", OPERATE, "remit capacity show", "remit capacity show --at 120 --json")
def capacity_show(session: Session, limit: Limit = 50) -> Answer:
    """Show the newest observation of each work class, its age, and how many it admitted."""
    return replace(reads.capacity_show(session, limit=limit), show=_observations)


# What rules admission.


def _rulings(screen: Screen, data: Any) -> None:
    for problem in data["problems"]:
        screen.line(
            f"{problem['line']}:{problem['column']}: {problem['path']} {problem['message']}"
        )
    screen.table(
        ("kind", "revision", "digest", "state"),
        [(r["kind"], r["label"], r["digest"][:12], r["state"]) for r in data["documents"]],
    )


@stands(policy, "check", OPERATE, "remit policy check policy.yaml")
def policy_check(session: Session, file: FileName) -> Answer:
    """Check policies, validation rules and destinations in a file; names every fault at once.

    Reads no ledger and writes none. The exit status is 2 where there is a fault.
    """
    from remit.wiring.reaching import rulings

    found, problems = rulings(read_bytes(file, MOST))
    data = {
        "documents": [
            {"kind": r.kind, "label": r.label, "digest": r.digest, "state": "read"} for r in found
        ],
        "problems": told(problems),
    }
    return Answer(data, _rulings, 2 if problems else 0)


@writes(policy, "apply", OPERATE, "remit policy apply policy.yaml")
def policy_apply(session: Session, file: FileName) -> Answer:
    """Register the policies, validation rules and destinations of a file, as a human.

    A label stands for one content for ever: the same again changes nothing, another content under
    it is refused. A policy is in force for its classes, a destination for its name, from here on.
    """
    from remit.wiring.reaching import rulings

    data = read_bytes(file, MOST)
    found, problems = rulings(data)
    if problems:
        raise wrong("documents", file, problems)
    text = data.decode("utf-8-sig")
    shown, events = [], []
    for ruling in found:
        own = f"{session.command_id}/{ruling.kind}/{ruling.label}"
        done = accepted(session.operations.run(ruling.with_text(text), command_id=own))
        state = "registered" if done.events else "unchanged"
        shown.append(
            {"kind": ruling.kind, "label": ruling.label, "digest": ruling.digest, "state": state}
        )
        events += [event_of(done)] if done.events else []
    return Answer({"documents": shown, "problems": [], "events": events}, _rulings)


def _in_force(screen: Screen, data: Any) -> None:
    screen.table(
        ("kind", "for", "revision", "digest"),
        [(r["kind"], r["of"], r["label"], r["digest"][:12]) for r in data["documents"]],
    )


@read(policy, "list", OPERATE, "remit policy list", "remit policy list --json")
def policy_list(session: Session, limit: Limit = 50) -> Answer:
    """List the documents in force: policies by class, destinations by name, and validation rules."""
    return replace(reads.policy_list(session, limit=limit), show=_in_force)


# Reconciliation.


def _effects(screen: Screen, data: Any) -> None:
    screen.table(
        ("effect", "item", "seen", "effect is", "retry", "recheck"),
        [
            (e["effect_id"], e["item"], e["observation"], e["effect"], e["retry"], e["recheck"])
            for e in data["effects"]
        ],
    )
    if not data["effects"]:
        screen.line("nothing is due")


@stands(app, "reconcile", WORK, "remit reconcile", "remit reconcile PACKAGE-72 --replacement bot-2")
def reconcile(
    session: Session,
    effect: Annotated[
        str, typer.Argument(metavar="EFFECT", help="One effect; default: all that are due.")
    ] = "",
    replacement: Annotated[
        str, typer.Option("--replacement", metavar="ACTOR", help="Who would take a retry.")
    ] = "",
) -> Answer:
    """Look effects up in their destinations, and decide on a retry from what was seen.

    The exit status is 5 where an effect that was named is still uncertain.
    """
    from remit.service.reading.effects import looked
    from remit.surfaces.cli.integrating import looked_up
    from remit.wiring.reaching import reconciler

    answers = looked_up(session, effect)
    if not (effect and answers):
        found = reconciler(session.ledger)
        answers += [(effect, found.one(effect, replacement))] if effect else found.due()
    with session.ledger.reading() as tx:
        shown = [looked(tx, name, accepted(answer)) for name, answer in answers]
    unsure = effect and any(one["effect"] in ("UNCERTAIN", "INTENDED") for one in shown)
    return Answer({"effects": shown}, _effects, 5 if unsure else 0)
