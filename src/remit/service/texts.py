"""Texts on their way to the ledger: sound, bounded, and long ones as salted blobs.

Text that is short stays in its event. Text over ``INLINE`` bytes becomes a blob, and the event names
SHA-256 of a random salt and the bytes, so that erasing both later leaves every proof intact and the
digest tells nothing about a guessable text (CONTRACT 14). Text with lone surrogates or NUL cannot be
stored as it is and is refused by name, before anything is decided.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from operator import attrgetter
from typing import Any, Final

import msgspec

from remit.core.change import changed
from remit.core.commands import (
    Command,
    CreateItem,
    RecordAttempt,
    RegisterDestination,
    RegisterPolicy,
    RegisterValidation,
    ReviseItem,
    SubmitIntent,
    Text,
)
from remit.core.refusals import Code, Refused
from remit.ports import Blob

INLINE: Final = 4_096
"""Longest text, in bytes, that an event holds itself."""

LONGEST: Final = 16 * 1024 * 1024
"""Longest text, in bytes, that is taken at all."""

LONGEST_FIELD: Final = 4_096
"""Longest field, in characters, that stays in its event; texts that may be longer become blobs."""

LARGEST: Final = 1_024 * 1_024
"""Largest command, in bytes of JSON, beside the texts that became blobs."""

BOUNDED: Final = ("argv", "rubric", "red_reason", "patch")
"""Fields of verification rows, which have bounds of their own (``remit.core.rows``)."""

DOCUMENTED: Final[dict[type[Command], tuple[str, ...]]] = {
    SubmitIntent: ("",),
    RegisterValidation: ("rules",),
    RegisterPolicy: ("policy",),
    RegisterDestination: ("destination",),
}
"""Commands that carry a document as it was handed in, and the part that holds it."""

FOREIGN: Final = (RecordAttempt,)
"""Commands whose texts come from outside, so that they become blobs however short they are."""

SALT: Final = 16
"""Bytes of salt before a blob's own bytes."""


class Salts:
    """Salts of a call that is made twice: to have its statement written, and with the signature.

    A statement names blobs by their salted digests, so the second call has to salt as the first did.
    ``used`` are all that a call took, as (SHA-256 of the bytes, salt) in hexadecimal, and what ``known``
    takes for the next. Who keeps them can tell whether a guessed text is the one that was salted, so
    they are kept by the caller until the act is done, and never on the ledger.
    """

    def __init__(self, known: Iterable[tuple[str, str]] = ()) -> None:
        self.used: list[tuple[str, str]] = []
        self._left: dict[str, list[str]] = {}
        for plain, salt in known:
            self._left.setdefault(plain, []).append(salt)

    def of(self, data: bytes) -> bytes:
        """The salt for these bytes: the one that is known, each once, or a fresh one."""
        plain = hashlib.sha256(data).hexdigest()
        left = self._left.get(plain)
        salt = left.pop(0) if left else os.urandom(SALT).hex()
        self.used.append((plain, salt))
        return bytes.fromhex(salt)


def blob_of(data: bytes, salts: Salts | None = None) -> tuple[str, Blob]:
    """A blob with a salt, a fresh one unless ``salts`` knows it, and the digest that events name it by."""
    salt = os.urandom(SALT) if salts is None else salts.of(data)
    digest = hashlib.sha256(salt + data)
    return digest.hexdigest(), Blob(digest.digest(), salt, data)


class Prepared:
    """A command whose texts fit the ledger, with the blobs that some of them became."""

    def __init__(self, command: Command, salts: Salts | None = None) -> None:
        self._salts = salts
        self.blobs: list[Blob] = []
        self.plain: list[tuple[str, str]] = []
        self.command = command
        encoded = _encoded(command)
        self.refused = None if _plain(encoded) else _unsound(command)
        if self.refused is None:
            self.command = self._shorten(command)
            if len(encoded) > LONGEST_FIELD:
                self.refused = _oversized(self.command)

    def _shorten(self, command: Command) -> Command:
        if isinstance(command, CreateItem):
            return self._body(command, command.body)
        if isinstance(command, ReviseItem) and command.body is not None:
            command = self._body(command, command.body)
        for name in DOCUMENTED.get(type(command), ()):
            command = self._document(command, name)
        for name in _text_fields(type(command)):
            text: Text = getattr(command, name)
            foreign = bool(text.inline) and isinstance(command, FOREIGN)
            if foreign or len(text.inline) > INLINE or len(text.inline.encode()) > INLINE:
                ref = self._keep(text.inline.encode())
                command = changed(command, **{name: Text(ref=ref)})
        return command

    def _body(self, command: Any, body: str) -> Command:
        if len(body) <= INLINE and len(body.encode()) <= INLINE:
            return command  # type: ignore[no-any-return]  # the command that came in
        return changed(command, body="", text_ref=self._keep(body.encode()))  # type: ignore[no-any-return]  # same type

    def _document(self, command: Any, name: str) -> Command:
        """A document as it was handed in always becomes a blob; ``name`` is the part that holds it."""
        holder = getattr(command, name) if name else command
        if not holder.document:
            return command  # type: ignore[no-any-return]  # the command that came in
        kept = changed(holder, document=self._keep(holder.document.encode()))
        return replace(command, **{name: kept}) if name else kept  # type: ignore[no-any-return]  # same type

    def _keep(self, data: bytes) -> str:
        ref, blob = blob_of(data, self._salts)
        self.blobs.append(blob)
        self.plain.append((ref, hashlib.sha256(data).hexdigest()))
        return ref


_encode: Final = msgspec.json.Encoder().encode
_TEXTS: Final[dict[type, tuple[str, ...]]] = {}
_NAMES: Final[dict[type, tuple[tuple[str, ...], Any]]] = {}


def _text_fields(cls: type) -> tuple[str, ...]:
    known = _TEXTS.get(cls)
    if known is None:
        known = tuple(f.name for f in fields(cls) if f.type == "Text")
        _TEXTS[cls] = known
    return known


def _encoded(command: Command) -> bytes:
    """The command as JSON; nothing where a text cannot be encoded."""
    try:
        return _encode(command)
    except UnicodeEncodeError:
        return b""


def _plain(encoded: bytes) -> bool:
    """Whether it is plain that every text can be stored, as nearly always."""
    return 0 < len(encoded) <= LONGEST and b"\\u0000" not in encoded


def _unsound(command: Command) -> Refused | None:
    """Name the first text that cannot be stored."""
    for name, text in _strings(command, ""):
        if text.isascii() and "\0" not in text and len(text) <= LONGEST:
            continue
        found = ""
        if "\0" in text:
            found = "a NUL character"
        else:
            try:
                if len(text.encode()) > LONGEST:
                    found = f"more than {LONGEST} bytes"
            except UnicodeEncodeError:
                found = "a character that is not text (a lone surrogate)"
        if found:
            return Refused(
                Code.BAD_INPUT,
                f"{type(command).__name__}: {name} has {found}",
                "give plain text in UTF-8",
                {"field": name},
            )
    return None


def _oversized(command: Command) -> Refused | None:
    """Name the first part that would make an event larger than events may be."""
    size = len(_encode(command))
    for name, text in _strings(command, ""):
        if len(text) > LONGEST_FIELD and name not in BOUNDED:
            found = f"{name} has {len(text)} characters, at most {LONGEST_FIELD} are taken"
            break
    else:
        if size <= LARGEST:
            return None
        name, found = "", f"it has {size} bytes, at most {LARGEST} are taken"
    return Refused(
        Code.BAD_INPUT,
        f"{type(command).__name__}: {found}",
        "shorten it, or put it into a note",
        {"field": name},
    )


def _strings(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if value:
            yield path, value
    elif isinstance(value, tuple):
        for part in value:
            if part.__class__ is not int:
                yield from _strings(part, path)
    elif is_dataclass(value) and not isinstance(value, type):
        cls = type(value)
        known = _NAMES.get(cls)
        if known is None:
            names = tuple(f.name for f in fields(cls))
            known = (names, attrgetter(*names) if len(names) > 1 else None)
            _NAMES[cls] = known
        names, get = known
        values = get(value) if get else tuple(getattr(value, n) for n in names)
        for name, part in zip(names, values, strict=True):
            if part.__class__ is str:
                if part:
                    yield name, part
            elif part is not None and part.__class__ not in (int, bool):
                yield from _strings(part, name)
