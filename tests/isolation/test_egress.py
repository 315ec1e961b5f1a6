"""The way out: what is allowed goes through, everything else is refused and written down."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from tests.isolation.conftest import Cells, hostile

from remit.isolation import egress
from remit.isolation.egress import EgressProxy
from remit.ports.sandbox import Egress, EgressTry, SandboxCode, SandboxRefusal

pytest.importorskip("h11", reason="egress needs h11, which remit[drain] brings")


@pytest.fixture
def upstream() -> Iterator[int]:
    """A server on the loopback that says what it was told, in capitals."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                link, _ = server.accept()
            except OSError:
                return
            with link, suppress(OSError):  # who asked may go away before it was answered
                while block := link.recv(65_536):
                    link.sendall(block.upper())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(10)


Starts = Callable[..., EgressProxy]


@pytest.fixture
def starts(tmp_path: Path) -> Iterator[Starts]:
    made: list[EgressProxy] = []

    def start(allowed: Egress, *answers: Sequence[str]) -> EgressProxy:
        left = list(answers)

        async def resolve(_host: str, _port: int) -> Sequence[str]:
            found = left.pop(0) if len(left) > 1 else left[0]
            if not found:
                raise OSError("no such name")
            return found

        proxy = EgressProxy.start(allowed, tmp_path / "s", resolve if answers else egress.look_up)
        assert isinstance(proxy, EgressProxy), proxy
        made.append(proxy)
        return proxy

    yield start
    for proxy in made:
        proxy.close()


def ask(proxy: EgressProxy, text: bytes, then: bytes = b"") -> bytes:
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(20)
        link.connect(str(proxy.path))
        link.sendall(text)
        if then:
            assert link.recv(1_000).startswith(b"HTTP/1.1 200")
            link.sendall(then)
        link.shutdown(socket.SHUT_WR)
        said = b""
        while block := link.recv(65_536):
            said += block
        return said


def connect(target: str) -> bytes:
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()


def test_an_allowed_host_is_reached_and_written_down(starts: Starts, upstream: int) -> None:
    proxy = starts(Egress((f"Api.example:{upstream}",), private=("api.example",)), ["127.0.0.1"])
    assert ask(proxy, connect(f"api.EXAMPLE:{upstream}"), b"hello") == b"HELLO"
    assert proxy.tries() == (EgressTry(f"api.EXAMPLE:{upstream}", True, "127.0.0.1"),)


def test_a_guest_reaches_it_from_its_cell(cells: Cells, upstream: int) -> None:
    cell = cells(egress=Egress((f"localhost:{upstream}",), private=("localhost",)))
    said = hostile(
        cell,
        f"""
import os
print("held", os.environ["HTTPS_PROXY"])
s = socket.create_connection(("127.0.0.1", 3128), 20)
s.sendall(b"CONNECT localhost:{upstream} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
print(s.recv(100).split(b"\\r\\n")[0])
s.sendall(b"hello")
print(s.recv(100))
""",
    )
    assert "200 Connection established" in said
    assert "b'HELLO'" in said
    assert [tried.allowed for tried in cell.tries()] == [True]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("other.example:443", "NOT_ALLOWED"),
        ("api.example:80", "NOT_ALLOWED"),
        ("api.example", "NOT_ALLOWED"),
        ("api.example:443:443", "NOT_ALLOWED"),
        ("api.example.:443", "NOT_ALLOWED"),
        ("api.example.evil.example:443", "NOT_ALLOWED"),
        ("user@api.example:443", "NOT_ALLOWED"),
        ("api.example:0443", "NOT_ALLOWED"),
        ("127.0.0.1:443", "ADDRESS_LITERAL"),
        ("[::1]:443", "ADDRESS_LITERAL"),
        ("127.1:443", "ADDRESS_LITERAL"),
        ("2130706433:443", "ADDRESS_LITERAL"),
        ("0x7f000001:443", "ADDRESS_LITERAL"),
        ("[::ffff:127.0.0.1]:443", "ADDRESS_LITERAL"),
    ],
)
def test_what_is_not_in_the_list_is_refused(starts: Starts, target: str, reason: str) -> None:
    proxy = starts(Egress(("api.example:443",)), ["127.0.0.1"])
    answer = ask(proxy, connect(target))
    assert answer.startswith(b"HTTP/1.1 403")
    assert [(t.allowed, t.reason) for t in proxy.tries()] == [(False, reason)]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "0.0.0.0", "224.0.0.1", "::1", "::", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1",
        "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::", "ff02::1",
    ],
)  # fmt: skip
def test_a_name_that_leads_inside_is_refused(starts: Starts, address: str) -> None:
    proxy = starts(Egress(("api.example:443",)), [address])
    assert ask(proxy, connect("api.example:443")).startswith(b"HTTP/1.1 403")
    assert proxy.tries()[0].reason == "ADDRESS_NOT_PUBLIC"


def test_one_inner_address_among_others_is_enough(starts: Starts) -> None:
    proxy = starts(Egress(("api.example:443",)), ["8.8.8.8", "127.0.0.1"])
    ask(proxy, connect("api.example:443"))
    assert proxy.tries()[0].reason == "ADDRESS_NOT_PUBLIC"


def test_a_name_is_looked_up_once_and_that_address_is_used(starts: Starts, upstream: int) -> None:
    """Rebinding: the second answer would lead elsewhere, and is never asked for."""
    allowed = Egress((f"api.example:{upstream}",), private=("api.example",))
    proxy = starts(allowed, ["127.0.0.1"], ["127.0.0.2"])
    ask(proxy, connect(f"api.example:{upstream}"), b"x")
    assert [tried.reason for tried in proxy.tries()] == ["127.0.0.1"]


def test_an_unknown_name_and_a_closed_port(starts: Starts) -> None:
    with socket.socket() as closed:  # kept, so that nobody else listens there
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        allowed = Egress((f"a.example:{port}",), private=("a.example",))
        proxy = starts(allowed, [], ["127.0.0.1"])
        assert ask(proxy, connect(f"a.example:{port}")).startswith(b"HTTP/1.1 403")
        assert ask(proxy, connect(f"a.example:{port}")).startswith(b"HTTP/1.1 502")
    assert [tried.reason for tried in proxy.tries()] == ["NAME_UNKNOWN", "UNREACHABLE"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n", "NOT_CONNECT"),
        (b"POST / HTTP/1.1\r\nHost: api.example\r\n\r\n", "NOT_CONNECT"),
        (b"\x16\x03\x01\x02\x00\x01", "NOT_HTTP"),
        (b"CONNECT api.example:443\r\n\r\n", "NOT_HTTP"),
        (b"CONNECT " + b"a" * 40_000, "NOT_HTTP"),
        (b"", "NOT_HTTP"),
    ],
)
def test_what_is_no_connect_is_refused(starts: Starts, text: bytes, reason: str) -> None:
    proxy = starts(Egress(("api.example:443",)), ["127.0.0.1"])
    assert b" 200 " not in ask(proxy, text)
    assert [(t.allowed, t.reason) for t in proxy.tries()] == [(False, reason)]


def test_what_is_written_down_is_plain_and_bounded(
    starts: Starts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood does not wash out what came first, and says how much it was."""
    monkeypatch.setattr(egress, "TRIES_KEPT", 4)
    proxy = starts(Egress(("api.example:443",)), ["127.0.0.1"])
    proxy._last = deque(maxlen=2)
    for number in range(10):
        ask(proxy, connect(f"host{number}.example{'x' * 1_000}:443"))
    tries = proxy.tries()
    assert [tried.target[:5] for tried in tries] == ["host0", "host1", "", "host8", "host9"]
    assert tries[2].reason == "6 more tries"
    assert max(len(tried.target) for tried in tries) == 300


@pytest.mark.parametrize(
    "name", ["", "example", "example:", ":443", "127.0.0.1:443", "a b:443", "exämple:443", "*:443"]
)
def test_a_list_that_is_no_list_of_hosts_is_refused(tmp_path: Path, name: str) -> None:
    refusal = EgressProxy.start(Egress((name,)), tmp_path / "s")
    assert isinstance(refusal, SandboxRefusal)
    assert refusal.code is SandboxCode.EGRESS_UNUSABLE


def test_no_socket_no_proxy(tmp_path: Path) -> None:
    refusal = EgressProxy.start(Egress(("a.example:443",)), tmp_path / "absent" / "s")
    assert isinstance(refusal, SandboxRefusal)
    assert "no socket" in refusal.message


def test_without_the_parser_there_is_no_egress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egress, "missing", lambda: True)
    refusal = EgressProxy.start(Egress(("a.example:443",)), tmp_path / "s")
    assert isinstance(refusal, SandboxRefusal)
    assert "remit[drain]" in refusal.hint
