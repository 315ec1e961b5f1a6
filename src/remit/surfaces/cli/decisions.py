"""Commands on human decisions: propose, accept, reject, list, show.

Anyone enrolled proposes; only a human accepts, and signs exactly the record that is shown. All text in a
record comes from others: it is shown as text and never obeyed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.core import commands as c
from remit.core.decisions import DecisionKind, Option
from remit.core.refusals import Code
from remit.surfaces.cli.actors import until
from remit.surfaces.cli.answers import Answer, stop
from remit.surfaces.cli.declare import LOOK, reads, writes
from remit.surfaces.cli.groups import decision
from remit.surfaces.cli.planning import Why, event_of
from remit.surfaces.cli.run_scopes import run_decision
from remit.surfaces.cli.session import Session, accepted

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen

Name = Annotated[str, typer.Argument(metavar="DECISION", help="Such as D-3.")]
Pairs = list[str]
Ways = Annotated[
    Pairs, typer.Option("--option", metavar="LABEL=TEXT", help="A way to go; may be repeated.")
]
Keeps = Annotated[
    Pairs,
    typer.Option("--keep", metavar="LABEL=TEXT", help="A way that leaves things as they are."),
]
Bounds = Annotated[
    str,
    typer.Option(
        "--run-bounds",
        metavar="BOUNDS",
        help="Of runs: items=20,parallel=4,minutes=90,spend-micros=5000000,failures=3.",
    ),
]
Agents = Annotated[
    Pairs, typer.Option("--run-agent", metavar="NAME", help="An agent that may work in it.")
]
Proposal = Annotated[
    str, typer.Option("--proposal", metavar="DIGEST", help="What 'remit plan check' printed.")
]
Against = Annotated[
    Pairs, typer.Option("--against", metavar="LABEL=REASON", help="Why not this one.")
]


def record(screen: Screen, data: Any) -> None:
    """A whole record, safe to look at."""
    found = data["decision"]
    screen.line(f"{found['id']} {found['title']}", "bold")
    names = ("kind", "state", "plan", "proposal", "record", "proposed_by", "expires_at")
    screen.pairs([(name.replace("_", " "), found[name]) for name in names])
    screen.line(f"scope: {', '.join(found['scope'])}")
    for name in ("question", "rationale"):
        if found.get(name):
            screen.line(f"{name}:")
            screen.block(found[name])
    for option in found.get("options", ()):
        marks = [] if option["permits"] else ["leaves things as they are"]
        if option["label"] == found["recommended"]:
            marks.append("recommended")
        said = f" ({', '.join(marks)})" if marks else ""
        screen.line(f"option {option['label']}{said}: {option['text']}")
        if option["against"]:
            screen.line(f"  against it: {option['against']}")
    if found["decided_by"]:
        proof = "unproved" if found["unproved"] else found["assurance"]
        chosen = f" {found['chosen']}" if found["chosen"] else ""
        screen.line(f"{found['state']}{chosen} by {found['decided_by']} ({proof})")
    for one in found.get("rejected_options", ()):
        screen.line(f"rejected {one['label']}: {one['reason']}")
    for name in ("rejected_because", "supersedes", "superseded_by"):
        if found.get(name):
            screen.line(f"{name.replace('_', ' ')}: {found[name]}")
    if found["conflicts_with"]:
        screen.line(f"conflicts with {', '.join(found['conflicts_with'])}: planning stops", "red")
    for one in found["consumed"]:
        screen.line(f"consumed by {one['revision']} (seq {one['seq']})")


def _whole(session: Session, name: str) -> dict[str, Any]:
    from remit.service.reading.decisions import decision as read

    with session.ledger.reading(session.options.at) as tx:
        found = read(tx, name)
    if found is None:
        raise stop(Code.NOT_FOUND, f"there is no decision {name!r}", "see 'remit decision list'")
    return found


def _pairs(option: str, texts: Pairs) -> list[tuple[str, str]]:
    found = []
    for text in texts:
        label, sign, said = text.partition("=")
        if not (label and sign and said.strip()):
            raise stop(Code.BAD_INPUT, f"{option} is {text!r}, expected LABEL=TEXT", "write both")
        found.append((label, said))
    return found


def _about(session: Session, work: str, scope: Pairs, proposal: str) -> tuple[Pairs, str]:
    """What a decision is about, where a work says it: its effect, with what would be done."""
    if not work:
        return scope, proposal
    from remit.service.reading.decisions import effect_of

    name = session.exact(work)
    with session.ledger.reading() as tx:
        found = effect_of(tx, name)
    if found is None:
        raise stop(Code.BAD_INPUT, f"{name} is no effect work", "name one, or give --proposal")
    return [found[0], *scope], found[1]


@writes(
    decision,
    "propose",
    LOOK,
    'remit decision propose "Pay it" --kind irreversible-action-authorization --work W-5'
    ' --option "pay=Pay the invoice" --keep "wait=Do nothing" --against "wait=It is due today"',
    'remit decision propose "Tonight" --kind cloud-spend-or-live-autonomy-activation'
    " --run-bounds items=20,parallel=4,minutes=90,spend-micros=5000000,failures=3"
    ' --run-agent codex --option "run=Let it run" --keep "no=Do not" --against "no=It waits"',
)
def propose(
    session: Session,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What is to be decided.")],
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help=f"One of {', '.join(DecisionKind)}.")
    ],
    option: Ways = [],  # noqa: B006  # read only, as the framework wants it
    keep: Keeps = [],  # noqa: B006  # read only, as the framework wants it
    against: Against = [],  # noqa: B006  # read only, as the framework wants it
    recommend: Annotated[
        str, typer.Option("--recommend", metavar="LABEL", help="Default: the only --option.")
    ] = "",
    about: Annotated[
        Pairs, typer.Option("--about", metavar="KIND/LABEL", help="Its scope; may be repeated.")
    ] = [],  # noqa: B006  # read only, as the framework wants it
    work: Annotated[
        str, typer.Option("--work", metavar="ID", help="The effect of this work is its scope.")
    ] = "",
    run: Bounds = "",
    agent: Agents = [],  # noqa: B006  # read only, as the framework wants it
    plan: Annotated[str, typer.Option("--plan", metavar="PLAN", help="The plan's name.")] = "",
    proposal: Proposal = "",
    question: Annotated[str, typer.Option("--question", metavar="TEXT", help="In full.")] = "",
    rationale: Annotated[str, typer.Option("--rationale", metavar="TEXT", help="Why.")] = "",
    supersedes: Annotated[
        str, typer.Option("--supersedes", metavar="D-N", help="The one whose place it takes.")
    ] = "",
    expires: Annotated[
        str, typer.Option("--expires", metavar="TIME", help="How long it holds: 90d, or a date.")
    ] = "",
) -> Answer:
    """Ask for a human's decision. Anyone enrolled may; it allows nothing until it is accepted."""
    reasons = dict(_pairs("--against", against))
    options = [Option(a, b, True, reasons.pop(a, "")) for a, b in _pairs("--option", option)]
    options += [Option(a, b, False, reasons.pop(a, "")) for a, b in _pairs("--keep", keep)]
    if reasons:
        raise stop(
            Code.BAD_INPUT, f"--against names {', '.join(reasons)}, which is no option", "name one"
        )
    scope, digest = _about(session, work, about, proposal)
    if run or agent or any(one.startswith(("run-", "drain/")) for one in about):
        scope, digest = run_decision(run, agent, scope, digest)
    permitting = [one.label for one in options if one.permits]
    command = c.ProposeDecision(
        kind,
        title,
        tuple(options),
        tuple(scope),
        digest,
        question,
        recommend or (permitting[0] if len(permitting) == 1 else ""),
        rationale,
        plan,
        supersedes,
        until(session, expires),
    )
    done = accepted(session.operations.run(command, command_id=session.command_id))
    found = _whole(session, done.events[0].stream)
    return Answer({"decision": found, "event": event_of(done)}, record)


@writes(
    decision,
    "accept",
    LOOK,
    "remit decision accept D-3 --choose pay --key ~/.ssh/id_ed25519",
    'remit decision accept D-3 --choose pay --reject "wait=It is due today" --statement d3',
)
def accept(
    session: Session,
    name: Name,
    choose: Annotated[
        str, typer.Option("--choose", metavar="LABEL", help="Default: the recommended option.")
    ] = "",
    reject: Annotated[
        Pairs, typer.Option("--reject", metavar="LABEL=REASON", help="Why not another option.")
    ] = [],  # noqa: B006  # read only, as the framework wants it
    rationale: Annotated[str, typer.Option("--rationale", metavar="TEXT", help="Why.")] = "",
    digest: Annotated[
        str, typer.Option("--record", metavar="DIGEST", help="Only if this is its record.")
    ] = "",
) -> Answer:
    """Choose one option, as a human, and sign the record that is shown; the rest is rejected."""
    before = _whole(session, name)
    _show_before(session, before)
    command = c.AcceptDecision(
        name, digest or before["record"], choose, tuple(_pairs("--reject", reject)), rationale
    )
    return _settled(session, name, command)


@writes(decision, "reject", LOOK, 'remit decision reject D-3 --reason "not this year" --key KEY')
def reject(session: Session, name: Name, reason: Why = "") -> Answer:
    """Want none of the options, as a human."""
    before = _whole(session, name)
    _show_before(session, before)
    return _settled(session, name, c.RejectDecision(name, reason, before["record"]))


def _show_before(session: Session, found: dict[str, Any]) -> None:
    if not session.options.json and not session.options.quiet:
        from remit.surfaces.cli.screen import screen_of

        record(screen_of(session.options), {"decision": found})


def _settled(session: Session, name: str, command: c.Command) -> Answer:
    done = accepted(session.operations.run(command, command_id=session.command_id))
    found = _whole(session, name)
    return Answer({"decision": found, "event": event_of(done)}, _said)


def _said(screen: Screen, data: Any) -> None:
    found = data["decision"]
    proof = "unproved: nothing was signed" if found["unproved"] else found["assurance"]
    screen.line(f"{found['id']} is {found['state']} by {found['decided_by']} ({proof})", "bold")
    if found["conflicts_with"]:
        screen.line(
            f"it conflicts with {', '.join(found['conflicts_with'])}: planning stops", "red"
        )


def _listed(screen: Screen, data: Any) -> None:
    rows = [
        (
            d["id"],
            d["state"],
            d["chosen"],
            d["kind"],
            "unproved" if d["unproved"] else "",
            d["title"],
        )
        for d in data["decisions"]
    ]
    screen.table(("ID", "STATE", "CHOSEN", "KIND", "PROOF", "TITLE"), rows)


@reads(decision, "list", LOOK, "remit decision list", "remit decision list --state proposed")
def list_(
    session: Session,
    state: Annotated[
        str, typer.Option("--state", metavar="STATE", help="Only those in this state.")
    ] = "",
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=0, help="0 means all.")] = 0,
) -> Answer:
    """List decisions by number."""
    from remit.service.reading.decisions import decisions

    with session.reading() as tx:
        return Answer(decisions(tx, state, limit), _listed)


@reads(decision, "show", LOOK, "remit decision show D-3", "remit decision show D-3 --json")
def show(session: Session, name: Name) -> Answer:
    """Show a decision in full: what was proposed, chosen, rejected and why, and what rests on it."""
    return Answer({"decision": _whole(session, name)}, record)
