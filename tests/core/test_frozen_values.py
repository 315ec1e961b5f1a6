"""Values whose constructor writes their slots directly are otherwise what ``dataclasses`` makes."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields, make_dataclass
from typing import Any

import pytest

import remit.core.decide  # every module of the core that has such values
from remit.core.change import quick
from remit.core.checks import Check, Result
from remit.core.commands import CreateItem
from remit.core.events import Recorded
from remit.core.facts import Item, Lease
from remit.core.item_events import LeaseGranted

QUICK = (Check, CreateItem, Recorded, Item, Lease, LeaseGranted, remit.core.decide.Accepted)


@pytest.mark.parametrize("cls", QUICK, ids=lambda cls: cls.__name__)
def test_a_quick_constructor_takes_what_the_generated_one_takes(cls: Any) -> None:
    parts: list[Any] = [
        (f.name, f.type) if f.default is MISSING else (f.name, f.type, field(default=f.default))
        for f in fields(cls)
    ]
    plain = make_dataclass(cls.__name__, parts, frozen=True, slots=True)
    expected = inspect.signature(plain).parameters.values()
    found = inspect.signature(cls).parameters.values()
    assert [(p.name, p.kind, p.default) for p in found] == [
        (p.name, p.kind, p.default) for p in expected
    ]
    values = [object() for _ in fields(cls)]
    made = cls(*values)
    assert [getattr(made, f.name) for f in fields(cls)] == values
    named = cls(**dict(zip([f.name for f in fields(cls)], values, strict=True)))
    assert named == made
    with pytest.raises(TypeError):
        cls(*values, object())


def test_a_quick_value_is_frozen_and_can_be_copied() -> None:
    check = Check("spend", Result.PASS, "1")
    with pytest.raises(FrozenInstanceError):
        check.observed = "2"  # type: ignore[misc]  # what must be refused
    with pytest.raises(AttributeError):
        del check.observed
    assert copy.deepcopy(check) == check == pickle.loads(pickle.dumps(check))  # our own
    assert hash(check) == hash(Check("spend", Result.PASS, "1"))


def test_what_is_no_plain_frozen_value_gets_no_quick_constructor() -> None:
    @dataclass(frozen=True, slots=True)
    class Made:
        parts: list[int] = field(default_factory=list)

    @dataclass(frozen=True, slots=True)
    class Checked:
        part: int

        def __post_init__(self) -> None:
            raise ValueError

    @dataclass(frozen=True)
    class Open:
        part: int

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Named:
        part: int

    for cls in (Made, Checked, Open, Named):
        with pytest.raises(TypeError, match="not a plain frozen value"):
            quick(cls)
