"""The command line.

It parses arguments, calls the service and renders the answer as text or JSON.
"""
