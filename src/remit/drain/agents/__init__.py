"""Agents: declared programs that do the work of an item in its clone, and what they say of it.

``exchange`` holds the files that go in and out, ``starting`` makes the command and its environment,
``listening`` reads an output by the declaration, ``outcomes`` judges how a run ended, ``running`` puts
these around a supervised process, and ``conformance`` tries an agent out. What an agent says is a
claim, bounded and never executed; the drain looks at the clone.
"""
