"""Reading: answers about a ledger, now or at any past seq, from one snapshot.

Nothing here can write: every function takes a ``ReadTx``. The same functions answer for the past on
a store that was folded up to a seq (``as_of``), so there is one way to read and no second notion of
what an item looked like. Answers are plain dictionaries with snake_case keys, times in RFC 3339 UTC,
ready for ``--json``; text from outside is returned as data, and surfaces neutralise it before they
show it.
"""
