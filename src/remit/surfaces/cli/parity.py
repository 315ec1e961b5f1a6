"""``prove parity``: that a drained item is the same as one worked by hand, and the record of it.

The work is done in ``remit.proofs.parity``; here are its options, its exit status and what people see of
it. A difference, a shortcut that nothing notices, and a rare thing that no scenario came to are a "no" (6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.core.refusals import Code
from remit.surfaces.cli.answers import Answer, stop
from remit.surfaces.cli.declare import OPERATE, stands
from remit.surfaces.cli.groups import prove
from remit.surfaces.cli.proving import progress
from remit.surfaces.cli.session import Session, accepted

if TYPE_CHECKING:
    from remit.service.operations import Operations
    from remit.surfaces.cli.screen import Screen


def _proved(screen: Screen, data: Any) -> None:
    for one in data["counterexamples"]:
        screen.line(f"seed {one['seed']}: {one['property']} is broken", "red")
        screen.line(f"  {one['found']}")
        screen.lines([f"  {line}" for line in one["happens"]])
        for item, lines in one["histories"].items():
            screen.line(f"  {item}")
            screen.lines([f"    {line}" for line in lines])
    for name in data["missing_marks"]:
        screen.line(f"vacuous: no scenario came to {name}")
    for mutant in data["mutants"]:
        if mutant["caught_by"] not in mutant["expected"]:
            by = mutant["caught_by"] or "nothing"
            screen.line(f"{mutant['name']} was noticed by {by}, expected {mutant['expected'][0]}")
    held = sum(one["held"] for one in data["properties"])
    caught = sum(one["caught_by"] in one["expected"] for one in data["mutants"])
    planted = f" {caught} of {len(data['mutants'])} shortcuts noticed," if data["mutants"] else ""
    screen.line(
        f"{data['scenarios']} scenarios, {data['operations']} operations, {held} of"
        f" {len(data['properties'])} properties held,{planted} {len(data['marks'])} marks, {data['seconds']} s:"
        f" {'ok' if data['ok'] else 'BROKEN'}",
        "bold",
    )
    if data["recorded"]:
        screen.line(f"recorded for the code {data['code'][:12]}")


@stands(
    prove,
    "parity",
    OPERATE,
    "remit prove parity",
    "remit prove parity --scenarios 20 --seed 7 --no-mutants",
    "remit prove parity --record --json",
)
def parity(
    session: Session,
    scenarios: Annotated[
        int, typer.Option("--scenarios", metavar="N", min=1, help="How many random scenarios.")
    ] = 200,
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", min=0, help="Where chance begins.")
    ] = 1,
    mutants: Annotated[
        bool,
        typer.Option(
            "--mutants/--no-mutants", help="Plant every shortcut as well; each must be noticed."
        ),
    ] = True,
    processes: Annotated[
        int, typer.Option("--processes", metavar="N", min=1, help="How many look together.")
    ] = 2,
    record: Annotated[
        bool,
        typer.Option("--record", help="Keep a proof that holds on the ledger, for 'remit drain'."),
    ] = False,
) -> Answer:
    """Drain scenarios and work them by hand; exits 6 where what is left behind is not the same.

    No ledger is read, and none is written but by --record: a run of the drain starts only under a
    recorded proof of the very code that is about to work. Only a whole proof is recorded: 150
    scenarios or more, with the shortcuts.
    """
    from remit.proofs.parity.main import WHOLE, run_parity
    from remit.proofs.parity.recording import code_now

    if record and (not mutants or scenarios < WHOLE):
        raise stop(
            Code.BAD_INPUT,
            f"cannot record this: {scenarios} scenarios {'with' if mutants else 'without'} shortcuts"
            f" are no proof, expected {WHOLE} or more with them",
            "leave out --scenarios and --no-mutants",
        )
    operations = session.operations if record else None  # without a ledger nothing begins
    before = code_now()
    data = run_parity(
        scenarios=scenarios,
        seed=seed,
        mutants=mutants,
        processes=processes,
        say=progress(session),
    )
    data |= {"code": before, "recorded": False}
    if operations is not None and data["ok"]:
        data["recorded"] = _record(operations, data, before)
    return Answer(data, _proved, 0 if data["ok"] else 6)


def _record(operations: Operations, data: dict[str, Any], before: str) -> bool:
    from remit.proofs.parity.recording import code_now, record_of
    from remit.service.running import record_proof

    if code_now() != before:
        raise stop(
            Code.PARITY_UNPROVED,
            "cannot record the proof: the code changed while it was proved",
            "prove it again when nobody works on it",
        )
    accepted(record_proof(operations, record_of(data, before)))
    return True
