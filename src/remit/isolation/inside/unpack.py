"""Opens what a guest packed, so that a scanner can read it: runs in a cell, and imports nothing of remit's.

It is told on standard input which files to open and where to lay what is in them: `{"files": [...], "out":
...}`. Each file gets a folder there, named by its number, and in it a file for each thing that was packed,
however deep, as bytes. What could not be opened, or only beyond a bound, is told on standard output with
why: whoever asked must not take that for clean. A thing that lies in a container as it is (a member of a
tar, a stored one of a zip) is not laid again, since the container is.

Nothing is believed of a container but what can be had from it: lengths and counts are bounded as they come.
"""

import bz2
import io
import json
import lzma
import re
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DEPTH = 4
PAYLOAD_BYTES = 64 << 20
TOTAL_BYTES = 256 << 20
COUNT = 20_000
TOLD = 50
_MEMORY_BYTES = 256 << 20
_TAIL_BYTES = 65_557
_WHY_CHARS = 120

_LOCAL, _END = b"PK\x03\x04", b"PK\x05\x06"
_BZIP = re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")
_STREAMS = ((b"\x1f\x8b\x08", "gz"), (b"\xfd7zXZ\0", "xz"), (b"]\0\0", "lzma"))
_CLOSED = (
    (b"7z\xbc\xaf\x27\x1c", "7z"), (b"Rar!\x1a\x07", "rar"), (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"), (b"\x1f\x9d", "compress"), (b"LZIP", "lzip"), (b"MSCF", "cab"),
    (b"xar!", "xar"), (b"\xed\xab\xee\xdb", "rpm"), (b"hsqs", "squashfs"), (b"PACK\0\0\0", "git pack"),
    (b"# v2 git bundle\n", "git bundle"), (b"# v3 git bundle\n", "git bundle"),
)  # fmt: skip
"""What holds other things by a form for which there is nothing here."""

_BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError,
    EOFError, OSError, RuntimeError, ValueError, OverflowError, MemoryError, IndexError,
)  # fmt: skip

Part = tuple[str, bytes, bool]
"""A thing that was packed: its name, its bytes, and whether the container holds them as they are."""


class Unknown(Exception):  # noqa: N818  # what it is, not what went wrong
    """Why something cannot be looked into."""


def packed(head: bytes, tail: bytes) -> bool:
    """Whether a file with these first and last bytes may hold something that is packed."""
    return bool(kind_of(head)) or _END in tail


def kind_of(data: bytes) -> str:
    """What packed these bytes, as far as their beginning or a zip's end says it."""
    for sign, kind in (*_STREAMS, *_CLOSED):
        if data.startswith(sign):
            return kind
    if _BZIP.match(data):
        return "bz2"
    if data[257:262] == b"ustar":
        return "tar"
    if data.startswith(b"!<arch>\n"):
        return "ar"
    if data.startswith((_LOCAL, _END, b"PK\x07\x08")):
        return "zip"
    found = _END in data[-_TAIL_BYTES:] and zipfile.is_zipfile(io.BytesIO(data))
    return "zip" if found else ""


def _stream(data: bytes, start: bytes, make: Callable[[], Any]) -> Iterator[Part]:
    """All streams of one form that follow one another, as their programs read them; then what follows."""
    whole = bytearray()
    while data.startswith(start):
        opener = make()
        whole += opener.decompress(data, PAYLOAD_BYTES - len(whole) + 1)
        if len(whole) > PAYLOAD_BYTES:
            raise Unknown(f"over {PAYLOAD_BYTES} bytes")
        if not opener.eof:
            yield "cut", bytes(whole), False
            raise Unknown("it is cut off")
        data = opener.unused_data.lstrip(b"\0")
    yield "", bytes(whole), False
    if data:
        yield "after", data, True


def _zip(data: bytes) -> Iterator[Part]:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        listed = sorted(opened.infolist(), key=lambda one: one.header_offset)
        at = 0
        for one in listed:
            between = data[at : one.header_offset]
            if at and _LOCAL in between:
                raise Unknown("it holds more than it lists")
            if not at and between:
                yield "before", between, True
            if one.flag_bits & 1:
                raise Unknown("it is encrypted")
            with opened.open(one) as member:
                found = member.read(PAYLOAD_BYTES + 1)
            if len(found) > PAYLOAD_BYTES:
                raise Unknown(f"over {PAYLOAD_BYTES} bytes")
            yield one.filename, found, one.compress_type == zipfile.ZIP_STORED
            start = one.header_offset
            name, extra = (
                int.from_bytes(data[start + n : start + n + 2], "little") for n in (26, 28)
            )
            at = start + 30 + name + extra + one.compress_size
        if _LOCAL in data[at : opened.start_dir]:
            raise Unknown("it holds more than it lists")


def _tar(data: bytes) -> Iterator[Part]:
    end = 0
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as opened:
        for one in opened:
            if one.isreg():
                member = opened.extractfile(one)
                found = member.read(PAYLOAD_BYTES + 1) if member else b""
                if len(found) > PAYLOAD_BYTES:
                    raise Unknown(f"over {PAYLOAD_BYTES} bytes")
                yield one.name, found, not one.issparse()
        end = opened.offset
    rest = data[end:].lstrip(b"\0")
    if rest and not kind_of(rest):
        raise Unknown("something follows that is no part of it")
    if rest:
        yield "after", rest, True


def _ar(data: bytes) -> Iterator[Part]:
    at = 8
    while at + 60 <= len(data):
        size = int(data[at + 48 : at + 58])
        name = data[at : at + 16].decode("ascii", "replace").strip()
        yield name, data[at + 60 : at + 60 + size], True
        at += 60 + size + size % 2


def _parts(kind: str, data: bytes, depth: int) -> Iterator[Part]:
    if kind in {one for _, one in _CLOSED}:
        raise Unknown(f"there is nothing here that opens {kind}")
    if depth >= DEPTH:
        raise Unknown(f"it is packed more than {DEPTH} times")
    if kind == "gz":
        return _stream(data, b"\x1f\x8b", lambda: zlib.decompressobj(31))
    if kind == "bz2":
        return _stream(data, b"BZh", bz2.BZ2Decompressor)
    if kind == "xz":
        return _stream(data, b"\xfd7zXZ\0", lambda: _lzma(lzma.FORMAT_XZ))
    if kind == "lzma":
        return _stream(data, b"]\0\0", lambda: _lzma(lzma.FORMAT_ALONE))
    return {"zip": _zip, "tar": _tar, "ar": _ar}[kind](data)


def _lzma(form: int) -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(form, memlimit=_MEMORY_BYTES)


class Unpacking:
    """Lays what is packed in one file, in a folder of its own."""

    def __init__(self, folder: Path, left: list[int]) -> None:
        self.folder = folder
        self.left = left  # bytes and things, of all files together
        self.unknown: list[tuple[str, str]] = []
        self.number = 0

    def open(self, data: bytes, name: str = "", depth: int = 0) -> None:
        """Open what these bytes pack and what that packs in turn; what it cannot is kept."""
        kind = kind_of(data)
        if not kind:
            return
        try:
            if not depth and data.startswith(b"PK"):
                self._lay("", data)
            for within, found, as_it_is in _parts(kind, data, depth):
                path = f"{name}!{within}" if within else name
                if not as_it_is:
                    self._lay(path, found)
                self._count(len(found) if as_it_is else 0)
                self.open(found, path, depth + 1)
        except Unknown as why:
            self.unknown.append((name, str(why)))
        except _BROKEN as error:
            self.unknown.append((name, f"{kind}: {type(error).__name__}: {error}"[:_WHY_CHARS]))

    def _lay(self, name: str, data: bytes) -> None:
        self._count(len(data))
        self.number += 1
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)[-80:]
        if data.startswith(b"PK"):
            data = b"\n" + data  # whoever reads it would take it for packed, and pass over it
        (self.folder / f"{self.number}_{plain}.txt").write_bytes(data)

    def _count(self, size: int) -> None:
        self.left[0] -= size
        self.left[1] -= 1
        if self.left[0] < 0:
            raise Unknown(f"over {TOTAL_BYTES} bytes altogether")
        if self.left[1] < 0:
            raise Unknown(f"over {COUNT} things altogether")


def main() -> int:
    """Open each file that standard input names, and tell what could not be opened."""
    asked = json.load(sys.stdin)
    left = [TOTAL_BYTES, COUNT]
    unknown: list[tuple[int, str, str]] = []
    for number, path in enumerate(asked["files"]):
        folder = Path(asked["out"], str(number))
        folder.mkdir()
        with Path(path).open("rb") as file:
            data = file.read(PAYLOAD_BYTES + 1)
        opening = Unpacking(folder, left)
        if len(data) > PAYLOAD_BYTES:
            opening.unknown.append(("", f"over {PAYLOAD_BYTES} bytes"))
        else:
            opening.open(data)
        unknown += [(number, name[-_WHY_CHARS:], why) for name, why in opening.unknown]
    json.dump({"unknown": unknown[:TOLD], "count": len(unknown)}, sys.stdout)
    return 0
