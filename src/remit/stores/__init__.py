"""Stores: where events and rows are kept.

A store keeps and loads what it is told, atomically; it never decides.
"""
