"""Importers and exporters for backlogs kept elsewhere.

They translate records; what becomes of one is decided in the core.
"""
