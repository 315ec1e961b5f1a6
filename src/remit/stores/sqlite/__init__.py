"""The SQLite store: one ledger in one file."""
