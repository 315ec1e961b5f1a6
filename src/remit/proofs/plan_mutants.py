"""Seeded faults of planning: gates that open early, decisions that nobody made, work that is rewritten.

Each is planted in the product's own functions, and names the property that must catch it and the
world in which it is sought. ``mutants`` adds them to its own.
"""

from __future__ import annotations

from typing import Final

from remit.core.change import changed
from remit.proofs import plan_worlds as worlds
from remit.proofs.faults import Mutant
from remit.proofs.plan_cast import PlanCast, double, node

_GATES: Final = "remit.core.planned_gates"
_FOLD: Final = "remit.core.evolve.planned"
_PLAN: Final = "remit.core.decide.planning"
_ITEMS: Final = "remit.core.decide.plan_items"
_DECISIONS: Final = "remit.core.decisions"
_ACCEPT: Final = "remit.core.decide.decisions"
_EVOLVE: Final = "remit.core.evolve.decisions"
_PROVE: Final = "remit.core.decide.proving"
_KEYS: Final = "remit.core.evolve.authority"

_SIGNED: Final = worlds.SIGNED.plans or PlanCast(())
_APART: Final = double(nodes=(node(1), node(2)))
_REMOVED: Final = changed(
    worlds.SIGNED,
    groups=frozenset(("decide", "lease")),
    plans=changed(
        _SIGNED,
        bundles=(_APART, _SIGNED.bundles[1]),
        given=1,
        keyed=False,
        strict=False,
    ),
)
_ROWS: Final = changed(worlds.SUCCEED, groups=frozenset(("recheck", "lease")))
_TRIES: Final = changed(worlds.SUCCEED, groups=frozenset(("recheck", "decide")))

PLAN_MUTANTS: Final = (
    Mutant(
        "gate-before-close",
        worlds.APPLY,
        "no-gate-before-close",
        (
            (
                f"{_GATES}:ask_gates",
                "closed = plan.open is None and plan.revision > 0 and not governed.left",
                "closed = not governed.left",
            ),
        ),
    ),
    Mutant(
        "indirect-row-is-enough",
        worlds.GATES,
        "gates-hold",
        ((f"{_GATES}:_direct", "whole = bool(owned) and not lacking", "whole = bool(owned)"),),
    ),
    Mutant(
        "scope-not-asked",
        worlds.GATES,
        "gates-hold",
        ((f"{_GATES}:ask_gates", "yield Gate.SCOPE, scope > 0,", "yield Gate.SCOPE, True,"),),
    ),
    Mutant(
        "removed-item-is-leased",
        _REMOVED,
        "chain-complete-when-ready",
        (
            (
                "remit.core.decide.plan_parting:part",
                "kept = item.terminal or",
                "kept = True or item.terminal or",
            ),
            (f"{_FOLD}:_parted", "left=True", "left=False"),
            (
                "remit.core.decide.choosing:barred",
                "if governed is not None and",
                'if governed is not None and draft.get("plan", governed.plan).open is not None and',
            ),
        ),
    ),
    Mutant(
        "new-row-not-attached",
        _ROWS,
        "gates-open-when-due",
        ((f"{_FOLD}:_replanned", "ev.verification_plan_refs", "item.plan.rows"),),
    ),
    Mutant(
        "conflict-ignored-at-the-close",
        worlds.WAIVE,
        "conflict-stops-planning",
        ((f"{_PLAN}:_undecided", "for ids in decisions.conflicts():", "for ids in ():"),),
    ),
    Mutant(
        "conflict-sought-among-named-ones-only",
        worlds.WAIVE,
        "conflict-stops-planning",
        (("remit.core.decisions:contested", "opposed(one, other, now)", "False"),),
    ),
    Mutant(
        "need-not-asked-at-the-close",
        worlds.WAIVE,
        "removal-needs-decision",
        (
            (f"{_PLAN}:_faults", 'if "" not in found:', "if False:"),
            (
                f"{_EVOLVE}:_consumed",
                "_next(get, rec, DecisionState.ACCEPTED)",
                "_next(get, rec, *DecisionState)",
            ),
        ),
    ),
    Mutant(
        "decision-against-allows",
        worlds.DECIDE,
        "removal-needs-decision",
        ((f"{_DECISIONS}:covers", "if not decision.permits:", "if False:"),),
    ),
    Mutant(
        "decision-for-another-proposal",
        worlds.WAIVE,
        "removal-needs-decision",
        ((f"{_DECISIONS}:covers", "if decision.proposal != proposal_digest:", "if False:"),),
    ),
    Mutant(
        "agent-accepts",
        worlds.DECIDE,
        "decision-by-human-only",
        (
            (
                f"{_ACCEPT}:_open",
                "if kind_of(draft) is not ActorKind.HUMAN and not AGENT_MAY_ACCEPT_FOR_HUMAN:",
                "if False:",
            ),
            (f"{_PROVE}:enact", "if human or needed or proof is not None:", "if False:"),
        ),
    ),
    Mutant(
        "decided-again",
        worlds.DECIDE,
        "decision-settles-once",
        (
            (f"{_ACCEPT}:_open", "if found.state is not DecisionState.PROPOSED:", "if False:"),
            (f"{_EVOLVE}:_next", "if decision.state not in states:", "if False:"),
        ),
    ),
    Mutant(
        "nonce-used-again",
        worlds.SIGNED,
        "nonce-used-once",
        (
            (f"{_PROVE}:_flawed", 'or draft.get("signature", proof.nonce) is not None', ""),
            (f"{_KEYS}:_signed", 'first(get, rec, "signature")', "pass"),
        ),
    ),
    Mutant(
        "signature-over-something-else",
        worlds.SIGNED,
        "proof-fits-the-act",
        ((f"{_PROVE}:_flawed", "    if other:", "    if False:"),),
    ),
    Mutant(
        "revoked-key-counts",
        worlds.SIGNED,
        "proof-fits-the-act",
        ((f"{_PROVE}:_unfit_key", "elif key.revoked:", "elif False:"),),
    ),
    Mutant(
        "unprompted-key-counts",
        worlds.SIGNED,
        "proof-fits-the-act",
        ((f"{_PROVE}:_unfit_key", "if not found:", "if code is Code.KEY_IN_REACH or not found:"),),
    ),
    Mutant(
        "consumed-by-the-revision-before",
        worlds.WAIVE,
        "consumed-by-exact-revision",
        (
            (
                f"{_PLAN}:_close",
                "consume(draft, event.decisions, event.plan_revision_id,",
                'consume(draft, event.decisions, f"{plan.id}@{plan.revision}",',
            ),
        ),
    ),
    Mutant(
        "brief-changed-under-a-lease",
        worlds.SUCCEED,
        "brief-never-changes",
        ((f"{_ITEMS}:apply_item", "if at_rest(item) or not brief:", "if True:"),),
    ),
    Mutant(
        "changed-requirement-leaves-work-as-it-is",
        worlds.SUCCEED,
        "stale-reopens",
        (
            (
                f"{_ITEMS}:_brief_changed",
                "if governed.requirement_refs != wanted.requirements:",
                "if False:",
            ),
        ),
    ),
    Mutant(
        "successor-not-linked",
        worlds.SUCCEED,
        "successor-linked",
        (
            (
                f"{_ITEMS}:_succeed",
                "part(draft, item, wanted.revision_id, entry.id)",
                'part(draft, item, wanted.revision_id, "")',
            ),
        ),
    ),
    Mutant(
        "removed-record-stays",
        worlds.APPLY,
        "apply-carries-on",
        ((f"{_PLAN}:_retire", "if not isinstance(known, Planned):", "if True:"),),
    ),
    Mutant(
        "closed-as-something-else",
        worlds.APPLY,
        "plan-as-checked",
        (
            (f"{_PLAN}:_retire", "if not isinstance(known, Planned):", "if True:"),
            (
                f"{_PLAN}:_close",
                "_differs(plan, under_way, cmd) or _undecided(draft, cmd)",
                "_undecided(draft, cmd)",
            ),
            (
                "remit.core.evolve.plans:_closed",
                "if sealed != (True",
                "if False and sealed != (True",
            ),
        ),
    ),
    Mutant(
        "overtaken-apply-writes",
        worlds.APPLY,
        "record-in-open-apply",
        (
            (
                f"{_PLAN}:_under_way",
                "plan.open is not None and plan.open.digest == digest",
                "plan.open is not None",
            ),
        ),
    ),
    Mutant(
        "applied-onto-another-revision",
        worlds.SUCCEED,
        "plan-as-checked",
        ((f"{_PLAN}:_open", "plan.revision != cmd.base_revision", "False"),),
    ),
    Mutant(
        "revision-without-its-predecessor",
        worlds.SUCCEED,
        "nothing-overwritten",
        ((f"{_PLAN}:_record", 'old.digest if old is not None else ""', '""'),),
    ),
    Mutant(
        "given-up-try-not-undone",
        _TRIES,
        "stale-reopens",
        (("remit.service.planning:Apply._moved", "entry.revision > newest", "False"),),
    ),
    Mutant(
        "undone-decision-settles",
        worlds.UNDONE,
        "gates-hold",
        (
            (
                f"{_GATES}:_undone",
                "any(decisions.fault(ref, need) for ref in record.settled)",
                "False",
            ),
        ),
    ),
    Mutant(
        "looked-at-once-for-ever",
        worlds.SUSPECT,
        "suspect-until-looked-at",
        (
            (
                "remit.core.planning.suspicion:suspect",
                "(cleared.upper_digest, cleared.lower_digest) == now",
                "True",
            ),
        ),
    ),
    Mutant(
        "a-given-up-try-counts-as-a-statement",
        worlds.SUSPECT,
        "suspect-until-looked-at",
        (("remit.core.evolve.plans:enter", "meant = held[1]", "meant = revision"),),
    ),
    Mutant(
        "an-item-changed-back-counts-as-restated",
        worlds.SUSPECT,
        "suspect-until-looked-at",
        (
            (
                "remit.core.planning.suspicion:end_of",
                "min(int(revision), max(made_of, default=int(revision)))",
                "int(revision)",
            ),
        ),
    ),
    Mutant(
        "who-did-the-work-clears-its-link",
        worlds.SUSPECT,
        "suspect-until-looked-at",
        (
            (
                "remit.core.decide.tracing:_clear",
                "if draft.ask.actor in _held(draft, lower):",
                "if False:",
            ),
        ),
    ),
    Mutant(
        "expired-by-one-instant",
        worlds.UNDONE,
        "undone-decision-shuts",
        ((f"{_DECISIONS}:in_force", "now >= decision.expires_at", "now > decision.expires_at"),),
    ),
    Mutant(
        "unproved-counts-for-ever",
        worlds.STRICTER,
        "undone-decision-shuts",
        ((f"{_DECISIONS}:in_force", "if not (decision.proved or accept_unproved):", "if False:"),),
    ),
)
