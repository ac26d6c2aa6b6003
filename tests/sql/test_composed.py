"""Queries are composed of values, and nothing else makes one: the type, its tokens, and what the source may write."""

from __future__ import annotations

import ast
import copy
import json
import math
import pickle
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet import composed, quoting
from discreet.composed import LARGEST, Sql, double, joined, keyword, lines, listed, literal, name, sql
from discreet.engines.printed import ALTERED, confirmed, parsed, printed
from discreet.errors import QueryFailed, Refused
from tests.plain import plain
from tests.sql.worlds import opened, policy_of

ROOT: Final = Path(__file__).parents[2] / "src" / "discreet"
TEMPLATES: Final = {"sql", "form", "joined", "repeated", "repeating"}


# what the source may write


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            yield (
                called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else "",
                node,
            )


def imported(tree: ast.AST) -> set[str]:
    """What a module takes from `composed`; as a whole, or under other names, it is not to be had."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "discreet.composed":
            found |= {f"_{alias.name}" if alias.asname else alias.name for alias in node.names}
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {"_composed" for alias in node.names if alias.name.endswith("composed")}
    return found


def constant(node: ast.expr) -> bool:
    """Whether an expression is a text of this program, or one of two."""
    if isinstance(node, ast.IfExp):
        return constant(node.body) and constant(node.orelse)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def misuses(tree: ast.AST, file: str) -> list[str]:
    """What could put a text that is no constant into a query."""
    taken = imported(tree)
    found = [f"{label} is not to be imported" for label in sorted(taken) if label.startswith("_")]
    for label, call in calls(tree):
        if (
            label in taken & TEMPLATES
            and isinstance(call.func, ast.Name)
            and not (call.args and constant(call.args[0]))
        ):
            found.append(f"line {call.lineno}: the template is no constant")
        if label == "Printed" and file != "printed.py":
            found.append(f"line {call.lineno}: queries are printed elsewhere")
    return found


@cache
def trees() -> list[tuple[Path, ast.Module]]:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "composed" in source or "quoting" in source or "Printed" in source:
            found.append((path.relative_to(ROOT), ast.parse(source)))
    return found


def test_templates_are_constants_and_queries_are_made_in_one_place() -> None:
    found = {str(path): misuses(tree, path.name) for path, tree in trees() if path.name != "composed.py"}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_plans_do_not_quote_into_texts() -> None:
    """The helpers that give texts are for the owner's side."""
    for path, tree in trees():
        if path.parts[0] != "sql":
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "discreet.quoting":
                assert {alias.name for alias in node.names} <= {"Value", "TEXT_LENGTH"}, path
            if isinstance(node, ast.Import):
                assert not any(alias.name.startswith(("discreet.quoting", "duckdb")) for alias in node.names), path


@pytest.mark.parametrize(
    "source",
    [
        'sql(f"COUNT({x})")', 'sql("COUNT({})".format(x))', 'sql("COUNT(" + x + ")")', 'sql("COUNT(%s)" % x)', "sql(x)",
        "sql(*x)", "joined(x, [])", 'form(f"{x}")', 'sql("a" if x else y)', "Printed(x)",
        "from discreet import composed", "import discreet.composed", "from discreet.composed import sql as put",
        "from discreet.composed import _made",
    ],
)  # fmt: skip
def test_what_would_be_misuse_is_found(source: str) -> None:
    assert misuses(ast.parse(f"from discreet.composed import form, joined, sql\n{source}"), "any.py")


# the type


def test_sql_is_no_text() -> None:
    part = literal("x")
    with pytest.raises(TypeError):
        f"{part}"
    with pytest.raises(TypeError):
        str(part)
    with pytest.raises(TypeError):
        "".join([part])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        "SELECT " + part  # type: ignore[operator]
    with pytest.raises(TypeError):
        sql("SELECT {}", "x")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        joined(", ", ["x"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        Sql()
    with pytest.raises(AttributeError):
        part.text = "y"
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copied(part)
    assert repr(part) == """<sql "'x'">"""


def test_two_with_the_same_text_are_the_same() -> None:
    assert len({sql("{} + {}", name("a"), literal(1)), sql('"a" + 1')}) == 1
    assert sql("a") != "a"


@pytest.mark.parametrize("words", ["", "a; b", "a'", "1a", "a  b", " a", "a\n", "é", "a--b", "a()"])
def test_a_keyword_is_made_of_letters(words: str) -> None:
    with pytest.raises(ValueError, match="letters"):
        keyword(words)


@pytest.mark.parametrize("template", ["{x}", "{0.text}", "{0!r}", "{0:>9}", "{0[1]}", "{", "}"])
def test_holes_are_plain(template: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        sql(template, name("x"))


def test_a_hole_without_a_part_is_an_error() -> None:
    with pytest.raises(IndexError):
        sql("{} {}", name("x"))


def test_what_grows_too_large_is_refused_before_it_is_made() -> None:
    part = name("x" * 1000)
    while 2 * len(part.text) + 5 <= LARGEST:
        part = sql("({0} + {0})", part)
    with pytest.raises(Refused, match="too-complex"):
        sql("({0} + {0})", part)
    long = sql("{}", literal("x" * 90_000))
    with pytest.raises(Refused, match="too-complex"):
        joined(", ", [long] * 1000)
    assert len(listed(range(200_000)).text) > LARGEST, "lists of the policy and of tables are not the question's"
    assert lines([(1, "a"), (2, None)]).text == "(1, 'a'), (2, NULL)"


# tokens come back unchanged and change nothing else

MARKS: Final = (
    *("{over}", "{}", "{0}", "{{", "}}", "%s", "%(x)s", "$1", "$x$", "?", ":x", "@x", "'", "''", '"', '""', "`", "\\"),
    *("\\'", "--", "/*", "*/", ";", "#", "E'", "\n", "\t", " ", "(", ")", "[", "]", "NULL", "discreet_secret()", "a"),
    *("é", "漢", "😀", "\u2028", "\u202e", "\ufeff", "\x7f", "\x01"),
)
TEXTS: Final = st.lists(st.sampled_from(MARKS), max_size=8).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12
)
NUMBERS: Final = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False) | st.fractions()
MOMENTS: Final = st.dates() | st.datetimes()


@cache
def parser() -> duckdb.DuckDBPyConnection:
    """Not before it is needed: it has threads, and whoever has some is not to be forked."""
    return duckdb.connect(":memory:")


@settings(deadline=None)
@given(
    st.lists(TEXTS | NUMBERS | MOMENTS | st.none() | st.booleans(), min_size=1, max_size=4),
    st.lists(TEXTS.filter(bool)),
)
@example(["{over}", " || (SELECT 1) || "], ['a" AS b, "c'])
def test_values_and_names_come_back(values: list[Any], labels: list[str]) -> None:
    columns = [*(f"v{place}" for place in range(len(values))), *labels]
    inner = joined(", ", (sql("{} AS {}", literal(value), name(f"v{place}")) for place, value in enumerate(values)))
    more = joined("", (sql(", {} AS {}", literal(place), name(label)) for place, label in enumerate(labels)))
    query = sql(
        "SELECT * FROM (SELECT {}{}) WHERE {} IS NOT DISTINCT FROM {}", inner, more, name("v0"), literal(values[0])
    )
    confirmed(query)
    found = parser().execute(printed(query))
    assert [column[0] for column in found.description or []][: len(values)] == columns[: len(values)]
    unique = len({label.lower() for label in columns}) == len(columns)
    assert not unique or [column[0] for column in found.description or []] == columns
    (row,) = found.fetchall()
    for value, shown in zip(values, row, strict=False):
        assert shown == (float(value) if isinstance(value, (float, Fraction)) else value)


@settings(deadline=None)
@given(TEXTS)
def test_the_skeleton_of_a_literal_does_not_depend_on_it(text: str) -> None:
    assert literal(text).skeleton == "''"
    assert listed([text, 1]).skeleton == "'', 0"


@settings(deadline=None)
@given(NUMBERS | MOMENTS)
def test_neutral_literals_are_of_the_same_kind(value: Any) -> None:
    query = sql("SELECT {} FROM t WHERE x < {}", literal(value), literal(value))
    confirmed(query)
    assert printed(query) == f"SELECT {quoting.literal(value)} FROM t WHERE x < {quoting.literal(value)}"


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_too_large_for_floats_is_infinite(sign: int) -> None:
    query = sql("SELECT {}", double(sign * Fraction(10) ** 400))
    confirmed(query)
    assert duckdb.execute(printed(query)).fetchall() == [(sign * math.inf,)]


# what was altered is noticed


def altered(text: str, skeleton: str) -> Sql:
    return composed._made(text, skeleton, 1)


@pytest.mark.parametrize(
    ("text", "skeleton"),
    [
        ("SELECT 'a' || (SELECT 1) || 'b'", "SELECT ''"),
        ("SELECT 'a'; SELECT 'b'", "SELECT ''"),
        ("SELECT 'a' --'", "SELECT ''"),
        ("SELECT 'a' /* ' */", "SELECT ''"),
        ("SELECT x --5", "SELECT x -0"),
        ("SELECT 5", "SELECT ''"),
        ("SELECT 'a' AS y", "SELECT '' AS x"),
        ("SELECT 'a' 'b'", "SELECT ''"),
    ],
)
def test_literals_that_are_more_than_constants_are_noticed(text: str, skeleton: str) -> None:
    with pytest.raises(QueryFailed, match=ALTERED):
        printed(altered(text, skeleton))
    with pytest.raises(QueryFailed, match=ALTERED):
        confirmed(altered(text, skeleton))


def test_a_literal_that_does_not_end_is_noticed() -> None:
    with pytest.raises(QueryFailed, match=ALTERED):
        confirmed(altered("SELECT 'a", "SELECT ''"))


def test_the_private_copy_and_queries_are_written_alike() -> None:
    for step in (None, Fraction(1, 100)):
        mine, owners = composed.whole_steps(name("x"), step, -5, 7), quoting.whole_steps('"x"', step, -5, 7)
        assert mine.text == owners
    for kind in ("date", "timestamp"):
        assert composed.dated(name("x"), kind).text == quoting.dated('"x"', kind)
    for kind in quoting.STORED:
        assert composed.stored(name("x"), kind).text == quoting.stored('"x"', kind)
    for value in (1, 1.5, Fraction(1, 3), "x'", None, True, date(2026, 1, 2), datetime(2026, 1, 2, 3)):
        assert literal(value).text == quoting.literal(value)
    assert double(3).text == quoting.double(3)


# names and values of a policy

NASTY: Final = (
    "{over}",
    "{0}",
    "it's",
    'say "x"',
    "-- x",
    "/* x",
    "*/",
    "%s",
    "$1",
    "?",
    "a\\b",
    "\\'",
    "';",
    "`",
    "é漢😀",
    "{{}}",
)


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def test_names_and_keys_of_a_policy_are_only_names_and_keys() -> None:
    """Every column is called by one mark and holds all of them; the table is called by several."""
    table = NASTY[0] + NASTY[3] + NASTY[4]
    path, values = f"tables.{toml(table)}", f"[{', '.join(map(toml, NASTY))}]"
    head = f'[{path}]\nsource = "t.csv"\nunit = "who"\nmax_rows = 3\n[{path}.columns]\n'
    columns = "\n".join(f"{toml(label)} = {{ values = {values} }}" for label in NASTY)
    marks = range(len(NASTY))
    rows = [
        {"who": f"u{row}", **{label: NASTY[(row + place) % len(NASTY)] for place, label in enumerate(NASTY)}}
        for row in (*marks, *marks, 3)
    ]
    with opened(policy_of(head + columns), {table: rows}) as curator:
        for place, label in enumerate(NASTY):
            wanted = Counter(row[label] for row in rows)
            grouped = f"SELECT {quoted(label)} AS k, COUNT(*) AS n FROM {quoted(table)} GROUP BY {quoted(label)}"
            assert dict(curator.query(grouped, epsilon=1).rows) == wanted
            mark = NASTY[(3 * place) % len(NASTY)]
            value = quoting.literal(mark)
            asked = f"SELECT COUNT(*) AS n FROM {quoted(table)} WHERE {quoted(label)} = {value}"
            assert curator.query(asked, epsilon=1).rows == [(wanted[mark],)]
            order = f"OVER (PARTITION BY who ORDER BY {quoted(label)} = {value})"
            window = f"SELECT CLAMP(SUM(CASE WHEN {quoted(label)} = {value} THEN 1 ELSE 0 END) {order}, 0, 3) AS x"
            found = curator.query(f"SELECT COUNT_IF(x > 0) AS n FROM ({window} FROM {quoted(table)})", epsilon=1)
            assert found.rows == [(wanted[mark],)]


# what weighs too much


@pytest.mark.long
def test_a_long_part_is_named_where_it_would_stand_twice() -> None:
    short, long = name("x"), joined(" + ", [name("x")] * 600)
    assert composed.repeated("{0} * {0}", short).text == '"x" * "x"'
    named = composed.repeated("{0} * {0}", long)
    assert named.text.count('"x"') == 600
    with plain() as connection:
        assert connection.execute(f"SELECT {named.text} FROM (SELECT 2 AS x)").fetchall() == [(1200**2,)]


def test_what_would_grow_beyond_all_bounds_is_refused() -> None:
    heavy = composed.weighed(name("x"), LARGEST - 100)
    assert heavy.text == '"x"'
    with pytest.raises(Refused):
        composed.weighed(heavy, 100)
    with pytest.raises(Refused):
        composed.cut(heavy)
    with pytest.raises(Refused):
        composed.matched(heavy, range(9))
    assert composed.matched(name("x"), ["a", "b"]).text.count("WHEN") == 2
    assert composed.cut(name("x")).text == f'LEFT("x", {quoting.TEXT_LENGTH})'


def test_a_query_that_the_parser_reads_in_another_way_than_its_skeleton_is_not_run() -> None:
    """Both are constants to the tokenizer; to the parser a whole number is another than one with a point."""
    confirmed(composed._made("SELECT 7 = 'a'", "SELECT 7 = ''", 1))
    with pytest.raises(QueryFailed, match=ALTERED):
        confirmed(composed._made("SELECT 7 = 'c'", "SELECT 7.5 = ''", 1))


def test_what_the_parser_makes_of_a_query() -> None:
    assert json.loads(parsed(sql("SELECT {}", literal(7))))["statements"][0]["node"]["type"] == "SELECT_NODE"
