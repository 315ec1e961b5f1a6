"""The decision that begins a run: who works, under which human decision, proved by what.

Everything that a run rests on is asked before its first event: that a human decided on these very bounds
and this agent, that the sum is not spent, that this version was proved, that the kill switch is off, and
that nobody reviews its own work. An agent that reaches outside without a human's review is live
autonomy, which nothing allows yet (CONTRACT 15).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from remit.core import run_events as e
from remit.core.canonical import digest_of
from remit.core.decide.asking import bad
from remit.core.decisions import Decision, DecisionKind, covers, rivals
from remit.core.facts import Actor, ActorKind
from remit.core.planning.deciding import consume
from remit.core.refusals import Code, Refused
from remit.core.run_commands import StartRun
from remit.core.run_decisions import (
    WITHOUT_SANDBOX,
    Need,
    allowance,
    covers_run,
    run_proposal,
    unsound,
)
from remit.core.run_facts import Proof, RunUse
from remit.core.view import Draft

MOST_OPTIONS: Final = 50
LONGEST: Final = 500
"""Longest detail, message or option of a run, in characters."""

HOLDER: Final = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


def start(draft: Draft, cmd: StartRun) -> Refused | None:
    """Begin a run; the decision is consumed by it in the same transaction."""
    refused = (
        _unfit(cmd) or switched_off(draft, "start a run") or _people(draft, cmd)
        or _decided(draft, cmd) or _boxed(draft, cmd) or _proved(draft, cmd)
    )  # fmt: skip
    if refused is not None:
        return refused
    name = f"RUN-{draft.counter('run') + 1}"
    event = e.RunStarted(
        cmd.actor,
        cmd.reviewer,
        cmd.agent,
        cmd.bounds,
        cmd.decision,
        cmd.proof,
        cmd.options,
        cmd.holder,
        draft.now + cmd.bounds.minutes_ms * 1_000,
    )
    draft.open("run", name, event)
    figures = [getattr(cmd.bounds, bound) for bound in cmd.bounds.__slots__]
    digest = digest_of(["run", name, cmd.agent, cmd.actor, *figures])
    consume(draft, (cmd.decision, *_bare(cmd)), name, digest)
    return None


def _unfit(cmd: StartRun) -> Refused | None:
    for what, text, form in (("agent", cmd.agent, _NAME), ("holder", cmd.holder, HOLDER)):
        if not form.match(text):
            return bad(what, text, "1 to 64 letters, digits or . _ -")
    found = unsound(cmd.bounds)
    if found is not None:
        return bad(found[0], found[1], found[2])
    names = [name for name, _ in cmd.options]
    if len(names) > MOST_OPTIONS or len(set(names)) < len(names):
        return bad("options", len(names), f"at most {MOST_OPTIONS}, each named once")
    for name, value in cmd.options:
        if not _NAME.match(name) or not one_line(value):
            return bad(f"option {name}", value, f"at most {LONGEST} printable characters")
    return None


def one_line(text: str) -> bool:
    """Whether a text fits an event of a run as it is."""
    return len(text) <= LONGEST and text.isprintable()


def switched_off(draft: Draft, doing: str) -> Refused | None:
    """Refuse while the kill switch is on."""
    if not draft.ledger.kill_switch:
        return None
    return Refused(
        Code.KILL_SWITCH_ON,
        f"cannot {doing}: the kill switch was engaged at seq {draft.ledger.engaged_seq}",
        "a human releases it with 'remit kill-switch release'",
        {"engaged_seq": draft.ledger.engaged_seq},
    )


def _people(draft: Draft, cmd: StartRun) -> Refused | None:
    """Who works and who reviews: enrolled, two of them, and a human where the agent reaches out."""
    kinds: dict[str, ActorKind] = {}
    for name in filter(None, (cmd.actor, cmd.reviewer)):
        actor = draft.get("actor", name)
        if not isinstance(actor, Actor) or actor.revoked:
            return Refused(
                Code.ACTOR_UNKNOWN,
                f"cannot start a run with {name!r}: nobody of this name is enrolled",
                f"enrol it with 'remit actor add {name or 'NAME'} --kind agent'",
                {"actor": name},
            )
        kinds[name] = actor.kind
    if kinds.get(cmd.actor) is not ActorKind.AGENT:
        return Refused(
            Code.ACTOR_KIND_REFUSED,
            f"cannot start a run of {cmd.actor!r}: only an enrolled agent works in a run",
            "enrol one with 'remit actor add NAME --kind agent'",
            {"actor": cmd.actor, "kind": str(kinds.get(cmd.actor, ""))},
        )
    if cmd.reviewer == cmd.actor:
        return Refused(
            Code.REVIEWER_IS_IMPLEMENTER,
            f"cannot start a run: {cmd.actor} would review its own work",
            "name another reviewer, or none",
            {"actor": cmd.actor},
        )
    reaches_out = dict(cmd.options).get("egress", "unknown") != "none"
    if reaches_out and kinds.get(cmd.reviewer) is not ActorKind.HUMAN:
        return Refused(
            Code.AUTONOMY_REFUSED,
            f"cannot start a run of {cmd.agent}: it reaches outside and no human reviews its work,"
            " which is live autonomy",
            "name a human with --review-as, or run an agent without egress",
            {"agent": cmd.agent, "reviewer": cmd.reviewer},
        )
    return None


def decision_of(draft: Draft, name: str) -> Decision | None:
    """A decision, or None where there is none of this name."""
    found = draft.get("decision", name) if name else None
    return found if isinstance(found, Decision) else None


def _decided(draft: Draft, cmd: StartRun) -> Refused | None:
    """Whether a human has decided that this run may be, and what is left of the sum."""
    decision = decision_of(draft, cmd.decision)
    unproved = draft.policy.accept_unproved
    refused = covers_run(
        decision, cmd.bounds, cmd.agent, cmd.actor, draft.now, accept_unproved=unproved
    )
    if refused is not None or decision is None:
        return refused
    against = [o for o in rivals(draft.get, decision, draft.now) if not o.permits]
    if against:
        names = ", ".join(other.id for other in against)
        return Refused(
            Code.DECISIONS_CONFLICT,
            f"{decision.id} allows this run and {names} does not, and both are in force",
            f"a human accepts one that supersedes {decision.id} or {names}",
            {"decisions": [decision.id, *(other.id for other in against)]},
        )
    return _left(draft, cmd, decision)


def _left(draft: Draft, cmd: StartRun, decision: Decision) -> Refused | None:
    use, allowed = draft.get("run-use", decision.id), allowance(decision)
    if not isinstance(use, RunUse) or allowed is None:
        return None
    if use.live:
        return Refused(
            Code.RUN_LIVE,
            f"cannot start a run under {decision.id}: {use.live} under it is not over",
            f"resume it with 'remit run resume {use.live}', or decide on another",
            {"decision": decision.id, "run": use.live},
        )
    left = allowed.bounds.spend_micros - use.settled_micros
    if allowed.each or cmd.bounds.spend_micros <= left:
        return None
    return Refused(
        Code.DECISION_SPENT,
        f"cannot start a run under {decision.id}: its runs spent {use.settled_micros} of"
        f" {allowed.bounds.spend_micros} micro-units, this one wants {cmd.bounds.spend_micros}",
        "lower --max-spend, or propose a decision that allows more",
        {"decision": decision.id, "settled": use.settled_micros, "left": max(left, 0)},
    )


def _bare(cmd: StartRun) -> tuple[str, ...]:
    """The decision that lets agents work without a sandbox, where the run has none."""
    options = dict(cmd.options)
    return (options.get("sandbox-decision", ""),) if options.get("sandbox") == "none" else ()


def _boxed(draft: Draft, cmd: StartRun) -> Refused | None:
    """Without a sandbox a human has decided just that (CONTRACT 13)."""
    refs = _bare(cmd)
    if not refs:
        return None
    decision = decision_of(draft, refs[0])
    proposal = run_proposal(decision.scope) if decision is not None else ""
    need = Need(DecisionKind.ACTIVATION, (WITHOUT_SANDBOX,))
    unproved = draft.policy.accept_unproved
    refused = covers(decision, need, proposal, draft.now, accept_unproved=unproved)
    if refused is None or decision is not None:
        return refused
    kind = DecisionKind.ACTIVATION
    hint = f"propose it with 'remit decision propose --kind {kind} --about {WITHOUT_SANDBOX}'"
    return replace(refused, hint=hint)


def _proved(draft: Draft, cmd: StartRun) -> Refused | None:
    proof = draft.get("proof", cmd.proof) if cmd.proof else None
    if isinstance(proof, Proof) and proof.result == "PASS":
        return None
    found = proof.result if isinstance(proof, Proof) else "none is on the ledger"
    return Refused(
        Code.PARITY_UNPROVED,
        f"cannot start a run: the proof of parity of this version is: {found}",
        "prove it on this ledger first: 'remit prove parity --record'",
        {"proof": cmd.proof, "found": found},
    )
