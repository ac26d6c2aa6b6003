"""What is on disk: which reports there are, each once, whatever dies when; and nothing of order, time or person."""

from __future__ import annotations

import os
import stat
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest

from discreet.collector import parse
from discreet.collector.store import SCHEMA, Store, Submission, digest
from discreet.errors import Refused
from tests.collector.running import SURVEY

COLUMNS = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
ASKED = parse(SURVEY.encode())
INVITED = parse(("invitations = true\n" + SURVEY).encode())


def submission(number: int, invitation: str | None = None) -> Submission:
    values = {"smoker": number % 2, "way": number % 4, "hours": number % 12}
    reports = {q.id: q.mechanism.header + (values[q.id] % 2).to_bytes(4, "little") for q in ASKED.questions}
    return Submission(number.to_bytes(16, "big"), reports, invitation)


def rows(path: Path) -> dict[str, list[Any]]:
    """All that the file holds, in its order."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in SCHEMA}


def test_a_submission_counts_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.duckdb", ASKED)
    assert store.add([submission(1), submission(2), submission(1)]) == [True, True, False]
    assert store.add([submission(1)]) == [False]
    assert (store.count(), len(store.reports("way"))) == (2, 2)
    store.close()
    store.close()


def test_the_file_does_not_say_in_which_order_reports_came(tmp_path: Path) -> None:
    for name, numbers in (("a", range(30)), ("b", reversed(range(30)))):
        store = Store(tmp_path / f"{name}.duckdb", ASKED)
        for number in numbers:
            store.add([submission(number)])
        store.close()
    first, second = rows(tmp_path / "a.duckdb"), rows(tmp_path / "b.duckdb")
    assert first == second
    assert first["reports"] == sorted(first["reports"])
    assert len(first["reports"]) == 90


def test_the_file_says_nothing_else(tmp_path: Path) -> None:
    """A column more would be somebody's address, or a time."""
    store = Store(tmp_path / "a.duckdb", ASKED)
    store.add([submission(1)])
    store.close()
    with duckdb.connect(str(tmp_path / "a.duckdb"), read_only=True) as connection:
        columns = connection.execute(COLUMNS).fetchall()
    assert set(columns) == {
        ("survey", "fingerprint", "VARCHAR"),
        ("survey", "title", "VARCHAR"),
        ("reports", "question", "VARCHAR"),
        ("reports", "report", "BLOB"),
        ("submissions", "number", "BLOB"),
        ("invitations", "digest", "BLOB"),
        ("invitations", "submission", "BLOB"),
        ("refused", "reason", "VARCHAR"),
        ("refused", "count", "BIGINT"),
    }
    assert stat.S_IMODE((tmp_path / "a.duckdb").stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.duckdb"]


def test_rows_are_sorted_when_the_day_changes_and_when_they_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    today = [date(2026, 1, 1)]
    store = Store(tmp_path / "a.duckdb", ASKED, today=lambda: today[0])
    for number in (3, 2, 1):
        store.add([submission(number)])
    connection = store._connection
    read = "SELECT number FROM submissions"
    assert connection.execute(read).fetchall() != sorted(connection.execute(read).fetchall())
    today[0] = date(2026, 1, 2)
    store.add([])
    assert store._connection.execute(read).fetchall() == [(n.to_bytes(16, "big"),) for n in (1, 2, 3)]
    monkeypatch.setattr("discreet.collector.store.LEAST_GROWTH", 2)
    for number in (9, 8, 7):
        store.add([submission(number)])
    before = store._connection
    store.add([])
    assert store._connection is not before
    assert (store.count(), len(store.reports("way"))) == (6, 6)
    store.close()


@pytest.mark.parametrize("where", ["before", "while", "after"])
def test_what_dies_while_rows_are_sorted_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    store = Store(tmp_path / "a.duckdb", ASKED)
    store.add([submission(1), submission(2)])

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        if where == "before":
            patched.setattr("discreet.collector.store._remove", dies)
        else:
            patched.setattr(f"discreet.collector.store.os.{'replace' if where == 'while' else 'chmod'}", dies)
        with pytest.raises(KeyboardInterrupt):
            store._sort()
    store._connection.close()
    again = Store(tmp_path / "a.duckdb", ASKED)
    assert (again.count(), len(again.reports("way"))) == (2, 2)
    again.close()
    assert os.listdir(tmp_path) == ["a.duckdb"]


def test_what_fails_in_the_middle_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "a.duckdb", ASKED)
    with monkeypatch.context() as patched:
        patched.setattr(Store, "_write_refused", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.add([submission(1)])
    assert (store.count(), store.reports("way")) == (0, [])
    assert store.add([submission(1)]) == [True]
    store.close()


def test_a_disk_that_is_full_for_a_while_stops_nothing_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "a.duckdb", ASKED)
    store.add([submission(1)])
    with monkeypatch.context() as patched:
        patched.setitem(SCHEMA, "nonsense", "what BLOB")  # the sorted file cannot be written
        with pytest.raises(duckdb.Error):
            store._sort()
    assert store.add([submission(2)]) == [True]
    store._sort()
    assert (store.count(), len(store.reports("hours"))) == (2, 2)
    store.close()


def test_invitations_count_once_and_their_digests_are_stored(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.duckdb", INVITED)
    first, second = store.invite(2)
    used, missing, unknown, other, again = store.add(
        [
            submission(1, first),
            submission(2),
            submission(3, "0" * 32),
            submission(4, first),
            submission(1, first),
        ]
    )
    assert (used, again) == (True, False)
    assert [isinstance(each, Refused) for each in (missing, unknown, other)] == [True] * 3
    assert "used already" in str(other)
    assert store.invitations() == (2, 1)
    store.close()
    raw = (tmp_path / "a.duckdb").read_bytes()
    assert digest(second) in raw
    assert not any(text.encode() in raw or bytes.fromhex(text) in raw for text in (first, second))


def test_refusals_are_counted(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.duckdb", ASKED)
    for reason in ("too-large", "report-invalid", "report-invalid"):
        store.refuse(reason)
    assert store.refused() == {"report-invalid": 2, "too-large": 1}
    store.add([submission(1)])
    store.refuse("too-large")
    store.close()
    again = Store(tmp_path / "a.duckdb", ASKED)
    assert again.refused() == {"report-invalid": 2, "too-large": 2}
    again.close()


def test_a_database_of_another_survey_is_refused_and_left_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.duckdb", ASKED)
    store.add([submission(1)])
    store.close()
    before = rows(tmp_path / "a.duckdb")
    other = parse(SURVEY.replace("epsilon = 1.0", "epsilon = 2.0").encode())
    with pytest.raises(Refused, match="another version"):
        Store(tmp_path / "a.duckdb", other)
    assert rows(tmp_path / "a.duckdb") == before


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.duckdb").write_text("not a database, but longer than a header " * 200)
    with pytest.raises(Refused, match="cannot be opened"):
        Store(tmp_path / "a.duckdb", ASKED)
    assert (tmp_path / "a.duckdb").read_text().startswith("not a database")


def test_names_of_files_are_only_names(tmp_path: Path) -> None:
    store = Store(tmp_path / "it's; DROP TABLE reports.duckdb", ASKED)
    store.add([submission(1)])
    store.close()
    again = Store(tmp_path / "it's; DROP TABLE reports.duckdb", ASKED)
    assert again.count() == 1
    again.close()
