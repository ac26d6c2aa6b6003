"""Neighbouring files: one person's rows in a file of their own, first or last, of other types, orders and encodings.

The owner refreshes with that file and without. Then what the copy holds of all others is the same, row by row, and what
queries count moves by what one unit may move at most; or the refresh is refused to the owner, and analysts keep the
version before. Queries cost so much here that noise is zero but with a probability below 10⁻¹⁰."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

import discreet
from discreet.curator.refreshing import refresh
from discreet.engines.copy import private_copy
from discreet.engines.problems import SourceError
from discreet.policy import read
from discreet.policy.layout import UNIT
from discreet.quoting import name
from tests.attacks.test_one_file_types import FILES, MANY, OWN, POLICY, csv, parquet
from tests.attacks.worlds import Row, secret_of
from tests.plain import reading

COST = 10**6
QUERIES = (
    """SELECT ward, COUNT(*), SUM(cost), COUNT_IF(day < DATE '2026-01-20'),
        COUNT_IF(seen >= TIMESTAMP '2026-01-01 12:00:00' AND zip <> '00') FROM visits GROUP BY ward ORDER BY ward""",
    "SELECT COUNT(DISTINCT person), COUNT(cost) FROM visits",
)
FARTHEST = ((3, 30, 3, 3), (1, 3))
"""How far one unit moves a column of each answer, in all of its rows together."""

HEADER = b"person,ward,zip,cost,seen,day\n"
LINE = b"mallory,A,00,1.5,2026-01-01 10:30:00,2026-01-02\n"
PLAIN = HEADER + LINE * 5
CSV: Mapping[str, bytes] = {
    "mark": b"\xef\xbb\xbf" + PLAIN,
    "plain": PLAIN,
    "CRLF": PLAIN.replace(b"\n", b"\r\n"),
    "mark and CRLF": b"\xef\xbb\xbf" + PLAIN.replace(b"\n", b"\r\n"),
    "CRLF in the header alone": HEADER.replace(b"\n", b"\r\n") + LINE * 3,
    "CR": PLAIN.replace(b"\n", b"\r"),
    "Latin-1": HEADER + "mallory,A,Zürich,1.5,,\n".encode("latin-1") * 3 + LINE,
    "Latin-1 in the header": "person,ward,zip,größe,cost\n".encode("latin-1") + b"mallory,A,00,1,2\n",
    "Latin-1 as the unit": HEADER + "señor,A,00,1,,\n".encode("latin-1"),
    "UTF-16": PLAIN.decode().encode("utf-16"),
    "UTF-16 without a mark": PLAIN.decode().encode("utf-16-le"),
    "no last line end": PLAIN[:-1],
    "other order": b"day,cost,person,zip\n2026-01-01,2,mallory,00\n",
    "other case": b"PERSON,Ward,COST\nmallory,A,9\n",
    "more columns": b"a,person,b,cost,c\n1,mallory,2,3,4\n",
    "fewer columns": b"person\nmallory\n",
    "no unit": b"ward,cost\nA,9\nB,9\n",
    "names twice": b"person,cost,person,cost\nmallory,1,p1,2\n",
    "no names": LINE * 3,
    "semicolons": PLAIN.replace(b",", b";"),
    "tabs": PLAIN.replace(b",", b"\t"),
    "quoted": b'"person","ward","cost"\n"mallory","A","1.5"\n',
    "quotes of others": b"'person','cost'\n'mallory','1'\n",
    "texts for numbers": HEADER + b"mallory,Z,00,soon,never,yesterday\n",
    "huge numbers": HEADER + b"mallory,A,00,1e400,9999999-01-01,0000-00-00\n" + b"mallory,A,0,-" + b"9" * 400 + b",,\n",
    "long value": HEADER + b"mallory,A," + b"x" * 3_000_000 + b",1,,\n",
    "bad rows": HEADER + b'mallory\nmallory,"A\nmallory,A,"\n\x00,\x00\n,,,,,,,,,\n"',
    "NUL": HEADER.replace(b"ward", b"wa\0rd") + LINE,
    "only a header": HEADER,
    "nothing": b"",
    "garbage": bytes(range(256)) * 40,
    "Parquet": b"PAR1" + bytes(100) + b"PAR1",
    "two readings": HEADER + b'mallory,"A\n' + LINE + b'mallory,B",00,1,,\n',
}
PARQUET: Mapping[str, str] = {
    **FILES,
    "texts": "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (" + OWN + ")",
    "bytes": f"SELECT * REPLACE (encode(person) AS person, encode(ward) AS ward, encode(zip) AS zip) FROM ({OWN})",
    "decimals": f"SELECT * REPLACE (1.5::DECIMAL(38, 10) AS cost, 7::DECIMAL(10, 2) AS zip) FROM ({OWN})",
    "endless": f"SELECT * REPLACE ('inf'::DOUBLE AS cost, '-infinity'::TIMESTAMP AS seen) FROM ({OWN})",
    "time of day": f"SELECT * REPLACE (TIME '10:30:00' AS seen) FROM ({OWN})",
    "many rows": f"SELECT o.* FROM ({OWN}) AS o, range(100)",
}
DUCKDB: Mapping[str, str] = {
    "plain": "SELECT person, ward, zip, cost, seen, NULL::DATE AS day FROM (" + OWN + ")",
    "texts": "SELECT 'mallory' AS person, 'A' AS ward, '00' AS zip, 'x' AS cost, 'soon' AS seen, 'never' AS day",
    "floats": "SELECT 'mallory', 'A', '00', 1e300::DOUBLE, TIMESTAMP '2026-01-01 10:30:00', DATE '2026-01-02'",
    "times with zones": "SELECT 'mallory', 'A', '00', 1, TIMESTAMPTZ '2026-01-01 00:00:00+05', DATE '2026-01-02'",
    "times for days": "SELECT 'mallory', 'A', '00', 1, DATE '2026-01-01', TIMESTAMP '2026-01-02 12:00:00'",
    "many rows": "SELECT 'mallory', 'B', '00', 9, TIMESTAMP '2026-01-01', DATE '2026-01-02' FROM range(100)",
}
REFUSED = {"two readings"}


def write_bank(path: Path, own: str, place: str) -> None:
    """One table of everybody's rows and the person's: DuckDB finds types that hold both, for all of them."""
    named = "person, ward, zip, cost, seen, day"
    halves = [f"SELECT * FROM ({MANY})", *([f"SELECT * FROM ({own}) AS t({named})"] if own else [])]
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as bank:
        bank.execute(f"CREATE TABLE visits AS {' UNION ALL '.join(halves if place == '3' else halves[::-1])}")
        bank.execute("CREATE VIEW turned AS SELECT day, cost, seen, zip, ward, person FROM visits")


class World:
    """Everybody else's rows, an open curator, and refreshes."""

    def __init__(self, folder: Path, curator: discreet.Curator) -> None:
        self.folder = folder
        self.curator = curator

    def seen(self) -> tuple[list[list[tuple[float, ...]]], list[Row]]:
        """What queries count, column by column, and what the copy holds of others."""
        counted = []
        for query, most in zip(QUERIES, FARTHEST, strict=True):
            rows = self.curator.query(query, epsilon=COST, fresh=True).rows
            counted.append(list(zip(*rows, strict=True))[-len(most) :])
        others = f"SELECT * FROM visits WHERE {name(UNIT)} SIMILAR TO 'p[0-9]' ORDER BY ALL"
        with reading(private_copy(read(self.folder / "world.toml"), self.version)) as copy:
            return counted, copy.execute(others).fetchall()

    def refresh(self) -> bool:
        """Whether the owner was not refused."""
        try:
            self.version = refresh(read(self.folder / "world.toml"), "another file")
        except SourceError:
            return False
        return True

    def compare(self, cases: Mapping[str, object], write: Callable[[object], Path]) -> set[str]:
        """With each of these files and without; which were refused."""
        refused = set()
        assert self.refresh()
        counted, rows = self.seen()
        before = counted
        assert (sum(counted[0][0]), counted[1], len(rows)) == (21, [(7,), (21,)], 21)
        for case, own in cases.items():
            added = write(own)
            if not self.refresh():
                refused.add(case)
            beside, same = self.seen()
            assert same == rows, case
            assert case not in refused or beside == before, case
            before = beside
            for columns, others, farthest in zip(counted, beside, FARTHEST, strict=True):
                for one, other, most in zip(columns, others, farthest, strict=True):
                    assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= most, case
            added.unlink(missing_ok=True)
        return refused


@contextmanager
def opened(folder: Path, source: str, more: str = "") -> Iterator[World]:
    secret_of(folder)
    policy = POLICY.format(source=source, more=more).replace("epsilon = 9", "epsilon = 1000000000")
    (folder / "world.toml").write_text(policy, encoding="utf-8")
    with discreet.open(folder / "world.toml") as curator:
        yield World(folder, curator)


def in_turn(cases: Mapping[str, object], every: int) -> list[tuple[str, dict[str, object]]]:
    """All cases first and all cases last; or, of every so many, one first and another last."""
    return [
        (place, {case: own for nth, (case, own) in enumerate(cases.items()) if (nth - turn * every // 2) % every == 0})
        for turn, place in enumerate("13")
    ]


SLOW = pytest.mark.slow
EVERY = [8, pytest.param(1, marks=SLOW)]
TABLES = ("visits", "turned")
"""Rows as they are, and with their columns in another order."""


@pytest.mark.parametrize("every", EVERY)
def test_neighbouring_csv_files(tmp_path: Path, every: int) -> None:
    csv(tmp_path / "rows-2.csv", MANY)
    refused = set()
    with opened(tmp_path, "rows-*.csv") as world:
        for place, cases in in_turn(CSV, every):
            path = tmp_path / f"rows-{place}.csv"

            def write(own: object, path: Path = path) -> Path:
                assert isinstance(own, bytes)
                path.write_bytes(own)
                return path

            refused |= world.compare(cases, write)
    assert refused == REFUSED


@pytest.mark.parametrize("every", EVERY)
def test_neighbouring_parquet_files(tmp_path: Path, every: int) -> None:
    parquet(tmp_path / "rows-2.parquet", MANY)
    with opened(tmp_path, "rows-*.parquet") as world:
        for place, cases in in_turn(PARQUET, every):
            path = tmp_path / f"rows-{place}.parquet"

            def write(own: object, path: Path = path) -> Path:
                parquet(path, str(own))
                return path

            assert world.compare(cases, write) == set()


@pytest.mark.parametrize(("table", "every"), [("visits", 2), *(pytest.param(t, 1, marks=SLOW) for t in TABLES)])
def test_neighbouring_duckdb_files(tmp_path: Path, table: str, every: int) -> None:
    bank = tmp_path / "bank.duckdb"
    write_bank(bank, "", "1")
    with opened(tmp_path, "bank.duckdb", f'table = "{table}"') as world:
        for place, cases in in_turn(DUCKDB, every):

            def write(own: object, place: str = place) -> Path:
                write_bank(bank, str(own), place)
                return tmp_path / "none"

            write_bank(bank, "", place)
            assert world.compare(cases, write) == set()
