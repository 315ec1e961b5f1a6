"""Putting a worker together for an open ledger: what ``remit worker`` and programs call.

    app = remit.App()
    ...
    report = make(remit.open(url), "bob", app, Settings(concurrency=8)).run()

``make`` finds out everything that can be wrong before any lease is taken: who acts, which
destinations are registered and whether their adapters keep what is said of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from remit import wiring
from remit.core.facts import LEDGER, Actor, Ledger
from remit.core.refusals import Code
from remit.ports import RemitError
from remit.wiring.reaching import document_of
from remit.workers.app import App
from remit.workers.reaching import reach
from remit.workers.settings import Settings, Tell
from remit.workers.worker import Worker


def _silent(_event: str, _more: dict[str, Any]) -> None:
    """Tell nobody."""


def make(
    ledger: wiring.Ledger,
    actor: str,
    app: App,
    settings: Settings | None = None,
    tell: Tell = _silent,
    token: str = "",
) -> Worker:
    """A worker that acts as ``actor``; ``run()`` it, and ``stop()`` it from anywhere.

    ``token`` is what it shows where agents and services need one; ``ttl_ms`` 0 in the settings takes
    the ledger's. Raises ``RemitError``: ``BAD_INPUT`` for an app without handlers or an adapter that keeps too little, ``NOT_FOUND`` for a destination that is not
    registered, ``ACTOR_UNKNOWN`` and ``ACTOR_KIND_REFUSED``.
    """
    if not app.handlers:
        raise RemitError(
            "cannot work for an app without handlers",
            'write one: @app.handler("export")',
            code=Code.BAD_INPUT,
        )
    operations = ledger.acting(actor, token=token)
    refused = operations.caller.misnamed() or operations.caller.built_in()
    if refused is not None:
        raise RemitError(refused.message, refused.hint, refused.details, refused.code)
    with ledger.reading() as tx:
        facts = tx.load([LEDGER, ("actor", actor)])
    who, whole = facts["actor", actor], facts[LEDGER]
    if not isinstance(who, Actor) or who.revoked:
        raise RemitError(
            f"cannot work as {actor!r}: nobody of this name is enrolled",
            f"enrol it with 'remit actor add {actor} --kind service'",
            {"actor": actor},
            code=Code.ACTOR_UNKNOWN,
        )
    chosen = settings or Settings()
    if not chosen.ttl_ms and isinstance(whole, Ledger):
        chosen = replace(chosen, ttl_ms=whole.policy.ttl_ms)
    reached = reach(ledger.store, app, wiring.destination, document_of)
    return Worker(operations, app, reached, chosen, tell)
