"""The one way out of a cell: a proxy that lets CONNECT through to named hosts and ports.

It listens on a UNIX socket that is shown inside the cell, whose network is otherwise its own and
empty. HTTP is read by h11, the parser beneath uvicorn and httpcore, and carried by asyncio. The
ready-made proxies that fit were looked at: one has had no release for long, the other brings some
thirty packages, and neither both listens on a socket and pins the address that it checked.

A target must be in the allow-list to the letter: a host name and a port. No IP literal, no other
method, no other port. The name is looked up here, once, and the connection goes to the very address
that was judged, so a name server that answers differently the second time changes nothing. An
address that is not public is refused unless the list names that host as private. What is inside the
tunnel is not read: whoever serves an allowed host decides what can be had there.

Every try is recorded; of too many the first and the last are kept, and how many there were.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import ipaddress
import re
import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from remit.ports.sandbox import Egress, EgressTry, SandboxCode, SandboxRefusal

TRIES_KEPT: Final = 1_000
CONNECTIONS_LIMIT: Final = 64
HEAD_LIMIT_BYTES: Final = 16_384
HEAD_TIMEOUT_S: Final = 15.0
CONNECT_TIMEOUT_S: Final = 15.0
_BLOCK_BYTES: Final = 65_536
_TARGET = re.compile(r"(?P<host>[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?):(?P<port>[0-9]{1,5})\Z")
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/32")

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


async def look_up(host: str, port: int) -> Sequence[str]:
    """Ask the system's name service for a host's addresses."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


@dataclass(slots=True)
class EgressProxy:
    """A proxy for one cell, served by a thread of its own until it is closed."""

    egress: Egress
    path: Path
    resolve: Resolve = look_up
    _first: list[EgressTry] = field(default_factory=list)
    _last: deque[EgressTry] = field(default_factory=lambda: deque(maxlen=TRIES_KEPT // 2))
    _count: int = 0
    _open: int = 0
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None

    @classmethod
    def start(
        cls, egress: Egress, path: Path, resolve: Resolve = look_up
    ) -> EgressProxy | SandboxRefusal:
        """Serve an allow-list at a socket path. Refuses EGRESS_UNUSABLE, saying why."""
        bad = [name for name in egress.hosts if not _TARGET.match(name.lower()) or _literal(name)]
        if bad:
            return _unusable(
                f"{bad[0][:200]!r} is no host:port", "give names such as a.example:443"
            )
        if missing():
            return _unusable("h11 is not installed", "install remit[drain]")
        made = cls(egress, path, resolve)
        ready: list[BaseException | None] = []
        told = threading.Event()

        def serve() -> None:
            try:
                asyncio.run(made._serve(told, ready))
            except OSError as error:
                ready.append(error)
            finally:
                told.set()

        made._thread = threading.Thread(target=serve, name="remit-egress", daemon=True)
        made._thread.start()
        told.wait()
        if ready:
            return _unusable(f"no socket at {path}: {ready[0]}", "look at the temporary folder")
        return made

    def tries(self) -> tuple[EgressTry, ...]:
        """Every try so far; of too many the first and the last, and between them how many more."""
        first, last = tuple(self._first), tuple(self._last)
        lost = self._count - len(first) - len(last)
        between = (EgressTry("", False, f"{lost} more tries"),) if lost > 0 else ()
        return (*first, *between, *last)

    def close(self) -> None:
        """Stop serving; open tunnels end."""
        if self._loop is not None and self._thread is not None:
            with contextlib.suppress(RuntimeError):  # it has ended already
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)

    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def _serve(self, told: threading.Event, ready: list[BaseException | None]) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_unix_server(self._meet, str(self.path), limit=_BLOCK_BYTES)
        told.set()
        async with server:
            await self._stop.wait()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _meet(self, near: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        """Serve one connection from the cell, whatever comes over it."""
        self._open += 1
        try:
            if self._open > CONNECTIONS_LIMIT:
                self._note("", False, "TOO_MANY_CONNECTIONS")
                return
            await self._tunnel(near, answer)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            self._note("", False, f"BROKEN {type(error).__name__}")
        finally:
            self._open -= 1
            answer.close()

    async def _tunnel(self, near: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        asked = await asyncio.wait_for(_read_head(near), HEAD_TIMEOUT_S)
        if asked is None:
            return self._refuse(answer, "", "NOT_HTTP", 400)
        method, target, rest = asked
        if method != "CONNECT":
            return self._refuse(answer, f"{method} {target}", "NOT_CONNECT", 405)
        reached = await self._judge(target)
        if isinstance(reached, str):
            return self._refuse(answer, target, reached, 403)
        address, port = reached
        try:
            far, out = await asyncio.wait_for(
                asyncio.open_connection(address, port, limit=_BLOCK_BYTES), CONNECT_TIMEOUT_S
            )
        except (OSError, TimeoutError):
            return self._refuse(answer, target, "UNREACHABLE", 502)
        self._note(target, True, address)
        answer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        out.write(rest)
        try:
            await asyncio.gather(_pour(near, out), _pour(far, answer))
        finally:
            out.close()

    async def _judge(self, target: str) -> tuple[str, int] | str:
        """The address to connect to, or the reason why there is none."""
        wanted = target.lower()
        if _literal(wanted):
            return "ADDRESS_LITERAL"
        if wanted not in {name.lower() for name in self.egress.hosts}:
            return "NOT_ALLOWED"
        host, _, port = wanted.rpartition(":")
        try:
            found = await asyncio.wait_for(self.resolve(host, int(port)), CONNECT_TIMEOUT_S)
        except (OSError, TimeoutError, UnicodeError):
            return "NAME_UNKNOWN"
        if not found:
            return "NAME_UNKNOWN"
        private = host in {name.lower() for name in self.egress.private}
        if not private and not all(_public(address) for address in found):
            return "ADDRESS_NOT_PUBLIC"
        return found[0], int(port)

    def _refuse(self, answer: asyncio.StreamWriter, target: str, reason: str, status: int) -> None:
        self._note(target, False, reason)
        head = f"HTTP/1.1 {status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n"
        answer.write(f"{head}X-Remit-Reason: {reason}\r\n\r\n".encode("ascii"))

    def _note(self, target: str, allowed: bool, reason: str) -> None:
        plain = target[:300].encode("ascii", "backslashreplace").decode("ascii")
        self._count += 1
        # The first stay: a guest that floods the record must not be able to wash out its beginning.
        room = len(self._first) < TRIES_KEPT // 2
        (self._first if room else self._last).append(EgressTry(plain, allowed, reason))


def missing() -> bool:
    """Say whether the HTTP parser is not installed."""
    return importlib.util.find_spec("h11") is None


async def _read_head(near: asyncio.StreamReader) -> tuple[str, str, bytes] | None:
    """Read one request's head; the method, the target and what came behind it."""
    import h11  # an extra: only who lets a cell out needs it

    talk = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_LIMIT_BYTES)
    while True:
        try:
            event = talk.next_event()
        except h11.RemoteProtocolError:
            return None
        if isinstance(event, h11.Request):
            method, target = bytes(event.method), bytes(event.target)
            return (
                method.decode("ascii", "replace"),
                target.decode("ascii", "replace"),
                bytes(talk.trailing_data[0]),
            )
        if event is not h11.NEED_DATA:
            return None
        block = await near.read(_BLOCK_BYTES)
        if not block:
            return None
        talk.receive_data(block)


async def _pour(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while block := await source.read(_BLOCK_BYTES):
            sink.write(block)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
    except OSError:
        sink.close()  # one side went away, so the other has nothing to wait for


def _literal(target: str) -> bool:
    """Say whether a target's host is an address in any spelling that a resolver would take."""
    host = target.rpartition(":")[0].strip("[]")
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(host)
        return True
    # "127.1", "0x7f.1" and "2130706433" are addresses to the C library and to no name server.
    last = host.rstrip(".").rpartition(".")[2]
    return bool(re.fullmatch(r"[0-9]+|0x[0-9a-f]*", last))


def _public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return _public(str(found.ipv4_mapped))
        if found.sixtofour or found.teredo or found in _TRANSLATED:
            return False  # an address of the other family lies in it, and may be a private one
    return found.is_global and not found.is_multicast


def _unusable(found: str, hint: str) -> SandboxRefusal:
    message = f"open the way out of a cell: {found}; expected a proxy for the allow-list"
    return SandboxRefusal(SandboxCode.EGRESS_UNUSABLE, message, hint)
