"""Streams on disk: what their records mean, who may read them, and that nobody changes them unnoticed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest

from discreet.accounting import Concentrated, Pure
from discreet.accounting.record import BlockNames
from discreet.accounting.rounding import UNITS
from discreet.ledger import Grant, Ledger, LedgerDamaged, LedgerError, Marks, verify
from discreet.ledger.codec import GENESIS, Record, decode, link
from discreet.ledger.sqlite.files import beside
from discreet.ledger.state import State
from tests.ledger.helpers import child, forge, hurried, moved, rows, store_of

PURE: Final = Grant.of(Fraction(100), None)
JOURNAL: Final = (Path(__file__).parents[1] / "fixtures" / "streams.jsonl").read_text(encoding="utf-8").splitlines()
"""As they were first written. What is written here means the same for ever."""


def chained(lines: Iterable[str]) -> list[tuple[int, str, str]]:
    digest, journal = GENESIS, []
    for number, line in enumerate(lines, 1):
        digest = link(digest, line)
        journal.append((number, line, digest))
    return journal


def test_records_mean_what_they_meant() -> None:
    state = State.replayed(chained(JOURNAL))
    stream = state.streams["rides"]
    assert (stream.capacity, stream.most, stream.unit, stream.count) == ((3 * UNITS // 2,), 2, "rider", 3)
    assert (stream.retired, stream.lost, stream.labels[0], stream.files[2]) == (
        ((0, 2),), (2 * UNITS,), "2024-01-01", "f2",
    )  # fmt: skip
    assert state.spent == (3 * UNITS,)
    *_, before, totals = chained(JOURNAL)
    assert State.resumed(before, totals) == state


def test_a_charge_about_blocks_adds_nothing_to_the_budget() -> None:
    """Also where nothing comes after it that would not add up."""
    charge = json.loads(JOURNAL[6])
    charge |= {"loss": ["1"], "spent": [str(2 * UNITS + 1)]}
    with pytest.raises(LedgerDamaged, match="record 7 does not add up"):
        State.replayed(chained([*JOURNAL[:6], json.dumps(charge)]))
    assert State.replayed(chained(JOURNAL[:7])).spent == (2 * UNITS,)


def test_who_does_not_know_streams_reads_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The discreet of before refuses all that is new, wherever it begins to read; what is old it reads."""
    monkeypatch.setattr(
        "discreet.ledger.codec.VERSIONS",
        {"budget": 1, "epoch": 1, "data": 2, "charge": 1, "answer": 1, "accepted": 1, "totals": 2},
    )
    for number, line, _ in chained(JOURNAL):
        if number <= 2:
            decode(number, line)
        else:
            with pytest.raises(LedgerDamaged, match="does not know"):
                decode(number, line)


# somebody who knows the format


@pytest.fixture(scope="module")
def journal(shared: Path) -> Path:
    """A closed ledger with all kinds of records about streams, totals among them."""
    path = shared / "streams.sqlite"
    with hurried(path, PURE, shares={"ann": Fraction(50)}) as ledger, pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.ledger.ledger.TOTALS_EVERY", 10)
        ledger.declare_stream("rides", Pure(1, unit="rider"), 2)
        for number in range(4):
            ledger.open_block("rides", f"f{number}", f"day {number}")
        for numbers in ([0, 1, 2, 3], [1], [2, 3]):
            spend(ledger, numbers, 0.25, analyst="ann")
        spend(ledger, [1], 0.5)
        ledger.retire("rides", 1, "old")
        ledger.declare_stream("rides", Pure(2, unit="rider"), 2)
    assert [json.loads(row[1])["kind"] for row in rows(path)] == [
        "budget", "epoch", "stream", *["block"] * 4, *["charge"] * 3, "totals", "charge", "retire", "stream",
    ]  # fmt: skip
    assert verify(path).problems == ()
    return path


def spend(ledger: Ledger, numbers: list[int], epsilon: float, **facts: Any) -> None:
    with ledger.charge(Pure(epsilon, unit="rider"), why="q", blocks=BlockNames.of("rides", numbers), **facts):
        pass


def put(number: int, key: str, value: object) -> Callable[[int, Record], None]:
    """An edit of one record: `a.b` is a key inside of a key."""

    def edit(each: int, record: Record) -> None:
        if each == number:
            *outer, last = key.split(".")
            for name in outer:
                record = record[name]
            assert json.dumps(record.get(last, ...), default=str) != json.dumps(value), "that would change nothing"
            record[last] = value

    return edit


def drop(number: int, key: str) -> Callable[[int, Record], None]:
    def edit(each: int, record: Record) -> None:
        if each == number:
            del record[key]

    return edit


def charged_twice(number: int, record: Record) -> None:
    """The budget and the blocks."""
    if number == CHARGE:
        record["loss"], record["spent"] = record["price"], [str(int(record["spent"][0]) + int(record["price"][0]))]


STREAM, BLOCK, CHARGE, TOTALS, FULL, RETIRE, RAISE = 3, 5, 8, 11, 12, 13, 14
T: Final = "streams.rides."
FORGED: Final = [
    *(put(STREAM, "capacity", value) for value in (["0"], ["2" + "0" * 24], ["-1"], ["1", "1"], [], "1", None, [10])),
    *(put(STREAM, "most", value) for value in (1, 0, -2, True, 2.0, "2", None, 10**9)),
    *(put(STREAM, "loss", value) for value in (["0"], ["1" + "0" * 24])),
    *(put(STREAM, "name", value) for value in ("", "walks", None, 5, "a\n")),
    put(STREAM, "spent", ["0"]), put(STREAM, "unit", ""), put(STREAM, "at", None), put(STREAM, "v", 2),
    drop(STREAM, "most"),
    *(put(BLOCK, "number", value) for value in (0, 2, -1, True, "1", 1.0, None)),
    *(put(BLOCK, "label", value) for value in ("day 0", "", None, 7)),
    *(put(BLOCK, "file", value) for value in ("f0", "", None)),
    put(BLOCK, "stream", "walks"), put(BLOCK, "at", 5), drop(BLOCK, "label"),
    *(put(CHARGE, "blocks.ranges", value) for value in (
        "0-4", "0-3,5", "3-0", "0-2,2-3", "0-1,2-3", "-1-3", "", "0-3 ", "0-10000000", "0-999999", None, [0, 3], 3,
    )),
    *(put(CHARGE, "blocks.stream", value) for value in ("walks", "", None, 3)),
    *(put(CHARGE, "price", value) for value in (
        ["2" + "0" * 24], ["-1"], ["0", "0"], [], ["1.5"], [0], None, ["9" * 60],
    )),
    charged_twice,
    put(CHARGE, "loss", ["1"]), put(CHARGE, "v", 1), put(CHARGE, "blocks", None), put(CHARGE, "blocks", {}),
    drop(CHARGE, "price"), drop(CHARGE, "blocks"), drop(CHARGE, "salt"),
    put(CHARGE, "portion", {"partition": "p", "part": "a", "most": 1}), put(CHARGE, "unit", ""), put(CHARGE, "unit", 4),
    put(FULL, "blocks.ranges", "1-4"), put(FULL, "price", ["500000000000000000000001"]), put(FULL, "v", 3),
    *(put(RETIRE, "upto", value) for value in (0, 5, -1, True, "1", 1.0, None, 10**9)),
    put(RETIRE, "reason", None), put(RETIRE, "stream", "walks"), put(RETIRE, "at", None), drop(RETIRE, "upto"),
    put(RAISE, "capacity", ["5" + "0" * 23]), put(RAISE, "most", 3), drop(RAISE, "unit"), put(RAISE, "loss", ["0"]),
    *(put(TOTALS, f"{T}{key}", value) for key, value in (
        ("capacity", ["2" + "0" * 24]), ("most", 1), ("most", True), ("unit", None), ("unit", ""), ("retired", "0"),
        ("retired", None), ("largest", [["1"]]), ("largest", []), ("files", ["f0", "f1", "f2", "f9"]),
        ("labels", ["day 0", "day 1", "day 2"]), ("lines", []), ("lines", [[["0", 4]]]), ("lines", [[["0", 10**9]]]),
        ("lines", [[["0", -1], ["0", 5]]]), ("lines", [[["0", True]]]), ("lines", [[["-1", 4]]]),
        ("lines", [[["0", 3]]]),
        ("lines", [[["250000000000000000000000", 4]], []]), ("shares", {}), ("shares", {"ann": [[["0", 4]]]}),
    )),
    put(TOTALS, "v", 2), drop(TOTALS, "streams"), put(TOTALS, "streams", {}), put(TOTALS, "streams.walks", {}),
]  # fmt: skip
"""Edits of records after which the chain is computed anew."""


def test_forged_records_do_not_add_up(journal: Path, quick: Path) -> None:
    path = moved(journal, quick, only=[""])
    content = path.read_bytes()
    for index, edit in enumerate(FORGED):
        path.write_bytes(content)
        forge(path, edit)
        problems = verify(path).problems
        assert problems, index
        assert all("does not add up" in each or "does not know" in each or "follow" in each for each in problems), (
            problems
        )
        with pytest.raises(LedgerDamaged):
            State.replayed((number, line, digest) for number, line, digest, *_ in rows(path))


def test_totals_that_are_taken_at_their_word_are_whole(
    journal: Path, quick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens a ledger begins at the last totals. What cannot be a stream is damage there too, and nothing else;
    what could be one is found by `verify`."""
    monkeypatch.setattr("discreet.ledger.ledger.TOTALS_EVERY", 10)
    path = moved(journal, quick, only=[""])
    content, damaged = path.read_bytes(), 0
    for edit in FORGED:
        path.write_bytes(content)
        forge(path, edit)
        try:
            hurried(path, PURE, shares={"ann": Fraction(50)}).close()
        except LedgerError:
            damaged += 1
    assert damaged > 30


def test_a_ledger_that_was_rolled_back_forgets_no_block(tmp_path: Path) -> None:
    """The high-water mark is of all records, whatever they are about."""
    marks, path = Marks(tmp_path / "marks"), tmp_path / "state" / "ledger.sqlite"
    path.parent.mkdir()
    with Ledger.open(path, PURE, shares={}, marks=marks) as ledger:
        ledger.declare_stream("rides", Pure(1, unit="rider"), 1)
        ledger.open_block("rides", "f0", "day 0")
    kept = path.read_bytes()
    with Ledger.open(path, PURE, shares={}, marks=marks) as ledger:
        spend(ledger, [0], 1)
        assert not ledger.stream("rides").live
    path.write_bytes(kept)
    beside(path, ".seal").unlink()
    with pytest.raises(LedgerError, match="rolled back"):
        Ledger.open(path, PURE, shares={}, marks=marks)


# processes


def test_processes_that_are_killed_never_overspend_a_block(tmp_path: Path) -> None:
    """Several processes of two threads each declare the same stream, open the same days, ask, retire, and die at any
    moment. Whatever they were told is on disk; no two opened the same day; no line is above the capacity."""
    path = tmp_path / "ledger.sqlite"
    found = child("blocks_together", path, 3, 6)
    assert found["failed"] == []
    report = verify(path, found["receipts"])
    assert report.problems == ()
    lines: dict[int, int] = {}
    labels: list[str] = []
    gone = 0
    for _, line, *_ in rows(path):
        record = json.loads(line)
        if record["kind"] == "block":
            assert record["number"] == len(labels)
            labels.append(record["label"])
        elif record["kind"] == "retire":
            gone = record["upto"]
        elif record["kind"] == "charge":
            for number in BlockNames.read(record["blocks"]):
                assert gone <= number < len(labels)
                lines[number] = lines.get(number, 0) + int(record["price"][0])
    assert len(set(labels)) == len(labels)
    assert max(lines.values()) <= UNITS
    assert sum(json.loads(line)["kind"] == "stream" for _, line, *_ in rows(path)) == 1
    assert found["receipts"]
    with hurried(path, PURE) as ledger:
        assert store_of(ledger).last() is not None
        assert ledger.balance().spent.epsilon == 2


@pytest.mark.parametrize(
    ("way", "points"),
    [
        pytest.param("line", range(50, 3_000, 733), marks=pytest.mark.long),
        pytest.param("line", range(5, 3_000, 23), marks=pytest.mark.slow),
        pytest.param("statement", range(90), marks=pytest.mark.slow),
    ],
)
def test_whoever_dies_between_two_acts_goes_on_where_it_was(way: str, points: range, tmp_path: Path) -> None:
    found = child("kill_streams", tmp_path / "ledger", way, *points)
    assert found["points"] == len(points)
    assert found["killed"] >= 0.5 * len(points)


def test_two_ledgers_of_one_process_see_each_other(path: Path) -> None:
    with hurried(path, PURE) as one, hurried(path, PURE) as other:
        one.declare_stream("rides", Pure(1), 1)
        other.declare_stream("rides", Pure(1), 1)
        assert one.open_block("rides", "f0", "day 0") == other.open_block("rides", "f0", "day 0") == 0
        assert other.open_block("rides", "f1", "day 1") == 1
        with pytest.raises(LedgerError, match="second one"):
            one.open_block("rides", "mine", "day 1")
        spend_plain(one, 0, 1)
        other.retire("rides", 1, "old")
        with pytest.raises(Exception, match="block-retired"):
            spend_plain(one, 0)
        assert one.stream("rides") == other.stream("rides")


def spend_plain(ledger: Ledger, *numbers: int) -> None:
    with ledger.charge(Pure(0.5), why="q", blocks=BlockNames.of("rides", numbers)):
        pass


def test_a_budget_with_delta_is_resumed_from_totals(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.ledger.ledger.TOTALS_EVERY", 7)
    grant = Grant.of(Fraction(3), Fraction(1, 10**6))
    with hurried(path, grant) as ledger:
        ledger.declare_stream("rides", Concentrated(Fraction(1, 100), Fraction(1, 10**9)), 2)
        for number in range(3):
            ledger.open_block("rides", f"f{number}", f"day {number}")
        for number in range(3):
            with ledger.charge(
                Concentrated(Fraction(number, 1000), Fraction(1, 10**10)),
                why="q",
                blocks=BlockNames.of("rides", [number]),
            ):
                pass
        before = ledger.stream("rides")
    with hurried(path, grant) as again:
        assert again.stream("rides") == before
        assert again._state == State.replayed(store_of(again).rows())
