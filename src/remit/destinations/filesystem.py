"""A folder as a destination: one file an effect, written whole or not at all.

Beside the files stands ``.remit``, with two small files an effect: a lock, and a record (JSON) of
key, digest, manifest id, path and the highest fence that was confirmed. A send holds the lock
exclusively from its checks (fence, expiry, key) to the last fsync, and a look-up takes the same lock.
So a look-up sees no half-done send, and whoever was paused before the checks meets them when he wakes:
that is why fence, key and expiry are really enforced, and why a look-up is consistent. A lock that
cannot be had in time is no answer, never an absence.

The file is written under another name, flushed, linked into place (which fails where something
stands there already) and its folder is flushed. What a look-up reports is read from the file itself;
the record is only what it is compared with. No symbolic link is followed anywhere below the root.
Compensation moves the file aside, under ``.remit/aside``, and removes nothing.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from remit.destinations import records
from remit.destinations.expiry import Clock, wall_us
from remit.destinations.naming import checked, segments, short
from remit.destinations.records import Folder, Record
from remit.ports.destination import (
    Answered,
    Enforced,
    LookUp,
    NoAnswer,
    NotSent,
    Reason,
    Request,
    Response,
    Result,
    Seen,
    unavailable,
)

_POLL_S = 0.01
_FILE_MODE = 0o640


@dataclass(frozen=True, slots=True)
class FolderDestination:
    """A folder of effects. ``path`` is a template below ``root``, which must exist."""

    name: str
    root: Path
    path: str
    record: str = ""
    now: Clock = wall_us

    def __post_init__(self) -> None:
        checked(self.path, "path")

    @property
    def enforced(self) -> Enforced:
        """All of it: the lock orders every send and look-up of one effect."""
        return Enforced(
            record=self.record or f"{self.name}:{self.root}",
            idempotency_key=True,
            fence=True,
            lookup=True,
            lookup_consistent=True,
            request_expiry=True,
            in_flight_ms=0,
            receipt_authoritative=True,
            compensation="move-aside",
        )

    def send(self, request: Request) -> Response:
        """Write the file, or move it aside where the request compensates."""
        parts = segments(self.path, request)
        with self._held(request.compensates or request.key, request.timeout_ms) as folder:
            record = self._checked(folder, request)
            if request.compensates:
                return self._move_aside(folder, request, record)
            return self._write(folder, request, parts, record)

    def look_up(self, look_up: LookUp) -> Seen:
        """Read the file and its record under the lock, confirming a fence first if asked to."""
        try:
            parts = segments(self.path, look_up)
            with self._held(look_up.compensates or look_up.key, look_up.timeout_ms) as folder:
                record = folder.read(short(look_up.compensates or look_up.key))
                if look_up.fence > record.fence:
                    record = record.with_fence(look_up.fence)
                    folder.keep(short(look_up.compensates or look_up.key), record)
                if look_up.compensates:
                    return self._seen_aside(folder, look_up, record)
                return self._seen(folder, parts, record)
        except (NotSent, NoAnswer, Answered) as error:
            return unavailable(error.message)
        except (OSError, ValueError) as error:
            return unavailable(f"cannot read {self.name}: {_said(error)}")

    @contextmanager
    def _held(self, key: str, timeout_ms: int) -> Iterator[Folder]:
        """The folder, with this key's lock held."""
        end = time.monotonic() + timeout_ms / 1_000
        try:
            folder = Folder(self.root)
        except OSError as error:
            raise NotSent(
                f"cannot use the folder {self.root}: {_said(error)}",
                "make the folder, or mount it; it must be no symbolic link",
                {"path": str(self.root)},
            ) from error
        try:
            while not folder.lock(short(key)):
                if time.monotonic() >= end:
                    raise NotSent(
                        f"cannot lock {self.name} for {key[:80]!r} within {timeout_ms} ms",
                        "another process sends or looks; repeat, or see what holds it up",
                    )
                time.sleep(_POLL_S)
            yield folder
        finally:
            folder.close()

    def _checked(self, folder: Folder, request: Request) -> Record:
        """The record, after fence and expiry were found good, with this request's fence kept."""
        name = short(request.compensates or request.key)
        try:
            record = folder.read(name)
        except (OSError, ValueError) as error:
            raise NotSent(
                f"cannot read the record of {request.effect_id} in {self.name}: {_said(error)}",
                f"look at {self.root}/.remit/{name}.json",
            ) from error
        if request.fence < record.fence:
            raise Answered(
                Reason.STALE_FENCE,
                f"{self.name} refuses {request.effect_id}: fence {request.fence} is below the"
                f" confirmed {record.fence}",
                "this attempt is over; look the effect up",
            )
        if request.expires_at is not None and self.now() >= request.expires_at:
            raise Answered(
                Reason.EXPIRED,
                f"{self.name} refuses {request.effect_id}: the request ended at"
                f" {request.expires_at}",
                "look the effect up before anything is sent again",
            )
        return record.with_fence(request.fence)

    def _write(
        self, folder: Folder, request: Request, parts: list[str], record: Record
    ) -> Response:
        reference = "/".join(parts)
        if record.aside:
            raise Answered(Reason.REJECTED, f"{reference} was moved aside by {record.aside}")
        try:
            there = folder.digest(parts)
        except (OSError, ValueError) as error:
            raise NotSent(
                f"cannot write {reference} in {self.name}: {_said(error)}",
                "each part of the path must be a folder, and no symbolic link",
            ) from error
        if there is not None:
            return _replay(request, reference, there, record)
        name = short(request.key)
        try:
            folder.keep(name, record.about(request, reference))
            folder.write(parts, request.payload, name, _FILE_MODE)
        except OSError as error:
            raise _failed(self.name, request, error) from error
        return Response(reference, replayed=False)

    def _move_aside(self, folder: Folder, request: Request, record: Record) -> Response:
        mark = short(request.key)
        if record.aside == mark:
            return Response(f"aside/{mark}", replayed=True)
        if record.aside or not record.path:
            raise Answered(Reason.REJECTED, f"{self.name}: nothing to move aside for the key")
        try:
            if not folder.move_aside(record.path.split("/"), mark):
                raise Answered(Reason.REJECTED, f"{record.path} is not there to move aside")
            folder.keep(short(request.compensates), record.moved(mark))
        except OSError as error:
            raise _failed(self.name, request, error) from error
        return Response(f"aside/{mark}", replayed=False)

    def _seen(self, folder: Folder, parts: list[str], record: Record) -> Seen:
        found = folder.digest(parts)
        if found is None:
            return Seen(Result.NONE, 0, consistent=True, confirmed_fence=record.fence)
        differences = []
        values = [("digest", found), ("path", "/".join(parts))]
        if not record.path:
            differences.append("no record beside the file")
        else:
            values += [("effect_id", record.effect_id), ("manifest_id", record.manifest_id)]
            if record.digest != found:
                differences.append(f"record: digest {record.digest}; file: {found}")
        return Seen(Result.FOUND, 1, tuple(values), tuple(differences), True, record.fence)

    def _seen_aside(self, folder: Folder, look_up: LookUp, record: Record) -> Seen:
        mark = short(look_up.key)
        found = folder.digest([records.HOME, "aside", mark])
        if found is None:
            return Seen(Result.NONE, 0, consistent=True, confirmed_fence=record.fence)
        values = (("digest", found), ("path", f"aside/{mark}"), ("effect_id", look_up.effect_id))
        left = record.path and folder.digest(record.path.split("/")) is not None
        differences = (f"{record.path} is there again",) if left else ()
        return Seen(Result.FOUND, 1, values, differences, True, record.fence)


def _replay(request: Request, reference: str, there: str, record: Record) -> Response:
    """Nothing to do where the very object is there; anything else is another one."""
    if record.key == request.key and there == request.digest:
        return Response(reference, replayed=True)
    raise Answered(
        Reason.KEY_REUSED,
        f"{reference} has digest {there}; the request has {request.digest}",
        "two contents for one effect: decide which one it is",
    )


def _failed(name: str, request: Request, error: OSError) -> NoAnswer:
    """A write that broke off; what is there, a look-up says."""
    hint = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "see the folder"
    return NoAnswer(
        f"cannot finish writing {request.effect_id} to {name}: {_said(error)}",
        f"{hint}; then look the effect up",
    )


def _said(error: Exception) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
