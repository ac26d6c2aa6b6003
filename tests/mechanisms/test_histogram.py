from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import Concentrated, Pure
from discreet.mechanisms import Histogram
from tests.mechanisms.helpers import (
    LAPLACE,
    STEADY,
    cost,
    enlarged,
    loss_between,
    noiseless,
    recorded,
    small_tables,
    too_many,
)
from tests.statistics import ALARM, laplace_law, misfit

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
COSTS: list[dict[str, Any]] = [{"epsilon": 0.5}, {"rho": 0.1}]
CELLS: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    ({"keys": ["a", "b"]}, ("a", "b", "stranger")),
    ({"keys": [None, 0, ("x", 1)]}, (None, ("x", 1), 0.0)),
    ({"edges": [0, 1, 2]}, (-1e300, 1, 1.5)),
    ({"edges": [-0.1, 0.3]}, (0.3, 0.1, 7)),
]


# What is promised


@pytest.mark.parametrize("pay", COSTS)
@pytest.mark.parametrize(("cells", "domain"), CELLS)
def test_one_unit_more_costs_at_most_the_cost_in_every_small_table(
    pay: dict[str, Any], cells: dict[str, Any], domain: tuple[Any, ...]
) -> None:
    mechanism = Histogram(**cells, **pay)
    costs = [
        loss_between(recorded(mechanism, table), recorded(mechanism, larger))
        for table in small_tables(domain)
        for larger in enlarged(table, domain)
    ]
    assert max(costs) == cost(mechanism.loss)


@pytest.mark.parametrize("pay", COSTS)
@STEADY
@given(table=st.lists(FLOATS, max_size=20), value=FLOATS)
def test_one_unit_more_costs_at_most_the_cost_whatever_the_numbers(
    pay: dict[str, Any], table: list[float], value: float
) -> None:
    mechanism = Histogram(edges=[-1e90, -0.0, 5e-324, 1, 2**53], **pay)
    assert loss_between(recorded(mechanism, table), recorded(mechanism, [*table, value])) <= cost(mechanism.loss)


@pytest.mark.parametrize("value", [None, math.nan, [1], ("a", [1]), {"a": 1}, b"a", "A", "a ", "ａ", 10**400, True])
def test_one_poisoned_unit_among_labels_moves_nothing_beyond_its_sensitivity(value: object) -> None:
    mechanism = Histogram(keys=["a", "b"], epsilon=0.5)
    assert noiseless(mechanism, ["a", value]).tolist() == [1, 0]
    assert loss_between(recorded(mechanism, ["a"]), recorded(mechanism, ["a", value])) == 0


@pytest.mark.parametrize("cells", [1, 10, 1000])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)])
def test_any_number_of_disjoint_cells_has_sensitivity_one(cells: int, epsilon: Fraction) -> None:
    (draw,) = recorded(Histogram(keys=range(cells), epsilon=epsilon), [])
    assert draw.public == (LAPLACE, 1 / epsilon, cells)


def test_the_cost_is_one_currency() -> None:
    assert Histogram(keys=["a"], epsilon=0.5).loss == Pure(0.5)
    assert Histogram(keys=["a"], rho=0.5).loss == Concentrated(0.5)


# What comes out


@STEADY
@given(st.lists(st.sampled_from(["a", "b", "c", "d", 1, None])))
def test_without_noise_labels_are_counted(table: list[Any]) -> None:
    counts = Counter(table)
    released = noiseless(Histogram(keys=["c", "a", None], epsilon=1), table)
    assert released.dtype == np.int64
    assert released.tolist() == [counts["c"], counts["a"], counts[None]]


@STEADY
@given(st.lists(st.integers(-1, 6).map(lambda k: k / 2)))
def test_without_noise_numbers_are_counted_between_edges(table: list[float]) -> None:
    released = noiseless(Histogram(edges=[0, 0.5, 2], epsilon=1), table)
    assert released.tolist() == [sum(0 <= x < 0.5 for x in table), sum(0.5 <= x <= 2 for x in table)]


def test_arrays_of_labels_are_counted() -> None:
    mechanism = Histogram(keys=["a", "b"], epsilon=1)
    assert noiseless(mechanism, np.array(["b", "b", "z"])).tolist() == [0, 2]
    assert noiseless(Histogram(keys=[1, 2], epsilon=1), np.array([2, 2, 9])).tolist() == [0, 2]
    assert noiseless(Histogram(keys=[1, 2], epsilon=1), (x for x in (1, 2, 2))).tolist() == [1, 2]


@STEADY
@given(st.lists(FLOATS, max_size=4))
def test_the_order_of_the_rows_changes_nothing(table: list[float]) -> None:
    mechanism = Histogram(edges=[-1, 0, 1e6], epsilon=1)
    assert len({tuple(recorded(mechanism, order)) for order in permutations(table)}) == 1


def test_empty_cells_get_noise_too() -> None:
    """The chance that a thousand draws of scale 10 are all zero is below 10⁻¹⁰⁰⁰."""
    assert np.any(Histogram(keys=range(1000), epsilon=0.1).release([]))


@pytest.mark.parametrize("cells", [{"keys": range(20_000)}, {"edges": range(20_001)}])
def test_counts_are_released_with_the_exact_distribution_around_them(cells: dict[str, Any]) -> None:
    """A verdict of `tests.statistics`: false alarm below 10⁻⁹."""
    released = Histogram(**cells, epsilon=0.5).release(list(range(20_000)))
    assert misfit(released - 1, laplace_law(2)) > ALARM


@pytest.mark.parametrize("pay", COSTS)
def test_the_interval_holds_the_truth_as_often_as_it_says(pay: dict[str, Any]) -> None:
    """False alarm ≤ FALSE_ALARM."""
    cells = 20_000
    mechanism = Histogram(keys=range(cells), **pay)
    misses = int((np.abs(mechanism.release([])) > mechanism.error(0.9)).sum())
    assert not too_many(misses, cells, 0.1)


# What is refused


@pytest.mark.parametrize("cells", [{}, {"keys": ["a"], "edges": [0, 1]}])
def test_cells_are_either_keys_or_edges(cells: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"give either keys .* or edges"):
        Histogram(**cells, epsilon=1)


@pytest.mark.parametrize("keys", [[], ["a", "a"], [1, 1.0]])
def test_keys_are_at_least_one_label_each_once(keys: list[Any]) -> None:
    with pytest.raises(ValueError, match="keys must be at least one label, each once"):
        Histogram(keys=keys, epsilon=1)


@pytest.mark.parametrize("keys", [5, "ab", b"ab", [[1]]])
def test_keys_are_a_list_of_labels(keys: Any) -> None:
    with pytest.raises(TypeError, match="keys must be"):
        Histogram(keys=keys, epsilon=1)


@pytest.mark.parametrize(
    "edges", [[], [1], [1, 1], [2, 1], [0, math.inf], [math.nan, 1], [0, 10**400], [-(10**400), 0]]
)
def test_edges_are_finite_numbers_in_ascending_order(edges: list[float]) -> None:
    with pytest.raises(ValueError, match="edges must be"):
        Histogram(edges=edges, epsilon=1)


@pytest.mark.parametrize("edges", [5, "ab", [None, 1], [True, 2]])
def test_edges_are_numbers(edges: Any) -> None:
    with pytest.raises(TypeError, match="edges must be"):
        Histogram(edges=edges, epsilon=1)


@pytest.mark.parametrize("values", ["abc", b"abc", 5, None, np.array("a")])
def test_labels_come_in_a_list(values: Any) -> None:
    with pytest.raises(TypeError, match="values must be a list or array of labels"):
        Histogram(keys=["a"], epsilon=1).release(values)


@pytest.mark.parametrize("edges", [(0, 2, 1), (0, 2, 2, 3), (1, 0, 5)])
def test_edges_ascend_everywhere(edges: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="ascending order"):
        Histogram(edges=edges, epsilon=1)


def test_edges_may_lie_as_far_out_as_any_number() -> None:
    assert Histogram(edges=[-(10**100), 0, 10**100], epsilon=1).edges is not None


@pytest.mark.parametrize("edges", [(0, 1, 10**101), (-(10**101), 0, 1)])
def test_edges_are_numbers_that_floats_can_divide(edges: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="use another unit"):
        Histogram(edges=edges, epsilon=1)
