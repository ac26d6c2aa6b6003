"""Blocks on disk: what a refresh reads and writes, where rows go, and what it leaves alone."""

from __future__ import annotations

import stat
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from discreet.engines import arrivals
from discreet.engines.arrivals import Arrived, forget, seal, segments
from discreet.engines.frozen import names, stream_folder
from discreet.engines.memory import Memory
from discreet.engines.numbering import numbered
from discreet.engines.problems import SourceError
from discreet.engines.text import reading_parquet
from discreet.policy import Policy, read
from discreet.policy.layout import BLOCK, ROW, UNIT
from tests.curator.streams import Ride, add, day, policy, rides, world
from tests.plain import plain

Frozen = dict[str, bytes]


class Stream:
    """A stream in a folder, refreshed without a ledger."""

    def __init__(self, folder: Path, kind: str = "unit-day", **more: Any) -> None:
        self.folder = folder
        self.policy: Policy = read(world(folder, kind, **more))
        self.policy.state.mkdir(mode=0o700)
        self.retired: list[tuple[int, int]] = []

    @property
    def table(self) -> Any:
        return self.policy.tables["rides"]

    def refresh(self, until: int) -> Arrived:
        """Up to a day of January."""
        return seal(self.policy, self.table, datetime(2024, 1, until), self.retired)

    def rows(self, columns: str = f"{BLOCK}, {UNIT}, {ROW}") -> list[tuple[Any, ...]]:
        files = [str(path) for path in segments(self.policy, self.table, names(self.policy, self.table))]
        if not files:
            return []
        with plain() as connection:
            return connection.execute(f"SELECT {columns} FROM {reading_parquet(files)} ORDER BY ALL").fetchall()

    def frozen(self) -> Frozen:
        """All files of blocks, byte by byte."""
        files = segments(self.policy, self.table, names(self.policy, self.table))
        return {str(path): path.read_bytes() for path in files}


def test_a_refresh_reads_new_rows_and_writes_new_blocks_alone(tmp_path: Path) -> None:
    """Rows read are those that came since, twice where they waited: however much came before."""
    stream = Stream(tmp_path)
    read_rows, before = [], Frozen()
    for number in range(1, 5):
        add(tmp_path, str(number), [ride for ride in rides(20, number) if ride[1] == day(number)])
        arrived = stream.refresh(number + 1)
        assert (arrived.read, arrived.written, arrived.opened) == (40, 40, 1)
        read_rows.append(arrived.read)
        after = stream.frozen()
        assert after.items() >= before.items(), "blocks that were sealed are as they were"
        assert len(after) == len(before) + 1
        before = after
    assert stream.refresh(5).read == 0
    assert set(read_rows) == {40}


def test_blocks_exist_by_calendar_and_not_by_rows(tmp_path: Path) -> None:
    """Nothing came, or nothing but what belongs nowhere: the blocks are the same."""
    empty, full, odd = (Stream(tmp_path / name) for name in ("empty", "full", "odd"))
    add(full.folder, "a", rides())
    stray: list[Ride] = [("x", "", 1, "north"), ("x", "2023-12-31", 1, "north"), ("x", "2025-01-01", 1, "south")]
    add(
        odd.folder,
        "a",
        [*stray, ("x", "9999-12-31", 1, "north"), ("x", "no day", 1, "north"), ("", day(1), 1, "north")],
    )
    for until, blocks in ((1, 0), (3, 2), (2, 2), (6, 5)):
        for stream in (empty, full, odd):
            stream.refresh(until)
            assert len(names(stream.policy, stream.table)) == blocks
    assert empty.rows() == odd.rows() == []
    assert len(full.rows()) == len(rides())


def test_where_rows_go_that_come_too_late_too_early_or_nowhere(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    add(tmp_path, "a", [("ann", day(1), 1, "north"), ("ann", day(4), 2, "north"), ("ann", "", 3, "north")])
    first = stream.refresh(3)
    assert first.counts == {"read": 3, "written": 1, "late": 0, "outside": 1, "waiting": 1, "opened": 2}
    add(tmp_path, "b", [("bob", day(2), 1, "north"), ("bob", day(3), 2, "north")])
    second = stream.refresh(4)
    assert second.counts == {"read": 2, "written": 1, "late": 1, "outside": 0, "waiting": 0, "opened": 1}
    third = stream.refresh(5)
    assert third.counts == {"read": 1, "written": 1, "late": 0, "outside": 0, "waiting": 0, "opened": 1}
    assert stream.rows() == [(0, "0:ann", 1), (2, "2:bob", 1), (3, "3:ann", 1)]
    assert "1 too late" in second.words


def test_a_file_that_changed_after_it_was_read_is_told_and_not_read(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    add(tmp_path, "a", rides(2, 1))
    stream.refresh(2)
    add(tmp_path, "a", rides(5, 2))
    arrived = stream.refresh(3)
    assert arrived.changed == ("rides/a.csv",)
    assert arrived.read == 0


def test_a_unit_in_one_block_is_the_unit(tmp_path: Path) -> None:
    """Ranks are within the pair, so that each day of a rider has its own."""
    stream = Stream(tmp_path)
    add(tmp_path, "a", [("ann", day(1 + number // 5), number, "north") for number in range(10)])
    stream.refresh(3)
    assert stream.rows() == [(block, f"{block}:ann", rank) for block in (0, 1) for rank in (1, 2, 3)]


def test_a_unit_is_in_its_first_blocks(tmp_path: Path) -> None:
    """Two days of a rider count, and three rows over both: as they came, whatever comes later."""
    stream = Stream(tmp_path, "unit in days")
    add(tmp_path, "a", [("ann", day(2), 1, "north"), ("ann", day(2), 2, "north"), ("bob", day(1), 1, "north")])
    stream.refresh(3)
    add(tmp_path, "b", [(rider, day(3), fare, "north") for rider in ("ann", "bob", "eve") for fare in range(4)])
    stream.refresh(4)
    add(tmp_path, "c", [(rider, day(4), 1, "north") for rider in ("ann", "bob", "eve")])
    stream.refresh(5)
    by_rider: dict[str, list[tuple[int, int]]] = {}
    for block, rider, rank in stream.rows():
        by_rider.setdefault(rider, []).append((block, rank))
    assert by_rider == {
        "ann": [(1, 1), (1, 2), (2, 3)],
        "bob": [(0, 1), (2, 2), (2, 3)],
        "eve": [(2, 1), (2, 2), (2, 3)],
    }


def test_one_refresh_of_many_blocks_is_many_of_one_each(tmp_path: Path) -> None:
    """Whether a unit's blocks are sealed together or one after the other: the same rows have the same ranks."""
    found = []
    for kind in ("unit-day", "unit in days"):
        for name, steps in (("together", [6]), ("apart", [3, 4, 6])):
            stream = Stream(tmp_path / f"{kind} {name}", kind)
            (stream.policy.state / "secret").write_text("00" * 32)
            add(stream.folder, "a", rides(5, 5))
            for until in steps:
                stream.refresh(until)
            found.append(stream.rows(f"{BLOCK}, day, fare, {UNIT}, {ROW}"))
        assert found[-1] == found[-2] != []


def test_units_stay_in_the_block_in_which_they_first_came(tmp_path: Path) -> None:
    stream = Stream(tmp_path, "unit")
    riders = [f"r{number}" for number in range(8)]
    add(tmp_path, "a", [(rider, day(1), 1, "north") for rider in riders])
    stream.refresh(2)
    first = {rider: block for block, rider, _ in stream.rows()}
    assert set(first.values()) == {0, 1}, "both buckets of a cohort (each is empty with probability 2⁻⁸)"
    add(tmp_path, "b", [(rider, day(2), 2, "north") for rider in (*riders, "new")])
    stream.refresh(3)
    before = stream.frozen()
    later = stream.rows()
    assert {rider: block for block, rider, _ in later if rider != "new"} == first
    assert {block for block, rider, _ in later if rider == "new"} <= {2, 3}
    assert all(sorted(rank for _, who, rank in later if who == rider) == [1, 2] for rider in riders)
    stream.retired = [(0, 0)]
    forget(stream.policy, stream.table, stream.retired)
    add(tmp_path, "c", [(rider, day(3), 3, "north") for rider in riders])
    stream.refresh(4)
    assert {block for block, *_ in stream.rows()} == {1, *{block for block, who, _ in later if who == "new"}}
    assert len([path for path in before if Path(path).exists()]) < len(before), "retired rows are deleted"
    assert all(rank <= 3 for *_, rank in stream.rows())


def test_one_table_that_grows(tmp_path: Path) -> None:
    """Rows of blocks that are not sealed are read; what came late, or has not ended, is not."""
    stream = Stream(tmp_path, source="all.parquet")

    def hold(held: list[Ride]) -> None:
        values = ", ".join(f"('{who}', DATE '{when}', {fare}, '{zone}', 'x')" for who, when, fare, zone in held)
        with plain() as connection:
            source = f"SELECT * FROM (VALUES {values}) AS t(rider_id, day, fare, zone, note)"
            connection.execute(f"COPY ({source}) TO '{tmp_path / 'all.parquet'}' (FORMAT parquet)")

    hold(rides(3, 2))
    assert stream.refresh(2).counts == {"read": 6, "written": 6, "late": 0, "outside": 0, "waiting": 0, "opened": 1}
    hold([*rides(3, 4), ("late", day(1), 1, "north")])
    assert stream.refresh(4).counts == {"read": 12, "written": 12, "late": 0, "outside": 0, "waiting": 0, "opened": 2}
    assert {block for block, *_ in stream.rows()} == {0, 1, 2}
    assert len(stream.rows()) == 18


def test_one_table_of_units_that_grows(tmp_path: Path) -> None:
    """Rows whose time has come since the last refresh are new; a unit stays where it first came."""
    stream = Stream(tmp_path, "unit", source="all.duckdb#rides", more='column = "day"\n')

    def hold(count: int) -> None:
        (tmp_path / "all.duckdb").unlink(missing_ok=True)
        values = ", ".join(
            f"('{who}', DATE '{when}', {fare}, '{zone}', 'x')" for who, when, fare, zone in rides(4, count)
        )
        with plain() as connection:
            connection.execute(f"ATTACH '{tmp_path / 'all.duckdb'}' AS held")
            source = f"SELECT * FROM (VALUES {values}) AS t(rider_id, day, fare, zone, note)"
            connection.execute(f"CREATE TABLE held.rides AS {source}; DETACH held")

    hold(2)
    assert (stream.refresh(2).read, stream.refresh(2).read) == (8, 0)
    first = {unit: block for block, unit, _ in stream.rows()}
    hold(5)
    assert stream.refresh(4).read == 16
    assert {unit: block for block, unit, _ in stream.rows()} == first
    assert [rank for _, unit, rank in stream.rows() if unit == "r1"] == [1, 2, 3]


def test_a_refresh_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what it wrote is removed by the next."""
    stream = Stream(tmp_path)
    add(tmp_path, "a", rides(3, 1))
    stream.refresh(2)
    frozen = stream.frozen()
    add(tmp_path, "b", rides(3, 3))

    def fail(*_: object) -> str:
        raise SystemExit

    for place, name in ((arrivals, "layout"), (arrivals._Refresh, "_count")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, fail)
            with pytest.raises(SystemExit):
                stream.refresh(4)
    assert stream.frozen() == frozen
    assert len(names(stream.policy, stream.table)) == 1
    assert stream.refresh(4).late == 6
    folders = {path.name for path in stream_folder(stream.policy, stream.table).iterdir() if path.is_dir()}
    assert folders == {Path(path).parent.name for path in stream.frozen()}


def test_blocks_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    add(tmp_path, "a", rides())
    stream.refresh(3)
    everything = list(stream_folder(stream.policy, stream.table).rglob("*"))
    assert everything
    assert all(not stat.S_IMODE(path.stat().st_mode) & 0o077 for path in everything)


def test_blocks_are_never_read_by_another_layout(tmp_path: Path) -> None:
    """Other bounds, columns or calendars: their ranks and masks would mean something else."""
    stream = Stream(tmp_path)
    add(tmp_path, "a", rides())
    stream.refresh(3)
    path = tmp_path / "rides.toml"
    path.write_text(path.read_text().replace("max_rows = 3", "max_rows = 4"))
    changed = read(path)
    with pytest.raises(SourceError, match="others than when its blocks were sealed"):
        segments(changed, changed.tables["rides"], {0: ""})
    with pytest.raises(SourceError, match="others than when its blocks were sealed"):
        seal(changed, changed.tables["rides"], datetime(2024, 1, 9))


def test_blocks_that_the_ledger_does_not_know_are_not_read(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    with pytest.raises(SourceError, match="not those that the ledger knows"):
        segments(stream.policy, stream.table, {0: "lost"})
    stream.refresh(3)
    with pytest.raises(SourceError, match="not those that the ledger knows"):
        segments(stream.policy, stream.table, {0: "another"})


def test_a_file_that_cannot_be_read_is_left_out_and_tried_again(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    add(tmp_path, "a", rides(3, 1))
    (tmp_path / "rides" / "b.csv").write_bytes(b"")
    assert len(stream.refresh(2).report.unreadable) == 1
    add(tmp_path, "b", rides(2, 2))
    assert stream.refresh(3).read == 8


@pytest.mark.parametrize("kind", ["unit-day", "unit-week", "unit in days", "row"])
def test_memory_has_the_same_rows(tmp_path: Path, kind: str) -> None:
    """What audits and dummies ask is what the files hold, ranks and masks included."""
    stream = Stream(tmp_path, kind)
    (stream.policy.state / "secret").write_text("00" * 32)
    held = rides(4, 9)
    add(tmp_path, "a", held)
    stream.refresh(31)
    names_of = ("rider_id", "day", "fare", "zone")
    lists = {"rides": [{**dict(zip(names_of, ride, strict=True)), "note": "x"} for ride in held]}
    engine = Memory(stream.policy, lists, key="00" * 32)
    columns = ", ".join(f'"{column}"' for column in sorted(engine.schema("rides")))
    try:
        there = engine.execute(f"SELECT {columns} FROM rides ORDER BY ALL")
    finally:
        engine.close()
    assert stream.rows(columns) == there != []


def test_weeks_of_the_engine_are_those_of_the_calendar() -> None:
    """Before the first block too, where a number that is rounded to zero would be inside."""
    rows = "SELECT DATE '2023-12-20' + i::INTEGER AS day FROM range(40) AS t(i)"
    with plain() as connection:
        found = connection.execute(numbered(rows, policy("unit-week").tables["rides"], "")).fetchall()
    assert [number for _, number in found] == [-2] * 5 + [-1] * 7 + [0] * 7 + [1] * 7 + [2] * 7 + [3] * 7
