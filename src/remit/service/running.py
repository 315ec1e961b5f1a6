"""Operations on runs, and what this process saw of attempts and of parity.

``Operations`` has the first as its own. The second are records of what remit itself saw, so that no surface
can hand them in: whoever supervises an attempt calls them as the actor whose attempt it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit.core import commands as c
from remit.core.services import VERIFIER

if TYPE_CHECKING:
    from remit.service.engine import Answer
    from remit.service.operations import Operations


class RunOperations:
    """Canonical operations on runs, one command or many; none of them changes an item."""

    def start_run(self: Any, runs: Any, **how: Any) -> Any:
        """Begin bounded runs of a drain: ``StartRun``."""
        return self._many(runs, c.StartRun, **how)

    def choose(self: Any, choices: Any, **how: Any) -> Any:
        """Take items into runs, before their leases: ``ChooseItem``. The bounds hold here."""
        return self._many(choices, c.ChooseItem, **how)

    def checkpoint(self: Any, steps: Any, **how: Any) -> Any:
        """Say how far entries of runs are: ``CheckpointRun``."""
        return self._many(steps, c.CheckpointRun, **how)

    def settle(self: Any, entries: Any, **how: Any) -> Any:
        """Say what became of entries of runs: ``SettleRunItem``."""
        return self._many(entries, c.SettleRunItem, **how)

    def note_refusal(self: Any, refusals: Any, **how: Any) -> Any:
        """Keep refused acquisitions with their runs: ``NoteRefusal``."""
        return self._many(refusals, c.NoteRefusal, **how)

    def resume_run(self: Any, runs: Any, **how: Any) -> Any:
        """Drive runs on from this process: ``ResumeRun``. The process before is overtaken."""
        return self._many(runs, c.ResumeRun, **how)

    def ask_run_stop(self: Any, runs: Any, **how: Any) -> Any:
        """Ask runs to stop: ``AskRunStop``. Goes before other writers."""
        return self._many(runs, c.AskRunStop, urgent=True, **how)

    def stop_run(self: Any, runs: Any, **how: Any) -> Any:
        """End runs that have nothing live: ``StopRun``."""
        return self._many(runs, c.StopRun, **how)


def note_attempt(
    operations: Operations, notes: c.RecordAttempt | list[c.RecordAttempt], command_id: str = ""
) -> list[Answer]:
    """Write what was seen of attempts on their own streams; the ids are ``command_id/index``.

    The text of a note comes from outside and becomes a blob, however short it is.
    """
    found = [notes] if isinstance(notes, c.RecordAttempt) else notes
    refused = operations.caller.built_in()
    if refused is not None:
        return [refused] * len(found)
    ids = [f"{command_id}/{index}" if command_id else "" for index in range(len(found))]
    return operations.observed(found, ids)


def record_proof(
    operations: Operations, proof: c.RecordParityProof, command_id: str = ""
) -> Answer:
    """Write what looking at parity found, as the built-in verifier, whoever asked for it."""
    from remit.service.engine import Call

    return operations.engine.run([Call(proof, VERIFIER, command_id)])[0]
