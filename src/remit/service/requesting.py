"""Pull requests: propose approved work to a host, and from then on only look.

For mains that nobody but the host may push. What would land is made and tested as for a push, so that a
clash or a red row shows now; but the host makes what lands later, so that no claim is made that this was
tested, and verification at the shipped commit says the rest. The request is opened once, as an effect of
its own, and looked up in the host's list. Nothing ships by a request, whatever the host calls it: the
item stays approved until the remote's main is seen with the reviewed change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remit.core.canonical import canonical
from remit.core.effect_facts import EffectState
from remit.core.facts import Item
from remit.core.gitfacts import Clash, Way
from remit.core.item_events import ItemTriaged
from remit.core.pushes import REQUEST
from remit.core.reconcile import NONE
from remit.core.refusals import Code, Refused
from remit.ports.destination import Destination, Request
from remit.service.engine import Answer
from remit.service.integrated import (
    Integrated,
    event_of,
    next_try,
    reported,
    triaged,
    unsettled,
)
from remit.service.preparing import Into, Preparation, Progress, Ready
from remit.service.pushing import Pushes, Standing, send_once

MAX_TITLE: Final = 120
"""Longest title of a request, in characters."""

NOT_YET: Final = (Code.COMMIT_UNMERGED, Code.COMMIT_ABSENT, Code.COMMIT_MISMATCH)
"""What main says while the change is not on it."""


@dataclass(frozen=True, slots=True)
class Requests:
    """Opens and watches the pull requests of one repository, for one caller."""

    preparation: Preparation
    host: Destination
    pushes: Pushes
    send_ms: int

    def propose(
        self, name: str, command_id: str, ship: bool, progress: Progress | None
    ) -> Integrated | Refused:
        """Open the request of an approved item once, or say how the one that is there stands."""
        ready = self.preparation.ready(name)
        if isinstance(ready, Refused):
            return ready
        stands = self.pushes.standing(name)
        if stands is not None and stands.state is not EffectState.ABSENT:
            seen = self._look(ready, stands)
            return (
                seen if isinstance(seen, Refused) else self._stands(ready, seen, command_id, ship)
            )
        made = self.preparation.made(ready, Way.MERGE)
        if isinstance(made, Refused):
            return made
        main, brought = made
        if isinstance(brought, Clash):
            return self.preparation.clashed(ready, brought, Way.MERGE, command_id)
        if brought.way is Way.THERE:
            return self._shipped(ready.item, brought.head_sha, main, command_id, ship)
        number = next_try(stands.effect if stands is not None else None)
        enforced = self.host.enforced
        into = Into(number, enforced.idempotency_key, enforced.in_flight_ms, REQUEST)
        intended = self.preparation.intend(ready, brought, into, command_id, progress)
        if isinstance(intended, Refused):
            return intended
        if event_of(intended, ItemTriaged) is not None:
            return triaged(ready.item, intended)
        return self._open(ready, command_id, ship)

    def _open(self, ready: Ready, command_id: str, ship: bool) -> Integrated | Refused:
        """Send it once, and look."""
        name = ready.item.id
        stands = self.pushes.standing(name)
        assert stands is not None, "it was intended just now"
        if stands.effect.intents:  # else an older epoch may have opened it: look first
            end, said = send_once(self.host, self._request(ready, stands))
            self.pushes.note(name, end, said)
        else:
            end, said = "unsent", ""
        seen = self.pushes.look(name)
        if isinstance(seen, Refused):
            return seen
        if seen.state is EffectState.PRESENT or (seen.open and end == "answered"):
            return self._stands(ready, seen, command_id, ship)
        if seen.open:
            return unsettled(ready.item, seen, Code.OUTCOME_UNKNOWN, said)
        return Refused(
            Code.NOT_SENT if end == "unsent" else Code.DESTINATION_REFUSED,
            f"cannot open the pull request of {name}: {said or 'nobody knew of it'}",
            "see what the host says to the declared command; then integrate it again",
            {"item": name, "effect": seen.effect.id},
        )

    def _look(self, ready: Ready, stands: Standing) -> Standing | Refused:
        seen = self.pushes.look(ready.item.id)
        if isinstance(seen, Refused):
            return seen
        lost = seen.state is EffectState.UNCERTAIN and seen.result == NONE
        if lost and seen.push.markers and seen.effect.intents and seen.effect.arrives_until is None:
            return self.pushes.repeat(ready.item.id, self._request(ready, stands))
        return seen

    def _stands(
        self, ready: Ready, seen: Standing, command_id: str, ship: bool
    ) -> Integrated | Refused:
        """How a request stands; the work ships where main has it, and only there."""
        if seen.open:
            return unsettled(ready.item, seen, Code.OUTCOME_UNKNOWN)
        if seen.state is EffectState.ABSENT:
            return unsettled(ready.item, seen, Code.EFFECT_UNRECONCILED)
        shown = dict(seen.shown)
        for commit in (shown.get("merge_commit", ""), seen.push.commit):
            found = self._ship(ready.item, commit, command_id) if commit and ship else None
            if isinstance(found, Refused) and found.code not in NOT_YET:
                return found
            if found is not None and not isinstance(found, Refused):
                return reported(self.pushes, ready.item.id, "shipped", found)
        told = reported(self.pushes, ready.item.id, shown.get("state", "OPEN").lower(), None)
        return Integrated(
            told.item, told.outcome, told.way, told.commit, told.main_before, told.main_after,
            told.effect, told.state, told.results, detail=shown.get("url", ""),
        )  # fmt: skip

    def _ship(self, item: Item, commit: str, command_id: str) -> Answer:
        return self.preparation.delivery.mark_shipped(item.id, commit, command_id=command_id)

    def _shipped(
        self, item: Item, head: str, main: str, command_id: str, ship: bool
    ) -> Integrated | Refused:
        """Main has it already: nothing is proposed."""
        found = self._ship(item, head, command_id) if ship else None
        if isinstance(found, Refused):
            return found
        outcome = "shipped" if found is not None else "pushed"
        return Integrated(item.id, outcome, Way.THERE.value, head, main, main, "", "", answer=found)

    def _request(self, ready: Ready, stands: Standing) -> Request:
        """What is asked of the host; the same each time, since its title and text are kept facts."""
        effect, item = stands.effect, ready.item
        plain = "".join(char if char.isprintable() else " " for char in item.title)
        payload = canonical(
            {
                "commit": stands.push.commit,
                "title": f"{item.id}: {' '.join(plain.split())}"[:MAX_TITLE],
                "body": f"{item.id} was approved at {stands.push.commit}.",
            }
        )
        return Request(
            effect.id, effect.key, effect.fence, payload, effect.operation, stands.push.commit,
            timeout_ms=self.send_ms,
        )  # fmt: skip
