"""Commands that steer a ledger: default rules, policy, the kill switch.

Most of them need a human; the core says so, whoever calls.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.core import commands as c
from remit.core import gates
from remit.core.change import changed
from remit.core.facts import LEDGER, Ledger, Policy
from remit.core.refusals import Code
from remit.service.reading.registers import policy as read_policy
from remit.service.reading.registers import rule as read_rule
from remit.surfaces.cli import rules, showing
from remit.surfaces.cli.answers import Answer, Stop, stop
from remit.surfaces.cli.declare import OPERATE, reads, writes
from remit.surfaces.cli.groups import kill_switch, policy, rule
from remit.surfaces.cli.planning import Why, event_of
from remit.surfaces.cli.progress import shown
from remit.surfaces.cli.session import Session, accepted

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen

RuleName = Annotated[str, typer.Argument(metavar="NAME", help="The rule's name, such as default.")]


@reads(rule, "show", OPERATE, "remit rule show default")
def rule_show(session: Session, name: RuleName) -> Answer:
    """Show a rule of the ledger in full: what a human would accept."""
    with session.reading() as tx:
        found = read_rule(tx, name)
    if found is None:
        raise _unknown(name)
    return Answer({"rule": found}, showing.rule)


def _unknown(name: str) -> Stop:
    return stop(
        Code.RULE_UNKNOWN,
        f"there is no rule {name!r} on the ledger",
        f"name it under [rules.{name}] in .remit/config.toml, then 'remit rule accept {name}'",
        rule=name,
    )


def _accepted(screen: Screen, data: Any) -> None:
    screen.line(f"rule {data['rule']['name']} is accepted by {data['rule']['accepted_by']}")
    count = data["became_ready"]
    screen.line(f"{count} item{'' if count == 1 else 's'} became ready; see 'remit ready'")


@writes(rule, "accept", OPERATE, "remit rule accept default")
def rule_accept(
    session: Session,
    name: RuleName,
    digest: Annotated[
        str, typer.Option("--digest", metavar="HEX", help="Accept only if it is this revision.")
    ] = "",
    reason: Why = "",
) -> Answer:
    """Let a default rule count, as a human: drafts that waited for it get its check.

    The rule is taken from .remit/config.toml first, shown in full, and accepted in that revision.
    """
    from remit.service.importing import recheck_gate

    rules.register(session, name)
    with session.ledger.reading() as tx:
        found = read_rule(tx, name)
        before = _ready(tx)
    if found is None:
        raise _unknown(name)
    if not session.options.json and not session.options.quiet:
        from remit.surfaces.cli.screen import screen_of

        showing.rule(screen_of(session.options), {"rule": found})
    command = c.AcceptRule(name, digest or found["digest"], reason)
    done = accepted(session.operations.run(command, command_id=session.command_id))
    with shown(session) as report:
        refused = recheck_gate(session.operations, f"{gates.RULE}/{name}", report)
        if refused is None:  # drafts from before the ledger knew the rule
            refused = recheck_gate(session.operations, gates.VERIFICATION_PLAN, report)
    if refused is not None:
        raise Stop(refused)
    with session.ledger.reading() as tx:
        data = {
            "rule": read_rule(tx, name),
            "event": event_of(done),
            "became_ready": max(0, _ready(tx) - before),
        }
    return Answer(data, _accepted)


def _ready(tx: Any) -> int:
    from remit.service.reading.items import total

    return total(tx, ["ready"])


@writes(policy, "set", OPERATE, "remit policy set ttl_ms=1800000 attempts=3")
def policy_set(
    session: Session,
    figures: Annotated[
        list[str], typer.Argument(metavar="NAME=VALUE", help="See 'remit policy show'.")
    ],
) -> Answer:
    """Write a new policy revision, as a human; leases name the revision that they were given under."""
    with session.ledger.reading() as tx:
        fact = tx.load([LEDGER])[LEDGER]
    assert isinstance(fact, Ledger), "a ledger has its own fact from its first event on"
    wanted = changed(fact.policy, **_figures(fact.policy, figures))
    done = accepted(session.operations.run(c.SetPolicy(wanted), command_id=session.command_id))
    with session.ledger.reading() as tx:
        return Answer({"policy": read_policy(tx), "event": event_of(done)}, showing.policy)


def _figures(present: Policy, texts: list[str]) -> dict[str, Any]:
    names = [field.name for field in fields(present) if field.name != "revision"]
    found: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in names:
            raise stop(
                Code.BAD_INPUT,
                f"policy figure {name!r} is unknown, expected one of {', '.join(names)}",
                "write NAME=VALUE",
            )
        if isinstance(getattr(present, name), bool):
            answers = {"true": True, "yes": True, "false": False, "no": False}
            if value not in answers:
                raise stop(
                    Code.BAD_INPUT,
                    f"{name} is {value!r}, expected true or false",
                    "write NAME=VALUE",
                )
            found[name] = answers[value]
        elif value.isascii() and value.isdigit() and len(value) < 17:
            found[name] = int(value)
        else:
            raise stop(
                Code.BAD_INPUT, f"{name} is {value!r}, expected a whole number", "write NAME=VALUE"
            )
    return found


def _switch(screen: Screen, data: Any) -> None:
    screen.line(f"the kill switch is {data['state']}")


@reads(kill_switch, "show", OPERATE, "remit kill-switch show")
def kill_switch_show(session: Session) -> Answer:
    """Say whether the kill switch is engaged."""
    with session.reading() as tx:
        engaged = read_policy(tx)["kill_switch"]
    return Answer({"state": "engaged" if engaged else "released"}, _switch)


@writes(kill_switch, "engage", OPERATE, 'remit kill-switch engage --reason "wrong branch"')
def engage(session: Session, reason: Why = "") -> Answer:
    """Stop new leases and renewals at once; anyone enrolled may."""
    done = accepted(session.operations.engage_kill_switch(reason, command_id=session.command_id))
    return Answer({"state": "engaged", "event": event_of(done)}, _switch)


@writes(kill_switch, "release", OPERATE, 'remit kill-switch release --reason "branch is right"')
def release(session: Session, reason: Why = "") -> Answer:
    """Let leases be given again; only a human may."""
    done = accepted(session.operations.release_kill_switch(reason, command_id=session.command_id))
    return Answer({"state": "released", "event": event_of(done)}, _switch)
