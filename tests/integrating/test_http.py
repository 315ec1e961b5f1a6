"""The same over HTTP on loopback: a server that takes the push, and hangs up before it says so."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from tests.integrating.lab import Lab

from remit.core.refusals import Code
from remit.wiring import Settings


class Served(BaseHTTPRequestHandler):
    """Git's own HTTP backend; ``lose`` is what happens to pushes, by turns."""

    root: ClassVar[str]
    lose: ClassVar[list[str]]
    pushes: ClassVar[int]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        push = self.path.endswith("/git-receive-pack")
        how = Served.lose.pop(0) if push and Served.lose else ""
        Served.pushes += push
        if how == "before":
            self.hang_up()
            return
        self.answer(body, lost=how == "after")

    def hang_up(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def answer(self, body: bytes, *, lost: bool = False) -> None:
        path, _, query = self.path.partition("?")
        place = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": Served.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": Served.root,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "HTTP_GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=place, capture_output=True, timeout=60
        )
        if lost:
            self.hang_up()
            return
        head, _, said = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def served(lab: Lab) -> Iterator[Lab]:
    Served.root, Served.lose, Served.pushes = str(lab.root), [], 0
    lab.git("config", "http.receivepack", "true", cwd=lab.origin)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Served)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    lab.git("remote", "set-url", "origin", f"http://127.0.0.1:{server.server_port}/origin.git")
    yield lab
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("markers", [True, False])
def test_a_server_that_hangs_up_after_it_took_the_push(served: Lab, markers: bool) -> None:
    served.settings = Settings(markers=markers)
    name = served.approved()
    theirs = served.moved({"a.txt": "two\n"})
    Served.lose = ["after"]
    found = served.integrate(name)
    assert (found.outcome, found.way, found.state) == ("shipped", "merge", "PRESENT")
    assert served.landed()[-2:] == [theirs, found.commit]
    assert Served.pushes == 1


def test_a_server_that_hangs_up_before_it_read_the_push(served: Lab) -> None:
    """The look-up's own push, which keeps the first one out, is lost as well; then one gets through."""
    name = served.approved()
    Served.lose = ["before", "before"]
    served.refused(name, Code.OUTCOME_UNKNOWN, command_id="c-1")
    assert len(served.landed()) == 1
    found = served.integrate(name, command_id="c-1")
    assert found.outcome == "shipped"
    assert served.landed()[1:] == [found.commit]
