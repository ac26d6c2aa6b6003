"""Every function of the table is total, obeys its NULL rule, and stays in the domain that its interval rule gives.

Rows come from the private copy, as in questions. Interval rules are compared exactly: the true value, in fractions,
never leaves the domain; what DuckDB computes leaves it at most by the rounding of one float64 operation.
"""

# ruff: noqa: E501 (tables of texts)

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final

import pytest

from discreet import composed
from discreet.engines.memory import Memory
from discreet.policy import Kind
from discreet.policy.layout import TYPES
from discreet.quoting import STORED, TEXT_LENGTH, literal, whole_steps
from discreet.sql.apply import apply
from discreet.sql.domain import DATED, NUMERIC, Domain
from discreet.sql.expression import Expr, Function, Result
from discreet.sql.functions import FUNCTIONS
from tests.plain import plain
from tests.sql.worlds import policy_of

BIG_TEXT = "long " * 20_000
ASTRAL_TEXT = "😀" * TEXT_LENGTH
POISON: Final[dict[Kind, list[Any]]] = {
    Kind.NUMBER: [
        "nan", "-nan", "inf", "-inf", 1e308, -1e308, 1.7976931348623157e308, 5e-324, -5e-324, 2.2250738585072014e-308,
        -0.0, 0.0, 1.0, -1.0, 0.1, 0.5, -0.5, 1.5, 2.5, 4503599627370496.5, 2.0**53, -(2.0**53) - 2, 2.0**63, -(2.0**63),
        9.3e18, 709.78, -745.2, 1e-10, 1e15, 3.0, None,
    ],
    Kind.INTEGER: [-(2**63), 2**63 - 1, 0, 1, -1, 2**53 + 1, 2**62, -(2**62), 64, None],
    Kind.TEXT: [
        "", " ", "nan", "inf", "-Infinity", "1e400", "12", " 12 ", "0x10", "9223372036854775808", "2024-02-30",
        "2024-02-29", "infinity", "epoch", "294247-01-10 04:00:54.775806", "10000-01-01", "true", "t", BIG_TEXT, "ß", "İ",
        "ﬀ", "👩‍👩‍👧", "é", "e\u0301", "%", "_", "\\", "'", "\t\n", "٣", "\u202e", "\ufeff", ASTRAL_TEXT, None,
    ],
    Kind.BOOLEAN: [True, False, None],
    Kind.DATE: [
        "0001-01-01", "9999-12-31", "10000-01-01", "infinity", "-infinity", "5881580-07-10", "0001-01-01 (BC)",
        "1970-01-01", "2024-02-29", "1582-10-10", None,
    ],
    Kind.TIMESTAMP: [
        "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "infinity", "-infinity", "294247-01-10 04:00:54.775806",
        "290309-12-22 (BC) 00:00:00", "1969-12-31 23:59:59.999999", "2024-02-29 12:34:56", None,
    ],
}  # fmt: skip
COLUMNS: Final = {kind: f"c_{kind.value}" for kind in Kind}
CONSTANTS: Final[dict[str, list[tuple[Any, ...]]]] = {
    "ROUND TO": [(0,), (2,), (15,)],
    "CLAMP": [(0, 1), (Fraction(1, 10), Fraction(10) ** 300), (0, 2**63)],
    "WIDTH_BUCKET": [(0, 1, 1), (Fraction(1, 10), 10**18, 10**6), (0, Fraction(10) ** 300, 7)],
    "LIKE": [("%",), ("_%a\\",), ("",)],
    "ILIKE": [("%İ%",), ("ß",)],
    "LIKE ESCAPE": [("!%!_!!%", "!"), ("", "\\")],
    "ILIKE ESCAPE": [("%\\_ß", "\\")],
    "STARTS_WITH": [("",), ("e",), ("😀",)],
    "ENDS_WITH": [("",), ("e",), ("😀",)],
    "CONTAINS": [("",), ("e\u0301",), ("😀",)],
    **{f"DATE_ADD month {kind}": [(0,), (1,), (-13,), (120_000,), (-120_000,)] for kind in ("DATE", "TIMESTAMP")},
    **{f"DATE_ADD day {kind}": [(0,), (-1,), (4_000_000,), (-4_000_000,)] for kind in ("DATE", "TIMESTAMP")},
    "DATE_ADD second TIMESTAMP": [(1,), (4_000_000 * 86_400,), (-4_000_000 * 86_400,)],
    "DAYS AFTER": [(date(1, 1, 1),), (date(2024, 2, 29),), (date(9999, 12, 31),)],
    "MINUTES AFTER": [(datetime(1, 1, 1),), (datetime(9999, 12, 31, 23, 59),)],
    "STRFTIME": [("%Y-%m-%d %H:%M:%S",), ("%y %j %B %b %A %a %u %V %%",), ("x",)],
    "SUBSTR": [(0,), (1,), (10**6,)],
    "SUBSTR TO": [(0, 3), (1, 10**6), (10**6, 10**6)],
}
POLICY = "\n".join(
    ["[tables.t]", 'source = "t.csv"', 'unit = "row"', "[tables.t.columns]"]
    + [f'{column} = {{ type = "{kind.value}" }}' for kind, column in COLUMNS.items()]
)


def test_there_are_at_least_sixty_poisons() -> None:
    assert sum(len(values) for values in POISON.values()) >= 60


@pytest.fixture(scope="module")
def engine() -> Iterator[Memory]:
    """All poisons in the private copy: column by column, filled up with NULL."""
    longest = max(map(len, POISON.values()))
    rows = [
        {COLUMNS[kind]: values[place] if place < len(values) else None for kind, values in POISON.items()}
        for place in range(longest)
    ]
    found = Memory(policy_of(POLICY), {"t": rows})
    yield found
    found.close()


def test_columns_hold_normal_values(engine: Memory) -> None:
    assert f"> {TEXT_LENGTH} " in STORED["text"]
    assert f", {TEXT_LENGTH})" in STORED["text"]
    for kind, column in COLUMNS.items():
        assert not abnormal(engine, Expr(composed.name("x0"), Domain(kind)), [kind]), column
    longest = f"SELECT MAX(LENGTH({COLUMNS[Kind.TEXT]})), MAX(strlen({COLUMNS[Kind.TEXT]})) FROM t"
    assert engine.execute(longest) == [(TEXT_LENGTH, 4 * TEXT_LENGTH)]


# which arguments a function takes

KINDS: Final = {"n": [Kind.NUMBER, Kind.INTEGER], "t": [Kind.TEXT], "b": [Kind.BOOLEAN], "d": [Kind.DATE, Kind.TIMESTAMP],
                "i": [Kind.INTEGER], "a": list(Kind), "s": list(Kind)}  # fmt: skip


def shapes(function: Function) -> list[str]:
    """The letters of the arguments, with a repeated one twice."""
    takes = function.takes
    if takes == "(bs)*s":
        return ["bss", "bsbss"]
    return [takes[:-1], takes[:-1] + takes[-2]] if takes.endswith("*") else [takes]


def kinds_of(function: Function, letters: str) -> list[tuple[Kind, ...]]:
    """The kinds of arguments to try: those that must be alike are alike."""
    if function.name.startswith("DATE_TRUNC"):
        return [(Kind.TIMESTAMP if function.name.endswith("TIMESTAMP") else Kind.DATE,)]
    found = []
    for alike in Kind if "s" in letters else [Kind.NUMBER]:
        free = [[alike] if letter == "s" else KINDS[letter] for letter in letters if letter != "c"]
        found += list(itertools.product(*free))
    return list(dict.fromkeys(found))


def calls(function: Function) -> Iterator[tuple[Expr, list[Kind]]]:
    """The function on columns x0, x1, … and constants, in every combination of kinds."""
    for letters in shapes(function):
        for kinds in kinds_of(function, letters):
            for constants in CONSTANTS.get(function.name, [()]) if "c" in letters else [()]:
                columns = [Expr(composed.name(f"x{place}"), Domain(kind)) for place, kind in enumerate(kinds)]
                given = [*columns, *(Expr.literal(value) for value in constants)]
                yield apply(function.name, given), list(kinds)


def crossed(kinds: Sequence[Kind]) -> str:
    """Every combination of poisons, as columns x0, x1, …"""
    parts = [f"(SELECT DISTINCT {COLUMNS[kind]} AS x{place} FROM t) AS p{place}" for place, kind in enumerate(kinds)]
    return " CROSS JOIN ".join(parts)


def abnormal(engine: Memory, expr: Expr, kinds: Sequence[Kind]) -> int:
    """Rows that give −0.0, NaN or a text that is too long."""
    tests = {
        Kind.TEXT: f"length(v) > {expr.domain.length}",
        **dict.fromkeys(NUMERIC, "isnan(v::DOUBLE) OR (v = 0 AND signbit(v::DOUBLE))"),
    }
    test = tests.get(expr.domain.kind) if expr.domain.kind else None
    if test is None:
        return 0
    query = f"SELECT COUNT(*) FILTER (WHERE {test}) FROM (SELECT {expr.sql.text} AS v FROM {crossed(kinds)})"
    return int(engine.execute(query)[0][0])


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_no_row_raises_and_the_null_rule_is_true(engine: Memory, function: Function) -> None:
    tried = 0
    for expr, kinds in calls(function):
        inputs = [f"x{place}" for place in range(len(kinds))]
        present = " AND ".join(f"{column} IS NOT NULL" for column in inputs)
        query = (
            f"SELECT COUNT(*), COUNT(*) FILTER (WHERE v IS NULL), COUNT(*) FILTER (WHERE v IS NULL AND everything) "
            f"FROM (SELECT {expr.sql.text} AS v, {present} AS everything FROM {crossed(kinds)})"
        )
        rows, nulls, made = engine.execute(query)[0]
        tried += rows
        known = [argument.domain.but(certain=True) for argument in expr.arguments]
        if function.domain(known).certain:
            assert made == 0, f"{expr.sql.text} makes NULL of what is not NULL"
        if function.domain([argument.domain for argument in expr.arguments]).certain:
            assert nulls == 0, f"{expr.sql.text} gives NULL"
    assert tried >= 2


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_what_leaves_a_function_is_normal(engine: Memory, function: Function) -> None:
    for expr, kinds in calls(function):
        assert not abnormal(engine, expr, kinds), expr.sql.text


@pytest.mark.parametrize(
    "outer", [function for function in FUNCTIONS.values() if function.chained], ids=lambda f: f.name
)
def test_what_leaves_a_chain_is_normal(engine: Memory, outer: Function) -> None:
    """Chained functions take what others compute before it is made normal, so they are tried on every one of them."""
    columns = [Expr(composed.name(f"x{place}"), Domain(Kind.NUMBER)) for place in range(2)]
    tried = 0
    for inner in FUNCTIONS.values():
        if inner.result not in (Result.DOUBLE, Result.UNSURE) or set(inner.takes) - {"n"}:
            continue
        below = apply(inner.name, columns[: len(inner.takes)])
        for given in ([below, columns[0]], [columns[0], below]):
            expr = apply(outer.name, given)
            plain = outer.form([composed.sql("CAST({} AS DOUBLE)", part.sql) for part in given])
            other = outer.normal(plain, expr.domain)
            rows = f"SELECT {expr.sql.text} AS v, {other.text} AS w FROM {crossed([Kind.NUMBER, Kind.NUMBER])}"
            wrong = "v IS DISTINCT FROM w OR isnan(v) OR (v = 0 AND signbit(v))"
            assert engine.execute(f"SELECT COUNT(*) FROM ({rows}) WHERE {wrong}") == [(0,)], expr.sql.text
            tried += 1
    assert tried > 20


def test_functions_give_what_they_say(engine: Memory) -> None:
    types = {
        Result.DOUBLE: {"DOUBLE"}, Result.UNSURE: {"DOUBLE"}, Result.TEXT: {"VARCHAR"},
        Result.EXACT: {"BIGINT", "BOOLEAN", "DATE", "TIMESTAMP"},
    }  # fmt: skip
    for function in FUNCTIONS.values():
        for expr, kinds in calls(function):
            assert expr.computed is not None
            if function.result is Result.CHOICE:
                kind = expr.arguments[-1].domain.kind
                wanted = {TYPES[kind or Kind.TEXT], *(["DOUBLE"] if kind in NUMERIC else [])}
            else:
                wanted = types[function.result]
            (found,) = engine.execute(f"SELECT typeof({expr.computed.text}) FROM {crossed(kinds)} LIMIT 1")[0]
            assert found in wanted, (function.name, expr.computed.text)


def test_no_form_uses_a_macro(engine: Memory) -> None:
    """A macro puts in its argument as often as it likes: nested, the engine's plan grows exponentially."""
    macros = {
        row[0].lower()
        for row in engine.execute("SELECT function_name FROM duckdb_functions() WHERE function_type = 'macro'")
    }
    assert "nullif" in macros
    for function in FUNCTIONS.values():
        for expr, _ in calls(function):
            assert not {word.lower() for word in re.findall(r"(\w+)\(", expr.sql.text)} & macros, expr.sql.text


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_values_have_the_python_type_of_the_kind(engine: Memory, function: Function) -> None:
    types = {
        Kind.INTEGER: (int, float), Kind.NUMBER: (int, float), Kind.TEXT: (str,), Kind.BOOLEAN: (bool,),
        Kind.DATE: (date,), Kind.TIMESTAMP: (datetime,),
    }  # fmt: skip
    for expr, kinds in calls(function):
        if expr.domain.kind is None or len(kinds) > 2:
            continue
        for (value,) in engine.execute(f"SELECT DISTINCT {expr.sql.text} FROM {crossed(kinds)} LIMIT 50"):
            assert value is None or isinstance(value, types[expr.domain.kind]), (expr.sql, value)
            if value is not None and expr.domain.kind is Kind.DATE:
                assert not isinstance(value, datetime)


# interval rules


def away(x: Fraction) -> Fraction:
    steps = math.floor(abs(x) + Fraction(1, 2))
    return Fraction(steps if x >= 0 else -steps)


def remainder(x: Fraction, y: Fraction) -> Fraction | None:
    """With the sign of x."""
    if y == 0:
        return None
    return x - y * math.trunc(x / y)


TRUE_VALUES: Final[dict[str, Callable[..., Fraction | None]]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: None if y == 0 else x / y,
    "//": lambda x, y: None if y == 0 else Fraction(math.trunc(x / y)),
    "%": remainder,
    "NEGATE": lambda x: -x,
    "ABS": abs,
    "ROUND": away,
    "FLOOR": lambda x: Fraction(math.floor(x)),
    "CEIL": lambda x: Fraction(math.ceil(x)),
    "LEAST": min,
    "GREATEST": max,
    "CAST INTEGER": lambda x: Fraction(round(x)),
    "CAST NUMBER": lambda x: x,
    "NULLIF": lambda x, y: None if x == y else x,
    "COALESCE": lambda x, _: x,
}
"""What each function means, over fractions."""


def random_edge(dice: random.Random, *, whole: bool) -> Fraction:
    if whole:
        return Fraction(dice.choice([0, 1, -1, 2, dice.randint(-50, 50), dice.randint(-(10**12), 10**12)]))
    value = dice.choice(
        [0.0, 0.5, -0.5, 1.0, -1.0, 2.5, 0.1, dice.uniform(-3, 3), dice.uniform(-1e3, 1e3), dice.uniform(-1e150, 1e150),
         dice.uniform(-1e-9, 1e-9), float(dice.randint(-9, 9)) / 10]
    )  # fmt: skip
    return Fraction(value)


def random_domain(dice: random.Random, *, whole: bool | None = None) -> Domain:
    whole = dice.random() < 0.4 if whole is None else whole
    low, high = sorted((random_edge(dice, whole=whole), random_edge(dice, whole=whole)))
    kind = Kind.INTEGER if whole else Kind.NUMBER
    return Domain(kind, low, high, certain=dice.random() < 0.5)


def random_point(dice: random.Random, inside: Domain) -> Fraction:
    assert inside.bounded
    low, high = inside.bounded
    if inside.kind is Kind.INTEGER:
        return Fraction(dice.choice([int(low), int(high), dice.randint(int(low), int(high))]))
    share = Fraction(dice.choice([0.0, 1.0, 0.5, dice.random()]))
    point = Fraction(float(low + share * (high - low)))
    return min(max(point, low), high)


def within(value: Fraction, found: Domain) -> bool:
    low, high = found.numbers
    return (low is None or low <= value) and (high is None or value <= high)


BUG_CAST = "CAST rounds half to even in DuckDB, and its interval rule rounds half away from zero"


@pytest.mark.parametrize("label", list(TRUE_VALUES))
def test_true_values_never_leave_the_domain(label: str) -> None:
    function, true = FUNCTIONS[label], TRUE_VALUES[label]
    dice = random.Random(label)
    count = len(function.takes.rstrip("*")) + function.takes.endswith("*") * (
        label in ("LEAST", "GREATEST", "COALESCE")
    )
    for _ in range(400):
        domains = [random_domain(dice, whole=True if label == "//" else None) for _ in range(count)]
        found = function.domain(domains)
        for _ in range(3):
            points = [random_point(dice, inside) for inside in domains]
            value = true(*points)
            if value is None:
                assert not found.certain
                continue
            assert within(value, found), (label, domains, points, value, found)
            assert found.kind is not Kind.INTEGER or value.denominator == 1


def test_choices_that_leave_nulls_out_stay_in_their_domain() -> None:
    """LEAST and GREATEST skip what is NULL: only an argument that is certain may bound them alone."""
    dice = random.Random(3)
    for _ in range(1000):
        domains = [random_domain(dice) for _ in range(dice.randint(2, 4))]
        points = [random_point(dice, inside) if inside.certain or dice.random() < 0.5 else None for inside in domains]
        given = [point for point in points if point is not None]
        if given:
            assert within(min(given), FUNCTIONS["LEAST"].domain(domains))
            assert within(max(given), FUNCTIONS["GREATEST"].domain(domains))
            first = next(point for point in points if point is not None)
            assert within(first, FUNCTIONS["COALESCE"].domain(domains))


COMPUTED: Final = [
    *(
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "NEGATE",
        "ABS",
        "ROUND",
        "ROUND TO",
        "FLOOR",
        "CEIL",
        "SQRT",
        "EXP",
        "LN",
        "LOG10",
    ),
    *("LOG", "POWER", "LEAST", "GREATEST", "CLAMP", "WIDTH_BUCKET", "CASE", "COALESCE", "NULLIF", "CAST INTEGER"),
    "CAST NUMBER",
]


def constants_for(dice: random.Random, label: str) -> list[Fraction | int]:
    if label == "ROUND TO":
        return [dice.randint(0, 6)]
    if label in ("CLAMP", "WIDTH_BUCKET"):
        low = dice.choice([Fraction(0), Fraction(1), Fraction(dice.randint(0, 99), 10)])
        high = low + dice.choice([Fraction(1), Fraction(10), Fraction(dice.randint(1, 99), 7)])
        return [low, high] if label == "CLAMP" else [low, high, dice.choice([1, 2, 10, 100, 1000])]
    return []


def numeric_call(dice: random.Random, label: str) -> tuple[Expr, list[Domain]]:
    """A function on columns x0, x1, … with random bounds."""
    count = {"LEAST": 2, "GREATEST": 2, "COALESCE": 2, "CASE": 3}.get(label, FUNCTIONS[label].takes.count("n"))
    count = {"NULLIF": 2, "CAST INTEGER": 1, "CAST NUMBER": 1, "//": 2}.get(label, count)
    domains = [random_domain(dice, whole=True if label == "//" else None) for _ in range(count)]
    columns = [Expr(composed.name(f"x{place}"), inside) for place, inside in enumerate(domains)]
    if label == "CASE":
        return apply(label, [apply("<", [columns[0], columns[1]]), columns[1], columns[2]]), domains
    if label == "POWER":
        powers: list[int | Fraction] = [0, 1, 2, 3, 5, Fraction(1, 2), Fraction(5, 2)]
        power = Expr.literal(dice.choice(powers))
        return apply(label, [columns[0], power]), domains[:1]
    return apply(label, [*columns, *(Expr.literal(value) for value in constants_for(dice, label))]), domains


def slack(edge: Fraction, label: str) -> Fraction:
    """What one rounding to float64 can add to an edge; before FLOOR, a whole step."""
    if label in ("//", "WIDTH_BUCKET"):
        return Fraction(1)
    if label == "ROUND TO":
        return abs(edge) / 2**48
    return max(abs(edge) / 2**52, Fraction(1, 10**300))


@pytest.mark.parametrize("label", COMPUTED)
def test_computed_values_stay_in_the_domain_up_to_one_rounding(label: str) -> None:
    dice = random.Random(label)
    with plain() as connection:
        for _ in range(30):
            expr, domains = numeric_call(dice, label)
            points = [[random_point(dice, inside) for inside in domains] for _ in range(12)]
            lines = ", ".join(
                f"({', '.join(number(value, d) for value, d in zip(row, domains, strict=True))})" for row in points
            )
            columns = ", ".join(f"x{place}" for place in range(len(domains)))
            rows = connection.execute(
                f"SELECT {expr.sql.text}, {columns} FROM (VALUES {lines}) AS t({columns})"
            ).fetchall()
            low, high = expr.domain.numbers
            for value, *inputs in rows:
                if value is None or math.isinf(value):
                    continue
                exact = Fraction(value)
                assert low is None or low - slack(low, label) <= exact, (expr.sql, domains, inputs, value, float(low))
                assert high is None or exact <= high + slack(high, label), (
                    expr.sql,
                    domains,
                    inputs,
                    value,
                    float(high),
                )
                assert expr.domain.kind is not Kind.INTEGER or exact.denominator == 1


@pytest.mark.parametrize(
    ("label", "low", "constants"), [("WIDTH_BUCKET", "0.57", ["0", "1", "100"]), ("FLOOR", "0.3", [])]
)
def test_a_row_at_the_declared_bound_has_a_listed_key(label: str, low: str, constants: list[str]) -> None:
    inside = Domain(Kind.NUMBER, Fraction(low), Fraction(1))
    given = [Expr.literal(int(text) if text.isdecimal() else Fraction(text)) for text in constants]
    expr = apply(label, [Expr(composed.name("x"), inside), *given])
    with plain() as connection:
        (key,) = connection.execute(f"SELECT {expr.sql.text} FROM (SELECT {low}::DOUBLE AS x)").fetchall()[0]
    assert key in list(expr.loosened().keys())


def number(value: Fraction, inside: Domain) -> str:
    return f"{int(value)}::BIGINT" if inside.kind is Kind.INTEGER else f"{literal(value)}::DOUBLE"


def test_results_are_multiples_of_the_step_that_is_promised() -> None:
    dice, step = random.Random(8), Fraction(1, 4)
    stepped = Domain(Kind.NUMBER, Fraction(-10), Fraction(10), step=step)
    whole = Domain(Kind.INTEGER, Fraction(-3), Fraction(3))
    odd = Domain(Kind.NUMBER, Fraction(0), Fraction(1))
    test = Domain(Kind.BOOLEAN)
    for parts in itertools.product(
        [stepped, whole, odd, Domain.of(Fraction(1, 2)), Domain.of(Fraction(1, 3))], repeat=2
    ):
        for label, arguments in (("CASE", [test, *parts]), ("COALESCE", list(parts))):
            found = FUNCTIONS[label].domain(arguments)
            if found.step is not None:
                for part in parts:
                    points = [random_point(dice, part) for _ in range(9)] if part in (whole, odd) else [part.low]
                    assert all(isinstance(p, Fraction) and (p / found.step).denominator == 1 for p in points), parts
    assert FUNCTIONS["NEGATE"].domain([stepped]).step == step
    assert FUNCTIONS["CLAMP"].domain([stepped, Domain.of(Fraction(1, 2)), Domain.of(7)]).step == step
    assert FUNCTIONS["CLAMP"].domain([stepped, Domain.of(Fraction(1, 3)), Domain.of(7)]).step is None
    for label in ("+", "-", "*", "/"):
        assert FUNCTIONS[label].domain([stepped, stepped]).step is None


# dates


DATE_FUNCTIONS = [label for label, function in FUNCTIONS.items() if function.takes in ("d", "dd")] + [
    "CAST DATE",
    "CAST TIMESTAMP",
]


def random_moment(dice: random.Random) -> datetime:
    if dice.random() < 0.3:
        return dice.choice(
            [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59), datetime(2024, 2, 29), datetime(2000, 1, 1)]
        )
    return datetime(1900, 1, 1) + timedelta(minutes=dice.randint(0, 200 * 365 * 24 * 60))


def span(dice: random.Random, kind: Kind, *, short: bool) -> tuple[Domain, Any]:
    """A domain of dates or times, and a point in it."""
    first = random_moment(dice)
    longest = timedelta(days=60) if short else timedelta(days=10_000)
    last = (
        min(datetime.max - timedelta(days=2), first) + longest * dice.random()
        if first < datetime(9000, 1, 1)
        else first
    )
    share = dice.choice([0.0, 1.0, dice.random()])
    point = first + (last - first) * share
    if kind is Kind.DATE:
        return Domain(kind, first.date(), last.date()), point.date()
    return Domain(kind, first, last), point


BUG_DIFFERENCE = "far from zero the shortest year, quarter and month bound a difference on the wrong side"


@pytest.mark.parametrize("label", DATE_FUNCTIONS)
def test_dates_stay_in_their_domain(label: str) -> None:
    function, dice = FUNCTIONS[label], random.Random(label)
    fixed = label.rpartition(" ")[2].lower()
    count = len(function.takes)
    with plain() as connection:
        for _ in range(15 if "minute" in label or "hour" in label else 60):
            kind = Kind(fixed) if label.startswith("DATE_TRUNC") else dice.choice([Kind.DATE, Kind.TIMESTAMP])
            pairs = [span(dice, kind, short=label.startswith("DATE_TRUNC")) for _ in range(count)]
            expr = apply(label, [Expr(composed.literal(point), inside) for inside, point in pairs])
            (value,) = connection.execute(f"SELECT {expr.sql.text}").fetchall()[0]
            found, given = expr.domain, (label, pairs, value)
            if value is None:
                assert not found.certain, given
            elif found.kind in DATED:
                assert found.low is None or found.low <= value <= found.high, given
                assert found.values is None or value in found.values, given
            else:
                assert within(Fraction(value), found), (*given, found)


# the grid


@pytest.mark.parametrize("whole", [True, False])
def test_whole_steps_are_null_or_integers_between_the_bounds(engine: Memory, *, whole: bool) -> None:
    dice = random.Random(whole)
    columns = [f"CAST({COLUMNS[Kind.NUMBER]} AS DOUBLE)", COLUMNS[Kind.INTEGER], f"-{COLUMNS[Kind.NUMBER]} * 1e300"]
    limit = 2**62 if whole else 2**52
    for _ in range(60):
        low, high = sorted(dice.choice([0, 1, -1, limit, -limit, dice.randint(-limit, limit), dice.randint(-9, 9)])
                           for _ in range(2))  # fmt: skip
        step = None if whole else dice.choice([Fraction(1, 100), Fraction(1, 2**30), Fraction(7), Fraction(1, 3)])
        for column in columns:
            text = whole_steps(column, step, low, high)
            for value, kind, given in engine.execute(f"SELECT {text}, typeof({text}), {column} FROM t"):
                assert kind in ("BIGINT", "HUGEINT"), text
                assert (value is None) == (given is None), (text, given)
                assert value is None or low <= value <= high, (text, given, value)


def test_whole_steps_round_half_up_to_the_nearest() -> None:
    dice = random.Random(1)
    with plain() as connection:
        for _ in range(300):
            step = dice.choice([Fraction(1, 4), Fraction(1, 1024), Fraction(2)])
            value = Fraction(dice.randint(-(10**6), 10**6), 2**12)
            text = whole_steps(f"{literal(value)}", step, -(10**9), 10**9)
            (found,) = connection.execute(f"SELECT {text}").fetchall()[0]
            assert found == math.floor(value / step + Fraction(1, 2))
