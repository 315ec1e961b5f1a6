"""TLS by the URL: a server is believed by its certificate, and nothing is said to one that is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.stores.postgres.server import Server
from tests.stores.postgres.tls import Authority, Door
from tests.surfaces.cli.calling import Cli

from remit.core.refusals import Code

HOST = "localhost"


@dataclass
class Place:
    """A database behind doors that a test opens."""

    server: Server
    database: str
    known: Authority
    other: Authority
    open: Callable[[tuple[Path, Path] | None], Door]

    def url(self, door: Door, mode: str, *, host: str = HOST) -> str:
        """Through a door, with the certificate of the authority that clients know."""
        return (
            f"postgresql://postgres@{host}:{door.port}/{self.database}"
            f"?sslmode={mode}&sslrootcert={self.known.path}&gssencmode=disable"
        )


@pytest.fixture
def place(postgres: Server, database: str, tmp_path: Path) -> Iterator[Place]:
    doors: list[Door] = []

    def open_one(certificate: tuple[Path, Path] | None) -> Door:
        doors.append(Door(postgres.folder, certificate))
        return doors[-1]

    yield Place(
        postgres, database, Authority(tmp_path, "known"), Authority(tmp_path, "other"), open_one
    )
    for door in doors:
        door.close()


def test_a_ledger_behind_tls(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    door = place.open(place.known.certificate(HOST))
    cli = Cli(tmp_path)
    made = cli.run("init", "--ledger", place.url(door, "verify-full"), "--json").data
    assert "sslmode=verify-full" in made["ledger"], "who takes the URL up is as strict"
    assert f"sslrootcert={place.known.path}" in made["ledger"]
    monkeypatch.setenv("REMIT_LEDGER", made["ledger"])
    assert (
        cli.run("create", "Fix the parser", "--verify", "true", "--json").data["item"]["id"]
        == "W-1"
    )
    assert [i["id"] for i in cli.run("ready", "--json").data["items"]] == ["W-1"]
    assert cli.run("ledger", "verify", "--json").data["problems"] == []
    assert door.seen
    assert set(door.seen) <= {"TLSv1.2", "TLSv1.3"}
    assert door.plain == 0


Refusing = Callable[[Place], tuple[Door, str]]


def _unknown_authority(place: Place) -> tuple[Door, str]:
    door = place.open(place.other.certificate(HOST))
    return door, place.url(door, "verify-ca")


def _other_host(place: Place) -> tuple[Door, str]:
    door = place.open(place.known.certificate("db.example.org"))
    return door, place.url(door, "verify-full")


def _expired(place: Place) -> tuple[Door, str]:
    door = place.open(place.known.certificate(HOST, days_ago=30))
    return door, place.url(door, "verify-full")


def _no_tls(place: Place) -> tuple[Door, str]:
    door = place.open(None)
    return door, place.url(door, "require")


def _no_root(place: Place) -> tuple[Door, str]:
    door = place.open(place.known.certificate(HOST))
    return door, place.url(door, "verify-full").replace("known.pem", "gone.pem")


REFUSING: dict[str, tuple[Refusing, str]] = {
    "an authority that nobody knows": (_unknown_authority, "certificate verify failed"),
    "another host": (_other_host, "db.example.org"),
    "a certificate that is over": (_expired, "certificate verify failed"),
    "no TLS at all": (_no_tls, "does not support SSL"),
    "no root certificate": (_no_root, "gone.pem"),
}


@pytest.mark.parametrize("name", sorted(REFUSING))
def test_a_server_that_cannot_be_believed_is_told_nothing(
    name: str, place: Place, tmp_path: Path
) -> None:
    make, said = REFUSING[name]
    door, url = make(place)
    ran = Cli(tmp_path).run("init", "--ledger", url, "--json")
    assert ran.status == 8
    assert ran.error["code"] == Code.STORE_UNAVAILABLE
    assert said in ran.error["message"]
    assert door.plain == 0, "not a word without TLS"
    inside = Cli(tmp_path).run("list", "--ledger", place.server.url(place.database), "--json")
    assert inside.status != 0, "nothing was made there"
