"""Commands of whoever does the work: lease, clone, renew, brief, report, hand in, hand back.

Everything under a lease names its fence. A clone that remit made notes its ledger, item and fence, so
that a worker inside it types no options that it could get wrong; what is noted is a convenience, and
the core checks the fence all the same.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from remit.core import commands as c
from remit.core import facts
from remit.core.facts import Lease
from remit.core.gitfacts import RepositoryRefusal
from remit.core.item_events import LeaseReleased
from remit.core.refusals import Code, Refused
from remit.service.delivery import Delivery
from remit.service.operations import lease_of
from remit.service.outside import refused_by
from remit.service.reading.rendering import lease as shown_lease
from remit.surfaces.cli import finding, reads
from remit.surfaces.cli.answers import Answer, Stop, stop
from remit.surfaces.cli.declare import WORK, stands, writes
from remit.surfaces.cli.declare import reads as read
from remit.surfaces.cli.groups import app, report
from remit.surfaces.cli.inputs import entries_of
from remit.surfaces.cli.looking import Item
from remit.surfaces.cli.planning import Exact, Shown, Why, after, event_of, said
from remit.surfaces.cli.session import Session, accepted

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen

Fence = Annotated[
    int,
    typer.Option("--fence", metavar="N", help="The fence of the lease that this is done under."),
]
Ttl = Annotated[str, typer.Option("--ttl", metavar="TIME", help="How long it holds: 90s, 15m, 2h.")]
CloneDir = Annotated[
    Path | None,
    typer.Option("--clone", metavar="DIR", help="A clone of the attempt's own, made there."),
]
Repository = Annotated[
    Path | None,
    typer.Option("--repository", metavar="DIR", help="The repository whose remote is observed."),
]
Spent = Annotated[
    int | None,
    typer.Option("--spent", metavar="MICROS", help="What the attempt has cost so far, in all."),
]
Words = Annotated[str, typer.Option("--text", metavar="TEXT", help="What there is to say.")]

_TTL: Final = re.compile(r"([0-9]{1,9})(ms|s|m|h|d)?\Z")
_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def duration_ms(option: str, text: str) -> int:
    """A time such as ``90s``, ``15m``, ``2h`` or ``90d`` in milliseconds; a bare number is seconds."""
    if not text:
        return 0
    found = _TTL.match(text)
    if found is None or int(found[1]) == 0:
        raise stop(
            Code.BAD_INPUT,
            f"{option} is {text!r}, expected a time such as 90s, 15m, 2h or 90d",
            "correct it and repeat",
        )
    return int(found[1]) * _UNITS[found[2] or "s"]


def _leased(screen: Screen, data: Any) -> None:
    lease = data["lease"]
    screen.line(f"{lease['item']} is leased by {lease['actor']} until {lease['expires_at']}")
    screen.line(f"fence {lease['fence']}, {lease['id']}", "bold")
    if data.get("clone"):
        screen.line(f"clone: {data['clone']['path']} on {data['clone']['branch']}")
    screen.line(f"next: remit brief {lease['item']}")


@writes(app, "lease", WORK, "remit lease --next", "remit lease W-4 --ttl 2h --clone ../w4")
def lease(
    session: Session,
    item: Annotated[str, typer.Argument(metavar="ID", help="An item; or --next.")] = "",
    next_: Annotated[bool, typer.Option("--next", help="The first in lease order.")] = False,
    ttl: Ttl = "",
    clone: CloneDir = None,
    work_class: Annotated[
        str, typer.Option("--class", metavar="NAME", help="With --next: only this class.")
    ] = "",
    tenant: Annotated[
        str, typer.Option("--tenant", metavar="NAME", help="With --next: only this tenant.")
    ] = "",
    spend: Annotated[
        int, typer.Option("--spend", metavar="MICROS", help="Micro-units to set aside for it.")
    ] = 0,
    repository: Repository = None,
) -> Answer:
    """Take an item to work on: a named one, or the next in turn.

    The answer names the lease, its fence and when it ends. With --clone a clone is made from a
    freshly observed main; where that fails the item is handed back.
    """
    if bool(item) == next_:
        raise stop(
            Code.BAD_INPUT,
            "cannot lease: expected an item or --next, one of them",
            "take the next with 'remit lease --next'",
        )
    command = c.GrantLease(
        session.exact(item) if item else "", duration_ms("--ttl", ttl), work_class, tenant, spend
    )
    done = accepted(session.operations.lease(command, command_id=session.command_id))
    granted = lease_of(done)
    data: dict[str, Any] = {
        "lease": shown_lease(granted),
        "event": event_of(done),
        "repeated": done.repeated,
        "clone": None,
    }
    if clone is not None:
        data["clone"] = finding.noted_clone(clone, granted.item, granted.fence)
        if data["clone"] is None:
            data["clone"] = _clone_or_release(session, granted, clone, repository, done.repeated)
    return Answer(data, _leased)


writes(app, "claim", WORK, "remit claim --next")(lease)


def _clone_or_release(
    session: Session, granted: Lease, directory: Path, repository: Path | None, repeated: bool
) -> dict[str, Any]:
    """The clone of a fresh lease. Where none can be made the item goes back to the queue, unless
    the lease is an earlier one that was asked for again: somebody may be at work under it.
    """
    delivery = session.delivery(repository)
    try:
        return make_clone(session, delivery, granted.item, granted.fence, directory)
    except Stop as stopped:
        if repeated:
            raise
        back = c.ReleaseLease(granted.item, granted.fence, "no clone could be made")
        returned = session.operations.release(back)
        kept = "; it could not be handed back" if isinstance(returned, Refused) else ""
        refused = stopped.refused
        raise Stop(
            replace(refused, message=f"{refused.message} (lease handed back{kept})")
        ) from None


def make_clone(
    session: Session, delivery: Delivery, item: str, fence: int, directory: Path, branch: str = ""
) -> dict[str, Any]:
    """Make the clone of an attempt, and note in it where it belongs."""
    made = delivery.clone(item, fence, Path(os.path.normpath(directory.absolute())), branch)
    if isinstance(made, Refused):
        raise Stop(made)
    from remit.wiring import shown

    repository = str(finding.repository(session.url).absolute())
    finding.note_attempt(
        Path(made.path),
        {
            "ledger": shown(session.url),
            "repository": repository,
            "item": item,
            "fence": fence,
            "branch": made.branch,
            "base": made.base,
        },
    )
    return {"path": made.path, "branch": made.branch, "base": made.base}


def _cloned(screen: Screen, data: Any) -> None:
    found = data["clone"]
    screen.line(f"{found['path']} on {found['branch']} from {found['base']}")


@writes(app, "clone", WORK, "remit clone W-4 ../w4 --fence 17")
def clone(
    session: Session,
    item: Exact,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    fence: Fence,
    branch: Annotated[
        str, typer.Option("--branch", metavar="NAME", help="Its branch; default remit/ATTEMPT.")
    ] = "",
    repository: Repository = None,
) -> Answer:
    """Make a clone for the attempt that holds a lease, from a freshly observed main."""
    name = session.exact(item)
    made = make_clone(session, session.delivery(repository), name, fence, directory, branch)
    return Answer({"item": after(session, name)["item"], "clone": made}, _cloned)


@writes(app, "renew", WORK, "remit renew W-4 --fence 17 --ttl 1h")
def renew(session: Session, item: Exact, fence: Fence, ttl: Ttl = "") -> Answer:
    """Extend a live lease; attempt and fence stay."""
    command = c.RenewLease(session.exact(item), fence, duration_ms("--ttl", ttl))
    done = accepted(session.operations.renew(command, command_id=session.command_id))
    data = {
        "lease": shown_lease(lease_of(done)),
        "event": event_of(done),
        "repeated": done.repeated,
    }
    return Answer(data, _leased)


@writes(app, "release", WORK, 'remit release W-4 --fence 17 --reason "not mine"')
def release(
    session: Session, item: Exact, fence: Fence, reason: Why = "", spent: Spent = None
) -> Answer:
    """Hand an item back without a result."""
    name = session.exact(item)
    command = c.ReleaseLease(name, fence, reason, spent)
    done = accepted(session.operations.release(command, command_id=session.command_id))
    ended = [r.event.lease for r in done.events if isinstance(r.event, LeaseReleased)]
    lease = shown_lease(ended[0]) if ended else None
    return Answer({"lease": lease, **after(session, name, done)}, said)


def _brief(screen: Screen, data: Any) -> None:
    screen.raw(data["markdown"])


@read(app, "brief", WORK, "remit brief W-4", "remit brief W-4 --json")
def brief(session: Session, item: Item) -> Answer:
    """Print the task brief of an item: what is wanted, what decides it, and how to report."""
    return replace(reads.brief(session, item=item), show=_brief)


@writes(report, "progress", WORK, 'remit report progress W-4 --fence 17 --text "half done"')
def progress(
    session: Session, item: Exact, fence: Fence, text: Words = "", spent: Spent = None
) -> Answer:
    """Say how work goes: a claim, kept with the item."""
    name = session.exact(item)
    command = c.ReportProgress(name, fence, c.Text(text), spent)
    done = accepted(session.operations.report_progress(command, command_id=session.command_id))
    return Answer(after(session, name, done), said)


@writes(
    report,
    "completion",
    WORK,
    "remit report completion W-4 --fence 17 --clone ../w4",
    "remit report completion W-4 --fence 17 --head 0123456789abcdef0123456789abcdef01234567",
)
def completion(
    session: Session,
    item: Exact,
    fence: Fence,
    head: Annotated[
        str, typer.Option("--head", metavar="SHA", help="The commit; default: HEAD of the clone.")
    ] = "",
    clone: Annotated[
        Path | None,
        typer.Option("--clone", metavar="DIR", help="The clone that holds it; default: this one."),
    ] = None,
    branch: Annotated[
        str, typer.Option("--branch", metavar="NAME", help="The branch that it is on.")
    ] = "",
    pr_url: Annotated[
        str, typer.Option("--pr-url", metavar="URL", help="Where it is discussed.")
    ] = "",
    text: Words = "",
    spent: Spent = None,
    repository: Repository = None,
) -> Answer:
    """Hand work in: its commits are taken over by SHA, and it goes to review."""
    name = session.exact(item)
    here = finding.place()
    if clone is None and finding.attempt_note(here):
        clone = here.top
    done = accepted(
        session.delivery(repository).hand_in(
            name,
            fence,
            head or _committed(session, name, fence, clone, here),
            clone=clone,
            branch=branch,
            text=text,
            pr_url=pr_url,
            spent_micros=spent,
            command_id=session.command_id,
        )
    )
    return Answer(after(session, name, done), said)


def _committed(
    session: Session, item: str, fence: int, clone: Path | None, here: finding.Place
) -> str:
    """HEAD of the clone; where the caller stands in it, all that git tracks must be committed.

    Another's clone is not asked: its configuration could start programs. A late or repeated report
    is no hand-in. Raises ``NOTHING_TO_REVIEW`` where the report would leave changes behind.
    """
    from remit.wiring.folders import uncommitted

    head = finding.head_of(clone or here.cwd)
    with session.ledger.reading() as tx:
        found = tx.load([("item", item)])["item", item]
    lease = found.lease if isinstance(found, facts.Item) else None
    if lease is None or lease.fence != fence or here.top is None:
        return head
    if clone is not None and clone.absolute() != here.top:
        return head
    left = uncommitted(here.top)
    if isinstance(left, list) and left:
        shown = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        raise stop(
            Code.NOTHING_TO_REVIEW,
            f"cannot hand in {item}: {here.top} holds changes that are not committed: {shown}",
            f"commit them, or name the commit that is meant: --head {head}",
            item=item,
            files=left[:100],
        )
    return head


@stands(app, "observe", WORK, "remit observe", "remit observe --accept-rewrite")
def observe(
    session: Session,
    accept_rewrite: Annotated[
        bool,
        typer.Option("--accept-rewrite", help="Main was rewritten since, and that is known."),
    ] = False,
    repository: Repository = None,
) -> Answer:
    """Fetch the remote's main and say where it is; no item changes."""
    seen = session.delivery(repository).repository.observe_main(accept_rewrite=accept_rewrite)
    if isinstance(seen, RepositoryRefusal):
        raise Stop(refused_by(seen))
    data = {
        "remote": seen.url,
        "ref": seen.ref,
        "main_sha": seen.main_sha,
        "previous_main_sha": seen.previous_main_sha,
        "rewritten": seen.rewritten,
    }
    return Answer(data, _observed)


def _observed(screen: Screen, data: Any) -> None:
    screen.line(f"{data['ref']} of {data['remote']} is at {data['main_sha']}")
    if data["rewritten"]:
        screen.line(f"it was rewritten, which is accepted; before: {data['previous_main_sha']}")


@writes(app, "fail", WORK, 'remit fail W-4 --fence 17 --reason "needs a decision on the format"')
def fail(
    session: Session,
    item: Exact,
    fence: Fence,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="The kind of record, such as refusal.")
    ] = "refusal",
    evidence: Shown = None,
    reason: Why = "",
) -> Answer:
    """Give an item up with a typed record; somebody settles it before it goes on."""
    name = session.exact(item)
    command = c.FailWork(name, fence, kind, c.Text(reason), entries_of(evidence))
    done = accepted(session.operations.fail(command, command_id=session.command_id))
    return Answer(after(session, name, done), said)


@writes(app, "recheck", WORK, "remit recheck W-4", "remit recheck")
def recheck(
    session: Session,
    item: Annotated[str, typer.Argument(metavar="ID", help="Default: all that wait.")] = "",
) -> Answer:
    """Let admission look again at an item, or at all drafts and held items."""
    from remit.surfaces.cli.rechecking import recheck_all, verdict_of

    if item:
        name = session.exact(item)
        done = accepted(session.operations.recheck(c.Recheck(name), command_id=session.command_id))
        verdicts = [verdict_of(session, name, changed=bool(done.events))]
        return Answer({"verdicts": verdicts, "total": 1, "truncated": False}, _verdicts)
    return Answer(recheck_all(session), _verdicts)


def _verdicts(screen: Screen, data: Any) -> None:
    rows = [(v["work_id"], v["verdict"], v["reason"], v["recheck"]) for v in data["verdicts"]]
    if rows:
        screen.table(("ID", "VERDICT", "REASON", "RECHECK"), rows)
    screen.line(f"{data['total']} looked at again")
