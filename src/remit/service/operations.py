"""The canonical operations: the only way to change a ledger (INV-17).

Each takes one command or many and returns one answer or as many: ``Done`` with the events that it
led to, or ``Refused`` with a typed code. Every surface, the drain and the demo call these, and none
of them can reach the store past them. A list is one transaction for each thousand elements, refused
elements change nothing and stop no other, and ``atomic`` makes it all or nothing. With a
``command_id`` the same call asked again answers as before (in a list, each element has the id
``id/index``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core.change import changed
from remit.core.commands import Command
from remit.core.refusals import Code, Refused
from remit.core.signing import Proof, Shown
from remit.ports import Store
from remit.ports.signing import Signatures
from remit.service.answers import item_of, lease_of
from remit.service.calling import ACTS, Caller, hearsay, only_seen
from remit.service.engine import ABORTED, Answer, Call, Engine
from remit.service.fitting import in_one_line, misfit, unfit_name
from remit.service.proving import Signed, examined, shown_token, tried
from remit.service.running import RunOperations
from remit.service.texts import Prepared

__all__ = ["Caller", "Operations", "item_of", "lease_of"]

if TYPE_CHECKING:
    from remit.core.planning.bundle import Bundle
    from remit.service.planning import Applied, Progress

C = TypeVar("C", bound=Command)

DIGEST: Final = 64
"""Hexadecimal digits of a blob's digest."""


VALIDITY_US: Final = 24 * 60 * 60 * 1_000_000
"""How long a statement may be signed after it was asked for: a day."""


class Operations(RunOperations):
    """Canonical operations of one ledger for one caller."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        engine: Engine | None = None,
        signatures: Signatures | None = None,
    ) -> None:
        self.store = store
        self.caller = caller
        self.engine = engine or Engine(store)
        self.signatures = signatures

    @property
    def token(self) -> Shown | None:
        """The token that the caller shows, if it is one."""
        found = shown_token(self.caller.token)
        return None if isinstance(found, Refused) else found

    @overload
    def run(self, commands: Command, *, command_id: str = ..., urgent: bool = ...) -> Answer: ...

    @overload
    def run(
        self,
        commands: Sequence[Command],
        *,
        command_id: str = ...,
        atomic: bool = ...,
        urgent: bool = ...,
    ) -> list[Answer]: ...

    def run(
        self,
        commands: Command | Sequence[Command],
        *,
        command_id: str = "",
        atomic: bool = False,
        urgent: bool = False,
    ) -> Answer | list[Answer]:
        """Run one command or many.

        ``atomic``: all or none. ``urgent``: goes before other writers. Returns one answer for one
        command, a list for a list. Raises ``StoreUnavailable``, ``OutcomeUnknown`` (repeat with the
        same command id) or ``LedgerCorrupt``.
        """
        if isinstance(commands, Command):
            return self.run_each([commands], [command_id], urgent=urgent)[0]
        ids = [f"{command_id}/{i}" if command_id else "" for i in range(len(commands))]
        return self.run_each(commands, ids, atomic=atomic, urgent=urgent)

    def run_each(
        self,
        commands: Sequence[Command],
        ids: Sequence[str],
        *,
        atomic: bool = False,
        urgent: bool = False,
    ) -> list[Answer]:
        """Run commands under command ids of their own, empty where one has none.

        What only remit itself can have seen is refused here, whoever says it: a ship is an
        observation and never a report.
        """
        told = [i for i, command in enumerate(commands) if only_seen(command)]
        unsound = {i: hearsay(commands[i]) for i in told}
        return self._run(commands, ids, self.caller.built_in(), unsound, atomic, urgent)

    def observed(self, commands: Sequence[Command], ids: Sequence[str]) -> list[Answer]:
        """Run what this process saw itself just now. For the service alone; no surface calls it."""
        return self._run(commands, ids, None, {}, atomic=False, urgent=False)

    def adopting(self, command: c.AdoptEpoch, command_id: str = "") -> Answer:
        """Take a ledger into use that takes no other write before."""
        how = {"adopting": True}
        return self._run([command], [command_id], self.caller.built_in(), {}, False, False, **how)[
            0
        ]

    def _run(
        self,
        commands: Sequence[Command],
        ids: Sequence[str],
        wrong: Refused | None,
        unsound: dict[int, Refused],
        atomic: bool,
        urgent: bool,
        adopting: bool = False,
    ) -> list[Answer]:
        calls: list[Call] = []
        caller = self.caller
        token = shown_token(caller.token)
        wrong = caller.misnamed() or wrong
        if isinstance(token, Refused):
            wrong, token = wrong or token, None
        for i, command in enumerate(commands):
            if not isinstance(command, Command):
                raise TypeError(f"expected a command, found {type(command).__name__}")
            refused = wrong or unsound.get(i) or unfit_name("command id", ids[i]) or misfit(command)
            if refused is not None:
                unsound[i] = refused
                continue
            known = tried(self.signatures, command)
            if isinstance(known, Refused):
                unsound[i] = known
                continue
            prepared = Prepared(known, caller.salts)
            if prepared.refused is not None:
                unsound[i] = prepared.refused
                continue
            calls.append(
                Call(
                    prepared.command,
                    caller.actor,
                    ids[i],
                    tuple(prepared.blobs),
                    tuple(prepared.plain),
                    caller.conversation_ref,
                    caller.trace_context,
                    None,
                    token,
                )
            )
        if atomic and unsound:
            return [unsound.get(i, ABORTED) for i in range(len(commands))]
        how = {"atomic": atomic, "urgent": urgent, "adopting": adopting}
        acting = not atomic and any(type(call.command) in ACTS for call in calls)
        signing = acting and (caller.signer or (caller.signed and len(calls) == 1))
        if signing:
            answers = iter([self._prove(call, how) for call in calls])
        else:
            answers = iter(self.engine.run(calls, **how) if calls else ())
        found = [unsound[i] if i in unsound else next(answers) for i in range(len(commands))]
        return [in_one_line(a) if isinstance(a, Refused) else a for a in found]

    def _prove(self, call: Call, how: dict[str, bool]) -> Answer:
        """Run one call with its signature: the statement is asked for, signed and verified first.

        A call that is no act, or is refused for another reason, is answered as without one.
        """
        signed = self.caller.signed
        if signed is None:
            with self.store.read() as tx:
                wish = Proof(os.urandom(16).hex(), tx.now() + VALIDITY_US)
            [answer] = self.engine.run([changed(call, proof=wish)], **how)
            if not isinstance(answer, Refused) or "statement" not in answer.details:
                return answer
            statement, namespace = answer.details["statement"], answer.details["namespace"]
            assert self.caller.signer is not None, "one of both was asked for"
            text = self.caller.signer(statement, namespace)
            if isinstance(text, Refused):
                return text
            signed = Signed(wish.nonce, wish.until, statement, text)
        proof = examined(self.signatures, signed)
        if isinstance(proof, Refused):
            return proof
        return self.engine.run([changed(call, proof=proof)], **how)[0]

    def _many(
        self, commands: Any, kind: type[Command] | tuple[type[Command], ...], **how: Any
    ) -> Any:
        found = [commands] if isinstance(commands, Command) else list(commands)
        for command in found:
            if not isinstance(command, kind):
                kinds = kind if isinstance(kind, tuple) else (kind,)
                expected = " or ".join(k.__name__ for k in kinds)
                raise TypeError(f"expected {expected}, found {type(command).__name__}")
        return self.run(commands if isinstance(commands, Command) else found, **how)

    def create(self, items: Any, **how: Any) -> Any:
        """Create items: ``CreateItem`` or a list of them."""
        return self._many(items, c.CreateItem, **how)

    def revise(self, items: Any, **how: Any) -> Any:
        """Change briefs that nobody works on: ``ReviseItem``."""
        return self._many(items, c.ReviseItem, **how)

    def note(self, notes: Any, **how: Any) -> Any:
        """Add remarks: ``AddNote``."""
        return self._many(notes, c.AddNote, **how)

    def close(self, items: Any, **how: Any) -> Any:
        """Close items without verifying them: ``CloseItem``."""
        return self._many(items, c.CloseItem, **how)

    def succeed(self, items: Any, **how: Any) -> Any:
        """Let work on verified items with stale results go on in others: ``SucceedItem``."""
        return self._many(items, c.SucceedItem, **how)

    def add_dependency(self, edges: Any, **how: Any) -> Any:
        """Let items wait on others: ``AddDependency``."""
        return self._many(edges, c.AddDependency, **how)

    def remove_dependency(self, edges: Any, **how: Any) -> Any:
        """End waits: ``RemoveDependency``."""
        return self._many(edges, c.RemoveDependency, **how)

    def recheck(self, items: Any, **how: Any) -> Any:
        """Let admission look again: ``Recheck`` of an item, or ``RecheckHolds`` of a trigger."""
        return self._many(items, (c.Recheck, c.RecheckHolds), **how)

    def submit(self, intents: Any, **how: Any) -> Any:
        """Hand messages of effect work in: ``SubmitIntent``."""
        return self._many(intents, c.SubmitIntent, **how)

    def decide(self, items: Any, **how: Any) -> Any:
        """Validate and decide messages that were only stored: ``DecideIntent``."""
        return self._many(items, c.DecideIntent, **how)

    def cancel(self, items: Any, **how: Any) -> Any:
        """Ask that effect work is not done, or say what was seen of that: ``CancelWork``."""
        return self._many(items, c.CancelWork, **how)

    def observe_capacity(self, observations: Any, **how: Any) -> Any:
        """Post observations of capacity: ``ObserveCapacity``. Holds that wait for it follow."""
        return self._many(observations, c.ObserveCapacity, **how)

    def register_validation(self, rules: Any, **how: Any) -> Any:
        """Register revisions of validation rules: ``RegisterValidation``."""
        return self._many(rules, c.RegisterValidation, **how)

    def register_policy(self, policies: Any, **how: Any) -> Any:
        """Register revisions of admission policies and put them in force: ``RegisterPolicy``."""
        return self._many(policies, c.RegisterPolicy, **how)

    def register_destination(self, destinations: Any, **how: Any) -> Any:
        """Register revisions of destinations: ``RegisterDestination``."""
        return self._many(destinations, c.RegisterDestination, **how)

    def lease(self, leases: Any, **how: Any) -> Any:
        """Lease a named item, or the next in lease order: ``GrantLease``."""
        return self._many(leases, c.GrantLease, **how)

    def renew(self, leases: Any, **how: Any) -> Any:
        """Extend live leases: ``RenewLease``. Goes before other writers."""
        return self._many(leases, c.RenewLease, urgent=True, **how)

    def release(self, leases: Any, **how: Any) -> Any:
        """Hand items back: ``ReleaseLease``."""
        return self._many(leases, c.ReleaseLease, **how)

    def fail(self, leases: Any, **how: Any) -> Any:
        """Give items up with a typed record: ``FailWork``."""
        return self._many(leases, c.FailWork, **how)

    def report_progress(self, reports: Any, **how: Any) -> Any:
        """Say how work goes: ``ReportProgress``."""
        return self._many(reports, c.ReportProgress, **how)

    def report_completion(self, reports: Any, *, lease_next: bool = False, **how: Any) -> Any:
        """Hand work in: ``ReportCompletion``.

        With ``lease_next`` each completion is followed by a lease of the next item in the same
        commit, and the answers come in pairs (completion, lease).
        """
        if not lease_next:
            return self._many(reports, c.ReportCompletion, **how)
        found = [reports] if isinstance(reports, Command) else list(reports)
        pairs = [each for report in found for each in (report, c.GrantLease())]
        answers = self.run(pairs, **how)
        return list(zip(answers[::2], answers[1::2], strict=True))

    def intend_effect(self, intents: Any, **how: Any) -> Any:
        """Say under a live lease that an effect will be sent: ``IntendEffect``."""
        return self._many(intents, k.IntendEffect, **how)

    def note_sent(self, notes: Any, **how: Any) -> Any:
        """Say that a request left: ``NoteSent``."""
        return self._many(notes, k.NoteSent, **how)

    def report_effect(self, reports: Any, **how: Any) -> Any:
        """Hand in a response, or the result of PURE work: ``ReportEffect``."""
        return self._many(reports, k.ReportEffect, **how)

    def note_uncertain(self, notes: Any, **how: Any) -> Any:
        """Say that no answer came, which is no failure: ``NoteUncertain``."""
        return self._many(notes, k.NoteUncertain, **how)

    def compensate(self, inverses: Any, **how: Any) -> Any:
        """Bring about the declared inverse of an effect, as work of its own: ``CompensateEffect``."""
        return self._many(inverses, k.CompensateEffect, **how)

    def review(self, reviews: Any, **how: Any) -> Any:
        """Approve or reject what was handed in: ``ReviewWork``."""
        return self._many(reviews, c.ReviewWork, **how)

    def triage(self, records: Any, **how: Any) -> Any:
        """Put items aside: ``OpenTriage``."""
        return self._many(records, c.OpenTriage, **how)

    def resolve(self, records: Any, **how: Any) -> Any:
        """Settle triage records: ``ResolveTriage``."""
        return self._many(records, c.ResolveTriage, **how)

    def set_limit(self, limits: Any, **how: Any) -> Any:
        """Say what scopes may use: ``SetLimit``. Only a human may."""
        return self._many(limits, c.SetLimit, **how)

    def enrol(self, actors: Any, **how: Any) -> Any:
        """Let somebody act: ``EnrolActor``."""
        return self._many(actors, c.EnrolActor, **how)

    def revoke(self, actors: Any, **how: Any) -> Any:
        """Accept nothing new from somebody: ``RevokeActor``."""
        return self._many(actors, c.RevokeActor, **how)

    def redact(self, digest: str, reason: str, *, command_id: str = "") -> Answer:
        """Erase a blob's salt and bytes in the transaction of the event that says so.

        ``digest`` is what events name it by, hexadecimal. Refuses ``BLOB_UNKNOWN``,
        ``ACTOR_KIND_REFUSED`` (only a human may) and an empty reason. Erased before: no event.
        """
        key, known = ("redaction", digest), False
        if len(digest) == DIGEST and set(digest) <= set("0123456789abcdef"):
            with self.store.read() as tx:
                known = tx.load([key])[key] is not None or digest in tx.blobs([digest])
        if not known:
            return Refused(
                Code.BLOB_UNKNOWN,
                f"cannot redact {digest[:80]!r}: no blob has this digest",
                "give the text_ref or log that 'remit show ID --json' names",
                {"digest": digest[:80]},
            )
        return self.run(c.RedactBlob(digest, reason), command_id=command_id)

    def apply_plan(self, bundle: Bundle, progress: Progress | None = None) -> Applied | Refused:
        """Bring a plan onto the ledger, in chunks, and put it in force: ``service.planning``."""
        from remit.service import planning

        return planning.apply_plan(self, bundle, progress=progress)

    def engage_kill_switch(self, reason: str = "", **how: Any) -> Any:
        """Stop new leases and renewals at once."""
        return self.run(c.EngageKillSwitch(reason), urgent=True, **how)

    def release_kill_switch(self, reason: str = "", **how: Any) -> Any:
        """Let leases be given again."""
        return self.run(c.ReleaseKillSwitch(reason), urgent=True, **how)
