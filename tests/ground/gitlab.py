"""A bare origin and a person's clone of it, for tests of deliveries in processes of their own.

Nothing of the machine's own git configuration plays a part. ``settle`` sets that up for the calling
process and all that it starts, so it is for processes that a test started, not for the test itself.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def settle(home: Path) -> None:
    """Give this process an empty home, no configuration and a fixed identity."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        del os.environ[name]
    home.mkdir(parents=True, exist_ok=True)
    os.environ |= {"HOME": str(home), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{role}_NAME": "Ada", f"GIT_{role}_EMAIL": "ada@example.org"}


def git(where: Path, *arguments: str) -> str:
    """What git says on standard output; it must succeed."""
    done = subprocess.run(["git", *arguments], cwd=where, capture_output=True, timeout=60)
    if done.returncode:
        raise AssertionError(f"git {arguments} in {where}: {done.stderr.decode()}")
    return done.stdout.decode().strip()


def lab(folder: Path) -> Path:
    """A bare origin and its clone with one commit on main; returns the clone."""
    origin, host = folder / "origin.git", folder / "host"
    git(folder, "init", "-q", "--bare", "-b", "main", str(origin))
    git(folder, "init", "-q", "-b", "main", str(host))
    git(host, "remote", "add", "origin", str(origin))
    commit(host, {"a.txt": "one\n"})
    git(host, "push", "-q", "origin", "main")
    return host


def commit(host: Path, files: dict[str, str], say: str = "change") -> str:
    """Commit files; returns the id."""
    for name, text in files.items():
        (host / name).write_text(text)
    git(host, "add", "-A")
    git(host, "commit", "-q", "-m", say)
    return git(host, "rev-parse", "HEAD")
