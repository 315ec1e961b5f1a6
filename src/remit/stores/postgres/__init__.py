"""The PostgreSQL store: many ledgers in one database, for more than one machine."""
