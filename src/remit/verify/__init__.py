"""Verifiers: run the registered rows and their negative controls.

They bring back evidence and never a change of status.
"""
