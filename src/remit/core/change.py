"""A copy of a frozen value with some fields changed, fast.

``dataclasses.replace`` runs the generated constructor with keyword arguments, which costs more than
everything else that folding an event does (9 microseconds for an item, against 1.5 here). This one
copies the slots directly, by a function that is written for each class from its field names, as
``dataclasses`` itself does. It checks field names; it runs no ``__post_init__``, so it is only for
values that have none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final, TypeVar

T = TypeVar("T")

_Copy = Callable[[Any], Any]
_Setters = dict[str, Callable[[Any, Any], None]]

_PLANS: Final[dict[type, tuple[_Copy, _Setters]]] = {}


def _plan(cls: type[Any]) -> tuple[_Copy, _Setters]:
    names = [f.name for f in fields(cls)]
    if len(names) < 2 or hasattr(cls, "__post_init__"):
        raise TypeError(f"{cls.__name__} is not a plain frozen value of two or more fields")
    setters = {name: getattr(cls, name).__set__ for name in names}
    known: dict[str, Any] = {f"set_{name}": put for name, put in setters.items()}
    known |= {"new": object.__new__, "cls": cls}
    lines = [f" set_{name}(copy, value.{name})" for name in names]
    text = "\n".join(["def copied(value):", " copy = new(cls)", *lines, " return copy"])
    exec(text, known)  # noqa: S102  # the names of our own fields, nothing else
    plan = (known["copied"], setters)
    _PLANS[cls] = plan
    return plan


def changed(value: T, **new: Any) -> T:
    """The same value with these fields replaced; raises KeyError for a field that it has not."""
    cls = type(value)
    copied, setters = _PLANS.get(cls) or _plan(cls)
    copy: T = copied(value)
    for name, what in new.items():
        setters[name](copy, what)
    return copy
