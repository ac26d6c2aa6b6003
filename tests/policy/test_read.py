"""What policies mean."""

from __future__ import annotations

import os
import pickle
import tomllib
from dataclasses import FrozenInstanceError, replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.policy import Budget, Column, Format, Hop, Kind, Owner, Policy, PolicyError, Source, Table, read
from tests.policy.examples import BANK, HOSPITAL, policy_of, toml


def columns(*entries: Column) -> dict[str, Column]:
    return {entry.name: entry for entry in entries}


def test_the_example_of_the_design(tmp_path: Path) -> None:
    file = tmp_path / "hospital.toml"
    file.write_text(HOSPITAL, encoding="utf-8")
    patients = Table(
        name="patients",
        source=Source(Format.PARQUET, "patients.parquet"),
        columns=columns(
            Column("age", Kind.NUMBER, bounds=(Fraction(0), Fraction(110))),
            Column("sex", Kind.TEXT, values=("F", "M")),
            Column("ward", Kind.TEXT, values=("A", "B", "C", "ICU")),
            Column("zip", Kind.TEXT),
        ),
        owner=Owner("patient_id"),
    )
    visits = Table(
        name="visits",
        source=Source(Format.PARQUET, "visits.parquet"),
        columns=columns(
            Column("day", Kind.DATE, bounds=(date(2024, 1, 1), date(2026, 12, 31))),
            Column("cost", Kind.NUMBER, bounds=(Fraction(0), Fraction(5000)), step=Fraction(1, 100)),
        ),
        owner=Owner("patient_id"),
        max_rows=20,
        max_groups=5,
        max_rows_per_group=20,
    )
    wards = Table(name="wards", source=Source(Format.CSV, "wards.csv"), columns={}, owner=None)
    assert read(file) == Policy(
        name="hospital",
        path=file,
        state=tmp_path / "hospital.discreet",
        budget=Budget(Fraction(3), Fraction(1, 10**6)),
        unit="patient",
        tables={"patients": patients, "visits": visits, "wards": wards},
        analysts={"epidemiology": Fraction(1)},
    )


def test_every_key() -> None:
    bank = policy_of(BANK)
    assert bank.state == Path("/srv/data/../state/bank")
    assert bank.max_cost == Fraction(1, 4)
    assert bank.analysts == {"fraud": Fraction(2), "Zoë M.": Fraction(1, 2)}
    assert bank.tables["accounts"] == Table(
        name="accounts",
        source=Source(Format.DUCKDB, "bank.duckdb", "main.accounts"),
        columns=columns(
            Column("branch", Kind.INTEGER, values=(1, 2, 30)),
            Column("opened", Kind.DATE, values=(date(2024, 1, 1), date(2025, 1, 1)), nullable=True),
            Column("vip", Kind.BOOLEAN, values=(True, False)),
        ),
        owner=Owner("customer_id"),
        max_rows=4,
        max_groups=3,
        max_rows_per_group=2,
    )
    assert bank.tables["orders"] == Table(
        name="orders",
        source=Source(Format.CSV, "orders/2024-*.csv.gz"),
        columns=columns(
            Column("amount", Kind.NUMBER, bounds=(Fraction(-2001, 2), Fraction(10**6)), step=Fraction(1, 4)),
            Column("pieces", Kind.INTEGER, bounds=(Fraction(1), Fraction(99)), step=Fraction(1)),
            Column("paid at", Kind.TIMESTAMP, bounds=(datetime(2024, 1, 1), datetime(2025, 1, 1, 0, 0, 0, 500000))),
            Column("gift", Kind.BOOLEAN, nullable=True),
        ),
        owner=Owner("customer_id", (Hop("account_id", "accounts", "account_id"),)),
        max_rows=50,
        max_groups=50,
        max_rows_per_group=50,
    )
    items = bank.tables["items"]
    assert items.owner == Owner(
        "customer_id", (Hop("order_no", "orders", "id"), Hop("account_id", "accounts", "account_id"))
    )
    assert items.source == Source(Format.PARQUET, "items.data")
    assert items.columns == columns(
        Column("colour", Kind.TEXT, values=("", "rosé", "blau")), Column("weight", Kind.NUMBER, step=Fraction(1, 2))
    )
    assert bank.tables["logins"].owner == Owner(None)
    assert bank.tables["logins"].source == Source(Format.DUCKDB, "bank.db", "logins")
    assert set(bank.private_tables) == {"accounts", "orders", "items", "logins"}
    assert bank.tables["branches"].is_public
    assert bank.folder == Path("/srv/data")


def test_the_path_over_several_tables_of_the_design() -> None:
    text = BANK.replace("orders(id).", "orders.").replace("order_no", "order_id")
    owner = policy_of(text).tables["items"].owner
    assert owner == Owner(
        "customer_id", (Hop("order_id", "orders", "order_id"), Hop("account_id", "accounts", "account_id"))
    )


def test_defaults(tmp_path: Path) -> None:
    file = tmp_path / "small.policy.toml"
    file.write_text(
        """
        budget.epsilon = 1
        unit.name = "person"
        tables.people = { source = "people.csv", unit = "id" }
        """
    )
    policy = read(str(file))
    people = policy.tables["people"]
    assert policy.name == "small.policy"
    assert policy.state == tmp_path / "small.policy.discreet"
    assert policy.budget.delta is None
    assert policy.max_cost is None
    assert policy.unit_rows == 10_000
    assert policy.analysts == {}
    assert (people.max_rows, people.max_groups, people.max_rows_per_group) == (1, 1, 1)
    assert people.columns == {}


@pytest.mark.parametrize(
    ("stated", "read_of_it", "found"),
    [("", 20, 10_000), ("", 50_000, 50_000), ("unit.max_rows = 500", 20, 500), ("unit.max_rows = 90000", 20, 90_000)],
)
def test_rows_that_a_unit_may_make(stated: str, read_of_it: int, found: int) -> None:
    table = f'tables.t = {{ source = "t.csv", unit = "id", max_rows = {read_of_it} }}'
    assert policy_of("\n".join(["budget.epsilon = 1", 'unit.name = "a"', stated, table])).unit_rows == found


def test_the_policy_keeps_its_place_when_the_working_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hospital.toml").write_text(HOSPITAL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    policy = read("hospital.toml")
    assert policy.path == tmp_path / "hospital.toml"
    assert policy.state == tmp_path / "hospital.discreet"


def test_a_linked_policy_has_its_sources_beside_the_link(tmp_path: Path) -> None:
    (tmp_path / "kept.toml").write_text(HOSPITAL, encoding="utf-8")
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "hospital.toml"
    link.symlink_to(tmp_path / "kept.toml")
    assert read(link).folder == tmp_path / "folder"


def test_an_absolute_state_stays() -> None:
    assert policy_of('state = "/var/lib/x"\n' + HOSPITAL).state == Path("/var/lib/x")


def test_a_byte_order_mark_is_no_problem() -> None:
    assert policy_of("\ufeff" + HOSPITAL) == policy_of(HOSPITAL)


def test_line_endings_of_windows_are_no_problem() -> None:
    assert policy_of(HOSPITAL.replace("\n", "\r\n")) == policy_of(HOSPITAL)


@pytest.mark.parametrize(
    ("written", "source"),
    [
        ('source = "a.csv"', Source(Format.CSV, "a.csv")),
        ('source = "a.tsv"', Source(Format.CSV, "a.tsv")),
        ('source = "a.CSV.gz"', Source(Format.CSV, "a.CSV.gz")),
        ('source = "/x/y/a?.parquet"', Source(Format.PARQUET, "/x/y/a?.parquet")),
        ('source = "**/[ab].pq"', Source(Format.PARQUET, "**/[ab].pq")),
        ('source = "a.duckdb", table = "t"', Source(Format.DUCKDB, "a.duckdb", "t")),
        ('source = "a.db#s.t"', Source(Format.DUCKDB, "a.db", "s.t")),
        ('source = "a#b.db#s.t"', Source(Format.DUCKDB, "a#b.db", "s.t")),
        ('source = "a#b.duckdb", table = "t"', Source(Format.DUCKDB, "a#b.duckdb", "t")),
        ('source = "a#1.csv"', Source(Format.CSV, "a#1.csv")),
        ('source = "a.dat", format = "csv"', Source(Format.CSV, "a.dat")),
        ('source = "a.csv", format = "parquet"', Source(Format.PARQUET, "a.csv")),
        ('source = "a.bin#t", format = "duckdb"', Source(Format.DUCKDB, "a.bin", "t")),
        ('source = "a#1", format = "duckdb", table = "t"', Source(Format.DUCKDB, "a#1", "t")),
        ('source = "a#1", format = "csv"', Source(Format.CSV, "a#1")),
    ],
)
def test_sources(written: str, source: Source) -> None:
    text = f'budget.epsilon = 1\nunit.name = "person"\ntables.t = {{ {written}, unit = "id" }}'
    assert policy_of(text).tables["t"].source == source


@pytest.mark.parametrize(
    ("written", "column"),
    [
        ("{ values = [1, 2] }", Column("c", Kind.INTEGER, values=(1, 2))),
        ('{ values = ["x"] }', Column("c", Kind.TEXT, values=("x",))),
        ("{ values = [true] }", Column("c", Kind.BOOLEAN, values=(True,))),
        ("{ values = [2024-02-29] }", Column("c", Kind.DATE, values=(date(2024, 2, 29),))),
        ("{ min = 2024-01-01, max = 2024-01-02 }", Column("c", Kind.DATE, (date(2024, 1, 1), date(2024, 1, 2)))),
        ("{ min = -0.1, max = 1 }", Column("c", Kind.NUMBER, (Fraction(-1, 10), Fraction(1)))),
        ("{ min = 0, max = 1, step = 0.1 }", Column("c", Kind.NUMBER, (Fraction(0), Fraction(1)), Fraction(1, 10))),
        ('{ type = "integer", min = 0.0, max = 1e3 }', Column("c", Kind.INTEGER, (Fraction(0), Fraction(1000)))),
        ('{ type = "number" }', Column("c", Kind.NUMBER)),
        ('{ type = "float" }', Column("c", Kind.NUMBER)),
        ('{ type = "decimal" }', Column("c", Kind.NUMBER)),
        ('{ type = "date" }', Column("c", Kind.DATE)),
        ('{ type = "timestamp" }', Column("c", Kind.TIMESTAMP)),
        ('{ type = "integer", step = 5 }', Column("c", Kind.INTEGER, step=Fraction(5))),
        ('{ type = "text", nullable = true }', Column("c", Kind.TEXT, nullable=True)),
        ('{ type = "text", unique = true }', Column("c", Kind.TEXT, unique=True)),
    ],
)
def test_columns(written: str, column: Column) -> None:
    text = f'budget.epsilon = 1\nunit.name = "x"\ntables.t = {{ source = "a.csv", unit = "id", columns.c = {written} }}'
    assert policy_of(text).tables["t"].columns == {"c": column}


def test_keys_are_columns_with_values_booleans_and_texts() -> None:
    tables = policy_of(BANK).tables
    assert {name for table in tables.values() for name, column in table.columns.items() if column.is_key} == {
        "branch",
        "opened",
        "vip",
        "gift",
        "colour",
    }


def test_ten_thousand_values_are_accepted() -> None:
    text = HOSPITAL.replace('["F", "M"]', str(list(range(10_000))))
    assert len(policy_of(text).tables["patients"].columns["sex"].values or ()) == 10_000


def test_the_extremes_are_accepted() -> None:
    name = "n" * 200
    policy = policy_of(
        f"""
        budget = {{ epsilon = 1e9, delta = 0.999 }}
        unit.name = "x"
        analysts.{name}.epsilon = 1e-9
        analysts.b.epsilon = 1e9
        [tables.{name}]
        source = "a.csv"
        unit = "{name}"
        max_rows = 1_000_000_000
        max_groups = 1
        columns.{name} = {{ type = "integer", min = -9223372036854775808, max = 9223372036854775807, step = 3 }}
        columns.wide = {{ min = -1e100, max = 1e100 }}
        columns.fine = {{ min = 0, max = 1, step = 1e-18 }}
        columns.old = {{ min = 0001-01-01, max = 9999-12-31 }}
        """
    )
    assert policy.tables[name].max_rows == 10**9
    assert policy.tables[name].columns[name].bounds == (Fraction(-(2**63)), Fraction(2**63 - 1))


def test_shares_may_exceed_the_budget_together() -> None:
    assert policy_of(HOSPITAL + "[analysts.a]\nepsilon = 3\n[analysts.b]\nepsilon = 3\n").analysts["b"] == 3


def test_values_are_frozen() -> None:
    policy = policy_of(HOSPITAL)
    with pytest.raises(FrozenInstanceError):
        policy.unit = "nobody"  # type: ignore[misc]
    assert replace(policy, unit="person").unit == "person"


def test_policies_survive_pickling() -> None:
    assert pickle.loads(pickle.dumps(policy_of(BANK))) == policy_of(BANK)


def test_the_writer_of_the_tests_writes_what_was_read() -> None:
    for text in (HOSPITAL, BANK):
        assert tomllib.loads(toml(tomllib.loads(text))) == tomllib.loads(text)


class TestFilesThatCannotBeRead:
    def told(self, path: Path) -> str:
        with pytest.raises(PolicyError) as caught:
            read(path)
        assert len(caught.value.problems) == 1
        return str(caught.value)

    def test_missing(self, tmp_path: Path) -> None:
        told = self.told(tmp_path / "hospital.toml")
        assert told.startswith("hospital.toml: cannot be read: No such file or directory; name a policy file")
        assert str(tmp_path) in told

    def test_folder(self, tmp_path: Path) -> None:
        assert self.told(tmp_path) == f"{tmp_path.name}: cannot be read: it is a folder; name a policy file"

    def test_root(self) -> None:
        assert self.told(Path("/")) == "/: cannot be read: it is a folder; name a policy file"

    def test_beneath_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert "cannot be read: Not a directory" in self.told(tmp_path / "file" / "hospital.toml")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes")
    def test_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert "it is not a regular file" in self.told(tmp_path / "pipe")

    def test_unreadable(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Simulated: the owner of the machine reads everything."""

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        (tmp_path / "hospital.toml").touch()
        monkeypatch.setattr(Path, "open", refuse)
        assert "hospital.toml: cannot be read: Permission denied" in self.told(tmp_path / "hospital.toml")

    def test_a_name_with_nul(self) -> None:
        assert self.told(Path("a\0b")) == "'a\\x00b': cannot be read: no file name has a NUL; name a policy file"

    def test_a_name_that_is_too_long(self) -> None:
        assert "cannot be read: File name too long" in self.told(Path("a" * 5000))

    def test_a_name_with_a_line_break(self) -> None:
        assert self.told(Path("a\nb.toml")).startswith("'a\\nb.toml': cannot be read")

    def test_just_not_too_large(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "x.toml").write_text(HOSPITAL, encoding="utf-8")
        monkeypatch.setattr("discreet.policy.document.MOST_BYTES", len(HOSPITAL.encode()))
        assert read(tmp_path / "x.toml").unit == "patient"

    def test_too_large(self, tmp_path: Path) -> None:
        with (tmp_path / "large.toml").open("wb") as file:
            file.truncate(10**7 + 1)
        assert self.told(tmp_path / "large.toml") == "large.toml: is larger than 10000000 bytes; name a policy file"

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (b"a = 1\nb = \xff", "line 2, column 5: is not UTF-8; save the file in the encoding UTF-8"),
            ("é = '".encode() + b"\xc3", "line 1, column 6: is not UTF-8; save the file in the encoding UTF-8"),
            (HOSPITAL.encode("utf-16"), "line 1, column 1: is not UTF-8; save the file in the encoding UTF-8"),
            (b"a = " + b"[" * 10**5, "is nested too deeply to be a policy; remove the brackets that are too many"),
            (b"a = " + b"{a=" * 10**4, "is nested too deeply to be a policy; remove the brackets that are too many"),
            (b"a = " + b"9" * 5000, "holds a number of too many digits; write ordinary numbers"),
        ],
        ids=lambda case: case[:20],
    )
    def test_no_toml(self, tmp_path: Path, content: bytes, problem: str) -> None:
        (tmp_path / "x.toml").write_bytes(content)
        assert self.told(tmp_path / "x.toml") == f"x.toml: {problem}"

    @pytest.mark.parametrize(
        ("content", "place"),
        [
            (b"a = 1\nb = ]", "line 2, column 5"),
            (b"a = 1\na = 2\nc = 3", "line 2, column"),
            (b'a = "\0"', "line 1, column 6"),
            (b"[a]\nb", "line 2, the end of the file"),
        ],
    )
    def test_the_place_of_what_is_no_toml(self, tmp_path: Path, content: bytes, place: str) -> None:
        """What is wrong there is said in the words of Python's parser, which change."""
        (tmp_path / "x.toml").write_bytes(content)
        told = self.told(tmp_path / "x.toml")
        assert told.startswith(f"x.toml: {place}")
        assert ": is not TOML: " in told

    def test_an_error_of_the_parser_without_a_place(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        def refuse(_: str) -> None:
            raise tomllib.TOMLDecodeError("Bad")

        (tmp_path / "x.toml").touch()
        monkeypatch.setattr(tomllib, "loads", refuse)
        assert self.told(tmp_path / "x.toml") == "x.toml: is not TOML: Bad; see https://toml.io"
