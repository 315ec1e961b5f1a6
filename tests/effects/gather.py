"""What is left of a run, read back: records of destinations, logs of lives, ledgers in use and lost.

The histories are judged by the history checker and the ledger in use is verified, beside what
``checker`` says of the effects. Counts are of the whole run.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.effects import plan as p
from tests.effects.checker import SECOND_OBJECT, SECOND_SEND, Arrived, Run, Sent, Wrong, judge
from tests.effects.points import POINTS, lines

from remit.core.effect_events import EffectObserved, RetryDecided
from remit.core.effect_facts import EffectState
from remit.core.events import Recorded
from remit.core.evolve import evolve
from remit.core.facts import Fact, Key
from remit.core.item_events import LeaseGranted
from remit.ports.destination import digest_of
from remit.proofs import history
from remit.service.integrity import verify
from remit.wiring import open_ledger

KNOWN: Final = frozenset(point for points in POINTS.values() for point in points)


@dataclass
class Gathered:
    """What a run came to."""

    wrong: list[Wrong]
    ledgers: list[str]
    counts: Counter[str]
    struck: Counter[str]
    missed: list[str]
    """Points at which nobody was killed, whether somebody came to them or not."""

    def kinds(self) -> set[str]:
        """The kinds of what is wrong."""
        return {one.kind for one in self.wrong}

    def unseen(self, names: tuple[str, ...]) -> list[str]:
        """Those of these that the run never had: what it says of them would be empty."""
        return [name for name in names if not self.counts[name]]

    def told(self) -> str:
        """The counts, one line a subject."""
        struck = ", ".join(f"{point} {n}" for point, n in sorted(self.struck.items()))
        counts = "\n".join(f"  {n:>7,} {what}" for what, n in self.counts.items())
        return f"{counts}\n  killed by step: {struck}"


def arrived(folder: Path, mode: str) -> tuple[list[Arrived], Counter[str]]:
    """What reached one destination, and how often it was asked."""
    found: dict[int, dict[str, Any]] = {}
    outcomes: dict[int, list[tuple[str, bool, int]]] = {}
    counts: Counter[str] = Counter()
    for line in lines(folder / f"record.{mode}"):
        what = line["what"]
        if what == "arrived":
            found[line["number"]] = line
        elif what == "outcome":
            said = (line["outcome"], line["twin"], line["at"])
            outcomes.setdefault(line["number"], []).append(said)
        else:
            counts[
                "look-ups" if what == "looked up" else "look-ups that found the record away"
            ] += 1
    requests = [
        Arrived(
            mode, number, line["send"], line["effect_id"], line["fence"], line["digest"],
            line["at"], line["way"], tuple(outcomes.get(number, ())),
        )
        for number, line in found.items()
    ]  # fmt: skip
    return requests, counts


def gathered(plan: p.Plan) -> Gathered:
    """Judge a run by what it left behind."""
    folder = Path(plan.folder)
    conducted = json.loads((folder / "conducted.json").read_text())
    histories, problems = [], []
    lost = (folder / "lost").read_text().split() if (folder / "lost").exists() else []
    rows: dict[Key, Fact] = {}
    for url in [*lost, conducted["url"]]:
        events, rows, found = _read(url, whole=url == conducted["url"])
        histories.append(events)
        problems += found
    requests: list[Arrived] = []
    asked: Counter[str] = Counter()
    for mode in plan.modes:
        some, counts = arrived(folder, mode)
        requests += some
        asked += counts
    sent, struck, lives = _lives(folder)
    numbers = range(plan.effects)
    effects = [p.effect_of(plan, number) for number in numbers]
    run = Run(
        sent,
        requests,
        histories,
        rows,
        {f"WORK-{number}": effects[number] for number in numbers},
        {effect: digest_of(p.payload_of(effect)) for effect in effects},
    )
    run.counts["effects"] = plan.effects
    wrong = judge(run)
    kinds = Counter(one.kind for one in wrong)
    run.counts["second sends while the first was uncertain"] = kinds[SECOND_SEND]
    run.counts["second objects"] = kinds[SECOND_OBJECT]
    _count(run, asked, Counter(conducted["did"]), lives)
    return Gathered(wrong, problems, run.counts, struck, sorted(KNOWN - struck.keys()))


def _read(url: str, *, whole: bool) -> tuple[list[Recorded], dict[Key, Fact], list[str]]:
    """A ledger's events and rows, and what is wrong with them."""
    ledger = open_ledger(url)
    try:
        found = [] if not whole else [str(p) for p in verify(ledger.store, fold=evolve).problems]
        with ledger.store.read() as tx:
            events, rows = history.read_rows(tx)
    finally:
        ledger.close()
    found += [f"{url}: {problem}" for problem in history.judge(events, rows=rows)]
    return events, rows, found


def _lives(folder: Path) -> tuple[list[Sent], Counter[str], Counter[str]]:
    """What all processes wrote down: sends, where they were struck, and what they were refused."""
    sent: list[Sent] = []
    struck: Counter[str] = Counter()
    lives: Counter[str] = Counter()
    for path in folder.glob("*.log"):
        for line in lines(path):
            match line["what"]:
                case "sends":
                    told = (line["send"], line["effect"], line["mode"], line["fence"])
                    sent.append(Sent(*told, line.get("repeat", False), line.get("epoch", 0)))
                case "struck" if line["verb"] == "kill":
                    struck[line["point"]] += 1
                case "struck":
                    lives["stops"] += 1
                case "met":
                    assert line["point"] in KNOWN, f"{line['point']} is in no list of points"
                case "refused":
                    lives[f"{line['operation']} refused: {line['code']}"] += 1
    return sent, struck, lives


def _count(run: Run, asked: Counter[str], did: Counter[str], lives: Counter[str]) -> None:
    counts = run.counts
    counts["sends"] = len(run.arrived)
    repeats = {one.id for one in run.sent if one.repeat}
    counts["repetitions under an enforced key"] = sum(a.send in repeats for a in run.arrived)
    ways = Counter(a.way for a in run.arrived)
    for way, name in (
        ("lost", "requests lost"), ("unanswered", "responses lost"), ("delayed", "requests delayed"),
        ("twin", "requests doubled by the way"),
    ):  # fmt: skip
        counts[name] = ways[way]
    for outcome in ("dropped as too late", "stale fence", "replayed", "out"):
        counts[f"requests {outcome}"] = sum(
            o == outcome for a in run.arrived for o, _, _ in a.outcomes
        )
    ends = {
        lease.fence: lease.expires_at
        for history in run.histories
        for lease in (r.event.lease for r in history if isinstance(r.event, LeaseGranted))
    }
    counts["requests worked on after the end of their lease"] = sum(
        at > ends[a.fence]
        for a in run.arrived
        if a.send not in repeats and a.fence in ends
        for outcome, twin, at in a.outcomes
        if not twin and outcome in ("made", "replayed", "stale fence")
    )
    final = run.histories[-1]
    states = Counter(r.event.state for r in final if isinstance(r.event, EffectObserved))
    counts["found absent"] = states[EffectState.ABSENT]
    retries = Counter(r.event.decision for r in final if isinstance(r.event, RetryDecided))
    counts["retries"] = retries["RETRY"]
    counts["events"] = len(final)
    counts.update(asked)
    counts.update(did)
    counts.update(lives)


def plan_of(folder: Path) -> p.Plan:
    """The plan of a run."""
    return msgspec.json.decode((folder / "plan.json").read_bytes(), type=p.Plan)
