"""Scenarios: declared decision traces that run through the real operations, with their oracle.

A scenario says what is given, what happens step by step under a clock of its own, and what the ledger
must then show. ``reading.py`` takes a file apart and names every fault at once; ``running.py`` plays
it on a ledger in memory, once for each branch; ``judging.py`` asks the ledger and compares. Nothing
here decides anything: verdicts, retries and states come from the core, and every ``actual`` from the
events.
"""
