"""Planting a fault: one function of the product with a piece of its text replaced, in this process.

The text to be replaced must be there exactly once, so a mutant that no longer fits the code says so
instead of silently planting nothing. The changed function is compiled in its own module, and takes
the place of the old one wherever the product refers to it: names, tables of handlers, methods. On
leaving, everything is as it was.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, Final

PLANTED_IN: Final = ("remit.core", "remit.service", "remit.drain")
"""Where references to a changed function are looked for."""


@contextmanager
def planted(target: str, old: str, new: str) -> Iterator[None]:
    """Replace ``old`` by ``new`` in a function named ``package.module:name`` or ``:Class.name``.

    Raises ``ValueError`` where ``old`` does not stand there exactly once.
    """
    path, _, name = target.partition(":")
    module = import_module(path)
    owner, _, attribute = name.rpartition(".")
    holder: Any = getattr(module, owner) if owner else module
    before = getattr(holder, attribute)
    after = _changed(module, before, old, new)
    undo = _swap(before, after)
    if owner:
        setattr(holder, attribute, after)
    try:
        yield
    finally:
        if owner:
            setattr(holder, attribute, before)
        for put in undo:
            put()


def _changed(module: ModuleType, function: Any, old: str, new: str) -> Any:
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(old) != 1:
        raise ValueError(
            f"cannot plant a fault in {module.__name__}.{function.__name__}: {old!r} stands there"
            f" {source.count(old)} times, expected once; fit the mutant to the code"
        )
    source = "from __future__ import annotations\n" + source.replace(old, new)
    names: dict[str, Any] = {}
    code = compile(source, f"<mutant of {module.__name__}.{function.__name__}>", "exec")
    exec(code, module.__dict__, names)  # noqa: S102  # our own source with one piece replaced
    return names[function.__name__]


def _swap(before: Any, after: Any) -> list[Callable[[], None]]:
    """Put a function in another's place in names and tables; gives the steps back."""
    undo: list[Callable[[], None]] = []
    modules = [m for name, m in list(sys.modules.items()) if name.startswith(PLANTED_IN)]
    for module in modules:
        for table in (module.__dict__, *_tables(module)):
            for key in [key for key, value in table.items() if value is before]:
                table[key] = after
                undo.append(_putting(table, key, before))
    return undo


def _tables(module: ModuleType) -> list[dict[Any, Any]]:
    return [
        value
        for name, value in list(vars(module).items())
        if name.endswith("HANDLERS") and isinstance(value, dict)
    ]


def _putting(table: dict[Any, Any], key: Any, value: Any) -> Callable[[], None]:
    def put() -> None:
        table[key] = value

    return put
