"""The scripted agent: ``python -m remit.drain.scripted`` does what a script says, step by step.

For tests and the demo: it speaks the file protocol as any agent does and needs no provider, and it can
misbehave in the ways that a drain must withstand. The script is a JSON file named by ``REMIT_SCRIPT``
(or as the argument): ``{"items": {"W-4": [steps]}, "default": [steps]}``. Each step is an object with
``do``. It runs in its own clone, and every file that it writes lies there unless a step says otherwise.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

IDENTITY: Final = (
    "-c", "user.name=Scripted Agent", "-c", "user.email=scripted@example.org",
    "-c", "commit.gpgsign=false",
)  # fmt: skip
LIE: Final = "0123456789abcdef0123456789abcdef01234567"


class Step(msgspec.Struct, tag_field="do", forbid_unknown_fields=True, frozen=True):
    """What all steps share."""


class Write(Step, tag="write", frozen=True):
    """Write a file and do not commit it; ``path`` may lead out of the clone."""

    path: str
    text: str = ""


class Commit(Step, tag="commit", frozen=True):
    """Write a file and commit it, in scope or not."""

    path: str
    text: str = ""
    message: str = "A scripted change"


class Secret(Step, tag="secret", frozen=True):
    """Commit a file that holds what looks like a key."""

    path: str = "settings.ini"


class Progress(Step, tag="progress", frozen=True):
    """Append a line of progress."""

    text: str
    spent_micros: int | None = None
    percent: int | None = None


class Report(Step, tag="report", frozen=True):
    """Write the report; parts that are not given tell the truth."""

    outcome: str = "done"
    head: str = ""
    summary: str = "What the script said."
    reason: str = ""
    spent_micros: int | None = None


class Lie(Step, tag="lie", frozen=True):
    """Report work that is not there."""


class Garble(Step, tag="garble", frozen=True):
    """Write these words as the report, whatever they are."""

    text: str = "{"


class Print(Step, tag="print", frozen=True):
    """Write to standard output or standard error."""

    text: str
    stream: str = "stdout"


class Escapes(Step, tag="escapes", frozen=True):
    """Write what would move a terminal: a title, a cleared screen, a link, text that runs backwards."""


class Cost(Step, tag="cost", frozen=True):
    """Print a result line with a cost in dollars, as text so that it is exact."""

    usd: str


class Flood(Step, tag="flood", frozen=True):
    """Write so many bytes."""

    size: int


class Sleep(Step, tag="sleep", frozen=True):
    """Do nothing for a while."""

    ms: int


class Hang(Step, tag="hang", frozen=True):
    """Never come to an end; ``deaf`` does not hear SIGTERM either."""

    deaf: bool = False


class Daemon(Step, tag="daemon", frozen=True):
    """Leave a process behind, in a session of its own."""


class Crash(Step, tag="crash", frozen=True):
    """End by a signal."""

    signal: int = int(signal.SIGKILL)


class Exit(Step, tag="exit", frozen=True):
    """End with a status."""

    status: int


AnyStep = (
    Write | Commit | Secret | Progress | Report | Lie | Garble | Print | Escapes | Cost | Flood
    | Sleep | Hang | Daemon | Crash | Exit
)  # fmt: skip


class Script(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Steps by item, and those for any other item."""

    items: dict[str, list[AnyStep]] = {}
    default: list[AnyStep] = []


def git(*arguments: str) -> str:
    """Run git in the clone, or in the change under review; a failure of it is a failure of the script."""
    done = subprocess.run(
        ["git", *IDENTITY, *arguments],
        cwd=os.environ.get("REMIT_CHANGE"),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def write(path: str, text: str) -> None:
    """Write a file, with its folders."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, "utf-8")


def out(text: str) -> None:
    """Write to standard output at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def report(**parts: Any) -> None:
    """Write the report of these parts."""
    said = {"schema": "remit.agent-report.v1"} | {
        k: v for k, v in parts.items() if v not in ("", None)
    }
    write(os.environ["REMIT_REPORT"], json.dumps(said))


def hang(deaf: bool) -> NoReturn:
    """Never return."""
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1)


def take(step: AnyStep) -> None:
    """One step."""
    match step:
        case Write(path, text):
            write(path, text)
        case Commit(path, text, message):
            write(path, text)
            git("add", "--force", "--", path)
            git("commit", "--quiet", "--no-verify", "-m", message)
        case Secret(path):
            key = "AKIA" + "Q7ZK4MPLX2WNB5RT"
            secret = base64.b64encode(hashlib.sha256(b"no secret").digest()).decode()[:40]
            take(Commit(path, f"aws_access_key_id = {key}\naws_secret_access_key = {secret}\n"))
        case Report(outcome, head, summary, reason, spent):
            found = head or (git("rev-parse", "HEAD") if outcome == "done" else "")
            report(outcome=outcome, head=found, summary=summary, reason=reason, spent_micros=spent)
        case Lie():
            report(outcome="done", head=LIE, summary="All done, all tests green.")
        case Garble(text):
            write(os.environ["REMIT_REPORT"], text)
        case Progress(text, spent, percent):
            parts = {"text": text, "spent_micros": spent, "percent": percent}
            line = json.dumps({k: v for k, v in parts.items() if v is not None})
            with Path(os.environ["REMIT_PROGRESS"]).open("a") as opened:
                opened.write(line + "\n")
        case _:
            behave(step)


def behave(step: AnyStep) -> None:
    """A step that writes no file."""
    match step:
        case Print(text, stream):
            (sys.stderr if stream == "stderr" else sys.stdout).write(text)
            sys.stdout.flush()
        case Escapes():
            out(
                "\x1b]0;owned\x07\x1b[2J\x1b[H\x1b]8;;http://example.org\x07link\x1b]8;;\x07\u202egnp\n"
            )
        case Cost(usd):
            out(f'{{"type": "result", "is_error": false, "total_cost_usd": {usd}}}\n')
        case Flood(size):
            for _ in range(size // 1000):
                out("f" * 999 + "\n")
        case Sleep(ms):
            time.sleep(ms / 1000)
        case Hang(deaf):
            hang(deaf)
        case Daemon():
            subprocess.Popen(["sleep", "300"], start_new_session=True, stdout=subprocess.DEVNULL)
        case Crash(number):
            os.kill(os.getpid(), number)
            hang(deaf=False)
        case Exit(status):
            sys.exit(status)


def main() -> int:
    """Play the script for this item."""
    name = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("REMIT_SCRIPT", "")
    if not name:
        sys.stderr.write("scripted: found no script; name one as argument or in REMIT_SCRIPT\n")
        return 2
    try:
        script = msgspec.json.decode(Path(name).read_bytes(), type=Script)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        sys.stderr.write(f"scripted: cannot read {name}: {error}\n")
        return 2
    item = os.environ.get("REMIT_ITEM", "")
    for step in script.items.get(item, script.default):
        take(step)
    return 0


if __name__ == "__main__":
    sys.exit(main())
