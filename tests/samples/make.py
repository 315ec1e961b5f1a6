"""Write the stored samples that freeze the event format: one line for each registered event.

``python tests/samples/make.py`` writes what is missing and refuses to touch what is there;
``--force`` writes all anew, which is right only while no release has written such events.
Samples are made from the annotations alone, so a new event needs nothing here.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import types
from enum import StrEnum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from remit.core.events import EVENTS, Recorded
from remit.ports import StoredEvent
from remit.stores.codec import columns_of

SAMPLES = Path(__file__).with_name("events.jsonl")
LEDGER = "sample-ledger"


def value(kind: Any, name: str) -> Any:
    """A telling value of one annotation: text with its field's name, lists of two."""
    if kind is str:
        return f"{name} é\t"
    if kind is int:
        return sum(map(ord, name)) * 1_000_003
    if kind is bool:
        return len(name) % 2 == 0
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return list(kind)[len(name) % len(kind)]
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return instance(kind)
    if get_origin(kind) in (Union, types.UnionType):
        return value(next(a for a in get_args(kind) if a is not type(None)), name)
    if get_origin(kind) is tuple:
        arguments = get_args(kind)
        if arguments[-1] is ...:
            arguments = (arguments[0], arguments[0])
        return tuple(value(a, f"{name}{n}") for n, a in enumerate(arguments))
    raise AssertionError(f"teach tests/samples/make.py to make {kind}")


def instance(cls: type) -> Any:
    """The sample of one dataclass."""
    hints = get_type_hints(cls)
    return cls(
        **{field.name: value(hints[field.name], field.name) for field in dataclasses.fields(cls)}
    )


def recorded(name: str) -> Recorded:
    """The sample of one event type, in its place on a ledger."""
    return Recorded(
        7, "W-1", 2, "bob", "signature", 1_700_000_000_000_001, instance(EVENTS[name]),
        "c-1/0", b"\x01" * 32, "thread-1", "00-1",
    )  # fmt: skip


def line(name: str) -> str:
    """What is stored of it: payload and digest."""
    stored = StoredEvent(*columns_of(LEDGER, recorded(name)))
    found = {"type": name, "payload": stored.payload.decode(), "digest": stored.digest.hex()}
    return json.dumps(found, ensure_ascii=False)


def read() -> dict[str, dict[str, str]]:
    """The samples that are there, by type."""
    if not SAMPLES.exists():
        return {}
    found = [json.loads(text) for text in SAMPLES.read_text("utf-8").splitlines()]
    return {one["type"]: one for one in found}


def main(arguments: list[str]) -> int:
    """Write samples; 1 where one that is there would have changed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--force", action="store_true", help="write samples anew that are there")
    force = parser.parse_args(arguments).force
    there = read()
    lines = {name: json.dumps(one, ensure_ascii=False) for name, one in there.items()}
    fresh = {name: line(name) for name in EVENTS}
    changed = sorted(n for n in lines if fresh.get(n) != lines[n])
    if changed and not force:
        print(f"these samples are frozen and would change: {', '.join(changed)}", file=sys.stderr)
        print("add a new type and an upcaster, or give --force before a release", file=sys.stderr)
        return 1
    SAMPLES.write_text("".join(f"{fresh[name]}\n" for name in sorted(fresh)), "utf-8")
    print(f"{len(fresh)} samples, {len(changed)} changed, {len(fresh.keys() - lines.keys())} new")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
