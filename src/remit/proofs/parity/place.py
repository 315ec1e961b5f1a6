"""The workplace of the proof: scripted agents, reviewers and cells, in memory and on the world's clock.

It answers the protocols of ``drain.workplace`` for one process of a drain. An agent works as long as its
script says, tells what the script says, and ends as the script says; it notices the kill switch, its
lease and a call to stop as a real one's keeper would. It wants the task brief: without one that is about
its own lease it declines, so that a drain which hands out none is found out.

``reached`` is where the process may be killed. From then on nothing here answers any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit.core import triage_records as records
from remit.core.checks import Check, Result
from remit.core.refusals import Refused
from remit.drain.agents.outcomes import Came
from remit.drain.agents.outcomes import Result as AgentResult
from remit.drain.endings import Ending
from remit.drain.workplace import Examined, Job, Keep, Kept, News, Ready, Task, Worked
from remit.ports.agent import Progress
from remit.proofs.parity.outside import BASE
from remit.proofs.parity.scenario import Try
from remit.proofs.parity.timing import Buried, Killed, Turns
from remit.proofs.parity.world import World

FRACTION: Final = 3
"""A lease is renewed when one part in so many of what it holds is gone."""


@dataclass(slots=True)
class Seen:
    """What an agent's site went through, over all processes of the drain."""

    begun: bool = False


class Place:
    """The workplace of one process.

    ``happen`` and ``due`` are what others do; ``point`` is called at each point and says whether the
    process is killed there.
    """

    def __init__(
        self,
        world: World,
        due: Callable[[], int | None],
        happen: Callable[[], None],
        point: Callable[[str], bool],
        seen: dict[str, Seen],
    ) -> None:
        self.world = world
        self.alive = True
        self.called = ""
        self.turns = Turns(world.clock, due, self._happening(happen))
        self._point = point
        self._seen = seen
        self._sites: dict[str, Site] = {}
        self._happened = False

    def _happening(self, happen: Callable[[], None]) -> Callable[[], None]:
        def others() -> None:
            happen()
            self._happened = True
            self.turns.hurry()

        return others

    def recover(self) -> tuple[Check, ...]:
        """Nothing of an earlier process is left: agents end with their supervisor."""
        return (Check("leftovers", Result.PASS, "0", "0"),)

    def site(self, task: Task) -> Site:
        """The place of an attempt."""
        known = self._sites.get(task.attempt)
        if known is None:
            seen = self._seen.setdefault(task.attempt, Seen())
            known = self._sites[task.attempt] = Site(self, task, seen)
        return known

    def review_site(self, task: Task, head: str, base: str) -> ReviewSite:
        """A place to review in."""
        return ReviewSite(self, task, head)

    def submit(self, ticket: str, job: Job) -> None:
        """Let a job begin when the conductor waits next."""
        self.turns.submit(ticket, job)

    def next(self, wait_ms: int) -> News | None:
        """The next news; none as soon as others did something, so that the conductor looks."""
        self._demand_alive()
        self._happened = False
        until = self.world.now + wait_ms * 1_000
        ended = self.turns.next(until)
        return None if ended is None else News(ended.ticket, ended.value, ended.error)

    def asked(self) -> str:
        """Whether somebody asked this process to end."""
        self._demand_alive()
        return self.called

    def end_all(self) -> None:
        """Whatever runs ends now."""
        if self.alive:
            for site in self._sites.values():
                site.stop("ended")

    def reached(self, point: str) -> None:
        """The conductor is at a point; it may be its last."""
        self._demand_alive()
        if self._point(point):
            self.alive = False
            raise Killed(point)

    def finish(self) -> tuple[str, ...]:
        """Nothing has to stay."""
        return ()

    def _demand_alive(self) -> None:
        if not self.alive:
            raise Buried


class Site:
    """The place of one attempt of one agent."""

    def __init__(self, place: Place, task: Task, seen: Seen) -> None:
        self.place = place
        self.task = task
        self.seen = seen
        self.clone = Path("/nowhere") / task.attempt
        self.asked = ""

    @property
    def script(self) -> Try:
        """What this attempt comes to."""
        attempt = int(self.task.attempt.partition(".")[2].partition("e")[0])
        return self.place.world.thing(self.task.item).at(attempt)

    def left(self) -> Kept | None:
        """What an agent left that died with its supervisor."""
        if not self.seen.begun:
            return None
        self.seen.begun = False
        return Kept()

    def ready(self) -> Ready:
        """Whether the cell holds."""
        ok = self.script.probe
        seen = (Result.PASS, "refused") if ok else (Result.FAIL, "got out")
        return Ready((Check("write-outside", *seen, "refused"),))

    def stop(self, why: str) -> None:
        """Ask the agent to end; it looks at once."""
        place = self.place
        if place.alive and not self.asked:
            self.asked = why
            place.turns.hurry()

    def work(self, brief: str, keep: Keep, told: Callable[[Progress], None]) -> Worked:
        """Work as scripted, until the end of it or whatever ends it sooner."""
        self.seen.begun = True
        if self.task.item not in brief or "--fence" not in brief:
            return self._worked(Came.DECLINED, "AGENT_DECLINED", "there is no brief", None)
        clock, script = self.place.world.clock, self.script
        began, most = clock.passed, None
        says = [(began + at, spent) for at, spent in script.progress if at < script.works_us]
        ends = began + script.works_us
        over = began + keep.holds_ms() * 1_000
        renews = began + (over - began) // FRACTION
        while True:
            at = min([ends, renews, over, *(moment for moment, _ in says[:1])])
            self.place.turns.wait_until(at)
            now = clock.passed
            if self._called():
                return self._stopped(self.asked, most)
            if keep.killed():
                return self._stopped("kill-switch", most)
            if says and now >= says[0][0]:
                spent = says.pop(0)[1]
                told(Progress("on it", None, spent))
                most = _most(most, spent)
                if self._called():
                    return self._stopped(self.asked, most)
                continue
            if now >= ends:
                return self._ended(_most(most, script.spent))
            if now >= over:
                return self._stopped("lease-over", most)
            if now >= renews:
                holds = keep.renew()
                if isinstance(holds, Refused):
                    return self._stopped("lease-refused", most, holds)
                over = now + holds * 1_000
                renews = now + (over - now) // FRACTION

    def _called(self) -> bool:
        """Whether somebody wants this to end."""
        return bool(self.asked)

    def _ended(self, spent: int | None) -> Worked:
        script = self.script
        came = Came(script.came)
        head = ""
        if came is Came.DONE and script.left != "nothing":
            head = self._commit()
        code = f"AGENT_{came.name}"
        return self._worked(came, code, "done", spent, head)

    def _commit(self) -> str:
        attempt = int(self.task.attempt.partition(".")[2].partition("e")[0])
        return self.place.world.remote.commit(self.task.item, attempt).sha

    def _stopped(self, why: str, spent: int | None, refused: Refused | None = None) -> Worked:
        return self._worked(Came.STOPPED, "AGENT_STOPPED", why, spent, "", refused)

    def _worked(
        self, came: Came, code: str, said: str, spent: int | None, head: str = "",
        refused: Refused | None = None,
    ) -> Worked:  # fmt: skip
        self.asked = ""
        result = AgentResult(came, code, said, head, spent)
        ending = Ending(
            came, code, exit=0, bound="wall" if came is Came.TIMED_OUT else "",
            terminated=Result.PASS, figured=spent is not None,
        )  # fmt: skip
        return Worked(result, ending, refused=refused)

    def examine(self, claimed: str) -> Examined:
        """Look at what came back."""
        left, task = self.script.left, self.task
        if left == "nothing":
            return Examined(BASE, BASE)
        head = self._commit()
        found = {
            "secret": lambda: records.secret_found(
                rule=["token"], path=["thing"], line=[1], attempt=task.attempt, commit=head
            ),
            "out-of-scope": lambda: records.scope_breach(
                outside=["elsewhere"], scope=list(task.scope), base=BASE, head=head
            ),
            "dirty": lambda: records.dirty_tree(
                tree="clone", path=["thing"], attempt=task.attempt, head=head
            ),
        }
        if left not in found:
            return Examined(head, BASE)
        return Examined(head, BASE, left.upper(), found[left]())

    def keep(self) -> Kept:
        """What is worth keeping of work that ended otherwise."""
        return Kept()

    def clear(self) -> str:
        """The clone goes."""
        return ""


class ReviewSite:
    """Where a scripted reviewer looks."""

    def __init__(self, place: Place, task: Task, head: str) -> None:
        self.place = place
        self.task = task
        self.head = head
        self.asked = ""

    def ready(self) -> Ready:
        """A cell that holds."""
        return Ready((Check("write-outside", Result.PASS, "refused", "refused"),))

    def diff(self) -> str:
        """A change."""
        return f"+ {self.head}"

    def work(self, brief: str, keep: Keep, told: Callable[[Progress], None]) -> Worked:
        """Look as long as the script says, and say what it says."""
        world = self.place.world
        script = world.thing(self.task.item).at(world.item(self.task.item).attempt)
        ends = world.now + script.reviews_us
        while world.now < ends and not (self.asked or keep.killed()):
            self.place.turns.wait_until(ends)
        if self.asked or keep.killed():
            why = self.asked or "kill-switch"
            return _reviewed(Came.STOPPED, why, "")
        came = Came.DONE if script.approve else Came.DECLINED
        return _reviewed(came, "as read", self.head)

    def stop(self, why: str) -> None:
        """Ask the reviewer to end."""
        if self.place.alive and not self.asked:
            self.asked = why
            self.place.turns.hurry()

    def clear(self) -> str:
        """Nothing stays."""
        return ""


def _reviewed(came: Came, said: str, head: str) -> Worked:
    code = f"AGENT_{came.name}"
    return Worked(
        AgentResult(came, code, said, head), Ending(came, code, exit=0, terminated=Result.PASS)
    )


def _most(told: int | None, more: int | None) -> int | None:
    return max((x for x in (told, more) if x is not None), default=None)
