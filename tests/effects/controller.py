"""A controller: it hands works in, observes capacity, notes who died, looks up, and rechecks.

It knows nothing that is not on the ledger or in the files of the run, so any life of it goes on where
another was killed. Works are handed in from the first one on by each life: what is there already is
answered with its receipt, and what a restored ledger has lost is there again.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.effects import plan as p
from tests.effects.points import Points, lines
from tests.effects.worker import opened

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core.commands import Command
from remit.core.decide.ledger import RECONCILER
from remit.core.effect_facts import OPEN_EFFECT, Effect
from remit.core.effect_states import standing
from remit.core.facts import Item
from remit.core.refusals import Refused
from remit.core.retrying import JITTER
from remit.ports import OutcomeUnknown, StoreUnavailable
from remit.ports.destination import Destination, LookUp, Request, SendError, digest_of
from remit.service.operations import Caller, Operations
from remit.service.reconciling import Question, Reconciler, Shown
from remit.wiring import destination

PAGE: Final = 40
"""Most works handed in at once."""

AHEAD: Final = 120
"""Most works that are on their way at once."""

REST_S: Final = 1.5
"""How long nothing may have moved before a run is at rest."""


class Controller:
    """One life of the controller."""

    def __init__(self, plan: p.Plan, life: str, points: Points) -> None:
        self.plan = plan
        self.points = points
        self.chance = random.Random(f"{plan.seed} {life}")
        self.folder = Path(plan.folder)
        self.ledger = opened(plan, points)
        self.operations = self.ledger.acting(p.HUMAN)
        self.seen = Operations(self.ledger.store, Caller(RECONCILER), self.ledger.engine)
        self.handed_in = 0
        self.deaths = 0
        self.dead: dict[tuple[str, int], None] = {}
        self.observed_at = 0.0
        self.quiet_since = time.monotonic()
        self.standing: Any = None

    def live(self) -> None:
        """Take turns until somebody says that it is over."""
        # Some lives have the requests at hand, and repeat them where a key is enforced.
        likely = 0.95 if self.points.fate.point.startswith("repeat") else 0.5
        repeats = {"keyed": self.repeat} if self.chance.random() < likely else {}
        reconciler = Reconciler(
            self.ledger.store,
            dict.fromkeys(self.plan.modes, self.look_up),
            lambda: self.chance.randrange(JITTER),
            operations=self.operations,
            repeats=repeats,
        )
        while not ((self.folder / "over").exists() or self.points.stopped):
            try:
                self.hand_in()
                self.observe()
                self.note_deaths()
                with self.points.during("look-up"):
                    reconciler.due(50)
                self.recheck()
                self.tell()
            except (OutcomeUnknown, StoreUnavailable):
                self.points.log.note("away")
            time.sleep(0.02)
        self.ledger.close()

    def recheck(self) -> None:
        """Look at holds whose time has come; a life that is to end there looks again and again.

        Whoever writes does the same, so most looks find nothing left to write.
        """
        for _ in range(20 if self.points.fate.point.startswith("recheck") else 1):
            with self.points.during("recheck"):
                self.operations.recheck(c.RecheckHolds())
            time.sleep(0.002)

    def hand_in(self) -> None:
        """Submit the next works, unless enough are on their way."""
        left = self.plan.effects - self.handed_in
        if left <= 0 or self._on_the_way() > AHEAD:
            return
        some = range(self.handed_in, self.handed_in + min(PAGE, left))
        messages = [p.message(self.plan, number) for number in some]
        with self.points.during("submit"):
            answers = self.operations.submit(messages)
        assert not any(isinstance(answer, Refused) for answer in answers), answers
        self.handed_in = some.stop
        self.points.reach("submitted")

    def _on_the_way(self) -> int:
        with self.ledger.store.read() as tx:
            small = tx.small()
        found = [small.get(("count", status), 0) for status in ("held", "ready", "leased")]
        return sum(count for count in found if isinstance(count, int))

    def observe(self) -> None:
        """Post capacity, less often than it goes stale at times."""
        if time.monotonic() < self.observed_at:
            return
        with self.ledger.store.read() as tx:
            now = tx.now()
        with self.points.during("capacity"):
            self.operations.observe_capacity(p.capacity(now, self.plan.workers))
        self.observed_at = time.monotonic() + self.chance.choice((0.2, 0.4, 2.0)) / 2

    def note_deaths(self) -> None:
        """Write down which attempts were those of processes that were seen to end."""
        deaths = lines(self.folder / "deaths")
        for death in deaths[self.deaths :]:
            for line in lines(self.folder / f"{death['life']}.log"):
                if line["what"] == "intends":
                    self.dead[line["effect"], line["fence"]] = None
        self.deaths = len(deaths)
        notes: list[Command] = []
        with self.ledger.store.read() as tx:
            now = tx.now()
            facts = tx.load([("effect", name) for name, _ in self.dead])
        for name, fence in list(self.dead):
            effect = facts["effect", name]
            if not isinstance(effect, Effect) or effect.fence < fence:
                continue  # what it asked for may still be written down
            if effect.fence > fence or effect.state not in OPEN_EFFECT:
                del self.dead[name, fence]
            elif effect.terminated_at is None:
                notes.append(k.NoteTermination(name, effect.attempt, "its process ended", now))
        if notes:
            with self.points.during("note"):
                self.seen.observed(notes, [""] * len(notes))

    # Asking destinations.

    def _there(self, mode: str, send: str) -> Destination:
        stamp = str(time.time_ns() // 1_000)
        document = p.document(mode, self.plan.ports[mode])
        return destination(document, {"SEND_ID": send, "SENT_AT": stamp})

    def look_up(self, question: Question) -> Shown:
        """Ask the record of a destination; the effect's name tells which."""
        self.points.reach("look-up:asks")
        mode = question.effect_id.partition("-")[0]
        asked = LookUp(
            question.effect_id, question.key, question.operation, question.manifest_id,
            question.fence, p.TIMEOUT_MS, question.compensates,
        )  # fmt: skip
        seen = self._there(mode, "look-up").look_up(asked)
        self.points.reach("look-up:seen")
        return Shown(
            seen.result, seen.objects, seen.values, seen.differences, seen.consistent,
            seen.confirmed_fence,
        )  # fmt: skip

    def repeat(self, effect: Effect) -> Callable[[], Shown]:
        """What repeats the identical request under its key, and says what was answered."""
        return lambda: self._repeat(effect)

    def _repeat(self, effect: Effect) -> Shown:
        payload = p.payload_of(effect.id)
        send = f"repeat-{self.chance.getrandbits(60)}"
        with self.ledger.store.read() as tx:
            epoch = p.epoch_of(tx)
        self.points.log.note(
            "sends", send=send, effect=effect.id, mode="keyed", fence=effect.fence, repeat=True,
            epoch=epoch,
        )  # fmt: skip
        request = Request(
            effect.id, effect.key, effect.fence, payload, effect.operation, timeout_ms=p.TIMEOUT_MS
        )
        self.points.reach("repeat:before")
        try:
            self._there("keyed", send).send(request)
        except SendError:
            return Shown("UNAVAILABLE")
        self.points.reach("repeat:after")
        values = (("effect_id", effect.id), ("digest", digest_of(payload)))
        return Shown("FOUND", 1, values, consistent=True)

    # How it goes.

    def tell(self) -> None:
        """Say how many works are where, and whether everything has come to rest."""
        with self.ledger.store.read() as tx:
            small = tx.small()
            counts = {
                name: count
                for (kind, name), count in small.items()
                if kind == "count" and isinstance(count, int)
            }
        settled = sum(counts.get(status, 0) for status in ("verified", "triaged", "closed"))
        left = self.plan.effects - settled
        if self.standing != counts or self.handed_in < self.plan.effects:
            self.standing, self.quiet_since = counts, time.monotonic()
        quiet = time.monotonic() - self.quiet_since > REST_S
        rest = quiet and (not left or self._for_a_human(left))
        said = {"counts": counts, "settled": settled, "rest": rest}
        temporary = self.folder / f"progress.{self.chance.getrandbits(40)}"
        temporary.write_text(json.dumps(said))
        temporary.replace(self.folder / "progress")

    def _for_a_human(self, left: int) -> bool:
        """Whether all that is held waits for what no machine can give."""
        with self.ledger.store.read() as tx:
            held: Counter[bool] = Counter()
            epoch = p.epoch_of(tx)
            for number in range(self.plan.effects):
                effect = tx.load([("effect", p.effect_of(self.plan, number))]).popitem()[1]
                item = None
                if isinstance(effect, Effect):
                    item = tx.load([("item", effect.item)])["item", effect.item]
                if isinstance(item, Item) and item.hold is not None and isinstance(effect, Effect):
                    known = standing(effect, epoch) not in OPEN_EFFECT
                    held[known and item.hold.trigger.startswith("decision:")] += 1
        return held[True] == left
