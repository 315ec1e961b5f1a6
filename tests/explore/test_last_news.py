"""What may still be said of an item that has ended: in the decision that ends it, whose child it was."""

from __future__ import annotations

from dataclasses import replace

from tests.core.world import HUMAN, World

from remit.core import commands as c
from remit.core.facts import DependencyKind, EdgeState
from remit.core.item_events import DependencySettled, ItemClosed
from remit.proofs.oracle import last_news


def test_only_who_ends_in_a_decision_hears_of_a_parent_in_it() -> None:
    world = World()
    item = world.create()
    world.ok(HUMAN, c.CloseItem(item, "cancelled", c.Text("no longer wanted")))
    closed = next(r for r in world.events() if isinstance(r.event, ItemClosed))
    said = DependencySettled("W-2", DependencyKind.PARENT, EdgeState.MET, "W-3", False, "W-2")
    news = replace(closed, seq=closed.seq + 1, event=said)
    assert last_news([closed, news], news)
    assert not last_news([news], news), "it had ended before"
    assert not last_news([replace(closed, stream="W-9"), news], news), "another ended"
    other = replace(news, event=replace(said, kind=DependencyKind.BLOCKS))
    assert not last_news([closed, other], other), "nobody's child by it"
