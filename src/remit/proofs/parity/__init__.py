"""Parity: the executable proof that a drained item is the same as one worked by hand (INV-18).

Two equal ledgers, one controlled clock each. On one a real conductor drains, in a world of scripted agents
where whatever can go wrong does; on the other a hand works the same items through the same public
operations, in the drain's order of leases and renewals. ``comparing`` says whether what is left behind
is the same, ``planting`` that it would say so if it were not.
"""
