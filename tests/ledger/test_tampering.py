"""Whoever changes the file is found out: by the seal, by the chain, by the sums, or by a receipt."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Pure
from discreet.ledger import Ledger, LedgerDamaged, LedgerError, Report, verify
from discreet.ledger.codec import GENESIS, Record
from discreet.ledger.sqlite.files import Seal, beside
from discreet.ledger.sqlite.store import Sqlite
from tests.ledger.helpers import CENT, answers, change, filled, forge, hurried, moved, opened, rows, spend

# bits


@pytest.fixture(scope="module")
def thousand(shared: Path) -> Path:
    path = shared / "thousand.sqlite"
    filled(path, 1_000)
    report = verify(path)
    assert (report.charges, report.sealed, report.problems) == (1_000, True, ())
    assert report.records > 1_500
    return path


def found(path: Path) -> bool:
    """Whether verify says that something is wrong, in its report or instead of one."""
    try:
        return not verify(path).sound
    except LedgerError:
        return True


def flip(path: Path, folder: Path, bits: Iterator[int]) -> None:
    content = path.read_bytes()
    for bit in bits:
        place, flipped = divmod(bit, 8)
        copied = moved(path, folder, only=[".seal"])
        copied.write_bytes(content[:place] + bytes([content[place] ^ 1 << flipped]) + content[place + 1 :])
        assert found(copied), bit


@pytest.mark.long
def test_every_flipped_bit_is_found(thousand: Path, quick: Path) -> None:
    """Bits of SQLite's header are many of the 30 drawn here; the draw is another one each time."""
    size = 8 * thousand.stat().st_size
    flip(thousand, quick, (random.randrange(800 if index % 8 == 0 else size) for index in range(30)))


@pytest.mark.slow
def test_seven_hundred_flipped_bits_are_found(thousand: Path, quick: Path) -> None:
    """Others each time: if one in a hundred were not found, all of these would be once in 1,100 runs."""
    size = 8 * thousand.stat().st_size
    flip(thousand, quick, iter(random.sample(range(size), 700)))


def test_every_bit_of_the_header_and_of_the_schema(quick: Path) -> None:
    """A sample of the first page, where SQLite itself gives up in many ways: never a traceback."""
    path = quick / "first" / "ledger.sqlite"
    path.parent.mkdir()
    filled(path, 3)
    flip(path, quick / "copy", iter([*range(144, 152), *random.sample(range(8 * 4096), 150)]))


@pytest.mark.long
def test_every_bit_of_the_text_of_the_schema(quick: Path) -> None:
    """What SQLite says about a broken schema need not be text at all; that is reported too."""
    path = quick / "first" / "ledger.sqlite"
    path.parent.mkdir()
    filled(path, 1)
    place = path.read_bytes().index(b"CREATE INDEX")
    flip(path, quick / "copy", iter(range(8 * (place - 10), 8 * 4096, 11)))


# through SQL, without a seal to help


@pytest.fixture(scope="module")
def journal(shared: Path) -> Path:
    """A closed ledger with all kinds of records but totals, and no seal."""
    path = shared / "ledger.sqlite"
    filled(path, 14)
    beside(path, ".seal").unlink()
    assert verify(path).problems == ()
    return path


@pytest.fixture
def copied(journal: Path, quick: Path) -> Path:
    return moved(journal, quick)


def all_numbers(path: Path) -> range:
    return range(1, len(rows(path)) + 1)


@pytest.mark.parametrize(
    "changes",
    [
        "line = replace(line, '\"v\":', '\"v\": ')",
        "line = line || ' '",
        "line = substr(line, 2)",
        "line = ''",
        "line = x'00ff'",
        "line = CAST(x'80' AS TEXT)",
        "line = 'null'",
        "line = '[1,2]'",
        "hash = upper(hash)",
        "hash = 'a' || substr(hash, 2) || 'b'",
        "hash = x'00'",
        "hash = ''",
        "number = number + 1000",
        "number = -number",
        "number = 0",
        "plan = 'another'",
        "plan = ''",
        "plan = x'70'",
        "kept = x'00'",
        "kept = 'text'",
        "kept = 7",
        "kept = x''",
    ],
)
def test_every_record_changed_is_found(journal: Path, quick: Path, changes: str) -> None:
    for number in all_numbers(journal):
        copied = moved(journal, quick)
        change(copied, f"UPDATE journal SET {changes} WHERE number = ?", [number])
        assert found(copied), number


@pytest.mark.parametrize("column", ["plan", "kept"])
def test_what_is_taken_away_from_an_answer_is_found(journal: Path, quick: Path, column: str) -> None:
    answers = [number for number, *_, kept in rows(journal) if kept is not None]
    assert len(answers) == 7
    for number in answers:
        copied = moved(journal, quick)
        change(copied, f"UPDATE journal SET {column} = NULL WHERE number = ?", [number])
        assert not verify(copied).sound


def test_an_empty_answer_is_an_answer(path: Path) -> None:
    with hurried(path) as ledger:
        spend(ledger, answer=b"", plan="p")
        assert [kept.answer for kept in answers(ledger, "p")] == [b""]
    assert verify(path).problems == ()
    beside(path, ".seal").unlink()
    change(path, "UPDATE journal SET kept = NULL")
    assert not verify(path).sound


def test_records_removed_inserted_swapped_and_moved(journal: Path, quick: Path) -> None:
    """All but the removal of the newest ones is found without a receipt."""
    last = len(rows(journal))
    acts: list[tuple[str, tuple[object, ...]]] = [
        *(("DELETE FROM journal WHERE number = ?", (number,)) for number in range(1, last)),
        ("INSERT INTO journal SELECT number + 1, line, hash, plan, kept FROM journal WHERE number = ?", (last,)),
        ("INSERT INTO journal SELECT 0, line, hash, plan, kept FROM journal WHERE number = 1", ()),
        ("INSERT INTO journal VALUES (?, '{}', '', NULL, NULL)", (last + 1,)),
        ("INSERT INTO journal VALUES (?, '', '', NULL, NULL)", (2**62,)),
        ("UPDATE journal SET number = -number", ()),
        ("UPDATE journal SET number = number + 1000", ()),
    ]
    for statement, values in acts:
        copied = moved(journal, quick)
        change(copied, statement, values)
        assert found(copied), (statement, values)
    for number in range(1, last):
        copied = moved(journal, quick)
        with closing(sqlite3.connect(copied, isolation_level=None)) as connection:
            connection.execute("UPDATE journal SET number = -1 WHERE number = ?", (number,))
            connection.execute("UPDATE journal SET number = ? WHERE number = ?", (number, number + 1))
            connection.execute("UPDATE journal SET number = ? WHERE number = -1", (number + 1,))
        assert found(copied), number


def test_removing_the_newest_records_is_found_by_seal_receipt_and_memory(quick: Path) -> None:
    path = quick / "first" / "ledger.sqlite"
    path.parent.mkdir()
    receipts = filled(path, 12)
    last = len(rows(path))
    for gone in range(1, last + 1):
        copied = moved(path, quick / "copy")
        change(copied, "DELETE FROM journal WHERE number > ?", [last - gone])
        assert any("records when it was closed" in problem for problem in verify(copied).problems)
        with pytest.raises(LedgerDamaged, match=f"had {last} records when it was closed and has {last - gone}"):
            opened(copied)
        copied = moved(path, quick / "copy", only=[""])
        change(copied, "DELETE FROM journal WHERE number > ?", [last - gone])
        assert verify(copied).sound  # a prefix alone looks sound
        assert not verify(copied, receipts[-1:]).sound or gone == 1  # the last record is the answer to that charge


@pytest.mark.parametrize("statement", ["DELETE FROM journal WHERE number > 6", "UPDATE journal SET hash = 'x'"])
def test_an_open_ledger_remembers(path: Path, statement: str) -> None:
    ledger = hurried(path)
    for _ in range(6):
        spend(ledger)
    change(path, statement)
    with pytest.raises(LedgerDamaged, match="record 8 of the ledger is gone or another"), ledger.charge(CENT, why="q"):
        pytest.fail("the body must not run")
    with pytest.raises(LedgerDamaged):
        ledger.balance()
    ledger.close()
    assert Seal.read(path) is None  # what is known to be damaged is not sealed


def test_an_open_ledger_notices_a_changed_past_when_others_append(path: Path) -> None:
    ledger = hurried(path)
    spend(ledger)
    change(path, "UPDATE journal SET hash = 'x' WHERE number = 3")
    change(path, "INSERT INTO journal VALUES (4, '{}', 'y', NULL, NULL)")
    with pytest.raises(LedgerDamaged, match="record 4 does not follow"):
        ledger.balance()
    ledger.close()


def test_extra_tables_and_triggers(journal: Path, quick: Path) -> None:
    """A trigger could undo charges as they are written."""
    statements = [
        "CREATE TABLE other (x)",
        "CREATE TRIGGER undo AFTER INSERT ON journal BEGIN DELETE FROM journal WHERE number = NEW.number; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE INDEX more ON journal (hash)",
        "DROP INDEX plans",
        "ALTER TABLE journal ADD COLUMN more",
        "DROP TABLE journal",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 1",
        "PRAGMA user_version = 2",
        "PRAGMA user_version = 4",
        "DROP INDEX events",
    ]
    for statement in statements:
        copied = moved(journal, quick)
        change(copied, statement)
        assert not verify(copied).sound, statement
        with pytest.raises(LedgerDamaged):
            opened(copied)


# with the chain recomputed


def field(number: int, **values: object) -> Callable[[int, Record], None]:
    def edit(at: int, record: Record) -> None:
        if at == number:
            record.update(values)

    return edit


def first(path: Path, kind: str) -> int:
    return next(number for number, line, *_ in rows(path) if f'"kind":"{kind}"' in line)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("budget", {"spent": ["5"]}),
        ("budget", {"spent": []}),
        ("budget", {"shares": {"ann": ["1"]}}),
        ("budget", {"shares": []}),
        ("budget", {"shares": None}),
        ("budget", {"limits": []}),
        ("budget", {"limits": ["1", "2"]}),
        ("budget", {"limits": "10"}),
        ("budget", {"limits": [10]}),
        ("budget", {"limits": ["1"]}),
        ("budget", {"limits": ["-1"]}),
        ("budget", {"limits": ["9" * 5000]}),
        ("budget", {"epsilon": "1/0"}),
        ("budget", {"epsilon": "x"}),
        ("budget", {"epsilon": None}),
        ("budget", {"delta": "1/1000000"}),
        ("budget", {"delta": "1/0", "limits": ["1", "2"]}),
        ("charge", {"loss": ["1"]}),
        ("charge", {"loss": ["0"]}),
        ("charge", {"loss": []}),
        ("charge", {"loss": {}}),
        ("charge", {"loss": ["-1"]}),
        ("charge", {"spent": ["0"]}),
        ("charge", {"spent": ["1", "2"]}),
        ("charge", {"spent": [None]}),
        ("data", {"version": 7}),
        ("data", {"version": "2"}),
        ("answer", {"charge": 0}),
        ("answer", {"charge": -1}),
        ("answer", {"charge": 10**9}),
        ("answer", {"charge": 1.5}),
        ("answer", {"charge": "1"}),
        ("answer", {"charge": None}),
        ("answer", {"charge": 1}),
        ("answer", {"digest": "00"}),
        ("answer", {"digest": None}),
        ("charge", {"at": 7}),
        ("charge", {"question": None}),
        ("charge", {"analyst": ["ann"]}),
        ("charge", {"data": "1"}),
        ("charge", {"plan": "another"}),
        ("charge", {"v": 2}),
        ("charge", {"v": "1"}),
        ("charge", {"v": None}),
        ("charge", {"kind": "refund"}),
        ("charge", {"kind": None}),
        ("charge", {"kind": ["charge"]}),
        ("charge", {"kind": {"a": 1}}),
    ],
)
def test_a_forged_record_does_not_add_up(copied: Path, kind: str, values: Record) -> None:
    """Whoever recomputes the chain must also make the sums and digests right; nothing ends in a traceback."""
    number = first(copied, kind)
    if kind == "charge" and "plan" in values:
        number += 1  # one that has an answer, filed under its plan
    forge(copied, field(number, **values))
    assert not verify(copied).sound


def test_an_amount_that_no_budget_counts_is_found(copied: Path) -> None:
    """A pure budget has no second currency that a loss could hide in."""
    number = first(copied, "charge")

    def more(at: int, record: Record) -> None:
        if at == number:
            record["loss"] = [*record["loss"], "1"]

    forge(copied, more)
    assert not verify(copied).sound


@pytest.mark.parametrize("key", ["spent", "limits", "loss", "charge", "digest", "version", "v", "kind", "shares"])
def test_a_missing_key_is_found(copied: Path, key: str) -> None:
    def edit(_: int, record: Record) -> None:
        if key not in ("v", "kind"):
            record.pop(key, None)

    if key in ("v", "kind"):
        change(copied, f"""UPDATE journal SET line = replace(line, '"{key}"', '"x"') WHERE number = 4""")
    else:
        forge(copied, edit)
    assert not verify(copied).sound


def test_a_refund_cannot_be_written(copied: Path) -> None:
    """Lower sums all the way to the end: the next receipt or the sums themselves tell."""

    def cheaper(_: int, record: Record) -> None:
        if record["kind"] == "charge":
            record["spent"] = ["0"]
            record["loss"] = ["0"]

    before = verify(copied)
    forge(copied, cheaper)
    assert verify(copied).sound  # consistent in itself: somebody rewrote history
    assert not verify(copied, [f"{before.records}:{before.head}"]).sound


def test_a_charge_beyond_the_budget_does_not_add_up(copied: Path) -> None:
    huge = 10**30

    def dearer(number: int, record: Record) -> None:
        if record["kind"] == "charge" and number == first(copied, "charge"):
            record["loss"], record["spent"] = [str(huge)], [str(huge)]

    forge(copied, dearer)
    assert any("record 3 does not add up" in problem for problem in verify(copied).problems)


@given(
    number=st.integers(1, 25),
    key=st.text(max_size=8),
    junk=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    ),
)
@settings(max_examples=40, deadline=None)
def test_no_forgery_ends_in_a_traceback(journal: Path, number: int, key: str, junk: Any) -> None:
    keys = ["spent", "loss", "limits", "shares", "epsilon", "delta", "charge", "digest", "version", "plan", "analyst"]

    def edit(at: int, record: Record) -> None:
        if at == number:
            known = [name for name in keys if name in record]
            record[known[len(key) % len(known)] if known else key] = junk

    folder = journal.parent / "forged"
    copied = moved(journal, folder)
    forge(copied, edit)
    assert isinstance(verify(copied), Report)
    with suppress(LedgerError), opened(copied) as ledger:
        ledger.entries()
        spend(ledger)
        for index in range(7):
            answers(ledger, f"plan {index}")


# totals


@pytest.fixture(scope="module")
def totals(thousand: Path) -> int:
    number = first(thousand, "totals")
    assert number == 1001
    return number


@pytest.mark.parametrize(
    "values",
    [
        {"spent": ["0"]},
        {"limits": [str(10**30)]},
        {"epsilon": "5000"},
        {"shares": {}},
        {"data": 1},
        {"protected": "others"},
    ],
)
def test_totals_that_are_wrong_are_found(thousand: Path, totals: int, quick: Path, values: Record) -> None:
    """Opening takes them at their word; verify recomputes them, also when the chain was recomputed after them."""

    def edit(number: int, record: Record) -> None:
        if number == totals:
            record.update(values)

    copied = moved(thousand, quick)
    forge(copied, edit)
    assert any(f"record {totals} does not add up" in problem for problem in verify(copied).problems)


def test_totals_forged_with_all_that_follows_are_found(thousand: Path, totals: int, quick: Path) -> None:
    """A ledger that forgets what was spent before its totals opens, and verify finds it."""
    away = 5 * 10**24

    def edit(number: int, record: Record) -> None:
        if number >= totals and "spent" in record:
            record["spent"] = [str(int(record["spent"][0]) - away)]

    copied = moved(thousand, quick)
    forge(copied, edit)
    with opened(copied) as ledger:
        assert ledger.balance().spent.epsilon == 5
    assert not verify(copied).sound


@pytest.mark.parametrize("values", [{"spent": [5]}, {"shares": []}, {"limits": []}, {"data": "x"}, {"epsilon": "1/0"}])
def test_totals_that_cannot_be_read_are_refused(thousand: Path, totals: int, quick: Path, values: Record) -> None:
    copied = moved(thousand, quick)
    forge(copied, field(totals, **values))
    with pytest.raises(LedgerDamaged, match=f"record {totals} does not add up"):
        opened(copied)


# rolling back


def test_a_rolled_back_ledger_is_found_by_any_later_receipt(quick: Path) -> None:
    path = quick / "now" / "ledger.sqlite"
    path.parent.mkdir()
    receipts: list[str] = []
    copies: list[Path] = []
    for index in range(12):
        with hurried(path) as ledger:
            receipts.append(spend(ledger, answer=b"x" if index % 3 else None))
        copies.append(moved(path, quick / f"copy{index}"))
    for index, copy in enumerate(copies):
        assert verify(copy, receipts[: index + 1]).problems == ()
        for later in receipts[index + 1 :]:
            (problem,) = verify(copy, [later]).problems
            assert problem == f"receipt {later} does not match: the ledger was rolled back"


def test_a_ledger_that_went_another_way_after_a_rollback(quick: Path) -> None:
    """The same numbers, other hashes: receipts of the forgotten branch do not match."""
    path = quick / "a" / "ledger.sqlite"
    path.parent.mkdir()
    receipts = filled(path, 3)
    branch = moved(path, quick / "b")
    with opened(path) as one, opened(branch) as other:
        ours, theirs = spend(one), spend(other)
    assert ours.partition(":")[0] == theirs.partition(":")[0]
    assert verify(path, [*receipts, ours]).sound
    assert not verify(path, [theirs]).sound


@pytest.mark.parametrize(
    "receipt", ["", ":", "x", "3", "3:", "-1:x", "9" * 5000 + ":x", "３:x", "1e1:x", "\ud800", f"1:{GENESIS}"]
)
def test_what_is_no_receipt_does_not_match(journal: Path, quick: Path, receipt: str) -> None:
    (problem,) = verify(moved(journal, quick), [receipt]).problems
    assert "does not match" in problem


def test_a_receipt_may_come_with_white_space(path: Path) -> None:
    with hurried(path) as ledger:
        receipt = spend(ledger)
    assert verify(path, [f" {receipt}\n", f"0:{GENESIS}"]).sound


def replaced(path: Path, older: Path) -> None:
    """Put an older copy in the place of the ledger, as `mv` does."""
    shutil.copyfile(older, beside(path, ".new"))
    beside(path, ".new").replace(path)


def test_an_open_ledger_notices_that_its_file_was_replaced(path: Path, tmp_path: Path) -> None:
    """It would go on writing to a file that nobody else can see."""
    filled(path, 2)
    older = moved(path, tmp_path / "older")
    ledger: Ledger = hurried(path)
    spend(ledger)
    replaced(path, older)
    for _ in range(2):
        with pytest.raises(LedgerDamaged, match="was replaced while it was open → verify it, then open it again"):
            spend(ledger)
        with pytest.raises(LedgerDamaged, match="was replaced"):
            ledger.advance_data("x")
    ledger.close()


def test_a_file_replaced_during_the_commit_gives_no_bits(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(path, 2)
    older = moved(path, tmp_path / "older")
    ledger = hurried(path)
    original = Ledger._admit_all

    def interrupted(self: Ledger, batch: Any) -> None:
        original(self, batch)
        replaced(path, older)

    monkeypatch.setattr(Ledger, "_admit_all", interrupted)
    with pytest.raises(LedgerDamaged, match="was replaced"), ledger.charge(Pure(1), why="q"):
        pytest.fail("the body must not run")
    ledger.close()


def test_an_open_ledger_notices_that_its_wal_was_removed(path: Path) -> None:
    ledger = hurried(path)
    spend(ledger)
    beside(path, "-wal").unlink()
    with pytest.raises(LedgerDamaged, match="was replaced"), ledger.charge(CENT, why="q"):
        pytest.fail("the body must not run")
    ledger.close()


# seals


def test_a_seal_that_is_behind_is_ignored(path: Path) -> None:
    with hurried(path) as ledger:
        spend(ledger)
    seal = beside(path, ".seal").read_bytes()
    with hurried(path) as ledger:
        spend(ledger)
    beside(path, ".seal").write_bytes(seal)
    report = verify(path)
    assert report.sound
    assert not report.sealed


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"head": "x"}', '{"head": [], "digest": ""}', "\ud800"])
def test_a_seal_that_cannot_be_read_is_ignored(path: Path, text: str) -> None:
    with hurried(path) as ledger:
        spend(ledger)
    beside(path, ".seal").write_text(text, errors="surrogatepass")
    report = verify(path)
    assert report.sound
    assert not report.sealed


def test_a_ledger_in_use_is_not_sealed(path: Path) -> None:
    """Two have it open: only the last one to close seals it, and knows what the other one wrote."""
    one, two = hurried(path), hurried(path)
    spend(one)
    one.close()
    assert Seal.read(path) is None
    assert not verify(path).sealed
    two.close()
    seal = Seal.read(path)
    assert seal is not None
    assert seal.head == 3
    assert verify(path).sealed


def test_a_ledger_too_large_to_be_read_at_every_closing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.ledger.sqlite.files.LARGEST_SEALED", 8_000)
    filled(path, 5)
    report = verify(path)
    assert report.sound
    assert not report.sealed
    size = path.stat().st_size
    for largest, sealed in ((size - 1, False), (size, True)):
        monkeypatch.setattr("discreet.ledger.sqlite.files.LARGEST_SEALED", largest)
        assert (Seal.of(path, 5) is not None) == sealed


def test_a_seal_that_cannot_be_written_is_no_failure(path: Path) -> None:
    elsewhere = path.parent / "gone" / path.name
    Seal(5, "00").write(elsewhere)
    assert Seal.read(elsewhere) is None


def test_verify_takes_one_moment_while_others_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that is kept between two of its looks is no damage."""
    ledger = hurried(path)
    spend(ledger, answer=b"1", plan="p")
    original = Sqlite.answers

    def meanwhile(self: Sqlite) -> Iterator[tuple[int, bytes]]:
        found = list(original(self))
        spend(ledger, answer=b"2", plan="p")
        return iter(found)

    with monkeypatch.context() as patch:
        patch.setattr(Sqlite, "answers", meanwhile)
        report = verify(path)
    assert report.problems == ()
    assert report.charges == 1
    ledger.close()
    assert verify(path).charges == 2


@pytest.mark.parametrize("number", [-(2**63), -(10**6), 0])
def test_records_before_the_first_are_found(path: Path, number: int) -> None:
    with opened(path):
        pass
    assert verify(path).sound
    change(path, "INSERT INTO journal SELECT ?, line, hash, plan, kept FROM journal WHERE number = 1", (number,))
    beside(path, ".seal").unlink()
    assert not verify(path).sound
