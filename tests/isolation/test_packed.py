"""What a guest packed is opened and scanned, however often; what nobody can open is never called clean."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.isolation.conftest import needs_scanner, token

from remit.core.checks import Result
from remit.isolation import packed
from remit.isolation.elsewhere import NoSandbox
from remit.isolation.inside import unpack
from remit.isolation.inside.unpack import Unpacking, kind_of
from remit.isolation.packed import Opened
from remit.isolation.secrets import Kingfisher
from remit.ports.sandbox import SecretScan

Pack = Callable[[bytes], bytes]


def zipped(data: bytes, how: int = zipfile.ZIP_DEFLATED, name: str = "inner.txt") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as archive:
        archive.writestr(name, data)
    return made.getvalue()


def tarred(data: bytes, mode: Any = "w", name: str = "inner.txt") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def commented(data: bytes, said: bytes) -> bytes:
    made = io.BytesIO(zipped(data))
    with zipfile.ZipFile(made, "a") as archive:
        archive.comment = said
    return made.getvalue()


def archived(data: bytes) -> bytes:
    """As `ar` does it, of which packages of Debian are made."""
    even = data + b"\n" * (len(data) % 2)
    return (
        b"!<arch>\n"
        + b"control.tar.gz".ljust(48)
        + str(len(data)).encode().ljust(10)
        + b"`\n"
        + even
    )


PACKS: dict[str, Pack] = {
    "zip": zipped,
    "zip-bzip2": lambda data: zipped(data, zipfile.ZIP_BZIP2),
    "zip-lzma": lambda data: zipped(data, zipfile.ZIP_LZMA),
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda data: lzma.compress(data, format=lzma.FORMAT_ALONE),
    "tar.gz": lambda data: tarred(data, "w:gz"),
    "tar.xz": lambda data: tarred(data, "w:xz"),
    "zip-in-zip": lambda data: zipped(zipped(data)),
    "four-zips": lambda data: zipped(zipped(zipped(zipped(data)))),
    "tar.gz-in-zip": lambda data: zipped(tarred(data, "w:gz"), name="in.dat"),
    "zip-in-tar.gz": lambda data: tarred(zipped(data), "w:gz"),
    "gz-in-gz": lambda data: gzip.compress(gzip.compress(data)),
    "gz-in-tar-in-xz": lambda data: lzma.compress(tarred(gzip.compress(data))),
    "gz-in-ar": lambda data: archived(gzip.compress(data)),
    "second-stream": lambda data: gzip.compress(b"clean\n") + gzip.compress(data),
    "after-a-stream": lambda data: gzip.compress(b"clean\n") + zipped(data),
    "behind-a-program": lambda data: b"#!/bin/sh\nexit\n" * 20 + zipped(data),
    "before-a-zip": lambda data: zipped(data) + zipped(b"clean\n"),
    "after-a-tar": lambda data: tarred(b"clean\n") + gzip.compress(data),
    "a-name-in-gz": lambda data: gzip.compress(tarred(b"clean", name=data.decode().strip()[:90])),
    "after-in-gz": lambda data: gzip.compress(gzip.compress(b"clean") + data),
    "a-comment": lambda data: commented(b"clean", data.strip()),
    "stored-in-gz": lambda data: gzip.compress(zipped(data, zipfile.ZIP_STORED)),
}  # fmt: skip


def hidden() -> bytes:
    """A zip with an entry that it does not list."""
    one, other = zipped(b"listed"), zipped(b"x" * 100, name="other.txt")
    start = one.index(b"PK\x01\x02")
    grown = one[:start] + other[: other.index(b"PK\x01\x02")] + one[start:]
    end = grown.rindex(b"PK\x05\x06")
    at = start + len(other[: other.index(b"PK\x01\x02")])
    return grown[: end + 16] + at.to_bytes(4, "little") + grown[end + 20 :]


def flagged(data: bytes) -> bytes:
    """A zip that says that it is encrypted."""
    made = bytearray(zipped(data))
    made[6] |= 1
    made[made.index(b"PK\x01\x02") + 8] |= 1
    return bytes(made)


UNKNOWN: dict[str, bytes] = {
    "five-zips": zipped(zipped(zipped(zipped(zipped(b"deep"))))),
    "encrypted": flagged(b"hidden"),
    "not-listed": hidden(),
    "cut": gzip.compress(b"x" * 10_000)[:-9],
    "broken": b"PK\x03\x04" + b"\xff" * 100,
    "no-zip's-end": zipped(b"x" * 100)[:60],
    "7z": b"7z\xbc\xaf\x27\x1c" + b"\0" * 40,
    "zstd-in-zip": zipped(b"\x28\xb5\x2f\xfd" + b"\0" * 40),
    "rar": b"Rar!\x1a\x07\x01\0",
    "bundle": b"# v2 git bundle\n" + b"0" * 40,
    "bomb": gzip.compress(b"\0" * (unpack.PAYLOAD_BYTES + 1)),
    "bomb-in-bomb": gzip.compress(gzip.compress(b"\0" * (unpack.PAYLOAD_BYTES + 1))),
    "broken-tar": tarred(b"clean").rstrip(b"\0") + b"\0" * 512 + b"more" * 400,
    "zip-of-many": b"",
}


def many() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number in range(unpack.COUNT + 1):
            archive.writestr(str(number), b"")
    return made.getvalue()


UNKNOWN["zip-of-many"] = many()


def opened(data: bytes, folder: Path) -> tuple[bytes, list[tuple[str, str]]]:
    """All that was laid of some bytes, and what could not be opened."""
    folder.mkdir(exist_ok=True)
    opening = Unpacking(folder, [unpack.TOTAL_BYTES, unpack.COUNT])
    opening.open(data)
    return b"\n".join(file.read_bytes() for file in folder.iterdir()), opening.unknown


@pytest.mark.parametrize("name", PACKS)
def test_what_is_packed_is_laid(name: str, tmp_path: Path) -> None:
    text = f"token: {token(1)}\n".encode()
    data = PACKS[name](text if name == "a-name-in-gz" else b"clean\n" * 100 + text)
    assert name == "a-comment" or text.strip() not in data
    laid, unknown = opened(data, tmp_path / "out")
    assert text.strip() in laid
    assert unknown == []


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_cannot_be_opened_is_said(name: str, tmp_path: Path) -> None:
    assert kind_of(UNKNOWN[name])
    laid, unknown = opened(UNKNOWN[name], tmp_path / "out")
    assert unknown
    assert all(why for _, why in unknown)
    assert len(laid) <= unpack.TOTAL_BYTES


def test_what_is_laid_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "TOTAL_BYTES", 5_000)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(10):
            archive.writestr(str(number), bytes([number]) * 1_000)
    laid, unknown = opened(made.getvalue(), tmp_path / "out")
    assert len(laid) <= 5_000 + 10
    assert unknown == [("", "over 5000 bytes altogether")]


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"BZh9 is how a text may begin", b"\x1f\x8b", b"x" * 400, b"\0" * 70_000]
)
def test_an_ordinary_file_is_none_of_it(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(data)
    assert kind_of(data) == ""
    assert list(packed.looking(tmp_path)) == []


def test_only_plain_files_are_looked_at(tmp_path: Path) -> None:
    import os

    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "x").write_bytes(zipped(b"x"))
    (tmp_path / "behind").write_bytes(b"\x7fELF" + b"\0" * 100_000 + zipped(b"x"))
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "er" / "x")
    (tmp_path / "folder").symlink_to(tmp_path / "deep")
    os.mkfifo(tmp_path / "pipe")
    assert sorted(packed.looking(tmp_path)) == [tmp_path / "behind", tmp_path / "deep" / "er" / "x"]


@needs_scanner
@pytest.mark.timeout(300)
def test_no_scan_passes_over_what_is_packed(scanner: Kingfisher, tmp_path: Path) -> None:
    for number, (name, pack) in enumerate(PACKS.items()):
        place = tmp_path / "texts" / str(number) / name
        place.mkdir(parents=True)
        (place / "_f.txt").write_bytes(pack(f"token: {token(number)}\n".encode()))
    found = scanner.scan(tmp_path / "texts")
    assert found.result is Result.FAIL
    seen = {one.path.split("/")[1] for one in found.findings}
    assert seen == set(PACKS)
    assert "inner.txt" in next(one.path for one in found.findings if "/four-zips/" in one.path)


@needs_scanner
@pytest.mark.timeout(300)
def test_what_cannot_be_opened_is_never_clean(scanner: Kingfisher, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "fine.zip").write_bytes(zipped(b"nothing"))
    assert scanner.scan(texts).result is Result.PASS
    (texts / "deep.zip").write_bytes(UNKNOWN["five-zips"])
    found = scanner.scan(texts)
    assert found.result is Result.BLOCKED
    assert "deep.zip" in found.evidence
    assert "packed more than 4 times" in found.evidence
    (texts / "plain.txt").write_text(f"token: {token(3)}\n")
    assert scanner.scan(texts).result is Result.FAIL


def test_without_a_cell_nothing_is_opened(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(zipped(b"x"))
    out = tmp_path / "out"
    out.mkdir()
    found = packed.unpack(NoSandbox("linux"), tmp_path, lambda: out)
    assert isinstance(found, SecretScan)
    assert found.result is Result.BLOCKED


def test_where_nothing_is_packed_no_cell_is_made(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    assert packed.unpack(NoSandbox("linux"), tmp_path, lambda: tmp_path) == Opened()
