"""Somebody changes the bytes of a cached answer in the ledger's file, and everybody is shown what nobody drew.

Somebody else draws the same query thousands of times, or fills the ledger with charges, so that looking costs everyone
else their time. Work is counted, never timed: steps of SQLite's machine, and records that are read.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.accounting import Concentrated, Pure
from discreet.accounting.record import Entry
from discreet.curator.curator import Curator
from discreet.ledger import Ledger, LedgerDamaged, LedgerError, Search, codec, entries, verify
from discreet.ledger.codec import Record
from discreet.sql.cache import NoisyMeasures
from tests.ledger.conftest import in_memory
from tests.ledger.helpers import BOTH, change, forge, hurried, spend, store_of

POLICY = """
name = "clinic"
[budget]
epsilon = 10.0
[unit]
name = "patient"
[tables.patients]
source = "patients.csv"
unit = "patient_id"
[tables.patients.columns]
sex = { values = ["F", "M"] }
"""
COUNT = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"


def clinic(folder: Path) -> Curator:
    rows = [f"{person},{'FM'[person % 2]}" for person in range(40)]
    (folder / "patients.csv").write_text("\n".join(["patient_id,sex", *rows, ""]), encoding="utf-8")
    (folder / "clinic.toml").write_text(POLICY, encoding="utf-8")
    return discreet.open(folder / "clinic.toml")


def swapped(kept: bytes) -> bytes:
    """Another answer that is just as well formed."""
    return zlib.compress(zlib.decompress(kept).replace(b'"selected"', b'"selected" '))


DAMAGES: dict[str, Any] = {
    "flipped": lambda kept: bytes([*kept[:-1], kept[-1] ^ 1]),
    "cut": lambda kept: kept[:-3],
    "emptied": b"",
    "no zlib": b"{}",
    "well formed": swapped,
    "text": "text",
    "number": 7,
    "gone": None,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_changed_answer_is_an_error_in_words(tmp_path: Path, damage: str) -> None:
    with clinic(tmp_path) as curator:
        answer = curator.query(COUNT, epsilon=0.1)
        kept = curator._ledger.answer(3)
        path = curator.policy.state / "ledger.sqlite"
    assert kept is not None
    made = DAMAGES[damage]
    put = made(kept.answer) if callable(made) else made
    change(path, "UPDATE journal SET kept = ? WHERE kept IS NOT NULL", [put])
    with discreet.open(tmp_path / "clinic.toml") as curator:
        before = curator.budget()
        for look in (
            lambda: curator.query(COUNT, epsilon=0.1),
            lambda: curator.preview(COUNT, epsilon=0.1),
            lambda: curator.query(COUNT, error=100),
            lambda: curator.recall(3),
        ):
            with pytest.raises(LedgerDamaged, match="the cached answer to charge 3 was changed"):
                look()
        assert curator.budget() == before, "nothing is charged in silence"
        again = curator.query(COUNT, epsilon=0.1, fresh=True)
        assert again.receipt != answer.receipt, "whoever wants a new answer can buy one"
        assert curator.query(COUNT, epsilon=0.1).rows == again.rows
    assert not verify(path).sound


def test_an_answer_filed_under_another_charge_is_found(tmp_path: Path) -> None:
    with clinic(tmp_path) as curator:
        curator.query(COUNT, epsilon=0.1)
        curator.query("SELECT COUNT(*) AS n FROM patients", epsilon=0.1)
        path = curator.policy.state / "ledger.sqlite"
    with discreet.open(tmp_path / "clinic.toml") as curator:
        change(path, """UPDATE journal SET line = replace(line, '"charge":5', '"charge":3') WHERE number = 6""")
        with pytest.raises(LedgerDamaged, match="was changed"):
            curator.query(COUNT, epsilon=0.1)


@pytest.mark.parametrize(
    "kept", [b"", b"{}", zlib.compress(b"["), zlib.compress(b"7"), zlib.compress(b'{"version":1}')]
)
def test_what_cannot_be_read_although_its_digest_is_right(kept: bytes) -> None:
    """Whatever wrote it: an error in words."""
    with pytest.raises(LedgerError, match="a cached answer cannot be read"):
        NoisyMeasures.decode(kept)


def test_an_answer_of_another_version_is_asked_again() -> None:
    assert NoisyMeasures.decode(zlib.compress(b'{"version":99}')) is None


# free work that stops others


@contextmanager
def counted(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Steps of SQLite while looking (in tens), and records that were decoded."""
    work = {"steps": 0, "records": 0}
    book.count()  # opens the reader
    connection = store_of(book).reader.connection
    assert connection is not None
    plain = codec.decode

    def decode(number: int, line: object) -> Record:
        work["records"] += 1
        return plain(number, line)

    def step() -> None:
        work["steps"] += 10

    connection.set_progress_handler(step, 10)
    with monkeypatch.context() as patch:
        patch.setattr(entries, "decode", decode)
        yield work
    connection.set_progress_handler(None, 0)


def looks(book: Ledger) -> list[Any]:
    return [
        next(book.cached("p", 1, Pure(Fraction(1, 100))), None),
        next(book.cached("p", 1), None),
        list(book.cached("p", 1, Pure(5))),
        book.latest(limit=8),
        book.latest(Search("ann", answered=True), limit=8),
        book.entries(Search(after=20), limit=8),
        book.entry(7),
    ]


def test_looking_costs_the_same_whatever_was_drawn_before(monkeypatch: pytest.MonkeyPatch) -> None:
    with in_memory() as folder, hurried(folder / "ledger.sqlite", shares={"ann": Fraction(1000)}) as book:
        found = {}
        for draws in (40, 400):
            while book.count() < draws:
                spend(book, plan="p", answer=b"42", analyst="ann")
            with counted(book, monkeypatch) as work:
                looks(book)
            found[draws] = dict(work)
        assert found[400]["records"] == found[40]["records"] <= 40
        assert found[400]["steps"] < 1.2 * found[40]["steps"], found


def test_the_dearest_is_found_first_in_each_currency() -> None:
    with in_memory() as folder, hurried(folder / "ledger.sqlite", BOTH) as book:
        for rho, delta in ((3, 0), (10, 1), (9, 0), (2, 5), (10, 0)):
            spend(book, Concentrated(Fraction(rho, 1000), Fraction(delta, 10**9)), plan="p", answer=b"x")
        spend(book, Concentrated(Fraction(11, 1000)), plan="p")

        def found(rho: int, delta: int) -> list[tuple[int, int]]:
            least = Concentrated(Fraction(rho, 1000), Fraction(delta, 10**9))
            losses = [each.loss.concentrated() for each in book.cached("p", 1, least)]
            return [(int(loss.rho * 1000), int(loss.delta * 10**9)) for loss in losses]

        assert found(1, 0) == [(10, 0), (9, 0), (3, 0), (2, 5)]
        assert found(9, 0) == [(10, 0), (9, 0)]
        assert found(1, 1) == [(10, 1), (2, 5)]
        assert found(11, 0) == found(1, 6) == []
        assert list(book.cached("p", 2)) == list(book.cached("q", 1)) == []


def test_whoever_looks_holds_up_nobody_who_spends() -> None:
    """A page is read in a snapshot of its own: a charge in the middle of it goes through, and is not seen."""
    with in_memory() as folder, hurried(folder / "ledger.sqlite") as book:
        for _ in range(50):
            spend(book)
        seen: list[int] = []

        def spend_once() -> None:
            if not seen:
                seen.append(book._state.head)
                spend(book, why="in the middle of a page")

        book.count()
        reader = store_of(book).reader.connection
        assert reader is not None
        reader.set_progress_handler(spend_once, 20)
        assert len(book.latest(limit=100)) == 50
        reader.set_progress_handler(None, 0)
        assert seen
        assert book.latest(limit=1)[0].question == "in the middle of a page"


def test_pages_are_the_list_in_pieces() -> None:
    with (
        in_memory() as folder,
        hurried(folder / "ledger.sqlite", shares={"ann": Fraction(9), "bob": Fraction(9)}) as book,
    ):
        for index in range(25):
            answer = b"42" if index % 3 else None
            spend(book, why=f"SELECT {index} FROM Visits", analyst=(None, "ann", "bob")[index % 3], answer=answer)
        every = book.entries()
        assert book.count() == len(every) == 25
        pages = [book.latest(limit=10, offset=offset) for offset in (0, 10, 20, 30)]
        assert [entry for page in pages for entry in page] == every[::-1]
        cases: list[tuple[Search, Callable[[Entry], bool]]] = [
            (Search("ann"), lambda entry: entry.analyst == "ann"),
            (Search("owner"), lambda entry: entry.analyst == "owner"),
            (Search("nobody"), lambda _: False),
            (Search(text="1 from VISITS"), lambda entry: "1 FROM" in entry.question),
            (Search(text="%"), lambda _: False),
            (Search(answered=True), lambda entry: entry.answered),
            (Search("bob", "visits", True, 30), lambda entry: entry.analyst == "bob" and entry.number > 30),
            (Search(answered=False, after=9), lambda entry: not entry.answered and entry.number > 9),
        ]
        for search, admits in cases:
            wanted = [entry for entry in every if admits(entry)]
            assert book.entries(search) == wanted
            assert book.entries(search, limit=2) == wanted[:2]
            assert book.latest(search, limit=100) == wanted[::-1]
            assert book.count(search) == len(wanted)
        assert book.spenders() == ["ann", "bob", "owner"]


def test_damage_found_while_looking_is_told_in_words() -> None:
    with in_memory() as folder:
        path = folder / "ledger.sqlite"
        with hurried(path) as book:
            receipt = spend(book, plan="p", answer=b"42")
        forge(path, lambda _, record: record.update(digest="0" * 64) if record["kind"] == "answer" else None)
        with hurried(path) as book, pytest.raises(LedgerDamaged, match="was changed"):
            book.answer(int(receipt.partition(":")[0]))
