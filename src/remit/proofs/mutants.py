"""Seeded faults: small changes of single functions that a property must catch by name.

A property that no fault can break looks at nothing. Each mutant says which property is expected to
catch it, and in which world the search looks; one that is not caught, or by something else, fails
the run. ``trials`` plants them one at a time.
"""

from __future__ import annotations

from typing import Final

from remit.core.change import changed
from remit.proofs import worlds
from remit.proofs.effect_mutants import EFFECT_MUTANTS
from remit.proofs.faults import Mutant
from remit.proofs.plan_mutants import PLAN_MUTANTS
from remit.proofs.push_mutants import PUSH_MUTANTS
from remit.proofs.triage_mutants import TRIAGE_MUTANTS

_ASKING: Final = "remit.core.decide.asking"
_LEASES: Final = "remit.core.decide.leases"
_CHOOSING: Final = "remit.core.decide.choosing"
_WORK: Final = "remit.core.evolve.work"
_QUEUE: Final = worlds.QUEUE
_DELIVERY: Final = changed(worlds.DELIVERY, alive=False)
_WAITS: Final = worlds.WAITS

MUTANTS: Final = (
    Mutant(
        "expiry-one-instant-late",
        _QUEUE,
        "fence-guards-writes",
        ((f"{_ASKING}:expired", "draft.now >= lease.expires_at", "draft.now > lease.expires_at"),),
    ),
    Mutant(
        "fence-not-compared",
        _QUEUE,
        "fence-guards-writes",
        (
            (
                f"{_ASKING}:fenced",
                "lease is not None and lease.fence == fence and",
                "lease is not None and",
            ),
        ),
    ),
    Mutant(
        "holder-not-compared",
        _QUEUE,
        "fence-guards-writes",
        (
            (
                f"{_ASKING}:fenced",
                "lease.fence == fence and lease.actor == draft.ask.actor and",
                "lease.fence == fence and",
            ),
        ),
    ),
    Mutant(
        "epoch-ignored-by-fences",
        _QUEUE,
        "fence-guards-writes",
        (
            (
                f"{_ASKING}:expired",
                " or lease.fence >> EPOCH_SHIFT != draft.ledger.epoch",
                "",
            ),
        ),
    ),
    Mutant(
        "fence-counter-stands-still",
        _QUEUE,
        "fences-up",
        (
            (f"{_LEASES}:_grant", 'draft.counter("fence") + 1', "1"),
            (f"{_WORK}:_leased", "(epoch << EPOCH_SHIFT) | counter", "lease.fence"),
        ),
    ),
    Mutant(
        "expiry-recorded-early",
        _QUEUE,
        "expiry-when-due",
        ((f"{_LEASES}:_expire", " or not expired(draft, item.lease)", ""),),
    ),
    Mutant(
        "expiry-keeps-the-lease",
        _QUEUE,
        "one-live-lease",
        ((f"{_WORK}:_moved", 'new["lease"] = None', "pass"),),
    ),
    Mutant(
        "late-report-moves-status",
        _QUEUE,
        "status-by-table",
        (
            (
                "remit.core.evolve.items:_noted",
                "_keep(get, rec, out, item_of(get, rec))",
                "_keep(get, rec, out, item_of(get, rec), status=Status.HELD)",
            ),
        ),
    ),
    Mutant(
        "late-report-extends-the-lease",
        _QUEUE,
        "late-report-moves-nothing",
        (
            (
                "remit.core.evolve.items:_noted",
                "_keep(get, rec, out, item_of(get, rec))",
                "_keep(get, rec, out, item_of(get, rec), reported=True)",
            ),
        ),
    ),
    Mutant(
        "attempts-not-counted",
        _QUEUE,
        "attempts-counted",
        ((f"{_LEASES}:_grant", "item.counted + 1", "item.counted"),),
    ),
    Mutant(
        "no-bound-on-attempts",
        _QUEUE,
        "attempts-bounded",
        (
            (f"{_CHOOSING}:used_up", ">= most_attempts", "> most_attempts"),
            (
                "remit.core.settlement:review",
                ">= most_attempts",
                "> most_attempts",
            ),
        ),
    ),
    Mutant(
        "kill-switch-ignored-by-renewal",
        _QUEUE,
        "kill-switch-holds",
        ((f"{_LEASES}:_renew", "if draft.ledger.kill_switch:", "if False:"),),
    ),
    Mutant(
        "limit-off-by-one",
        _QUEUE,
        "within-limits",
        ((f"{_CHOOSING}:_too_many", "live >= limit", "live > limit"),),
    ),
    Mutant(
        "renewal-without-end",
        _QUEUE,
        "renewal-bounded",
        (
            (
                f"{_LEASES}:_renew",
                "min(draft.now + ttl_ms * 1_000, last)",
                "draft.now + ttl_ms * 1_000",
            ),
        ),
    ),
    Mutant(
        "command-id-decided-again",
        _QUEUE,
        "same-id-same-answer",
        (
            (
                "remit.service.engine:Batch.decide_all",
                "if call.command_id in known:",
                "if False:",
            ),
        ),
    ),
    Mutant(
        "late-report-recorded-twice",
        _QUEUE,
        "late-report-moves-nothing",
        (
            (
                "remit.service.engine:Batch.beside",
                "if late_id and (late_id in self.late or self.tx.commands([late_id])):",
                "if False:",
            ),
        ),
    ),
    Mutant(
        "holder-approves",
        _DELIVERY,
        "different-actors",
        (
            (
                "remit.core.decide.delivery:_review",
                "if draft.ask.actor in item.holders:",
                "if False:",
            ),
            (f"{_WORK}:_approved", "if rec.actor in item.holders:", "if False:"),
        ),
    ),
    Mutant(
        "holder-approves-and-only-the-fold-objects",
        _DELIVERY,
        "fold-equals-decision",
        (
            (
                "remit.core.decide.delivery:_review",
                "if draft.ask.actor in item.holders:",
                "if False:",
            ),
        ),
    ),
    Mutant(
        "reviewer-verifies",
        _DELIVERY,
        "different-actors",
        (
            (
                "remit.core.decide.verification:_may_verify",
                "if actor == work.reviewer:",
                "if False:",
            ),
        ),
    ),
    Mutant(
        "work-outlives-its-round",
        _DELIVERY,
        "approval-of-this-head",
        ((f"{_WORK}:_leased", "work=None,", "work=item.work,"),),
    ),
    Mutant(
        "approval-of-another-head",
        _DELIVERY,
        "shipped-by-observation",
        (
            (
                "remit.core.decide.delivery:_ship",
                "if cmd.matched_by == MatchedBy.SHA and cmd.sha != work.head:",
                "if False:",
            ),
        ),
    ),
    Mutant(
        "contradiction-overwritten",
        _DELIVERY,
        "verified-by-evidence",
        (
            (
                "remit.core.decide.verification:_result",
                "return Verdict.CONTRADICTED",
                "return finding.result",
            ),
        ),
    ),
    Mutant(
        "one-row-is-enough",
        _DELIVERY,
        "verified-by-evidence",
        (
            (
                "remit.core.decide.verification:_outcome",
                "complete = all(",
                "complete = any(",
            ),
        ),
    ),
    Mutant(
        "resolved-to-approved",
        _DELIVERY,
        "resolve-never-forward",
        (
            (
                "remit.core.decide.records:_target",
                'return origin, "", "", 0',
                'return Status.APPROVED, "", "", 0',
            ),
            (
                "remit.core.decide.records:_landed_unapproved",
                "if target is not Status.APPROVED or",
                "if True or target is not Status.APPROVED or",
            ),
        ),
    ),
    Mutant(
        "table-lets-review-be-skipped",
        _DELIVERY,
        "status-by-table",
        (
            (
                "remit.core.decide.leases:_release",
                "status, reason, trigger, _ = requeue(draft, item)",
                'status, reason, trigger = Status.APPROVED, "", ""',
            ),
            (
                "remit.core.evolve.moves:check_move",
                "if not permitted(tid, item.kind, item.status, to):",
                "if False:",
            ),
        ),
    ),
    Mutant(
        "unmet-not-recounted",
        _WAITS,
        "edges-as-recounted",
        (
            (
                "remit.core.evolve.items:_edges",
                "unmet=unmet_of(dependencies)",
                "unmet=item.unmet",
            ),
        ),
    ),
    Mutant(
        "closed-counts-as-met",
        _WAITS,
        "edges-as-recounted",
        (
            (
                "remit.core.dependencies:standing",
                "(verified and not item.stale) or",
                "item.terminal or",
            ),
        ),
    ),
    Mutant(
        "cycle-accepted",
        _WAITS,
        "no-wait-cycle",
        (("remit.core.decide.waiting:closes", "if cycles else None", "if False else None"),),
    ),
    Mutant(
        "dependents-not-told",
        _WAITS,
        "edges-as-recounted",
        (("remit.core.settlement:settle", "for dependent in dependents:", "for dependent in ():"),),
    ),
    Mutant(
        "hold-without-a-trigger",
        _WAITS,
        "hold-explained",
        (
            (
                "remit.core.admission:_hold",
                "found.trigger,\n        found.checks",
                '"",\n        found.checks',
            ),
            (
                f"{_WORK}:_held",
                "if not ev.reason or not ev.owner or not ev.trigger:",
                "if False:",
            ),
        ),
    ),
    Mutant(
        "news-overtaken-at-the-lease",
        changed(worlds.MANY, groups=frozenset(("waits", "lease"))),
        "lease-checks-all",
        ((f"{_CHOOSING}:barred", "overtaken(draft, item)", "False"),),
    ),
    *PUSH_MUTANTS,
    *TRIAGE_MUTANTS,
    *EFFECT_MUTANTS,
    *PLAN_MUTANTS,
)
"""All seeded faults."""
