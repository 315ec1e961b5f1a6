"""The decision worksheet of effect work: a rendering of what the ledger holds, and of nothing else.

``effect.py`` puts it together. Each section takes the ``Story`` of one work (its events, those of its
effect, and the documents that verdicts named) and says what was found, on which evidence, and what
that does not support. What nobody looked at is NOT_TESTED, what cannot be known BLOCKED (INV-1), and
the five states rest each on an event of its own (INV-2). Figures come from events; all prose comes
from ``claims.py``.
"""
