"""A door with TLS before a server that has none, and the certificates for it.

The wheel's server is built without TLS. What a client does about certificates is libpq's part all the
same, so this stands where the server's own end would: it answers the request for TLS that begins a
connection, takes the handshake, and passes on what is inside to the server's socket. ``seen`` keeps the
version of TLS of each connection that was let through.
"""

from __future__ import annotations

import datetime as dt
import selectors
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

ASKS_TLS: Final = (80877103).to_bytes(4)
ASKS_GSS: Final = (80877104).to_bytes(4)
DAY: Final = dt.timedelta(days=1)


class Authority:
    """One that signs certificates; ``path`` is its own, as a client is given it."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.path = folder / f"{name}.pem"
        made = self._builder(self._name, self._key, 0).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self._write(self.path, made)

    def certificate(self, host: str, *, days_ago: int = 0) -> tuple[Path, Path]:
        """A server's certificate for a host's name and its key; good for ten days."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        made = self._builder(subject, key, days_ago).add_extension(
            x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False
        )
        name = f"{self.path.stem}-{host}-{days_ago}"
        path, secret = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        self._write(path, made)
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        secret.chmod(0o600)
        return path, secret

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, days_ago: int
    ) -> x509.CertificateBuilder:
        start = dt.datetime.now(dt.UTC) - DAY * (days_ago + 1)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + DAY * 10)
        )

    def _write(self, path: Path, builder: x509.CertificateBuilder) -> None:
        signed = builder.sign(self._key, hashes.SHA256())
        path.write_bytes(signed.public_bytes(serialization.Encoding.PEM))


class Door:
    """Listens on loopback; with no certificate it says that there is no TLS."""

    def __init__(self, behind: Path, certificate: tuple[Path, Path] | None) -> None:
        self.seen: list[str] = []
        self.plain = 0
        self._behind = str(behind / ".s.PGSQL.5432")
        self._context: ssl.SSLContext | None = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(*certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
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
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        # A client that likes no certificate hangs up in the handshake.
        with suppress(OSError), client, socket.socket(socket.AF_UNIX) as server:
            inside, first = self._greet(client)
            server.connect(self._behind)
            server.sendall(first)
            with inside:
                _pass(inside, server)

    def _greet(self, client: socket.socket) -> tuple[socket.socket, bytes]:
        """The connection as it goes on, with what was read of it already."""
        while True:
            asked = client.recv(8, socket.MSG_WAITALL)
            if asked[4:] == ASKS_TLS and self._context is not None:
                client.sendall(b"S")
                inside = self._context.wrap_socket(client, server_side=True)
                self.seen.append(inside.version() or "")
                return inside, b""
            if asked[4:] not in (ASKS_TLS, ASKS_GSS):
                self.plain += bool(asked)  # nothing at all is no word
                return client, asked
            client.sendall(b"N")


def _pass(client: socket.socket, server: socket.socket) -> None:
    """Pass on what either says, until one hangs up."""
    ways = ((client, server), (server, client))
    with selectors.DefaultSelector() as ready:
        for end, other in ways:
            ready.register(end, selectors.EVENT_READ, (end, other))
        while True:
            for key, _ in ready.select():
                end, other = key.data
                data = end.recv(1 << 16)
                while isinstance(end, ssl.SSLSocket) and end.pending():
                    data += end.recv(1 << 16)
                if not data:
                    return
                other.sendall(data)
