"""remit: one ledger, one queue and one lifecycle for work whose outcome matters."""
