"""A wire between a store and its server that a test can cut at a chosen message.

It stands in TCP's place on a socket of its own and passes bytes on until the client says COMMIT. Then it
cuts the wire: before the server hears of it, in the middle of the word, once the server has heard all
of it, or after the server has answered and before the client hears that. What else shall happen at
that moment, such as the end of either side, ``act`` does just before the cut.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

CUTS = ("before", "half", "sent", "after")


class Wire:
    """Listens beside the server's own socket; ``cut`` is one of ``CUTS``, or empty for none."""

    def __init__(self, folder: Path, behind: Path) -> None:
        self.folder = folder
        self.cut = ""
        self.act: Callable[[], object] = lambda: None
        self._behind = str(behind / ".s.PGSQL.5432")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self._behind)
            except OSError:  # the server is away, and so is what is behind this wire
                client.close()
                server.close()
                continue
            Passing(self, client, server).start()


class Passing:
    """One connection's two directions."""

    def __init__(self, wire: Wire, client: socket.socket, server: socket.socket) -> None:
        self._wire = wire
        self._client = client
        self._server = server
        self._muted = False

    def start(self) -> None:
        for work in (self._outward, self._inward):
            threading.Thread(target=work, daemon=True).start()

    def _outward(self) -> None:
        with suppress(OSError):
            while data := self._client.recv(1 << 16):
                at, cut = data.find(b"COMMIT\0"), self._wire.cut
                if at < 0 or cut not in CUTS:
                    self._server.sendall(data)
                    continue
                self._muted = True
                upto = {"before": 0, "half": at + 3}.get(cut, len(data))
                self._server.sendall(data[:upto])
                if cut != "after":
                    self._wire.act()
                    break
        self._end()

    def _inward(self) -> None:
        with suppress(OSError):
            while data := self._server.recv(1 << 16):
                if self._muted and self._wire.cut != "after":
                    return  # who cut it on the way out ends it
                if self._muted:
                    self._wire.act()
                    break
                self._client.sendall(data)
        self._end()

    def _end(self) -> None:
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
