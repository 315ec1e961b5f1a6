"""Decisions on the ledger itself: its birth, rules, policy, kill switch, epochs, redaction.

Anyone enrolled may engage the kill switch; only a human may release it, accept a rule, enrol
somebody or erase a blob. The first human is named at the ledger's birth.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from remit.core import commands as c
from remit.core import events as e
from remit.core.admission import ADMISSION
from remit.core.authority_events import ModeDeclared
from remit.core.change import changed
from remit.core.decide import actors
from remit.core.decide.actors import enrolled, unfit_key
from remit.core.decide.asking import bad, human_only
from remit.core.decide.leases import QUEUE, SHORTEST_TTL_MS
from remit.core.decide.proving import enact, guarded
from remit.core.facts import ActorKind, Rule
from remit.core.ids import MAX_EPOCH, MAX_INTEGER, is_actor_name
from remit.core.refusals import Code, Refused
from remit.core.registration import rows_of_rule
from remit.core.rows import problems
from remit.core.services import RECONCILER, SERVICES, VERIFIER
from remit.core.stated import rule_digest
from remit.core.view import Draft

__all__ = ["HANDLERS", "RECONCILER", "SERVICES", "VERIFIER"]

FORMAT: Final = 1
"""Version of the event format that this code writes."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")

MAX_REASON: Final = 4_000

MAX_DURATION_MS: Final = 10 * 365 * 24 * 60 * 60 * 1_000
"""Longest duration of a policy: ten years, so that no time or rank leaves JSON's integers."""


def _create(draft: Draft, cmd: c.CreateLedger) -> Refused | None:
    if draft.get("ledger", "ledger") is not None:
        return Refused(Code.LEDGER_EXISTS, "the ledger was created before", "use it as it is")
    if not is_actor_name(cmd.human) or cmd.human in SERVICES:
        return bad("first human", cmd.human, "a name of 1 to 64 letters, digits or . _ @ + -")
    draft.emit("ledger", "ledger", e.LedgerCreated(cmd.ledger_id, FORMAT))
    for name in SERVICES:
        draft.emit("actor", name, e.ActorEnrolled(ActorKind.SERVICE), ADMISSION)
    draft.emit("actor", cmd.human, e.ActorEnrolled(ActorKind.HUMAN))
    if cmd.served:
        draft.emit("ledger", "ledger", ModeDeclared(served=True))
    if cmd.key is None:
        return None
    refused = unfit_key(draft, cmd.key)
    if refused is not None:
        return refused
    draft.emit("actor", cmd.human, enrolled(cmd.key))
    figures = changed(draft.policy, revision=draft.policy.revision + 1, accept_unproved=False)
    draft.emit("ledger", "ledger", e.PolicySet(**asdict(figures)))
    return None


def _register_rule(draft: Draft, cmd: c.RegisterRule) -> Refused | None:
    if not is_actor_name(cmd.name):
        return bad("rule name", cmd.name, "1 to 64 letters, digits or . _ @ + -")
    if not cmd.argv and not cmd.rubric:
        return bad("rule", cmd.name, "a command, a rubric, or both")
    rule = draft.get("rule", cmd.name)
    if isinstance(rule, Rule) and (rule.digest, rule_digest(rule)) == (
        cmd.digest,
        rule_digest(cmd),
    ):
        return None
    spec = Rule(
        cmd.name,
        0,
        0,
        cmd.digest,
        cmd.argv,
        cmd.rubric,
        cmd.expected_exit,
        cmd.junit,
        cmd.red_reason,
        cmd.timeout_ms,
        False,
        "",
        0,
    )
    for row in rows_of_rule(spec):
        found = problems(row)
        if found:
            return bad(f"rule {cmd.name}", found[0], "a command or rubric that can be a row")
    event = e.RuleRegistered(
        (rule.revision if isinstance(rule, Rule) else 0) + 1,
        cmd.digest,
        cmd.argv,
        cmd.rubric,
        cmd.expected_exit,
        cmd.junit,
        cmd.red_reason,
        cmd.timeout_ms,
    )
    draft.emit("rule", cmd.name, event)
    return None


def _accept_rule(draft: Draft, cmd: c.AcceptRule) -> Refused | None:
    refused = human_only(draft, f"accept the rule {cmd.name}")
    if refused is not None:
        return refused
    rule = draft.get("rule", cmd.name)
    if not isinstance(rule, Rule):
        return Refused(
            Code.RULE_UNKNOWN,
            f"there is no rule {cmd.name!r} on the ledger",
            "name it under [rules] in the configuration, then repeat",
            {"rule": cmd.name},
        )
    if cmd.digest and cmd.digest != rule.digest:
        return Refused(
            Code.RULE_CHANGED,
            f"the rule {cmd.name} is not the one that was shown: {rule.digest} is registered",
            "look at it again",
            {"rule": cmd.name, "digest": rule.digest},
        )
    if not rule.counts(accept_unproved=draft.policy.accept_unproved):
        event = e.RuleAccepted(rule.revision, rule_digest(rule), cmd.reason[:MAX_REASON])
        return enact(draft, f"accept the rule {cmd.name}", ("rule", cmd.name, event))
    return None


def _set_policy(draft: Draft, cmd: c.SetPolicy) -> Refused | None:
    refused = human_only(draft, "set the policy")
    if refused is not None:
        return refused
    policy = changed(cmd.policy, revision=draft.policy.revision + 1)
    for name, value in asdict(policy).items():
        if not isinstance(value, bool) and not 1 <= value <= MAX_INTEGER:
            return bad(f"policy {name}", value, f"1 to {MAX_INTEGER}")
    for name in ("ttl_ms", "longest_lease_ms", "age_step_ms"):
        if getattr(policy, name) > MAX_DURATION_MS:
            return bad(f"policy {name}", getattr(policy, name), f"at most {MAX_DURATION_MS} ms")
    if not SHORTEST_TTL_MS <= policy.ttl_ms <= policy.longest_lease_ms:
        expected = f"{SHORTEST_TTL_MS} ms to longest_lease_ms"
        return bad("policy ttl_ms", policy.ttl_ms, expected)
    if changed(policy, revision=draft.policy.revision) == draft.policy:
        return None
    proof_changes = policy.accept_unproved != draft.policy.accept_unproved
    if proof_changes and not guarded(draft):
        return Refused(
            Code.KEY_NEEDED,
            "cannot stop accepting unproved acts: no human has a key, so nobody could sign one",
            "enrol a key first with 'remit actor key NAME --public FILE'",
        )
    act = ("ledger", "ledger", e.PolicySet(**asdict(policy)))
    return enact(draft, "set the policy", act, always=proof_changes)


def _engage(draft: Draft, cmd: c.EngageKillSwitch) -> Refused | None:
    if not draft.ledger.kill_switch:
        draft.emit("ledger", "ledger", e.KillSwitchEngaged(cmd.reason[:MAX_REASON]))
    return None


def _release(draft: Draft, cmd: c.ReleaseKillSwitch) -> Refused | None:
    refused = human_only(draft, "release the kill switch")
    if refused is not None or not draft.ledger.kill_switch:
        return refused
    event = e.KillSwitchReleased(cmd.reason[:MAX_REASON], draft.ledger.engaged_seq)
    return enact(draft, "release the kill switch", ("ledger", "ledger", event))


def _adopt(draft: Draft, cmd: c.AdoptEpoch) -> Refused | None:
    refused = human_only(draft, "adopt the ledger")
    if refused is not None:
        return refused
    present = draft.ledger.epoch
    epoch = max(cmd.above, present) + 1
    if epoch > MAX_EPOCH:
        return Refused(
            Code.EPOCH_TOO_LOW,
            f"epoch {epoch} is above the highest possible ({MAX_EPOCH})",
            "give a smaller --epoch-above",
        )
    event = e.EpochAdopted(epoch, present, cmd.reason[:MAX_REASON])
    return enact(draft, "adopt the ledger", ("ledger", "ledger", event))


def _jump(draft: Draft, cmd: c.RecordClockJump) -> Refused | None:
    event = e.ClockJumped(cmd.wall_us, cmd.ledger_us, cmd.wall_us - cmd.ledger_us)
    draft.emit("ledger", "ledger", event, QUEUE)
    return None


def _redact(draft: Draft, cmd: c.RedactBlob) -> Refused | None:
    refused = human_only(draft, "redact a blob")
    if refused is not None:
        return refused
    if not cmd.reason.strip():
        return bad("reason", cmd.reason, "why it is erased")
    if not _DIGEST.match(cmd.digest):
        return bad("digest", cmd.digest, "64 hexadecimal digits in lower case")
    if draft.get("redaction", cmd.digest) is not None:
        return None
    event = e.BlobRedacted(cmd.digest, cmd.reason[:MAX_REASON])
    return enact(draft, "redact a blob", ("redaction", cmd.digest, event))


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.CreateLedger: _create,
    **actors.HANDLERS,
    c.RegisterRule: _register_rule,
    c.AcceptRule: _accept_rule,
    c.SetPolicy: _set_policy,
    c.EngageKillSwitch: _engage,
    c.ReleaseKillSwitch: _release,
    c.AdoptEpoch: _adopt,
    c.RecordClockJump: _jump,
    c.RedactBlob: _redact,
}
