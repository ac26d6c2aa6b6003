"""CSV as it is written elsewhere: other signs between fields, commas before fractions, other ends of lines."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import discreet
from discreet.engines.header import header, separated
from discreet.engines.problems import SourceError
from discreet.engines.text import with_point
from discreet.policy import PolicyError, parse, read
from discreet.policy.fingerprint import fingerprint

POLICY = """
name = "shop"
[budget]
epsilon = 1e6
[unit]
name = "customer"
[tables.sales]
source = "sales.csv"
unit = "Kunde"
{keys}
[tables.sales.columns]
"Umsatz (€)" = {{ min = 0, max = 3000, step = 0.01 }}
Menge = {{ type = "integer", min = 0, max = 2000 }}
Ort = {{ type = "text" }}
"""
LINES = ("Kunde;Umsatz (€);Menge;Ort", "1;1.234,50;1.000;Köln", '2;765,5;7;"Bad;Ort"', "3;12;3;Ulm", "4;1.5;2.50;Ulm")


def shop(folder: Path, keys: str, content: bytes) -> Path:
    (folder / "sales.csv").write_bytes(content)
    (folder / "shop.toml").write_text(POLICY.format(keys=keys), encoding="utf-8")
    return folder / "shop.toml"


def number(policy: Path, expression: str) -> float:
    """Within 1 of what is exact: noise of scale 3000 / 200,000 is beyond that once in e^66 times."""
    with discreet.open(policy) as curator:
        return float(curator.query(f"SELECT {expression} AS n FROM sales", epsilon=200_000).rows[0][0])


@pytest.mark.parametrize(("separator", "end"), [(";", "\n"), ("|", "\r\n"), ("\t", "\n")])
def test_fields_numbers_and_line_ends_are_read_as_the_policy_says(tmp_path: Path, separator: str, end: str) -> None:
    content = (end.join(LINES) + end).replace(";", separator).encode()
    written = separator.replace("\t", "\\t")
    policy = shop(tmp_path, f'separator = "{written}"\ndecimal = ","', content)
    # of the fourth, nobody can tell what was meant: it is NULL, and so clamps to nothing
    assert number(policy, 'SUM("Umsatz (€)")') == pytest.approx(1234.5 + 765.5 + 12, abs=1)
    assert number(policy, "SUM(Menge)") == pytest.approx(1000 + 7 + 3, abs=1)
    assert number(policy, "COUNT(*)") == pytest.approx(4, abs=1)


def test_check_counts_what_is_no_number(tmp_path: Path) -> None:
    from discreet.owner.check import checked

    policy = shop(tmp_path, 'separator = ";"\ndecimal = ","', "\n".join(LINES).encode())
    told = [finding for finding in checked(read(policy)).findings if "Umsatz" in finding.where]
    assert any("1" in finding.message and finding.severity != "note" for finding in told)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_values_with_line_breaks_are_read_whatever_ends_the_lines(tmp_path: Path, end: bytes) -> None:
    rows = [b"Kunde,Menge,Ort", b'1,5,"two\nlines"', b'2,6,"also\r\ntwo, lines"', b"3,7,one"]
    policy = shop(tmp_path, "multiline = true", end.join(rows) + end)
    policy.write_text(
        policy.read_text("utf-8").replace('"Umsatz (€)" = { min = 0, max = 3000, step = 0.01 }', ""), "utf-8"
    )
    assert number(policy, "SUM(Menge)") == pytest.approx(18, abs=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1.234,5", "1234.5"), ("-7,25", "-7.25"), (" 12 ", "12"), ("1.234.567", "1234567"), ("0,5", "0.5")],
)
def test_a_comma_before_fractions(text: str, expected: str) -> None:
    assert _pointed(text).strip() == expected


@pytest.mark.parametrize("text", ["1.5", "1,234.5", "1.23,4", "", "x", "1,2,3", "'; DROP TABLE x; --", "∞", "NaN", "١"])
def test_what_is_no_such_number_is_none(text: str) -> None:
    with duckdb.connect() as connection:
        cast = connection.execute(f"SELECT TRY_CAST({with_point('t')} AS DOUBLE) FROM (SELECT ? AS t)", [text])
        assert cast.fetchall() == [(None,)]


def _pointed(text: str) -> str:
    with duckdb.connect() as connection:
        row = connection.execute(f"SELECT {with_point('t')} FROM (SELECT ? AS t)", [text]).fetchone()
    assert row is not None
    return str(row[0])


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('separator = "::"', "tables.sales.separator: must be a comma, a semicolon, a tab or a bar"),
        ("separator = 7", "tables.sales.separator: must be a comma"),
        ("separator = []", "tables.sales.separator: must be a comma"),
        ('decimal = "x"', "tables.sales.decimal: must be a comma or a point"),
        ('decimal = ","', "tables.sales.decimal: is what stands between fields too"),
        ('format = "parquet"\nseparator = ";"', "only CSV has fields in lines, and this is parquet"),
    ],
)
def test_what_a_policy_says_wrong_about_writing_is_told(keys: str, told: str) -> None:
    with pytest.raises(PolicyError) as refused:
        parse(POLICY.format(keys=keys).encode(), Path("/srv/shop.toml"))
    assert told in str(refused.value)


def test_another_separator_is_another_reading() -> None:
    plain, other = (
        parse(POLICY.format(keys=keys).encode(), Path("/srv/shop.toml")) for keys in ("", 'separator = ";"')
    )
    assert fingerprint(plain) != fingerprint(other)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a,b,c", (",", ["a", "b", "c"])),
        ("a;b;c", (";", ["a", "b", "c"])),
        ('"a,b";c', (";", ["a,b", "c"])),
        ("a|b", ("|", ["a", "b"])),
        ("a\tb\tc", ("\t", ["a", "b", "c"])),
        ("alone", (",", ["alone"])),
        ("\ufeffÄ;ß", (";", ["Ä", "ß"])),
    ],
)
def test_the_header_shows_what_stands_between_fields(
    tmp_path: Path, line: str, expected: tuple[str, list[str]]
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"{line}\n1,2;3\n", encoding="utf-8")
    assert separated(str(path)) == expected
    assert header(str(path)) == expected[1]


def test_a_header_in_another_encoding_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("Größe;Ort\n".encode("latin-1"))
    with pytest.raises(SourceError, match="is not UTF-8"):
        header(str(path))
