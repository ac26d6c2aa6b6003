"""With noise off, what is made of several releases is what DuckDB makes of their rows: grouping sets, UNION, windows,
and statistics over released values, asked of generated policies.

Every release by itself is compared with DuckDB in `test_generated_policies`. Here its rows go into a plain table, and
the SELECT around them runs there as well. Each question is asked again without one unit: no vector of integers may move
further than its sensitivity, however many releases there are in it.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pytest

from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.errors import Refused
from tests.plain import fill, plain
from tests.sql.policies import Maker, World
from tests.sql.test_generated_policies import COSTS, Cell, Question, Watch, question, within_sensitivity
from tests.sql.worlds import ledger_of

Rows = list[Cell]


@dataclass
class Watched(Watch):
    """Likewise for several selections: with a script, those of another run, in turn."""

    script: Sequence[Sequence[Cell]] = ()
    selections: list[Sequence[Cell]] = field(default_factory=list)

    def _select(self, mechanism: Any, exact: Mapping[Cell, int], bits: Any) -> Mapping[Cell, int]:  # noqa: ARG002
        turn = len(self.selections)
        self.selections.append(self.script[turn] if turn < len(self.script) else list(exact))
        return {cell: exact.get(cell, 0) for cell in self.selections[-1]}


@dataclass
class Asked:
    """A curator that answers one text after another, each watched by itself."""

    world: World
    engine: Memory

    def ask(self, text: str, script: Sequence[Sequence[Cell]] = ()) -> tuple[Rows, Watched]:
        watch = Watched(script=script)
        with ledger_of(self.world.policy) as ledger:
            curator = Curator(self.world.policy, ledger, engine=self.engine, sampler=watch.door)
            cost = COSTS[self.world.private_keys]
            return curator.query(text, epsilon=cost, fresh=True, dialect="duckdb").rows, watch


def text_of(asked: Question, keys: Sequence[int], grouping: str) -> str:
    """The question with some of its keys."""
    shown = [f"{asked.keys[place].text} AS g{place}" for place in keys]
    shown += [f"{item.text} AS v{place}" for place, item in enumerate(asked.aggregates)]
    tests = [*([asked.source.where] if asked.source.where else []), f"({asked.where.text})"]
    where = " AND ".join(tests)
    source = asked.source
    return f"{source.before}SELECT {source.options}{', '.join(shown)} FROM {source.text} WHERE {where}{grouping}"


def sets(dice: random.Random, count: int) -> tuple[str, list[tuple[int, ...]]]:
    """A GROUP BY of several sets, and the sets that it stands for."""
    every = tuple(range(count))
    names = ", ".join(str(place + 1) for place in every)
    kind = dice.choice(["ROLLUP", "CUBE", "GROUPING SETS"])
    if kind == "ROLLUP":
        return f" GROUP BY ROLLUP ({names})", [every[:length] for length in range(count, -1, -1)]
    subsets = [chosen for length in range(count, -1, -1) for chosen in itertools.combinations(every, length)]
    if kind == "CUBE":
        return f" GROUP BY CUBE ({names})", subsets
    chosen = [every, *dice.sample(subsets, dice.randint(1, len(subsets)))]  # one of them twice, perhaps
    written = ", ".join(f"({', '.join(str(place + 1) for place in keys)})" for keys in chosen)
    return f" GROUP BY GROUPING SETS ({written})", chosen


def one_by_one(here: Asked, asked: Question, chosen: Sequence[tuple[int, ...]]) -> Rows:
    """The rows of each set, asked by itself, with NULL for the keys that it does not have."""
    width, found = len(asked.keys), []
    for keys in chosen:
        numbers = ", ".join(str(place + 1) for place in range(len(keys)))
        rows, _ = here.ask(text_of(asked, keys, f" GROUP BY {numbers}" if keys else ""))
        for row in rows:
            cell = dict(zip(keys, row, strict=False))
            found.append((*(cell.get(place) for place in range(width)), *row[len(keys) :]))
    return found


AROUND = (
    "SELECT *, RANK() OVER (ORDER BY v0 DESC) AS place, SUM(v0) OVER () AS total FROM {a} AS q",
    "SELECT g0, v0, MAX(v0) OVER (PARTITION BY g0) AS most, COUNT(*) OVER (PARTITION BY g0) AS n FROM {a} AS q",
    "SELECT g0, SUM(v0), MIN(v0), MAX(v0), COUNT(*), AVG(v0) FROM {a} AS q GROUP BY g0 HAVING COUNT(*) > 0",
    "SELECT g0, v0 FROM {a} AS q WHERE v0 > (SELECT AVG(v0) FROM {a} AS r)",
    "SELECT g0, v0 FROM {a} AS q UNION ALL SELECT g0, v0 FROM {a} AS r WHERE v0 > 1",
    "SELECT g0, v0 FROM {a} AS q UNION SELECT g0, v0 FROM {a} AS r",
    "SELECT q.g0, q.v0, r.most FROM {a} AS q CROSS JOIN (SELECT MAX(v0) AS most FROM {a} AS s) AS r",
    "SELECT COUNT(*), STDDEV_POP(v0), MEDIAN(v0) FROM {a} AS q",
    "SELECT DISTINCT v0 FROM {a} AS q WHERE g0 IN (SELECT g0 FROM {a} AS r WHERE v0 >= 1)",
)
TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}


def table(connection: duckdb.DuckDBPyConnection, rows: Rows, width: int) -> None:
    """Released rows as a plain table."""
    kinds = []
    for place in range(len(rows[0])):
        value = next((row[place] for row in rows if row[place] is not None), 0)
        kinds.append(TYPES.get(type(value)) or ("DATE" if not hasattr(value, "hour") else "TIMESTAMP"))
    names = [*(f"g{place}" for place in range(width)), *(f"v{place}" for place in range(len(kinds) - width))]
    fill(connection, "released", dict(zip(names, kinds, strict=True)), rows)


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


def same(rows: Rows, wanted: Rows) -> bool:
    """Whether both hold the same rows, in any order, up to the last bits of sums."""
    if len(rows) != len(wanted):
        return False

    def rounded(row: Cell) -> str:
        return repr([float(f"{value:.8g}") if isinstance(value, (int, float)) else value for value in row])

    pairs = zip(sorted(rows, key=rounded), sorted(wanted, key=rounded), strict=True)
    return all(all(map(alike, one, other)) for one, other in pairs)


def check(dice: random.Random, here: Asked, there: Asked, asked: Question) -> str | None:
    """One question, in one form; which form that was."""
    everything = f" GROUP BY {', '.join(str(place + 1) for place in range(len(asked.keys)))}"
    rows, _ = here.ask(text_of(asked, range(len(asked.keys)), everything))
    bare = not asked.source.before and not asked.source.options
    form = dice.choice(["sets", "around"])
    if form == "sets" or not bare:
        grouping, chosen = sets(dice, len(asked.keys))
        text = text_of(asked, range(len(asked.keys)), grouping)
        wanted = one_by_one(here, asked, chosen)
    else:
        if not rows or any(row[len(asked.keys)] is None or abs(row[len(asked.keys)]) > 2**50 for row in rows):
            return None
        around = dice.choice(AROUND)
        text = around.format(a=f"({text_of(asked, range(len(asked.keys)), everything)})")
        with plain() as connection:
            table(connection, rows, len(asked.keys))
            wanted = connection.execute(around.format(a="released")).fetchall()
    answer, watch = here.ask(text)
    assert same(answer, wanted), (text, answer, wanted)
    _, fewer = there.ask(text, watch.selections)
    if len(fewer.vectors) == len(watch.vectors):
        within_sensitivity(asked, watch, fewer)
    else:  # what was released decides what is asked next
        assert " WHERE " in text
    return form


def check_world(dice: random.Random, questions: int, *, tight: bool) -> Counter[str]:
    world = Maker(dice, tight=tight).world()
    other = world.without(dice)
    done: Counter[str] = Counter()
    engines = Memory(world.policy, world.rows), Memory(other.policy, other.rows)
    try:
        here, there = Asked(world, engines[0]), Asked(other, engines[1])
        while sum(done.values()) < questions:
            asked = question(dice, world, tight=tight)
            if asked.keys:
                asked = replace(asked, aggregates=asked.aggregates[:2])
                try:
                    done[check(dice, here, there, asked) or "skipped"] += 1
                except Refused as refused:
                    if refused.code not in ("cost-invalid", "too-complex"):
                        raise
                    done[refused.code] += 1
    finally:
        for engine in engines:
            engine.close()
    return done


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 7))])
def test_what_is_made_of_released_rows_equals_duckdbs(seed: int) -> None:
    dice = random.Random(seed)
    count = 12 if seed else 7
    done = check_world(dice, count, tight=False) + check_world(dice, count, tight=True)
    assert min(done["sets"], done["around"]) > 2, done
