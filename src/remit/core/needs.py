"""The first door: ``needs(command)`` names the facts that deciding it will surely read.

It saves rounds, nothing more: a batch loads the union of these keys at once, one query for each kind
of fact. What only turns out to be needed on the way is asked for by the decision itself, so a key
that is missing here costs time and never correctness.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core import plan_commands as pc
from remit.core.effect_facts import Effect
from remit.core.facts import Fact, Key, lane_of
from remit.core.ids import is_item_id
from remit.core.intents import policy_keys
from remit.core.planning.bundle import KINDS, PlanNode
from remit.core.trace_commands import ClearLink

RUNNING: Final = (
    c.ChooseItem,
    c.CheckpointRun,
    c.SettleRunItem,
    c.NoteRefusal,
    c.ResumeRun,
    c.AskRunStop,
    c.StopRun,
)
"""Commands about a run that is there."""


def needs(command: c.Command, ask: c.Ask) -> Iterable[Key]:
    """Facts to load before the command is decided for the first time."""
    keys: list[Key] = [("actor", ask.actor)]
    if ask.proof is not None and ask.proof.signature:
        keys += [("key", ask.proof.fingerprint), ("signature", ask.proof.nonce)]
    if ask.token is not None:
        keys.append(("token", ask.token.id))
    item = getattr(command, "item", "")
    if item:
        keys.append(("item", item))
    if isinstance(command, RUNNING):
        keys.append(("run", command.run))
    match command:
        case c.CreateItem():
            keys.append(("lane", lane_of(command.work_class, command.tenant)))
            keys += [("active", command.work_class), ("lane-turn", command.work_class)]
            if command.alias:
                keys.append(("alias", command.alias))
                keys.append(("dependents?", f"?{command.alias}"))
            if command.goal:
                keys.append(("goal", command.goal))
            if command.rule and not command.rows:
                keys.append(("rule", command.rule))
            keys += [("item", target) for target, _ in command.depends_on]
        case c.GrantLease():
            keys.append(("load", f"actor/{ask.actor}"))
            if not item:
                keys.append(("lanes?", ""))
        case c.SubmitIntent():
            keys += _intent(command)
        case c.AddDependency():
            keys.append(("item", command.target))
        case k.ObserveEffect() | k.NoteTermination() | k.RepeatRequest() | c.NotePush():
            keys.append(("effect", command.effect))
        case c.AcceptDecision() | c.RejectDecision():
            keys.append(("decision", command.decision))
        case c.StartRun():
            keys += [("actor", command.actor), ("decision", command.decision)]
            keys += [("run-use", command.decision), ("proof", command.proof)]
        case c.ResolveTriage():
            keys.append(("triage", command.record))
        case pc.ApplyPlanRecord() | pc.ApplyPlanItem():
            keys += _planned(command)
        case pc.RetirePlanRecord():
            name = f"{command.plan}/{command.kind}/{command.label}"
            keys += [("plan", command.plan), ("planned", name)]
        case c.ImportItem():
            keys += [
                ("alias", command.alias),
                ("import", command.import_id),
                ("rule", command.rule),
                ("dependents?", f"?{command.alias}"),
            ]
            keys += [("alias", alias) for _, alias in command.edges]
        case ClearLink():
            keys.append(("link", f"{command.upper}>{command.lower}"))
        case _:
            pass
    return keys


def onward(command: c.Command, facts: Mapping[Key, Fact | None]) -> Iterable[Key]:
    """What it will surely ask besides, as the facts that ``needs`` named show.

    A look-up frees who waits for its effect, and tells who waits for its item. Asked for by each
    decision of a list, these cost two more rounds an element.
    """
    if not isinstance(command, k.ObserveEffect):
        return ()
    effect = facts.get(("effect", command.effect))
    if not isinstance(effect, Effect):
        return ()
    return (("held?", f"reconcile:{effect.id}#"), ("dependents?", effect.item))


def _intent(command: c.SubmitIntent) -> Iterable[Key]:
    """What taking a message in looks at first."""
    envelope = command.envelope
    work_class = envelope.priority_class or "default"
    yield from policy_keys(work_class)
    yield ("current", f"capacity/{work_class}")
    yield ("load", f"stored/{work_class}")
    yield ("lane", lane_of(work_class, envelope.tenant or "default"))
    for kind, name in (
        ("message", envelope.message_id),
        ("alias", envelope.work_id),
        ("dependents?", f"?{envelope.work_id}"),
        ("effect", envelope.effect_id),
    ):
        if name:
            yield (kind, name)
    if envelope.destination:
        yield ("current", f"destination/{envelope.destination}")
    for target in envelope.depends_on[:1_000]:
        yield ("item" if is_item_id(target) else "alias", target)


def _planned(command: pc.ApplyPlanRecord | pc.ApplyPlanItem) -> Iterable[Key]:
    """What applying one record of a plan looks at first, so that a chunk of them is a few rounds."""
    plan, record = command.plan, command.record
    kind = KINDS[type(record)]
    yield ("plan", plan)
    yield ("label", f"goal/{command.goal}")
    yield ("planned", f"{plan}/{kind}/{record.label}")
    if isinstance(command, pc.ApplyPlanRecord):
        yield ("label", f"{kind}/{record.label}")
        if isinstance(record, PlanNode):
            yield from (("label", f"requirement/{label}") for label in record.requirements)
        return
    yield ("alias", command.record.label)
    yield ("dependents?", f"?{command.record.label}")
    yield ("label", f"node/{command.record.node}")
    yield from (("label", f"requirement/{label}") for label in command.record.requirements)
    for row in command.rows:
        yield ("planned", f"{plan}/row/{row.label}")
        yield ("label", f"row/{row.label}")
    yield from (("planned", f"{plan}/item/{label}") for label in command.waits)
