"""Importers and exporters: foreign backlogs in, neutral rows out; nothing here touches a ledger."""
