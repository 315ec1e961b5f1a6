"""The shortcuts that are planted: what a drain might do because it is quicker, or by mistake.

Each is one change of one function of the drain and names the properties that may notice it; see
``planting``. Where the text of a function has moved on, planting fails and says so: a shortcut that is
not planted proves nothing.
"""

from __future__ import annotations

from typing import Final

from remit.proofs.parity.planting import Shortcut
from remit.proofs.parity.scenario import SECOND, Act, Bounds, Scenario, Thing, Try

_HANDS: Final = "remit.drain.hands:Hands"
_WORK: Final = "remit.drain.atwork:AtWork"

ALIKE: Final = ("folded-state", "semantic-events")
"""What INV-18 compares."""

_PAST: Final = """accepted(self.work.run(command))
    with self.work.store.write() as tx:
        from remit.core.events import Recorded
        from remit.core.item_events import NoteAdded
        at, version = tx.head(), self.item(entry.item).version + 1
        note = Recorded(
            at.seq + 1, entry.item, version, self.actor, "asserted", at.time, NoteAdded("drained", "")
        )
        tx.append([note])"""

_PUSHED: Final = """integrator = self.integrator
    self.delivery.repository.remote.land("", self.item(entry.item).work.head)"""

SHORTCUTS: Final = (
    Shortcut(
        "works-without-the-brief",
        ALIKE,
        ((f"{_HANDS}.brief", "return briefs.markdown(found)", 'return ""'),),
    ),
    Shortcut(
        "hands-in-as-another-actor",
        ALIKE,
        (
            (
                f"{_HANDS}.complete",
                "self.delivery.hand_in(",
                (
                    "type(self.delivery)(\n"
                    "                self.judging or self.work, self.delivery.repository,"
                    " self.delivery.verifier\n"
                    "            ).hand_in("
                ),
            ),
        ),
    ),
    Shortcut(
        "ships-on-the-agents-word",
        ALIKE,
        (
            (
                f"{_HANDS}.integrate",
                "lambda key: integrator.integrate(entry.item, way=way, command_id=key, ship=False)",
                (
                    'lambda key: __import__("types").SimpleNamespace(outcome="pushed",'
                    ' commit=self.item(entry.item).work.head, triage="", detail="")'
                ),
            ),
            (
                f"{_HANDS}.ship",
                "integrator.ship(entry.item, command_id=key)",
                (
                    "self.work.observed([c.ObserveShip(entry.item, self.item(entry.item).work.head,"
                    ' self.item(entry.item).work.head, "origin", "main",'
                    ' self.item(entry.item).work.base, "sha", "")], [key])[0]'
                ),
            ),
        ),
    ),
    Shortcut(
        "keeps-the-lease-after-a-crash",
        ALIKE,
        ((f"{_HANDS}.fail", "self.work.fail(command, command_id=key)", "None"),),
    ),
    Shortcut(
        "requeues-without-a-record",
        ALIKE,
        (
            (
                f"{_HANDS}.fail",
                "self.work.fail(command, command_id=key)",
                (
                    "self.work.release("
                    "c.ReleaseLease(entry.item, fence, reason, spent), command_id=key)"
                ),
            ),
        ),
    ),
    Shortcut(
        "closes-instead-of-triage",
        ALIKE,
        (
            (
                f"{_HANDS}.fail",
                "self.work.fail(command, command_id=key)",
                (
                    'self.work.close(c.CloseItem(entry.item, "cancelled", c.Text(reason)),'
                    " command_id=key)"
                ),
            ),
        ),
    ),
    Shortcut(
        "approves-as-the-implementer",
        ALIKE,
        ((f"{_HANDS}.review", "judging.review(command", "self.work.review(command"),),
    ),
    Shortcut(
        "takes-a-rejection-for-an-approval",
        ALIKE,
        (
            (
                f"{_HANDS}.review",
                "c.ReviewWork(entry.item, approve, ",
                "c.ReviewWork(entry.item, True, ",
            ),
        ),
    ),
    Shortcut(
        "adds-an-event-of-its-own",
        ALIKE,
        (
            (
                f"{_HANDS}.settle",
                "accepted(self.work.run(command))",
                'accepted(self.work.run(command))\n    self.work.note(c.AddNote(entry.item, c.Text("drained")))',
            ),
        ),
    ),
    Shortcut(
        "writes-past-the-operations",
        ("canonical-operations",),
        ((f"{_HANDS}.settle", "accepted(self.work.run(command))", _PAST),),
    ),
    Shortcut(
        "never-renews",
        ALIKE,
        (
            (
                f"{_WORK}._keep",
                "lease = self.hands.renew(name, self.hold.fence, self.journey.options.ttl_ms)",
                "return 30_000",
            ),
            (
                "remit.drain.conductor:Conductor._renew",
                "hold is None or hold.working or now < hold.due_us",
                "True",
            ),
        ),
    ),
    Shortcut(
        "charges-no-spend",
        ALIKE,
        ((f"{_WORK}._spent", "return charge(told, journey.entry.reserved_micros)", "return 0"),),
    ),
    Shortcut(
        "leaves-verification-out",
        ALIKE,
        ((f"{_HANDS}.verify", "self.delivery.verify(entry.item, command_id=key)", "None"),),
    ),
    Shortcut(
        "verifies-by-itself",
        ALIKE,
        (
            (
                f"{_HANDS}.verify",
                "self.delivery.verify(entry.item, command_id=key)",
                (
                    "self.work.observed([c.RecordVerification(entry.item,"
                    ' self.item(entry.item).work.shipped, (), "PASS")], [key])[0]'
                ),
            ),
        ),
    ),
    Shortcut(
        "hands-in-what-may-not-come-back",
        ALIKE,
        ((f"{_WORK}.walk", "if found.code:", 'if found.code == "NEVER":'),),
    ),
    Shortcut(
        "works-in-a-cell-that-does-not-hold",
        ALIKE,
        ((f"{_WORK}._prepare", "if ready.unfit:", "if ready.unfit and not ready.checks:"),),
    ),
    Shortcut(
        "overlooks-the-kill-switch",
        ALIKE,
        ((f"{_HANDS}.killed", 'return bool(policy(tx)["kill_switch"])', "return False"),),
        (Scenario((Thing(),), (Act(3 * SECOND, "kill-switch"),)),),
    ),
    Shortcut(
        "asks-under-another-id-after-a-death",
        (*ALIKE, "canonical-operations"),
        (
            (
                f"{_HANDS}._key",
                '{self.run}/{entry.item}/{entry.number}/{step}"',
                '{self.run}/{entry.item}/{entry.number}/{step}/{self.holder}"',
            ),
        ),
    ),
    Shortcut(
        "sets-nothing-aside",
        ALIKE,
        ((f"{_HANDS}.lease", "spend_micros=entry.reserved_micros", "spend_micros=0"),),
    ),
    Shortcut(
        "calls-every-end-a-refusal",
        ("evidence",),
        (
            (
                f"{_HANDS}.fail",
                "give_up(record, ",
                'give_up(type(record)(type(record.kind)("refusal"), ("code:DECLINED",)), ',
            ),
        ),
    ),
    Shortcut(
        "puts-aside-what-it-holds",
        ("operations",),
        (
            (
                f"{_HANDS}.fail",
                "self.work.fail(command, command_id=key)",
                "self.work.triage(aside(record, entry.item, c.Text(reason)), command_id=key)",
            ),
        ),
        (Scenario((Thing(tries=(Try(probe=False),)),)),),
    ),
    Shortcut(
        "pushes-beside-the-integration",
        ("one-effect",),
        (
            (
                f"{_HANDS}.integrate",
                "integrator = self.integrator",
                _PUSHED,
            ),
        ),
        (Scenario((Thing(),)),),
    ),
    Shortcut(
        "takes-one-more-than-it-may",
        ("bounds",),
        (
            (
                f"{_HANDS}.lease",
                "answer = self._do(",
                "self.work.lease(c.GrantLease())\n    answer = self._do(",
            ),
        ),
        (Scenario((Thing(), Thing(), Thing()), bounds=Bounds(parallel=1)),),
    ),
    Shortcut(
        "never-says-what-became-of-it",
        ("comes-to-an-end",),
        ((f"{_HANDS}.settle", "accepted(self.work.run(command))", "pass"),),
    ),
)
