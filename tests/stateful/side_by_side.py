"""One traffic, three stores: what people ask of a ledger, asked of all stores under one clock.

The clock is the same object for all and the salts of blobs are the same, so nothing has to be left
out of a comparison. After each step every answer is compared; then the whole state: **every row of
every table** of both databases, byte for byte, with the rows that the facts of the memory store make;
every event since the last comparison as it is stored; every blob; head, ledger time, clock and epoch.
Some of the queries are asked in turns at each step. Every ``FULL_EVERY`` steps and at the end all of
them are, about all items, every fact is decoded from its row by the store itself, and the events are
compared from the first one on.

The memory store is asked through a fresh engine each time, the databases through engines that live as
long as their stores, so what an engine keeps from one transaction to the next is compared with what
a look at the ledger says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.stateful import whole

from remit.core.actor_commands import KeySpec
from remit.core.change import changed
from remit.core.decide.ledger import SERVICES
from remit.core.facts import Item
from remit.core.refusals import Refused
from remit.ports import Blob, ReadTx, Store
from remit.service import texts
from remit.service.calling import Caller, only_seen
from remit.service.engine import ABORTED, Answer, Call, Done, Engine
from remit.service.fitting import misfit
from remit.service.operations import Operations
from remit.service.texts import Prepared
from remit.stores.memory import MemoryStore
from remit.stores.postgres.transaction import PostgresRead
from remit.stores.sqlite.transaction import SqliteRead

Stores = dict[str, Store]

FULL_EVERY = 50
"""After so many steps all questions are asked, not only those whose turn it is."""

TURN = 1
"""How many questions have their turn in a step."""


class Differs(AssertionError):  # noqa: N818  # an assertion with a name, not an error of the product
    """A store that is not like the first; ``what`` is what was compared."""

    def __init__(self, store: str, what: str, found: object, expected: object) -> None:
        super().__init__(f"{store} differs in {what}: found {found}, expected {expected}")
        self.store = store
        self.what = what


def demand(store: str, what: str, found: object, expected: object) -> None:
    """Hold two values equal."""
    if found != expected:
        raise Differs(store, what, found, expected)


def shape_of(answer: Answer) -> Any:
    """What two answers must have in common: everything that the ledger keeps of them."""
    if isinstance(answer, Done):
        return ("done", answer.repeated, answer.events)
    return ("refused", answer.code, answer.message, answer.hint, dict(answer.details))


@contextmanager
def salted(turn: int) -> Iterator[None]:
    """Blobs of one step get the same salts in every store."""
    shipped, count = texts.blob_of, 0

    def blob_of(data: bytes, salts: texts.Salts | None = None) -> tuple[str, Blob]:
        nonlocal count
        count += 1
        salt = hashlib.sha256(f"{turn}/{count}".encode()).digest()[: texts.SALT]
        digest = hashlib.sha256(salt + data)
        return digest.hexdigest(), Blob(digest.digest(), salt, data)

    texts.blob_of = blob_of
    try:
        yield
    finally:
        texts.blob_of = shipped


class SideBySide:
    """Stands where the traffic expects an engine, and asks every store; the first is in memory.

    ``compared`` is the seq up to which events were compared, ``steps`` how often everything was.
    """

    def __init__(self, stores: Stores) -> None:
        self.compared = 0
        self.steps = 0
        self.turn = 0
        self.replace(stores)

    def replace(self, stores: Stores) -> None:
        """Go on with these stores, which should hold what the ones before did."""
        memory = stores["memory"]
        assert isinstance(memory, MemoryStore)
        self.memory = memory
        self.mirror = whole.Mirror()
        self.reopen(stores)

    def reopen(self, stores: Stores) -> None:
        """Go on with the same ledgers, opened by others."""
        self.stores = stores
        self.engines = {name: Engine(store) for name, store in stores.items()}

    def run(
        self, calls: Sequence[Call], *, atomic: bool = False, urgent: bool = False
    ) -> list[Answer]:
        """Run calls on every store and compare the answers; gives the first store's."""
        self.turn += 1
        self.engines["memory"] = Engine(self.memory)
        answers = self.each(lambda store, engine: self._ask(store, engine, calls, atomic, urgent))
        wanted = [shape_of(answer) for answer in answers["memory"]]
        for name, found in answers.items():
            demand(name, f"answers to {calls}", [shape_of(answer) for answer in found], wanted)
        first: list[Answer] = answers["memory"]
        return first

    def each(self, act: Callable[[Store, Engine], Any]) -> dict[str, Any]:
        """Do the same with every store; what each gave."""
        found = {}
        for name, store in self.stores.items():
            with salted(self.turn):
                found[name] = act(store, self.engines[name])
        return found

    def same(self, what: str, act: Callable[[Store, Engine], Any]) -> Any:
        """Do the same with every store and hold the outcomes equal; gives it."""
        found = self.each(act)
        for name, outcome in found.items():
            demand(name, what, outcome, found["memory"])
        return found["memory"]

    def _ask(
        self, store: Store, engine: Engine, calls: Sequence[Call], atomic: bool, urgent: bool
    ) -> list[Answer]:
        """Through the canonical operations where one actor asks, else in one engine's list.

        What only remit itself does or can have seen goes the way of what it saw, or nobody could
        ship. A command goes the same way each time, or its id would be answered in two ways.
        """
        if len({call.actor for call in calls}) == 1 and not any(map(own, calls)):
            operations = Operations(store, Caller(calls[0].actor), engine)
            commands, ids = [k.command for k in calls], [k.command_id for k in calls]
            return operations.run_each(commands, ids, atomic=atomic, urgent=urgent)
        unfit = {n: refused for n, k in enumerate(calls) if (refused := unfit_of(k))}
        if atomic and unfit:
            return [unfit.get(n, ABORTED) for n in range(len(calls))]
        fit = prepared([call for n, call in enumerate(calls) if n not in unfit])
        answers = iter(engine.run(fit, atomic=atomic, urgent=urgent))
        return [unfit[n] if n in unfit else next(answers) for n in range(len(calls))]

    # What is compared.

    def compare(self, *, full: bool = False) -> None:
        """The whole state of every store, and the questions whose turn it is (``full``: all)."""
        self.steps += 1
        self.mirror.follow(self.memory)
        full = full or self.steps % FULL_EVERY == 0
        names = list(whole.QUESTIONS)
        if not full:
            start = self.steps * TURN
            names = [names[n % len(names)] for n in range(start, start + TURN)]
        with ExitStack() as stack:
            seen = {name: stack.enter_context(s.read()) for name, s in self.stores.items()}
            self._compare(seen, names, full)
            self.compared = seen["memory"].head().seq

    def _compare(self, seen: dict[str, ReadTx], names: list[str], full: bool) -> None:
        items = [f for f in self.mirror.before["item"].values() if isinstance(f, Item)]
        if not full:
            touched = {name for kind, name in self.mirror.touched if kind == "item"}
            items = [item for item in items if item.id in touched][:4] or items[-2:]
        since = 0 if full else self.compared
        past = whole.histories(seen["memory"], since)
        wanted: dict[str, Any] = {}
        for name, tx in seen.items():
            found = whole.beside(tx, anchor_of(self.stores[name], tx))
            self._stored(name, tx, since, past)
            if full:
                found |= {"facts": whole.loaded(tx), **whole.histories(tx, 0)}
            found |= whole.asked(tx, names, items)
            wanted = wanted or found
            for what, value in found.items():
                demand(name, what, value, wanted[what])

    def _stored(self, name: str, tx: ReadTx, since: int, past: dict[str, Any]) -> None:
        """Hold rows, events and blobs of a database to those of the memory store."""
        ledger, mirror = self.stores[name].ledger_id, self.mirror
        if isinstance(tx, SqliteRead):
            rows = whole.sqlite_rows(tx, ledger)
            if rows != mirror.rows:
                demand(name, "rows", *whole.first_difference(mirror.rows, rows))
            for what, found in whole.histories(tx, since).items():
                demand(name, what, found, past[what])
        elif isinstance(tx, PostgresRead):
            blobs, events = whole.sent_blobs(past["blobs"]), whole.sent_events(past["events"])
            wanted = [*mirror.sent.values(), events, blobs]
            if whole.postgres_sent(tx, ledger, since) != wanted:
                rows = whole.postgres_rows(tx, ledger)
                demand(name, "rows", *whole.first_difference(mirror.rows, rows))
                for what, found in whole.histories(tx, since).items():
                    demand(name, what, found, past[what])
                raise Differs(name, "what it sends", "other bytes", "those of the same rows")


def own(call: Call) -> bool:
    """Whether it cannot go by the operations: only remit itself may ask it, or it was verified before."""
    shown = call.proof or call.token or isinstance(getattr(call.command, "key", None), KeySpec)
    return call.actor in SERVICES or only_seen(call.command) or bool(shown)


def prepared(calls: Sequence[Call]) -> list[Call]:
    """The calls with long texts as blobs, as the operations would hand them on."""
    found = []
    for call in calls:
        if call.blobs:
            found.append(call)  # the verifier's, which has kept the log that it names
            continue
        ready = Prepared(call.command)
        assert ready.refused is None, ready.refused
        blobs, plain = tuple(ready.blobs), tuple(ready.plain)
        found.append(changed(call, command=ready.command, blobs=blobs, plain=plain))
    return found


def unfit_of(call: Call) -> Refused | None:
    """What is wrong with a command; only whoever brings a blob along may name it."""
    return None if call.blobs else misfit(call.command)


def anchor_of(store: Store, tx: ReadTx) -> Any:
    """What the clock has to keep of a commit beside the time; that one is compared as what is now."""
    if isinstance(store, MemoryStore):
        return store._anchor.offset_us
    return tx.anchor.offset_us  # type: ignore[attr-defined]  # both databases have it
