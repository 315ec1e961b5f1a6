"""A copy of a frozen value with some fields changed, fast.

``dataclasses.replace`` runs the generated constructor with keyword arguments, which costs more than
everything else that folding an event does (9 microseconds for an item, against 2 here). This one
copies the slots directly. It checks field names; it runs no ``__post_init__``, so it is only for
values that have none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final, TypeVar

T = TypeVar("T")

_Plan = tuple[
    Callable[[Any], tuple[Any, ...]], dict[str, int], tuple[Callable[[Any, Any], None], ...]
]

_PLANS: Final[dict[type, _Plan]] = {}


def _plan(cls: type[Any]) -> _Plan:
    names = [f.name for f in fields(cls)]
    if len(names) < 2 or hasattr(cls, "__post_init__"):
        raise TypeError(f"{cls.__name__} is not a plain frozen value of two or more fields")
    plan = (
        attrgetter(*names),
        {name: i for i, name in enumerate(names)},
        tuple(getattr(cls, name).__set__ for name in names),
    )
    _PLANS[cls] = plan
    return plan


def changed(value: T, **new: Any) -> T:
    """The same value with these fields replaced; raises KeyError for a field that it has not."""
    cls = type(value)
    get, index, setters = _PLANS.get(cls) or _plan(cls)
    values = list(get(value))
    for name, what in new.items():
        values[index[name]] = what
    copy = object.__new__(cls)
    for put, what in zip(setters, values, strict=True):
        put(copy, what)
    return copy
