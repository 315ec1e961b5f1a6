"""Reading a scenario: one YAML document becomes a ``Scenario``, or a list of all its faults.

The text is bounded and built from the parser's events (``remit.documents.marked``): nothing in it is
run, and no alias unfolds. Every name that a step, an expectation or the oracle uses is looked up here,
so a scenario that can be read can also be played.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core.asking import Command
from remit.documents.fields import Faults, taken
from remit.documents.intents import COMPARISON
from remit.documents.marked import Marked, Problem, read, shown
from remit.documents.rulings import KINDS, kind_of, ruling, rulings
from remit.scenarios import verbs
from remit.scenarios.linking import link
from remit.scenarios.model import Document, Expected, Given, Scenario, Step, Work
from remit.scenarios.oracle import oracle

MAX_BYTES: Final = 1 << 20
MAX_STEPS: Final = 2_000
MAX_FENCE: Final = 2_000
MAX_STORED: Final = 2_000

NOTHING: Final = Marked({}, 1, 1)

COMMON: Final = ("at", "by", "note", "expect")
"""Parts of a step beside its verb."""


Fetch = Callable[[str], bytes | str]
"""The bytes of a file that a scenario names, or why there are none."""


def no_files(name: str) -> str:
    """A scenario that stands alone names no files."""
    return "no file can be read from here"


def scenario(data: bytes, fetch: Fetch = no_files) -> tuple[Scenario | None, list[Problem]]:
    """The scenario of a text, and every problem; None where there is any.

    ``fetch`` gives the documents that it takes from files beside it.
    """
    if len(data) > MAX_BYTES:
        return None, [Problem(1, 1, "", f"found {len(data)} bytes, at most {MAX_BYTES} are read")]
    documents, problems = read(data)
    if len(documents) != 1:
        found = f"found {len(documents)} documents, expected one scenario"
        return None, problems or [Problem(1, 1, "", found)]
    if problems:
        return None, problems
    faults = Faults()
    read_one = _Reader(faults, fetch).scenario(documents[0])
    link(read_one, faults, documents[0])
    found_all = sorted(faults.problems, key=lambda p: (p.line, p.column, p.path))
    return (None if found_all else read_one), found_all


class _Reader:
    def __init__(self, faults: Faults, fetch: Fetch) -> None:
        self.faults = faults
        self.fetch = fetch
        self.steps_read = 0

    def scenario(self, at: Marked) -> Scenario:
        """The whole of it."""
        said = taken(at, verbs.TOP, self.faults)
        given, before = self.given(said["given"] or NOTHING)
        steps = self.steps(said["steps"], "$.steps") if said["steps"] is not None else ()
        return Scenario(
            said["name"],
            said["about"],
            said["question"],
            said["covers"],
            given,
            self.registered(said["documents"]),
            self.works(said["works"]),
            self.labels(said["labels"]),
            (*before, *steps),
            tuple(self.each(said["oracle"], "$.oracle", lambda a, p: oracle(a, p, self.faults))),
        )

    def each(self, at: Marked | None, path: str, one: Callable[[Marked, str], Any]) -> list[Any]:
        """Each part of a list."""
        if at is None:
            return []
        if not isinstance(at.value, list):
            self.faults.add(at, path, f"found {at.kind}, expected a list")
            return []
        return [found for i, child in enumerate(at.value) if (found := one(child, f"{path}[{i}]"))]

    def named(self, at: Marked | None, path: str) -> dict[str, Marked]:
        """Each part of a mapping."""
        if at is None:
            return {}
        if not isinstance(at.value, dict):
            self.faults.add(at, path, f"found {at.kind}, expected a mapping")
            return {}
        return at.value

    def given(self, at: Marked) -> tuple[Given, tuple[Step, ...]]:
        """What is given, and the steps that bring given work as far as it is."""
        said = taken(at, verbs.GIVEN, self.faults, "$.given")
        stored: dict[str, int] = {}
        for name, child in self.named(said["stored"], "$.given.stored").items():
            if isinstance(child.value, int) and 0 <= child.value <= MAX_STORED:
                stored[name] = child.value
            else:
                path = f"$.given.stored.{shown(name)}"
                self.faults.add(child, path, f"found {child.kind}, expected 0 to {MAX_STORED}")
        if not 1 <= said["next_fence"] <= MAX_FENCE:
            fence = at.value.get("next_fence", at) if isinstance(at.value, dict) else at
            self.faults.add(fence, "$.given.next_fence", f"expected 1 to {MAX_FENCE}")
        before: list[Step] = []
        self.each(said["work"], "$.given.work", lambda a, p: before.extend(self.begun(a, p)))
        owners = (said["admission_owner"], said["retry_owner"])
        return Given(said["next_fence"], stored, said["actors"], *owners), tuple(before)

    def begun(self, at: Marked, path: str) -> list[Step]:
        """The steps that bring one given work to where it is."""
        said = taken(at, verbs.STARTS, self.faults, path)
        order = ("stored", "decided", "leased", "intended", "sent", "lost")
        done = order[: order.index(said["until"]) + 1]
        made = []
        for name, verb in zip(
            order, ("store", "decide", "lease", "intend", "send", "expire"), strict=True
        ):
            if name in done:
                args = {
                    field.to or part: field.absent
                    for part, field in verbs.VERBS[verb].fields.items()
                }
                args["work"] = said["work"]
                if verb == "lease":
                    args["ttl"] = said["ttl"]
                by = said["by"] if verb in ("lease", "intend", "send") else ""
                made.append(Step(verb, args, at.line, at.column, by=by, note="given"))
        return made

    def registered(self, at: Marked | None) -> tuple[Document, ...]:
        """All documents, in the order in which they refer to one another."""
        found = [one for some in self.each(at, "$.documents", self.documents) for one in some]
        order = list(KINDS)
        return tuple(sorted(found, key=lambda document: order.index(document.kind)))

    def documents(self, at: Marked, path: str) -> list[Document]:
        """One revision of validation rules, a policy or a destination; or all those of a file."""
        parts = dict(at.value) if isinstance(at.value, dict) else {}
        later = parts.pop("later", None)
        if later is not None and not isinstance(later.value, bool):
            self.faults.add(later, f"{path}.later", f"found {later.kind}, expected true or false")
        last = bool(later is not None and later.value is True)
        if set(parts) == {"file"}:
            return [Document(*found, last) for found in self.of_file(parts["file"], f"{path}.file")]
        kind = kind_of(at)
        if not kind:
            known = ", ".join(KINDS)
            self.faults.add(at, path, f"expected file, or one of {known}, which name a revision")
            return []
        found = ruling(kind, Marked(parts, at.line, at.column), self.faults)
        return [Document(kind, found.label, found.command, last)]

    def of_file(self, at: Marked, path: str) -> list[tuple[str, str, Command]]:
        """The documents of a file beside the scenario; its faults are named with their own places."""
        name = at.value
        if not isinstance(name, str) or not name.strip():
            self.faults.add(at, path, f"found {at.kind}, expected the name of a file")
            return []
        data = self.fetch(name)
        if isinstance(data, str):
            self.faults.add(at, path, f"cannot read {shown(name)}: {data}")
            return []
        found, problems = rulings(data)
        for problem in problems:
            self.faults.add(at, path, f"{shown(name)}:{problem}")
        return [(one.kind, one.label, one.command) for one in found]

    def works(self, at: Marked | None) -> dict[str, Work]:
        """The intents, by the work id that names each of them here."""
        found = {}
        for name, child in self.named(at, "$.works").items():
            path = f"$.works.{shown(name)}"
            if not isinstance(child.value, dict):
                self.faults.add(child, path, f"found {child.kind}, expected an intent")
                continue
            parts = dict(child.value)
            test = parts.pop("completion_test", None)
            said = taken(
                Marked(parts, child.line, child.column), verbs.INTENT_PARTS, self.faults, path
            )
            if "work_id" not in parts:
                said["work_id"] = name
            said["completion_test"] = tuple(
                self.each(test, f"{path}.completion_test", self.comparison)
            )
            found[name] = Work(said, child.line)
        return found

    def comparison(self, at: Marked, path: str) -> dict[str, Any]:
        """One comparison of a completion test."""
        return taken(at, COMPARISON, self.faults, path)

    def labels(self, at: Marked | None) -> dict[str, tuple[str, str, int]]:
        """What a label stands for: ``{lease: 1, of: WORK}``, ``{fence: 101}``, ``{receipt: WORK}``."""
        found = {}
        for name, child in self.named(at, "$.labels").items():
            path = f"$.labels.{shown(name)}"
            parts = child.plain() if isinstance(child.value, dict) else {}
            match parts:
                case {"fence": int(n), **rest} if not rest:
                    found[name] = ("fence", "", n)
                case {"observation": int(n), **rest} if not rest:
                    found[name] = ("observation", "", n)
                case {"receipt": str(of), **rest} if not rest:
                    found[name] = ("receipt", of, 0)
                case {"lease": int(n), "of": str(of), **rest} if not rest:
                    found[name] = ("lease", of, n)
                case {"attempt": int(n), "of": str(of), **rest} if not rest:
                    found[name] = ("attempt", of, n)
                case _:
                    expected = "{fence: N}, {observation: N}, {receipt: WORK}, {lease: N, of: WORK} or {attempt: N, of: WORK}"
                    self.faults.add(child, path, f"expected {expected}")
        return found

    def steps(self, at: Marked, path: str) -> tuple[Step, ...]:
        """A list of steps; a fork ends it."""
        found = self.each(at, path, self.step)
        if isinstance(at.value, list):
            if not at.value:
                self.faults.add(at, path, "found no step")
            for i, child in enumerate(at.value[:-1]):
                if isinstance(child.value, dict) and "fork" in child.value:
                    said = "a fork must be the last step of its list"
                    self.faults.add(child, f"{path}[{i}].fork", said)
        return tuple(found)

    def step(self, at: Marked, path: str) -> Step | None:
        """One step: a verb, and what may stand beside it."""
        self.steps_read += 1
        if self.steps_read > MAX_STEPS:
            if self.steps_read == MAX_STEPS + 1:
                self.faults.add(at, path, f"found more than {MAX_STEPS} steps")
            return None
        if not isinstance(at.value, dict):
            self.faults.add(
                at, path, f"found {at.kind}, expected a step such as {{decide: WORK-1}}"
            )
            return None
        own = {name: child for name, child in at.value.items() if name not in COMMON}
        named = [name for name in own if name in verbs.VERBS]
        if len(own) != 1 or not named:
            self.misnamed(at, own, path)
            return None
        [verb] = named
        common = {name: self.label(at.value.get(name), f"{path}.{name}") for name in COMMON[:3]}
        expect = at.value.get("expect")
        forks = self.forks(own[verb], f"{path}.fork") if verb == "fork" else {}
        args = {} if verb == "fork" else self.arguments(verb, own[verb], f"{path}.{verb}")
        wanted = None if expect is None else self.expected(expect, f"{path}.expect")
        return Step(verb, args, at.line, at.column, **common, expect=wanted, forks=forks)

    def misnamed(self, at: Marked, own: dict[str, Marked], path: str) -> None:
        """A step without a verb, with several, or with one that is none."""
        from difflib import get_close_matches

        if not own:
            self.faults.add(at, path, "found no verb")
        for name, child in own.items():
            if name not in verbs.VERBS:
                near = get_close_matches(name, verbs.VERBS, 1)
                hint = f": did you mean {near[0]}?" if near else ""
                self.faults.add(child, f"{path}.{shown(name)}", f"this is no step{hint}")
        if len([name for name in own if name in verbs.VERBS]) > 1:
            self.faults.add(at, path, f"found several verbs: {', '.join(own)}; a step has one")

    def label(self, at: Marked | None, path: str) -> str:
        """A text that stands beside a verb."""
        if at is None:
            return ""
        if isinstance(at.value, str) and at.value.strip():
            return at.value
        self.faults.add(at, path, f"found {at.kind}, expected text")
        return ""

    def arguments(self, verb: str, at: Marked, path: str) -> dict[str, Any]:
        """A verb's arguments; a text alone is its first one."""
        fields = verbs.VERBS[verb].fields
        if fields and isinstance(at.value, str | int) and not isinstance(at.value, bool):
            at = Marked({next(iter(fields)): at}, at.line, at.column)
        elif at.value is None:
            at = Marked({}, at.line, at.column)
        return taken(at, fields, self.faults, path)

    def forks(self, at: Marked, path: str) -> dict[str, tuple[Step, ...]]:
        """The branches of a fork."""
        branches = self.named(at, path)
        if len(branches) < 2:
            self.faults.add(at, path, f"found {len(branches)} branches, expected two or more")
        return {
            name: self.steps(child, f"{path}.{shown(name)}") for name, child in branches.items()
        }

    def expected(self, at: Marked, path: str) -> Expected:
        """What must hold after a step."""
        said = taken(at, verbs.EXPECTED, self.faults, path)
        checks: dict[str, dict[str, Any]] = {}
        for name, child in self.named(said["checks"], f"{path}.checks").items():
            whole = child
            if isinstance(child.value, str):
                whole = Marked({"result": child}, child.line, child.column)
            checks[name] = taken(whole, verbs.CHECKED, self.faults, f"{path}.checks.{shown(name)}")
        said["checks"] = checks
        return Expected(said, at.line)
