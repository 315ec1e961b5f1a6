"""What one plan changes of another: records added, changed and removed, down to their fields.

A difference is a value from which the newer plan can be made of the older one:
``applied(old, difference(old, new)) == new``. So what is shown to a human before an apply is the
whole change, and nothing beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from remit.core.planning.bundle import (
    KINDS,
    Bundle,
    PlanGoal,
    PlanItem,
    PlanNode,
    PlanRequirement,
    PlanRow,
    Record,
)

Name = tuple[str, str]
"""Kind and label of a record, such as ``("requirement", "fast-export")``."""

ORDER: Final = tuple(KINDS.values())


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a record, before and after."""

    field: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Changed:
    """One record that both plans have, with other content."""

    kind: str
    label: str
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything in which two plans differ, by stage and in the order of the plans.

    ``name`` is given where the plan's name changed. ``order`` names all records of the newer plan
    where their order is not that of the older plan with the added ones behind; else it is empty.
    """

    added: tuple[Record, ...] = ()
    changed: tuple[Changed, ...] = ()
    removed: tuple[Name, ...] = ()
    name: FieldChange | None = None
    order: tuple[Name, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the plans say the same, in whatever order."""
        return not (self.added or self.changed or self.removed or self.name)


def name_of(record: Record) -> Name:
    """Kind and label of a record."""
    return KINDS[type(record)], record.label


def by_name(bundle: Bundle) -> dict[Name, Record]:
    """The records of a plan by kind and label; raises ValueError where a label stands twice."""
    records = bundle.records()
    named = {name_of(record): record for record in records}
    if len(named) != len(records):
        twice = _twice(name_of(record) for record in records)
        raise ValueError(f"{twice[0]} {twice[1]!r} stands twice in the plan {bundle.name!r}")
    return named


def _twice(names: Iterable[Name]) -> Name:
    seen: set[Name] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]  # add gives None, which is what goes on


def difference(old: Bundle | None, new: Bundle) -> Difference:
    """What leads from one plan to another; without an older one everything is added.

    Raises ValueError where a kind has a label twice; ``check`` reports that by name.
    """
    before = by_name(old) if old is not None else {}
    after = by_name(new)
    added = tuple(record for name, record in after.items() if name not in before)
    both = [
        name
        for name, record in after.items()
        if (old_record := before.get(name)) is not None
        and old_record is not record
        and old_record != record
    ]
    removed = tuple(name for name in before if name not in after)
    renamed = None
    if old is None or old.name != new.name:
        renamed = FieldChange("name", old.name if old is not None else "", new.name)
    natural = _natural(before, removed, added)
    return Difference(
        added,
        tuple(Changed(*name, _fields(before[name], after[name])) for name in both),
        removed,
        renamed,
        () if natural == list(after) else tuple(after),
    )


def _natural(
    before: dict[Name, Record], removed: tuple[Name, ...], added: tuple[Record, ...]
) -> list[Name]:
    gone = set(removed)
    names = [name for name in before if name not in gone] + [name_of(r) for r in added]
    return sorted(names, key=lambda name: ORDER.index(name[0]))


def _fields(old: Record, new: Record) -> tuple[FieldChange, ...]:
    names = [f.name for f in fields(new)]
    pairs = [(name, getattr(old, name), getattr(new, name)) for name in names]
    return tuple(FieldChange(name, was, now) for name, was, now in pairs if was != now)


def applied(old: Bundle | None, change: Difference) -> Bundle:
    """The plan that a difference makes of another one; raises ValueError where it does not fit.

    It does not fit where it changes or removes what the plan has not, finds another value in a field
    than it says, or adds what is there.
    """
    records = by_name(old) if old is not None else {}
    for name in change.removed:
        if records.pop(name, None) is None:
            raise ValueError(f"cannot remove {name[0]} {name[1]!r}: the plan has none")
    for each in change.changed:
        records[each.kind, each.label] = _changed(records.get((each.kind, each.label)), each)
    for record in change.added:
        if name_of(record) in records:
            raise ValueError(f"cannot add {name_of(record)}: the plan has it")
        records[name_of(record)] = record
    if change.order:
        if set(change.order) != records.keys():
            raise ValueError("the order names other records than the change leaves")
        records = {name: records[name] for name in change.order}
    renamed = change.name.new if change.name is not None else old.name if old is not None else ""
    return bundle_of(renamed, records.values())


def _changed(record: Record | None, each: Changed) -> Record:
    if record is None:
        raise ValueError(f"cannot change {each.kind} {each.label!r}: the plan has none")
    for one in each.fields:
        if getattr(record, one.field) != one.old:
            raise ValueError(f"{each.kind} {each.label!r}: {one.field} is not what it was")
    return replace(record, **{one.field: one.new for one in each.fields})


def bundle_of(name: str, records: Iterable[Record]) -> Bundle:
    """A plan of records in any order of kinds; raises ValueError without exactly one goal."""
    kinds: dict[type, list[Any]] = {kind: [] for kind in KINDS}
    for record in records:
        kinds[type(record)].append(record)
    if len(kinds[PlanGoal]) != 1:
        raise ValueError(f"a plan has one goal, found {len(kinds[PlanGoal])}")
    return Bundle(
        name,
        kinds[PlanGoal][0],
        *(tuple(kinds[kind]) for kind in (PlanRequirement, PlanNode, PlanRow, PlanItem)),
    )
