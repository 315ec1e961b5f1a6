"""Surfaces: what people and programs speak to.

Each parses, calls the service and renders; none knows of another.
"""
