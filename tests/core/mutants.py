"""Faults planted in the core, one at a time, to show that the properties can fail.

Each mutant names the properties that may catch it. A mutant that nobody catches means that a check
looks at nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from remit.core import admission, settlement, triage
from remit.core import view as views
from remit.core.change import changed
from remit.core.decide import (
    asking,
    choosing,
    delivery,
    leases,
    putting_aside,
    records,
    reports,
    verification,
    waiting,
)
from remit.core.evolve import items as item_folds
from remit.core.evolve import moves
from remit.core.evolve import work as work_folds
from remit.core.facts import ActorKind, Item
from remit.core.ids import EPOCH_SHIFT
from remit.core.item_events import ItemClosed, LeaseGranted
from remit.core.status import Status
from remit.core.triage_kinds import Resolution
from remit.core.view import Draft, View
from remit.service.engine import Batch
from remit.stores.memory.transaction import MemoryRead

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Mutant:
    """One fault, how to plant it, and which properties may catch it."""

    name: str
    plant: Callable[[Patch], None]
    caught_by: tuple[str, ...]


MUTANTS: list[Mutant] = []


def mutant(*caught_by: str) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    """Register a fault under its function's name."""

    def enter(plant: Callable[[Patch], None]) -> Callable[[Patch], None]:
        MUTANTS.append(Mutant(plant.__name__, plant, caught_by))
        return plant

    return enter


@mutant("reports-while-live", "renewed-while-live")
def a_lease_lives_one_microsecond_too_long(patch: Patch) -> None:
    def expired(draft: Draft, lease: Any) -> bool:
        epoch = draft.ledger.epoch
        return bool(draft.now > lease.expires_at or lease.fence >> EPOCH_SHIFT != epoch)

    patch.setattr(asking, "expired", expired)
    patch.setattr(leases, "expired", expired)


@mutant("reports-in-epoch", "renewed-in-epoch")
def an_adoption_ends_no_lease(patch: Patch) -> None:
    def expired(draft: Draft, lease: Any) -> bool:
        return bool(draft.now >= lease.expires_at)

    patch.setattr(asking, "expired", expired)
    patch.setattr(leases, "expired", expired)


def _fenced(*, check_fence: bool, check_holder: bool) -> Callable[..., Any]:
    true = asking.fenced

    def fenced(draft: Draft, item: Item, fence: int, doing: str, late: Any = None) -> Any:
        lease = item.lease
        if lease is not None and not asking.expired(draft, lease):
            holds = not check_holder or lease.actor == draft.ask.actor
            if holds and (not check_fence or lease.fence == fence):
                return lease
        return true(draft, item, fence, doing, late)

    return fenced


@mutant("fence-as-named")
def any_fence_will_do(patch: Patch) -> None:
    for module in (leases, reports, delivery):
        patch.setattr(module, "fenced", _fenced(check_fence=False, check_holder=True))


@mutant("reports-by-holder")
def anybody_may_report(patch: Patch) -> None:
    for module in (leases, reports, delivery):
        patch.setattr(module, "fenced", _fenced(check_fence=True, check_holder=False))


@mutant("unmet-counted")
def unmet_is_not_recounted(patch: Patch) -> None:
    patch.setattr(item_folds, "unmet_of", lambda dependencies: 0)


@mutant("counts-recounted", "lanes-recounted")
def counts_do_not_move(patch: Patch) -> None:
    patch.setattr(work_folds, "account", lambda get, out, item, to: None)


@mutant("loads-recounted")
def loads_are_not_given_back(patch: Patch) -> None:
    true = moves.load

    def load(get: Any, out: Any, item: Any, actor: str, by: int) -> None:
        if by > 0:
            true(get, out, item, actor, by)

    patch.setattr(work_folds, "load", load)


@mutant("attempts-bounded", "pass-means-passed")
def attempts_have_no_bound(patch: Patch) -> None:
    for module in (leases, choosing):
        patch.setattr(module, "used_up", lambda draft, item: False)


@mutant("attempts-counted-at-lease")
def attempts_are_not_counted(patch: Patch) -> None:
    true = work_folds._leased

    def leased(get: Any, rec: Any, ev: LeaseGranted, out: Any) -> None:
        true(get, rec, replace(ev, counted=ev.counted - 1), out)

    _fold(patch, LeaseGranted, leased)


def _fold(patch: Patch, event: type, handler: Callable[..., None]) -> None:
    from remit.core import evolve

    patch.setitem(evolve._HANDLERS, event, handler)


@mutant("ready-only-with-rows")
def plan_gates_are_skipped(patch: Patch) -> None:
    patch.setattr(admission, "_gate_checks", lambda draft, item: [])


@mutant("ready-only-unblocked", "leased-only-unblocked")
def admission_ignores_dependencies(patch: Patch) -> None:
    patch.setattr(admission, "unmet_edges", lambda item: ())


@mutant("unmet-equals-oracle")
def news_is_not_carried_on(patch: Patch) -> None:
    from remit.core import decide

    patch.setattr(decide, "settle", lambda draft: None)


@mutant("unmet-equals-oracle")
def news_stops_after_one_step(patch: Patch) -> None:
    true = settlement.settle

    def settle(draft: Draft) -> None:
        names = list(draft.changed_items())
        patch.setattr(Draft, "changed_items", lambda self: names[:1])
        true(draft)

    patch.setattr(settlement, "settle", settle)
    from remit.core import decide

    patch.setattr(decide, "settle", settle)


@mutant("unmet-equals-oracle")
def successors_do_not_stand_for_others(patch: Patch) -> None:
    patch.setattr(settlement, "last_of_chain", lambda draft, item: item)


@mutant("unmet-equals-oracle")
def an_epic_blocks_its_own_parts(patch: Patch) -> None:
    patch.setattr(settlement, "is_inner", lambda draft, item, kind, target: False)
    patch.setattr(waiting, "is_inner", lambda draft, item, kind, target: False)


@mutant("unmet-equals-oracle")
def children_that_come_later_are_not_waited_for(patch: Patch) -> None:
    patch.setattr(waiting, "regroup_waiters", lambda draft, parent: None)


@mutant("dead-goes-to-triage")
def what_can_never_come_is_waited_for(patch: Patch) -> None:
    patch.setattr(settlement, "dead_edge", lambda item: "")


@mutant("INV-11-limits")
def limits_are_not_asked(patch: Patch) -> None:
    patch.setattr(choosing, "_over_limit", lambda *args: None)


@mutant("decisions-fold", "INV-16-review")
def implementers_may_review(patch: Patch) -> None:
    true = asking.find

    def find(draft: Draft, name: str) -> Any:
        item = true(draft, name)
        return changed(item, holders=()) if isinstance(item, Item) else item

    patch.setattr(delivery, "find", find)


@mutant("INV-16-verify", "decisions-fold")
def reviewers_may_verify(patch: Patch) -> None:
    patch.setattr(verification, "_may_verify", lambda draft, item, work: None)


@mutant("two-answers-never-green")
def the_newest_answer_wins(patch: Patch) -> None:
    patch.setattr(verification, "_result", lambda item, finding, commit: finding.result)


@mutant("two-answers-never-green")
def an_empty_run_wipes_an_answer(patch: Patch) -> None:
    patch.setattr(work_folds, "_outlasts", lambda old, new: False)


@mutant("rows-by-their-judge")
def anybody_judges_commands(patch: Patch) -> None:
    patch.setattr(verification, "kind_of", lambda draft: ActorKind.SERVICE)


@mutant("kill-switch-stops-leases", "kill-switch-stops-renewals")
def the_kill_switch_is_not_looked_at(patch: Patch) -> None:
    true: Any = Draft.ledger
    patch.setattr(
        Draft, "ledger", property(lambda self: changed(true.fget(self), kill_switch=False))
    )


@mutant("INV-9-same-answer", "INV-9-other-content")
def command_ids_are_forgotten(patch: Patch) -> None:
    patch.setattr(MemoryRead, "commands", lambda self, ids: {})


@mutant("INV-9-other-content")
def command_ids_answer_anything(patch: Patch) -> None:
    true = Batch._repeat

    def repeat(self: Batch, call: Any, ask: Any, events: Any) -> Any:
        return true(self, call, replace(ask, command_digest=events[0].command_digest), events)

    patch.setattr(Batch, "_repeat", repeat)


@mutant("shipped-stays-shipped", "resolve-not-later")
def resolving_forgets_that_it_shipped(patch: Patch) -> None:
    patch.setattr(records, "_target", lambda draft, item, how: (Status.DRAFT, "", "", 0))


@mutant("fold-equals-rows")
def lanes_are_not_stored(patch: Patch) -> None:
    true = View.apply

    def apply(self: View, delta: Any) -> None:
        true(self, {k: v for k, v in delta.items() if k[0] != "lane"})

    patch.setattr(views.View, "apply", apply)


@mutant("moves-in-table")
def the_table_has_every_move(patch: Patch) -> None:
    from remit.core import status
    from remit.core.evolve import moves as fold_moves

    patch.setattr(status, "permitted", lambda *args: True)
    patch.setattr(fold_moves, "permitted", lambda *args: True)


@mutant("fence-grows", "decisions-fold")
def fences_stand_still(patch: Patch) -> None:
    patch.setattr(leases, "fence_of", lambda epoch, counter: (epoch << EPOCH_SHIFT) | 1)


@mutant("INV-19-evidence")
def records_show_nothing(patch: Patch) -> None:
    patch.setattr(putting_aside, "faults", lambda *_, **__: [])
    patch.setattr(triage, "faults", lambda *_, **__: [])


@mutant("INV-19-by-its-kind", "shipped-stays-shipped")
def any_resolution_settles(patch: Patch) -> None:
    patch.setattr(records, "allowed", lambda *_: tuple(Resolution))


@mutant("INV-19-by-humans")
def agents_settle_all(patch: Patch) -> None:
    patch.setattr(putting_aside, "human_only", lambda *_: None)


@mutant("INV-19-left-by-name")
def a_close_names_no_records(patch: Patch) -> None:
    true, emit = work_folds._closed, Draft.emit

    def nameless(draft: Draft, kind: str, name: str, event: Any, *more: Any, **named: Any) -> Any:
        closed = replace(event, resolved=()) if isinstance(event, ItemClosed) else event
        return emit(draft, kind, name, closed, *more, **named)

    def closed(get: Any, rec: Any, ev: ItemClosed, out: Any) -> None:
        true(get, rec, replace(ev, resolved=get("item", rec.stream).triage), out)

    patch.setattr(Draft, "emit", nameless)
    _fold(patch, ItemClosed, closed)
