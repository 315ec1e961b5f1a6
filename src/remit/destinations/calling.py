"""One HTTP call: sent at most once, bounded in time and size, and told apart by what may have left.

urllib3 does the protocol. Its timeout bounds each wait on the socket, which a service that sends one
byte a second never meets; so a timer shuts the socket at the end of the whole time. A connection is
kept for the next call of the same process, never shared with a forked one. What urllib3 says of a
failure may hold the URL and headers, so only its kind is passed on. An answer must say where it ends
(``Content-Length``, chunks, or 204): one that ends with its connection may be half of another.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remit.ports.destination import NoAnswer, NotSent

if TYPE_CHECKING:
    from urllib3 import PoolManager
    from urllib3.response import BaseHTTPResponse

_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Caller:
    """Makes calls. ``authorities`` is a file of certificates in place of the system's."""

    authorities: str = ""
    limit_bytes: int = 1_048_576
    _pools: dict[int, PoolManager] = field(default_factory=dict, init=False, repr=False)

    def call(
        self,
        method: str,
        target: str,
        what: str,
        *,
        timeout_ms: int,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> HttpAnswer:
        """One request and its whole answer. Raises ``NotSent`` and ``NoAnswer``, nothing else."""
        from urllib3 import Timeout, exceptions

        unfit = [
            name for name, said in headers.items() if not (said.isascii() and said.isprintable())
        ]
        if unfit:
            raise NotSent(f"cannot {what}: {unfit[0]} is no plain ASCII", "give it a plain value")
        with _ended_at(timeout_ms) as out_of_time:
            try:
                response = self._manager().request(
                    method,
                    target,
                    body=body,
                    headers=dict(headers),
                    timeout=Timeout(total=timeout_ms / 1_000),
                    retries=False,
                    redirect=False,
                    preload_content=False,
                )
                try:
                    body = self._whole(response)
                    if out_of_time() or not _framed(response):
                        raise exceptions.IncompleteRead(len(body), 0)
                    return HttpAnswer(response.status, response.headers, body)
                finally:
                    response.close() if out_of_time() else response.release_conn()
            except (exceptions.NewConnectionError, exceptions.ConnectTimeoutError) as error:
                raise NotSent(
                    f"cannot {what}: no connection ({_kind(error)})",
                    "see whether the service is up",
                ) from None
            except exceptions.LocationValueError as error:
                raise NotSent(
                    f"cannot {what}: the URL is unusable ({_kind(error)})", "mend its settings"
                ) from None
            except (exceptions.HTTPError, OSError, ValueError) as error:
                if _unverified(error):
                    raise NotSent(
                        f"cannot {what}: its certificate is not trusted",
                        "name the right host, or its authority's certificate",
                    ) from None
                raise NoAnswer(
                    f"cannot {what}: no whole answer within {timeout_ms} ms ({_kind(error)})",
                    "look it up before anything else",
                ) from None

    def _whole(self, response: BaseHTTPResponse) -> bytes:
        body = b""
        while chunk := response.read1(_CHUNK):
            body += chunk
            if len(body) > self.limit_bytes:
                raise OSError(f"over {self.limit_bytes} bytes")
        return body

    def _manager(self) -> PoolManager:
        found = self._pools.get(os.getpid())
        if found is None:
            found = self._pools[os.getpid()] = _manager(self.authorities)
        return found


def _manager(authorities: str) -> PoolManager:
    """A pool whose connections tell the timer of their thread which socket to shut."""
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
    from urllib3.connection import HTTPConnection, HTTPSConnection

    class Plain(HTTPConnection):
        def request(self, *args: Any, **named: Any) -> None:
            _here.connection = self
            super().request(*args, **named)

    class Secure(HTTPSConnection):
        def request(self, *args: Any, **named: Any) -> None:
            _here.connection = self
            super().request(*args, **named)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    made = PoolManager(
        num_pools=4, maxsize=8, cert_reqs="CERT_REQUIRED", ca_certs=authorities or None
    )
    made.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
    return made


class _Here(threading.local):
    """The connection that this thread's call uses."""

    connection: Any = None


_here = _Here()


@contextlib.contextmanager
def _ended_at(timeout_ms: int) -> Iterator[Any]:
    """Shut the socket of this thread's call when its time is over."""
    _here.connection = None
    mine = _here.__dict__
    over = threading.Event()

    def end() -> None:
        over.set()
        found = getattr(mine.get("connection"), "sock", None)
        if found is not None:
            with contextlib.suppress(OSError):  # it may be closed by now
                found.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(timeout_ms / 1_000 + 0.05, end)
    timer.daemon = True
    timer.start()
    try:
        yield over.is_set
    finally:
        timer.cancel()


def _framed(response: BaseHTTPResponse) -> bool:
    """Whether an answer says where it ends: one that does not may have been cut anywhere."""
    said = response.headers
    chunked = said.get("Transfer-Encoding", "").lower() == "chunked"
    return response.status in (204, 304) or "Content-Length" in said or chunked


def _unverified(error: BaseException) -> bool:
    """Whether the other side's certificate failed: that is before a request leaves."""
    return any(isinstance(part, ssl.SSLCertVerificationError) for part in (error, *error.args))


def _kind(error: Exception) -> str:
    return type(error).__name__
