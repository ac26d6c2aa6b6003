"""Measures of many numbers, and of bounded ones: how far one row, or one unit, moves them, tried out exhaustively."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from discreet.accounting.losses import Sensitivity
from discreet.composed import Sql, name, sql
from discreet.policy.model import Kind
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.measures import Clamped, Contribution, Presence
from discreet.sql.vectors import MAX_LEAVES, MAX_NUMBERS, Chosen, Histogram, Layout, Tree
from tests.plain import fill, plain

X = Expr(name("x"), Domain(Kind.NUMBER))


def layout(low: object, high: object, *, integral: bool = True, groups: int = 1) -> Layout:
    return Layout.over(Fraction(str(low)), Fraction(str(high)), integral=integral, groups=groups)


def engine(query: Sql, values: Sequence[Any], kind: str = "DOUBLE") -> list[Any]:
    """An expression of "x", for each value."""
    with plain() as connection:
        fill(connection, "t", {"place": "INTEGER", "x": kind}, enumerate(values))
        return [row[0] for row in connection.execute(f"SELECT {query.text} FROM t ORDER BY place").fetchall()]


# quantiles that are chosen

SHARES = [Fraction(text) for text in ("0", "1", "1/2", "1/4", "3/4", "1/3", "9/10", "1/1000", "999/1000", "0.123")]


def histograms(cells: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every histogram of at most so many rows."""
    for counts in itertools.product(range(most + 1), repeat=cells):
        if sum(counts) <= most:
            yield counts


@pytest.mark.parametrize("share", SHARES)
def test_one_row_moves_every_score_by_at_most_the_sensitivity(share: Fraction) -> None:
    chosen = Chosen(X, layout(0, 3), share, "")
    most = chosen.score_sensitivity
    assert most == max(share.numerator, share.denominator - share.numerator)
    used = 0
    for counts in histograms(4, 5):
        before = chosen.scores(counts)
        for cell in range(4):
            more = [count + (place == cell) for place, count in enumerate(counts)]
            moved = max(abs(a - b) for a, b in zip(before, chosen.scores(more), strict=True))
            assert moved <= most, (counts, cell)
            used = max(used, moved)
    assert used == most


@pytest.mark.parametrize("share", SHARES)
def test_so_many_rows_move_scores_so_many_times_as_far(share: Fraction) -> None:
    chosen = Chosen(X, layout(0, 2), share, "")
    for rows in (2, 3):
        most = chosen.score_sensitivity * rows
        for counts in histograms(3, 3):
            before = chosen.scores(counts)
            for cells in itertools.combinations_with_replacement(range(3), rows):
                more = [count + cells.count(place) for place, count in enumerate(counts)]
                assert max(abs(a - b) for a, b in zip(before, chosen.scores(more), strict=True)) <= most


@pytest.mark.parametrize("share", SHARES)
def test_the_best_score_is_that_of_the_quantile(share: Fraction) -> None:
    """Cells that hold the wanted rank score 0, all others less; nothing scores above 0."""
    chosen = Chosen(X, layout(0, 3), share, "")
    for counts in histograms(4, 4):
        scores = chosen.scores(counts)
        wanted = share * sum(counts)
        for cell, score in enumerate(scores):
            below, upto = sum(counts[:cell]), sum(counts[: cell + 1])
            assert (score == 0) == (below <= wanted <= upto)
            assert score == -share.denominator * max(wanted - upto, below - wanted, Fraction(0))


@pytest.mark.parametrize(("share", "count"), [("0.923456789012345678", 20), ("0.000000000000000001", 10)])
def test_scores_of_quantiles_with_many_digits(share: str, count: int) -> None:
    chosen = Chosen(X, layout(0, 3), Fraction(share), "")
    before, after = chosen.scores([0, count - 1, 0, 0]), chosen.scores([0, count, 0, 0])
    moved = max(abs(a - b) for a, b in zip(before, after, strict=True))
    assert moved <= chosen.score_sensitivity


# layouts

LAYOUTS = [
    layout(low, high, integral=integral, groups=groups)
    for low, high in ((0, 1), (0, 3), (-5, 11), (0, 110), (1, 256), (-1, 256), (0, 65535), (0, 65536), (-0.5, 7.25))
    for integral in (True, False)
    for groups in (1, 30, 5000, 10**6)
    if not integral or float(low).is_integer()
]


@pytest.mark.parametrize("found", LAYOUTS)
def test_cells_cover_the_range(found: Layout) -> None:
    assert found.leaves == found.branch**found.levels
    assert found.length == sum(found.branch**level for level in range(1, found.levels + 1))
    assert found.leaves <= 2 * MAX_LEAVES
    assert found.width > 0


@pytest.mark.parametrize("groups", [1, 8, 31, 400, 10**5])
@pytest.mark.parametrize("high", [1, 2, 15, 16, 17, 110, 255, 256, 1000, 65_535, 10**9])
def test_whole_numbers_have_a_cell_each_where_there_are_few(high: int, groups: int) -> None:
    found = layout(0, high, groups=groups)
    most = max(16, min(MAX_LEAVES, MAX_NUMBERS // groups))
    assert found.whole == (high + 1 <= most)
    if found.whole:
        assert found.width == 1
        assert found.leaves > high
        assert found.branch == 2 or (found.branch - 1) ** found.levels < high + 1
        assert [found.value(place) for place in (0, high, high - 1)] == [0, high, high - 1]
    else:
        assert found.low + found.width * found.leaves == high
        assert found.leaves <= most < found.leaves * 16 or found.leaves == 16


@pytest.mark.parametrize("found", [layout(0, 110), layout(-5, 11), layout(0, 1), layout(7, 300)])
def test_rows_fall_into_the_cell_of_their_integer(found: Layout) -> None:
    low = int(found.low)
    values = [*range(low, low + found.cells), low - 1, low - 10**18, low + found.cells, 10**18, None]
    cells = engine(Tree(X, found, "").argument, values, "BIGINT")
    assert cells == [*range(found.cells), 0, 0, found.cells - 1, found.cells - 1, None]


@pytest.mark.parametrize("found", [layout(0, 10, integral=False), layout(-2.5, 7, integral=False, groups=1000)])
def test_rows_fall_into_the_cell_that_holds_them(found: Layout) -> None:
    random = Random(7)
    low, high = float(found.low), float(found.low + found.width * found.leaves)
    values = [random.uniform(low, high) for _ in range(300)]
    for value, cell in zip(values, engine(Tree(X, found, "").argument, values), strict=True):
        edge = found.low + found.width * cell
        slip = found.width / 10**6
        assert edge - slip <= Fraction(value) <= edge + found.width + slip
    odd = [low, high, -1e308, 1e308, float("inf"), float("-inf"), None]
    cells = engine(Tree(X, found, "").argument, odd)
    assert cells == [0, found.leaves - 1, 0, found.leaves - 1, found.leaves - 1, 0, None]


@pytest.mark.parametrize("high", [1, 3, 15, 16, 40, 110, 300])
def test_exact_counts_give_exact_ranks(high: int) -> None:
    found = layout(0, high)
    random = Random(high)
    for _ in range(20):
        counts = [random.choice((0, 0, 1, 5)) if cell <= high else 0 for cell in range(found.leaves)]
        true = np.concatenate([[0], np.cumsum(counts)])
        levels = found.counts(counts)
        assert len(levels) == found.length
        assert found.ranks(levels) == pytest.approx(true)
        assert found.plain_ranks(levels).tolist() == true.tolist()


@pytest.mark.parametrize("high", [1, 7, 40, 110])
def test_every_level_counts_every_row_once(high: int) -> None:
    found = layout(0, high)
    random = Random(high)
    counts = [random.randint(0, 9) for _ in range(found.leaves)]
    levels, start = found.counts(counts), 0
    for level in range(1, found.levels + 1):
        size = found.branch**level
        part, each = levels[start : start + size], found.leaves // size
        assert part == [sum(counts[place * each : (place + 1) * each]) for place in range(size)]
        start += size
    assert start == len(levels)


def test_ranks_of_noisy_counts_never_fall_and_are_never_negative() -> None:
    found = layout(0, 110)
    random = Random(3)
    for _ in range(50):
        ranks = found.ranks([random.randint(-9, 9) for _ in range(found.length)])
        assert ranks[0] == 0
        assert np.all(np.diff(ranks) >= 0)


def test_a_rank_adds_up_no_more_counts_than_it_says() -> None:
    """One more in a single count moves a plain rank by 0 or 1; at most `terms` counts move it."""
    for high in (3, 40, 110):
        found = layout(0, high)
        moved = np.zeros(found.leaves + 1)
        for place in range(found.length):
            ranks = found.plain_ranks([int(place == other) for other in range(found.length)])
            assert set(ranks.tolist()) <= {0.0, 1.0}
            moved += ranks
        assert moved.max() <= (found.branch - 1) * found.levels + 1


def test_cells_without_rows_are_filled() -> None:
    found = layout(0, 3)
    assert found.filled(None) == [0] * found.leaves
    assert found.filled({}) == [0] * found.leaves
    assert found.filled({2: 3, 0: 1, None: 9}) == [1, 0, 3, 0]


# trees and histograms


def moves(vectors: Sequence[Sequence[int]], others: Sequence[Sequence[int]]) -> tuple[int, int]:
    found = [abs(a - b) for x, y in zip(vectors, others, strict=True) for a, b in zip(x, y, strict=True)]
    return sum(found), sum(move * move for move in found)


def units_of(cells: int, contribution: Contribution, groups: int) -> Iterator[list[Counter[int]]]:
    """Every way in which a unit's rows fall into cells of groups, within its bounds."""
    places = [(group, cell) for group in range(groups) for cell in range(cells)]
    for count in range(contribution.total + 1):
        for rows in itertools.combinations_with_replacement(places, count):
            held = [Counter(cell for group, cell in rows if group == place) for place in range(groups)]
            if sum(map(bool, held)) <= contribution.cells and all(h.total() <= contribution.rows for h in held):
                yield held


def check_used(used: Sequence[tuple[int, int]], sensitivity: Sensitivity, contribution: Contribution) -> None:
    """Nothing goes beyond the sensitivity, and something uses all of it; squares only where rows fill their groups."""
    assert max(l1 for l1, _ in used) == sensitivity.l1
    largest = max(l2 for _, l2 in used)
    full = contribution.total % contribution.rows == 0
    assert largest == sensitivity.l2_squared if full else largest <= sensitivity.l2_squared


CONTRIBUTIONS = [Contribution(1, 1, 1), Contribution(1, 2, 2), Contribution(2, 1, 2), Contribution(2, 2, 3)]


@pytest.mark.parametrize("contribution", CONTRIBUTIONS)
@pytest.mark.parametrize("high", [2, 3])
def test_a_unit_moves_a_tree_by_its_sensitivity(contribution: Contribution, high: int) -> None:
    for found in (layout(0, high), Layout(Fraction(0), Fraction(1), 2, 2, whole=True, cells=4)):
        tree = Tree(X, found, "")
        sensitivity = tree.sensitivity(contribution)
        nothing = [tree.vector(None)] * 2
        used = [moves(nothing, [tree.vector(held) for held in unit]) for unit in units_of(high, contribution, 2)]
        check_used(used, sensitivity, contribution)
        assert sensitivity.l1 == contribution.sensitivity.l1 * found.levels


@pytest.mark.parametrize("contribution", CONTRIBUTIONS)
def test_a_unit_moves_a_histogram_by_its_sensitivity(contribution: Contribution) -> None:
    measure = Histogram(X, ("a", "b", "c"), "")
    sensitivity = measure.sensitivity(contribution)
    nothing = [measure.vector(None)] * 2
    used = [moves(nothing, [measure.vector(held) for held in unit]) for unit in units_of(3, contribution, 2)]
    check_used(used, sensitivity, contribution)


def test_histograms_count_listed_values_only() -> None:
    values = ("a", "A", "it's", "", "\U0001f986")
    measure = Histogram(X, values, "")
    held = ["a", "a", "A", "it's", "", "\U0001f986", "b", "á", None, " a"]
    places = engine(measure.argument, held, "VARCHAR")
    assert places == [0, 0, 1, 2, 3, 4, None, None, None, None]
    assert measure.length == len(values)
    assert measure.vector(Counter(places)) == [2, 1, 1, 1, 1]
    assert measure.vector({}) == measure.vector(None) == [0] * 5


@pytest.mark.parametrize("contribution", CONTRIBUTIONS)
def test_presence_counts_each_row_once(contribution: Contribution) -> None:
    measure = Presence(name("x"))
    counts = sql("(SELECT {} FROM t)", measure.sql(name("x"), None))
    (found,) = set(map(tuple, engine(counts, [1, None, 2, None, None])))
    assert measure.vector(list(found)) == (2, 3)
    assert measure.vector(None) == (0, 0)
    sensitivity = measure.sensitivity(contribution)
    used = [
        moves([(0, 0)] * 2, [(held[0], held[1]) for held in unit]) for unit in units_of(measure.length, contribution, 2)
    ]
    check_used(used, sensitivity, contribution)


# bounds for each unit and group


UNIT_AND_KEY = sql("u, k")


def clamped(
    measure: Clamped, rows: Sequence[tuple[int, str, int | None]], partition: Sql | None = UNIT_AND_KEY
) -> dict[str, int]:
    """What the engine adds up for each group."""
    with plain() as connection:
        lines = ", ".join(f"({u}, '{k}', {'NULL' if x is None else x}::BIGINT)" for u, k, x in rows)
        window, total = measure.windowed(name("x"), partition), measure.sql(name("w"), name("u"))
        inner = f"SELECT *, {window.text} AS w FROM (VALUES {lines}) AS t(u, k, x)"
        query = f"SELECT k, {total.text} FROM ({inner}) GROUP BY k"
        return {key: measure.vector(value)[0] for key, value in connection.execute(query).fetchall()}


BOUNDS = [(0, 1), (0, 3), (2, 3), (-2, 1), (-5, -2), (1, 0)]


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_what_a_unit_adds_to_a_group_is_clamped(low: int, high: int, counts: bool) -> None:
    measure = Clamped(name("x"), low, high, counts, "")
    random = Random(low * 10 + high)
    rows = [(random.randint(1, 4), random.choice("ab"), random.choice((-9, -1, 0, 1, 7, None))) for _ in range(25)]
    wanted: dict[str, int] = {}
    for unit, key in {row[:2] for row in rows}:
        held = [x for u, k, x in rows if (u, k) == (unit, key) and x is not None]
        wanted[key] = wanted.get(key, 0) + min(max(len(held) if counts else sum(held), low), high)
    assert clamped(measure, rows) == wanted


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_one_unit_moves_a_clamped_group_by_its_size(low: int, high: int, counts: bool) -> None:
    measure = Clamped(name("x"), low, high, counts, "")
    others: list[tuple[int, str, int | None]] = [(1, "a", 3), (1, "b", None), (2, "b", -4)]
    for more in ((-(10**12), None), (10**12, 10**12), (-1, 2), (None, None), (0, 5)):
        rows = [*others, *((9, "a", x) for x in more), (9, "b", more[0])]
        before, after = clamped(measure, others), clamped(measure, rows)
        moved = [abs(after[key] - before[key]) for key in "ab"]
        assert max(moved) <= measure.size
        assert sum(moved) <= measure.sensitivity(Contribution(2, 5, 9)).l1 == 2 * measure.size


def test_rows_that_are_units_are_clamped_one_by_one() -> None:
    rows: list[tuple[int, str, int | None]] = [(0, "a", 9), (0, "a", 9), (0, "a", None), (0, "b", -9)]
    assert clamped(Clamped(name("x"), -1, 3, False, ""), rows, None) == {"a": 6, "b": -1}
    assert clamped(Clamped(name("x"), 0, 1, True, ""), rows, None) == {"a": 2, "b": 1}
