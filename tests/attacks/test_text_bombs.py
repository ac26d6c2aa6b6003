"""The analyst doubles a text until one row makes gigabytes of it: that row's question fails, or lasts longer.

Worse, DuckDB then refuses all that follows ("database has been invalidated") until it is started again, and does not
look at interrupts while it makes a text. A person with a cell of megabytes does so to questions that mean no harm.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import discreet
from discreet import composed
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.errors import QueryFailed, Refused
from discreet.exit.sampler import Sampler
from discreet.policy import Kind, PolicyError
from discreet.policy.read import parse
from discreet.quoting import TEXT_LENGTH
from discreet.sql.apply import apply
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from tests.sql.worlds import HEAD, ledger_of, opened, policy_of, quiet

TABLE: Final = """
[tables.t]
source = "t.csv"
unit = "id"
[tables.t.columns]
s = { type = "text" }
n = { type = "integer", min = 0, max = 9 }
"""
ROWS: Final = [
    {"id": i, "s": text, "n": i} for i, text in enumerate(("a", "ab" * 700, "ß" * 999, "😀" * 1024, "", None))
]
LEVELS: Final = 40
DOUBLED: Final = {
    "||": ("s || s", 40),
    "CONCAT": ("CONCAT(s, s)", 40),
    "many": ("CONCAT(s, s, s, s, s, s, s, s)", 7),
    "case": ("UPPER(s) || LOWER(s)", 40),
    "cast": ("CAST(s || s AS VARCHAR) || CAST(n AS VARCHAR)", 20),
    "choice": ("COALESCE(NULLIF(s || s, 'x'), CONCAT(s, 'y'))", 14),
    "window": ("LAG(s || s, 0) OVER (PARTITION BY id ORDER BY n)", 20),
}
"""Ways to make a text longer, and how often."""


@pytest.fixture(scope="module")
def curator() -> Iterator[Curator]:
    with opened(policy_of(TABLE), {"t": ROWS}) as found:
        yield found


def bomb(asked: str, grown: str, levels: int) -> str:
    """A question about t, after so many steps that make its texts grow."""
    steps = [f"t{step + 1} AS (SELECT id, n, {grown} AS s FROM t{step or ''})" for step in range(levels)]
    return f"WITH {', '.join(steps)} {asked} FROM t{levels}"


@pytest.mark.parametrize("way", DOUBLED)
def test_texts_stop_growing(curator: Curator, way: str) -> None:
    """Up to 2⁴⁰ times as long, if they did not."""
    asked = "SELECT SUM(CLAMP(LENGTH(s), 0, 1000000000)) AS total, COUNT_IF(LENGTH(s) > 1024) AS longer"
    total, longer = curator.query(bomb(asked, *DOUBLED[way]), epsilon=1).rows[0]
    assert longer == 0
    assert 4 * TEXT_LENGTH <= total <= 6 * TEXT_LENGTH


def test_bombs_of_many_levels_are_answered_or_refused(curator: Curator) -> None:
    with pytest.raises(Refused, match="too-complex"):
        curator.query(bomb("SELECT COUNT_IF(s = 'a')", "s || s", 80), epsilon=1)
    doubled = "s"
    for _ in range(8):
        doubled = f"({doubled} || {doubled})"
    with pytest.raises(Refused, match="too-complex"):
        curator.query(f"SELECT COUNT(DISTINCT {doubled}) FROM t", epsilon=1)
    with pytest.raises(Refused, match=r"1,024 characters"):
        curator.query(f"SELECT COUNT(*) FROM t WHERE s = '{'a' * (TEXT_LENGTH + 1)}'", epsilon=1)
    with pytest.raises(Refused, match=r"1,024 characters"):
        curator.query("SELECT COUNT(*) FROM t WHERE s = $s", epsilon=1, params={"s": "a" * (TEXT_LENGTH + 1)})


def test_patterns_that_need_many_steps_are_refused(curator: Curator) -> None:
    """With _ a text of n characters takes n·m steps; many searches of one row add up."""
    long = "%" + "a" * 64 + "_b%"
    for search in ("LIKE", "ILIKE"):
        with pytest.raises(Refused, match="64 characters"):
            curator.query(f"SELECT COUNT(*) FROM t WHERE s {search} '{long}'", epsilon=1)
        plain = curator.query(f"SELECT COUNT(*) FROM t WHERE s {search} '{long.replace('_', '')}'", epsilon=1)
        assert plain.rows == [(0,)]
        many = " OR ".join([f"s {search} '%a_b%'"] * 40)
        with pytest.raises(Refused, match="too-complex"):
            curator.query(f"SELECT COUNT(*) FROM t WHERE {many}", epsilon=1)
    assert curator.query("SELECT COUNT(*) FROM t WHERE s ILIKE '%Ba_%'", epsilon=1).rows == [(1,)]
    lengths = " + ".join(f"LENGTH(SUBSTR(s, {place}))" for place in range(1, 400))
    with pytest.raises(Refused, match="too-complex"):
        curator.query(f"SELECT COUNT_IF({lengths} > 7) FROM t", epsilon=1)


FORMS: Final[dict[str, tuple[int, Callable[..., str]]]] = {
    "||": (2, lambda a, b: a + b),
    "CONCAT": (3, lambda a, b, c: a + b + c),
    "UPPER": (1, lambda a: a),
    "LOWER": (1, lambda a: a),
    "TRIM": (1, lambda a: a.strip(" ")),
    "CAST TEXT": (1, lambda a: a),
    "COALESCE": (2, lambda a, _: a),
}
"""What each means for texts without letters that have a case."""


def test_no_row_makes_more_than_two_texts_of_what_it_holds() -> None:
    """Before a text is cut it has at most twice as many characters, whatever is nested; what is left is a prefix."""
    dice = random.Random(7)
    texts = ["", "12", " 3 ", "7" * 600, "😀" * 700, "…" * TEXT_LENGTH]
    engine = Memory(policy_of(TABLE), {"t": [{"id": i, "s": text, "n": i} for i, text in enumerate(texts)]})

    def tree(depth: int) -> tuple[Expr, list[str]]:
        if not depth or dice.random() < 0.15:
            return Expr(composed.name("s"), Domain(Kind.TEXT)), texts
        form = dice.choice(list(FORMS))
        count, meaning = FORMS[form]
        parts = [tree(depth - 1) for _ in range(count)]
        values = [meaning(*row)[:TEXT_LENGTH] for row in zip(*(found for _, found in parts), strict=True)]
        return apply(form, [expr for expr, _ in parts]), values

    for _ in range(12):
        expr, wanted = tree(4)
        below, most = [expr], []
        while below:
            node = below.pop()
            below.extend(node.arguments)
            most += [] if node.computed is None else [f"MAX(LENGTH({node.computed.text}))"]
            assert node.domain.length <= TEXT_LENGTH
        rows = engine.execute(f"SELECT {expr.sql.text} FROM t ORDER BY n")
        assert [row[0] for row in rows] == wanted
        assert all(length <= 2 * TEXT_LENGTH for length in engine.execute(f"SELECT {', '.join(most) or 0} FROM t")[0])
    engine.close()


def test_letters_are_replaced_one_by_one() -> None:
    """UPPER and LOWER need no cut: that would be false of an engine that makes SS of ß."""
    engine = Memory(policy_of(TABLE), {})
    letters = "SELECT chr(i::INTEGER) AS c FROM range(1, 1114112) AS t(i) WHERE i NOT BETWEEN 55296 AND 57343"
    found = engine.execute(
        f"SELECT MAX(LENGTH(UPPER(c))), MAX(LENGTH(LOWER(c))), MAX(LENGTH(TRIM(c))) FROM ({letters})"
    )
    assert found == [(1, 1, 1)]
    engine.close()


def test_a_cell_of_a_megabyte_is_cut_when_it_is_read(tmp_path: Path) -> None:
    head = HEAD.replace("epsilon = 3", "epsilon = 300")
    (tmp_path / "t.csv").write_text("id,s,n\n1,a,1\n2," + "b" * 1_000_000 + ",2\n", encoding="utf-8")
    (tmp_path / "world.toml").write_text(head + TABLE, encoding="utf-8")
    with discreet.open(tmp_path / "world.toml") as found:
        found._exit._sampler = Sampler(add_noise=quiet)
        assert found.query("SELECT SUM(CLAMP(LENGTH(s), 0, 9999999)) FROM t", epsilon=1).rows == [(1 + TEXT_LENGTH,)]


def test_declared_values_are_no_longer_than_texts() -> None:
    declared = TABLE.replace('s = { type = "text" }', 's = { values = ["%s"] }')
    parse((HEAD + declared % ("a" * TEXT_LENGTH)).encode(), Path("/nowhere/world.toml"))
    with pytest.raises(PolicyError, match="1,024 characters"):
        parse((HEAD + declared % ("a" * (TEXT_LENGTH + 1))).encode(), Path("/nowhere/world.toml"))


class Mortal(Memory):
    """An engine that dies of the next question."""

    doomed = False

    def execute(self, text: str, seconds: float | None = None) -> list[tuple[Any, ...]]:
        if self.doomed and self._connection is not None:
            self._connection.close()
            self.doomed = False
        return super().execute(text, seconds)


def test_a_dead_engine_fails_one_question_and_answers_the_next() -> None:
    policy = policy_of(TABLE)
    engine = Mortal(policy, {"t": ROWS})
    with (
        ledger_of(policy) as ledger,
        Curator(policy, ledger, engine=engine, sampler=Sampler(add_noise=quiet)) as curator,
    ):
        assert curator.query("SELECT COUNT(*) FROM t", epsilon=1).rows == [(6,)]
        engine.doomed = True
        with pytest.raises(QueryFailed) as failed:
            curator.query("SELECT COUNT(*) FROM t WHERE n > 2", epsilon=1)
        assert str(failed.value) == str(QueryFailed())
        assert [entry.answered for entry in curator.entries()] == [True, False]
        assert curator.query("SELECT COUNT(*) FROM t WHERE n > 2", epsilon=1).rows == [(3,)]
    engine.close()
