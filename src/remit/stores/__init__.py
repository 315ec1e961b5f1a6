"""Adapters that keep a ledger: SQLite, and memory for models and for reads of the past.

Every store passes the one suite in ``tests/contract``.
"""
