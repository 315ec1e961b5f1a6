"""Commands that bound what work may use: concurrency, rate and spend by scope, and shares.

``set`` changes the figures that are named and leaves the others. Only a human may; the core says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.core import commands as c
from remit.core.limit_facts import Limit
from remit.core.refusals import Code
from remit.service.reading import registers
from remit.surfaces.cli import reads
from remit.surfaces.cli.answers import Answer, stop
from remit.surfaces.cli.declare import OPERATE, writes
from remit.surfaces.cli.declare import reads as read
from remit.surfaces.cli.groups import limit
from remit.surfaces.cli.looking import Limit as Most
from remit.surfaces.cli.planning import event_of
from remit.surfaces.cli.session import Session, accepted
from remit.surfaces.cli.working import duration_ms

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen

Scope = Annotated[
    str,
    typer.Argument(
        metavar="SCOPE",
        help="ledger, class/NAME, tenant/NAME, actor/NAME, repository/main or lane/CLASS|TENANT.",
    ),
]

_NONE = "none"


def _shown(screen: Screen, data: Any) -> None:
    screen.table(
        ("scope", "live", "rate", "settled", "reserved", "spend", "weight", "stopped by"),
        [
            (
                found["scope"],
                f"{found['live']}/{_figure(found['concurrency'])}",
                f"{_figure(found['rate'])} in {found['per_ms']} ms" if found["rate"] else "-",
                str(found["settled_micros"]),
                str(found["reserved_micros"]),
                _figure(found["spend_micros"]),
                str(found["weight"]),
                found["stopped"] or "-",
            )
            for found in data["limits"]
        ],
    )


def _figure(value: int | None) -> str:
    return "-" if value is None else str(value)


@read(limit, "show", OPERATE, "remit limit show", "remit limit show --json")
def limit_show(session: Session, limit: Most = 0) -> Answer:
    """Show every limit that was set, and what its scope uses now."""
    return replace(reads.limit_show(session, limit=limit), show=_shown)


@writes(
    limit,
    "set",
    OPERATE,
    "remit limit set class/EXPORT --concurrency 4 --rate 100 --per 1m",
    "remit limit set ledger --spend 5000000 --reserve 20000",
    "remit limit set class/URGENT --weight 5",
    "remit limit set tenant/acme --spend none",
)
def limit_set(
    session: Session,
    scope: Scope,
    concurrency: Annotated[
        str, typer.Option("--concurrency", metavar="N", help="Live leases at once, or none.")
    ] = "",
    rate: Annotated[
        str, typer.Option("--rate", metavar="N", help="Leases in each period, or none.")
    ] = "",
    per: Annotated[
        str, typer.Option("--per", metavar="TIME", help="The period of the rate: 1s, 1m, 24h.")
    ] = "",
    spend: Annotated[
        str, typer.Option("--spend", metavar="MICROS", help="Micro-units in all, or none.")
    ] = "",
    reserve: Annotated[
        str,
        typer.Option("--reserve", metavar="MICROS", help="Set aside for a lease that names none."),
    ] = "",
    weight: Annotated[
        str, typer.Option("--weight", metavar="N", help="Share of a class or lane, 1 to 1000.")
    ] = "",
) -> Answer:
    """Say what a scope may use, as a human; figures that are not named stay as they are."""
    with session.ledger.reading() as tx:
        found = tx.load([("limit", scope)])["limit", scope]
    old = found if isinstance(found, Limit) else Limit(scope, 0, None, None, 60_000, None, 0, 1, 0)
    command = c.SetLimit(
        scope,
        _number("--concurrency", concurrency, old.concurrency),
        _number("--rate", rate, old.rate),
        duration_ms("--per", per) or old.per_ms,
        _number("--spend", spend, old.spend_micros),
        _number("--reserve", reserve, old.reserve_micros) or 0,
        _number("--weight", weight, old.weight) or 0,
    )
    done = accepted(session.operations.set_limit(command, command_id=session.command_id))
    with session.ledger.reading() as tx:
        data = {"limits": [registers.limit_now(tx, scope)], "event": event_of(done)}
    return Answer(data, _shown)


def _number(option: str, text: str, present: int | None) -> int | None:
    if not text:
        return present
    if text == _NONE:
        return None
    if text.isascii() and text.isdigit() and len(text) < 17:
        return int(text)
    raise stop(
        Code.BAD_INPUT, f"{option} is {text!r}, expected a whole number or none", "correct it"
    )
