"""Every form of SQL is answered as DuckDB answers it, or refused for nothing; never differently without a word.

What is said (docs/guide/language.md) and allowed for here: no row can make a function fail, so that what has no value
is NULL, where DuckDB has NaN, infinity or an error; a date that is cut stays a date, where DuckDB has its midnight;
arithmetic is that of float64, so that whole numbers beyond 2⁵³ are rounded in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from discreet.errors import Refused
from tests.sql.forms import EXPRESSIONS, PRIVATE, PUBLIC
from tests.sql.twins import Twins, twins

Row = tuple[Any, ...]
ELSEWHERE = {
    "TRUNCATE(x)": "TRUNC(x)",
    "i <=> j": "i IS NOT DISTINCT FROM j",
    "SELECT TOP 3 i FROM p ORDER BY id": "SELECT i FROM p ORDER BY id LIMIT 3",
    "SELECT COUNT(*) FROM t LEFT ANTI JOIN s ON t.person = s.person": (
        "SELECT COUNT(*) FROM t ANTI JOIN s ON t.person = s.person"
    ),
}
"""What others write and DuckDB does not know, in its words."""


@pytest.fixture(scope="module")
def world() -> Iterator[Twins]:
    with twins() as found:
        yield found


def alike(mine: Any, theirs: Any) -> bool:
    if isinstance(theirs, float) and not math.isfinite(theirs) and mine != theirs:
        theirs = None
    if mine is None or theirs is None:
        return mine is theirs
    if isinstance(mine, bool) or isinstance(theirs, bool):
        return mine is theirs
    if isinstance(mine, (int, float)) and isinstance(theirs, (int, float, Decimal)):
        if isinstance(mine, int) and isinstance(theirs, int):
            return mine == theirs
        return math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(theirs, datetime) and type(mine) is date:
        return datetime(mine.year, mine.month, mine.day) == theirs
    return bool(mine == theirs)


def same(mine: Sequence[Row], theirs: Sequence[Row], *, ordered: bool) -> bool:
    if not ordered:
        mine, theirs = sorted(mine, key=repr), sorted(theirs, key=repr)
    return len(mine) == len(theirs) and all(
        len(a) == len(b) and all(map(alike, a, b)) for a, b in zip(mine, theirs, strict=True)
    )


def asked(world: Twins, text: str) -> list[Row] | None:
    """The rows of an answer; None if it is refused, for nothing."""
    before = world.charges
    try:
        return world.curator.query(text, epsilon=300).rows
    except Refused:
        assert world.charges == before
        return None


@pytest.mark.long
def test_expressions(world: Twins) -> None:
    """Those that are answered are asked all at once, beside DuckDB's, which give NULL where they would fail."""
    taken = [text for text in EXPRESSIONS if _planned(world, text)]
    assert 260 < len(taken) < len(EXPRESSIONS) - 100
    for start in range(0, len(taken), 50):
        some = taken[start : start + 50]
        mine = asked(world, f"SELECT {_listed(some)} FROM p ORDER BY id")
        assert mine is not None
        tried = [text if "SELECT" in text else f"TRY({ELSEWHERE.get(text, text)})" for text in some]
        theirs = world.plain.execute(f"SELECT {_listed(tried)} FROM p ORDER BY id").fetchall()
        for place, text in enumerate(some):
            columns = ([(row[place],) for row in rows] for rows in (mine, theirs))
            assert same(*columns, ordered=True), (
                text,
                [(a[place], b[place]) for a, b in zip(mine, theirs, strict=True)],
            )


def _planned(world: Twins, text: str) -> bool:
    try:
        world.curator.preview(f"SELECT {text} AS _0 FROM p")
    except Refused:
        return False
    return True


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(f"{text} AS _{place}" for place, text in enumerate(texts))


@pytest.mark.parametrize("block", range(4))
def test_conditions_and_sums_over_private_rows(world: Twins, block: int) -> None:
    """The same expressions, over private rows: how many are true, or are there at all."""
    texts = [text for text in EXPRESSIONS[block::4] if "SELECT" not in text]
    taken = [text for text in texts if _counted(world, text)]
    assert len(taken) > 60
    mine = asked(world, f"SELECT {', '.join(f'COUNT({text}) AS _{n}' for n, text in enumerate(taken))} FROM t")
    tried = ", ".join(f"COUNT(TRY({ELSEWHERE.get(text, text)})) AS _{n}" for n, text in enumerate(taken))
    theirs = world.plain.execute(f"SELECT {tried} FROM t").fetchall()
    assert mine is not None
    meant = [ELSEWHERE.get(text, text) for text in taken]
    lost = [f"COUNT(CASE WHEN isfinite(TRY(CAST({text} AS DOUBLE))) THEN 1 END)" for text in meant]
    for place, text in enumerate(taken):
        if mine[0][place] != theirs[0][place]:  # what is not finite has no value here
            assert mine[0][place] == world.plain.execute(f"SELECT {lost[place]} FROM t").fetchall()[0][0], text


def _counted(world: Twins, text: str) -> bool:
    try:
        world.curator.preview(f"SELECT COUNT({text}) FROM t", epsilon=300)
    except Refused:
        return False
    return True


@pytest.mark.long
@pytest.mark.parametrize("kind", ["public", "private"])
def test_statements(world: Twins, kind: str) -> None:
    texts = PUBLIC if kind == "public" else PRIVATE
    answered = 0
    for text in texts:
        mine = asked(world, text)
        if mine is None:
            continue
        answered += 1
        try:
            theirs = world.plain.execute(ELSEWHERE.get(text, text)).fetchall()
        except duckdb.Error as error:
            pytest.fail(f"DuckDB does not answer this: {text}: {error}")
        assert same(mine, theirs, ordered="ORDER BY" in text), (text, mine[:3], theirs[:3])
    assert answered > 0.3 * len(texts)


@pytest.mark.parametrize(
    "text", ["big + 0", "big * 1", "0 + big", "-(-big)", "ABS(big)", "LEAST(big, big)", "GREATEST(big, big)", "big - 0"]
)
def test_arithmetic_rounds_whole_numbers_beyond_floats_and_no_others(world: Twins, text: str) -> None:
    mine = asked(world, f"SELECT {text} FROM p ORDER BY id")
    theirs = world.plain.execute("SELECT big FROM p ORDER BY id").fetchall()
    assert mine is not None
    for (found,), (exact,) in zip(mine, theirs, strict=True):
        wanted = abs(exact) if exact is not None and "ABS" in text else exact
        assert found == (None if wanted is None else float(wanted))
