"""Proofs: searches and checkers that try to break what the rest of remit promises.

``explore`` walks every state that a small world can reach through the real ``decide`` and
``evolve`` and checks each of them; ``mutants`` shows that the checks can fail; ``history`` judges a
recorded ledger. Nothing here is used by the product at run time, and nothing here may be imported by
it: a proof that the product leans on would prove itself.
"""
