"""What one call shows of itself: a token, a key that signs, or a statement that was signed elsewhere.

``--key FILE`` lets ``ssh-keygen`` sign, which asks for passphrase, PIN or touch by itself.
``--statement FILE`` takes two calls: the first writes the statement and stops, somebody signs it wherever
the key is, and the same call again brings ``FILE.sig`` along. What is signed is printed before. Where the
call has long texts or a document, ``FILE.salts`` keeps meanwhile what the ledger salts them with; it stays
here, and whoever signs does not need it.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.core.refusals import Code, Refused
from remit.core.signing import parts_of
from remit.surfaces.cli.answers import stop
from remit.surfaces.cli.visible import visible

if TYPE_CHECKING:
    from remit.core.actor_commands import KeySpec
    from remit.service.texts import Salts
    from remit.surfaces.cli.session import Options

TOKEN: str = "REMIT_TOKEN"  # noqa: S105  # a variable's name, not a secret
_SALTED = re.compile(r"([0-9a-f]{64}) ([0-9a-f]{32})")


def what_is_shown(options: Options) -> dict[str, Any]:
    """What ``Ledger.acting`` takes beside the actor's name."""
    found: dict[str, Any] = {}
    if token := os.environ.get(TOKEN, ""):
        found["token"] = token
    if options.key and options.statement:
        raise stop(
            Code.BAD_INPUT,
            "--key and --statement were both given, expected one of them",
            "sign here with --key, or elsewhere with --statement",
        )
    if options.key:
        found["signer"] = _by_key(Path(options.key), options)
        found["files"] = (Path(options.key),)
    if options.statement:
        found |= _elsewhere(Path(options.statement), options)
    return found


def _say(text: str) -> None:
    if sys.stderr is not None:
        print(visible(text, lines=True), file=sys.stderr)


def _told(statement: str, namespace: str, options: Options) -> None:
    """Say what is about to be signed; programs find it in the answer."""
    if options.json or options.quiet:
        return
    parts = parts_of(statement)
    _say(
        f"you sign, as {parts.get('actor')}: {parts.get('act')} on {parts.get('subject')}"
        f" (namespace {namespace}, content {str(parts.get('content'))[:12]})"
    )


def _by_key(key: Path, options: Options) -> Any:
    def sign(statement: str, namespace: str) -> str | Refused:
        from remit.wiring.signing import sign as by_openssh

        _told(statement, namespace, options)
        made = by_openssh(statement, namespace, key)
        if isinstance(made, str):
            return made
        return Refused(Code.SIGNATURE_MISSING, made.reason, "repeat it, or sign with --statement")

    return sign


def _elsewhere(path: Path, options: Options) -> dict[str, Any]:
    """The statement and its signature where both are there, or what writes the statement."""
    from remit.service.proving import Signed
    from remit.service.texts import Salts

    signature = Path(f"{path}.sig")
    if not (path.exists() and signature.exists()):
        salts = Salts()
        return {"signer": _writing(path, salts, options), "salts": salts}
    statement = _read(path)
    parts = parts_of(statement)
    nonce, until = parts.get("nonce"), parts.get("until")
    if not isinstance(nonce, str) or not isinstance(until, int):
        raise stop(Code.BAD_INPUT, f"{path} is no statement of remit", "write it anew")
    signed = Signed(nonce, until, statement, _read(signature))
    return {"signed": signed, "salts": Salts(_kept(path))}


def _salts_of(path: Path) -> Path:
    return Path(f"{path}.salts")


def _kept(path: Path) -> list[tuple[str, str]]:
    """The salts that were kept beside a statement; none where it needed none."""
    beside = _salts_of(path)
    lines = _read(beside).splitlines() if beside.exists() else []
    found = [_SALTED.fullmatch(line) for line in lines]
    if None in found:
        raise stop(
            Code.BAD_INPUT, f"{beside} holds no salts of remit", f"remove {path} and {beside}"
        )
    return [(one[1], one[2]) for one in found if one is not None]


def _keep(path: Path, salts: Salts) -> None:
    """Keep the salts of a statement for its second call, where only this user reads them."""
    beside = _salts_of(path)
    beside.unlink(missing_ok=True)
    if salts.used:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.writelines(f"{plain} {salt}\n" for plain, salt in salts.used)


def _writing(path: Path, salts: Salts, options: Options) -> Any:
    def write(statement: str, namespace: str) -> str | Refused:
        _told(statement, namespace, options)
        try:
            _keep(path, salts)
            path.write_text(statement, encoding="utf-8")
        except OSError as error:
            raise stop(
                Code.BAD_INPUT, f"cannot write {path}: {error.strerror}", "name another file"
            ) from error
        return Refused(
            Code.SIGNATURE_WANTED,
            f"nothing was done yet: the statement to sign is in {path}",
            f"sign it where the key is: ssh-keygen -Y sign -n {namespace} -f KEY {path}, bring"
            f" {path}.sig here, and repeat the same command",
            {"statement": str(path), "namespace": namespace},
        )

    return write


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(20_000).decode("utf-8", "replace")
    except OSError as error:
        raise stop(
            Code.BAD_INPUT, f"cannot read {path}: {error.strerror}", "see that it can be read"
        ) from error


def key_spec(path: str, expires_at: int | None = None) -> KeySpec:
    """The public key in a file, to enrol; only its public part is ever read."""
    from remit.core.actor_commands import KeySpec
    from remit.ports.signing import SignatureFault
    from remit.wiring.signing import public_key

    found = public_key(Path(path))
    if isinstance(found, SignatureFault):
        raise stop(Code.BAD_INPUT, f"cannot enrol {path}: {found.reason}", "name a public key file")
    return KeySpec(found.fingerprint, found.kind, found.blob, found.hardware, expires_at)
