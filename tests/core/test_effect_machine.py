"""Admission on evidence under random traffic, and the planted faults that show what is looked at."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.core.effect_mutants import MUTANTS
from tests.core.effect_traffic import EffectTraffic
from tests.core.effects import MINUTE, MINUTE_US, POLICY, capacity, envelope
from tests.core.invariants import Broken
from tests.core.mutants import Mutant
from tests.core.test_verdict import NOW
from tests.core.world import folded

from remit.core import verdict
from remit.core.change import changed
from remit.core.effect_facts import EffectState, Envelope
from remit.core.verdict import Evidence, Rival
from remit.proofs import verdicts as admission_oracle


@pytest.mark.parametrize("seed", range(40))
def test_every_invariant_holds_at_every_seq_of_a_seeded_history(seed: int) -> None:
    traffic = EffectTraffic(Random(seed))
    traffic.run(90)
    assert folded(traffic.world.events()) == traffic.world.facts()


def test_the_traffic_reaches_every_row() -> None:
    """Without this, a property could hold because nothing ever happened."""
    seen: set[str] = set()
    for seed in range(60):
        traffic = EffectTraffic(Random(seed))
        traffic.run(60)
        seen |= {getattr(r.event, "reason", "") for r in traffic.world.events()}
    wanted = {
        "ELIGIBLE", "INVALID_ENVELOPE", "CANCELLED", "CANCELLATION_UNOBSERVABLE", "SAME_EFFECT",
        "EFFECT_CONFLICT", "DEADLINE_PASSED", "MARGIN_IMPOSSIBLE", "NOT_BEFORE",
        "UNMET_DEPENDENCY", "DESTINATION_UNKNOWN", "HUMAN_DECISION_MISSING",
        "CAPACITY_EVIDENCE_MISSING", "STALE_CAPACITY_EVIDENCE", "INCOMPLETE_CAPACITY_EVIDENCE",
        "NO_FREE_WORKER", "MARGIN_NOT_PRESERVED", "DEADLINE_UNREACHABLE",
    }  # fmt: skip
    assert wanted <= seen


def random_world(rnd: Random) -> tuple[Envelope, Any, Evidence]:
    """Envelope, policy and evidence, close to every boundary."""

    def near() -> int | None:
        return rnd.choice((None, NOW + rnd.randint(-2, 3) * MINUTE_US + rnd.randint(-1, 1)))

    def often(value: Any, other: Any) -> Any:
        return value if rnd.random() < 0.85 else other

    def figure() -> int | None:
        return rnd.choice((None, 0, 1, 2))

    asked = envelope(
        1,
        replay_class=rnd.choice(("RECONCILABLE",) * 4 + ("PURE", "IRREVERSIBLE", "UNCLASSIFIED")),
        operation_id=often("EXPORT", "DEPLOY"),
        payload_bytes=rnd.choice((None, 10, 11)),
        not_before=near(),
        deadline=near(),
        minimum_completion_margin_ms=rnd.choice((None, 0, MINUTE, 2 * MINUTE)),
        cancellation_state=often("NOT_REQUESTED", rnd.choice(("", "REQUESTED", "UNOBSERVABLE"))),
        decision=rnd.choice(("", "D-1")),
    )
    rows = tuple(
        r for r in ("capacity", "deadline", "cancellation", "destination") if rnd.random() < 0.8
    )
    policy = changed(
        POLICY,
        rows=rows,
        operations=("EXPORT*",),
        classes=often(("*",), ("OTHER",)),
        max_payload_bytes=often(0, 10),
        capacity_fields=often((), ("queued_items",)),
    )
    seen = capacity(
        id="CAP-1",
        observed_at=NOW - rnd.choice((0, 0, 1, 120_000_000, 120_000_001, -1_000_000, -1_000_001)),
        start_delay_ms=often(rnd.choice((0, 1, MINUTE)), None),
        duration_ms=often(rnd.choice((1, MINUTE)), None),
        worker_limit=rnd.choice((None, 0, 1, 2, 3)),
        reserved=figure(),
        queued_items=figure(),
    )
    rival = Rival(
        "W-9",
        rnd.choice(("live", "completed", "closed")),
        rnd.choice(list(EffectState)),
        "EXPORT",
        often("SYNTHETIC-DIGEST-A", "B"),
    )
    at = Evidence(
        work_class="STANDARD",
        faults=often(0, 1),
        own=often(EffectState.NOT_STARTED, rnd.choice(list(EffectState))),
        intents=rnd.randint(0, 1),
        rival=often(None, rival),
        unmet=often((), ("W-2",)),
        destination=often("INDEX-1", ""),
        authorized_by=rnd.choice(("", "ann")),
        seen=often(seen, None),
        admitted=rnd.randint(0, 3),
        retry_at=often(0, NOW + rnd.randint(-1, 1)),
        eligible=often(False, True),
    )
    return asked, policy, at


def oracle(worlds: int = 4_000) -> str:
    """``oracle`` where the decision is not what the table says, in the first world that shows it."""
    rnd = Random(7)
    for _ in range(worlds):
        asked, policy, at = random_world(rnd)
        wanted = admission_oracle.expected(asked, policy, at, NOW)
        try:
            found = verdict.assess(asked, policy, at, NOW)
        except (AssertionError, TypeError, ValueError, ZeroDivisionError):
            return "oracle"
        if (found.verdict, found.reason) != wanted:
            return "oracle"
        if found.verdict == "HOLD" and not found.trigger:
            return "oracle"
    return ""


def test_the_decision_is_what_the_oracle_says_in_many_worlds() -> None:
    assert oracle(20_000) == ""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_fault_is_caught_by_its_property(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert caught(mutant, monkeypatch) in mutant.caught_by


def caught(mutant: Mutant, patch: pytest.MonkeyPatch, seeds: int = 80) -> str:
    """The property that catches a planted fault first: the oracle, or a watched history."""
    with patch.context() as planted:
        mutant.plant(planted)
        if oracle():
            return "oracle"
        planted.undo()
        for seed in range(seeds):
            mutant.plant(planted)
            try:
                EffectTraffic(Random(seed), most=24 if seed % 2 else 12).run(80)
            except Broken as broken:
                return broken.name
            finally:
                planted.undo()
    return f"nothing in {seeds} histories"


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_torture_long_seeded_histories_of_effect_work() -> None:
    for seed in range(600):
        EffectTraffic(Random(300_000 + seed), most=6 + seed % 20).run(200)
