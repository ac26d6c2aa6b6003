"""Texts and answers that are too old are erased: nothing of them is left, every sum and every hash is, and whoever
changes a record under that pretext is found out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting import Pure
from discreet.accounting.record import ERASED, Key, PartName
from discreet.ledger import Grant, Ledger, LedgerDamaged, LedgerError, Memory, back_up, verify
from discreet.ledger.codec import decode, digest_of_line, encode, link
from discreet.ledger.erased import is_erased_answer, vouched
from discreet.ledger.memory import Journal
from discreet.ledger.postgres.retaining import OwnedPostgres
from discreet.ledger.retention import Limits
from discreet.ledger.state import State
from tests.contracts.test_stores import SHARES, TEN
from tests.postgres import ledgers
from tests.postgres.cluster import OWNER, Cluster

CANARY = "canary 5f0c9d1e7ab34426"
SOON = datetime.now(UTC) + timedelta(days=1)
ALL = Limits(SOON, SOON)
FACTS: list[dict[str, Any]] = [
    {"why": f"SELECT {CANARY}", "plan": f"plan {CANARY}", "answer": f"answer {CANARY}".encode(), "analyst": "ann"},
    {"why": f"part {CANARY}", "plan": "q", "part": PartName("w", f"name = '{CANARY}'", 1), "answer": b"3"},
    {"why": "another part", "plan": "q", "part": PartName("w", "name = 'bob'", 1), "loss": Fraction(1, 2)},
    {"why": "keyed", "key": Key(f"key {CANARY}", f"request {CANARY}"), "call": {"params": {"who": CANARY}}},
    {"why": "no answer", "analyst": "bob"},
]


def opened(path: Path, grant: Grant = TEN) -> Ledger:
    return Ledger.open(path, grant, shares=SHARES, protected="p")


def spend(book: Ledger, loss: Fraction | int = 1, answer: bytes | None = None, **facts: Any) -> int:
    charge = book.charge(Pure(loss), **facts)
    with charge:
        if answer is not None:
            charge.keep(answer)
    return charge.number


def lived(book: Ledger) -> list[int]:
    """Charges with a canary in all their parts, and an end of what they were about."""
    numbers = [spend(book, **facts) for facts in FACTS]
    book.withdraw(numbers[1], "asked of the wrong table")
    book.advance_data("refreshed")
    return numbers


def sums(book: Ledger) -> list[object]:
    """All that retention leaves alone."""
    entries = [replace(each, question="", answered=False, call={}, plan=None, part=None, is_erased=False)
               for each in book.entries()]  # fmt: skip
    return [entries, book.balance(), book.balance("ann"), book.balance("bob"), book.data_version]


def found(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.is_file() and CANARY.encode() in path.read_bytes()]


def test_nothing_is_left_on_the_disk_and_every_sum_is(path: Path) -> None:
    with opened(path) as book:
        numbers = lived(book)
        before, receipts = sums(book), [f"{row[0]}:{row[2]}" for row in book._store.rows()]
        assert found(path.parent)
        done = book.retain(ALL, "too old")
        assert (done.questions, done.answers, done.gone) == (5, 2, True)
        assert found(path.parent) == [], "also while it is open"
        assert sums(book) == before
        assert {entry.question for entry in book.entries()} == {ERASED}
        assert all(entry.is_erased and not entry.answered and entry.plan is None for entry in book.entries())
        assert [book.answer(number) for number in numbers] == [None] * 5
        assert list(book.cached(f"plan {CANARY}", 1)) == []
        assert book.events()[-1].fields["texts"] == 5
    assert found(path.parent) == []
    report = verify(path, receipts)
    assert report.sound, report.problems
    assert report.sealed
    with opened(path) as again:
        assert sums(again) == before
        assert spend(again, why="goes on", plan="q", answer=b"9")
    assert back_up(path, path.with_name("backup")).sound
    assert CANARY.encode() not in path.with_name("backup").read_bytes()


def test_texts_and_answers_have_times_of_their_own(path: Path) -> None:
    """An answer whose text is gone is still found by whoever asks the same; a text whose answer is gone is shown."""
    with opened(path) as book:
        number = spend(book, why=CANARY, plan="p", answer=b"cached")
        assert book.retain(Limits(SOON, None), "texts").questions == 1
        (cached,) = book.cached("p", 1)
        assert (cached.answer, cached.charge) == (b"cached", number)
        assert book.entry(number) is not None
        assert CANARY.encode() not in path.read_bytes()
        assert book.retain(Limits(None, SOON), "answers").answers == 1
        assert list(book.cached("p", 1)) == []
        other = spend(book, why="shown", plan="p", answer=b"2")
        assert book.retain(Limits(None, SOON), "answers").answers == 1
        entry = book.entry(other)
        assert entry is not None
        assert (entry.question, entry.plan, entry.answered) == ("shown", "p", False)
    assert verify(path).sound
    lines = [decode(number, line) for number, line in _lines(path)]
    assert [line.get("erased") for line in lines if line["kind"] == "charge"] == [["plan", "question"], None]


def test_what_is_not_too_old_stays_and_nothing_is_recorded(path: Path) -> None:
    with opened(path) as book:
        lived(book)
        before = book._store.last()
        for limits in (Limits(None, None), Limits.before(datetime.now(UTC), timedelta(days=1), timedelta(days=1))):
            done = book.retain(limits, "nothing is that old")
            assert (done.questions, done.answers, done.records) == (0, 0, 0)
        assert book._store.last() == before
        assert book.retain(ALL, "all").records
        assert book.retain(ALL, "once more").records == 0


@pytest.mark.parametrize("shift", [-9000, 9000], ids=["behind", "ahead"])
def test_a_clock_that_was_wrong_erases_nothing_early_and_keeps_nothing_for_ever(
    path: Path, monkeypatch: pytest.MonkeyPatch, shift: int
) -> None:
    """A machine began in 1970, and its first refresh after that erased the key of a request that was sent a minute
    before, with its text: sent again, it was charged again. Or its clock was ahead, and texts stayed for decades.
    """
    today = datetime.now(UTC)

    def set_to(days: int) -> None:
        moment = (today + timedelta(days=days)).isoformat(timespec="milliseconds")
        for module in ("ledger", "acts", "declaring"):
            monkeypatch.setattr(f"discreet.ledger.{module}.now", lambda: moment)

    def limits(days: int) -> Limits:
        return Limits.before(today + timedelta(days=days), timedelta(days=30), timedelta(days=30))

    with opened(path) as book:
        spend(book, why="long ago", answer=b"1")
        set_to(shift)
        key = Key("a", "request")
        number = spend(book, why=CANARY, key=key, answer=b"2")
        assert book.retain(limits(1), "why").records == 0
        assert book.charged(key) == number
        set_to(20)
        spend(book, why="later", answer=b"3")
        assert book.retain(limits(25), "why").records == 0
        done = book.retain(limits(51), "why")
        assert (done.questions, done.answers) == (3, 3)
        assert book.charged(key) is None
    assert found(path.parent) == []
    assert verify(path).problems == ()


def test_parts_have_their_names_for_as_long_as_they_are_charged(path: Path) -> None:
    """Which part a charge is about decides what it costs: the name stays until no charge can be added."""
    part = PartName("w", f"name = '{CANARY}'", 1)
    with opened(path) as book:
        spend(book, why="x", part=part)
        spend(book, why="x", part=replace(part, part="name = 'bob'"))
        assert book.retain(ALL, "too old").questions == 2
        assert book.free(part) == book.free(replace(part, part="name = 'bob'"))
        assert book.free(replace(part, part="nobody")).epsilon == 1
        spend(book, why="y", part=part, loss=2)
        assert book.balance().spent.epsilon == 3
        assert found(path.parent)
        book.advance_data("refreshed")
        assert book.retain(ALL, "later").questions == 1
        assert found(path.parent) == []
    assert verify(path).sound


def test_totals_repeat_names_of_parts_and_lose_them_too(path: Path) -> None:
    with opened(path, Grant.of(Fraction(10**6), None)) as book:
        spend(book, why=CANARY, part=PartName("w", f"name = '{CANARY}'", 1))
        with book._store.relaxed():
            while book._store.last()[0] < 1001:  # type: ignore[index]
                book._write(lambda: [book._append("token", _token()) for _ in range(99)])
        assert '"portions"' in dict(_lines(path))[1001]
        book.advance_data("refreshed")
        book.retain(ALL, "too old")
        assert found(path.parent) == []
        assert "part 1" in dict(_lines(path))[1001]
    assert verify(path).sound
    with opened(path, Grant.of(Fraction(10**6), None)) as again:
        assert again.balance().spent.epsilon == 1


def _token() -> dict[str, Any]:
    return {"act": "made", "id": "x", "role": "auditor", "analyst": None, "at": "2026-01-01T00:00:00+00:00"}


def _lines(path: Path) -> list[tuple[int, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT number, line FROM journal ORDER BY number").fetchall()


def _changed(record: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**record, **fields}


FORGERIES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a loss that is none": lambda record: _changed(record, loss=["0"]),
    "somebody else": lambda record: _changed(record, analyst="bob"),
    "another time": lambda record: _changed(record, at="2020-01-01T00:00:00+00:00"),
    "erased by hand": lambda record: {
        **{key: value for key, value in record.items() if key not in ("question", "salt", "call")},
        "erased": ["question"],
        "v": 3,
    },
    "not erased any more": lambda record: {
        key: value for key, value in {**record, "v": 1, "question": "SELECT 2", "salt": ""}.items() if key != "erased"
    },
}


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("erased", [True, False], ids=["erased", "whole"])
def test_whoever_changes_a_record_as_if_it_were_erased_is_found_out(path: Path, forgery: str, erased: bool) -> None:
    """The last charge, which no later one adds to: nobody needs more than the chain to see it."""
    with opened(path) as book:
        number = spend(book, why="SELECT 1", analyst="ann")
        if erased:
            book.retain(ALL, "too old")
    with closing(sqlite3.connect(path)) as connection, connection:
        ((line,),) = connection.execute("SELECT line FROM journal WHERE number = ?", (number,)).fetchall()
        forged = json.dumps(FORGERIES[forgery](json.loads(line)), sort_keys=True, separators=(",", ":"))
        if forged == line:
            pytest.skip("that is what it says already")
        connection.execute("UPDATE journal SET line = ? WHERE number = ?", (forged, number))
    assert not verify(path).sound
    with pytest.raises(LedgerDamaged):
        opened(path)


def test_an_answer_that_was_erased_cannot_be_put_back(path: Path) -> None:
    with opened(path) as book:
        spend(book, why="x", plan="p", answer=b"1")
        book.retain(ALL, "too old")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE journal SET kept = ?, plan = 'p' WHERE line LIKE '%\"answer\"%'", (b"2",))
    assert len(verify(path).problems) >= 2


def test_a_digest_tells_nothing_of_what_was_erased(path: Path) -> None:
    """Whoever guesses the text, or the noisy number, has nothing to compare it with: the salt is gone too."""
    with opened(path) as book:
        lived(book)
        salts = [decode(number, line).get("salt") for number, line in _lines(path)]
        book.retain(ALL, "too old")
    assert len({salt for salt in salts if salt}) == 7, "five charges and two answers, each its own"
    left = path.read_bytes()
    assert not any(salt.encode() in left for salt in salts if salt)


def test_a_transaction_that_fails_erases_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as book:
        lived(book)
        before = _lines(path)
        with monkeypatch.context() as patch:
            patch.setattr(book, "_append", _full)
            with pytest.raises(LedgerError):
                book.retain(ALL, "too old")
        assert _lines(path) == before
        assert book.retain(ALL, "too old").questions == 5


def _full(*_: object) -> None:
    raise LedgerError("the disk is full", "make room")


def test_while_somebody_reads_pages_of_before_are_left_and_that_is_told(path: Path) -> None:
    with opened(path) as book:
        lived(book)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM journal").fetchone()
            book._store._connection.execute("PRAGMA busy_timeout = 50")  # type: ignore[attr-defined]
            assert not book.retain(ALL, "too old").gone
        assert book._store.compact()
        assert found(path.parent) == []


def test_in_memory_it_is_the_same() -> None:
    journal = Journal()
    with Ledger(Memory(journal), TEN, shares=SHARES, protected="p") as book:
        lived(book)
        before = sums(book)
        assert book.retain(ALL, "too old").questions == 5
        assert sums(book) == before
        assert CANARY not in str(journal.records)
        assert spend(book, why="again", plan="q", answer=b"1")
    with Ledger(Memory(journal), TEN, shares=SHARES, protected="p") as again:
        assert again.balance().spent.epsilon == before[1].spent.epsilon + 1  # type: ignore[attr-defined]


def test_in_postgresql_its_owner_erases_and_no_curator(postgres: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    where = ledgers.prepared(postgres)
    from discreet.ledger.homes import InDatabase
    from discreet.ledger.postgres import Postgres

    with Ledger(Postgres(where), TEN, shares=SHARES, protected="p") as book:
        lived(book)
        before = sums(book)
        with pytest.raises(LedgerError, match="role that owns"):
            book.retain(ALL, "too old")
        assert book._store.compact(), "a curator leaves nothing behind, for it erases nothing"
        owner = ledgers.address(postgres, where.schema, user=OWNER)
        with Ledger(OwnedPostgres(where, owner, None), TEN, shares=SHARES, protected="p") as own:
            with monkeypatch.context() as patch:
                patch.setattr(own, "_append", _full)
                with pytest.raises(LedgerError, match="full"):
                    own.retain(ALL, "too old")
            assert {entry.is_erased for entry in own.entries()} == {False}
            assert own.retain(ALL, "too old").questions == 5
        assert sums(book) == before, "a curator that is open goes on"
        spend(book, why="goes on")
    with postgres.connect() as connection:
        rows = connection.execute(f"SELECT j::text FROM {where.schema}.journal AS j").fetchall()
        assert CANARY not in str(rows)
        assert CANARY.encode().hex() not in str(rows)
        with pytest.raises(Exception, match="never changed"):
            connection.execute(f"UPDATE {where.schema}.journal SET line = line")
    assert InDatabase(where).verify((), None).problems == ()


def test_outside_of_a_transaction_nothing_is_erased(path: Path) -> None:
    with opened(path) as book:
        number, memory = spend(book, why="x"), Memory(Journal())
        for store in (book._store, memory):
            with pytest.raises(LedgerError, match="inside of transactions"):
                store.erase(number, "{}")


def test_of_a_record_that_is_not_there_nothing_is_erased_in_memory(path: Path) -> None:
    journal = Journal()
    with opened(path) as book:
        spend(book, why="x")
        store = Memory(journal)
        with store.transaction(State):
            for row in book._store.rows():
                store.append(*row)
    before = list(store.rows())

    def erase() -> None:
        with store.transaction(State):
            store.erase(1, "{}")
            store.erase(99, "{}")

    with pytest.raises(LedgerError, match="no record 99 to erase from"):
        erase()
    assert list(store.rows()) == before


def test_an_erased_journal_is_filed_anew(path: Path) -> None:
    """As a move does it: answers that were erased are found by no charge."""
    journal = Journal()
    with opened(path) as book:
        number = spend(book, why="x", plan="p", answer=b"1")
        book.retain(ALL, "too old")
        store = Memory(journal)
        with store.transaction(State):
            for row in book._store.rows():
                store.append(*row)
        assert State.replayed(store.rows()).proven().unproven is None
    assert journal.answers == {}
    assert number in journal.records


SAID = {"kind": "answer", "v": 3, "of": 1, "erased": ["answer"]}


@pytest.mark.parametrize(
    "wrong",
    [{"v": 2}, {"of": 9}, {"of": 0}, {"digest": "x"}],
    ids=["no version of its own", "of a later charge", "of none", "with a digest"],
)
def test_answers_say_that_they_were_erased_and_nothing_else(wrong: dict[str, Any]) -> None:
    assert is_erased_answer(SAID, 1)
    with pytest.raises(ValueError, match="answer"):
        is_erased_answer({**SAID, **wrong}, 1)


def test_digests_are_given_for_a_reason() -> None:
    said = {"reason": "too old", "at": "2026-01-01T00:00:00+00:00", "records": {}}
    assert vouched((1, "digest", None), said) == (1, "digest", None)
    for wrong in ({"reason": None}, {"at": 1}):
        with pytest.raises(ValueError, match="reason"):
            vouched(None, {**said, **wrong})


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("token", {"act": "made", "id": "x", "role": "auditor", "analyst": None, "at": "t", "erased": ["x"]}),
        ("totals", {"erased": ["part"], "v": 4}),
    ],
)
def test_a_record_of_the_chain_that_says_it_was_erased_is_refused(
    path: Path, kind: str, fields: dict[str, Any]
) -> None:
    """Its hash is its own, so that nothing was erased of it."""
    with opened(path) as book:
        spend(book, why="x")
        state = book._newest
    record = {**json.loads(encode(kind, {**state.totals(), **fields} if kind == "totals" else fields)), **fields}
    line = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    with pytest.raises(LedgerDamaged):
        state.after((state.head + 1, line, link(state.digest, line)))


def test_lines_are_told_by_their_digests() -> None:
    assert digest_of_line("a") != digest_of_line("b")
