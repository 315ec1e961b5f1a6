"""The command line's own repository and ledger, for callers who mean no good."""

from __future__ import annotations

from tests.surfaces.cli.conftest import alone, cli, repo

__all__ = ["alone", "cli", "repo"]
