"""The page on keys and decisions says what is so: its commands are typed, in its order."""

from __future__ import annotations

import re
import shlex
import stat
import subprocess
from pathlib import Path

import pytest
from tests.ground.people import make_key, typing
from tests.surfaces.cli.calling import Cli, Ran

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "keys-and-decisions.md").read_text("utf-8")
BLOCKS = re.findall(r"```\n(.*?)```", PAGE, re.DOTALL)
LINES = [line for block in BLOCKS for line in block.replace("\\\n", " ").splitlines()]

POLICY = """\
validation: rules-1
---
policy: policy-1
validation: rules-1
classes: ["*"]
operations: ["*"]
replay_classes: [IRREVERSIBLE]
human_decision: [IRREVERSIBLE]
rows: []
"""
WORK = """\
work_id: INVOICE-7
message_id: MESSAGE-7
operation_id: PAY
effect_id: PAY-7
replay_class: IRREVERSIBLE
payload_digest: 9f86d081
completion_test:
  - {name: paid, field: object_count, required: 1}
"""


class Page:
    """A home with the keys that the page names, and a folder in which it is followed."""

    def __init__(self, home: Path, here: Path) -> None:
        self.home = home
        self.cli = Cli(here)

    def line(self, begin: str) -> str:
        """The line of the page that begins so."""
        found: str = next(line for line in LINES if line.startswith(begin))
        return found

    def type(self, begin: str, **instead: str) -> Ran:
        """Type that line, with names of this place instead of the page's."""
        text = self.line(begin)
        for old, new in instead.items():
            text = text.replace(old.replace("_", "-"), new)
        argv = [w.replace("~", str(self.home)) for w in shlex.split(text)][1:]
        return self.cli.run(*argv, "--json", "--as", "ann")


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    home, here = tmp_path / "home", tmp_path / "here"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    here.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    for name, value in typing(make_key(home / ".ssh", "remit")).items():
        if name.startswith("SSH_"):
            monkeypatch.setenv(name, value)
    for name in ("backup", "bea"):
        make_key(here, name)
    return Page(home, here)


def test_the_page_is_followed_from_a_key_to_a_paid_invoice(page: Page) -> None:
    made = page.type("remit init")
    assert made.status == 0, made
    assert made.data["fingerprint"].startswith("SHA256:")
    for begin in (
        "remit actor key ann --public backup.pub",
        "remit actor add bea",
        "remit actor add bot-1",
    ):
        ran = page.type(begin)
        assert ran.status == 0, ran
    key = ran_keys(page, "bea")[0]["fingerprint"]
    assert page.type("remit actor key bea --revoke", **{"SHA256:Wd8…": key}).status == 0
    assert ran_keys(page, "bea")[0]["revoked"]

    item = held(page)
    [waiting] = page.cli.json("blocked")["items"]
    assert "remit decision propose" in waiting["how_to_open"]
    assert page.type("remit decision propose", W_5=item).status == 0
    shown = page.type("remit decision show").data["decision"]
    assert (shown["state"], shown["scope"]) == ("proposed", ["effect/PAY-7"])
    assert [d["id"] for d in page.cli.json("inbox")["decisions"]] == ["D-1"]
    assert "D-1 waits for a human: Pay the invoice" in page.cli.text("inbox")
    accepted = page.type("remit decision accept")
    assert accepted.status == 0, accepted
    assert accepted.data["decision"]["assurance"] == "signature"
    assert page.cli.json("show", item)["status"] == "ready"

    assert page.cli.json("inbox")["decisions"] == []
    token = page.type("remit actor token", W_4=item)
    assert token.data["counts_as"] == "asserted"
    checked = page.cli.json("ledger", "verify")
    assert (checked["problems"], len(checked["roots"])) == ([], 1)


def test_a_ledger_that_was_there_already_gets_its_key_later(page: Page) -> None:
    page.cli.json("init")
    for begin in ("remit actor key ann --public ~", "remit policy set"):
        ran = page.type(begin)
        assert ran.status == 0, ran
    assert not page.cli.json("policy", "show")["policy"]["accept_unproved"]
    page.cli.refused("actor", "add", "x", status=3, code="SIGNATURE_MISSING")


def test_doctor_tries_the_keys(page: Page) -> None:
    def keys() -> str:
        checks = page.cli.run("doctor", "--json", "--as", "ann").data["checks"]
        return str(next(c["result"] for c in checks if c["name"] == "keys"))

    assert keys() == "NOT_TESTED"
    page.type("remit init")
    assert keys() == "PASS"
    key = page.home / ".ssh" / "remit"
    opened = ["ssh-keygen", "-q", "-p", "-P", "correct horse", "-N", "", "-f", str(key)]
    subprocess.run(opened, check=True, capture_output=True)
    assert keys() == "FAIL"


def test_what_is_signed_elsewhere_takes_two_calls(page: Page) -> None:
    page.type("remit init")
    page.type("remit actor add bot-1")
    page.cli.json("kill-switch", "engage")
    argv = ("kill-switch", "release", "--statement", "w4")
    page.cli.refused(*argv, status=5, code="SIGNATURE_WANTED")
    text = page.line("ssh-keygen -Y sign").replace("remit-review", "remit-kill-switch")
    sign = text.replace("KEY", str(page.home / ".ssh" / "remit"))
    subprocess.run(shlex.split(sign), cwd=page.cli.cwd, check=True, capture_output=True)
    assert page.cli.json(*argv)["state"] == "released"


def signed_elsewhere(page: Page, name: str, *argv: str) -> Path:
    """Ask for a statement, sign it where the key is, and return it."""
    page.cli.refused(*argv, "--statement", name, status=5, code="SIGNATURE_WANTED")
    text = page.line("ssh-keygen -Y sign").replace("remit-review", "remit-policy")
    sign = text.replace("KEY", str(page.home / ".ssh" / "remit")).replace("w4", name)
    subprocess.run(shlex.split(sign), cwd=page.cli.cwd, check=True, capture_output=True)
    return page.cli.cwd / name


def test_a_document_is_signed_elsewhere_under_the_salt_that_it_got(page: Page) -> None:
    page.type("remit init")
    argv = ("policy", "apply", "policy.yaml")
    document = page.cli.cwd / "policy.yaml"
    document.write_text(POLICY)
    statement = signed_elsewhere(page, "w5", *argv)
    salts = statement.with_name("w5.salts")
    assert stat.S_IMODE(salts.stat().st_mode) == 0o600
    salt = salts.read_text()
    assert POLICY[:9] not in salt
    for text, code in (
        ("", "SIGNATURE_STALE"),
        (salt.replace(salt.split()[1], "0" * 32), "SIGNATURE_STALE"),
        ("no salts\n", "BAD_INPUT"),
    ):
        salts.write_text(text)
        found = page.cli.run(*argv, "--statement", "w5", "--json", "--as", "ann")
        assert (found.status != 0, found.error["code"]) == (True, code)
    salts.write_text(salt)
    document.write_text(POLICY + "# another\n")
    found = page.cli.run(*argv, "--statement", "w5", "--json", "--as", "ann")
    assert found.error["code"] == "SIGNATURE_STALE"
    document.write_text(POLICY)
    # Two documents are two acts: each has a statement of its own.
    page.cli.refused(*argv, "--statement", "w5", status=3, code="SIGNATURE_OF_ANOTHER_ACT")
    signed_elsewhere(page, "w6", *argv)
    page.cli.json(*argv, "--statement", "w6")
    assert page.cli.json("ledger", "verify")["problems"] == []
    again = page.cli.run("policy", "show", "--json", "--as", "ann")
    assert again.status == 0
    assert (
        salt.split()[1]
        not in page.cli.run("ledger", "follow", "--once", "--json", "--as", "ann").out
    )


def ran_keys(page: Page, name: str) -> list[dict[str, str]]:
    actors = page.cli.json("actor", "list")["actors"]
    return next(actor["keys"] for actor in actors if actor["name"] == name)


def held(page: Page) -> str:
    """Irreversible work that waits for a human."""
    for name, text in (("policy.yaml", POLICY), ("work.yaml", WORK)):
        (page.cli.cwd / name).write_text(text)
    key = str(page.home / ".ssh" / "remit")
    page.cli.json("policy", "apply", "policy.yaml", "--key", key)
    page.cli.json("submit", "work.yaml")
    found = page.cli.json("show", "INVOICE-7")
    assert found["status"] == "held"
    return str(found["id"])
