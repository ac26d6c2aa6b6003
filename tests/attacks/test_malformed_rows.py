"""One person's row is no CSV: too short, too long, with an open quote, of other bytes, of three megabytes. Either every
question fails, which tells that the person is there, or other people's rows go with it. Neither may happen."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from discreet.engines.problems import SourceError
from discreet.engines.records import BLOCK, MAX_RECORD, AmbiguousError, Cleaner, Counts
from discreet.engines.text import reading_records
from tests.attacks.worlds import HEAD, Row, held, secret_of
from tests.plain import plain

POLICY = (
    HEAD
    + """
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 3
{more}
[tables.visits.columns]
ward = {{ type = "text" }}
cost = {{ min = 0, max = 10 }}
"""
)
OTHERS = [b"bob,A,1", b'"carl","B, or C",2', b'dora,"say ""A""",3', "émile,Ä,4".encode(), b"fay,,5"]
BAD = {
    "short": b"mallory,A",
    "long": b"mallory,A,1,2",
    "very long": b"mallory," + b"," * 1000,
    "open quote": b'mallory,"A,1',
    "open quote at the end": b'mallory,A,"',
    "only a quote": b'"',
    "stray quote": b'mallory,A"B,1',
    "text behind a quote": b'mallory,"A"B,1',
    "spaces before a quote": b'mallory, "A",1',
    "no UTF-8": b"mallory,\xff\xfe,1",
    "half a letter": b"mallory,A,1\xc3",
    "NUL": b"mallory,\x00A,1",
    "old line break": b"mallory,A\rB,1",
    "a large cell": b"mallory," + b"x" * (3 * 2**20) + b",1",
    "a large quoted cell": b'mallory,"' + b"x" * (3 * 2**20) + b'",1',
    "another line end": b"mallory,A,1\r",
    "a quoted line break": b'mallory,"A\nB",1',
    "a quoted old line break": b'mallory,"A\rB",1',
    "a mark": b"\xef\xbb\xbfmallory,A,1",
    "a comment": b"#mallory",
    "nothing": b"",
    "many breaks": b"\r\n\n\r\n",
}


def world(folder: Path, own: bytes, place: int, more: str = "") -> list[Row]:
    secret_of(folder)
    lines = [*OTHERS[:place], own, *OTHERS[place:]] if own else OTHERS
    (folder / "visits.csv").write_bytes(b"\n".join([b"person,ward,cost", *lines]) + b"\n")
    rows = held(folder, POLICY.format(more=more), "visits", but="mallory")
    return [row for row in rows if "mallory" not in str(row[0])]


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_takes_nobody_elses_along(name: str) -> None:
    for multiline in (None, True, False):
        for place in (0, 2, len(OTHERS)):
            lines = [*OTHERS[:place], BAD[name], *OTHERS[place:]]
            clean, _, counts = cleaned(b"\n".join(lines) + b"\n", multiline)
            assert [line for line in clean.split(b"\n")[:-1] if b"mallory" not in line] == OTHERS
            assert counts.read >= len(OTHERS)


def test_all_of_them_together_change_nothing_for_others(tmp_path: Path) -> None:
    alone = world(tmp_path / "alone", b"", 0)
    assert len(alone) == len(OTHERS)
    bad = b"\n".join(row for row in BAD.values() if row != b'"')
    assert world(tmp_path / "among", bad, 2) == alone
    assert world(tmp_path / "lines", bad, 2, "multiline = false") == alone


TWO_WORLDS = [b'mallory,"A\nbob,A,1\nmallory,B",1\n', b'm,"A\nbob,A,1\n",1\n', b'"\nbob,A,1\n\ncarl,B,2\n",A,1\n']


@pytest.mark.parametrize("text", TWO_WORLDS)
def test_where_rows_of_others_may_be_inside_of_a_value_the_owner_decides(tmp_path: Path, text: bytes) -> None:
    secret_of(tmp_path)
    (tmp_path / "visits.csv").write_bytes(b"person,ward,cost\n" + text)
    with pytest.raises(SourceError, match="are one record if") as told:
        held(tmp_path, POLICY.format(more=""), "visits", but="mallory")
    assert "multiline" in told.value.fix
    lines = held(tmp_path, POLICY.format(more="multiline = false"), "visits", but="mallory")
    assert "bob" in {row[0] for row in lines}
    whole = held(tmp_path, POLICY.format(more="multiline = true"), "visits", but="mallory")
    assert "bob" not in {row[0] for row in whole}


def cleaned(text: bytes, multiline: bool | None, fields: int = 3) -> tuple[bytes, bytes, Counts]:
    lines, longer = io.BytesIO(), io.BytesIO()
    counts = Cleaner(io.BytesIO(text), lines, longer, b",", fields, multiline).run()
    return lines.getvalue(), longer.getvalue(), counts


def test_each_line_is_judged_by_itself() -> None:
    """The theorem of multiline = false, over all sorts of lines in all sorts of company."""
    dice = Random(7)
    alphabet = [b'"', b",", b"a", b"\r", b"\xff", b"\x00", b"\xc3\xa9", b"x,y,z"]
    lines = [b"".join(dice.choices(alphabet, k=dice.randint(0, 7))) for _ in range(3000)]
    alone = {line: cleaned(line + b"\n", False)[:2] for line in lines}
    together, longer, counts = cleaned(b"".join(line + b"\n" for line in lines), False)
    assert not longer
    assert together == b"".join(alone[line][0] for line in lines)
    assert counts.read == together.count(b"\n") > 100
    assert counts.dropped > 1000


def test_records_of_writers_that_quote_are_read_as_they_were_written(tmp_path: Path) -> None:
    """The theorem of multiline = true; what is kept is what DuckDB and Python read."""
    dice = Random(8)
    alphabet = ['"', ",", "a", "\r", "\n", "\r\n", "é", " ", "#", "\u2028", "'", "\\"]
    values = [["".join(dice.choices(alphabet, k=dice.randint(0, 6))) for _ in range(3)] for _ in range(2000)]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(values)
    lines, longer, counts = cleaned(text.getvalue().encode(), True)
    assert counts.dropped == 0
    assert counts.read == len(values)
    assert counts.longer > 100
    found: list[list[str]] = []
    for name, clean in (("lines", lines), ("longer", longer)):
        (tmp_path / name).write_bytes(clean)
        reading = reading_records([str(tmp_path / name)], 3, ",", longer=name == "longer", called="file")
        with plain() as connection:
            found += [[value or "" for value in row[:3]] for row in connection.execute(f"FROM {reading}").fetchall()]
    assert sorted(found) == sorted(values)


def test_whatever_is_kept_the_engine_reads(tmp_path: Path) -> None:
    """As many rows as were counted, for any bytes, in every mode."""
    dice = Random(9)
    alphabet = [b'"', b'""', b",", b"a", b"\r", b"\n", b"\xff", b"\x00", b"\xc3\xa9", b'"a",b,c\n', b"x,y,z\n"]
    wanted: Counter[str] = Counter()
    files: dict[bool, list[str]] = {False: [], True: []}
    for number in range(150):
        text = b"".join(dice.choices(alphabet, k=60))
        for mode in (True, False, None):
            try:
                *clean, counts = cleaned(text, mode)
            except AmbiguousError:
                assert mode is None
                continue
            wanted[f"{number}{mode}"] = counts.read
            for longer, kept in zip((False, True), clean, strict=True):
                path = tmp_path / f"{number}{mode}.{longer}"
                path.write_bytes(kept)
                files[longer].append(str(path))
    found: Counter[str] = Counter()
    with plain() as connection:
        for longer, paths in files.items():
            reading = reading_records(paths, 3, ",", longer=longer, called="file")
            for file, count in connection.execute(f"SELECT file, count(*) FROM {reading} GROUP BY file").fetchall():
                found[Path(file).stem] += count
    assert found == +wanted


@pytest.mark.parametrize(
    "own", [b'm,"A,1', b'm,"' + b"x" * MAX_RECORD + b"\n" + b"y" * 10 + b'",1', b"m," + b"y" * MAX_RECORD]
)
def test_blocks_are_not_seen(own: bytes) -> None:
    """A bad record at the edge of a block, and one over many blocks."""
    others = b"bob,A,1\n" * 1000
    for before in (0, BLOCK // 8 - 1000, BLOCK // 8 - 1001):
        text = b"bob,A,1\n" * before + own + b"\n" + others
        lines, longer, counts = cleaned(text, None)
        assert (len(lines) // 8, longer, counts.read) == (before + 1000, b"", before + 1000)


def test_many_open_quotes_are_left_out_one_by_one() -> None:
    text = b'm,"A,1\n' + b"bob,A,1\n" * 100
    assert cleaned(text * 300, None)[2] == Counts(30_000, 300, 0)
    assert cleaned(b'm,"""",""x\n' * 1000, None)[2] == Counts(0, 1000, 0)
