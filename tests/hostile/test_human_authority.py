"""Ways in which an agent tries to get a human's decision accepted, or its own work approved or verified.

It has the same OS user, the ledger's file, every command, every environment variable and an unlocked
ssh-agent; the policy accepts nothing unproved. Each way is refused with its own code, and in the end nothing
was decided, approved or verified (INV-15, INV-16).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.hostile.stage import KIND, OPTIONS, Stage, lock, make_stage, unlock
from tests.surfaces.cli.calling import IDENTITY, Ran

ACCEPT = ("decision", "accept", "D-1")
APPROVE = ("review", "W-1", "--approve", "--reason", "fine")
REMIT = ("REMIT_LEDGER", "REMIT_ACTOR", "REMIT_TOKEN", "REMIT_DEBUG", "SSH_AUTH_SOCK")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("authority")
    with pytest.MonkeyPatch.context() as patch:
        settle(patch, folder)
        found = make_stage(folder)
        assert found.proposed() == "D-1"
        assert found.handed_in("bot") == "W-1"
        yield found
        lock(found)


def settle(patch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in REMIT:
        patch.delenv(name, raising=False)
    for name, value in IDENTITY.items():
        patch.setenv(name, value)
    patch.setenv("HOME", str(folder / "home"))


@pytest.fixture(autouse=True)
def surroundings(alone: None, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch, stage.folder)


@dataclass(frozen=True)
class Agent:
    """What the agent does its tricks with."""

    stage: Stage
    patch: pytest.MonkeyPatch

    def run(self, *argv: str, actor: str = "ann", **how: Any) -> Ran:
        return self.stage.run(*argv, actor=actor, **how)

    def sign(self, *argv: str, key: str, actor: str = "ann", namespace: str = "") -> Ran:
        """A call that somebody signs with this key, in this namespace."""
        path = self.stage.statement(*argv, actor=actor)
        namespace = namespace or self.stage.namespace(path)
        text = self.stage.keys[key].sign(path.read_bytes(), namespace)
        return self.stage.bring(path, text, *argv, actor=actor)

    def reuse(self, signed: tuple[str, ...], used: tuple[str, ...], by: str = "ann") -> Ran:
        """What a human signed for one call, brought along with another one."""
        path = self.stage.statement(*signed, actor=by)
        text = self.stage.keys[by].sign(path.read_bytes(), self.stage.namespace(path))
        return self.stage.bring(path, text, *used, actor="ann")


# By name.


def a_label(agent: Agent) -> Ran:
    return agent.run(*ACCEPT)


def a_variable(agent: Agent) -> Ran:
    agent.patch.setenv("REMIT_ACTOR", "ann")
    return agent.stage.cli.run(*ACCEPT, "--json")


def its_own_name(agent: Agent) -> Ran:
    return agent.run(*ACCEPT, actor="bot")


def a_name_of_remit_itself(agent: Agent) -> Ran:
    return agent.run(*ACCEPT, actor="remit-admission")


def a_name_that_nobody_has(agent: Agent) -> Ran:
    return agent.run(*ACCEPT, actor="zoe")


# By token.


def its_token_under_a_humans_name(agent: Agent) -> Ran:
    agent.patch.setenv("REMIT_TOKEN", agent.stage.token)
    return agent.run(*ACCEPT)


def its_token_under_its_own_name(agent: Agent) -> Ran:
    agent.patch.setenv("REMIT_TOKEN", agent.stage.token)
    return agent.run(*ACCEPT, actor="bot")


def a_token_made_up(agent: Agent) -> Ran:
    agent.patch.setenv("REMIT_TOKEN", f"remit_{'0' * 16}_{'0' * 64}")
    return agent.run(*ACCEPT)


def a_token_for_a_human(agent: Agent) -> Ran:
    return agent.run("actor", "token", "ann")


# By a key of its own.


def its_own_key(agent: Agent) -> Ran:
    return agent.sign(*ACCEPT, key="evil")


def its_own_key_enrolled_for_a_human(agent: Agent) -> Ran:
    return agent.run("actor", "key", "ann", "--public", f"{agent.stage.folder}/evil.pub")


def its_own_key_signed_in_by_itself(agent: Agent) -> Ran:
    argv = ("actor", "key", "ann", "--public", f"{agent.stage.folder}/evil.pub")
    return agent.sign(*argv, key="evil")


def a_human_of_its_own(agent: Agent) -> Ran:
    public = f"{agent.stage.folder}/evil-2.pub"
    return agent.run("actor", "add", "mallory", "--kind", "human", "--public", public)


def itself_as_a_human(agent: Agent) -> Ran:
    return agent.run("actor", "add", "bot-2", "--kind", "human", actor="bot")


def a_service_of_its_own(agent: Agent) -> Ran:
    return agent.run("actor", "add", "judge", "--kind", "service")


def a_key_that_lies_open(agent: Agent) -> Ran:
    argv = ("actor", "key", "ann", "--public", f"{agent.stage.folder}/plain.pub")
    path = Path(f"{agent.stage.home}/.ssh/id_plain")
    shutil.copy(agent.stage.keys["plain"].path, path)
    ran = agent.run(*argv)
    path.unlink()
    return ran


def a_humans_key_for_another_person(agent: Agent) -> Ran:
    return agent.run("actor", "key", "bea", "--public", f"{agent.stage.folder}/ann.pub")


# By a human's key, wrongly.


def a_key_of_another_human(agent: Agent) -> Ran:
    return agent.sign(*ACCEPT, key="bea")


def a_revoked_key(agent: Agent) -> Ran:
    return agent.sign(*ACCEPT, key="ann-3")


def an_expired_key(agent: Agent) -> Ran:
    return agent.sign(*ACCEPT, key="ann-4")


def a_security_key_that_nobody_touched(agent: Agent) -> Ran:
    path = agent.stage.statement(*ACCEPT, actor="ann")
    text = agent.stage.device.sign(path.read_bytes(), "remit-decision", flags=0)
    return agent.stage.bring(path, text, *ACCEPT, actor="ann")


def an_unlocked_agent(agent: Agent) -> Ran:
    agent.patch.setenv("SSH_AUTH_SOCK", str(agent.stage.socket))
    unlock(agent.stage, "kept")
    ran = agent.run(*ACCEPT, "--key", f"{agent.stage.folder}/kept.pub")
    lock(agent.stage)
    return ran


def an_unlocked_agent_that_it_hides(agent: Agent) -> Ran:
    """It signs by the agent first, then takes the variable away."""
    unlock(agent.stage, "kept")
    ran = agent.sign(*ACCEPT, key="kept")
    lock(agent.stage)
    return ran


def an_unlocked_agent_behind_other_programs(agent: Agent) -> Ran:
    """Programs of OpenSSH's names come first in the path, and say that there is nothing."""
    unlock(agent.stage, "kept")
    path = agent.stage.statement(*ACCEPT, actor="ann")
    text = agent.stage.keys["kept"].sign(path.read_bytes(), "remit-decision")
    fake = agent.stage.folder / "bin"
    fake.mkdir()
    for name in ("ssh-add", "ssh-keygen", "ssh-agent"):
        (fake / name).write_text("#!/bin/sh\nexit 0\n")
        (fake / name).chmod(0o700)
    agent.patch.setenv("PATH", str(fake))
    agent.patch.setenv("HOME", str(fake))
    ran = agent.stage.bring(path, text, *ACCEPT, actor="ann")
    lock(agent.stage)
    return ran


def a_copy_without_passphrase(agent: Agent) -> Ran:
    """The person once took the passphrase off, and left the file in the usual place."""
    key = agent.stage.keys["ann-2"]
    path = Path(f"{agent.stage.home}/.ssh/id_ed25519")
    shutil.copy(key.path, path)
    opened = ["ssh-keygen", "-q", "-p", "-P", key.passphrase, "-N", "", "-f", str(path)]
    import subprocess

    subprocess.run(opened, check=True, capture_output=True)
    ran = agent.sign(*ACCEPT, key="ann-2")
    path.unlink()
    return ran


# By a signature that a human once gave.


def a_signature_in_another_namespace(agent: Agent) -> Ran:
    return agent.sign(*ACCEPT, key="ann", namespace="git")


def a_signature_of_a_probe(agent: Agent) -> Ran:
    return agent.sign(*ACCEPT, key="ann", namespace="remit-probe")


def a_signature_of_a_refusal(agent: Agent) -> Ran:
    return agent.reuse(("decision", "reject", "D-1", "--reason", "no"), ACCEPT)


def a_signature_of_another_decision(agent: Agent) -> Ran:
    other = agent.stage.proposed()
    return agent.reuse(("decision", "accept", other), ACCEPT)


def a_signature_of_another_choice(agent: Agent) -> Ran:
    careful = (*ACCEPT, "--choose", "wait", "--reject", "pay=too much")
    return agent.reuse(careful, ACCEPT)


def a_signature_of_another_person(agent: Agent) -> Ran:
    return agent.reuse(ACCEPT, ACCEPT, by="bea")


def a_signature_of_another_ledger(agent: Agent) -> Ran:
    there = agent.stage.folder / "there"
    if not there.exists():
        there.mkdir()
        public = f"{agent.stage.folder}/ann.pub"
        ran = agent.stage.cli.run("init", "--human", "ann", "--key", public, "--json", cwd=there)
        assert ran.status == 0, ran
        argv = ("decision", "propose", "Skip it", *KIND, *OPTIONS)
        assert agent.run(*argv, cwd=there).status == 0
    path = agent.stage.statement(*ACCEPT, actor="ann", cwd=there)
    text = agent.stage.keys["ann"].sign(path.read_bytes(), "remit-decision")
    return agent.stage.bring(path, text, *ACCEPT, actor="ann")


def a_signature_again(agent: Agent) -> Ran:
    """A limit was signed, then another one: the first signature does not bring it back."""
    argv = ("limit", "set", "class/x", "--concurrency", "9")
    path = agent.stage.statement(*argv, actor="ann")
    text = agent.stage.keys["ann"].sign(path.read_bytes(), "remit-policy")
    assert agent.stage.bring(path, text, *argv, actor="ann").status == 0
    agent.stage.done("limit", "set", "class/x", "--concurrency", "1")
    return agent.stage.bring(path, text, *argv, actor="ann")


def a_signature_of_the_past(agent: Agent) -> Ran:
    path = agent.stage.statement(*ACCEPT, actor="ann")
    old = {**json.loads(path.read_text()), "until": 1_000_000}
    path.write_text(json.dumps(old, sort_keys=True, separators=(",", ":")))
    text = agent.stage.keys["ann"].sign(path.read_bytes(), "remit-decision")
    return agent.stage.bring(path, text, *ACCEPT, actor="ann")


def a_statement_that_was_edited(agent: Agent) -> Ran:
    other = agent.stage.proposed()
    path = agent.stage.statement("decision", "accept", other, actor="ann")
    text = agent.stage.keys["ann"].sign(path.read_bytes(), "remit-decision")
    path.write_text(path.read_text().replace(f'"{other}"', '"D-1"'))
    return agent.stage.bring(path, text, *ACCEPT, actor="ann")


def a_signature_that_was_edited(agent: Agent) -> Ran:
    path = agent.stage.statement(*ACCEPT, actor="ann")
    text = agent.stage.keys["ann"].sign(path.read_bytes(), "remit-decision")
    wrong = text.replace(text[80], "A" if text[80] != "A" else "B", 1)
    return agent.stage.bring(path, wrong, *ACCEPT, actor="ann")


def another_record_than_was_looked_at(agent: Agent) -> Ran:
    return agent.run(*ACCEPT, "--record", "0" * 64)


def a_decision_that_has_expired(agent: Agent) -> Ran:
    import time

    name = agent.stage.proposed("--expires", "1s")
    time.sleep(1.1)
    return agent.run("decision", "accept", name)


# By what decides over decisions.


def the_policy(agent: Agent) -> Ran:
    return agent.run("policy", "set", "accept_unproved=true")


def a_policy_that_asks_no_human(agent: Agent) -> Ran:
    document = agent.stage.folder / "lax.yaml"
    document.write_text(LAX)
    return agent.run("policy", "apply", str(document))


def the_kill_switch(agent: Agent) -> Ran:
    assert agent.run("kill-switch", "engage", actor="bot").status == 0
    ran = agent.run("kill-switch", "release")
    agent.stage.done("kill-switch", "release")
    return ran


def a_human_sent_away(agent: Agent) -> Ran:
    return agent.run("actor", "revoke", "bea")


def a_key_taken_away(agent: Agent) -> Ran:
    found = agent.run("actor", "list").data["actors"][0]["keys"][0]["fingerprint"]
    return agent.run("actor", "key", "ann", "--revoke", found)


# By the file.


def a_backup_put_back(agent: Agent) -> Ran:
    return restored(agent, "back-1", *ACCEPT)


def a_backup_adopted(agent: Agent) -> Ran:
    return restored(agent, "back-2", "ledger", "adopt", "--reason", "disk")


def a_signature_from_before_an_adoption(agent: Agent) -> Ran:
    """A human adopted the backup; what was signed for the ledger as it was before proves nothing."""
    there = back(agent, "back-3")
    path = agent.stage.statement(*ACCEPT, actor="ann")
    text = agent.stage.keys["ann"].sign(path.read_bytes(), "remit-decision")
    agent.stage.done("ledger", "adopt", "--reason", "disk", cwd=there)
    return agent.stage.bring(path, text, *ACCEPT, actor="ann", cwd=there)


def an_export_that_was_edited(agent: Agent) -> Ran:
    lines = agent.stage.folder / "lines"
    assert agent.run("ledger", "export", str(lines)).status == 0
    text = lines.read_text().replace('\\"acceptUnproved\\":false', '\\"acceptUnproved\\":true')
    text = text.replace('"acceptUnproved":false', '"acceptUnproved":true')
    assert text != lines.read_text()
    lines.write_text(text)
    target = f"sqlite://{agent.stage.folder}/edited.db"
    return agent.run("ledger", "import", str(lines), "--to", target)


def back(agent: Agent, name: str) -> Path:
    there = agent.stage.folder / name
    (there / ".remit").mkdir(parents=True)
    copy = agent.stage.folder / f"{name}.db"
    assert agent.run("ledger", "backup", str(copy)).status == 0
    target = f"sqlite://{there}/.remit/ledger.db"
    assert agent.run("ledger", "restore", str(copy), "--ledger", target).status == 0
    return there


def restored(agent: Agent, name: str, *argv: str) -> Ran:
    return agent.run(*argv, cwd=back(agent, name))


# Its own work.


def its_work_approved_by_itself(agent: Agent) -> Ran:
    return agent.run(*APPROVE, actor="bot")


def its_work_approved_by_a_label(agent: Agent) -> Ran:
    return agent.run(*APPROVE)


def its_work_approved_by_its_own_key(agent: Agent) -> Ran:
    return agent.sign(*APPROVE, key="evil")


def its_work_approved_under_another_reason(agent: Agent) -> Ran:
    return agent.reuse(("review", "W-1", "--approve", "--reason", "only the tests"), APPROVE)


def work_of_a_human_approved_by_a_second_key(agent: Agent) -> Ran:
    item = agent.stage.handed_in("ann")
    return agent.run("review", item, "--approve", "--reason", "x", "--key", "ann-2")


def its_work_verified_by_a_name_of_remit_itself(agent: Agent) -> Ran:
    return agent.run("note", "W-1", "verified", actor="remit-verifier")


DECIDED: dict[Callable[[Agent], Ran], str] = {
    a_label: "SIGNATURE_MISSING",
    a_variable: "SIGNATURE_MISSING",
    its_own_name: "ACTOR_KIND_REFUSED",
    a_name_of_remit_itself: "ACTOR_KIND_REFUSED",
    a_name_that_nobody_has: "ACTOR_UNKNOWN",
    its_token_under_a_humans_name: "TOKEN_OF_ANOTHER",
    its_token_under_its_own_name: "ACTOR_KIND_REFUSED",
    a_token_made_up: "TOKEN_UNKNOWN",
    a_token_for_a_human: "BAD_INPUT",
    its_own_key: "KEY_UNKNOWN",
    its_own_key_enrolled_for_a_human: "SIGNATURE_MISSING",
    its_own_key_signed_in_by_itself: "KEY_UNKNOWN",
    a_human_of_its_own: "SIGNATURE_MISSING",
    itself_as_a_human: "ACTOR_KIND_REFUSED",
    a_service_of_its_own: "SIGNATURE_MISSING",
    a_key_that_lies_open: "KEY_IN_REACH",
    a_humans_key_for_another_person: "KEY_TAKEN",
    a_key_of_another_human: "KEY_OF_ANOTHER",
    a_revoked_key: "KEY_REVOKED",
    an_expired_key: "KEY_EXPIRED",
    a_security_key_that_nobody_touched: "PRESENCE_MISSING",
    an_unlocked_agent: "KEY_IN_REACH",
    an_unlocked_agent_that_it_hides: "KEY_IN_REACH",
    an_unlocked_agent_behind_other_programs: "KEY_IN_REACH",
    a_copy_without_passphrase: "KEY_IN_REACH",
    a_signature_in_another_namespace: "SIGNATURE_NAMESPACE",
    a_signature_of_a_probe: "SIGNATURE_NAMESPACE",
    a_signature_of_a_refusal: "SIGNATURE_OF_ANOTHER_ACT",
    a_signature_of_another_decision: "SIGNATURE_OF_ANOTHER_SUBJECT",
    a_signature_of_another_choice: "SIGNATURE_STALE",
    a_signature_of_another_person: "SIGNATURE_OF_ANOTHER_ACTOR",
    a_signature_of_another_ledger: "SIGNATURE_OF_ANOTHER_LEDGER",
    a_signature_again: "NONCE_USED",
    a_signature_of_the_past: "SIGNATURE_EXPIRED",
    a_statement_that_was_edited: "SIGNATURE_INVALID",
    a_signature_that_was_edited: "SIGNATURE_INVALID",
    another_record_than_was_looked_at: "DECISION_STALE",
    a_decision_that_has_expired: "DECISION_EXPIRED",
    the_policy: "SIGNATURE_MISSING",
    a_policy_that_asks_no_human: "SIGNATURE_MISSING",
    the_kill_switch: "SIGNATURE_MISSING",
    a_human_sent_away: "SIGNATURE_MISSING",
    a_key_taken_away: "SIGNATURE_MISSING",
    a_backup_put_back: "LEDGER_NOT_ADOPTED",
    a_backup_adopted: "SIGNATURE_MISSING",
    a_signature_from_before_an_adoption: "SIGNATURE_OF_ANOTHER_EPOCH",
    an_export_that_was_edited: "INPUT_PROBLEM",
    its_work_approved_by_itself: "REVIEWER_IS_IMPLEMENTER",
    its_work_approved_by_a_label: "REVIEW_UNPROVED",
    its_work_approved_by_its_own_key: "KEY_UNKNOWN",
    its_work_approved_under_another_reason: "SIGNATURE_STALE",
    work_of_a_human_approved_by_a_second_key: "REVIEWER_IS_IMPLEMENTER",
    its_work_verified_by_a_name_of_remit_itself: "ACTOR_KIND_REFUSED",
}

LAX = """\
validation: lax-rules
---
policy: lax
validation: lax-rules
classes: ["*"]
operations: ["*"]
replay_classes: [PURE, IDEMPOTENT, RECONCILABLE, IRREVERSIBLE]
human_decision: []
"""


@pytest.mark.parametrize("way", DECIDED, ids=lambda way: way.__name__)
def test_refused(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, way: Callable[[Agent], Ran]
) -> None:
    ran = way(Agent(stage, monkeypatch))
    assert ran.status not in (0, 1), ran
    assert ran.error["code"] == DECIDED[way], ran.error
    assert "Traceback" not in ran.err
    undecided(stage)


def undecided(stage: Stage) -> None:
    """Nothing was decided, approved or verified that no human signed."""
    found = stage.run("decision", "show", "D-1", actor="bot").data["decision"]
    assert (found["state"], found["chosen"]) == ("proposed", None)
    assert stage.run("show", "W-1", actor="bot").data["status"] == "in-review"


def test_what_a_human_signs_is_accepted_by_the_same_ways(stage: Stage) -> None:
    """The list above could refuse everything; this shows that it does not."""
    name = stage.proposed()
    assert stage.done("decision", "accept", name)["decision"]["assurance"] == "signature"
    other = stage.proposed()
    argv = ("decision", "accept", other)
    path = stage.statement(*argv, actor="ann")
    text = stage.device.sign(path.read_bytes(), "remit-decision", flags=5)
    found = stage.bring(path, text, *argv, actor="ann").data["decision"]
    assert (found["state"], found["assurance"]) == ("accepted", "signature+presence")
    item = stage.handed_in("bot")
    assert stage.done("review", item, "--approve", "--reason", "x")["item"]["status"] == "approved"
    checked = stage.run("ledger", "verify", actor="bot")
    assert checked.status == 0, checked
    assert checked.data["problems"] == []
    assert checked.data["signatures"] > 10
    assert [root["actor"] for root in checked.data["roots"]] == ["ann"]
