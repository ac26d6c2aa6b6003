"""Workloads: strategies against dense linear algebra, figures of the literature, and errors as they are predicted."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from discreet.errors import Refused
from discreet.exit import Cost
from discreet.release import Domain, Workload, optimize
from discreet.release.marginals import Marginals, needs
from discreet.release.optimal import GAP, best_matrix, listed
from discreet.release.plans import Plan, Product, Term, best_plan, candidates, factors_for, size_of
from discreet.release.queries import Queries, combined
from discreet.release.rows import Rows
from discreet.release.strategies import Haar, Matrix, Strategy, Tree
from discreet.release.workload import mean_squares

KINDS = ("identity", "total", "ranges", "prefixes")


def line(cells: int) -> Domain:
    return Domain.of({"x": (0, cells - 1)}, bins={"x": cells})


def dense(strategy: Strategy) -> Any:
    """The matrix of a strategy, column by column."""
    return strategy.measured(np.eye(strategy.cells, dtype=np.int64)).T


# queries


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("cells", "null"), [(1, 0), (7, 0), (8, 1), (2, 1)])
def test_what_is_known_of_queries_is_true_of_their_matrix(kind: str, cells: int, null: int) -> None:
    queries = Queries(kind, cells, null)
    rows = queries.rows
    assert rows.shape == (queries.count, cells)
    assert np.allclose(queries.gram, rows.T @ rows)
    given = Queries("matrix", cells, null, rows)
    for size in (1, 2, 3, cells):
        blocks = [np.isin(np.arange(cells), range(start, start + size)) for start in range(0, cells, size)]
        expected = sum(float(((rows @ block) ** 2).sum()) for block in blocks)
        assert math.isclose(queries.energy(size), expected)
        assert math.isclose(given.energy(size), expected)


def test_null_has_no_place_in_an_order() -> None:
    assert Queries("ranges", 3, 1).rows.tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]]


# strategies of one attribute

STRATEGIES: list[Strategy] = [
    Tree(5, 5, (0, 1)),
    Tree(7, 2, (3, 0, 2, 5)),
    Tree(9, 3, (1, 1, 1)),
    Tree(1, 2, (2,)),
    Haar(8, (3, 1, 4, 1)),
    Haar(5, (1, 2, 3, 4)),
    Matrix(np.array([[3, -1], [0, 2], [1, 1]])),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: f"{each.name}-{each.cells}")
def test_strategies_are_what_their_matrix_is(strategy: Strategy) -> None:
    matrix = dense(strategy)
    assert matrix.shape == (strategy.rows, strategy.cells)
    assert strategy.sensitivity.l1 >= np.abs(matrix).sum(axis=0).max()
    assert strategy.sensitivity.l2_squared >= (matrix**2).sum(axis=0).max()
    if not isinstance(strategy, Matrix) and strategy.cells == strategy.cells:
        assert strategy.sensitivity.l1 == np.abs(matrix).sum(axis=0).max()
    dice = np.random.default_rng(0)
    exact = dice.integers(0, 1000, (3, strategy.cells))
    assert np.allclose(strategy.solved(strategy.measured(exact).astype(float)), exact)
    full = strategy.cells == getattr(strategy, "padded", strategy.cells)
    if full and not (isinstance(strategy, Haar) and strategy.rows != strategy.cells):
        noisy = strategy.measured(exact) + dice.normal(0, 5, (3, strategy.rows))
        assert np.allclose(strategy.solved(noisy), noisy @ np.linalg.pinv(matrix).T)
        inverse = np.linalg.inv(matrix.T @ matrix)
        query = dice.normal(0, 1, strategy.cells)
        assert math.isclose(strategy.variance(query), query @ inverse @ query)
        for kind in KINDS:
            queries = Queries(kind, strategy.cells)
            assert math.isclose(strategy.trace(queries), np.trace(queries.gram @ inverse))


@pytest.mark.parametrize("strategy", [Tree(7, 2, (3, 0, 2, 5)), Haar(5, (1, 2, 3, 4))], ids=lambda each: each.name)
def test_empty_cells_that_fill_up_a_tree_are_counted_in_its_error(strategy: Any) -> None:
    """The estimate does not know that they are empty: it is linear, and its variance is as it is said."""
    padded = strategy.rows if isinstance(strategy, Haar) else strategy.padded
    full = Haar(padded, strategy.weights) if isinstance(strategy, Haar) else Tree(padded, 2, strategy.weights)
    inverse = np.linalg.inv(dense(full).T @ dense(full))[: strategy.cells, : strategy.cells]
    for kind in KINDS:
        queries = Queries(kind, strategy.cells)
        assert math.isclose(strategy.trace(queries), np.trace(queries.gram @ inverse))


# figures

FIGURES = [
    ("ranges", 64, 44.0, 22.0, 5.3),
    ("prefixes", 64, 65.0, 32.5, 4.4),
    ("ranges", 256, 172.0, 86.0, 8.4),
    ("prefixes", 256, 257.0, 128.5, 6.4),
]


@pytest.mark.parametrize(("kind", "cells", "laplace", "gaussian", "optimal"), FIGURES)
def test_errors_are_those_of_the_literature(
    kind: str, cells: int, laplace: float, gaussian: float, optimal: float
) -> None:
    """Mean squared error of a query, at ε = 1 and at one unit of Gaussian noise (ρ = 1/2)."""
    queries = Queries(kind, cells)
    identity = Product((Tree(cells, cells, (0, 1)),), (cells,))
    terms = [Term((queries,))]
    assert round(size_of(identity, terms, pure=True) / queries.count, 1) == laplace
    assert round(size_of(identity, terms, pure=False) / queries.count, 1) == gaussian
    best = best_plan(terms, pure=False, scale=2**16)
    assert size_of(best, terms, pure=False) / queries.count <= 1.01 * optimal
    assert size_of(best_plan(terms, pure=True, scale=2**16), terms, pure=True) <= size_of(identity, terms, pure=True)


@pytest.mark.long
def test_a_thousand_ranges_take_a_28th_of_the_variance() -> None:
    found = optimize(Workload.ranges(domain=line(1024)), rho=0.5)
    assert found.error["ranges"] ** 2 <= 12.4
    assert found.plain >= 27.5


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("kind", ["ranges", "prefixes", "identity"])
@pytest.mark.parametrize("cells", [2, 16, 37])
def test_what_is_chosen_is_never_worse_than_anything_that_is_listed(kind: str, cells: int, pure: bool) -> None:
    queries = Queries(kind, cells)
    terms = [Term((queries,))]
    best = size_of(best_plan(terms, pure=pure, scale=2**10), terms, pure=pure)
    for factor in [*listed(queries, 2**10, pure=pure), *factors_for(queries, 2**10, pure=pure)]:
        assert best <= size_of(Product((factor,), (cells,)), terms, pure=pure) * (1 + 1e-9)


def test_the_best_matrix_is_within_its_gap_of_a_bound_that_nothing_beats() -> None:
    """The optimum of prefixes lies above the nuclear norm bound, and below all that is listed."""
    gram = Queries("prefixes", 16).gram
    matrix = best_matrix(gram, 2**16)
    error = float(matrix.sensitivity.l2_squared) * matrix.trace(Queries("prefixes", 16))
    lower = np.sqrt(np.linalg.eigvalsh(gram)).sum() ** 2 / 16
    assert lower <= error
    ours = min(
        size_of(Product((factor,), (16,)), [Term((Queries("prefixes", 16),))], pure=False)
        for factor in listed(Queries("prefixes", 16), 2**10, pure=False)
    )
    assert error <= ours * (1 + GAP)


# marginals


def marginal_matrix(shape: tuple[int, ...], subset: tuple[int, ...]) -> Any:
    return combined([np.eye(n) if i in subset else np.ones((1, n)) for i, n in enumerate(shape)])


def cells_of(shape: tuple[int, ...]) -> Any:
    """The codes of one row in each cell."""
    return np.array(list(np.ndindex(*shape)))


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize(("shape", "ways"), [((2, 3, 4), 1), ((2, 3, 4), 2), ((3, 2), 2), ((4,), 1), ((2, 2, 2, 2), 3)])
def test_marginals_are_what_their_matrix_is(shape: tuple[int, ...], ways: int, residual: bool) -> None:
    wanted = dict.fromkeys(combinations(range(len(shape)), ways), 1.0)
    needed = needs(shape, wanted)
    subsets = tuple(needed) if residual else tuple(wanted)
    plan = Marginals(shape, subsets, tuple(range(1, len(subsets) + 1)), residual)
    codes = cells_of(shape)
    matrix = np.stack([plan.measured(codes[[cell]]) for cell in range(len(codes))], axis=1)
    assert plan.sensitivity.l1 == np.abs(matrix).sum(axis=0).max()
    assert plan.sensitivity.l2_squared == (matrix**2).sum(axis=0).max()
    inverse = np.linalg.pinv(matrix.T @ matrix)
    asked = np.concatenate([marginal_matrix(shape, subset) for subset in wanted])
    assert math.isclose(plan.trace(needed), np.trace(asked @ inverse @ asked.T))
    assert math.isclose(sum(needed.values()), np.trace(asked.T @ asked))
    noisy = np.random.default_rng(1).normal(0, 9, plan.rows)
    estimate = np.linalg.pinv(matrix) @ noisy
    parts = plan.components(noisy)
    for subset in wanted:
        assert np.allclose(plan.table(parts, subset).ravel(), marginal_matrix(shape, subset) @ estimate)


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_residuals_are_as_good_as_the_best_matrix(ways: int) -> None:
    """On a domain that is small enough for both."""
    domain = Domain.of({"a": ["x", "y"], "b": (0, 3), "c": [1, 2, 3]})
    workload = Workload.marginals(ways, domain=domain)
    terms = workload.terms
    residuals = best_plan(terms, pure=False, scale=2**16)
    assert isinstance(residuals, Marginals)
    gram = np.sum([term.gram for term in terms], axis=0)
    matrix = Product((best_matrix(gram, 2**16),), domain.shape)
    ours, best = size_of(residuals, terms, pure=False), size_of(matrix, terms, pure=False)
    assert best / (1 + GAP) * 0.999 <= ours <= best * 1.001


def test_marginals_of_many_columns_need_no_table_over_all_of_them() -> None:
    domain = Domain.of({f"c{i}": list(range(2 + i % 5)) for i in range(40)})
    data = {name: [0, 1, 1] for name in domain.names}
    published = Workload.marginals(2, domain=domain).release(data, rho=10**6)
    assert np.allclose(published.marginal("c3", "c0").round(), [[1, 0], [0, 2], [0, 0], [0, 0], [0, 0]])
    assert np.allclose(published.marginal("c0", "c3").round(), published.marginal("c3", "c0").round().T)
    assert round(float(published.marginal("c7").sum())) == 3
    with pytest.raises(Refused, match="not measured"):
        published.marginal("c1", "c2", "c3")
    with pytest.raises(Refused, match="only marginals"):
        published.cells()


# errors

SMALL = Domain.of({"a": ["x", "y", "z"], "b": (0, 9), "c": bool}, nullable=["a"])
WORKLOADS = [
    Workload.prefixes(domain=line(64)),
    Workload.ranges(domain=line(20)),
    Workload.marginals(2, domain=SMALL),
    Workload.ranges(domain=SMALL) + Workload.marginals(1) + Workload.totals(),
    Workload.product({"b": "ranges", "c": "identity"}, domain=SMALL),
    Workload.product({"b": [[1, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0, 0, 0, 2]]}, domain=SMALL),
    Workload.matrix(np.eye(6)[:2], domain=Domain.of({"a": ["x", "y"], "b": (0, 2)})) + Workload.totals(),
]


def estimator(plan: Plan, workload: Workload, part: int) -> Any:
    """The matrix from measurements to answers."""
    from discreet.release.answers import Answers

    def answered(row: Any) -> Any:
        return Answers(workload=workload, plan=plan, values=row, variance=1.0).answers(part)

    return np.stack([answered(row) for row in 10**6 * np.eye(plan.rows, dtype=np.int64)], axis=1) / 10**6


@pytest.mark.parametrize("cost", [Cost.alone(epsilon=1), Cost.alone(rho=Fraction(1, 2))], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("workload", WORKLOADS, ids=range(len(WORKLOADS)))
def test_the_predicted_error_is_that_of_the_estimate(workload: Workload, cost: Cost) -> None:
    """Exactly, from the matrices; and the noise has the variance that is said (see the next test)."""
    complete = workload.declared(None)
    plan = complete.plan(cost)
    squares = mean_squares(complete, plan, 1.0)
    for part, square in enumerate(squares):
        back = estimator(plan, complete, part)
        assert math.isclose(square, (back**2).sum(axis=1).mean(), rel_tol=1e-6)


@pytest.mark.parametrize("cost", [Cost.alone(epsilon=1), Cost.alone(rho=Fraction(1, 2))], ids=["laplace", "gaussian"])
def test_measured_errors_are_within_five_per_cent_of_the_predicted(cost: Cost) -> None:
    """20,000 releases of 64 numbers; five per cent are more than five deviations: false alarm below 10⁻⁶."""
    workload = Workload.prefixes(domain=line(64)).declared(None)
    plan = workload.plan(cost)
    back = estimator(plan, workload, 0)
    moved = plan.sensitivity
    mechanism = cost.noise(moved)
    noise = np.asarray(mechanism.release(np.zeros(20_000 * plan.rows, dtype=np.int64)), dtype=np.float64)
    squares = ((noise.reshape(20_000, plan.rows) @ back.T) ** 2).mean(axis=1)
    predicted = workload.expected(cost, 1).error["prefixes"] ** 2 / 1.96**2
    assert squares.std() / math.sqrt(20_000) < 0.01 * predicted
    assert abs(squares.mean() / predicted - 1) < 0.05


@pytest.mark.parametrize("workload", WORKLOADS, ids=range(len(WORKLOADS)))
def test_with_little_noise_answers_are_the_truth(workload: Workload) -> None:
    domain = workload.settled
    dice = np.random.default_rng(3)
    codes = np.stack([dice.integers(0, attribute.size, 50) for attribute in domain.known], axis=1)
    uniform = np.zeros(50, dtype=np.int64)
    data = {a.name: a.drawn(codes[:, i], uniform) for i, a in enumerate(domain.known)}
    published = workload.release(data, rho=10**8)
    exact = domain.histogram(domain.codes(Rows.of(data, domain.names))).astype(float)
    for part, terms in enumerate(workload.grouped):
        rows = np.concatenate([term.rows for term in terms])
        assert np.allclose(published.answers(part), rows @ exact.ravel(), atol=0.05)
    sums = published.answers(0, nonnegative=True)
    assert len(sums) == len(published.answers(0))


def test_nonnegative_estimates_add_up_to_the_same_and_are_not_below_zero() -> None:
    published = Workload.ranges(domain=line(64)).release({"x": [1, 1, 5]}, epsilon=0.1)
    cells = published.cells(nonnegative=True)
    assert cells.min() >= 0
    assert math.isclose(cells.sum(), max(0.0, published.estimate.sum()), abs_tol=1e-6)
    assert published.estimate.min() < 0  # 64 noisy cells: the probability of none below 0 is under 2⁻³⁰


# refusals


def wide(columns: int, facts: Any) -> Domain:
    return Domain.of({f"c{i}": facts for i in range(columns)})


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: Workload.histogram().declared(None), "release-invalid"),
        (lambda: Workload.ranges(domain=Domain.of({"a": ["x"]})).declared(None), "release-invalid"),
        (lambda: Workload.marginals(3, domain=line(4)).declared(None), "release-invalid"),
        (lambda: Workload.marginals(10, domain=wide(60, bool)).declared(None), "release-invalid"),
        (lambda: Workload.matrix([[1, 2]], domain=line(4)).declared(None), "release-invalid"),
        (lambda: Workload.matrix([[math.nan] * 4], domain=line(4)).declared(None), "release-invalid"),
        (lambda: Workload.product({"y": "ranges"}, domain=line(4)).declared(None), "unknown-column"),
        (lambda: Workload.histogram(domain=wide(9, (0, 99))).declared(None), "release-invalid"),
        (lambda: Workload.histogram("y", domain=line(4)).declared(None), "release-invalid"),
        (lambda: Workload.ranges(domain=line(4)).release({"x": []}, epsilon=1e-12), "cost-invalid"),
    ],
)  # fmt: skip
def test_what_is_no_workload_is_refused(make: Any, code: str) -> None:
    with pytest.raises((Refused, ValueError)) as refused:
        make()
    if isinstance(refused.value, Refused):
        assert (refused.value.code, bool(refused.value.fix)) == (code, True)


def test_candidates_are_for_both_kinds_of_noise() -> None:
    terms = Workload.ranges(domain=SMALL).terms
    assert {type(plan) for pure in (True, False) for plan in candidates(terms, pure=pure, scale=64)} == {Product}
