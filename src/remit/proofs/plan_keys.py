"""Keys of states with a plan: equal keys mean equal futures.

Items are in their order, since each was made for something else. Of every other fact of planning all is
kept but seqs, versions and moments of the past; what a decision has left to stand is a distance from now.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import msgspec

from remit.core.evolve.plans import GONE
from remit.core.facts import Fact
from remit.proofs.keys import SIZE, Keys, links, local
from remit.proofs.plan_moves import moments
from remit.proofs.world import NO_GHOST, State

KINDS: Final = (
    "plan", "planned", "goal", "requirement", "row", "node", "decision", "signature", "actor",
    "link",
)  # fmt: skip
"""Facts whose content counts; labels, registers and counters follow from them."""

_LEFT_OUT: Final = frozenset(
    ("seq", "version", "closing_seq", "proposed_seq", "settled_seq", "settled_at", "brief_seq")
)

_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class PlanKeys(Keys):
    """Makes the keys of one world of planning."""

    def key(self, state: State) -> bytes:
        """The key of a state."""
        stage = self.stage
        items = stage.items(state)
        parts = state.locals
        for name, item in items.items():
            if name not in parts:
                ghost = state.ghosts.get(name, NO_GHOST)
                own = local(item, ghost, lambda k, n: stage.get(state, k, n))
                parts[name] = (own[0] + _plain(item.plan) + item.successor.encode(),)
        moving = self._moving(state, items)
        order = list(items)
        body = b"".join(parts[name][0] + moving[name] for name in order)
        ahead = [max(at - state.now, -1) for at in moments(stage, state)]
        ledger = stage.get(state, "ledger", "ledger")
        books = sorted(state.books.items())
        around = _encode([books, ahead, ledger.policy.accept_unproved])  # type: ignore[union-attr]  # there is one
        body += links(order, items) + self._around(state, items) + around
        return blake2b(body + self._facts(state), digest_size=SIZE).digest()

    def _facts(self, state: State) -> bytes:
        found = []
        for (kind, name), fact in state.facts.items():
            if kind in KINDS and fact is not None and f"/{GONE}" not in name:
                found.append(name.encode() + self._kept(fact))
        return b"\n".join(sorted(found))

    def _kept(self, fact: Fact) -> bytes:
        """A fact's bytes, made once: facts never change."""
        known = self.known.get(id(fact))
        if known is None:
            known = self.known[id(fact)] = (fact, _plain(fact))
        return known[1]


def _plain(fact: Any) -> bytes:
    return _encode(_bare(msgspec.to_builtins(fact)))


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _bare(each) for name, each in value.items() if name not in _LEFT_OUT}
    return [_bare(each) for each in value] if isinstance(value, list | tuple) else value
