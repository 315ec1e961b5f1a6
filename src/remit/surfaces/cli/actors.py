"""Commands on who may act, and on what proves it: actors, keys of humans, tokens of agents.

Only a human enrols or revokes, and once a human has a key, humans and keys change by signature alone.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.core import commands as c
from remit.core.facts import Actor
from remit.core.refusals import Code
from remit.surfaces.cli.answers import Answer, stop
from remit.surfaces.cli.declare import OPERATE, writes
from remit.surfaces.cli.groups import actor
from remit.surfaces.cli.planning import Why, event_of
from remit.surfaces.cli.session import Session, accepted
from remit.surfaces.cli.signing import key_spec
from remit.surfaces.cli.working import duration_ms

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen

ActorName = Annotated[str, typer.Argument(metavar="NAME", help="The actor's name.")]
Public = Annotated[
    str, typer.Option("--public", metavar="FILE", help="A human's public key, in OpenSSH's format.")
]
Expires = Annotated[
    str,
    typer.Option(
        "--expires", metavar="TIME", help="How long it counts: 90d, or 2027-01-31T12:00Z."
    ),
]


def _actor(screen: Screen, data: Any) -> None:
    found = data["actor"]
    screen.line(f"{found['name']}: {found['kind']}{', revoked' if found['revoked'] else ''}")
    for key in found["keys"]:
        screen.line(f"  {key['fingerprint']}{' revoked' if key['revoked'] else ''}")


def _answer(session: Session, name: str, done: Any) -> Answer:
    from remit.service.reading.registers import actor_of

    with session.ledger.reading() as tx:
        fact = tx.load([("actor", name)])["actor", name]
    assert isinstance(fact, Actor), "it was changed just now"
    return Answer({"actor": actor_of(fact), "event": event_of(done)}, _actor)


def until(session: Session, text: str) -> int | None:
    """The ledger's time after this long, or a date as it is; None where nothing was said.

    What is signed in two calls needs a date: after some time means something else each time.
    """
    if not text:
        return None
    try:
        named = datetime.fromisoformat(text)
    except ValueError:
        named = None
    if named is not None:
        return int(named.astimezone(UTC).timestamp() * 1_000_000)
    with session.ledger.reading() as tx:
        return tx.now() + duration_ms("--expires", text) * 1_000


@writes(
    actor,
    "add",
    OPERATE,
    "remit actor add bot-1",
    "remit actor add bea --kind human --public bea.pub --key ~/.ssh/id_ed25519",
)
def actor_add(
    session: Session,
    name: ActorName,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="human, agent or service.")
    ] = "agent",
    public: Public = "",
    expires: Expires = "",
) -> Answer:
    """Let somebody act. A name is a label: keys prove humans, tokens agents and services."""
    key = key_spec(public, until(session, expires)) if public else None
    command = c.EnrolActor(name, kind, key)
    return _answer(
        session,
        name,
        accepted(session.operations.enrol(command, command_id=session.command_id)),
    )


@writes(actor, "revoke", OPERATE, 'remit actor revoke bot-1 --reason "replaced"')
def actor_revoke(session: Session, name: ActorName, reason: Why = "") -> Answer:
    """Accept nothing new from an actor; what it did stays."""
    command = c.RevokeActor(name, reason)
    return _answer(
        session,
        name,
        accepted(session.operations.revoke(command, command_id=session.command_id)),
    )


@writes(
    actor,
    "key",
    OPERATE,
    "remit actor key ann --public ann-token.pub --key ~/.ssh/id_ed25519",
    "remit actor key ann --revoke SHA256:Wd8…",
)
def actor_key(
    session: Session,
    name: ActorName,
    public: Public = "",
    revoke: Annotated[
        str, typer.Option("--revoke", metavar="FINGERPRINT", help="Take nothing new from this key.")
    ] = "",
    expires: Expires = "",
    reason: Why = "",
) -> Answer:
    """Enrol another key of a human, or revoke one. A person counts once, however many keys.

    A key that signs unprompted for this user is refused: so could an agent.
    """
    if bool(public) == bool(revoke):
        raise stop(
            Code.BAD_INPUT,
            f"cannot change keys of {name}: expected --public or --revoke, one of them",
            "say which",
        )
    if public:
        command: c.Command = c.EnrolKey(name, key_spec(public, until(session, expires)))
    else:
        command = c.RevokeKey(name, revoke, reason)
    done = accepted(session.operations.run(command, command_id=session.command_id))
    return _answer(session, name, done)


def _token(screen: Screen, data: Any) -> None:
    screen.line(data["token"])
    if data["counts_as"] == "asserted":
        screen.line("on this ledger a token proves nothing: agents share its file")


@writes(
    actor,
    "token",
    OPERATE,
    "remit actor token bot-1 --expires 8h",
    "remit actor token bot-1 --item W-4 --expires 2h",
)
def actor_token(
    session: Session,
    name: ActorName,
    item: Annotated[
        str, typer.Option("--item", metavar="ID", help="Good for this item alone.")
    ] = "",
    lease: Annotated[
        str, typer.Option("--lease", metavar="LEASE", help="Good under this lease alone.")
    ] = "",
    expires: Expires = "",
    revoke: Annotated[
        str, typer.Option("--revoke", metavar="TOKEN", help="Let this token count no more.")
    ] = "",
    reason: Why = "",
) -> Answer:
    """Issue a token for an agent or service, shown this once; it goes into REMIT_TOKEN.

    The ledger keeps a digest of it. Where agents share the ledger's file it counts as asserted.
    """
    from remit.core.facts import LEDGER, Ledger
    from remit.service.proving import token_text

    if revoke:
        ident = revoke.removeprefix("remit_").partition("_")[0]
        gone = c.RevokeToken(ident, reason)
        done = accepted(session.operations.run(gone, command_id=session.command_id))
        data = {"token": ident, "revoked": True, "event": event_of(done)}
        return Answer(data, lambda screen, shown: screen.line(f"{shown['token']} is revoked"))
    ident, secret = secrets.token_hex(8), secrets.token_hex(32)
    exact = session.exact(item) if item else ""
    digest = hashlib.sha256(secret.encode()).hexdigest()
    command = c.IssueToken(name, ident, digest, exact, lease, until(session, expires))
    done = accepted(session.operations.run(command, command_id=session.command_id))
    with session.ledger.reading() as tx:
        fact = tx.load([LEDGER])[LEDGER]
    served = isinstance(fact, Ledger) and fact.served
    data = {
        "token": token_text(ident, secret),
        "id": ident,
        "counts_as": "token" if served else "asserted",
        "event": event_of(done),
    }
    return Answer(data, _token)
