"""The tables of a plan bundle: which parts each record has, and what they may be.

Everything that is said about the form of a bundle stands here once: reader, writer and JSON Schema
are made from it. Names are those of ``remit.core.planning.bundle``, but for a row's check, whose
parts stand beside the row's own: ``command`` is a line for the shell, ``argv`` a program with its
arguments, ``rubric`` what a human judges by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from remit.core.planning.bundle import (
    Ambiguity,
    Clause,
    EdgeType,
    Exclusion,
    PlanEdge,
    PlanGoal,
    PlanItem,
    PlanNode,
    PlanRequirement,
    PlanRow,
    Reversal,
    ReversalKind,
    Risk,
)
from remit.core.planning.limits import LIST_LIMIT_COUNT, TEXT_LIMIT_CHARS, TITLE_LIMIT_CHARS
from remit.core.rows import (
    ARGUMENT_LIMIT_CHARS,
    ARGUMENT_LIMIT_COUNT,
    EXIT_LIMIT,
    OUTPUT_FLOOR_BYTES,
    OUTPUT_LIMIT_BYTES,
    PATCH_LIMIT_CHARS,
    PATH_LIMIT_CHARS,
    PATTERN_LIMIT_COUNT,
    RED_REASON_LIMIT_CHARS,
    RUBRIC_LIMIT_CHARS,
    TIMEOUT_LIMIT_MS,
    Control,
    RowKind,
    RowSpec,
)
from remit.core.scopes import PATTERN_LIMIT_CHARS
from remit.documents.records import Part, Record
from remit.documents.shapes import Duration, Flag, Label, Many, Text, Whole, Word

SHELL: Final = ("sh", "-c")

_SAID: Final = Text(TEXT_LIMIT_CHARS)
_ENTRY: Final = Text(TEXT_LIMIT_CHARS, null=False)
_LABEL: Final = Label()
_TEXTS: Final = Many(_ENTRY, LIST_LIMIT_COUNT, alone=True)
_LABELS: Final = Many(_LABEL, LIST_LIMIT_COUNT, alone=True)
_DECISION: Final = Text(200, line=True)
_DECISIONS: Final = Many(Text(200, null=False, line=True), LIST_LIMIT_COUNT, alone=True)
_PATHS: Final = Many(Text(PATTERN_LIMIT_CHARS, null=False), PATTERN_LIMIT_COUNT, alone=True)

CLAUSE: Final = Record(
    "a clause",
    (
        Part("label", _LABEL, "Its name, by which requirements refer to it.", required=True),
        Part("text", _SAID, "One sentence of the goal.", required=True),
        Part("material", Flag(), "Whether it must be covered or excluded.", absent=True),
    ),
    Clause,
)

AMBIGUITY: Final = Record(
    "an ambiguity",
    (
        Part("label", _LABEL, "Its name.", required=True),
        Part("text", _SAID, "What is not clear.", required=True),
        Part("material", Flag(), "Whether it stops what follows while it is open.", absent=True),
        Part("clarification", _SAID, "What settles it, as text."),
        Part("decision", _DECISION, "The decision that settles it."),
    ),
    Ambiguity,
)

EXCLUSION: Final = Record(
    "an exclusion",
    (
        Part("clause", _LABEL, "The clause that no requirement covers.", required=True),
        Part("decision", _DECISION, "The decision that says why.", required=True),
    ),
    Exclusion,
)

_AMBIGUITIES: Final = Many(AMBIGUITY, LIST_LIMIT_COUNT)
_RISK: Final = Part("risk", Word(Risk), "How much depends on it.", absent=Risk.LOW)

GOAL: Final = Record(
    "the goal",
    (
        Part("label", _LABEL, "Its name.", required=True),
        Part("objective", _SAID, "What is wanted.", required=True),
        Part(
            "clauses", Many(CLAUSE, LIST_LIMIT_COUNT), "What it consists of, sentence by sentence."
        ),
        Part("non_goals", _TEXTS, "What is not wanted."),
        Part("provenance", _TEXTS, "Where it comes from."),
        Part("authority", _SAID, "By whose authority, and how far it reaches."),
        _RISK,
        Part("ambiguities", _AMBIGUITIES, "What is not clear about it."),
        Part(
            "exclusions",
            Many(EXCLUSION, LIST_LIMIT_COUNT),
            "Clauses that are left out, by decision.",
        ),
        Part("decisions", _DECISIONS, "Decisions that it consumes."),
    ),
    PlanGoal,
    about="Stage 1: what is wanted, by whose authority, and what is not.",
)

REQUIREMENT: Final = Record(
    "a requirement",
    (
        Part("label", _LABEL, "Its name.", required=True),
        Part("statement", _SAID, "What must come true.", required=True),
        Part("clauses", _LABELS, "Clauses of the goal that it covers."),
        Part("acceptance", _TEXTS, "How one would know."),
        Part("non_goals", _TEXTS, "What it does not ask for."),
        Part("sources", _TEXTS, "Where it comes from."),
        Part("decisions", _DECISIONS, "Decisions that it consumes."),
        _RISK,
        Part("ambiguities", _AMBIGUITIES, "What is not clear about it."),
    ),
    PlanRequirement,
    about="Stage 2: one thing that must come true, and how one would know.",
)

EDGE: Final = Record(
    "an edge",
    (
        Part("target", _LABEL, "The node that this one waits for.", required=True),
        Part("type", Word(EdgeType), "Only blocks makes it wait.", absent=EdgeType.BLOCKS),
        Part("rationale", _SAID, "Why.", required=True),
    ),
    PlanEdge,
)


def _bypass(target: str, decision: str) -> tuple[str, str]:
    return target, decision


BYPASS: Final = Record(
    "a bypass",
    (
        Part("target", _LABEL, "The node that this one no longer waits for.", required=True),
        Part("decision", _DECISION, "The decision that allows it.", required=True),
    ),
    _bypass,
    lambda pair: {"target": pair[0], "decision": pair[1]},
)

NODE: Final = Record(
    "a node",
    (
        Part("label", _LABEL, "Its name.", required=True),
        Part("requirements", _LABELS, "Requirements that it stands for."),
        Part("edges", Many(EDGE, LIST_LIMIT_COUNT), "What it waits for, or has to do with."),
        Part(
            "bypass", Many(BYPASS, LIST_LIMIT_COUNT), "What it once waited for and no longer does."
        ),
    ),
    PlanNode,
    about="Stage 3: a node of the dependency graph, with the edges that leave it.",
)


def _row(
    command: str | None,
    argv: tuple[str, ...],
    kind: RowKind | None,
    control: Control | None,
    **parts: Any,
) -> PlanRow:
    """A row, its check made of the parts that stand beside the row's own."""
    argv = argv if command is None else (*SHELL, command)
    if kind is None:
        judged = parts["rubric"] is not None and not argv
        kind = RowKind.RUBRIC if judged else RowKind.COMMAND
    if control is None:
        control = _control(kind, parts["patch"] or parts["patch_path"])
    checked = {name: parts.pop(name) for name in _BESIDE}
    return PlanRow(spec=RowSpec(kind=kind, argv=argv, control=control, **checked), **parts)


def _control(kind: RowKind, patch: str | None) -> Control:
    if patch is not None:
        return Control.MUTATION
    return Control.NONE if kind is RowKind.RUBRIC else Control.BASE_RED


def _parts(row: PlanRow) -> dict[str, Any]:
    """The parts of a row as they are written."""
    spec = row.spec
    shell = len(spec.argv) == 3 and spec.argv[:2] == SHELL
    judged = spec.rubric is not None and not spec.argv
    plain = RowKind.RUBRIC if judged else RowKind.COMMAND
    told = _control(spec.kind, spec.patch or spec.patch_path)
    return {
        **{name: getattr(row, name) for name in _OWN},
        **{name: getattr(spec, name) for name in _BESIDE},
        "command": spec.argv[2] if shell else None,
        "argv": () if shell else spec.argv,
        "kind": None if spec.kind is plain else spec.kind,
        "control": None if spec.control is told else spec.control,
    }


def _row_faults(parts: Mapping[str, Any]) -> list[tuple[str, str]]:
    if parts["command"] is not None and parts["argv"]:
        return [("argv", "found a command as well; give one of them")]
    return []


ROW: Final = Record(
    "a row",
    (
        Part("label", _LABEL, "Its name.", required=True),
        Part("requirement", _LABEL, "The requirement that it proves.", required=True),
        Part("item", _LABEL, "The item that brings the evidence.", required=True),
        Part("boundary", _SAID, "At which boundary of the system it is seen.", required=True),
        Part("command", Text(ARGUMENT_LIMIT_CHARS, null=False), "A shell command.", absent=None),
        Part(
            "argv",
            Many(Text(ARGUMENT_LIMIT_CHARS, null=False), ARGUMENT_LIMIT_COUNT),
            "A program with its arguments, in place of a command.",
        ),
        Part("rubric", Text(RUBRIC_LIMIT_CHARS, null=False), "What a human judges.", absent=None),
        Part("red_reason", Text(RED_REASON_LIMIT_CHARS, null=False),
             "What the output must hold where it is red.", absent=None),
        Part("expected_exit", Whole(0, EXIT_LIMIT), "The exit status of a pass."),
        Part("junit", Text(PATH_LIMIT_CHARS, null=False), "A JUnit report it writes.", absent=None),
        Part("scope", _PATHS, "Paths that the change may touch."),
        Part("artifacts", _PATHS, "Paths that the change must touch."),
        Part("timeout", Duration(TIMEOUT_LIMIT_MS), "How long it may run.", "timeout_ms", absent=600_000),
        Part("output_limit_bytes", Whole(OUTPUT_FLOOR_BYTES, OUTPUT_LIMIT_BYTES),
             "How much of its output is kept.", absent=1_048_576),
        Part("origin", _SAID, "explicit, or rule:NAME.", absent="explicit"),
        Part("kind", Word(RowKind), "Told by command or rubric unless given.", absent=None),
        Part("control", Word(Control), "Told by kind and patch unless given.", absent=None),
        Part("patch", Text(PATCH_LIMIT_CHARS, null=False),
             "A mutation under which it must be red.", absent=None),
        Part("patch_path", Text(PATH_LIMIT_CHARS, null=False),
             "The same as a file of the commit that ships.", absent=None),
        Part("patch_digest", Text(64, null=False), "The SHA-256 of that file.", absent=None),
        Part("direct", Flag(), "Whether it proves the requirement itself.", absent=True),
        Part("expected", _SAID, "The expected outcome."),
        Part("rollback", _SAID, "Evidence that it can be rolled back."),
        Part("limitations", _SAID, "What it does not show."),
        Part("waived", _DECISION, "The decision that lets it go unproved."),
    ),
    _row,
    _parts,
    _row_faults,
    about="Stage 4: planned evidence for one requirement, given by one item.",
)  # fmt: skip

_OWN: Final = tuple(f.name for f in fields(PlanRow) if f.name != "spec")
_BESIDE: Final = tuple(f.name for f in fields(RowSpec) if f.name not in ("kind", "argv", "control"))

REVERSAL: Final = Record(
    "a reversal",
    (
        Part("kind", Word(ReversalKind), "What can be done about it.", absent=ReversalKind.REVERT),
        Part("text", _SAID, "How."),
        Part("effect", _SAID, "The consequence outside, by name."),
        Part("confirmation", _SAID, "What would confirm it, exactly."),
        Part("blast_radius", _SAID, "What it would touch."),
        Part("decision", _DECISION, "The decision that allows what cannot be undone."),
    ),
    Reversal,
)

ITEM: Final = Record(
    "an item",
    (
        Part("label", _LABEL, "Its name; every command takes it.", required=True),
        Part("title", Text(TITLE_LIMIT_CHARS), "One line: what is wanted.", required=True),
        Part("body", Text(TEXT_LIMIT_CHARS), "What is wanted, at length."),
        Part("node", _LABEL, "The node of the graph that it stands on."),
        Part("requirements", _LABELS, "Requirements that it owns."),
        Part("rows", _LABELS, "Its evidence."),
        Part("scope", _PATHS, "Paths that it may change."),
        Part("artifacts", _PATHS, "Paths that it must change."),
        Part("non_goals", _TEXTS, "What it does not ask for."),
        _RISK,
        Part("reversal", REVERSAL, "What would undo it.", absent=Reversal()),
        Part("priority", Whole(0, 4), "0 is the most urgent.", absent=2),
        Part("work_class", _SAID, "The class of its lane.", absent="delivery"),
        Part("tenant", _SAID, "The tenant of its lane.", absent="default"),
    ),
    PlanItem,
    about="Stage 5: one atomic piece of work.",
)

LISTS: Final[dict[str, tuple[str, Record, int]]] = {
    "requirements": ("requirement", REQUIREMENT, 100_000),
    "nodes": ("node", NODE, 100_000),
    "rows": ("row", ROW, 200_000),
    "items": ("item", ITEM, 100_000),
}
"""The lists of a bundle: kind of record, its table, and how many a file may hold."""
