"""The groups of commands, empty: modules of commands fill them, and ``app`` runs them.

They are apart so that no module of commands has to import another.
"""

from __future__ import annotations

from typing import Final

import typer

from remit.surfaces.cli.declare import LOOK, OPERATE, PLAN, WORK, root_options

HELP: Final = (
    "One ledger, one queue and one lifecycle for work whose outcome matters.\n\n"
    "Start with 'remit init' in a git repository, write work down with 'remit create', and take the"
    " next item with 'remit lease --next'. Each command explains itself: 'remit COMMAND --help'."
)


def _group(name: str, panel: str, about: str) -> typer.Typer:
    made = typer.Typer(help=about, no_args_is_help=True, rich_markup_mode="rich")
    app.add_typer(made, name=name, rich_help_panel=panel)
    return made


app: Final = typer.Typer(
    name="remit",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
root_options(app)
plan: Final = _group("plan", PLAN, "Whole plans: one file from goal to evidence and work.")
dep: Final = _group("dep", PLAN, "Let items wait on one another.")
hook: Final = _group("hook", WORK, "Answer the hooks of agents: context, and a guard of edits.")
report: Final = _group("report", WORK, "Say how work goes, or hand it in.")
run: Final = _group("run", WORK, "Bounded runs of a drain: look, resume, stop.")
triage: Final = _group("triage", LOOK, "Settle what no rule may settle alone.")
decision: Final = _group("decision", LOOK, "What humans decided, and what waits for them.")
actor: Final = _group("actor", OPERATE, "Who may act.")
agent: Final = _group("agent", OPERATE, "Which agents are declared, and what one makes of a brief.")
rule: Final = _group("rule", OPERATE, "Default rules that give items a check.")
policy: Final = _group("policy", OPERATE, "The figures that decisions use.")
capacity: Final = _group("capacity", OPERATE, "How much work of a class can be done now.")
limit: Final = _group("limit", OPERATE, "What classes, tenants, actors and the ledger may use.")
kill_switch: Final = _group("kill-switch", OPERATE, "Stop new leases, and let them be given again.")
prove: Final = _group("prove", OPERATE, "Show that the rules hold, or that a history is possible.")
scenario: Final = _group(
    "scenario", LOOK, "Play decision traces, such as your own policy's, before production."
)
ledger: Final = _group("ledger", OPERATE, "Check, rebuild, copy and mend the ledger itself.")
