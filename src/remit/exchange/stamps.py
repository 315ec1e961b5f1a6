"""Foreign dates: RFC 3339 text to UTC microseconds, or a named reason why not.

Backlogs carry dates from many clocks: local offsets, nanoseconds, leap seconds, the zero value of
a language (year 1), text that only looks like a date. A date here is never guessed. It is read
exactly, or it is dropped and the row gets a notice; a row is never lost for its date, and a wrong
date never becomes history. So: no offset means that the instant is unknown (BAD_DATE); a real
date outside 1970..2100 is a slip or a sentinel (ABSURD_DATE); digits beyond microseconds are cut,
which can only make equal what was closer than a microsecond; a leap second is legal where UTC can
have one, and is kept as the last microsecond before it, so that order survives.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from remit.exchange.backlog import NoticeCode

FIRST_YEAR = 1970
LAST_YEAR = 2100

_RFC3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:)([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_S = 86_400


def parse_stamp(text: str) -> tuple[int | None, NoticeCode | None]:
    """Read one RFC 3339 date.

    Returns (UTC microseconds since 1970, None) for a clean date, (microseconds, LEAP_SECOND) for
    a leap second, and (None, BAD_DATE | ABSURD_DATE) for what must be dropped. Never raises.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None, NoticeCode.BAD_DATE
    day, clock, second, fraction, sign, hours, minutes = match.groups()
    leap = second == "60"
    try:
        local = datetime.fromisoformat(f"{day}T{clock}{'59' if leap else second}+00:00")
    except ValueError:
        return None, NoticeCode.BAD_DATE
    span = local - _EPOCH
    seconds = span.days * _DAY_S + span.seconds
    if sign is not None:
        offset = int(hours) * 3_600 + int(minutes) * 60
        seconds += -offset if sign == "+" else offset
    if leap and seconds % _DAY_S != _DAY_S - 1:
        return None, NoticeCode.BAD_DATE
    if not FIRST_YEAR <= local.year <= LAST_YEAR or seconds < 0:
        return None, NoticeCode.ABSURD_DATE
    if leap:
        return seconds * 1_000_000 + 999_999, NoticeCode.LEAP_SECOND
    micros = int(fraction[:6].ljust(6, "0")) if fraction else 0
    return seconds * 1_000_000 + micros, None
