"""Git: observe main, clone, take commits over.

It reports what it saw; whether that is enough is decided in the core.
"""
