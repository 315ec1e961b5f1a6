"""What every step must leave true of triage, judged from a table of its own (INV-19).

The table here says for each kind which fields its evidence cannot lack and what may settle it. It is
written from the contract and not made from the core's, so that a change of one shows in the other. An
item leaves triage by one event only: the resolution of its last open record, or a close that names every
open one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import item_events as e
from remit.core.effect_facts import Effect, Intent
from remit.core.facts import Item, Triage
from remit.proofs.push_steps import landed
from remit.proofs.world import HUMAN, Stage, State

TRIAGE_PROPERTIES: Final = {
    "triage-shows-evidence": "INV-19",
    "triage-left-by-name": "INV-19",
    "triage-by-its-kind": "INV-19",
    "triage-effect-known": "INV-14",
}

_ENDS: Final = {"supersede", "cancel", "fail"}
_AGAIN: Final = _ENDS | {"requeue"}
_BACK: Final = _AGAIN | {"return"}

KINDS: Final[dict[str, tuple[str, set[str]]]] = {
    "verifier-gap": ("commit", set()),
    "contradicted": ("commit row", set()),
    "test-failure": ("commit row requirement", _BACK),
    "merge-conflict": ("base head main path", _BACK),
    "dirty-tree": ("tree path", _BACK),
    "remote-divergence": ("remote ref expected", _BACK),
    "ambiguity": ("unclear asks", _BACK),
    "conflicting-decisions": ("decision", _BACK - {"fail"}),
    "budget-exhausted": ("scope limit settled reserved", _BACK),
    "refusal": ("code", _AGAIN),
    "effect-uncertain": ("effect state why", _AGAIN),
    "effect-mismatch": ("effect observation why", _AGAIN),
    "poison": ("attempts bound", _AGAIN),
    "sandbox-probe-failed": ("probe result", {"requeue", "cancel", "fail"}),
    "secret-found": ("rule path line", {"requeue-rotated", "requeue-removed", "cancel", "fail"}),
    "scope-breach": ("outside scope", _AGAIN),
    "agent-crash": ("attempt code terminated", {"requeue", "cancel", "fail"}),
    "timeout": ("attempt bound limit_ms elapsed_ms terminated", _AGAIN),
    "ship-unverifiable": ("why", _BACK),
    "scope-changed": ("old new", {"requeue", "supersede", "cancel"}),
    "cancelled-in-flight": ("state", {"requeue", "cancel"}),
    "trigger-impossible": ("dependency", _AGAIN),
    "import-inconsistent": ("", {"requeue", "supersede", "cancel"}),
}
"""Kind -> what its evidence cannot lack, and what may settle it before anything was observed."""

BY_HUMANS: Final = {
    "budget-exhausted": _BACK | {"reverify"},
    "poison": {"requeue"},
    "sandbox-probe-failed": {"requeue"},
    "secret-found": {"requeue-rotated", "requeue-removed"},
    "effect-uncertain": _AGAIN,
    "effect-mismatch": _AGAIN,
    "cancelled-in-flight": {"requeue"},
}
"""What only a human may say of a kind."""

WAITING: Final = {"effect-uncertain", "cancelled-in-flight"}
"""Kinds that a look-up settles by itself."""

OF_EFFECTS: Final = WAITING | {"effect-mismatch"}
"""Kinds that stand while nobody knows what became of the effect."""

_UNKNOWN: Final = {"INTENDED", "UNCERTAIN", "CONTRADICTED"}
_OUTCOMES: Final = {"superseded": "supersede", "failed": "fail"}

Demand = Callable[..., None]


def lacks(event: e.ItemTriaged) -> list[str]:
    """Which fields the evidence of a record lacks."""
    there = {entry.partition(":")[0] for entry in event.evidence}
    return [name for name in KINDS[event.triage_kind][0].split() if name not in there]


def fits(kind: str, resolution: str, origin: str, *, shipped: bool) -> bool:
    """Whether a resolution is one of this kind's, from where the item was put aside."""
    if resolution == "reconciled":
        return kind in WAITING
    if shipped or origin == "shipped":
        return resolution in ("reverify", "supersede")
    if resolution == "return" and origin not in ("in-review", "approved"):
        return False
    return resolution in (KINDS[kind][1] or {"reverify", "supersede"})


def left_by(event: Any, before: tuple[str, ...]) -> bool:
    """Whether an event that takes an item out of triage names the records that were open."""
    if isinstance(event, e.TriageResolved):
        return before == (event.record,) and bool(event.resolution)
    return isinstance(event, e.ItemClosed) and set(event.resolved) == set(before) != set()


class TriageSteps:
    """Judges each event of an item for what it does to its records."""

    def __init__(self, stage: Stage, demand: Demand) -> None:
        self.stage = stage
        self.demand = demand

    def event(self, state: State, actor: str, event: Any, old: Item, new: Item) -> None:
        """One event, with the item before and after it."""
        if isinstance(event, e.ItemTriaged):
            missing = lacks(event)
            self.demand("triage-shows-evidence", not missing, event.triage_kind, "lacks", missing)
            self.demand("triage-explained", event.record in new.triage, event)
        if old.triage and not new.triage:
            told = left_by(event, old.triage)
            self.demand("triage-left-by-name", told, old.triage, "left by", event)
        if isinstance(event, e.TriageResolved):
            self._settled(state, actor, event.record, event.resolution, old)
        if isinstance(event, e.ItemClosed):
            self.demand("triage-explained", not new.triage, new.id, "closed with", new.triage)
            how = _OUTCOMES.get(event.outcome, "cancel")
            for record in old.triage:
                kind = self._kind(state, record)
                human = how not in BY_HUMANS.get(kind, ()) or actor == HUMAN or kind in WAITING
                self.demand("triage-by-its-kind", human, kind, "closed by", actor)

    def _kind(self, state: State, record: str) -> str:
        found = self.stage.get(state, "triage", record)
        return str(found.kind) if isinstance(found, Triage) else ""

    def _settled(self, state: State, actor: str, record: str, how: str, old: Item) -> None:
        kind, origin = self._kind(state, record), str(old.triaged_from)
        seen = landed(self.stage, state, old)
        right = record in old.triage and fits(kind, how, origin, shipped=seen)
        self.demand("triage-by-its-kind", right, kind, "from", origin, "settled by", how)
        human = how not in BY_HUMANS.get(kind, ()) or actor == HUMAN
        self.demand("triage-by-its-kind", human, kind, "settled by", actor, "as", how)
        intent = self.stage.get(state, "intent", old.id)
        if kind not in OF_EFFECTS or how == "reconciled" or not isinstance(intent, Intent):
            return
        effect = self.stage.get(state, "effect", intent.envelope.effect_id)
        mine = isinstance(effect, Effect) and effect.item == old.id
        unknown = mine and str(getattr(effect, "state", "")) in _UNKNOWN
        self.demand("triage-effect-known", not unknown, kind, "settled, its effect is", effect)
