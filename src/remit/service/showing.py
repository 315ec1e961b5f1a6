"""What a destination showed, as far as it can be taken for an observation.

A record lies outside and so does the adapter that reads it: it may raise, return nothing, count in
fractions, or show texts that no ledger holds. None of that is absence and none of it is presence, so it
is UNAVAILABLE with its reason, an observation like any other. If it were a fault instead, the effect
would wait for ever for a look-up that cannot be written down, and nobody would be told why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from remit.core.change import quick
from remit.core.decide.observing import MAX_VALUE, MOST_VALUES
from remit.core.ids import MAX_INTEGER
from remit.core.reconcile import FOUND, NONE, RESULTS, UNAVAILABLE

MAX_REASON: Final = 500
"""Longest reason, in characters."""


@quick
@dataclass(frozen=True, slots=True)
class Shown:
    """What a destination showed; ``result`` is FOUND, NONE or UNAVAILABLE, then with a reason."""

    result: str
    objects: int | None = None
    values: tuple[tuple[str, str], ...] = ()
    differences: tuple[str, ...] = ()
    consistent: bool = False
    confirmed_fence: int = 0
    reason: str = ""


def unreadable(reason: str) -> Shown:
    """A look-up that says nothing."""
    sound = reason.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    return Shown(UNAVAILABLE, reason=sound[:MAX_REASON])


def shown(look: Callable[[], Any]) -> Shown:
    """What a look came to, whatever the adapter behind it does, short of never coming back."""
    try:
        found = look()
        fault = _fault(found)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # it is the outside that speaks here
        return unreadable(f"the look-up raised {type(error).__name__}: {_spoken(error)}")
    if fault:
        return unreadable(f"the look-up showed {fault}")
    said: Shown = found
    if said.result == UNAVAILABLE:
        return unreadable(str(said.reason))
    plain = said.__class__ is Shown and said.reason == ""
    return said if plain else replace(said, reason="")


def _fault(found: Any) -> str:
    """What cannot be an observation, empty where it can be one."""
    if not isinstance(found, Shown):
        return f"{type(found).__name__}, expected what was found"
    if found.result not in RESULTS:
        return f"the result {str(found.result)[:100]!r}, expected one of {', '.join(RESULTS)}"
    counts: list[Any] = [found.confirmed_fence, 0 if found.objects is None else found.objects]
    if any(n.__class__ is not int or not 0 <= n <= MAX_INTEGER for n in counts):
        return f"the count {str(counts)[:100]}, expected whole numbers from 0"
    flag: Any = found.consistent
    if flag.__class__ is not bool:
        return "no plain answer to whether it is consistent"
    if found.result == FOUND and found.objects is not None and found.objects < 1:
        return "something of which there are none"
    if found.result == NONE and found.objects:
        return f"nothing of which there are {found.objects}"
    return _unfit(found.values, found.differences)


def _unfit(values: Any, differences: Any) -> str:
    """What of values and differences no ledger holds."""
    if values.__class__ is not tuple or differences.__class__ is not tuple:
        return "values that are no tuple"
    pairs = [pair for pair in values if pair.__class__ is tuple and len(pair) == 2]
    if len(pairs) != len(values):
        return "values that are no pairs"
    texts = [*(text for pair in pairs for text in pair), *differences]
    if len(texts) >= 2 * MOST_VALUES:
        return f"{len(texts)} texts, at most {2 * MOST_VALUES - 1} are taken"
    if len({name for name, _ in pairs}) != len(pairs):
        return "one name twice"
    for text in texts:
        if text.__class__ is not str:
            return f"a value that is {type(text).__name__}, expected text"
        if len(text) > MAX_VALUE:
            return f"a text of {len(text)} characters, at most {MAX_VALUE} are taken"
        if "\0" in text or not _encodes(text):
            return "a text that no ledger holds"
    return ""


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _spoken(error: BaseException) -> str:
    """What an error says of itself, where it can."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # a foreign class
        return ""
