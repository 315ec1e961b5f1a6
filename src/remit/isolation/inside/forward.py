"""The forwarder of a cell: a TCP port inside that leads to the proxy's socket, and nowhere else.

`launch.py` starts it where a cell has egress, and imports it only then: the modules that it needs cost
each command in a cell more than the rest of closing the cell does. It runs behind all of the cell's
walls, as a child of its own, and carries bytes; what may be reached is the proxy's to say. It imports
nothing of remit's.
"""

import os
import signal
import socket
import threading


def forward(port: int, path: str) -> None:
    """Serve a TCP port of the cell from a child process: each connection goes on to the socket."""
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    if os.fork():
        listener.close()
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # it must not keep the guest's output open
        os.dup2(nowhere, standard)
    while True:
        near, _ = listener.accept()
        threading.Thread(target=_carry, args=(near, path), daemon=True).start()


def _carry(near: socket.socket, path: str) -> None:
    far = socket.socket(socket.AF_UNIX)
    with near, far:
        try:
            far.connect(path)
            back = threading.Thread(target=_pour, args=(far, near), daemon=True)
            back.start()
            _pour(near, far)
            back.join()
        except OSError:
            return  # one connection ended badly; the guest sees that it did


def _pour(source: socket.socket, sink: socket.socket) -> None:
    try:
        while block := source.recv(65_536):
            sink.sendall(block)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return  # either side went away
