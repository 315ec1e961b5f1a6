"""Seeded faults of triage: what would let an item go on, or end, without a record that says why.

Each is planted in the product's own functions and names the property that must catch it, by its own
table of kinds (INV-19). ``mutants`` adds them to its own.
"""

from __future__ import annotations

from typing import Final

from remit.core.change import changed
from remit.proofs import worlds
from remit.proofs.effect_cast import EffectCast
from remit.proofs.faults import Mutant

_DELIVERY: Final = changed(worlds.DELIVERY, alive=False)
_ONCE: Final = changed(
    worlds.EFFECT, groups=frozenset(("lease", "triage")), effects=EffectCast(attempts=1)
)
_RECORDS: Final = "remit.core.decide.records"
_ASIDE: Final = "remit.core.decide.putting_aside"
_FOLD: Final = "remit.core.evolve.work"

TRIAGE_MUTANTS: Final = (
    Mutant(
        "record-without-evidence",
        _DELIVERY,
        "triage-shows-evidence",
        (
            (f"{_ASIDE}:evidence_for", "if not wrong:", "if True:"),
            (
                "remit.core.triage:put_aside",
                'assert not wrong, f"{evidence.kind}: {wrong}"',
                "pass",
            ),
        ),
    ),
    Mutant(
        "closed-without-its-records",
        _DELIVERY,
        "triage-left-by-name",
        (
            ("remit.core.decide.closing:finish", "resolved=item.triage", "resolved=()"),
            (f"{_FOLD}:_closed", "if set(ev.resolved) != set(item.triage):", "if False:"),
        ),
    ),
    Mutant(
        "left-with-a-record-open",
        _DELIVERY,
        "triage-left-by-name",
        (
            (f"{_RECORDS}:_apply", "last = item.triage == (record.id,)", "last = True"),
            (f"{_FOLD}:_resolved", "    if rest:", "    if False:"),
        ),
    ),
    Mutant(
        "any-resolution-settles",
        _DELIVERY,
        "triage-by-its-kind",
        (
            (
                f"{_RECORDS}:_resolve",
                "if not record.open or cmd.resolution not in ways:",
                "if not record.open:",
            ),
        ),
    ),
    Mutant(
        "anybody-gives-more-attempts",
        _ONCE,
        "triage-by-its-kind",
        (
            (
                f"{_ASIDE}:may_settle",
                "if how not in RULES[TriageKind(record.kind)].human:",
                "if True:",
            ),
        ),
    ),
    Mutant(
        "settled-while-the-effect-is-unknown",
        worlds.EFFECT,
        "triage-effect-known",
        ((f"{_RECORDS}:_resolve", " or _unknown_effect(draft, item, record)", ""),),
    ),
)
"""Faults, in the order in which they are planted."""
