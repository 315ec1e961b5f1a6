"""Wiring of the drain: a run's conductor with the workplace of this machine.

What a run was told is on its record, as pairs of text, so that whoever resumes it builds the same. Paths
of this machine are among them only where somebody named one (``--show``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from remit.core.checks import Result
from remit.core.gitfacts import ObjectSharing, RepositoryRefusal
from remit.core.refusals import Code, Refused
from remit.core.run_facts import Run
from remit.drain import words
from remit.drain.conductor import Conductor
from remit.drain.hands import Hands
from remit.drain.journey import Options
from remit.drain.limits import Limits
from remit.drain.standing import Sorted
from remit.drain.workplace import Integrator, Tell
from remit.isolation.secrets import suspicious
from remit.ports import RemitError
from remit.ports.agent import Agent
from remit.ports.sandbox import SandboxRefusal
from remit.repository.repository import GitRepository
from remit.service.delivery import Delivery
from remit.service.operations import Operations
from remit.verify.builtin import BuiltInVerifier
from remit.wiring import Ledger, on_server, path_of
from remit.wiring.isolating import before_work, row_walls, sandbox, secret_scanner
from remit.wiring.scanning import Scans
from remit.wiring.workplace import Ground, Machine, python_shown

RUNS: Final = "runs"
RECORDS: Final = "processes"
WAYS: Final = ("merge", "rebase", "pr", "none")


@dataclass(frozen=True, slots=True)
class Told:
    """What a run is told beyond its bounds; every part is kept on its record.

    ``wall_ms`` bounds one attempt of an agent. ``shown`` are folders that agents and rows may read
    beside the system's. ``sandbox_decision`` names the decision that lets agents work without a sandbox.
    """

    options: Options = field(default_factory=Options)
    review_agent: str = ""
    wall_ms: int = 3_600_000
    idle_ms: int = 900_000
    model: str = ""
    shown: tuple[str, ...] = ()
    sandbox_decision: str = ""

    def pairs(self, agents: Sequence[Agent]) -> tuple[tuple[str, str], ...]:
        """What the record keeps; ``egress`` says whether any of the agents reaches outside."""
        o = self.options
        found = [
            ("egress", ",".join(sorted({h for a in agents for h in a.egress})) or "none"),
            ("sandbox", "none" if self.sandbox_decision else "yes"),
            ("sandbox-decision", self.sandbox_decision),
            ("integrate", o.way),
            ("ttl-ms", str(o.ttl_ms)),
            ("spend-each", str(o.reserve_micros)),
            ("class", o.work_class),
            ("tenant", o.tenant),
            ("review-agent", self.review_agent),
            ("wall-ms", str(self.wall_ms)),
            ("idle-ms", str(self.idle_ms)),
            ("model", self.model),
            *((f"show-{place}", path) for place, path in enumerate(self.shown)),
        ]
        return tuple((name, value) for name, value in found if value)


def told_of(run: Run) -> Told:
    """What a run was told, from its record."""
    kept = dict(run.options)

    def number(name: str, otherwise: int = 0) -> int:
        found = kept.get(name, "")
        return int(found) if found.isdigit() else otherwise

    return Told(
        Options(
            number("ttl-ms"),
            number("spend-each"),
            kept.get("integrate", "none"),
            kept.get("class", ""),
            kept.get("tenant", ""),
        ),
        kept.get("review-agent", ""),
        number("wall-ms", 3_600_000),
        number("idle-ms", 900_000),
        kept.get("model", ""),
        tuple(value for name, value in run.options if name.startswith("show-")),
        kept.get("sandbox-decision", ""),
    )


@dataclass(frozen=True, slots=True)
class Here:
    """Where a run works: the ledger, its URL, the repository, the two agents."""

    ledger: Ledger
    url: str
    repository: Path
    worker: Agent
    reviewer: Agent | None = None


def base_folder(url: str) -> Path:
    """Where the folders of runs lie: beside the ledger's file, else in the user's state folder."""
    if not on_server(url):
        return path_of(url).parent.resolve() / RUNS
    state = os.environ.get("XDG_STATE_HOME", "")
    home = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return home.resolve() / "remit" / RUNS


def machine(here: Here, run: str, told: Told) -> Machine:
    """The workplace of a run on this machine. Raises ``BAD_INPUT`` where its folder cannot be."""
    folder = base_folder(here.url) / run
    records = folder / RECORDS
    try:
        records.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise RemitError(
            f"cannot make {records}: {error.strerror}",
            "a run keeps its clones there; make room, or free the name",
            {"path": str(records)},
            code=Code.BAD_INPUT,
        ) from error
    shown = (*python_shown(), *(Path(name) for name in told.shown))
    repository = _git(here)
    ground = Ground(
        repository,
        sandbox(),
        Scans(repository, secret_scanner()),
        before_work,
        suspicious,
        records,
        Limits(wall_ms=told.wall_ms, idle_ms=min(told.idle_ms, told.wall_ms)),
        shown=shown,
        model=told.model,
        without_sandbox=told.sandbox_decision,
    )
    return Machine(folder, ground, here.worker, here.reviewer)


def _git(here: Here) -> GitRepository:
    settings = here.ledger.settings
    found = GitRepository(
        here.repository, settings.remote, settings.main, sharing=ObjectSharing.BORROWED
    )
    located = found.located()
    return found if isinstance(located, RepositoryRefusal) else located


def conductor(here: Here, run: Run, holder: str, place: Machine, tell: Tell) -> Conductor:
    """The conductor of a run that this process holds as ``holder``."""
    told = told_of(run)
    git = place.ground.repository
    walls = None if told.sandbox_decision else row_walls(place.ground.shown)
    verifier = BuiltInVerifier(git, walls)

    def operations_of(actor: str) -> Operations:
        return here.ledger.acting(actor)

    def delivery_of(actor: str) -> Delivery:
        return Delivery(operations_of(actor), git, verifier)

    integrator: Integrator | None = None
    if told.options.way != "none":
        integrator = here.ledger.integration(run.actor, here.repository, verifier=verifier, git=git)
    reviewer = run.reviewer if place.reviewer is not None else ""
    hands = Hands(
        run.id, holder, run.actor, reviewer, operations_of, delivery_of, integrator, place
    )
    return Conductor(hands, told.options, tell)


def left_alone(here: Here, actor: str, way: str, found: Sorted) -> dict[str, str]:
    """Approved items that a run would leave, each with its code, as far as main was seen by now."""
    if way == "none" or not (found.first or found.doubtful):
        return {}
    seen = _git(here).last_observed_main()
    same = [name for name, failed in found.doubtful.items() if failed.main == seen]
    integration = here.ledger.integration(actor, here.repository)
    left = dict.fromkeys(same, words.UNCHANGED)
    for name in (*found.first, *found.last, *found.doubtful):
        refused = integration.unready(name)
        if refused is not None:
            left[name] = refused.code.value
    return left


def no_sandbox() -> Refused | None:
    """Why this machine has no sandbox to work in; None where it has one."""
    import tempfile

    from remit.ports.sandbox import Room

    with tempfile.TemporaryDirectory(prefix="remit-look-") as name:
        cell = sandbox().prepare(Room("look", Path(name).resolve()))
        if isinstance(cell, SandboxRefusal):
            return Refused(Code.SANDBOX_REFUSED, cell.message, cell.hint, dict(cell.details))
        cell.close()
    return None


def no_scanner() -> Refused | None:
    """Why nothing that comes back could be scanned for secrets here; None where it can."""
    from remit.isolation.secrets import examine

    found = examine()
    if found.result is Result.PASS:
        return None
    return Refused(Code.SANDBOX_REFUSED, f"{found.name}: {found.evidence}", found.hint)
