"""Made-up rows: nothing private is read, the policy is obeyed, asking is free, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, Final

import duckdb
import pytest

import discreet
from discreet.accounting.labels import rho_of_label
from discreet.answers import Answer, Preview
from discreet.answers.call import Call
from discreet.curator.dummy import NOTE, Dummy, Stage
from discreet.curator.dummy import open as open_dummy
from discreet.curator.dummy.rows import MOST_ROWS, dummy_rows
from discreet.curator.prepared import PreparedQuery
from discreet.curator.query import Query
from discreet.engines.memory import Memory as MemoryEngine
from discreet.lab import hospital as lab
from discreet.ledger import LedgerError, Memory
from discreet.policy import Column, Kind, Policy, PolicyError, Table, parse, read
from tests.audit.worlds import WORLDS
from tests.budget import later
from tests.curator.worlds import POLICY, hospital, write_source
from tests.policy.examples import BANK, HOSPITAL
from tests.policy.mutations import structural
from tests.sql import tiny
from tests.threads import at_once

ROWS: Final = 400
COUNT: Final = "SELECT COUNT(*) AS n FROM patients"
HEAD: Final = 'budget.epsilon = 1\nunit.name = "person"\n'
ODD: Final = {
    "a unit that is a key": """
        [tables.people]
        source = "a.csv"
        unit = "id"
        [tables.visits]
        source = "b.csv"
        unit = "ID -> people.id"
        max_rows = 7
        columns.ward = { values = ["A", "B"], nullable = true }
    """,
    "two spellings of a key, one key that is a foreign key": """
        [tables.accounts]
        source = "a.csv"
        unit = "owner"
        max_rows = 3
        columns."No" = { type = "integer", min = 1000, max = 9999 }
        [tables.orders]
        source = "b.csv"
        unit = "id -> accounts(No).owner"
        [tables.items]
        source = "c.csv"
        unit = "Order -> orders(id).id -> accounts(No).owner"
        [tables.parts]
        source = "d.csv"
        unit = "Order -> orders(ID).ID -> accounts(No).owner"
        columns.weight = { type = "number" }
    """,
    "units that are few": """
        [tables.halves]
        source = "a.csv"
        unit = "half"
        max_rows = 1000000000
        columns.half = { type = "boolean" }
        columns.day = { type = "date" }
        columns.moment = { min = 2026-01-01T00:00:00, max = 2026-01-01T00:00:01 }
        [tables.others]
        source = "b.csv"
        unit = "half"
        columns.note = { type = "text", nullable = true }
    """,
    "a unit that one table declares": """
        [tables.a]
        source = "a.csv"
        unit = "id"
        columns.id = { type = "integer", min = 1000, max = 99999 }
        [tables.b]
        source = "b.csv"
        unit = "person"
        [tables.c]
        source = "c.csv"
        unit = "key -> b(key).person"
        columns.many = { type = "integer", values = [MANY], nullable = true }
    """.replace("MANY", ", ".join(map(str, range(300)))),
    "units of several types": """
        [tables.a]
        source = "a.csv"
        unit = "id"
        columns.id = { type = "integer", min = 0, max = 50 }
        [tables.b]
        source = "b.csv"
        unit = "a -> a(id).id"
        columns.a = { type = "number", min = 0, max = 1, step = 0.25 }
        [tables.c]
        source = "c.csv"
        unit = "day"
        columns.day = { type = "date" }
    """,
    "numbers beyond the ordinary": """
        [tables.t]
        source = "a.csv"
        unit = "row"
        columns.huge = { min = -1e100, max = 1e100 }
        columns.wide = { type = "integer", min = -9223372036854775808, max = 9223372036854775807 }
        columns.fine = { min = 1e15, max = 1.000001e15, step = 0.001 }
        columns.close = { min = 1, max = 1.0000000000000002 }
        columns.coarse = { type = "integer", min = 1, max = 99, step = 50 }
        columns.year = { min = 0001-01-01, max = 9999-12-31 }
        columns.moment = { min = 0001-01-01T00:00:00, max = 9999-12-31T23:59:59.999999 }
        columns."größe \\"😀\\" it's" = { type = "text" }
        [tables.keyed]
        source = "b.csv"
        unit = "n -> held(n).id"
        [tables.held]
        source = "c.csv"
        unit = "id"
        columns.n = { min = 1e17, max = 1.1e17, step = 1 }
    """,
    "rows without columns": '[tables.t]\nsource = "a.csv"\nunit = "row"\n',
}
PATH: Final = Path("/nowhere/world.toml")
POLICIES: Final = {
    "hospital": parse(HOSPITAL.encode(), PATH),
    "bank": parse(BANK.encode(), PATH),
    "small hospital": parse(POLICY.encode(), PATH),
    "demo": parse(lab.text().encode(), PATH),
    **{f"audit: {name}": world.policy for name, world in WORLDS.items()},
    **{f"tiny: {variant}": tiny.policy(variant) for variant in tiny.HEADS},
    **{name: parse((HEAD + text).encode(), PATH) for name, text in ODD.items()},
}


@pytest.fixture(autouse=True)
def folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made; it is empty again after each test."""
    place = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture
def dummy(tmp_path: Path) -> Iterator[Dummy]:
    with Dummy(replace(POLICIES["small hospital"], path=tmp_path / "hospital.toml")) as opened:
        yield opened


# rows


def related(policy: Policy) -> set[tuple[str, str]]:
    """Columns that name units or lead to them."""
    found = set()
    for table in policy.private_tables.values():
        assert table.owner is not None
        tables = [table.name, *(hop.table for hop in table.owner.path)]
        found |= {(at, hop.column.lower()) for at, hop in zip(tables, table.owner.path, strict=False)}
        found |= {(hop.table, hop.key.lower()) for hop in table.owner.path}
        found |= {(tables[-1], table.owner.column.lower())} if table.owner.column else set()
    return found


def held(row: Mapping[str, Any], column: str) -> Any:
    return next(value for label, value in row.items() if label.lower() == column.lower())


def units(tables: Mapping[str, Sequence[Mapping[str, Any]]], table: Table) -> list[Any]:
    """The unit of each row, found along its foreign keys; keys must exist and be unique."""
    assert table.owner is not None
    assert table.owner.column is not None
    rows = list(tables[table.name])
    for hop in table.owner.path:
        keys = [held(row, hop.key) for row in tables[hop.table]]
        known = Counter(key for key in keys if key is not None)
        assert set(known.values()) == {1}
        index = dict(zip(keys, tables[hop.table], strict=True))
        rows = [index[held(row, hop.column)] for row in rows]
    return [held(row, table.owner.column) for row in rows]


def check_value(column: Column, value: Any) -> None:
    if value is None:
        assert column.nullable
    elif column.values is not None:
        assert value in column.values
    elif column.bounds is not None:
        low, high = column.bounds
        if isinstance(low, Fraction):
            assert isinstance(high, Fraction)
            assert float(low) <= value <= float(high)
        else:
            assert low <= value <= high
            assert type(value) is type(low)
    if column.step is not None and value is not None:
        steps = Fraction(value) / column.step
        assert abs(steps - round(steps)) * column.step <= abs(Fraction(value)) / 2**52
    python = {Kind.INTEGER: int, Kind.NUMBER: float, Kind.TEXT: str, Kind.BOOLEAN: bool, Kind.DATE: date}
    assert value is None or type(value) is python.get(column.kind, datetime)


@pytest.mark.parametrize("name", POLICIES)
def test_rows_obey_the_policy(name: str) -> None:
    policy = POLICIES[name]
    tables, kin = dummy_rows(policy, ROWS), related(policy)
    assert tables.keys() == policy.tables.keys()
    for table in policy.private_tables.values():
        rows = tables[table.name]
        assert len(rows) == ROWS
        for column in table.columns.values():
            if (table.name, column.name.lower()) in kin:
                continue
            values = [row[column.name] for row in rows]
            for value in values:
                check_value(column, value)
            assert (None in values) == column.nullable
            assert set(column.values or ()) <= set(values)
    Stage(policy, tables).close()


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "units of several types"])
def test_units_have_few_rows_and_many_and_are_shared_between_tables(name: str) -> None:
    policy = POLICIES[name]
    tables = dummy_rows(policy, ROWS)
    keys = {(hop.table, hop.key.lower()) for t in policy.private_tables.values() if t.owner for hop in t.owner.path}
    seen: set[Any] = set()
    for table in policy.private_tables.values():
        assert table.owner is not None
        if table.owner.column is None:
            continue
        found = units(tables, table)
        assert None not in found
        assert not seen or seen & set(found)
        seen |= set(found)
        sizes = set(Counter(found).values())
        if not table.owner.path and (table.name, table.owner.column.lower()) not in keys:
            assert max(sizes) > min(table.max_rows, ROWS // 5)
            assert len(sizes) > 1 or len(set(found)) == 2


def test_the_engine_finds_every_row_its_owner() -> None:
    policy = POLICIES["bank"]
    tables = dummy_rows(policy, ROWS)
    engine = Stage(policy, tables)
    for table in policy.private_tables.values():
        owned = table.owner is not None and table.owner.column is not None
        counts = Counter(units(tables, table)) if owned else Counter(range(ROWS))
        read = sum(min(count, table.max_rows) for count in counts.values())
        assert engine.execute(f"SELECT COUNT(*) FROM {table.name}") == [(read,)]
    joined = "SELECT COUNT(*) FROM orders JOIN accounts ON orders._discreet_unit = accounts._discreet_unit"
    assert engine.execute(joined)[0][0] >= ROWS
    engine.close()


@pytest.mark.long
@pytest.mark.parametrize("seeds", later([range(120), range(120, 600)], 1), ids=str)
def test_all_mutated_policies_can_be_made_up(seeds: range) -> None:
    accepted = 0
    for seed in seeds:
        try:
            policy = parse(structural(Random(seed)), PATH)
        except PolicyError:
            continue
        accepted += 1
        Stage(policy, dummy_rows(policy, 12)).close()
    assert accepted > 8


def test_numbers_are_neither_all_alike_nor_uniform() -> None:
    rows = dummy_rows(POLICIES["demo"], 1000)
    costs = sorted(row["cost"] for row in rows["visits"])
    fifths = Counter(min(int(cost / 1000), 4) for cost in costs)
    assert len(set(costs)) > 900
    assert max(fifths.values()) > 1.5 * 200
    words = Counter(row["zip"] for row in rows["patients"])
    assert words.most_common(1)[0][1] > 100
    assert len(words) > 30


@pytest.mark.long
def test_the_same_policy_makes_the_same_rows_everywhere() -> None:
    policy = POLICIES["bank"]
    rows = dummy_rows(policy, 50)
    assert dummy_rows(replace(policy, name="x", state=Path("/x"), path=Path("/x/y.toml"), analysts={}), 50) == rows
    assert dummy_rows(replace(policy, unit="household"), 50) != rows
    code = (
        "from discreet.curator.dummy.rows import dummy_rows\n"
        "from discreet.policy import parse\nfrom pathlib import Path\n"
        f"print(dummy_rows(parse({BANK!r}.encode(), Path('/b.toml')), 50))"
    )
    ours = os.environ.get("PYTHONHASHSEED", "random")  # the order of sets in this process is another one
    environment = {"PYTHONHASHSEED": "1" if ours != "1" else "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == str(rows)


@pytest.mark.parametrize("rows", [0, -1, True, 1.5, "many", None, MOST_ROWS + 1])
def test_wrong_sizes_are_refused(rows: Any, dummy: Dummy, folders: Path) -> None:
    before = list(folders.iterdir())
    with pytest.raises(discreet.Refused, match="rows is a whole number from 1 to 100000") as refused:
        dummy.dummy(rows=rows)
    assert refused.value.code == "rows-invalid"
    assert list(folders.iterdir()) == before


def test_one_row_is_enough_to_ask(tmp_path: Path) -> None:
    with Dummy(replace(POLICIES["bank"], path=tmp_path / "bank.toml"), rows=1) as opened:
        assert len(opened.query("SELECT branch, COUNT(*) FROM accounts GROUP BY branch", rho=0.0001)) == 3


# nothing private is read

FORMATS: Final = """
name = "formats"
budget.epsilon = 1
unit.name = "person"
[tables.a]
source = "a.csv"
unit = "id"
columns.n = { type = "integer", min = 0, max = 9 }
[tables.b]
source = "b.parquet"
unit = "id"
columns.n = { type = "integer", min = 0, max = 9 }
[tables.c]
source = "c.duckdb#c"
unit = "id"
columns.n = { type = "integer", min = 0, max = 9 }
[tables.d]
source = "c.duckdb#d"
public = true
columns.n = { type = "integer", min = 0, max = 9 }
[tables.e]
source = "e.csv"
public = true
"""


@pytest.fixture
def formats(tmp_path: Path) -> Path:
    write_source(tmp_path / "a.csv", "SELECT i AS id, 7 AS n FROM range(5) AS t(i)")
    write_source(tmp_path / "b.parquet", "SELECT i AS id, 7 AS n FROM range(5) AS t(i)")
    write_source(tmp_path / "e.csv", "SELECT i AS n, 'x' || i AS label FROM range(3) AS t(i)")
    with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute("CREATE TABLE c AS SELECT i AS id, 7 AS n FROM range(5) AS t(i)")
        connection.execute("CREATE TABLE d AS SELECT i AS n FROM range(4) AS t(i)")
    path = tmp_path / "formats.toml"
    path.write_text(FORMATS, encoding="utf-8")
    return path


def contents(opened: Dummy, *tables: str) -> list[list[tuple[Any, ...]]]:
    return [opened._stage.execute(f"SELECT * FROM {table}") for table in tables]


def test_private_sources_are_not_needed_and_nothing_is_made_beside_the_policy(formats: Path) -> None:
    with open_dummy(formats) as opened:
        before = contents(opened, "a", "b", "c")
        public = contents(opened, "d", "e")
    assert public == [[(n,) for n in range(4)], [(n, f"x{n}") for n in range(3)]]
    for file in ("a.csv", "b.parquet", "c.duckdb"):
        (formats.parent / file).unlink()
    with open_dummy(formats) as opened:
        assert contents(opened, "a", "b", "c") == before
        assert contents(opened, "e") == public[1:]
        assert opened.query("SELECT COUNT(*) AS n FROM a", epsilon=0.5).rows
        assert len(contents(opened, "d")[0]) == 10  # its file is gone: made up
    assert sorted(path.name for path in formats.parent.iterdir()) == ["e.csv", "formats.toml"]


def test_other_private_rows_change_nothing(formats: Path) -> None:
    with open_dummy(formats) as opened:
        before = contents(opened, "a", "b", "c")
    write_source(formats.parent / "a.csv", "SELECT i AS id, 1 AS n FROM range(5000) AS t(i)")
    (formats.parent / "b.parquet").write_bytes(b"no parquet")
    with open_dummy(formats) as opened:
        assert contents(opened, "a", "b", "c") == before


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"other\n1\n", None])
def test_public_tables_that_cannot_be_read_are_made_up(tmp_path: Path, content: bytes | None) -> None:
    policy = hospital(tmp_path)
    with Dummy(policy) as opened:
        assert sorted(contents(opened, "wards")[0]) == [("A", 10), ("B", 20)]
    (tmp_path / "wards.csv").unlink()
    if content is not None:
        (tmp_path / "wards.csv").write_bytes(content)
    with Dummy(policy) as opened:
        assert sorted(row[0] for row in contents(opened, "wards")[0]) == ["A", "B"]


def test_a_file_with_private_tables_does_not_stay_attached(formats: Path) -> None:
    with open_dummy(formats) as opened:
        attached = "SELECT COUNT(*) FROM duckdb_databases() WHERE path IS NOT NULL"
        assert opened._stage.execute(attached) == [(0,)]
        with pytest.raises(duckdb.Error):
            opened._stage.execute(f"SELECT * FROM read_csv('{formats.parent / 'a.csv'}')")


# costs and refusals

QUESTIONS: Final[list[tuple[str, dict[str, Any]]]] = [
    (COUNT, {"epsilon": 0.1}),
    ("SELECT zip, COUNT(*) AS n FROM patients GROUP BY zip", {"epsilon": 0.2}),
    ("SELECT sex, AVG(age) AS a, SUM(age) AS s FROM patients GROUP BY sex", {"rho": 0.01, "confidence": 0.9}),
    ("SELECT beds, COUNT(*) AS n FROM wards GROUP BY beds", {}),
    ("SELECT v.cost FROM visits AS v", {"epsilon": 0.1}),
    ("SELECT SUM(cost) AS s FROM visits", {"epsilon": 0.1, "analyst": "fraud"}),
    (COUNT, {"epsilon": 0.1, "analyst": "nobody"}),
    (COUNT, {"epsilon": -1}),
    (COUNT, {}),
    ("SELECT nothing FROM patients", {"epsilon": 0.1}),
]


def outcome(curator: discreet.Curator, sql: str, cost: Mapping[str, Any]) -> object:
    try:
        told = curator.preview(sql, **cost).to_dict()
    except discreet.Refused as refused:
        return refused.code, refused.reason, refused.fix
    return {**told, "notes": [note for note in told["notes"] if note != NOTE]}


def test_previews_and_refusals_are_those_of_the_real_curator(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    with discreet.open(policy.path) as real, real.dummy() as opened:
        found = [(outcome(real, sql, cost), outcome(opened, sql, cost)) for sql, cost in QUESTIONS]
        assert all(one == other for one, other in found)
        assert {type(one) for one, _ in found} == {dict, tuple}
        for analyst in (None, "epidemiology"):
            with pytest.raises(discreet.Refused) as there:
                real.query(COUNT, epsilon=3.5, analyst=analyst)
            with pytest.raises(discreet.Refused) as here:
                opened.query(COUNT, epsilon=3.5, analyst=analyst)
            assert str(here.value) == str(there.value)
        assert opened.budget() == real.budget()
        answers = [curator.query(COUNT, epsilon=0.2) for curator in (real, opened)]
        assert answers[0].cost == answers[1].cost
        assert answers[0].noise == answers[1].noise
        widths = [row["n"][1] - row["n"][0] for answer in answers for row in answer.intervals]
        assert widths[0] == widths[1]


def test_the_budget_is_whole_for_every_question(dummy: Dummy) -> None:
    whole = dummy.budget(), dummy.budget("fraud")
    for analyst in (None, "fraud", "fraud", None):
        answer = dummy.query(COUNT, epsilon=0.35, analyst=analyst, fresh=True)
        assert answer.cost.concentrated().rho == rho_of_label(Fraction("0.35"), Fraction(1, 2 * 10**6))
        assert (dummy.budget(), dummy.budget("fraud")) == whole
    assert whole[0].spent.epsilon == 0
    assert len(dummy.entries()) == 4
    assert all(entry.answered for entry in dummy.entries())


def test_a_long_journal_goes_on(dummy: Dummy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.ledger.ledger.TOTALS_EVERY", 3)
    for _ in range(6):
        dummy.query(COUNT, epsilon=0.5, fresh=True)
    assert len(dummy.entries()) == 6


def test_threads_share_a_dummy(dummy: Dummy) -> None:
    def ask() -> None:
        for _ in range(3):
            dummy.query(COUNT, epsilon=0.5, fresh=True)

    assert at_once(6, ask) == [None] * 6
    assert len(dummy.entries()) == 18
    assert dummy.budget().spent.epsilon == 0


def test_the_real_ledger_is_not_touched(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    with discreet.open(policy.path) as real:
        real.query(COUNT, epsilon=0.1)
        before, entries = real.budget(), real.entries()
        with real.dummy() as opened:
            assert not opened.query(COUNT, epsilon=0.1).cached  # another's answers are not its own
            opened.query("SELECT zip, COUNT(*) FROM patients GROUP BY zip", epsilon=0.5)
        assert (real.budget(), real.entries()) == (before, entries)
    state = {path: path.read_bytes() for path in policy.state.rglob("*") if path.is_file()}
    with Dummy(policy) as opened:
        opened.query(COUNT, epsilon=0.1)
    assert {path: path.read_bytes() for path in policy.state.rglob("*") if path.is_file()} == state


# what it says


def test_every_answer_says_that_it_is_made_up(dummy: Dummy) -> None:
    asked = [
        dummy.query(COUNT, epsilon=0.2),
        dummy.query(COUNT, epsilon=0.1),
        dummy.query(f"EXPLAIN PRIVACY {COUNT}", epsilon=0.1),
        dummy.query("SELECT ward FROM wards"),
    ]
    assert [answer.cached for answer in asked] == [False, True, False, False]
    shown: list[Answer | Preview] = [*asked, dummy.preview("SELECT AVG(age) FROM patients", epsilon=0.1)]
    for told in shown:
        assert NOTE in told.notes
        assert told.notes.count(NOTE) == 1
        assert NOTE in told.to_dict()["notes"]
        assert NOTE in told._repr_html_()
        assert "and is free" in str(told)
    assert all(answer.receipt == "" for answer in asked)


def test_private_keys_are_found(dummy: Dummy) -> None:
    assert len(dummy.query("SELECT zip, COUNT(*) AS n FROM patients GROUP BY zip", epsilon=3)) >= 3


def test_a_dummy_of_a_dummy_is_the_same(dummy: Dummy) -> None:
    with dummy.dummy() as second, second.dummy(rows=10) as third:
        assert isinstance(second, Dummy)
        assert isinstance(third, Dummy)
        assert contents(second, "patients", "visits") == contents(dummy, "patients", "visits")
        assert len(third._stage.execute("SELECT * FROM visits")) == 10
        assert third.query(COUNT, epsilon=0.1).notes == dummy.query(COUNT, epsilon=0.1).notes


# the end

FORK: Final = "child = os.fork()\nif not child: raise SystemExit\nos.waitpid(child, 0)"


def test_a_dummy_has_no_files(dummy: Dummy, folders: Path) -> None:
    others = [dummy.dummy(rows=5) for _ in range(3)]
    for other in others:
        other.query(COUNT, epsilon=0.1)
        assert list(folders.iterdir()) == []
        with pytest.raises(OSError, match="Not a directory"):
            other.policy.state.mkdir(parents=True)
        other.close()
        other.close()
    assert dummy.query(COUNT, epsilon=0.1).rows
    with pytest.raises(LedgerError, match="closed"):
        others[0].query(COUNT, epsilon=0.1)


def test_asking_for_nothing_does_not_fill_the_memory(dummy: Dummy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks without end is remembered for a while only."""
    monkeypatch.setattr("discreet.ledger.memory.CAPACITY", 20_000)
    with dummy.dummy(rows=5) as small:
        for _ in range(60):
            small.query(COUNT, epsilon=0.1, fresh=True)
        store = small._ledger._store
        assert isinstance(store, Memory)
        assert 10_000 < store._journal.size <= 20_000
        assert store._journal.size == sum(stored.size for stored in store._journal.records.values())
        numbers = set(store._journal.records)
        assert set(store._journal.answers) <= numbers
        assert {number for filed in store._journal.plans.values() for number in filed} <= numbers
        assert len(small.entries()) < 60
        assert small.query(COUNT, epsilon=0.1).cached


@pytest.mark.long
@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", FORK])
def test_an_interpreter_that_ends_leaves_nothing(tmp_path: Path, end: str) -> None:
    policy, place = hospital(tmp_path), tmp_path / "temporary"
    place.mkdir()
    code = (
        "import os\nfrom discreet.curator.dummy import open\n"
        f"opened = open({str(policy.path)!r}, rows=5)\nopened.query({COUNT!r}, epsilon=0.1)\n"
        f"{end}\n"
    )
    environment = {**os.environ, "TMPDIR": str(place)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == (3 if "Exit(3)" in end else 0), done.stderr
    assert list(place.iterdir()) == []
    assert not policy.state.exists()


def test_no_temporary_folder_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = hospital(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with Dummy(policy) as opened:
        assert opened.query(COUNT, epsilon=0.1).rows


# the engine in memory


def test_the_engine_fills_many_rows_as_it_fills_one() -> None:
    policy = parse((HEAD + '[tables.t]\nsource = "t.csv"\nunit = "who"\nmax_rows = 9\n'
                    'columns.n = { type = "integer" }\ncolumns.s = { type = "text" }\n').encode(), PATH)  # fmt: skip
    rows = [
        {"who": 1, "n": "5", "s": "é, [x] 'y' \"z\" NULL \\"},
        {"who": 1, "n": "no"},
        {"who": 1, "n": 2**70, "s": ""},
    ]
    engine = MemoryEngine(policy, {"t": rows})
    found = engine.execute("SELECT _discreet_unit, n, s FROM t ORDER BY s NULLS FIRST")
    assert found == [("1", None, None), ("1", None, ""), ("1", 5, "é, [x] 'y' \"z\" NULL \\")]
    engine.close()


def test_reading_a_policy_from_its_file_gives_the_same_dummy(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    with open_dummy(policy.path, rows=20) as one, Dummy(read(policy.path), rows=20) as other:
        assert contents(one, *policy.tables) == contents(other, *policy.tables)


def test_what_was_computed_for_a_plan_is_held(tmp_path: Path) -> None:
    """Each answer computed all of it again, and kept Python from others."""
    with Dummy(hospital(tmp_path)) as dummy:
        calls = [Query(Call(sql=COUNT, epsilon=0.1)) for _ in range(2)]
        first, second = (dummy._prepared(call) for call in calls)
        assert isinstance(first, PreparedQuery)
        assert isinstance(second, PreparedQuery)
        assert first.plan is second.plan
        assert first.allocation is second.allocation
        assert first.plan.notes[0] == NOTE
        assert [dummy.query(COUNT, epsilon=0.1).notes.count(NOTE) for _ in range(3)] == [1, 1, 1]
