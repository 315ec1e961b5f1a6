"""The drain: agents work the backlog under supervision, through the canonical operations and no others.

This room starts foreign programs (``supervision``), tells what they are and what came of them
(``agents``), keeps their leases alive (``renewal``) and ends what an earlier process left behind
(``leftovers``). It changes no item by itself, and never takes an exit status for a result.
"""
