"""Validation of an envelope under a registered revision of rules: every fault at once.

An envelope says what is wanted, under which identities, within which lifetime, and how it will be
known that it came about (CONTRACT 2). Six parts are always required; rules may require more, and
bound sizes. A fault names the path of its field, a code, what was found and what was expected.
Nothing is filled in: an absent lifetime stays absent, and is never infinite patience.

Pure: the rules and the envelope are all that is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Final

from remit.core.effect_facts import Comparator, Envelope, Fault, ReplayClass, Validation
from remit.core.ids import MAX_INTEGER, is_actor_name, is_alias

ALWAYS: Final = (
    "work_id",
    "message_id",
    "operation_id",
    "effect_id",
    "replay_class",
    "completion_test",
)
"""Parts that no rules can do without."""

MAY_REQUIRE: Final = frozenset(f.name for f in fields(Envelope)) - {"priority"}
"""Parts that rules may require beside them."""

MAX_COMPARISONS: Final = 100
"""Most comparisons of one completion test."""

MAX_TARGETS: Final = 1_000
"""Most works that one may wait on."""

MAX_FAULTS: Final = 1_000
"""Most faults that are named of one envelope; the comparisons and targets are bounded before."""

MAX_IDENTITY: Final = 200
"""Longest identity, in characters."""

MAX_MARGIN_MS: Final = 10 * 365 * 24 * 60 * 60 * 1_000
"""Longest margin: ten years."""

STATES: Final = ("NOT_REQUESTED", "REQUESTED", "UNOBSERVABLE")
"""What can have been observed of a cancellation."""

_IDENTITIES: Final = (
    "message_id",
    "operation_id",
    "effect_id",
    "candidate_revision",
    "manifest_id",
    "authoritative_effect_record",
    "cancellation_id",
    "destination",
    "decision",
)
_TEXTS: Final = ("payload_digest", "blast_radius", "compensation")
_ACTORS: Final = ("admission_owner", "execution_owner", "retry_owner")
_TIMES: Final = ("requested_at", "not_before", "deadline")
_LANE: Final = re.compile(r"[^\x00-\x20\x7f-\xa0|]{1,64}\Z")


def faults_of(
    envelope: Envelope, rules: Validation, size: int = 0, also: tuple[str, ...] = ()
) -> tuple[Fault, ...]:
    """Name every fault of an envelope under these rules; none where it is valid.

    ``size`` is that of what was submitted, in bytes; ``also`` are parts that something else than the
    rules requires.
    """
    found = [*_absent(envelope, (*ALWAYS, *rules.required, *also)), *_size(rules, size)]
    for part in (_identities, _classes, _texts, _lifetime, _numbers, _test, _targets):
        found += part(envelope, rules)
    return tuple(found[:MAX_FAULTS])


def usable_identity(text: str) -> bool:
    """Whether a text can name a message, an operation or an effect."""
    return 1 <= len(text) <= MAX_IDENTITY and text.isprintable() and text == text.strip()


def usable_lane(text: str) -> bool:
    """Whether a text can name a work class or a tenant."""
    return _LANE.match(text) is not None and text.isprintable()


def _absent(envelope: Envelope, names: tuple[str, ...]) -> Iterator[Fault]:
    for name in dict.fromkeys(names):
        value = getattr(envelope, name)
        if value is None or value in ("", ()):
            yield Fault(f"$.{name.removesuffix('_ms')}", "MISSING", "", "a value")


def _size(rules: Validation, size: int) -> Iterator[Fault]:
    if rules.max_bytes and size > rules.max_bytes:
        yield Fault("$", "TOO_LARGE", f"{size} bytes", f"at most {rules.max_bytes} bytes")


def _shown(value: str) -> str:
    """What was found, short enough for an event and printable."""
    text = value if value.isprintable() else ascii(value)[1:-1]
    return text if len(text) <= 80 else text[:77] + "..."


def _identities(envelope: Envelope, rules: Validation) -> Iterator[Fault]:
    if envelope.work_id and not is_alias(envelope.work_id):
        expected = f"1 to {MAX_IDENTITY} characters without blanks, not of the form W-1"
        yield Fault("$.work_id", "MALFORMED", _shown(envelope.work_id), expected)
    for name in _IDENTITIES:
        value = getattr(envelope, name)
        if value and not usable_identity(value):
            expected = f"1 to {MAX_IDENTITY} printable characters in one line"
            yield Fault(f"$.{name}", "MALFORMED", _shown(value), expected)
    for name in _ACTORS:
        value = getattr(envelope, name)
        if value and not is_actor_name(value):
            expected = "1 to 64 letters, digits or . _ @ + -"
            yield Fault(f"$.{name}", "MALFORMED", _shown(value), expected)


def _one_of(path: str, value: str, known: tuple[str, ...]) -> Iterator[Fault]:
    if value and value not in known:
        yield Fault(path, "UNKNOWN", _shown(value), "one of " + ", ".join(known))


def _classes(envelope: Envelope, rules: Validation) -> Iterator[Fault]:
    yield from _one_of("$.replay_class", envelope.replay_class, tuple(ReplayClass))
    yield from _one_of("$.cancellation_state", envelope.cancellation_state, STATES)
    for name in ("priority_class", "tenant"):
        value = getattr(envelope, name)
        if value and not usable_lane(value):
            expected = "1 to 64 printable characters without blanks and '|'"
            yield Fault(f"$.{name}", "MALFORMED", _shown(value), expected)


def _long(path: str, value: str, rules: Validation) -> Iterator[Fault]:
    if rules.max_text and len(value) > rules.max_text:
        found, expected = f"{len(value)} characters", f"at most {rules.max_text} characters"
        yield Fault(path, "TOO_LONG", found, expected)


def _texts(envelope: Envelope, rules: Validation) -> Iterator[Fault]:
    for name in ("work_id", *_IDENTITIES, *_TEXTS):
        yield from _long(f"$.{name}", getattr(envelope, name), rules)


def _lifetime(envelope: Envelope, rules: Validation) -> Iterator[Fault]:
    for name in _TIMES:
        at = getattr(envelope, name)
        if at is not None and not 0 <= at <= MAX_INTEGER:
            yield Fault(f"$.{name}", "OUT_OF_RANGE", str(at), "a time from 1970 on")
    begin, end = envelope.not_before, envelope.deadline
    if begin is not None and end is not None and begin > end:
        yield Fault("$.not_before", "AFTER_DEADLINE", str(begin), f"at most the deadline, {end}")
    margin = envelope.minimum_completion_margin_ms
    if margin is not None and margin < 0:
        path = "$.minimum_completion_margin"
        yield Fault(path, "NEGATIVE", f"{margin} ms", "0 ms or more")
    elif margin is not None and margin > MAX_MARGIN_MS:
        path = "$.minimum_completion_margin"
        yield Fault(path, "OUT_OF_RANGE", f"{margin} ms", f"at most {MAX_MARGIN_MS} ms")


def _numbers(envelope: Envelope, rules: Validation) -> Iterator[Fault]:
    for path, value in (
        ("$.payload_bytes", envelope.payload_bytes),
        ("$.spend_micros", envelope.spend_micros),
    ):
        if value is not None and value < 0:
            yield Fault(path, "NEGATIVE", str(value), "0 or more")
    if not 0 <= envelope.priority <= 4:
        yield Fault("$.priority", "OUT_OF_RANGE", str(envelope.priority), "0 (most urgent) to 4")


def _count(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= 15


_REQUIRED: Final[dict[str, tuple[Callable[[str], bool], str]]] = {
    Comparator.EQUALS: (lambda value: value != "", "the wanted value"),
    Comparator.COUNT: (_count, "a whole number"),
    Comparator.PRESENT: (lambda value: value == "", "nothing: it only has to be there"),
}
"""What each comparator asks of the required value."""


def _test(envelope: Envelope, rules: Validation) -> Iterator[Fault]:
    test = envelope.completion_test
    if len(test) > MAX_COMPARISONS:
        expected = f"at most {MAX_COMPARISONS} comparisons"
        yield Fault("$.completion_test", "TOO_MANY", str(len(test)), expected)
        return
    names: set[str] = set()
    for i, comparison in enumerate(test):
        at = f"$.completion_test[{i}]"
        for part in ("name", "field"):
            value = getattr(comparison, part)
            if not usable_identity(value):
                code = "MALFORMED" if value else "MISSING"
                expected = f"1 to {MAX_IDENTITY} printable characters in one line"
                yield Fault(f"{at}.{part}", code, _shown(value), expected)
        if comparison.name in names:
            yield Fault(f"{at}.name", "REPEATED", _shown(comparison.name), "a name of its own")
        names.add(comparison.name)
        yield from _long(f"{at}.required", comparison.required, rules)
        known = _REQUIRED.get(comparison.comparator)
        if known is None:
            expected = "one of " + ", ".join(Comparator)
            yield Fault(f"{at}.comparator", "UNKNOWN", _shown(comparison.comparator), expected)
        elif not known[0](comparison.required):
            code = "MALFORMED" if comparison.required else "MISSING"
            yield Fault(f"{at}.required", code, _shown(comparison.required), known[1])


def _targets(envelope: Envelope, rules: Validation) -> Iterator[Fault]:
    targets = envelope.depends_on
    if len(targets) > MAX_TARGETS:
        yield Fault("$.depends_on", "TOO_MANY", str(len(targets)), f"at most {MAX_TARGETS}")
        return
    seen: set[str] = set()
    for i, target in enumerate(targets):
        if not usable_identity(target) or " " in target:
            expected = "the id of a work or item"
            yield Fault(f"$.depends_on[{i}]", "MALFORMED", _shown(target), expected)
        elif target in seen or target == envelope.work_id:
            expected = "each other work once"
            yield Fault(f"$.depends_on[{i}]", "REPEATED", _shown(target), expected)
        seen.add(target)
