"""Wiring of integration: main of the remote as a destination, and what makes what lands.

A module of its own, since reading a ledger needs none of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from remit.destinations.git_lease import GitLease
from remit.destinations.git_push import GitDestination
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
    return Integration(delivery, git, push, remote=settings.remote, ref=ref)


def main_of(ledger: Ledger, repository: Path) -> GitDestination:
    """Main of the remote as a destination: with markers, where the remote takes them."""
    settings = ledger.settings
    made = GitDestination if settings.markers else GitLease
    ref = f"refs/heads/{settings.main}"
    declared = Enforced(f"{RECORD}:{settings.remote}/{ref}", lookup_consistent=True)
    return made(settings.remote, repository, settings.remote, ref, declared)


def pushes(ledger: Ledger, repository: Path) -> Pushes:
    """What looks pushes of a repository up."""
    return Pushes(ledger.acting("remit-reconciler"), main_of(ledger, repository))
