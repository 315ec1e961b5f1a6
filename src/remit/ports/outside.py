"""The ports to the world beside the store: git repositories, the verifier, foreign backlogs.

What an adapter cannot say is a value that says so, never an exception and never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from remit.core.backlog import ImportedRow, UnfitRow
from remit.core.gitfacts import (
    Brought,
    Clash,
    CloneMade,
    MainObservation,
    RepositoryRefusal,
    ShipObservation,
    Takeover,
    Way,
)
from remit.core.rows import RowResult, RowSpec


class Backlog(Protocol):
    """A foreign backlog that can be read more than once.

    ``digest`` is over the content of the whole source, ``name`` what people call it.
    """

    format: str
    name: str
    digest: str
    rows: int

    def items(self) -> Iterator[ImportedRow | UnfitRow]:
        """Every row, in order."""
        ...

    def facts(self) -> dict[str, Any]:
        """``edges`` by kind, ``cycles``, ``dangling`` and the like, for the answer."""
        ...


class Repository(Protocol):
    """A git repository whose remote's main is observed. What it cannot say is a refusal value."""

    def observe_main(self, *, accept_rewrite: bool = False) -> MainObservation | RepositoryRefusal:
        """Fetch the remote's main and say which commit it names."""
        ...

    def last_observed_main(self) -> str | RepositoryRefusal | None:
        """The commit of the last observation, None before the first."""
        ...

    def observe_ship(
        self,
        sha: str,
        *,
        reviewed_head: str,
        reviewed_base: str,
        main_before: str,
        accept_rewrite: bool = False,
        branches: Sequence[str] = (),
    ) -> ShipObservation | RepositoryRefusal:
        """Observe that a commit lies within the remote's main and is the reviewed change.

        Nothing else may have been pushed to ``branches``, those of the attempt.
        """
        ...

    def make_clone(
        self, attempt_id: str, directory: Path, branch: str
    ) -> CloneMade | RepositoryRefusal:
        """Make an attempt's own clone from a freshly observed main."""
        ...

    def take_over(
        self, clone_dir: Path | None, head: str, attempt_id: str
    ) -> Takeover | RepositoryRefusal:
        """Bring a commit into the host repository and keep it."""
        ...


class Landing(Protocol):
    """Makes what would land of approved work, from objects alone; it pushes nothing."""

    def bring_onto(
        self,
        item: str,
        head: str,
        base: str,
        main: str,
        way: Way,
        seconds: int,
        branches: Sequence[str] = (),
    ) -> Brought | Clash | RepositoryRefusal:
        """Bring a reviewed change onto an observed main, or say where both clash."""
        ...


@dataclass(frozen=True, slots=True)
class RowFound:
    """What the verifier found for one row, and the log that shows it.

    ``answered`` says whether any run of it was red, or all were green: what else the runs were is no
    answer.
    """

    row: str
    result: RowResult
    executed: int
    skipped: int
    log: bytes
    answered: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """All that one verification found. ``artifact_diff`` is PASS, FAIL or BLOCKED."""

    rows: tuple[RowFound, ...]
    artifact_diff: str
    missing_artifacts: tuple[str, ...]
    out_of_scope: tuple[str, ...]


class Verifier(Protocol):
    """Runs verification rows in clean checkouts and compares what a commit changed."""

    def verify(
        self,
        shipped: str,
        base: str,
        rows: Sequence[tuple[str, RowSpec]],
        scope: Sequence[str],
        artifacts: Sequence[str],
        progress: Callable[[str, str], None] | None = None,
        repeats: int = 1,
    ) -> Found | RepositoryRefusal:
        """Verify rows at exactly the shipped commit, each ``repeats`` times, with their control.

        The control runs at the base, or at the shipped commit under a mutation within ``scope``.
        """
        ...
