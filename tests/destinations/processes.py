"""Servers as processes of their own, and a way to them that can fail."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class Process:
    """A server that prints its port, and stops when we close its input."""

    def __init__(self, script: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.strip():
            self.stop()
            raise AssertionError(f"{script} did not start")
        self.port = int(line)
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        self.process.stdout.close()


class Service(Process):
    """The recording service, with its controls; ``record`` is a file that keeps every request."""

    def __init__(self, record: Path | None = None) -> None:
        super().__init__("service.py", *([str(record)] if record else []))

    def control(self, **state: Any) -> None:
        body = json.dumps(state).encode()
        with urllib.request.urlopen(f"{self.url}/_control", body, timeout=60) as answer:
            answer.read()

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return json.loads(answer.read())

    def log(self, key: str) -> list[dict[str, Any]]:
        return [entry for entry in self.get("/_log") if entry["key"] == key]

    def objects(self, key: str) -> int:
        return int(self.get("/_objects").get(key, 0))

    @contextlib.contextmanager
    def during(self, **state: Any) -> Iterator[None]:
        self.control(**state)
        try:
            yield
        finally:
            self.control(**dict.fromkeys(state, 0))


class Way:
    """A TCP way to a server on loopback: it can be cut, lose answers, and be slow to pass on."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.cut = False
        self.lose_answers = False
        self.delay_ms = 0
        self.connections = 0
        self._stopped = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @contextlib.contextmanager
    def outage(self) -> Iterator[None]:
        self.cut = True
        try:
            yield
        finally:
            self.cut = False

    @contextlib.contextmanager
    def losing(self) -> Iterator[None]:
        self.lose_answers = True
        try:
            yield
        finally:
            self.lose_answers = False

    @contextlib.contextmanager
    def delayed(self, by_ms: int) -> Iterator[None]:
        self.delay_ms = by_ms
        try:
            yield
        finally:
            self.delay_ms = 0

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.cut:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._to))
            threading.Thread(target=self._pass, args=(near, far, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, False), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, there: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if there:
                    time.sleep(self.delay_ms / 1_000)
                last = not data.startswith(b"HTTP/1.1 100")
                if self.cut or (self.lose_answers and last and not there):
                    break
                target.sendall(data)
        # A sender that gives up takes nothing back of what it sent before.
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR if there else socket.SHUT_RDWR)
        if not there:
            source.close()
            target.close()
