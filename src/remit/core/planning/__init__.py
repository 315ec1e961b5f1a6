"""Governed planning, pure: what a plan says, what is wrong with it, and how two plans differ.

A plan is one bundle of records: a goal with its clauses, requirements, a dependency graph,
verification rows and work items. Here they are values; the ledger holds revisions of them.
"""
