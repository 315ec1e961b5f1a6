"""The workplace: what a conductor needs of the world, as protocols and plain values.

The conductor decides and writes; everything that touches processes, folders or git between two
canonical operations happens behind these. The real one is built in wiring, the one of the parity proof
lives in memory. A site stands for one attempt; what it finds are checks and figures, and nothing that
a guest wrote comes out of it but bounded text.

``place.reached`` is called around every canonical operation. It does nothing, except where somebody
wants to see what a process leaves that dies there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from remit.core.checks import Check, Result
from remit.core.refusals import Refused
from remit.core.triage_records import Evidence
from remit.drain.agents.outcomes import Result as AgentResult
from remit.drain.endings import Ending
from remit.ports.agent import Progress

if TYPE_CHECKING:
    from remit.service.engine import Answer

Job = Callable[[], Any]
"""What may take its time: it runs beside the conductor, and its value comes back as news."""


@dataclass(frozen=True, slots=True)
class News:
    """The end of a job: its value, or what it raised."""

    ticket: str
    value: Any = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """One attempt of one item, as a site is to know it. ``role`` is ``work`` or ``review``."""

    run: str
    item: str
    attempt: str
    branch: str
    scope: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    spend_micros: int = 0
    role: str = "work"


@dataclass(frozen=True, slots=True)
class Keep:
    """How a site keeps a lease alive while an agent works; both may be called from any thread.

    ``holds_ms`` says for how many milliseconds the lease holds from the moment of asking; ``renew``
    the same, after it was extended.
    """

    holds_ms: Callable[[], int]
    renew: Callable[[], int | Refused]
    killed: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Worked:
    """How an agent's work ended: the judgement, what was observed of its end, and what it tried.

    ``refused`` is why a lease could not be renewed. ``transcript`` is foreign text, head and tail.
    """

    result: AgentResult
    ending: Ending
    checks: tuple[Check, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()
    refused: Refused | None = None
    transcript: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was saved of a clone before it went: commits by SHA, under refs that nothing drops.

    ``rescue`` is a commit of the host's that holds what was not committed. ``folder`` names a clone
    that had to stay, since it could not be read; ``why`` says why.
    """

    head: str = ""
    base: str = ""
    new: bool = False
    rescue: str = ""
    refs: tuple[str, ...] = ()
    folder: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Examined:
    """What came back, as it was looked at by the host.

    ``code`` is empty where it may be handed in; ``record`` is then the evidence of what stands in the
    way, None where the code alone says it. ``trouble`` says that the host could not look, which is no
    fault of the work.
    """

    head: str = ""
    base: str = ""
    code: str = ""
    record: Evidence | None = None
    checks: tuple[Check, ...] = ()
    trouble: Refused | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """Whether a site is fit to work in: every look as a check. What is FAIL or BLOCKED refuses."""

    checks: tuple[Check, ...] = ()

    @property
    def unfit(self) -> tuple[Check, ...]:
        """What refuses the work."""
        return tuple(c for c in self.checks if c.result in (Result.FAIL, Result.BLOCKED))


class Site(Protocol):
    """The place of one attempt. Its methods may take long, and are called within jobs."""

    clone: Path

    def left(self) -> Kept | None:
        """Save what an earlier start left in this place and clear it; None where nothing is."""
        ...

    def ready(self) -> Ready:
        """Build the cell of this attempt, look for credentials, and probe from inside."""
        ...

    def work(self, brief: str, keep: Keep, told: Callable[[Progress], None]) -> Worked:
        """Run the agent to its end. ``stop`` ends it sooner."""
        ...

    def stop(self, why: str) -> None:
        """Ask for the end of what runs here; may be called from any thread, at any time."""
        ...

    def examine(self, claimed: str) -> Examined:
        """Take the commits over and look at them: the claim, the scope, the tree, secrets."""
        ...

    def keep(self) -> Kept:
        """Save commits and changes of work that ended otherwise."""
        ...

    def clear(self) -> str:
        """Remove the clone and all that belongs to it; what could not be removed, or nothing."""
        ...


class ReviewSite(Protocol):
    """Where a reviewing agent looks at what was handed in, and can change nothing of it."""

    def ready(self) -> Ready:
        """Lay the reviewed commit out, build the cell, and probe from inside."""
        ...

    def work(self, brief: str, keep: Keep, told: Callable[[Progress], None]) -> Worked:
        """Run the reviewer to its end."""
        ...

    def stop(self, why: str) -> None:
        """Ask for the end of what runs here."""
        ...

    def diff(self) -> str:
        """The change under review as text, bounded; foreign."""
        ...

    def clear(self) -> str:
        """Remove what was made for the review."""
        ...


class Workplace(Protocol):
    """The world of a run."""

    def recover(self) -> tuple[Check, ...]:
        """End processes that an earlier holder of this run left behind, and say what was found."""
        ...

    def site(self, task: Task) -> Site:
        """The place of an attempt; asking again gives the same place."""
        ...

    def review_site(self, task: Task, head: str, base: str) -> ReviewSite:
        """A place to review in."""
        ...

    def submit(self, ticket: str, job: Job) -> None:
        """Run a job beside the conductor; its end comes back from ``next``."""
        ...

    def next(self, wait_ms: int) -> News | None:
        """The next news, or None after so long. Raises ``KeyboardInterrupt`` never: see ``asked``."""
        ...

    def asked(self) -> str:
        """How the process was asked to end: nothing, ``finish`` or ``now``."""
        ...

    def end_all(self) -> None:
        """Kill every helper process that still runs, so that the jobs that wait for it end."""
        ...

    def reached(self, point: str) -> None:
        """The conductor is at this point; see the module."""
        ...

    def finish(self) -> tuple[str, ...]:
        """Remove what belongs to the run; names what had to stay."""
        ...


class Integrated(Protocol):
    """What an integration came to; ``remit.service.integrating.Integrated`` is one."""

    @property
    def outcome(self) -> str:
        """``pushed``, ``shipped``, ``triaged``; of a pull request ``open``, ``merged``, ``closed``."""
        ...

    @property
    def commit(self) -> str:
        """The commit that is on main."""
        ...

    @property
    def triage(self) -> str:
        """The kind of record where the item was put aside."""
        ...

    @property
    def detail(self) -> str:
        """What else there is to know, such as where the pull request is; may be foreign."""
        ...


class Integrator(Protocol):
    """Brings approved work onto the remote's main; ``remit integrate`` calls the same."""

    def integrate(
        self, name: str, *, way: str, command_id: str, ship: bool
    ) -> Integrated | Refused:
        """Integrate what was approved, by ``merge``, ``rebase`` or ``pr``; repeating pushes nothing twice."""
        ...

    def unready(self, name: str) -> Refused | None:
        """What on the ledger alone keeps approved work from being integrated; None where nothing does."""
        ...

    def ship(self, name: str, *, command_id: str) -> Answer:
        """Mark what was pushed shipped, by what is seen on main."""
        ...


@dataclass(slots=True)
class Told:
    """One thing that happened in a run, for whoever watches. Text in ``words`` is foreign."""

    kind: str
    item: str = ""
    words: str = ""
    figures: dict[str, int] = field(default_factory=dict)


Tell = Callable[[Told], None]
