"""Default rules on their way from the configuration to the ledger, and a human's acceptance of one.

The configuration proposes; the ledger keeps what was proposed under a digest of all of it; a human
accepts exactly that revision. A rule that changes in the file is a new revision that nobody has
accepted yet. Registering what is there already writes nothing.
"""

from __future__ import annotations

from dataclasses import replace

from remit.core.commands import RegisterRule
from remit.core.facts import Rule
from remit.core.stated import rule_digest
from remit.surfaces.cli.config import RuleConfig
from remit.surfaces.cli.session import Session, accepted


def command_of(rule: RuleConfig) -> RegisterRule:
    """The command that puts a configured rule on the ledger, under the digest of all that it says."""
    argv = ("sh", "-c", rule.command) if rule.command.strip() else ()
    said = RegisterRule(
        rule.name,
        "",
        argv,
        rule.rubric,
        rule.expected_exit,
        rule.junit,
        rule.red_reason,
        rule.timeout_s * 1_000,
    )
    return replace(said, digest=rule_digest(said))


def register(session: Session, only: str = "") -> None:
    """Put the configuration's rules on the ledger (or only one), where they differ from it."""
    wanted = [command_of(r) for r in session.config.rules if only in ("", r.name)]
    if not wanted:
        return
    with session.ledger.reading() as tx:
        known = tx.load([("rule", command.name) for command in wanted])
    for command in wanted:
        fact = known["rule", command.name]
        if not (isinstance(fact, Rule) and rule_digest(fact) == fact.digest == command.digest):
            own = f"{session.command_id}/rule/{command.name}"
            accepted(session.operations.run(command, command_id=own))
