"""Integration: bring approved work onto main, test exactly that, push it once, and see it there.

What is tested is what lands. Main is observed, the result is made of objects alone, its rows run on
exactly that commit, and only then the push is intended and sent: once, under a lease on the main that
was observed. Whatever the push answers, or does not, what became of it is asked of the remote, and the
same call again goes on from there: a lost response is settled by a look-up and never by a second push
(INV-14). Where main moved meanwhile nothing that was tested holds any more, so all of it starts anew, a
bounded number of times.

Nothing here decides. The core does, on what was looked at; the item stays ``approved`` until main was
seen with the commit.
"""

from __future__ import annotations

from typing import Final

from remit.core.decide.pushing import open_push
from remit.core.effect_facts import EffectState
from remit.core.facts import Item
from remit.core.gitfacts import Brought, Clash, MainObservation, Way
from remit.core.item_events import ItemTriaged
from remit.core.outside_events import EffectIntended
from remit.core.pushes import push_effect, push_payload
from remit.core.refusals import Code, Refused
from remit.ports.destination import Destination, Request
from remit.ports.outside import Landing
from remit.service.delivery import Delivery, load_exact
from remit.service.engine import Answer
from remit.service.fitting import unfit_name
from remit.service.integrated import (
    Integrated,
    answered_before,
    event_of,
    next_try,
    reported,
    triaged,
    unsettled,
)
from remit.service.preparing import Into, Preparation, Progress
from remit.service.pushing import Pushes, Standing, send_once
from remit.service.requesting import NOT_YET, Requests

TRIES: Final = 3
"""How often a main that moves is followed in one call."""

SEND_MS: Final = 120_000
"""How long one push may take, in milliseconds of wall time."""

WAYS: Final = {"merge": Way.MERGE, "rebase": Way.REBASE}


class _MainMovedError(Exception):
    """What was tested would not be what lands."""


class Integration:
    """Integrates approved work of one repository, for one caller.

    ``push`` is main of the remote as a destination: with markers, or the lease alone.
    """

    def __init__(
        self,
        delivery: Delivery,
        landing: Landing,
        push: Destination,
        *,
        remote: str = "origin",
        ref: str = "refs/heads/main",
        tries: int = TRIES,
        send_ms: int = SEND_MS,
        host: Destination | None = None,
    ) -> None:
        self.delivery = delivery
        self.operations = delivery.operations
        self.landing = landing
        self.push = push
        self.tries = tries
        self.send_ms = send_ms
        self.pushes = Pushes(delivery.operations, push)
        self.preparation = Preparation(delivery, landing, remote, ref)
        self.requests: Requests | None = None
        if host is not None:
            looked = Pushes(delivery.operations, host, requests=True)
            self.requests = Requests(self.preparation, host, looked, send_ms)

    def integrate(
        self,
        name: str,
        *,
        way: str = "merge",
        command_id: str = "",
        ship: bool = True,
        progress: Progress | None = None,
    ) -> Integrated | Refused:
        """Integrate an approved item: test what would land, push it once, and see it on main.

        ``way`` is ``merge`` or ``rebase``; what goes on from main is pushed as it is. ``pr`` proposes
        it to the host instead, and then only looks; see ``service.requesting``. With ``ship`` main is observed and the item shipped (T08), else it stays approved and ``ship`` does that.
        Asked again, with the same command id or another, it goes on from what the remote shows.

        Refuses ``TRANSITION_REFUSED``, ``APPROVAL_STALE``, ``REVIEW_UNPROVED``, ``KILL_SWITCH_ON``,
        ``ROWS_BLOCKED``, ``MAIN_MOVED``, ``EFFECT_UNRECONCILED`` (an earlier push of which nobody knows),
        ``OUTCOME_UNKNOWN`` (this one), ``DESTINATION_REFUSED``, ``NOT_SENT``,
        ``NOTHING_TO_INTEGRATE``, and what the repository cannot say.
        """
        if way not in WAYS and way != "pr":
            return _bad_way(way)
        wrong = self.operations.caller.misnamed() or self.operations.caller.built_in()
        wrong = wrong or unfit_name("command id", command_id)
        if wrong is not None:
            return wrong
        with self.operations.store.read() as tx:
            item = load_exact(tx, name)
        if isinstance(item, Refused):
            return item
        before = answered_before(self.operations, self.pushes, item, command_id)
        if before is not None:
            return before
        if way == "pr":
            return self._propose(item, command_id, ship, progress)
        for _ in range(self.tries):
            try:
                return self._once(item.id, WAYS[way], command_id, ship, progress)
            except _MainMovedError:
                continue
        return Refused(
            Code.MAIN_MOVED,
            f"cannot integrate {item.id}: in {self.tries} tries main moved while it was tested, or the"
            " push died on its way; nothing of it landed",
            "integrate it again, when fewer others push",
            {"item": item.id, "tries": self.tries},
        )

    def plan(self, name: str, *, way: str = "merge") -> Integrated | Refused:
        """What would land, made and kept but neither tested, intended nor pushed."""
        if way not in WAYS:
            return _bad_way(way)
        ready = self.preparation.ready(name)
        if isinstance(ready, Refused):
            return ready
        made = self.preparation.made(ready, WAYS[way])
        if isinstance(made, Refused):
            return made
        main, brought = made
        if isinstance(brought, Clash):
            return Integrated(
                ready.item.id, "clash", way, brought.commit, main, main, "", "",
                detail=", ".join(brought.paths),
            )  # fmt: skip
        return Integrated(
            ready.item.id, "planned", brought.way.value, brought.commit, main, main, "", ""
        )

    def unready(self, name: str) -> Refused | None:
        """What on the ledger alone keeps an item from being integrated; None where nothing does."""
        found = self.preparation.ready(name)
        return found if isinstance(found, Refused) else None

    def ship(self, name: str, *, command_id: str = "") -> Answer:
        """Mark pushed work shipped by what is seen on main (T08).

        That is the commit that was pushed, or what the host merged a pull request as; where main
        changed lines beside the change, so that its patch is another one, it is the approved head,
        which the merge contains.
        """
        with self.operations.store.read() as tx:
            item = load_exact(tx, name)
            if isinstance(item, Refused):
                return item
            work = item.work
            pushed = self.pushes.commit_there(tx, item)
        merged = "" if pushed else self._merged(item.id)
        if merged:
            found = self.delivery.mark_shipped(item.id, merged, command_id=command_id)
            if not isinstance(found, Refused) or found.code not in NOT_YET:
                return found
        commit = pushed or (work.head if work is not None else "")
        found = self.delivery.mark_shipped(item.id, commit, command_id=command_id)
        mismatch = isinstance(found, Refused) and found.code is Code.COMMIT_MISMATCH
        if not mismatch or work is None or commit == work.head:
            return found
        return self.delivery.mark_shipped(item.id, work.head, command_id=command_id)

    def _merged(self, name: str) -> str:
        """The commit that the host last said it had made of a pull request, if it said one."""
        stands = self.requests.pushes.standing(name) if self.requests is not None else None
        return "" if stands is None else dict(stands.shown).get("merge_commit", "")

    def _propose(
        self, item: Item, command_id: str, ship: bool, progress: Progress | None
    ) -> Integrated | Refused:
        if self.requests is None:
            return Refused(
                Code.BAD_INPUT,
                f"cannot open a pull request for {item.id}: no host is known for this repository",
                "push instead: --merge or --rebase",
            )
        stands = self.pushes.standing(item.id)
        if stands is not None and stands.state is not EffectState.ABSENT:
            return open_push(item, stands.effect, stands.state)
        return self.requests.propose(item.id, command_id, ship, progress)

    # One try.

    def _once(
        self, name: str, way: Way, command_id: str, ship: bool, progress: Progress | None
    ) -> Integrated | Refused:
        ready = self.preparation.ready(name)
        if isinstance(ready, Refused):
            return ready
        stands = self.pushes.standing(name)
        if stands is not None and stands.open:
            seen = self.pushes.look(name)
            if isinstance(seen, Refused):
                return seen
            stands = seen
            if stands.open:
                return unsettled(ready.item, stands, Code.EFFECT_UNRECONCILED)
        if stands is not None and stands.state is EffectState.PRESENT:
            return self._there(ready.item, command_id, ship)
        made = self.preparation.made(ready, way)
        if isinstance(made, Refused):
            return made
        _, brought = made
        if isinstance(brought, Clash):
            return self.preparation.clashed(ready, brought, way, command_id)
        if brought.way is Way.THERE:
            return self._landed_before(ready.item, brought, command_id, ship)
        intended = self.preparation.intend(ready, brought, self._into(stands), command_id, progress)
        if isinstance(intended, Refused):
            return intended
        if not any(isinstance(r.event, EffectIntended) for r in intended.events):
            if event_of(intended, ItemTriaged) is not None:
                return triaged(ready.item, intended)
            raise _MainMovedError  # an older epoch may have pushed: it is looked at first
        return self._pushed(ready.item, brought, command_id, ship)

    def _into(self, stands: Standing | None) -> Into:
        enforced = self.push.enforced
        number = next_try(stands.effect if stands is not None else None)
        return Into(number, enforced.fence, enforced.in_flight_ms)

    def _pushed(
        self, item: Item, brought: Brought, command_id: str, ship: bool
    ) -> Integrated | Refused:
        end, said = self._send(item.id, brought)
        self.pushes.note(item.id, end, said)
        stands = self.pushes.look(item.id)
        if isinstance(stands, Refused):
            return stands
        if stands.state is EffectState.PRESENT:
            return self._there(item, command_id, ship)
        if stands.open:
            return unsettled(item, stands, Code.OUTCOME_UNKNOWN)
        if end == "unanswered" or stands.main not in ("", brought.main_sha) or self._moved(brought):
            raise _MainMovedError
        code = Code.NOT_SENT if end == "unsent" else Code.DESTINATION_REFUSED
        return Refused(
            code,
            f"cannot integrate {item.id}: the remote did not take {brought.commit}: {said}",
            "see what the remote asks for (protected branches, access); one that takes no refs of"
            " remit's needs markers = false in .remit/config.toml",
            {"item": item.id, "commit": brought.commit, "effect": push_effect(item.id)},
        )

    def _moved(self, brought: Brought) -> bool:
        """Whether main is no longer what the push expected."""
        seen = self.delivery.repository.observe_main()
        return isinstance(seen, MainObservation) and seen.main_sha != brought.main_sha

    def _send(self, name: str, brought: Brought) -> tuple[str, str]:
        """Push once; how that ended, and what the remote said."""
        stands = self.pushes.standing(name)
        assert stands is not None, "it was intended just now"
        effect = stands.effect
        payload = push_payload(brought.commit, brought.main_sha)
        request = Request(
            effect.id, effect.key, effect.fence, payload, effect.operation, brought.commit,
            timeout_ms=self.send_ms,
        )  # fmt: skip
        return send_once(self.push, request)

    def _there(self, item: Item, command_id: str, ship: bool) -> Integrated | Refused:
        """The remote shows the commit: the work ships by that, and by nothing else."""
        if not ship:
            return reported(self.pushes, item.id, "pushed", None)
        shipped = self.ship(item.id, command_id=command_id)
        if isinstance(shipped, Refused):
            return shipped
        return reported(self.pushes, item.id, "shipped", shipped)

    def _landed_before(
        self, item: Item, brought: Brought, command_id: str, ship: bool
    ) -> Integrated | Refused:
        """Somebody else brought it there: nothing is pushed, and main is the witness."""
        if not ship:
            return Integrated(
                item.id, "pushed", brought.way, brought.commit, brought.main_sha, brought.main_sha,
                "", "",
            )  # fmt: skip
        shipped = self.delivery.mark_shipped(item.id, brought.head_sha, command_id=command_id)
        if isinstance(shipped, Refused):
            return shipped
        return Integrated(
            item.id, "shipped", brought.way, brought.commit, brought.main_sha, brought.main_sha,
            "", "", answer=shipped,
        )  # fmt: skip


def _bad_way(way: str) -> Refused:
    return Refused(
        Code.BAD_INPUT,
        f"way is {way[:40]!r}, expected merge, rebase or pr",
        "correct it and repeat",
    )


__all__ = ["SEND_MS", "TRIES", "WAYS", "Integrated", "Integration"]
