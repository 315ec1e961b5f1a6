"""Where a ledger is: a ``postgresql://`` URL, read into what libpq needs and what remit needs.

Everything in the URL is libpq's own (hosts, TLS, timeouts), but for three options that are ours:

- ``ledger=ID`` picks one of the ledgers in the database; without it there must be exactly one.
- ``pool=N`` is how many connections this process opens at most (default 8, 1 to 200).
- ``pgbouncer=transaction`` says that a pooler stands in between which hands a connection on after
  each transaction: nothing is then prepared on it.

A password is never shown: ``shown`` is the URL without it, and ``scrub`` takes it out of whatever
somebody else's message may repeat. Reopening the shown URL finds the password where libpq looks for
it: in ``PGPASSWORD``, a password file or a service file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict

from remit.core.refusals import Code
from remit.ports import RemitError

SCHEMES: Final = ("postgresql", "postgres")
OURS: Final = ("ledger", "pool", "pgbouncer")
POOL: Final = 8
MOST_POOLED: Final = 200

_SECRET: Final = ("password", "sslpassword", "oauth_client_secret", "scram_client_key",
                  "scram_server_key")  # fmt: skip
_USUAL: Final = {
    "application_name": "remit", "connect_timeout": "10", "keepalives_idle": "30",
    "keepalives_interval": "10", "keepalives_count": "3", "tcp_user_timeout": "30000",
}  # fmt: skip
"""What libpq is told where the URL does not say; a dead network is noticed within about a minute."""


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed URL. ``parameters`` and ``secrets`` stay out of every message and repr."""

    shown: str
    ledger: str
    pool: int
    pooled: bool
    parameters: dict[str, Any] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    def scrub(self, text: object) -> str:
        """One line of somebody else's message, without a password that it may repeat."""
        line = " ".join(str(text).split())
        for secret in self.secrets:
            line = line.replace(secret, "***")
        return line

    def of(self, ledger_id: str) -> str:
        """The shown URL of one ledger in this database."""
        scheme, netloc, path, query, _ = urlsplit(self.shown)
        options = [(k, v) for k, v in parse_qsl(query) if k != "ledger"]
        return _joined(scheme, netloc, path, [*options, ("ledger", ledger_id)])


def parse_address(url: str) -> Address:
    """Read a URL. Raises ``BAD_INPUT`` for what is none, without repeating a password."""
    scheme, netloc, path, query, fragment = urlsplit(url)
    if fragment or "@" in path:
        raise _bad(f"{scheme}://...", "a / ? # or @ in a name or password is written as %2F %3F..")
    login, at, hosts = netloc.rpartition("@")
    user, _, word = login.partition(":")
    options = parse_qsl(query, keep_blank_values=True)
    ours = {key: value for key, value in options if key in OURS}
    theirs = [(key, value) for key, value in options if key not in OURS]
    words = [unquote(word), *(value for key, value in theirs if key in _SECRET)]
    secrets = {form for w in words if w for form in (w, quote(w, safe=""), quote(w))} | {word}
    open_options = [(key, value) for key, value in theirs if key not in _SECRET]
    shown = _joined(scheme, f"{user}{at}{hosts}", path, [*open_options, *ours.items()])
    address = Address(
        shown,
        ours.get("ledger", ""),
        _pool(ours, shown),
        _pooled(ours, shown),
        {},
        # Longest first, so that a secret within another leaves no rest.
        tuple(sorted(filter(None, secrets), key=len, reverse=True)),
    )
    if scheme not in SCHEMES:
        raise _bad(shown, "expected postgresql://user@host/database?ledger=ID")
    try:
        found = conninfo_to_dict(_joined(SCHEMES[0], netloc, path, theirs))
    except (psycopg.Error, UnicodeError) as error:
        raise _bad(shown, address.scrub(error)) from None
    for key, value in _USUAL.items():
        found.setdefault(key, value)
    found["client_encoding"] = "utf8"  # whatever the database or the login says: texts are Unicode
    address.parameters.update(found)
    return address


def _joined(scheme: str, netloc: str, path: str, options: Sequence[tuple[str, str]]) -> str:
    """A URL; the two slashes stand even where no host is named, which means a socket."""
    query = urlencode(options, quote_via=quote, safe="/")
    return f"{scheme}://{netloc}{path}{'?' if query else ''}{query}"


def _pool(ours: dict[str, str], shown: str) -> int:
    text = ours.get("pool", str(POOL))
    if text.isdecimal() and 1 <= int(text) <= MOST_POOLED:
        return int(text)
    raise _bad(shown, f"found pool={text}, expected 1 to {MOST_POOLED}")


def _pooled(ours: dict[str, str], shown: str) -> bool:
    text = ours.get("pgbouncer", "session")
    if text in ("session", "transaction"):
        return text == "transaction"
    raise _bad(shown, f"found pgbouncer={text}, expected session or transaction")


def _bad(shown: str, found: str) -> RemitError:
    return RemitError(
        f"cannot open the ledger {shown!r}: {found}",
        "name a ledger like postgresql://me@host/work?ledger=ID with --ledger or REMIT_LEDGER",
        {"url": shown},
        code=Code.BAD_INPUT,
    )
