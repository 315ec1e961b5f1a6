"""Commands of integrating approved work: what was tested, that its push is intended, how it ended.

Only the operation that observed main, made the commit and ran the rows hands them in; no surface
takes them from a caller. ``remit.core.commands`` gives them as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.asking import NO_TEXT, Command, Text
from remit.core.outcome_commands import RowFinding


@dataclass(frozen=True, slots=True)
class IntendPush(Command):
    """Record what was tested, and intend the push of exactly that commit; ``seen``.

    A compare-and-set on the item: ``head`` and ``approval`` are those that were looked at. ``commit``
    was made by ``way`` (``merge``, ``rebase``, ``fast-forward``) from ``head`` onto ``main_before``,
    the commit that ``ref`` of ``remote`` named. Where a row failed the item is put aside instead.
    """

    item: str
    head: str
    approval: int
    way: str
    main_before: str
    commit: str
    tree: str
    remote: str
    ref: str
    findings: tuple[RowFinding, ...]
    artifact_diff: str
    missing_artifacts: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()
    markers: bool = True
    in_flight_ms: int | None = None


@dataclass(frozen=True, slots=True)
class FailIntegration(Command):
    """Put approved work aside that clashes with main (T10); ``seen``.

    ``base`` is where the commit that clashes began. The rest is as in ``IntendPush``.
    """

    item: str
    head: str
    approval: int
    main: str
    base: str
    way: str
    paths: tuple[str, ...]
    reason: Text = NO_TEXT


@dataclass(frozen=True, slots=True)
class NotePush(Command):
    """How the sender of a push ended; ``seen``.

    ``end`` is ``answered`` or ``refused`` (the remote said so, and nothing of it is under way),
    ``unsent`` (nothing left), or ``unanswered`` (it may have landed, or land yet). ``said`` is the
    remote's word.
    """

    effect: str
    attempt: str
    end: str
    said: str = ""
