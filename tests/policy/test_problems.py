"""What is wrong with policies, in the words that their owners see."""

from __future__ import annotations

import pickle

import pytest

from discreet.policy import Finding, PolicyError, parse, suggest
from discreet.policy.read import POLICY
from tests.policy.examples import BANK, COLUMN_KEYS, FILE, HEAD, HOSPITAL, NO_TEXT, SMALLEST, problems_of

TABLE_KEYS = (
    "source, format, table, unit, public, copy, multiline, separator, decimal, folders, newer_by, max_rows, "
    "max_groups, max_rows_per_group, "
    "columns, stream"
)
NEED_UNIT = 'add the column that names the unit, or unit = "row" if every row is its own, or public = true'
GRAMMAR = 'write it like "account_id -> accounts.customer_id", or "account_id -> accounts(id).customer_id"'
NAMES = "must have 1 to 200 characters, no control characters among them; rename it"


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('unit = "id"', '.source: missing; add source = "patients.parquet"'),
        ('source = 1, unit = "id"', ".source: must be a text, not an integer; put it in quotes"),
        ('source = "", unit = "id"', f".source: {NO_TEXT}"),
        ('source = "a\\u0000.csv", unit = "id"', f".source: {NO_TEXT}"),
        (
            'source = "t.xlsx", unit = "id"',
            (
                ".source: the ending of 't.xlsx' does not tell its format "
                "(.csv, .tsv, .csv.gz, .tsv.gz, .parquet, .pq, .duckdb, .db do); "
                'add format = "csv" (or "parquet", "duckdb")'
            ),
        ),
        (
            'source = "postgresql://host/db", unit = "id"',
            '.table: missing: a database has many tables; add table = "public.visits"',
        ),
        (
            'source = "s3://bucket/t.parquet", unit = "id"',
            (
                ".source: is an address, and sources are files or tables of PostgreSQL, Spark, Delta or Iceberg; "
                "copy the data beside the policy and name that file"
            ),
        ),
        (
            'source = "t.csv", format = "cvs", unit = "id"',
            (
                ".format: unknown format 'cvs'; did you mean 'csv'? "
                "allowed: csv, parquet, duckdb, postgres, spark, delta, iceberg"
            ),
        ),
        ('source = "t.csv", format = 1, unit = "id"', ".format: must be a text, not an integer; put it in quotes"),
        (
            'source = "t.csv", table = "x", unit = "id"',
            ".table: only a DuckDB file has tables, and this is csv; remove it",
        ),
        (
            'source = "t.duckdb", unit = "id"',
            '.table: missing: a DuckDB file has many tables; add table = "main.visits"',
        ),
        (
            'source = "t.duckdb#", unit = "id"',
            '.table: missing: a DuckDB file has many tables; add table = "main.visits"',
        ),
        (
            'source = "t.duckdb#a", table = "a", unit = "id"',
            ".table: is named twice, here and after the # of source; keep one of the two",
        ),
        (
            'source = "*.duckdb", table = "a", unit = "id"',
            ".source: a DuckDB source is one file, not a pattern; name one file, without * ? [",
        ),
        (
            'source = "#a", format = "duckdb", unit = "id"',
            ".source: a DuckDB source is one file, not a pattern; name one file, without * ? [",
        ),
        ('source = "t.csv"', f".unit: missing; {NEED_UNIT}"),
        ('source = "t.csv", public = false', f".unit: missing; {NEED_UNIT}"),
        (
            'source = "t.csv", public = 1',
            ".public: must be true or false, not an integer; write true or false without quotes",
        ),
        (
            'source = "t.csv", public = true, unit = "id"',
            ".unit: a public table has no unit; remove it, or public = true if it is private",
        ),
        (
            'source = "t.csv", public = true, max_rows = 2',
            ".max_rows: a public table has no max_rows; remove it, or public = true if it is private",
        ),
        (
            'source = "t.csv", unit = "id", copy = 0',
            ".copy: must be true or false, not an integer; write true or false without quotes",
        ),
        (
            'source = "t.csv", unit = "id", max_rows = 0',
            ".max_rows: must lie between 1 and 1000000000; write how many one unit may have at most",
        ),
        (
            'source = "t.csv", unit = "id", max_groups = 1000000001',
            ".max_groups: must lie between 1 and 1000000000; write how many one unit may have at most",
        ),
        (
            'source = "t.csv", unit = "id", max_rows_per_group = true',
            ".max_rows_per_group: must be an integer, not true or false; write a whole number without quotes",
        ),
        (
            'source = "t.csv", unit = "id", max_rows = 2.0',
            ".max_rows: must be an integer, not a number; write a whole number without quotes",
        ),
        (
            'source = "t.csv", unit = "row", max_rows = 2',
            ".max_rows: must be 1, because every row is its own unit; remove it, or name a unit column",
        ),
        (
            'source = "t.csv", unit = "id", max_row = 2',
            f".max_row: unknown key; did you mean 'max_rows'? allowed: {TABLE_KEYS}",
        ),
        (
            'source = "t.csv", unit = "id", columns = []',
            ".columns: must be a table, not a list; begin it with [tables.t.columns]",
        ),
        ('source = "t.csv", unit = 7', ".unit: must be a text, not an integer; put it in quotes"),
        ('source = "t.csv", unit = ""', f".unit: {NO_TEXT}"),
        ('source = "t.csv", unit = " "', f".unit: '' {NAMES}"),
        (
            'source = "t.csv", unit = "_discreet_unit"',
            ".unit: '_discreet_unit' begins with _discreet, which discreet keeps for itself; rename it",
        ),
        ('source = "t.csv", unit = "a -> b"', f".unit: 'b' must name a table and a column of it; {GRAMMAR}"),
        ('source = "t.csv", unit = "a -> "', f".unit: '' must name a table and a column of it; {GRAMMAR}"),
        ('source = "t.csv", unit = "a -> b().c"', f".unit: 'b().c' must name a table and a column of it; {GRAMMAR}"),
        ('source = "t.csv", unit = "-> accounts.id"', f".unit: '' {NAMES}"),
        (
            'source = "t.csv", unit = "a -> accounts. "',
            f".unit: 'accounts.' must name a table and a column of it; {GRAMMAR}",
        ),
        (
            'source = "t.csv", unit = "a -> account.customer_id"',
            ".unit: there is no table 'account'; did you mean 'accounts'? allowed: t, accounts, rows, shops, orders",
        ),
        (
            'source = "t.csv", unit = "a -> shops.customer_id"',
            ".unit: 'shops' is public, so it has no unit; give that table a unit",
        ),
        (
            'source = "t.csv", unit = "a -> rows.customer_id"',
            ".unit: every row of 'rows' is its own unit; give that table the unit that you mean",
        ),
        (
            'source = "t.csv", unit = "a -> accounts.account_id"',
            ".unit: ends at a column that is not the unit of 'accounts'; end it with 'accounts.customer_id'",
        ),
        (
            'source = "t.csv", unit = "a -> orders.account_id"',
            ".unit: ends at 'orders', whose own unit lies further on; continue it: … -> accounts.…",
        ),
        (
            'source = "t.csv", unit = "a -> t.customer_id"',
            ".unit: goes in a circle: it comes to 't' twice; end it at the table of the unit",
        ),
        (
            'source = "t.csv", unit = "a -> orders.x -> orders.y -> accounts.customer_id"',
            ".unit: goes in a circle: it comes to 'orders' twice; end it at the table of the unit",
        ),
        (
            'source = "t.csv", unit = "ID", columns.id.type = "integer"',
            ".unit: 'ID' is declared as 'id' in 't'; spell it alike",
        ),
        (
            'source = "t.csv", unit = "a -> accounts(ACCOUNT_ID).customer_id"',
            ".unit: 'ACCOUNT_ID' is declared as 'account_id' in 'accounts'; spell it alike",
        ),
        (
            'source = "t.csv", unit = "row", columns.row.type = "integer"',
            ".unit: could mean every row, or the column 'row'; rename that column",
        ),
        (
            'source = "./x/../accounts.csv", public = true',
            ".public: its source is private in table 'accounts'; give each table its own source",
        ),
        (
            'source = "t.csv", unit = "id", columns = { Age.type = "text", age.type = "text" }',
            ".columns.age: column 'age' differs from 'Age' in case only; rename one",
        ),
        (
            'source = "t.csv", unit = "id", columns = { "".type = "text" }',
            f".columns.'': column '' {NAMES}",
        ),
        (
            'source = "t.csv", unit = "id", columns = { "a\\tb".type = "text" }',
            f".columns.'a\\tb': column 'a\\tb' {NAMES}",
        ),
        (
            'source = "t.csv", unit = "id", columns = { _Discreet_rank.type = "text" }',
            (
                ".columns._Discreet_rank: column '_Discreet_rank' begins with _discreet, "
                "which discreet keeps for itself; rename it"
            ),
        ),
        (
            'source = "t.csv", unit = "id", columns = { ' + "a" * 201 + '.type = "text" }',
            f".columns.'{'a' * 60}…': column '{'a' * 60}…' {NAMES}",
        ),
    ],
    ids=lambda case: case[:70],
)
def test_tables(written: str, problem: str) -> None:
    text = f"""{HEAD}
        [tables]
        t = {{ {written} }}
        accounts = {{ source = "accounts.csv", unit = "customer_id", columns.account_id.type = "integer" }}
        rows = {{ source = "rows.csv", unit = "row" }}
        shops = {{ source = "shops.csv", public = true }}
        orders = {{ source = "orders.csv", unit = "account_id -> accounts.customer_id" }}
    """
    assert problems_of(text) == [f"tables.t{problem}"]


@pytest.mark.parametrize(
    "pair",
    [("José", "Jose\u0301"), ("ann", "ann "), ("a b", "a  b"), ("\u212bke", "\u00e5KE"), ("ann", "an\ufe0fn\u3164")],
)
def test_names_that_look_alike_are_not_two(pair: tuple[str, str]) -> None:
    """Whose share is charged, and which column is asked, must be seen; also in a page, where spaces are one."""
    one, other = pair
    named = f'[analysts]\n"{one}" = {{ epsilon = 1 }}\n"{other}" = {{ epsilon = 1 }}\n'
    (problem,) = problems_of(f'{HEAD}\n[tables.t]\nsource = "t.csv"\nunit = "id"\n{named}')
    assert "differs from" in problem
    (owner,) = problems_of(f'{HEAD}\n[tables.t]\nsource = "t.csv"\nunit = "id"\n[analysts." Owner"]\nepsilon = 1\n')
    assert "what the ledger calls you" in owner
    assert problems_of(f'{HEAD}\n[tables.t]\nsource = "t.csv"\nunit = "id"\n[analysts."\u3164"]\nepsilon = 1\n')


def test_names_that_differ_in_what_can_be_seen_are_two() -> None:
    two = '{ "m²" = { type = "text" }, m2 = { type = "text" }, "ma" = { type = "text" }, "mä" = { type = "text" } }'
    assert problems_of(f'{HEAD}\n[tables.t]\nsource = "t.csv"\nunit = "id"\ncolumns = {two}\n') == []


BUDGET = "budget.epsilon = 1"
UNIT = 'unit.name = "person"'
TABLES = 'tables.t = { source = "t.csv", unit = "id" }'
USUAL = "usual values are 0.01 to 10"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([UNIT, TABLES], "budget: missing; add [budget] with epsilon = 1.0"),
        ([BUDGET, TABLES], 'unit: missing; add [unit] with name = "patient"'),
        ([BUDGET, UNIT], "tables: missing; add [tables.NAME] with a source and a unit"),
        ([BUDGET, UNIT, "tables = {}"], "tables: there is no table; add [tables.NAME] with a source and a unit"),
        ([BUDGET, UNIT, "[[tables]]"], "tables: must be a table, not a list; begin it with [tables]"),
        ([BUDGET, UNIT, 'tables.t = "t.csv"'], "tables.t: must be a table, not a text; begin it with [tables.t]"),
        (["budget = {}", UNIT, TABLES], "budget.epsilon: missing; add epsilon = 1.0: all that may ever be spent"),
        (["budget = 3", UNIT, TABLES], "budget: must be a table, not an integer; begin it with [budget]"),
        (["budget.epsilon = 0", UNIT, TABLES], "budget.epsilon: epsilon must be above 0, not 0"),
        (
            ["budget.epsilon = 1e-10", UNIT, TABLES],
            f"budget.epsilon: epsilon must lie between 1e-9 and 1e9, not 1e-10: {USUAL}",
        ),
        (
            ["budget.epsilon = 2e9", UNIT, TABLES],
            f"budget.epsilon: epsilon must lie between 1e-9 and 1e9, not 2000000000.0: {USUAL}",
        ),
        (["budget.epsilon = nan", UNIT, TABLES], "budget.epsilon: it must be finite, not nan: pass an ordinary number"),
        (
            ['budget.epsilon = "1"', UNIT, TABLES],
            "budget.epsilon: must be a number, not a text; write a number without quotes",
        ),
        (
            [BUDGET, "budget.delta = 0", UNIT, TABLES],
            "budget.delta: delta must lie strictly between 0 and 1, not 0",
        ),
        (
            [BUDGET, "budget.delta = 1.0", UNIT, TABLES],
            "budget.delta: delta must lie strictly between 0 and 1, not 1.0",
        ),
        (
            [BUDGET, "budget.detla = 0.1", UNIT, TABLES],
            "budget.detla: unknown key; did you mean 'delta'? allowed: epsilon, delta, max_windows",
        ),
        ([BUDGET, "unit = {}", TABLES], 'unit.name: missing; add name = "patient": whom or what you protect'),
        ([BUDGET, 'unit.name = "a\\nb"', TABLES], f"unit.name: {NO_TEXT}"),
        (
            [BUDGET, UNIT, "unit.max_rows = 1", TABLES],
            (
                "unit.max_rows: must lie between 2 and 1000000000; "
                "write how many rows one unit may make at any step of a question: 10000 is usual"
            ),
        ),
        (
            [BUDGET, UNIT, "unit.max_rows = 50", 'tables.t = { source = "t.csv", unit = "id", max_rows = 60 }'],
            "unit.max_rows: is less than max_rows of t; write at least 60, or lower that of the table",
        ),
        ([BUDGET, UNIT, TABLES, "name = 1"], "name: must be a text, not an integer; put it in quotes"),
        ([BUDGET, UNIT, TABLES, 'state = ""'], f"state: {NO_TEXT}"),
        (
            [BUDGET, UNIT, TABLES, 'state = "x/../hospital.toml"'],
            'state: is the policy file itself; add state = "state" or another folder',
        ),
        ([BUDGET, UNIT, TABLES, "max_cost = -1"], "max_cost: epsilon must be above 0, not -1"),
        (
            [BUDGET, UNIT, TABLES, "analyst = {}"],
            (f"analyst: unknown key; did you mean 'analysts'? allowed: {', '.join(POLICY)}"),
        ),
        ([BUDGET, UNIT, TABLES, "analysts = 1"], "analysts: must be a table, not an integer; begin it with [analysts]"),
        (
            [BUDGET, UNIT, TABLES, "analysts.a = {}"],
            "analysts.a.epsilon: missing; add epsilon = 0.5: this analyst's share",
        ),
        ([BUDGET, UNIT, TABLES, "analysts.a.epsilon = 0"], "analysts.a.epsilon: epsilon must be above 0, not 0"),
        (
            [BUDGET, UNIT, TABLES, "analysts.a.epsilon = 1.1"],
            "analysts.a.epsilon: is more than the whole budget; write at most budget.epsilon",
        ),
        (
            [BUDGET, UNIT, TABLES, "analysts.Owner.epsilon = 1"],
            "analysts.Owner: 'owner' is what the ledger calls you; rename the analyst",
        ),
        ([BUDGET, UNIT, TABLES, 'analysts."".epsilon = 1'], f"analysts.'': analyst '' {NAMES}"),
        (
            [BUDGET, UNIT, TABLES, 'tables.T = { source = "u.csv", unit = "id" }'],
            "tables.T: table 'T' differs from 't' in case only; rename one",
        ),
        (
            [BUDGET, UNIT, TABLES, 'tables._discreet = { source = "u.csv", unit = "id" }'],
            "tables._discreet: table '_discreet' begins with _discreet, which discreet keeps for itself; rename it",
        ),
    ],
    ids=lambda case: str(case)[-70:],
)
def test_the_file(lines: list[str], problem: str) -> None:
    assert problems_of("\n".join(lines)) == [problem]


def test_an_empty_file_lacks_everything() -> None:
    assert [told.split(";")[0] for told in problems_of("")] == ["budget: missing", "unit: missing", "tables: missing"]


def test_a_policy_that_would_be_its_own_state() -> None:
    with pytest.raises(PolicyError, match="state: is the policy file itself"):
        parse(HOSPITAL.encode(), FILE.with_suffix(".discreet"))


def test_all_problems_are_told_at_once_with_the_name_of_the_file() -> None:
    text = (
        HOSPITAL.replace("epsilon = 3.0", "epsilon = 0")
        .replace("min = 0, max = 110", "mim = 0, max = 110")
        .replace('unit = "patient_id"   ', "")
        .replace('"F", "M"', '"F", "F"')
        .replace("2024-01-01", "2027-01-01")
        .replace("step = 0.01", "step = 9999")
        .replace("public = true", "pubic = true")
        .replace("[analysts.epidemiology]", "[analysts.owner]")
    )
    with pytest.raises(PolicyError) as caught:
        parse(text.encode(), FILE)
    assert str(caught.value).splitlines() == [
        "hospital.toml: budget.epsilon: epsilon must be above 0, not 0",
        f"hospital.toml: tables.patients.columns.age.mim: unknown key; did you mean 'min'? allowed: {COLUMN_KEYS}",
        "hospital.toml: tables.patients.columns.sex.values: must be distinct: 'F' stands there twice; remove one",
        f"hospital.toml: tables.patients.unit: missing; {NEED_UNIT}",
        (
            "hospital.toml: tables.visits.columns.day.min: must lie below max; "
            "write the lower bound as min and the upper one as max"
        ),
        f"hospital.toml: tables.visits.columns.cost.step: must be smaller than max − min; {SMALLEST}",
        f"hospital.toml: tables.visits.unit: missing; {NEED_UNIT}",
        f"hospital.toml: tables.wards.pubic: unknown key; did you mean 'public'? allowed: {TABLE_KEYS}",
        f"hospital.toml: tables.wards.unit: missing; {NEED_UNIT}",
        "hospital.toml: analysts.owner: 'owner' is what the ledger calls you; rename the analyst",
    ]


def test_a_path_to_a_table_that_is_itself_wrong_is_no_second_problem() -> None:
    text = BANK.replace('unit = "customer_id"', "unit = 1")
    assert problems_of(text) == ["tables.accounts.unit: must be a text, not an integer; put it in quotes"]


def test_long_lists_of_what_is_allowed_are_cut() -> None:
    tables = "\n".join(f'tables.t{at} = {{ source = "{at}.csv", unit = "id" }}' for at in range(30))
    (told,) = problems_of(f'{HEAD}{tables}\ntables.x = {{ source = "x.csv", unit = "a -> zzz.id" }}')
    assert told.endswith("t18, t19, …")


def test_the_error_is_a_value_error_and_survives_pickling() -> None:
    error = PolicyError("x.toml", [Finding.error("a.b", "is wrong", "mend it"), Finding.error("", "is odd")])
    assert isinstance(error, ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert (again.file, again.problems) == (error.file, error.problems)
    assert str(again) == "x.toml: a.b: is wrong; mend it\nx.toml: is odd"


@pytest.mark.parametrize(
    ("name", "options", "near"),
    [
        ("pateints", ["patients", "visits"], "patients"),
        ("WARD", ["sex", "ward"], "ward"),
        ("straße", ["Strasse"], "Strasse"),
        ("xyz", ["patients"], None),
        ("", ["patients"], None),
        ("patients", [], None),
        ("a" * 10**6, ["a" * 10**6, "a"], None),
        ("aa", ["a" * 10**6], None),
    ],
)
def test_the_nearest_spelling(name: str, options: list[str], near: str | None) -> None:
    assert suggest(name, options) == near
