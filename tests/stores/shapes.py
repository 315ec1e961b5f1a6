"""Strategies that make any event that the core declares, from its annotations alone."""

from __future__ import annotations

import dataclasses
import types
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from remit.core.ids import MAX_INTEGER

TEXT = st.text(max_size=20)
INTEGERS = st.integers(-MAX_INTEGER, MAX_INTEGER)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of one annotation."""
    if kind is str:
        return TEXT
    if kind is int:
        return INTEGERS
    if kind is bool:
        return st.booleans()
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return st.sampled_from(list(kind))
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return instances(kind)
    if get_origin(kind) in (Union, types.UnionType):
        return st.one_of(st.none(), *(values(a) for a in get_args(kind) if a is not type(None)))
    if get_origin(kind) is tuple:
        arguments = get_args(kind)
        if arguments[-1] is ...:
            return st.lists(values(arguments[0]), max_size=3).map(tuple)
        return st.tuples(*(values(a) for a in arguments))
    raise AssertionError(f"teach tests/stores/shapes.py to make {kind}")


def instances(cls: type) -> st.SearchStrategy[Any]:
    """Instances of one dataclass."""
    hints = get_type_hints(cls)
    fields = {field.name: values(hints[field.name]) for field in dataclasses.fields(cls)}
    return st.builds(cls, **fields)
