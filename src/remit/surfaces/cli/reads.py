"""What read commands answer: each function takes a session and options, and returns data.

Both ways in call these: the quick one, which serves ``--json`` without loading a command-line
framework, and the full one. So there is one meaning of every option, and the bytes are the same.
Nothing here writes, and nothing that a list does not need is imported.
"""

from __future__ import annotations

from typing import Final

from remit.core.refusals import Code
from remit.surfaces.cli.answers import Answer, stop
from remit.surfaces.cli.session import Session, required

LIMIT: Final = 50
"""How many entries a list shows unless it is told otherwise; 0 means all."""
TRACED: Final = 50
"""Most chains that a trace shows unless it is asked for more."""


def list_items(
    session: Session,
    *,
    status: tuple[str, ...] = (),
    gate: str = "",
    hold: str = "",
    after: str = "",
    newest: bool = False,
    limit: int = LIMIT,
) -> Answer:
    """``list``: items by status, gate or hold."""
    from remit.ports import ItemQuery
    from remit.service.reading.items import find
    from remit.service.reading.items import list_items as listed

    _known_statuses(status)
    with session.reading() as tx:
        number = int(required(find(tx, after))[2:]) if after else 0
        query = ItemQuery(
            statuses=tuple(dict.fromkeys(status)),
            gate=gate,
            hold=hold,
            after=number,
            newest_first=newest,
            limit=bound(limit),
        )
        return Answer(listed(tx, query))


def ready(session: Session, *, limit: int = LIMIT) -> Answer:
    """``ready``: what may be leased, in the order in which leases would be given."""
    from remit.service.reading.items import ready as found

    with session.reading() as tx:
        return Answer(found(tx, bound(limit)))


def blocked(session: Session, *, after: str = "", limit: int = LIMIT) -> Answer:
    """``blocked``: what cannot be leased yet, what stops it, and how to open that."""
    from remit.service.reading.items import find
    from remit.service.reading.waiting import blocked as found

    with session.reading() as tx:
        number = int(required(find(tx, after))[2:]) if after else 0
        return Answer(found(tx, bound(limit), number))


def search(
    session: Session, *, text: str, status: tuple[str, ...] = (), limit: int = LIMIT
) -> Answer:
    """``search``: items whose title holds a text."""
    from remit.ports import ItemQuery
    from remit.service.reading.items import list_items as listed

    _known_statuses(status)
    with session.reading() as tx:
        query = ItemQuery(statuses=tuple(dict.fromkeys(status)), text=text, limit=bound(limit))
        return Answer(listed(tx, query))


def show(session: Session, *, item: str) -> Answer:
    """``show``: one item whole, with its history."""
    from remit.service.reading.items import show as shown

    with session.reading() as tx:
        found = required(shown(tx, item))
        return Answer(found)


def inbox(session: Session, *, limit: int = LIMIT) -> Answer:
    """``inbox``: what waits for the acting person."""
    from remit.service.reading.inbox import inbox as waiting

    with session.glimpse() as tx:
        return Answer({"actor": session.actor, **waiting(tx, session.actor, bound(limit))})


def fleet(session: Session, *, limit: int = LIMIT) -> Answer:
    """``fleet``: the operator's read model."""
    from remit.service.reading.fleet import fleet as whole

    with session.glimpse() as tx:
        return Answer(whole(tx, bound(limit)))


def run_list(session: Session, *, live: bool = False, limit: int = LIMIT) -> Answer:
    """``run list``: runs of the drain, the newest first."""
    from remit.service.reading.runs import run_list as runs

    with session.glimpse() as tx:
        return Answer(runs(tx, bound(limit), live_only=live))


def run_show(session: Session, *, run: str, limit: int = LIMIT) -> Answer:
    """``run show``: one run with what it chose."""
    from remit.service.reading.runs import run_show as shown

    with session.glimpse() as tx:
        return Answer(required(shown(tx, run, bound(limit))))


FORMS: Final = ("text", "markdown")
"""How people may read a worksheet; programs get the same data whichever is asked for."""


def explain(session: Session, *, item: str, form: str = FORMS[0]) -> Answer:
    """``explain``: the decision worksheet of an item."""
    from remit.service.reading.worksheet import worksheet

    if form not in FORMS:
        raise stop(
            Code.BAD_INPUT,
            f"--format is {form!r}, expected {' or '.join(FORMS)}",
            "correct it and repeat; --json is an option of its own",
        )
    with session.reading() as tx:
        return Answer(required(worksheet(tx, item)))


def trace(session: Session, *, item: str, limit: int = TRACED) -> Answer:
    """``trace``: the chain from goal to verification; exit 6 where a link behind others is missing."""
    from remit.service.reading.trace import trace as traced

    with session.reading() as tx:
        found = required(traced(tx, item, bound(limit)))
    return Answer(found, exit_status=6 if found["broken"] else 0)


def dep_tree(session: Session, *, item: str) -> Answer:
    """``dep tree``: what an item waits on, and what those wait on."""
    from remit.service.reading.waiting import tree

    with session.reading() as tx:
        return Answer(required(tree(tx, item)))


def brief(session: Session, *, item: str) -> Answer:
    """``brief``: what the holder of a lease needs to know."""
    from remit.service.reading.brief import build, markdown

    with session.reading() as tx:
        found = required(build(tx, item))
    return Answer({"brief": found, "markdown": markdown(found)})


def actor_list(session: Session, *, limit: int = 0) -> Answer:
    """``actor list``: who is enrolled."""
    from remit.service.reading.registers import actors

    with session.reading() as tx:
        return Answer(actors(tx, bound(limit)))


def rule_list(session: Session, *, limit: int = 0) -> Answer:
    """``rule list``: default rules on the ledger."""
    from remit.service.reading.registers import rules

    with session.reading() as tx:
        return Answer(rules(tx, bound(limit)))


def policy_show(session: Session) -> Answer:
    """``policy show``: the figures that decisions use."""
    from remit.service.reading.registers import policy

    with session.reading() as tx:
        return Answer({"policy": policy(tx)})


def capacity_show(session: Session, limit: int = 50) -> Answer:
    """``capacity show``: the newest observation of each work class."""
    from remit.service.reading.capacity import newest

    with session.reading() as tx:
        return Answer(newest(tx, bound(limit)))


def policy_list(session: Session, limit: int = 50) -> Answer:
    """``policy list``: the documents in force."""
    from remit.service.reading.capacity import in_force

    with session.reading() as tx:
        return Answer(in_force(tx, bound(limit)))


def limit_show(session: Session, limit: int = 0) -> Answer:
    """``limit show``: what scopes may use, and what they use now."""
    from remit.service.reading.registers import limits

    with session.reading() as tx:
        return Answer(limits(tx, bound(limit)))


def bound(limit: int) -> int:
    """The limit of a list as it was asked for; one below 0 is refused."""
    if limit < 0:
        raise stop(
            Code.BAD_INPUT, f"--limit is {limit}, expected 0 (all) or more", "correct it and repeat"
        )
    return limit


def _known_statuses(statuses: tuple[str, ...]) -> None:
    from remit.core.status import Status

    known = [status.value for status in Status]
    for status in statuses:
        if status not in known:
            raise stop(
                Code.BAD_INPUT,
                f"--status is {status!r}, expected one of {', '.join(known)}",
                "correct it and repeat",
                status=status,
            )
