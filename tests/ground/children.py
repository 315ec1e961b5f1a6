"""Child processes of a test: real ones, with pipes, a time limit on every wait, and a sure end."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import remit

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(remit.__file__).resolve().parents[1]


class Child:
    """``python -m MODULE …``; it says one JSON value a line."""

    def __init__(
        self, module: str, *arguments: str, wait_s: float = 60, env: dict[str, str] | None = None
    ) -> None:
        self._wait_s = wait_s
        self._rest = b""
        path = os.pathsep.join((str(SOURCE), str(ROOT)))
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, **(env or {})},
        )

    def send(self, text: str) -> None:
        """Write to its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def line(self) -> Any:
        """The next value that it says; fails where it ends or stays silent for too long."""
        assert self.process.stdout is not None
        until = time.monotonic() + self._wait_s
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise AssertionError(f"{self.process.args!r} was silent for {self._wait_s} s")
                read = os.read(self.process.stdout.fileno(), 1 << 20)
                if not read:
                    raise AssertionError(f"{self.process.args!r} ended: {self.process.wait()}")
                self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def ended(self) -> int:
        """Its return code, once its input is at its end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(self._wait_s)

    def kill(self) -> None:
        """End it at once, whatever it does, and let go of its pipes."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
