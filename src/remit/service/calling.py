"""Who calls, what they show of themselves, and what nobody may hand in.

``remit.service.operations`` gives ``Caller`` as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core.commands import Command
from remit.core.plan_commands import APPLYING
from remit.core.refusals import Code, Refused
from remit.core.services import SERVICES
from remit.service.fitting import unfit_name
from remit.service.proving import Signed, Signer
from remit.service.texts import Salts

SEEN: Final = frozenset(
    (
        c.ObserveShip,
        c.RecordVerification,
        c.RecordClone,
        c.RecordTakeover,
        c.RecordAttempt,
        c.RecordParityProof,
        c.IntendPush,
        c.FailIntegration,
        c.NotePush,
        c.RecordClockJump,
        c.Settle,
        *APPLYING,
        k.NoteTermination,
        k.ObserveEffect,
        k.RepeatRequest,
        k.CarryEpoch,
    )
)
"""Commands that say what remit itself saw or has to do: nobody hands them in."""


ACTS: Final = frozenset(
    (
        c.AcceptDecision,
        c.RejectDecision,
        c.ReviewWork,
        c.RecordVerification,
        c.AcceptRule,
        c.ReleaseKillSwitch,
        c.EnrolActor,
        c.RevokeActor,
        c.EnrolKey,
        c.RevokeKey,
        c.IssueToken,
        c.RedactBlob,
        c.SetPolicy,
        c.SetLimit,
        c.RegisterValidation,
        c.RegisterPolicy,
        c.RegisterDestination,
        c.AdoptEpoch,
    )
)
"""Commands by which a human acts, and which may so need a signature; no other is offered one."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who acts. A name is a label; a token or a signature proves more.

    ``token`` is what stands in ``REMIT_TOKEN``. ``signer`` signs a statement when an act needs it, and
    ``signed`` is one that was signed elsewhere; either is for one command at a time. ``salts`` are those
    of the call that had the statement written (``remit.service.texts``).
    """

    actor: str
    conversation_ref: str = ""
    trace_context: str = ""
    token: str = ""
    signer: Signer | None = None
    signed: Signed | None = None
    salts: Salts | None = None

    def misnamed(self) -> Refused | None:
        """``BAD_INPUT`` where one of these cannot be kept as it is."""
        for name in ("actor", "conversation_ref", "trace_context"):
            refused = unfit_name(name, getattr(self, name))
            if refused is not None:
                return refused
        return None

    def built_in(self) -> Refused | None:
        """``ACTOR_KIND_REFUSED`` for the names under which remit itself acts."""
        if self.actor not in SERVICES:
            return None
        return Refused(
            Code.ACTOR_KIND_REFUSED,
            f"cannot act as {self.actor}: remit itself acts under this name",
            "act under a name of your own with --as; 'remit verify' runs the built-in verifier",
            {"actor": self.actor},
        )


def only_seen(command: Command) -> bool:
    """Whether nobody may hand a command in."""
    return (
        type(command) in SEEN
        or (isinstance(command, c.ReportCompletion) and command.taken_over)
        or (isinstance(command, k.ReportEffect) and command.authoritative)
    )


def hearsay(command: Command) -> Refused:
    """The refusal of what somebody says that only remit can have seen."""
    return Refused(
        Code.BAD_INPUT,
        f"cannot take a {type(command).__name__} from a caller: remit records it when it has seen it",
        "use the operations that look: hand_in, integrate, mark_shipped, verify, score, reconcile, apply_plan",
        {"command": type(command).__name__},
    )
