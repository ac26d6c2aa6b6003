"""Delta and Iceberg tables as sources: the same copy as from files, at one version, and nothing private as public."""

from __future__ import annotations

import stat
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyiceberg.catalog
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config

from discreet.engines import lakes
from discreet.engines.lakes import LakeStaging
from discreet.engines.problems import SourceError
from discreet.policy.layout import UNIT
from tests.postgres.worlds import copied, table, world

COLUMNS = 'ward = { type = "text" }\ncost = { min = 0, max = 100 }'
ROWS = pa.table(
    {
        "person": ["ann", "bob", "", None],
        "ward": ["A", None, "ß", "B"],
        "cost": [1.5, 2.0, None, float("inf")],
        "secret": ["canary"] * 4,
        "day": [date(2024, 2, 29), date(1, 1, 1), None, date(9999, 12, 31)],
        "at": [datetime(2024, 1, 1, 12), None, None, datetime(1969, 12, 31)],
        "many": [[1, 2], [], None, [3]],
    }
)
WANTED = [("", "ß", None), ("ann", "A", 1.5), ("bob", None, 2.0)]
QUERY = f"SELECT {UNIT}, ward, cost FROM visits ORDER BY 1"
Lake = tuple[str, str | None, Callable[[Any], None], Callable[[str], None]]


@pytest.fixture(params=["delta", "iceberg"])
def lake(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Its address, its table, what adds rows, and what removes those of a person."""
    if request.param == "delta":
        place = str(tmp_path / "visits")
        return (
            "delta:visits",
            None,
            lambda rows: write_deltalake(place, rows, mode="append"),
            lambda person: DeltaTable(place).delete(f"person = '{person}'"),
        )
    (tmp_path / "warehouse").mkdir()
    monkeypatch.setenv("PYICEBERG_CATALOG__CLINIC__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__CLINIC__URI", f"sqlite:///{tmp_path}/catalogue.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__CLINIC__WAREHOUSE", f"file://{tmp_path}/warehouse")
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())  # it looks when it is imported
    catalogue = load_catalog("clinic")
    catalogue.create_namespace("main")
    held = catalogue.create_table("main.visits", schema=ROWS.schema)
    return "iceberg:clinic", "main.visits", held.append, lambda person: held.delete(f"person == '{person}'")


def said(source: str, name: str | None, columns: str = COLUMNS, **more: Any) -> str:
    text = table(source, name or "", columns, **more)
    return text if name else "\n".join(line for line in text.splitlines() if not line.startswith("table ="))


def test_a_table_is_read_as_it_is_now(lake: Lake, tmp_path: Path) -> None:
    source, name, add, remove = lake
    add(ROWS)
    policy = world(tmp_path, said(source, name))
    assert copied(policy, QUERY) == [("", "ß", None), ("ann", "A", 1.5), ("bob", None, 2.0)]
    add(ROWS.slice(0, 1).set_column(0, "person", pa.array(["eve"])))
    remove("bob")  # rows that are deleted may still lie in files
    (tmp_path / "later").mkdir()
    later = world(tmp_path / "later", said(source.replace("delta:", f"delta:{tmp_path}/"), name))
    assert copied(later, QUERY) == [("", "ß", None), ("ann", "A", 1.5), ("eve", "A", 1.5)]


def test_only_declared_columns_leave_into_files_of_the_owner(lake: Lake, tmp_path: Path) -> None:
    source, name, add, _ = lake
    add(ROWS)
    policy = world(tmp_path, said(source, name))
    (tmp_path / "scratch").mkdir()
    held = LakeStaging(policy, tmp_path / "scratch", lambda _: []).written(policy.tables["visits"])
    for file in (held.rows, held.shape):
        assert b"canary" not in file.read_bytes()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(pq.read_schema(held.rows)) == 3


def test_what_is_private_is_not_read_as_public(lake: Lake, tmp_path: Path) -> None:
    source, name, add, _ = lake
    add(ROWS)
    files = "visits/*.parquet" if name is None else "warehouse/**/*.parquet"
    public = f'[tables.open]\nsource = "{files}"\npublic = true\n'
    policy = world(tmp_path, said(source, name) + "\n" + public)
    with pytest.raises(SourceError, match="which is private"):
        copied(policy, QUERY)


def test_what_cannot_be_opened_is_said_without_what_others_wrote(lake: Lake, tmp_path: Path) -> None:
    source, name, _, _ = lake
    with pytest.raises(SourceError) as raised:
        copied(world(tmp_path, said(source, name)), QUERY)
    assert str(tmp_path) not in str(raised.value)


def test_what_fails_in_the_middle_has_one_text(lake: Lake, tmp_path: Path) -> None:
    source, name, add, _ = lake
    add(ROWS)
    policy = world(tmp_path, said(source, name))
    for file in tmp_path.rglob("*.parquet"):
        file.write_bytes(b"canary")
    with pytest.raises(SourceError) as raised:
        copied(policy, QUERY)
    assert raised.value.reason == lakes.INTERRUPTED[0]


def test_tables_are_of_one_moment(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody writes between the first look and the second: both are looked at again, and in the end it is refused."""
    source, name, add, _ = lake
    add(ROWS)
    policy = world(tmp_path, said(source, name))
    opened, writes = LakeStaging._opened, [2]

    def opening(self: LakeStaging, of: Any) -> Any:
        found = opened(self, of)
        if writes[0]:
            writes[0] -= 1
            add(ROWS.slice(0, 1).set_column(0, "person", pa.array([f"late{writes[0]}"])))
        return found

    monkeypatch.setattr(LakeStaging, "_opened", opening)
    assert [row[0] for row in copied(policy, QUERY)] == ["", "ann", "bob", "late0", "late1"]
    writes[0] = 100
    (tmp_path / "scratch").mkdir()
    with pytest.raises(SourceError, match="changes all the time"):
        LakeStaging(policy, tmp_path / "scratch", lambda _: []).written(policy.tables["visits"])


def test_features_that_are_not_known_are_refused(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "visits"), ROWS.drop_columns(["at"]))
    log = tmp_path / "visits" / "_delta_log" / "00000000000000000001.json"
    log.write_text(
        '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],'
        '"writerFeatures":["deletionVectors"]}}\n',
        encoding="utf-8",
    )
    with pytest.raises(SourceError, match="deletionVectors"):
        copied(world(tmp_path, said("delta:visits", None)), QUERY)
