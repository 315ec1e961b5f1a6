"""Folds of everything that is not a work item: ledger, plan, imports, attempts, blobs.

Each of these streams folds into one small fact. Their texts stay in the events; the facts keep what
decisions need and the seq at which the rest can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import events as e
from remit.core.change import changed
from remit.core.events import Event, Recorded
from remit.core.evolve.moves import Get, Out, add, first
from remit.core.facts import (
    LEDGER,
    Attempt,
    Goal,
    ImportRun,
    Ledger,
    Policy,
    Redaction,
    Requirement,
    Row,
    Rule,
)
from remit.core.fold import FoldError
from remit.core.ids import MAX_EPOCH
from remit.core.run_events import AttemptNoted
from remit.core.stated import rule_digest

Handler = Callable[[Get, Recorded, Any, Out], None]


def _next(get: Get, rec: Recorded, kind: str) -> Any:
    fact = get(kind, rec.entity)
    if fact is None:
        raise FoldError(rec, f"there is no {kind} {rec.entity}")
    version = getattr(fact, "version", None)
    if version != rec.version - 1:
        raise FoldError(rec, f"stream version {rec.version} does not follow {version}")
    return fact


def _numbered(get: Get, rec: Recorded, out: Out, counter: str) -> None:
    number = int(rec.entity.partition("-")[2])
    if add(get, out, "counter", counter, 1) != number:
        raise FoldError(rec, f"{rec.entity} is not the next {counter}")


def _ledger_created(get: Get, rec: Recorded, ev: e.LedgerCreated, out: Out) -> None:
    first(get, rec, "ledger")
    out[LEDGER] = Ledger(1, ev.ledger_id, 0, False, Policy(), ())


def _policy_set(get: Get, rec: Recorded, ev: e.PolicySet, out: Out) -> None:
    ledger: Ledger = _next(get, rec, "ledger")
    if ev.revision != ledger.policy.revision + 1:
        raise FoldError(rec, f"policy revision {ev.revision} does not follow")
    loosened = ev.accept_unproved and not ledger.policy.accept_unproved
    if loosened and not rec.assurance.startswith("signature"):
        raise FoldError(rec, "unproved acts are accepted again, and nobody signed that")
    policy = Policy(
        ev.revision,
        ev.ttl_ms,
        ev.longest_lease_ms,
        ev.attempts,
        ev.age_step_ms,
        ev.ledger_leases,
        ev.class_leases,
        ev.tenant_leases,
        ev.actor_leases,
        ev.accept_unproved,
        ev.imported_closed_satisfies,
    )
    out[LEDGER] = changed(ledger, version=rec.version, policy=policy)


def _epoch_adopted(get: Get, rec: Recorded, ev: e.EpochAdopted, out: Out) -> None:
    ledger: Ledger = _next(get, rec, "ledger")
    if not ledger.epoch < ev.epoch <= MAX_EPOCH or ev.previous != ledger.epoch:
        raise FoldError(rec, f"epoch {ev.epoch} does not follow {ledger.epoch}")
    out[LEDGER] = changed(ledger, version=rec.version, epoch=ev.epoch, adopted_at=rec.at)
    out["counter", "fence"] = 0


def _kill_switch(engaged: bool) -> Handler:
    def fold(get: Get, rec: Recorded, ev: Event, out: Out) -> None:
        ledger: Ledger = _next(get, rec, "ledger")
        since = rec.seq if engaged else ledger.engaged_seq
        out[LEDGER] = changed(ledger, version=rec.version, kill_switch=engaged, engaged_seq=since)

    return fold


def _clock_jumped(get: Get, rec: Recorded, ev: e.ClockJumped, out: Out) -> None:
    out[LEDGER] = changed(_next(get, rec, "ledger"), version=rec.version)


def _settlement_deferred(get: Get, rec: Recorded, ev: e.SettlementDeferred, out: Out) -> None:
    ledger: Ledger = _next(get, rec, "ledger")
    unsettled = ledger.unsettled + tuple(i for i in ev.items if i not in ledger.unsettled)
    out[LEDGER] = changed(ledger, version=rec.version, unsettled=unsettled)


def _settlement_finished(get: Get, rec: Recorded, ev: e.SettlementFinished, out: Out) -> None:
    ledger: Ledger = _next(get, rec, "ledger")
    rest = tuple(i for i in ledger.unsettled if i not in ev.items)
    out[LEDGER] = changed(ledger, version=rec.version, unsettled=rest)


def _redacted(get: Get, rec: Recorded, ev: e.BlobRedacted, out: Out) -> None:
    first(get, rec, "redaction")
    out["redaction", ev.digest] = Redaction(ev.digest, 1, rec.seq)


def _rule_registered(get: Get, rec: Recorded, ev: e.RuleRegistered, out: Out) -> None:
    old = get("rule", rec.entity)
    if rec.version != 1:
        old = _next(get, rec, "rule")
    if ev.revision != (old.revision if isinstance(old, Rule) else 0) + 1:
        raise FoldError(rec, f"revision {ev.revision} of rule {rec.entity} does not follow")
    out["rule", rec.entity] = Rule(
        rec.entity,
        rec.version,
        ev.revision,
        ev.digest,
        ev.argv,
        ev.rubric,
        ev.expected_exit,
        ev.junit,
        ev.red_reason,
        ev.timeout_ms,
        False,
        "",
        rec.seq,
    )


def _rule_accepted(get: Get, rec: Recorded, ev: e.RuleAccepted, out: Out) -> None:
    rule: Rule = _next(get, rec, "rule")
    whole = rule_digest(rule)
    if ev.revision != rule.revision or ev.digest not in (rule.digest, whole):
        raise FoldError(rec, f"rule {rec.entity} is at another revision than the one accepted")
    signed = rec.assurance.startswith("signature") and ev.digest == whole
    proof = rec.assurance if signed else ""  # what was signed is this rule, and not a name for it
    out["rule", rec.entity] = changed(
        rule, version=rec.version, accepted=True, accepted_by=rec.actor, accepted_proof=proof
    )


def _goal_drafted(get: Get, rec: Recorded, ev: e.GoalDrafted, out: Out) -> None:
    first(get, rec, "goal")
    _numbered(get, rec, out, "goal")
    out["goal", rec.entity] = Goal(rec.entity, 1, 1, True, rec.seq)


def _requirement_drafted(get: Get, rec: Recorded, ev: e.RequirementDrafted, out: Out) -> None:
    first(get, rec, "requirement")
    _numbered(get, rec, out, "requirement")
    out["requirement", rec.entity] = Requirement(
        rec.entity, 1, 1, ev.goal_revision_id, ev.item, True, rec.seq, digest=ev.digest
    )


def _row_registered(get: Get, rec: Recorded, ev: e.RowRegistered, out: Out) -> None:
    first(get, rec, "row")
    _numbered(get, rec, out, "row")
    out["row", rec.entity] = Row(
        rec.entity,
        1,
        ev.requirement_id,
        ev.work_item_id,
        ev.kind,
        ev.digest,
        ev.origin,
        rec.seq,
        direct=ev.direct,
    )


def _import_started(get: Get, rec: Recorded, ev: e.ImportStarted, out: Out) -> None:
    first(get, rec, "import")
    _numbered(get, rec, out, "import")
    out["import", rec.entity] = ImportRun(rec.entity, 1, ev.format, ev.goal, ev.digest, True)


def _row_quarantined(get: Get, rec: Recorded, ev: e.RowQuarantined, out: Out) -> None:
    out["import", rec.entity] = changed(_next(get, rec, "import"), version=rec.version)


def _import_closed(get: Get, rec: Recorded, ev: e.ImportClosed, out: Out) -> None:
    run: ImportRun = _next(get, rec, "import")
    if not run.open:
        raise FoldError(rec, f"import {run.id} was closed before")
    out["import", rec.entity] = changed(run, version=rec.version, open=False)
    if get("import-digest", run.digest) is None:
        out["import-digest", run.digest] = run.id


def _attempt(
    get: Get, rec: Recorded, ev: e.CloneMade | e.CommitsTaken | AttemptNoted, out: Out
) -> None:
    head = ev.head if isinstance(ev, e.CommitsTaken) else ""
    if rec.version == 1:
        first(get, rec, "attempt")
        out["attempt", rec.entity] = Attempt(rec.entity, 1, ev.item, head)
        return
    attempt: Attempt = _next(get, rec, "attempt")
    out["attempt", rec.entity] = changed(attempt, version=rec.version, head=head or attempt.head)


HANDLERS: Final[dict[type[Event], Handler]] = {
    e.LedgerCreated: _ledger_created,
    e.PolicySet: _policy_set,
    e.EpochAdopted: _epoch_adopted,
    e.KillSwitchEngaged: _kill_switch(engaged=True),
    e.KillSwitchReleased: _kill_switch(engaged=False),
    e.ClockJumped: _clock_jumped,
    e.SettlementDeferred: _settlement_deferred,
    e.SettlementFinished: _settlement_finished,
    e.BlobRedacted: _redacted,
    e.RuleRegistered: _rule_registered,
    e.RuleAccepted: _rule_accepted,
    e.GoalDrafted: _goal_drafted,
    e.RequirementDrafted: _requirement_drafted,
    e.RowRegistered: _row_registered,
    e.ImportStarted: _import_started,
    e.RowQuarantined: _row_quarantined,
    e.ImportClosed: _import_closed,
    e.CloneMade: _attempt,
    e.CommitsTaken: _attempt,
    AttemptNoted: _attempt,
}
