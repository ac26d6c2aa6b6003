"""Costs by themselves: what is bought for them, without a table in sight."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NoReturn

import pytest

from discreet.accounting import Concentrated, Pure
from discreet.accounting.conversion import rho_of_pure
from discreet.accounting.labels import rho_of_label
from discreet.accounting.losses import Sensitivity
from discreet.curator.public import PublicTables
from discreet.errors import Refused
from discreet.exit.cost import Choices, Cost, most_accurate, noise_of
from discreet.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from discreet.policy import Policy
from discreet.sql.cost import (
    WIDEST,
    Allocation,
    Line,
    Mechanisms,
    allocate,
    free,
    lines_of,
    mechanism_for,
    rank_notes,
    shares_of,
)
from discreet.sql.plan import Plan, plan
from discreet.sql.vectors import Chosen
from tests.sql.worlds import HEAD, policy_of

TABLE = """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = 3
[tables.t.columns]
g = { values = ["a", "b"] }
x = { min = 0, max = 10 }
z = { type = "text" }
w = { type = "text" }
[tables.u]
source = "u.csv"
unit = "who"
[tables.u.columns]
x = { min = 0, max = 10 }
"""
PURE = policy_of(TABLE)
BOTH = policy_of(TABLE, head=HEAD.replace("epsilon = 3", "epsilon = 3\ndelta = 1e-6"))
KINDS = {"pure": PURE, "both": BOTH}
each_budget = pytest.mark.parametrize("policy", KINDS.values(), ids=KINDS)


def no_engine() -> NoReturn:
    raise AssertionError("nothing is public here")


def planned(policy: Policy, text: str) -> Plan:
    return plan(policy, text, public=PublicTables(no_engine))


def allocated(policy: Policy, text: str, **cost: Any) -> Allocation:
    return allocate(policy, Cost.read(policy, **cost), planned(policy, text).releases)


def refused(policy: Policy, **cost: Any) -> str:
    with pytest.raises(Refused) as told:
        Cost.read(policy, **cost)
    return told.value.code


def test_an_epsilon_means_itself_whatever_the_budget_counts_in() -> None:
    """By itself (e, δ)-DP: what is converted and what selections may use add up to the δ that is named."""
    epsilon, own, half = Fraction(3, 10), Fraction(1, 10**9), Fraction(1, 2 * 10**6)
    assert Cost.read(PURE, epsilon=0.3) == Cost(Pure(epsilon))
    assert Cost.read(PURE, epsilon=0.3, delta=1e-9) == Cost(Pure(epsilon))
    assert Cost.read(BOTH, rho=0.3) == Cost(Concentrated(epsilon))
    assert Cost.read(BOTH, epsilon=0.3) == Cost(Concentrated(rho_of_label(epsilon, half)))
    assert Cost.read(BOTH, epsilon=0.3, private_keys=True) == Cost.read(BOTH, epsilon=0.3)
    public = Cost.read(BOTH, epsilon=0.3, delta=1e-9)
    private = Cost.read(BOTH, epsilon=0.3, delta=1e-9, private_keys=True)
    assert public.amount == rho_of_label(epsilon, own)
    assert private == Cost(Concentrated(rho_of_label(epsilon, own / 2)), own / 2)


def test_a_delta_above_the_budgets_is_refused() -> None:
    assert Cost.read(BOTH, epsilon=1, delta=1e-6).amount == rho_of_label(Fraction(1), Fraction(1, 10**6))
    assert refused(BOTH, epsilon=1, delta=1.000001e-6) == "cost-invalid"


@each_budget
def test_a_cost_is_one_number(policy: Policy) -> None:
    assert refused(policy) == refused(policy, delta=1e-9) == "cost-missing"
    assert refused(policy, epsilon=1, rho=1) == "cost-invalid"
    assert refused(policy, rho=1, delta=1e-9) == "cost-invalid"
    for wrong in (0, -1, "x", True, math.nan, math.inf, 10**10):
        assert refused(policy, epsilon=wrong) == "cost-invalid"
    for wrong in (0, 1, -1, "x", math.nan):
        assert refused(policy, epsilon=1, delta=wrong) == "cost-invalid"


def test_rho_needs_a_budget_that_counts_in_it() -> None:
    assert refused(PURE, rho=1) == "cost-invalid"


@pytest.mark.parametrize(
    ("policy", "exact"),
    [
        (PURE, {"epsilon": Fraction(1, 2)}),
        (BOTH, {"epsilon": Fraction(1, 2)}),
        (BOTH, {"rho": rho_of_label(Fraction(1, 2), Fraction(1, 2 * 10**6))}),
    ],
)
def test_the_limit_of_a_policy_may_be_paid_and_no_more(policy: Policy, exact: dict[str, Fraction]) -> None:
    limited = policy_of(TABLE, head="max_cost = 0.5\n" + _head(policy))
    assert Cost.read(limited, **exact, private_keys=False).amount == Cost.read(policy, epsilon=0.5).amount
    assert refused(limited, **{name: value + Fraction(1, 10**9) for name, value in exact.items()}) == "cost-too-high"


def _head(policy: Policy) -> str:
    return HEAD if policy.budget.delta is None else HEAD.replace("epsilon = 3", "epsilon = 3\ndelta = 1e-6")


def line(sensitivity: Sensitivity, size: int, adds: int) -> Line:
    return Line("of a test", sensitivity, size, adds, 0, None)


def test_relative_errors_are_the_same_for_all() -> None:
    lines = [
        line(Sensitivity.cells(4, 3), 3, 1),
        line(Sensitivity.cells(2, 50), 10, 2),
        line(Sensitivity.cells(1, 1), 1, 1),
    ]
    pure, rho = shares_of(Cost.read(PURE, epsilon=1), lines), shares_of(Cost.read(BOTH, epsilon=1), lines)
    assert sum(pure) == sum(rho) == 1
    # the share is the scale's inverse: l1/(share·size) times the root of how many are added
    scales = [
        each.sensitivity.l1 / each.size / share * (1, Fraction(7, 5))[each.adds - 1]
        for each, share in zip(lines, pure, strict=True)
    ]
    assert len(set(scales)) == 1
    variances = [
        each.sensitivity.l2_squared / each.size**2 / share * each.adds for each, share in zip(lines, rho, strict=True)
    ]
    assert len(set(variances)) == 1


@pytest.mark.parametrize("rho", [Fraction(1, 2) - Fraction(1, 10**9), Fraction(1, 10), Fraction(1, 10**9)])
def test_small_costs_buy_no_laplace_noise(rho: Fraction) -> None:
    for size in (1, 1000):
        assert isinstance(most_accurate(Sensitivity.cells(1, size), rho), Gaussian)


def test_before_numbers_are_on_a_grid_laplace_noise_costs_what_epsilon_does() -> None:
    mechanism = most_accurate(Sensitivity(Fraction(1, 2), Fraction(1, 4)), Fraction(50))
    assert isinstance(mechanism, Laplace)
    assert Fraction("49.99") < rho_of_pure(mechanism.epsilon) <= 50
    assert mechanism.loss.concentrated().rho <= 50


@pytest.mark.parametrize("rho", [Fraction(n, 20) for n in (1, 9, 10, 11, 20, 30, 40, 60, 100, 200, 2000)])
@pytest.mark.parametrize("cells", [1, 2, 5, 100])
def test_the_narrower_noise_is_bought_within_the_cost(cells: int, rho: Fraction) -> None:
    sensitivity = Sensitivity.cells(cells, 1000)
    found = most_accurate(sensitivity, rho)
    assert found.loss.concentrated().rho <= rho
    ways = [Gaussian(rho=rho, sensitivity=Fraction(math.sqrt(sensitivity.l2_squared)).limit_denominator(10**9))]
    widths = [way.error(0.95) for way in ways]
    widths.append(Laplace(rho=rho, sensitivity=sensitivity.l1).error(0.95))
    assert found.error(0.95) <= min(widths) * 1.005 + 1


def test_the_kind_of_noise_changes_where_the_widths_cross() -> None:
    sensitivity, kinds = Sensitivity.cells(1, 10**6), set()
    for rho in (Fraction(n, 100) for n in range(200, 300, 4)):
        ways = Gaussian(rho=rho, sensitivity=10**6), Laplace(rho=rho, sensitivity=10**6)
        found = most_accurate(sensitivity, rho)
        assert found.error(0.95) <= min(way.error(0.95) for way in ways) * 1.001
        kinds.add(type(found))
    assert kinds == {Gaussian, Laplace}


def test_the_largest_noise_is_drawn_and_nothing_larger() -> None:
    (release,) = planned(PURE, "SELECT SUM(x) FROM u").releases
    (measure,) = release.measures
    sensitivity = release.sensitivity(measure)
    least = sensitivity.l1 / Fraction(WIDEST)
    exact = Cost(Pure(least))
    found = mechanism_for(exact, release, measure, Fraction(1))
    assert isinstance(found, Laplace)
    assert found.spread == WIDEST
    assert WIDEST == 900_000_000_000
    with pytest.raises(Refused, match="too large to draw"):
        mechanism_for(exact, release, measure, Fraction(10**12 - 1, 10**12))


@pytest.mark.parametrize(
    ("policy", "cost"), [(PURE, {"epsilon": 1}), (BOTH, {"rho": 1}), (BOTH, {"epsilon": 1, "delta": 1e-9})]
)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*), SUM(x) FROM t",
        "SELECT g, AVG(x), COUNT(*) FROM t GROUP BY g",
        "SELECT g, MEDIAN(x) FROM t GROUP BY g",
        "SELECT MEDIAN(x), COUNT(*) FROM t",
    ],
)
def test_what_is_bought_costs_nearly_the_cost_and_never_more(policy: Policy, cost: dict[str, Any], text: str) -> None:
    found = allocated(policy, text, **cost)
    assert sum(found.shares) == 1
    assert sum(found.by_words.values()) == pytest.approx(1)
    most = Cost.read(policy, **cost)
    assert isinstance(found.loss, Pure if policy is PURE else Concentrated)
    if isinstance(found.loss, Pure):
        assert most.pure
        assert most.amount * Fraction(999, 1000) <= found.loss.epsilon <= most.amount
    else:
        assert most.amount * Fraction(999, 1000) <= found.loss.rho <= most.amount
        assert found.loss.delta == 0


def test_two_selections_of_keys_share_the_delta() -> None:
    one = allocated(BOTH, "SELECT z, COUNT(*) FROM t GROUP BY z", epsilon=1)
    releases = planned(BOTH, "SELECT z, COUNT(*) FROM t GROUP BY z").releases
    two = allocate(BOTH, Cost.read(BOTH, epsilon=1), [*releases, *releases])
    assert isinstance(one.loss, Concentrated)
    assert isinstance(two.loss, Concentrated)
    half = Fraction(1, 2 * 10**6)
    part = rho_of_label(Fraction(1), half) / rho_of_label(Fraction(3), half)
    assert half * part * (1 - Fraction(1, 10**14)) < one.loss.delta <= half * part
    assert one.loss.delta * Fraction(999, 1000) < two.loss.delta <= one.loss.delta
    named = allocated(BOTH, "SELECT z, COUNT(*) FROM t GROUP BY z", epsilon=1, delta=1e-7, private_keys=True)
    assert isinstance(named.loss, Concentrated)
    assert named.loss.delta == Fraction(1, 2 * 10**7)
    with pytest.raises(Refused) as told:
        allocated(PURE, "SELECT z, COUNT(*) FROM t GROUP BY z", epsilon=1)
    assert told.value.code == "private-keys-need-delta"


def test_a_selection_is_a_line_of_its_own_and_comes_first() -> None:
    first, second = lines_of(planned(BOTH, "SELECT z, COUNT(*) FROM t GROUP BY z").releases)
    assert (first.words, first.sensitivity, first.size, first.adds, first.measure) == (
        "which keys appear",
        Sensitivity.cells(3, 1),
        1,
        1,
        None,
    )
    assert second.measure is not None
    assert (first.release, second.release) == (0, 0)


def test_what_is_free_costs_nothing() -> None:
    assert free(PURE) == Allocation(Cost(Pure(0)), (), (), {}, Pure(0))
    assert free(BOTH) == Allocation(Cost(Concentrated(0)), (), (), {}, Concentrated(0))
    assert free(BOTH).cost.amount == 0


@pytest.mark.parametrize(
    ("policy", "cost", "epsilon"),
    [(PURE, {"epsilon": 3}, Fraction(3)), (BOTH, {"rho": Fraction(9, 8)}, Fraction(3))],
)
def test_quantiles_are_chosen_in_every_group_for_a_part_of_the_cost(
    policy: Policy, cost: dict[str, Any], epsilon: Fraction
) -> None:
    """ρ buys one choice with ε = √(8ρ); over all groups together a unit's rows share it."""
    text = "SELECT g, MEDIAN(x) FROM t GROUP BY g"
    found = allocated(policy, text, **cost)
    releases = planned(policy, text).releases
    ((measure,), (mechanism,)) = releases[0].measures, found.mechanisms[0].measures
    assert isinstance(mechanism, Choices)
    assert isinstance(measure, Chosen)
    bounds = releases[0].contribution.sensitivity
    assert bounds == mechanism.moved == releases[0].sensitivity(measure)
    assert isinstance(mechanism.mechanism, PermuteAndFlip if policy is PURE else Exponential)
    each = mechanism.mechanism.epsilon
    shared = bounds.l1 if policy is PURE else math.sqrt(bounds.l2_squared)
    assert each == pytest.approx(float(epsilon) / float(shared), rel=1e-9)
    assert mechanism.loss == found.cost.loss
    assert found.noises == ((None,),)
    (note,) = rank_notes(releases, found, Fraction(19, 20))
    ranks = math.log(measure.layout.cells / 0.05) * 2 * measure.score_sensitivity / float(each)
    assert f"95 % rank error ≤ {math.ceil(ranks / measure.share.denominator)} rows" in note


def test_a_noise_is_told_as_its_distribution() -> None:
    mechanism = Laplace(Fraction(1, 2), sensitivity=3)
    assert noise_of(mechanism).scale == 6  # type: ignore[union-attr]
    assert Mechanisms((mechanism,)).noises == (noise_of(mechanism),)


def test_every_line_has_its_share() -> None:
    releases = planned(PURE, "SELECT COUNT(DISTINCT x), SUM(x) FROM t").releases
    for shares in ([Fraction(1)], [Fraction(1, 3)] * 3):
        with pytest.raises(ValueError, match="zip"):
            allocate(PURE, Cost.read(PURE, epsilon=1), releases, shares)
