"""Isolation: cells for attempts, probes that try to get out of them, egress and secrets.

An adapter behind `remit.ports.sandbox`. It prepares and looks; what is started in a cell is started
by whoever supervises the attempt, and nothing here ever runs a guest's command without its cell.
"""
