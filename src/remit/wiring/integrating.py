"""Wiring of integration: main of the remote as a destination, and what makes what lands.

A module of its own, since reading a ledger needs none of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from remit.core.services import RECONCILER
from remit.destinations.git_lease import GitLease
from remit.destinations.git_push import GitDestination
from remit.destinations.pull_requests import GITHUB, HostCommands, PullRequests
from remit.ports.destination import Enforced
from remit.ports.outside import Verifier
from remit.repository.repository import GitRepository
from remit.service.delivery import Delivery
from remit.service.integrating import Integration
from remit.service.operations import Operations
from remit.service.pushing import Pushes
from remit.verify.builtin import BuiltInVerifier

if TYPE_CHECKING:
    from remit.wiring import Ledger

RECORD: Final = "git"

HOST_IN_FLIGHT_MS: Final = 60_000
"""How long after its program has ended a request to a host may still bring something about."""


def integration(
    ledger: Ledger,
    actor: str,
    repository: Path,
    acting: Operations | None = None,
    *,
    verifier: Verifier | None = None,
    git: GitRepository | None = None,
) -> Integration:
    """What integrates the approved work of a repository, for one actor.

    Rows run as those of ``remit verify`` do, or by ``verifier``: that of
    ``wiring.isolating.walled_verifier`` runs them in cells. ``git`` is the repository where its adapter
    is made already.
    """
    settings = ledger.settings
    git = git or GitRepository(repository, settings.remote, settings.main)
    delivery = Delivery(acting or ledger.acting(actor), git, verifier or BuiltInVerifier(git))
    ref = f"refs/heads/{settings.main}"
    push = main_of(ledger, repository)
    host = requests_of(ledger, repository)
    return Integration(delivery, git, push, remote=settings.remote, ref=ref, host=host)


def main_of(ledger: Ledger, repository: Path) -> GitDestination:
    """Main of the remote as a destination: with markers, where the remote takes them."""
    settings = ledger.settings
    made = GitDestination if settings.markers else GitLease
    ref = f"refs/heads/{settings.main}"
    declared = Enforced(f"{RECORD}:{settings.remote}/{ref}", lookup_consistent=True)
    return made(settings.remote, repository, settings.remote, ref, declared)


def requests_of(ledger: Ledger, repository: Path) -> PullRequests:
    """Pull requests of the remote's host: GitHub's command line, or what the configuration says."""
    settings = ledger.settings
    record = f"pull-requests:{settings.remote}/refs/heads/{settings.main}"
    declared = Enforced(
        record,
        idempotency_key=True,
        lookup=True,
        lookup_consistent=True,
        in_flight_ms=HOST_IN_FLIGHT_MS,
    )
    commands = HostCommands(*settings.host) if settings.host else GITHUB
    return PullRequests(
        settings.remote, repository, settings.remote, settings.main, declared, commands
    )


def pushes(ledger: Ledger, repository: Path) -> Pushes:
    """What looks pushes to main of a repository up."""
    return Pushes(ledger.acting(RECONCILER), main_of(ledger, repository))


def requests(ledger: Ledger, repository: Path) -> Pushes:
    """What looks its pull requests up."""
    host = requests_of(ledger, repository)
    return Pushes(ledger.acting(RECONCILER), host, requests=True)
