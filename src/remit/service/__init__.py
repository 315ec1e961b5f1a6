"""The canonical operations, one transaction each.

The only way to change an item; it speaks to stores and the outside through ports.
"""
