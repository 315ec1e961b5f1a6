"""What this machine has of each part of the isolation, for `doctor`: looked at, not assumed.

The sandbox is judged by building a cell in an empty folder and trying to get out of it. Egress and the
secret scan are parts that are there or not; without them the work that needs them is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from remit.core.checks import Result
from remit.isolation import egress, layout, probes, secrets
from remit.ports.sandbox import Cell, Probe, Room, SandboxRefusal, refused

_NAMES = "user-namespaces"


def sandbox(
    prepare: Callable[[Room], Cell | SandboxRefusal], tools: layout.Tools
) -> tuple[Probe, ...]:
    """Build a cell, probe it, and say what held."""
    with TemporaryDirectory(prefix="remit-doctor-") as name:
        cell = prepare(Room("doctor", Path(name).resolve()))
        if isinstance(cell, SandboxRefusal):
            return (Probe("sandbox", Result.BLOCKED, cell.message, cell.hint),)
        try:
            found = cell.probe()
        finally:
            cell.close()
    by_name = {probe.name: probe for probe in found}
    bad = refused(found)
    cell_probe = by_name["cell"]
    if cell_probe.result is not Result.PASS:
        denied = probes.denied_namespaces(cell_probe.evidence)
        said = f"{tools.bwrap}: {cell_probe.evidence}"
        return (
            Probe("sandbox", Result.BLOCKED, said, cell_probe.hint),
            Probe(
                _NAMES,
                Result.FAIL if denied else Result.BLOCKED,
                "this process may not make namespaces" if denied else "no cell came about",
                probes.restricted_hint() if denied else cell_probe.hint,
            ),
        )
    passed = sum(probe.result is Result.PASS for probe in found)
    said = f"{tools.bwrap}: {passed} of {len(found)} probes held"
    if bad:
        said += "; " + "; ".join(f"{probe.name}: {probe.evidence}" for probe in bad)
    return (
        Probe("sandbox", Result.FAIL if bad else Result.PASS, said, bad[0].hint if bad else ""),
        Probe(_NAMES, Result.PASS, "a cell got namespaces of its own"),
        *(by_name[part] for part in ("landlock", "seccomp") if part in by_name),
    )


def parts() -> tuple[Probe, ...]:
    """The proxy's parser and the secret scanner."""
    gone = egress.missing()
    return (
        Probe(
            "egress",
            Result.BLOCKED if gone else Result.PASS,
            "h11 is not installed" if gone else "denied, or through the proxy's allow-list",
            "pip install 'remit[drain]'; until then no cell may have egress" if gone else "",
        ),
        secrets.examine(),
    )
