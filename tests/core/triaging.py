"""Evidence for tests: one sound sample of each kind of triage record, made by its own constructor."""

from __future__ import annotations

from typing import Final

from remit.core import commands as c
from remit.core import triage_records as t
from remit.core.checks import Result
from remit.core.commands import Text
from remit.core.triage_kinds import TriageKind as K
from remit.core.triage_records import Evidence

A, B, M = "a" * 40, "b" * 40, "c" * 40
LOG: Final = "d" * 64

SAMPLES: Final[dict[K, Evidence]] = {
    sample.kind: sample
    for sample in (
        t.verifier_gap(commit=A, row=["V-1"], missing=["out.txt"], diff="FAIL", log=[LOG]),
        t.contradicted(commit=A, row=["V-1"]),
        t.failed_rows(commit=A, row=["V-1"], requirement=["R-1"], found=["RED"], log=[LOG]),
        t.merge_conflict(base=B, head=A, main=M, path=["src/a.py"], way="rebase"),
        t.dirty_tree(tree="clone", path=["notes.txt"], attempt="A-1.1", head=A),
        t.remote_divergence(remote="origin", ref="refs/heads/main", expected=M, observed=B),
        t.ambiguity(unclear="which calendar", asks="planner", about="R-1"),
        t.conflicting_decisions(decision=["D-1", "D-2"], about=["item/login"]),
        t.budget_exhausted(scope=["ledger"], limit=[10], settled=[12], reserved=[0]),
        t.refusal(code="DECLINED", said=LOG),
        t.effect_uncertain(effect="PAY-1", state="UNCERTAIN", why="NO_LOOKUP", looks=2),
        t.effect_mismatch(
            effect="PAY-1", observation="OBS-1", why="EFFECT_MISMATCH", difference=["digest"]
        ),
        t.poison(attempts=3, bound=3, lease="L-1.3"),
        t.probe_failed(probe=["tcp"], result=[Result.FAIL], observed=["it connected"]),
        t.secret_found(rule=["private-key"], path=["id_ed25519"], line=[1], commit=A),
        t.scope_breach(outside=["README.md"], scope=["src/**"], base=B, head=A),
        t.agent_crash(
            attempt="A-1.1", code="AGENT_SIGNAL", signal=9, terminated=Result.PASS,
            rescue=["refs/remit/attempts/A-1.1/rescue"], log=LOG,
        ),
        t.timeout(
            attempt="A-1.1", bound="wall", limit_ms=1_000, elapsed_ms=1_004,
            terminated=Result.BLOCKED,
        ),
        t.ship_unverifiable(why="main has another patch", commit=A, main=M),
        t.scope_changed(old="P-1@1", new="P-1@2", changed=["R-1"], successor="W-2"),
        t.cancelled_in_flight(state="UNCERTAIN", effect="PAY-1", seq=7),
        t.trigger_impossible(dependency="W-2", outcome="cancelled"),
        t.import_inconsistent(cycle=["W-1", "W-2", "W-1"]),
    )
}  # fmt: skip


def put(item: str, kind: str, reason: str = "odd") -> c.OpenTriage:
    """What somebody says who puts an item aside, with the evidence of the kind."""
    return t.aside(SAMPLES[K(kind)], item, Text(reason))


def given_up(item: str, fence: int, kind: str) -> c.FailWork:
    """What a holder says that gives its work up."""
    return t.give_up(SAMPLES[K(kind)], item, fence, Text("no"))
