"""What is asked of git about a folder, before a ledger or an attempt begins there.

It runs with the folder's own configuration: ask only where the caller works already.
"""

from __future__ import annotations

from pathlib import Path

from remit.core.gitfacts import RepositoryRefusal


def git_version(folder: Path) -> str | RepositoryRefusal:
    """What the git program says of its version, or why there is none."""
    from remit.machine.git import Git

    done = Git().run(["version"], cwd=folder, operation="ask git for its version")
    return done if isinstance(done, RepositoryRefusal) else done.text.strip()


def uncommitted(folder: Path) -> list[str] | RepositoryRefusal:
    """The tracked files in a work tree that were changed and not committed, as git tells them."""
    from remit.repository.before import uncommitted as ask

    return ask(folder)
