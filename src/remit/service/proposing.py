"""A plan before anything of it is written: what it changes, what it needs, what is wrong with it.

``propose`` compares a plan with the ledger by digests, and asks every rule of it at once. ``plan check``,
a preview and an apply all begin here, so they cannot say different things.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from remit.core.decisions import Decision
from remit.core.planning.authority import Need, needed
from remit.core.planning.bundle import KINDS, Bundle, Record, bundle_digest, undecided
from remit.core.planning.check import Finding, Problem, blocking, check, named
from remit.core.planning.deciding import LedgerDecisions
from remit.core.planning.difference import Name
from remit.core.planning.limits import SOUND_BYTES
from remit.core.refusals import Code, Refused
from remit.ports import ReadTx
from remit.service.fitting import misshapen
from remit.service.operations import Operations
from remit.service.planned import Entries, base_of, entries

MANY: Final = 1_000
"""Decisions that are read at once."""

DRAFTED: Final = frozenset(
    (
        Problem.OBJECTIVE_MISSING,
        Problem.AUTHORITY_MISSING,
        Problem.PROVENANCE_MISSING,
        Problem.CLAUSES_MISSING,
        Problem.CLAUSE_UNCOVERED,
        Problem.AMBIGUITY_OPEN,
        Problem.TEXT_MISSING,
        Problem.ACCEPTANCE_MISSING,
        Problem.REQUIREMENT_ORPHAN,
        Problem.REQUIREMENT_WITHOUT_ITEM,
        Problem.NO_DIRECT_ROW,
        Problem.BOUNDARY_MISSING,
        Problem.ITEM_WITHOUT_NODE,
        Problem.ITEM_WITHOUT_REQUIREMENT,
        Problem.ITEM_WITHOUT_ROW,
        Problem.SCOPE_MISSING,
        Problem.REVERSAL_UNCLASSIFIED,
        Problem.REVERSAL_INCOMPLETE,
    )
)
"""What may stand on the ledger and keeps gates shut there; anything else that blocks is refused."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """A plan with everything that is known of it before a record is written."""

    bundle: Bundle
    digests: dict[Name, str]
    digest: str
    proposal: str
    known: Entries
    base: Bundle | None
    needs: tuple[Need, ...]
    findings: tuple[Finding, ...]

    @property
    def open(self) -> bool:
        """Whether an apply of the plan was begun and not ended."""
        return self.known.plan is not None and self.known.plan.open is not None

    @property
    def in_force(self) -> bool:
        """Whether exactly this is the revision in force."""
        plan = self.known.plan
        return plan is not None and not self.open and plan.digest == self.digest


_encode: Final = msgspec.json.Encoder(order="sorted").encode


def _encoded(record: Record) -> bytes:
    """What ``record_digest`` is taken of, by the ledger's own encoder, whose bytes are the same."""
    return _encode([KINDS[type(record)], record])


def _digest(encoded: bytes) -> str:
    return hashlib.sha256(encoded).hexdigest()


def propose(operations: Operations, bundle: Bundle) -> Proposed | Refused:
    """Check a plan against the ledger as it is now; writes nothing. See ``proposed_on``."""
    with operations.store.read() as tx:
        return proposed_on(tx, bundle)


def proposed_on(tx: ReadTx, bundle: Bundle) -> Proposed | Refused:
    """Check a plan against a snapshot of the ledger, of now or of the past.

    Refuses ``BAD_INPUT`` for a value that is no plan, and ``PLAN_INADMISSIBLE`` for one that labels a
    record twice, since then nothing can be said of it.
    """
    value: object = bundle
    fault = misshapen(bundle) if isinstance(value, Bundle) else "it is no Bundle"
    if fault:
        return Refused(Code.BAD_INPUT, f"cannot apply the plan: {fault}", "correct it and repeat")
    records = bundle.records()
    try:
        texts = {(KINDS[type(r)], r.label): _encoded(r) for r in records}
        bare = [(name, r) for name, r in zip(texts, records, strict=True)]
    except (msgspec.MsgspecError, UnicodeEncodeError, ValueError):
        return inadmissible(bundle.name, blocking(check(bundle)))
    digests = {name: _digest(text) for name, text in texts.items()}
    sound = {name for name, text in texts.items() if len(text) < SOUND_BYTES}
    proposed = {
        n: digests[n] if (u := undecided(r)) is r else _digest(_encoded(u)) for n, r in bare
    }
    digest = bundle_digest(digests)
    proposal = digest if proposed == digests else bundle_digest(proposed)
    known = entries(tx, bundle.name)
    base = base_of(tx, known, bundle, digests)
    needs = needed(base, bundle)
    keys: dict[tuple[str, str], Any] = {}

    def get(kind: str, name: str) -> Any:
        if (kind, name) not in keys:
            keys.update(tx.load([(kind, name)]))
        return keys[kind, name]

    plan = known.plan.id if known.plan is not None else ""
    refs = _refs(tx, bundle, needs)
    decisions = LedgerDecisions(get, proposal, tx.now(), plan, refs, bundle.name)
    findings = check(bundle, decisions, base, sound, needs)
    return Proposed(bundle, digests, digest, proposal, known, base, needs, findings)


def _refs(tx: ReadTx, bundle: Bundle, needs: tuple[Need, ...]) -> tuple[str, ...]:
    """The decisions that a plan names, and those that were made about it."""
    refs = dict.fromkeys(ref for *_, ref in named(bundle))
    refs |= dict.fromkeys(ref for need in needs for ref in need.refs)
    after = ""
    while names := tx.names("decision", after, MANY):
        facts = tx.load([("decision", name) for name in names])
        for fact in facts.values():
            if isinstance(fact, Decision) and fact.plan == bundle.name:
                refs[fact.id] = None
        after = names[-1]
    return tuple(refs)


def inadmissible(name: str, found: tuple[Finding, ...]) -> Refused:
    """The refusal of a plan with these findings, all of which block."""
    first = found[0]
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return Refused(
        Code.PLAN_INADMISSIBLE,
        f"cannot apply the plan {name[:80]!r}: {first.kind} {first.label[:80]!r}"
        f"{f' {first.field}' if first.field else ''}: {first.message[:500]}{more}",
        "'remit plan check FILE' names every problem with its line",
        {
            "problems": [
                {"code": str(f.code), "kind": f.kind, "label": f.label, "field": f.field,
                 "message": f.message, "gate": str(f.gate), "path": list(f.path)}
                for f in found[:100]
            ],
            "total": len(found),
        },
    )  # fmt: skip
