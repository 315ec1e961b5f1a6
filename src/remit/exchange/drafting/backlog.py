"""A draft from a backlog: each row that is not finished becomes a requirement, a node and an item.

A backlog says what somebody wanted to do next, and hardly ever why or how one would know. Edges keep
their meaning: what blocks, blocks; children wait for what their parents wait for; what waits for
all children of a row waits for each of them. An edge that only a failure meets has no place in a
plan: it is kept as a relation, and as a gap. Finished rows are left out by name; ``remit import``
keeps them as history.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from remit.core.planning.bundle import Clause
from remit.exchange.backlog import BacklogRow, EdgeKind, Quarantined, Standing
from remit.exchange.beads import rows, scan
from remit.exchange.drafting.draft import (
    Draft,
    Left,
    LeftOut,
    Outline,
    Wish,
    bundle_of,
    fit,
    fit_label,
    fit_title,
    unique,
)

FINISHED = (Standing.CLOSED, Standing.TOMBSTONE)


def draft_beads(path: Path, name: str) -> Draft:
    """A draft from a Beads file. Raises ``InputProblem`` where it cannot be read as a whole."""
    found: list[BacklogRow] = []
    left: list[LeftOut] = []
    scanned = scan(path)
    for row in rows(path, scanned):
        if isinstance(row, Quarantined):
            left.append(LeftOut(row.row, row.id or "", row.code.value, row.reason))
        else:
            found.append(row)
    done = [row for row in found if row.standing in FINISHED]
    left += [
        LeftOut(row.number, row.alias, Left.ALREADY_DONE, f"its status is {row.foreign_status!r}")
        for row in done
    ]
    kept = [row for row in found if row.standing not in FINISHED]
    wishes = _Edges(found, path.name).wishes(kept)
    outline = Outline(
        fit_label(name, "goal"),
        f"Finish what is open in the backlog {path.name}.",
        [Clause("backlog", f"Everything that is open in {path.name} is done.")],
        provenance=[f"the backlog {path.name}, {scanned.rows} rows"],
        gaps=[
            ("objective", "What is all of this for? The backlog does not say."),
            ("clauses", "Which separate things does the goal consist of?"),
        ],
    )
    left.sort(key=lambda one: one.row)
    bundle = bundle_of(fit_label(name, "plan"), outline, wishes, rated=False)
    return Draft(bundle, scanned.rows, len(wishes), tuple(left))


class _Edges:
    """The rows of a backlog by id, and who is whose child."""

    def __init__(self, found: Sequence[BacklogRow], source: str) -> None:
        self.source = source
        self.rows = {row.alias: row for row in found}
        self.children: dict[str, list[str]] = {}
        for row in found:
            for edge in row.edges:
                if edge.kind is EdgeKind.PARENT:
                    self.children.setdefault(edge.target, []).append(row.alias)
        self.labels: dict[str, str] = {}

    def wishes(self, kept: Sequence[BacklogRow]) -> list[Wish]:
        """One wish for each row that is not finished."""
        taken: set[str] = set()
        for row in kept:
            label = unique(fit_label(row.alias, "row"), taken)
            taken.add(label)
            self.labels[row.alias] = label
        return [self._wish(row) for row in kept]

    def _wish(self, row: BacklogRow) -> Wish:
        gaps: list[tuple[str, str]] = []
        if row.standing is Standing.GATED:
            said = f"Is somebody at work on it elsewhere? Its status is {row.foreign_status!r}."
            gaps.append(("in-hand", said))
        after = [*self._after(row, row, "it waits for this row", gaps)]
        for above in self._ancestors(row):
            parent = self.rows[above]
            why = f"its parent {above} waits for this row"
            after += self._after(row, parent, why, gaps)
        title = fit_title(row.title)
        return Wish(
            self.labels[row.alias],
            title,
            fit(row.title),
            row.body,
            "backlog",
            (fit(row.acceptance),) if row.acceptance.strip() else (),
            sources=(f"{self.source}, row {row.number}: {row.alias}",),
            priority=row.priority,
            after=tuple(after),
            part_of=self._kept(row, EdgeKind.PARENT, "it is a part of this row"),
            related=(
                *self._kept(row, EdgeKind.CONDITIONAL, "it is for the case that this row fails"),
                *self._kept(row, EdgeKind.LINK, "the backlog links them"),
            ),
            gaps=tuple(gaps),
        )

    def _kept(self, row: BacklogRow, kind: EdgeKind, why: str) -> tuple[tuple[str, str], ...]:
        return tuple(
            (self.labels[edge.target], f"{why} ({edge.foreign_kind})" if edge.foreign_kind else why)
            for edge in row.edges
            if edge.kind is kind and edge.target in self.labels and edge.target != row.alias
        )

    def _after(
        self, row: BacklogRow, holder: BacklogRow, why: str, gaps: list[tuple[str, str]]
    ) -> list[tuple[str, str]]:
        """What a row waits for through the edges of ``holder``: itself, or one above it."""
        found: list[tuple[str, str]] = []
        own = holder is row
        for edge in holder.edges:
            targets: Sequence[str] = ()
            if edge.kind is EdgeKind.BLOCKS:
                targets = (edge.target,)
            elif edge.kind is EdgeKind.WAITS_FOR:
                targets = self.children.get(edge.target, ())
                if not targets and own:
                    gaps.append(("childless", f"It waits for the children of {edge.target}: none."))
            elif edge.kind is EdgeKind.CONDITIONAL and own:
                gaps.append(("condition", f"It is for the case that {edge.target} fails."))
            for target in targets:
                if not own and self._inside(target, holder.alias):
                    continue  # a parent that waits for its parts does not make them wait
                found += self._target(target, why, gaps)
        return found

    def _target(self, target: str, why: str, gaps: list[tuple[str, str]]) -> list[tuple[str, str]]:
        if target in self.labels:
            return [(self.labels[target], why)]
        known = self.rows.get(target)
        if known is None:
            gaps.append(("dangling", f"It waits for {target}, which the backlog does not hold."))
        elif known.standing is Standing.TOMBSTONE:
            gaps.append(("deleted", f"It waits for {target}, which was deleted."))
        return []

    def _ancestors(self, row: BacklogRow) -> list[str]:
        seen: dict[str, None] = {}
        ahead = [row]
        while ahead:
            for edge in ahead.pop().edges:
                known = self.rows.get(edge.target)
                if edge.kind is EdgeKind.PARENT and known and known.alias not in seen:
                    seen[known.alias] = None
                    ahead.append(known)
        seen.pop(row.alias, None)
        return list(seen)

    def _inside(self, alias: str, top: str) -> bool:
        known = self.rows.get(alias)
        return alias == top or (known is not None and top in self._ancestors(known))
