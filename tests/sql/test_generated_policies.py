"""With noise off, questions about generated policies equal DuckDB's own answers after bounding.

DuckDB computes each row's keys, conditions and numbers in plain SQL over plain tables; clamping, grouping and adding
are done here in exact arithmetic. Which rows and keys of a unit count is read from the ranks that the private copy
stores. Where discreet chooses when it is asked (computed keys, several keys, joins that multiply rows), the answer must
be one of those that a choice can give: every unit in as many groups as it may be, with as many rows as it may have.

Under tight limits every question is also asked without one unit: no vector of integers may move further than its
sensitivity, and what the unit adds to each group is all that it may add, or nothing.

Tolerances: whole numbers and numbers on a declared step are exact, up to the last rounding to float64. Elsewhere a row
is off by at most one step of the grid, a 2²⁰th of the larger bound; where squares are summed, a 2¹⁶th of the range.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pytest

from discreet.accounting.losses import Sensitivity
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.errors import Refused
from discreet.exit.sampler import Sampler
from tests.sql.policies import Maker, World
from tests.sql.policy_meetings import Meetings
from tests.sql.policy_plain import Plain
from tests.sql.policy_sources import Source
from tests.sql.policy_terms import Condition, Key, Term, Writer
from tests.sql.worlds import ledger_of

COSTS = {True: 4000, False: 10**7}
"""So that noise, which is not drawn, would not be too large to draw; by whether the budget has δ."""
Cell = tuple[Any, ...]
SPREADS = ("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP")
ROWS = ("rows", "units", "held")
"""Aggregates of nothing but rows."""
HELD = 2
ALWAYS = Condition("TRUE", "TRUE")


@dataclass
class Watch:
    """A door without noise, which notes every vector with its sensitivity;
    every private key that is there is selected.
    """

    vectors: list[tuple[Sensitivity, tuple[int, ...]]] = field(default_factory=list)
    selected: list[Cell] = field(default_factory=list)

    @property
    def door(self) -> Sampler:
        return Sampler(add_noise=self._blur, select=self._select)

    def _blur(self, mechanism: Any, sensitivity: Sensitivity, exact: Sequence[int], bits: Any) -> Sequence[int]:  # noqa: ARG002
        self.vectors.append((sensitivity, tuple(exact)))
        return exact

    def _select(self, mechanism: Any, exact: Mapping[Cell, int], bits: Any) -> Mapping[Cell, int]:  # noqa: ARG002
        self.selected = self.selected or list(exact)
        return {cell: exact.get(cell, 0) for cell in self.selected}


@dataclass
class Opened:
    """A curator of a world whose noise is off."""

    world: World
    curator: Curator
    watch: Watch

    def ask(self, text: str, selected: Sequence[Cell] = ()) -> list[Cell]:
        self.watch.vectors.clear()
        self.watch.selected = list(selected)
        return self.curator.query(text, epsilon=COSTS[self.world.private_keys], fresh=True, dialect="duckdb").rows


@contextmanager
def opened(world: World) -> Iterator[Opened]:
    engine, watch = Memory(world.policy, world.rows), Watch()
    try:
        with (
            ledger_of(world.policy) as ledger,
            Curator(world.policy, ledger, engine=engine, sampler=watch.door) as curator,
        ):
            yield Opened(world, curator, watch)
    finally:
        engine.close()


# questions


@dataclass(frozen=True)
class Aggregate:
    kind: str
    term: Term | None
    test: Condition
    text: str


@dataclass(frozen=True)
class Question:
    text: str
    source: Source
    keys: tuple[Key, ...]
    where: Condition
    aggregates: tuple[Aggregate, ...]


def aggregate(dice: random.Random, writer: Writer, source: Source) -> Aggregate:
    kinds = ["rows", "rows", "present", "sum", "sum", "average", *SPREADS[dice.randrange(4) :][:1]]
    kinds += ["units", "units", "held", "distinct"] if source.unit else []
    kind = dice.choice(kinds)
    term = None if kind in ROWS else writer.number(dice.choice([0, 0, 1, 2]))
    if kind == "distinct":
        term = writer.anything()
    if term is None and kind not in ROWS:
        kind = "rows"
    filtered = dice.random() < 0.25 and kind not in ("units", "held")
    test = writer.test() if filtered else ALWAYS
    inner = "" if term is None else term.text
    words = {
        "rows": "COUNT(*)",
        "present": f"COUNT({inner})",
        "sum": f"SUM({inner})",
        "average": f"AVG({inner})",
        "distinct": f"COUNT(DISTINCT {inner})",
        "units": f"COUNT(DISTINCT {source.unit})",
        "held": f"COUNT(*, contribution_bounds_per_group => (0, {HELD}))",
    }
    text = words.get(kind, f"{kind}({inner})")
    return Aggregate(kind, term, test, f"{text} FILTER (WHERE {test.text})" if filtered else text)


def narrowed(dice: random.Random, source: Source) -> Source:
    """The source as a question bounds it, never more widely than the policy."""
    most = dice.choice([("groups", 1), ("groups", 2), ("in_group", 1), ("in_group", 2), ("rows", 1), ("rows", 2)])
    label, limit = most
    word = {"groups": "max_groups_contributed", "in_group": "max_rows_per_group", "rows": "max_rows_contributed"}[label]
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({word} = {limit}) "
    if label == "rows":
        chosen = limit < source.rows
        return replace(source, options=options, rows=min(limit, source.rows), again=source.again or chosen, whole=False)
    stated = source.groups if label == "groups" else source.in_group
    limit = limit if stated is None else min(stated, limit)
    if label == "groups":
        return replace(source, options=options, groups=limit)
    return replace(source, options=options, in_group=limit)


def question(dice: random.Random, world: World, *, tight: bool) -> Question:
    source = Meetings(dice, world).source()
    if tight and dice.random() < 0.2 and source.unit and " GROUP BY " not in source.text:
        source = narrowed(dice, source)
    writer = Writer(dice, source.fields)
    keys: list[Key] = []
    for _ in range(dice.choice([0, 1, 1, 1, 2])):
        key = writer.key(private=world.private_keys)
        size = math.prod(len(k.listed or "?") + k.nullable for k in [*keys, key] if k is not None)
        if key is not None and size <= 300 and key.text not in [k.text for k in keys]:
            keys.append(key)
    where = writer.test() if dice.random() < 0.4 else ALWAYS
    items = [aggregate(dice, writer, source) for _ in range(dice.randint(1, 3))]
    shown = [*(f"{key.text} AS g{place}" for place, key in enumerate(keys))]
    shown += [f"{item.text} AS v{place}" for place, item in enumerate(items)]
    tests = [*([source.where] if source.where else []), *([] if where is ALWAYS else [f"({where.text})"])]
    dice.shuffle(tests)
    tail = f" WHERE {' AND '.join(tests)}" if tests else ""
    if keys:
        tail += dice.choice([" GROUP BY ALL", " GROUP BY " + ", ".join(str(place + 1) for place in range(len(keys)))])
    text = f"{source.before}SELECT {source.options}{', '.join(shown)} FROM {source.text}{tail}"
    return Question(text, source, tuple(keys), where, tuple(items))


# the reference


@dataclass(frozen=True)
class Row:
    """What DuckDB says of a row: whose it is, its keys, and for each aggregate whether it counts and with what."""

    unit: Any
    cell: Cell
    tests: Cell
    numbers: Cell
    rank: int | None
    nth: int | None


def read(plain: Plain, asked: Question) -> list[Row]:
    width, count = len(asked.keys), len(asked.aggregates)
    stored = asked.keys[0].field if width == 1 else None
    texts = [asked.source.plain_unit, *(key.plain for key in asked.keys)]
    texts += [item.test.plain for item in asked.aggregates]
    texts += ["NULL" if item.term is None else item.term.plain for item in asked.aggregates]
    texts += [(stored and stored.rank) or "NULL", (stored and stored.nth) or "NULL"]
    where = f"({asked.where.plain}) AND {asked.source.plain_where or 'TRUE'}"
    found = plain.rows(f"SELECT {', '.join(texts)} FROM {asked.source.plain} WHERE {where}")
    cut = 1 + width
    return [Row(r[0], r[1:cut], r[cut : cut + count], r[cut + count : -2], r[-2], r[-1]) for r in found]


@dataclass(frozen=True)
class Bounds:
    """How rows become few enough: at most so many groups of each unit, and rows in each."""

    groups: int
    in_group: int
    many_groups: bool
    many_rows: bool

    @classmethod
    def of(cls, asked: Question) -> Bounds:
        rows = asked.source.rows
        listed = [len(key.listed) + key.nullable for key in asked.keys if key.listed is not None]
        most = rows if len(listed) < len(asked.keys) else min(rows, math.prod(listed))
        groups = rows if asked.source.groups is None else asked.source.groups
        in_group = rows if asked.source.in_group is None else asked.source.in_group
        return cls(groups, in_group, groups < most, in_group < rows)

    def stored(self, asked: Question) -> bool:
        """Whether ranks that the copy stores decide: where no row was left out since they were made."""
        if not asked.source.whole or asked.where is not ALWAYS:
            return False
        key = asked.keys[0].field if len(asked.keys) == 1 else None
        return key is not None and key.rank is not None and (key.nth is not None or not self.many_rows)


def grouped(asked: Question, rows: Sequence[Row]) -> dict[Cell, list[Row]]:
    """Rows by group, and all groups that are listed. What is not listed is NULL, and left out if that is no key."""
    named = [(key, None if key.listed is None else set(key.listed)) for key in asked.keys]
    kept = []
    for row in rows:
        cell = tuple(
            value if listed is None or value in listed else None
            for (_, listed), value in zip(named, row.cell, strict=True)
        )
        if all(value is not None or key.nullable for key, value in zip(asked.keys, cell, strict=True)):
            kept.append(replace(row, cell=cell))
    private = [place for place, key in enumerate(asked.keys) if key.listed is None]
    found: dict[Cell, list[Row]] = {}
    for chosen in dict.fromkeys(tuple(row.cell[place] for place in private) for row in kept) if private else [()]:
        lists = [[*(key.listed or ()), *([None] if key.nullable else [])] for key in asked.keys]
        for place, value in zip(private, chosen, strict=True):
            lists[place] = [value]
        found |= {cell: [] for cell in itertools.product(*lists)}
    for row in kept:
        found[row.cell].append(row)
    return found


def clamped(value: Any, term: Term) -> Fraction | None:
    if value is None:
        return None
    if value in (math.inf, -math.inf):
        return term.high if value > 0 else term.low
    return min(max(Fraction(value), term.low), term.high)


def right(item: Aggregate, place: int, rows: Sequence[Row], found: Any) -> bool:
    """Whether a number of the answer is what these rows give."""
    if item.kind == "units":
        return bool(found == len({row.unit for row in rows}))
    if item.kind == "held":
        return bool(found == sum(min(count, HELD) for count in Counter(row.unit for row in rows).values()))
    passed = [row for row in rows if row.tests[place]]
    if item.kind == "rows":
        return bool(found == len(passed))
    if item.kind == "distinct":
        return bool(found == len({row.numbers[place] for row in passed} - {None}))
    term = item.term
    assert term is not None
    numbers = [x for row in passed if (x := clamped(row.numbers[place], term)) is not None]
    if item.kind == "present":
        return bool(found == len(numbers))
    total, count = sum(numbers, Fraction(0)), len(numbers)
    last = term.size / 2**48
    if item.kind == "sum":
        return abs(Fraction(found) - total) <= count * (term.slack + last)
    if count < (2 if item.kind.endswith("SAMP") else 1):
        return found is None
    if item.kind == "average":
        return abs(Fraction(found) - total / count) <= term.slack + last
    return spread(item.kind, term, numbers, found)


def spread(kind: str, term: Term, numbers: Sequence[Fraction], found: float) -> bool:
    """Variances: compared as squares, off by twice the range for each step that a number is off."""
    span = term.high - term.low
    mean = sum(numbers, Fraction(0)) / len(numbers)
    squares = sum(((x - mean) * (x - mean) for x in numbers), Fraction(0))
    wanted = squares / (len(numbers) - (1 if kind.endswith("SAMP") else 0))
    value = Fraction(found) * Fraction(found) if kind.startswith("STDDEV") else Fraction(found)
    off = term.slack if term.whole and span <= 2**14 else max(term.slack, span / 2**13) + term.size / 2**48
    return abs(value - wanted) <= 2 * (2 * span * off + off * off) + span * span / 2**36


# comparing


def exactly(asked: Question, cells: Mapping[Cell, Sequence[Row]], answer: Mapping[Cell, Cell]) -> None:
    assert set(answer) == set(cells), (asked.text, set(answer) ^ set(cells))
    for cell, rows in cells.items():
        for place, item in enumerate(asked.aggregates):
            found = answer[cell][place]
            assert right(item, place, rows, found), (asked.text, cell, item.text, found, [r.numbers for r in rows])


def possibly(asked: Question, cells: Mapping[Cell, Sequence[Row]], answer: Mapping[Cell, Cell], most: Bounds) -> None:
    """Counts that a choice of groups and rows can give: no group holds more than its units may add, and all that the
    units may add is there."""
    assert set(answer) <= set(cells), asked.text
    held = {cell: Counter(row.unit for row in rows) for cell, rows in cells.items()}
    counts: dict[Any, list[int]] = {}
    for units in held.values():
        for unit, rows in units.items():
            counts.setdefault(unit, []).append(min(rows, most.in_group))
    for place, item in enumerate(asked.aggregates):
        values = {cell: row[place] for cell, row in answer.items()}
        if item.kind == "units":
            assert all(value <= len(held[cell]) for cell, value in values.items()), asked.text
            assert sum(values.values()) == sum(min(len(mine), most.groups) for mine in counts.values()), asked.text
        elif item.kind == "rows" and item.test is ALWAYS:
            tops = {cell: sum(min(rows, most.in_group) for rows in units.values()) for cell, units in held.items()}
            assert all(value <= tops[cell] for cell, value in values.items()), asked.text
            ends = [(sum(sorted(mine)[: most.groups]), sum(sorted(mine)[-most.groups :])) for mine in counts.values()]
            low, high = sum(end[0] for end in ends), sum(end[1] for end in ends)
            assert low <= sum(values.values()) <= high, (asked.text, low, high)


def compare(plain: Plain, asked: Question, answer: Mapping[Cell, Cell]) -> str:
    """Compare an answer with the reference; how that was done."""
    rows = read(plain, asked)
    most = Bounds.of(asked)
    if asked.source.again and max(Counter(row.unit for row in rows).values(), default=0) > asked.source.rows:
        # which rows are chosen is decided before keys are looked at: checked by what one unit adds
        return "sensitivity"
    if not (most.many_groups or most.many_rows):
        exactly(asked, grouped(asked, rows), answer)
        return "whole"
    if most.stored(asked):
        kept = [
            row
            for row in rows
            if (not most.many_groups or (row.rank is not None and row.rank <= most.groups))
            and (not most.many_rows or (row.nth is not None and row.nth <= most.in_group))
        ]
        exactly(asked, grouped(asked, kept), answer)
        return "ranks"
    possibly(asked, grouped(asked, rows), answer, most)
    return "choice"


def within_sensitivity(asked: Question, all_of_them: Watch, fewer: Watch) -> int:
    """No vector moves further than its sensitivity; how many moved at all."""
    moved = 0
    for (sensitivity, exact), (same, other) in zip(all_of_them.vectors, fewer.vectors, strict=True):
        moves = [a - b for a, b in zip(exact, other, strict=True)]
        assert sensitivity == same, asked.text
        assert sum(map(abs, moves)) <= sensitivity.l1, (asked.text, moves, sensitivity)
        assert sum(move**2 for move in moves) <= sensitivity.l2_squared, (asked.text, moves, sensitivity)
        moved += any(moves)
    return moved


def one_unit(asked: Question, rows: Sequence[Row], answer: Mapping[Cell, Cell], other: Mapping[Cell, Cell]) -> None:
    """What the unit that is gone added to each group: all that it may, in as many groups as it may; or nothing."""
    most = Bounds.of(asked)
    mine = {cell: len(held) for cell, held in grouped(asked, rows).items() if held}
    for place, item in enumerate(asked.aggregates):
        if item.kind not in ("units", "rows") or item.test is not ALWAYS:
            continue
        added = {cell: move for cell, row in answer.items() if (move := row[place] - other.get(cell, row)[place])}
        full = {cell: 1 if item.kind == "units" else min(count, most.in_group) for cell, count in mine.items()}
        assert all(full.get(cell) == move for cell, move in added.items()), (asked.text, added, full)
        assert len(added) == min(len(mine), most.groups), (asked.text, added, full)


def by_cell(asked: Question, rows: Sequence[Cell]) -> dict[Cell, Cell]:
    width = len(asked.keys)
    found = {row[:width]: row[width:] for row in rows}
    assert len(found) == len(rows), asked.text
    return found


def check_world(dice: random.Random, questions: int, *, tight: bool) -> Counter[str]:
    """Questions about one world, and without one of its units; how often they were compared in which way."""
    world = Maker(dice, tight=tight).world()
    done: Counter[str] = Counter()
    with opened(world) as here:
        plain = Plain(world)
        asked = [question(dice, world, tight=tight) for _ in range(questions)]
        answers, watched = [], []
        for one in list(asked):
            try:
                answer = by_cell(one, here.ask(one.text))
            except Refused as refusal:
                if refusal.code != "cost-invalid":  # noise that would be too large to draw
                    raise
                asked.remove(one)
                done["refused"] += 1
                continue
            done[compare(plain, one, answer)] += 1
            answers.append(answer)
            watched.append(Watch(list(here.watch.vectors), list(here.watch.selected)))
    if tight:
        with opened(world.without(dice)) as there:
            fewer = Plain(there.world)
            for one, answer, watch in zip(asked, answers, watched, strict=True):
                other = by_cell(one, there.ask(one.text, watch.selected))
                done["moved"] += within_sensitivity(one, watch, there.watch)
                if not one.source.again and one.source.unit and not Bounds.of(one).stored(one):
                    gone = left_over(read(plain, one), read(fewer, one))
                    one_unit(one, gone, answer, other)
                    done["one unit"] += 1
    return done


def left_over(rows: Sequence[Row], fewer: Sequence[Row]) -> list[Row]:
    units = {row.unit for row in fewer}
    return [row for row in rows if row.unit not in units]


def check_worlds(seed: int, worlds: int, questions: int) -> Counter[str]:
    dice = random.Random(seed)
    done: Counter[str] = Counter()
    for place in range(worlds):
        done += check_world(dice, questions, tight=place % 2 == 1)
    return done


COMPARED = ("whole", "ranks", "choice", "sensitivity")


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 3))])
def test_answers_about_generated_policies_equal_duckdbs(seed: int) -> None:
    done = check_worlds(seed, worlds=4 if seed else 2, questions=50 if seed else 40)
    assert sum(done[way] for way in COMPARED) == (200 if seed else 80) - done["refused"]
    assert done["refused"] <= 10
    assert min(done[way] for way in ("whole", "choice", "moved", "one unit")) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1003))
def test_thousands_of_answers_about_generated_policies_equal_duckdbs(seed: int) -> None:
    done = check_worlds(seed, worlds=8, questions=60)
    assert sum(done[way] for way in COMPARED) > 440
