"""Verification finds what an attacker with the file changed, and says where (INV-23)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import apsw
import pytest
from tests.contract.builders import T0, blob, edge, item, triage

from remit.core.events import BlobRedacted, Event, KillSwitchReleased, Recorded
from remit.core.facts import DependencyKind, EdgeState, Fact, Key, Lane, LaneId
from remit.core.fold import FoldError
from remit.core.item_events import NoteAdded, ReviewApproved
from remit.core.merkle import Tree
from remit.ports import Change, LedgerCorrupt, Store
from remit.service.integrity import LIMIT, Get, Problem, replay, verify
from remit.stores.codec import columns_of, digest_of
from remit.stores.memory import MemoryStore
from remit.stores.sqlite.store import SqliteStore, open_store

TEXT = blob(b"text from outside")


def fold(get: Get, recorded: Recorded) -> Mapping[Key, Fact | None]:
    """Notes make a fact of each kind, each of its own stream; everything else is counted."""
    stream, version = recorded.stream, recorded.version
    if recorded.event == NoteAdded("poison", ""):
        raise FoldError(recorded, "poison")
    if isinstance(recorded.event, NoteAdded) and stream.startswith("W-"):
        number = int(stream[2:])
        before = get("item", stream)
        if (before is None) != (version == 1):
            raise FoldError(recorded, "a gap in the stream")
        edges = (edge("W-99"), edge("W-98", EdgeState.MET, DependencyKind.PARENT))
        return {
            ("item", stream): item(number, version=version, dependencies=edges, unmet=1),
            ("alias", f"bd-{number}"): stream,
            ("triage", f"TR-{number}"): triage(number, open_=True, seq=recorded.seq),
            ("lane", f"lane-{number}"): Lane(LaneId(f"lane-{number}"), 1, number, 1, 0),
            ("counter", stream): version,
        }
    return {("counter", stream): version}


def append(store: Store, *events: tuple[str, Event], assurance: str = "asserted") -> None:
    """Append and fold as the service does."""
    with store.write() as tx:
        facts: dict[Key, Fact | None] = {}
        loaded: dict[Key, Fact | None] = {}

        def get(kind: str, name: str) -> Fact | None:
            key = (kind, name)
            if key not in facts:
                facts.update(tx.load([key]))
            return facts[key]

        for stream, event in events:
            version = len(tx.stream(stream, 0, 10_000)) + 1
            at = max(tx.now(), T0)
            seq = tx.head().seq + 1
            recorded = Recorded(seq, stream, version, "bob", assurance, at, event)
            tx.append([recorded])
            for key, fact in fold(get, recorded).items():
                loaded.setdefault(key, get(*key))
                facts[key] = fact
        tx.write([Change(key, loaded[key], facts[key]) for key in loaded])


@pytest.fixture
def filled(store: SqliteStore) -> SqliteStore:
    """Event 1 is the ledger's; 2 to 11 are notes on W-1 to W-5, two each."""
    with store.write() as tx:
        tx.put_blobs([TEXT])
        tx.write([Change(("counter", "ledger"), None, 1)])
    for n in range(1, 6):
        append(store, (f"W-{n}", NoteAdded("a", "")))
        append(store, (f"W-{n}", NoteAdded("b", TEXT.digest.hex())))
    return store


@pytest.fixture
def attacker(filled: SqliteStore) -> Iterator[apsw.Connection]:
    """Somebody who holds the file: no trigger stands in the way, and no rule of remit's."""
    connection = apsw.Connection(str(filled.path))
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    for _ in connection.execute("PRAGMA ignore_check_constraints = ON"):
        pass
    yield connection
    connection.close()


def test_a_sound_ledger_has_no_problems(filled: SqliteStore) -> None:
    steps: list[tuple[int, int]] = []
    report = verify(filled, fold=fold, progress=lambda done, total: steps.append((done, total)))
    assert report.problems == ()
    assert report.first_bad_seq is None
    assert (report.events, report.rows_compared, report.truncated) == (11, True, False)
    assert steps == [(11, 11)]
    tree = Tree()
    with filled.read() as tx:
        for event in tx.stored(0, 99):
            tree.append(event.digest)
    assert report.root == tree.root().hex()
    again = verify(filled, fold=fold, root=report.root, size=11)
    assert again == report


def test_a_ledger_in_memory_is_verified_alike(filled: SqliteStore) -> None:
    memory = MemoryStore("ledger-1")
    with filled.read() as tx, memory.write() as writer:
        writer.append(tx.events(0, 99))
        writer.put_blobs([TEXT])
    replay(memory, fold=fold, swap=True)
    assert verify(memory, fold=fold) == verify(filled, fold=fold)


Attack = tuple[str, int, str]
"""What the attacker runs, the first bad seq, and where the problem has to be."""

EVENTS: dict[str, Attack] = {
    "a byte of a payload": (
        "UPDATE events SET payload = cast(replace(payload, '\"a\"', '\"x\"') AS BLOB) WHERE seq = 4", 4, "digest"
    ),
    "a byte of a digest": ("UPDATE events SET digest = zeroblob(32) WHERE seq = 4", 4, "digest"),
    "a deleted event": ("DELETE FROM events WHERE seq = 4", 4, "seq"),
    "the first event deleted": ("DELETE FROM events WHERE seq = 1", 1, "seq"),
    "a swapped pair": (
        ("UPDATE events SET seq = 99 WHERE seq = 4; UPDATE events SET seq = 4 WHERE seq = 5;"
        "UPDATE events SET seq = 5 WHERE seq = 99"),
        4,
        "digest",
    ),
    "another actor": ("UPDATE events SET actor = 'eve' WHERE seq = 6", 6, "digest"),
    "another assurance": ("UPDATE events SET assurance = 'signature' WHERE seq = 6", 6, "digest"),
    "an earlier time": ("UPDATE events SET created_at = 1 WHERE seq = 7", 7, "created_at"),
    "a later time": ("UPDATE events SET created_at = created_at + 1 WHERE seq = 7", 7, "digest"),
    "another stream": (
        "UPDATE events SET stream = 'W-9', stream_version = 1 WHERE seq = 11", 11, "digest"
    ),
    "another version": (
        "UPDATE events SET stream_version = 7 WHERE seq = 11", 11, "stream W-5"
    ),
    "another type": ("UPDATE events SET type = 'KillSwitchEngaged' WHERE seq = 8", 8, "digest"),
    "an unknown type": ("UPDATE events SET type = 'Invented' WHERE seq = 8", 8, "type"),
    "another ledger": ("UPDATE events SET ledger_id = 'other' WHERE seq = 8", 8, "ledger_id"),
    "a command id": ("UPDATE events SET command_id = 'c' WHERE seq = 9", 9, "digest"),
    "a command digest": (
        "UPDATE events SET command_id = 'c', command_digest = x'00' WHERE seq = 9", 9, "digest"
    ),
    "a trace": ("UPDATE events SET trace_context = 't' WHERE seq = 9", 9, "digest"),
    "a conversation": ("UPDATE events SET conversation_ref = 'v' WHERE seq = 9", 9, "digest"),
    "a payload that is not canonical": (
        "UPDATE events SET payload = cast(replace(payload, ':', ': ') AS BLOB) WHERE seq = 9", 9, "payload"
    ),
    "a payload that is no JSON": ("UPDATE events SET payload = x'7b' WHERE seq = 9", 9, "payload"),
}  # fmt: skip


@pytest.mark.parametrize("name", EVENTS)
def test_a_changed_event_is_found(
    filled: SqliteStore, attacker: apsw.Connection, name: str
) -> None:
    statement, seq, where = EVENTS[name]
    attacker.execute(statement)
    report = verify(filled, fold=fold)
    assert report.first_bad_seq == seq
    assert report.problems[0].seq == seq
    assert where in [p.where for p in report.problems if p.seq == seq]


ROWS: dict[str, tuple[str, str]] = {
    "item state": (("UPDATE item_rows SET state = cast(replace(state, 'title 3', 'title X') AS BLOB)"
                   " WHERE id = 'W-3'"), "item_rows W-3"),
    "item column": ("UPDATE item_rows SET rank = 1 WHERE id = 'W-3'", "item_rows W-3"),
    "item status": ("UPDATE item_rows SET status = 'ready' WHERE id = 'W-3'", "item_rows W-3"),
    "item gone": ("DELETE FROM item_rows WHERE id = 'W-2'", "item_rows W-2"),
    "item added": (("INSERT INTO item_rows SELECT ledger_id, 'W-7', 7, status, lane, rank, gate,"
                   " hold_reason, lease_fence, lease_expires_at, lease_actor, text_digest, unmet,"
                   " version, state, hold_trigger, hold_at, hold_rank, follows"
                   " FROM item_rows WHERE id = 'W-1'"), "item_rows W-7"),
    "edge state": ("UPDATE edge_rows SET state = 'dead' WHERE dependent = 'W-1' AND via = 'W-99'",
                   "edge_rows W-99/blocks/dead/W-1/W-99"),
    "edge gone": ("DELETE FROM edge_rows WHERE dependent = 'W-1' AND via = 'W-99'",
                  "edge_rows W-99/blocks/unmet/W-1/W-99"),
    "edge added": ("INSERT INTO edge_rows VALUES ('ledger-1', 'W-5', 'blocks', 'met', 'W-1', 'W-5')",
                   "edge_rows W-5/blocks/met/W-1/W-5"),
    "child gone": ("DELETE FROM child_rows WHERE child = 'W-4'", "child_rows W-98/W-4"),
    "child added": ("INSERT INTO child_rows VALUES ('ledger-1', 'W-1', 'W-2')", "child_rows W-1/W-2"),
    "alias moved": ("UPDATE alias_rows SET item = 'W-9' WHERE alias = 'bd-1'", "alias_rows bd-1"),
    "alias gone": ("DELETE FROM alias_rows WHERE alias = 'bd-1'", "alias_rows bd-1"),
    "alias added": ("INSERT INTO alias_rows VALUES ('ledger-1', 'x', 'W-1')", "alias_rows x"),
    "triage closed": ("UPDATE triage_rows SET open = 0 WHERE id = 'TR-2'", "triage_rows TR-2"),
    "triage gone": ("DELETE FROM triage_rows WHERE id = 'TR-2'", "triage_rows TR-2"),
    "lane moved": ("UPDATE lane_rows SET passed = 0 WHERE id = 'lane-3'", "lane_rows lane-3"),
    "lane gone": ("DELETE FROM lane_rows WHERE id = 'lane-3'", "lane_rows lane-3"),
    "fact changed": ("UPDATE fact_rows SET body = x'39' WHERE id = 'W-1'", "fact_rows counter/W-1"),
    "fact version": ("UPDATE fact_rows SET version = 5 WHERE id = 'W-1'", "fact_rows counter/W-1"),
    "fact gone": ("DELETE FROM fact_rows WHERE id = 'W-1'", "fact_rows counter/W-1"),
    "fact added": ("INSERT INTO fact_rows VALUES ('ledger-1', 'counter', 'z', 0, x'31')",
                   "fact_rows counter/z"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_changed_row_is_found_and_put_right(
    filled: SqliteStore, attacker: apsw.Connection, name: str
) -> None:
    statement, where = ROWS[name]
    attacker.execute(statement)
    assert attacker.changes() > 0
    report = verify(filled, fold=fold)
    assert where in [p.where for p in report.problems]
    assert {p.seq for p in report.problems} == {0}
    looked = replay(filled, fold=fold, swap=False)
    assert looked.events == 11
    assert looked.differences
    assert verify(filled, fold=fold).problems
    assert replay(filled, fold=fold, swap=True).differences == looked.differences
    assert verify(filled, fold=fold).problems == ()
    append(filled, ("W-1", NoteAdded("c", "")))
    assert verify(filled, fold=fold).problems == ()


SCHEMA: dict[str, tuple[str, str, str]] = {
    "a guard taken off": ("DROP TRIGGER events_continue", "events_continue", "nothing of"),
    "an index taken off": ("DROP INDEX item_rows_held", "item_rows_held", "nothing of"),
    "a view made over": (
        "DROP VIEW holds; CREATE VIEW holds AS SELECT 1",
        "holds",
        "CREATE VIEW holds AS SELECT 1",
    ),
    "a guard of somebody else": (
        "CREATE TRIGGER more BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END",
        "more",
        "CREATE TRIGGER more",
    ),
}


@pytest.mark.parametrize("name", SCHEMA)
def test_a_changed_schema_is_found(
    filled: SqliteStore, attacker: apsw.Connection, name: str
) -> None:
    statement, where, found = SCHEMA[name]
    attacker.execute(statement)
    [problem] = verify(filled, fold=fold).problems
    assert (problem.seq, problem.where) == (0, f"sqlite_schema {where}")
    assert problem.found.startswith(found)


def test_an_index_that_does_not_match_its_table_is_found(filled: SqliteStore) -> None:
    path = filled.path
    filled.close()
    for statement in (
        "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'item_rows_by_status'",
        "DELETE FROM sqlite_schema WHERE name = 'item_rows_by_status'",
        "UPDATE item_rows SET status = 'held' WHERE id = 'W-3'",
        "INSERT INTO sqlite_schema SELECT * FROM kept",
        "DROP TABLE kept",
    ):
        connection = apsw.Connection(str(path))
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)
        connection.close()
    reopened = open_store(path)
    try:
        found = {p.where for p in verify(reopened, fold=fold).problems}
    finally:
        reopened.close()
    assert "database integrity_check" in found


BLOBS: dict[str, tuple[str, str, str]] = {
    "forged data": ("UPDATE blobs SET data = x'00'", "bytes of", "bytes of"),
    "another salt": ("UPDATE blobs SET salt = x'00'", "bytes of", "bytes of"),
    "erased": ("UPDATE blobs SET salt = NULL, data = NULL", "erased", "a redaction"),
    "gone": ("DELETE FROM blobs", "no blob", "a blob"),
}


@pytest.mark.parametrize("name", BLOBS)
def test_a_changed_blob_is_found(filled: SqliteStore, attacker: apsw.Connection, name: str) -> None:
    statement, found, expected = BLOBS[name]
    attacker.execute(statement)
    (problem,) = verify(filled, fold=fold).problems
    assert problem.where == f"blobs {TEXT.digest.hex()}"
    assert problem.found.startswith(found)
    assert problem.expected.startswith(expected)


def test_a_redacted_blob_is_no_problem(filled: SqliteStore) -> None:
    name = TEXT.digest.hex()
    append(filled, (f"redaction/{name}", BlobRedacted(name, "private")))
    with filled.write() as tx:
        tx.erase_blobs([name])
    assert verify(filled, fold=fold).problems == ()


def test_a_cut_tail_is_found_against_a_noted_size(
    filled: SqliteStore, attacker: apsw.Connection
) -> None:
    noted = verify(filled, fold=fold)
    attacker.execute("DELETE FROM events WHERE seq > 9")
    Path(f"{filled.path}.lock").write_bytes(b"")
    replay(filled, fold=fold, swap=True)
    assert verify(filled, fold=fold).problems == ()
    cut = verify(filled, fold=fold, root=noted.root, size=noted.events)
    assert cut.problems == (Problem(10, "seq", "9 events", "11 events, as noted"),)
    assert verify(filled, fold=fold, root=noted.root).problems[0].where == "root"
    assert verify(filled, fold=fold, size=11).first_bad_seq == 10


def rewrite(filled: SqliteStore, attacker: apsw.Connection) -> None:
    """Another actor at seq 4, with a digest that fits: only a noted root can tell."""
    with filled.read() as tx:
        (event,) = tx.stored(3, 1)
    forged = dataclasses.replace(event, actor="eve")
    attacker.execute(
        "UPDATE events SET actor = 'eve', digest = ? WHERE seq = 4", (digest_of(forged),)
    )


def test_a_rewritten_history_is_found_against_a_noted_root(
    filled: SqliteStore, attacker: apsw.Connection
) -> None:
    noted = verify(filled, fold=fold)
    append(filled, ("W-1", NoteAdded("later", "")))
    assert verify(filled, fold=fold, root=noted.root, size=11).problems == ()
    rewrite(filled, attacker)
    assert verify(filled, fold=fold).problems == ()
    (problem,) = verify(filled, fold=fold, root=noted.root, size=11).problems
    assert problem.where == "root of the first 11 events"
    assert problem.expected == noted.root


def test_an_empty_ledger_and_a_noted_nothing() -> None:
    empty = MemoryStore("ledger-1")
    root = sha256(b"").hexdigest()
    assert verify(empty, fold=fold, root=root, size=0).problems == ()
    assert verify(empty, fold=fold, root="00" * 32, size=0).problems[0].where == "root"
    assert verify(empty, fold=fold, size=1).first_bad_seq == 1


def test_events_that_need_proof_are_counted(filled: SqliteStore) -> None:
    review = ReviewApproved("T06", "in-review", "approved", "h", "t", (), (), (), (), "fine", "")
    append(filled, ("X-1", review), ("X-2", review), ("X-1", KillSwitchReleased("x", 0)))
    assert verify(filled, fold=fold).unproved == {"ReviewApproved": 2, "KillSwitchReleased": 1}


@pytest.mark.parametrize("claimed", ["token", "signature", "signature+presence"])
def test_a_proof_that_nothing_can_check_is_a_problem(filled: SqliteStore, claimed: str) -> None:
    review = ReviewApproved("T06", "in-review", "approved", "h", "t", (), (), (), (), "fine", "")
    append(filled, ("X-1", review), assurance=claimed)
    report = verify(filled, fold=fold)
    assert [(p.where, p.found) for p in report.problems if p.where == "assurance"] == [
        ("assurance", claimed)
    ]
    assert report.unproved == {}


def forge(attacker: apsw.Connection, recorded: Recorded) -> None:
    row = columns_of("ledger-1", recorded)
    attacker.execute(f"INSERT INTO events VALUES ({', '.join('?' * len(row))})", row)


def test_an_event_that_does_not_fold_ends_the_fold(
    filled: SqliteStore, attacker: apsw.Connection
) -> None:
    with filled.read() as tx:
        at = tx.now()
    forge(attacker, Recorded(12, "W-1", 3, "eve", "asserted", at, NoteAdded("poison", "")))
    attacker.execute("UPDATE item_rows SET rank = 1")
    report = verify(filled, fold=fold)
    assert [(p.seq, p.where) for p in report.problems] == [(12, "fold")]
    assert not report.rows_compared
    with pytest.raises(LedgerCorrupt, match="event 12") as caught:
        replay(filled, fold=fold, swap=True)
    assert caught.value.details["seq"] == 12


def test_problems_are_bounded_and_the_first_comes_first(
    filled: SqliteStore, attacker: apsw.Connection
) -> None:
    append(filled, *[("W-1", NoteAdded("x", "")) for _ in range(LIMIT * 2)])
    attacker.execute("UPDATE events SET actor = 'eve' WHERE seq > 3")
    report = verify(filled, fold=fold)
    assert report.truncated
    assert len(report.problems) == LIMIT
    assert report.first_bad_seq == report.problems[0].seq == 4
    assert not report.rows_compared


def test_events_that_come_meanwhile_are_verified_too(filled: SqliteStore) -> None:
    """A writer between the walk and the comparison of rows."""
    done: list[int] = []

    def busy(get: Get, recorded: Recorded) -> Mapping[Key, Fact | None]:
        if recorded.seq == 11 and not done:
            done.append(1)
            append(filled, ("W-2", NoteAdded("meanwhile", "")))
        return fold(get, recorded)

    report = verify(filled, fold=busy)
    assert report.problems == ()
    assert report.events == 12
    assert replay(filled, fold=fold, swap=False).differences == ()


@pytest.mark.parametrize("swap", [False, True])
def test_a_fold_inside_a_rebuild_sees_the_rows_moment(filled: SqliteStore, swap: bool) -> None:
    append(filled, ("W-3", NoteAdded("late", "")))
    seen = replay(filled, fold=fold, swap=swap)
    assert (seen.events, seen.differences) == (12, ())
