"""Plans: what they cost is what the accountant says of what is drawn; what makes no sense is refused."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting import epsilon_for_training
from discreet.errors import Refused
from discreet.federated import COORDINATOR, MODELS, Plan
from discreet.federated.smoothing import BLUR

FACTS: dict[str, Any] = {"clients": 100, "parameters": 3, "rounds": 20, "sigma": 2.0, "delta": 1e-5, "rate": 0.25}


def promises(plan: Plan, rounds: int | None = None) -> dict[str, float]:
    return {promise.against: promise.epsilon for promise in plan.guarantees(rounds)}


def test_central_noise_costs_what_the_accountant_says() -> None:
    assert promises(Plan(**FACTS)) == {MODELS: pytest.approx(epsilon_for_training(2.0, 0.25, 20, 1e-5), rel=1e-9)}
    assert promises(Plan(**FACTS), 7) == {MODELS: pytest.approx(epsilon_for_training(2.0, 0.25, 7, 1e-5), rel=1e-9)}
    assert promises(Plan(**FACTS), 0) == {MODELS: 0.0}
    assert promises(Plan(**FACTS), 99) == promises(Plan(**FACTS))


def test_no_sampling_counts_against_a_coordinator_that_sees_who_takes_part() -> None:
    plan = Plan(**FACTS, noise="distributed", dropout=0.2, colluding=0.1, participations=6)
    told = promises(plan)
    assert told[COORDINATOR] == pytest.approx(epsilon_for_training(2.0, 1, 6, 1e-5), rel=1e-9)
    assert told[MODELS] == pytest.approx(epsilon_for_training(2 / math.sqrt(0.7), 0.25, 20, 1e-5), rel=1e-6)
    local = promises(Plan(**FACTS, noise="local"))
    assert local == {COORDINATOR: pytest.approx(epsilon_for_training(2.0, 1, 20, 1e-5), rel=1e-9)}
    capped = promises(Plan(**{**FACTS, "rate": 1}, participations=3))
    assert capped[MODELS] == pytest.approx(epsilon_for_training(2.0, 1, 3, 1e-5), rel=1e-9)


def test_noise_that_is_drawn_counts_for_sigma_times_what_a_client_moves() -> None:
    for quantile in (None, 0.5):
        plan = Plan(**FACTS, quantile=quantile)
        assert plan.variance - BLUR >= 4 * plan.grid.sensitivity_squared > plan.variance - BLUR - 1


@pytest.mark.parametrize(("dropout", "colluding"), [(0.0, 0.0), (0.1, 0.0), (0.25, 0.3)])
def test_whoever_stays_and_whoever_colludes_enough_noise_is_left(dropout: float, colluding: float) -> None:
    """Every number of members: those who must stay, without those who collude, draw what counts for sigma."""
    plan = Plan(**FACTS, noise="distributed", dropout=dropout, colluding=colluding)
    wanted = Fraction(2) ** 2 * plan.grid.sensitivity_squared + BLUR
    for members in range(1, 101):
        honest = plan.least(members) - math.floor(members * Fraction(str(colluding)))
        assert honest * plan.share(members) >= wanted
        assert plan.share(members) >= 8


def test_distributed_noise_is_filled_up_to_the_same_in_all_rounds() -> None:
    """Else whoever sees models would learn from the noise how many took part, and sampling would not count."""
    plan = Plan(**FACTS, noise="distributed", dropout=0.3)
    totals = {
        survivors * plan.share(members) + plan.missing(members, survivors)
        for members in range(1, 101)
        for survivors in range(plan.least(members), members + 1)
    }
    assert len(totals) == 1
    assert totals.pop() - BLUR >= 4 * plan.grid.sensitivity_squared / plan.honest
    assert min(plan.missing(members, members) for members in range(1, 101)) >= 8


@pytest.mark.parametrize("place", ["central", "distributed", "local"])
def test_a_plan_within_a_cost_costs_no_more_and_hardly_less(place: str) -> None:
    plan = Plan.within(2, clients=100, parameters=3, rounds=20, delta=1e-5, rate=0.25, noise=place)
    assert 1.99 < plan.guarantees()[0].epsilon <= 2


def test_a_plan_can_be_made_for_what_a_coordinator_learns() -> None:
    plan = Plan.within(4, against=COORDINATOR, clients=100, parameters=3, rounds=5, delta=1e-5, noise="distributed")
    assert 3.99 < promises(plan)[COORDINATOR] <= 4
    with pytest.raises(Refused, match="nothing is promised against the coordinator"):
        Plan.within(4, against=COORDINATOR, clients=100, parameters=3, rounds=5, delta=1e-5)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_correlated_noise_covers_every_way_to_take_part(turns: int) -> None:
    """Enumeration: all rounds at least `turns` apart, all signs of the updates; the bound is reached."""
    plan = Plan(**{**FACTS, "rounds": 6, "rate": Fraction(1, turns)}, correlated=True)
    assert plan.turns == turns
    count, column = plan.rounds, plan.root.column
    matrix = np.array([[column[i - j] if i >= j else 0 for j in range(count)] for i in range(count)], dtype=object)
    worst = 0
    for updates in itertools.product((-1, 0, 1), repeat=count):
        taken = [index for index, update in enumerate(updates) if update]
        if all(later - earlier >= turns for earlier, later in itertools.pairwise(taken)):
            worst = max(worst, sum(int(each) ** 2 for each in matrix @ np.array(updates, dtype=object)))
    assert plan.moved_squared == worst * plan.grid.sensitivity_squared
    assert promises(plan)[MODELS] == pytest.approx(epsilon_for_training(2.0, 1, 1, 1e-5), rel=1e-9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"clients": 0}, "clients must be at least 1"),
        ({"clients": 10**7}, "at most 1,000,000 clients"),
        ({"rounds": 2.5}, "rounds must be an integer"),
        ({"parameters": True}, "parameters must be an integer"),
        ({"rate": 0}, "rate must lie above 0"),
        ({"rate": 1.5}, "rate must lie above 0"),
        ({"rate": "half"}, "rate must be a number"),
        ({"sigma": -1}, "sigma must be above 0"),
        ({"sigma": math.nan}, "sigma must be finite"),
        ({"delta": 1}, "delta must lie strictly between 0 and 1"),
        ({"noise": "everywhere"}, "noise must be one of"),
        ({"clip": 0}, "clip must be above 0"),
        ({"clip": 1e30}, "clip must lie between"),
        ({"quantile": 1}, "quantile must lie strictly"),
        ({"participations": 0}, "participations must be at least 1"),
        ({"dropout": 1}, "together below 1"),
        ({"dropout": 0.5, "colluding": 0.5}, "together below 1"),
        ({"dropout": -0.1}, "together below 1"),
        ({"correlated": 1}, "correlated must be True or False"),
        ({"correlated": True, "noise": "local"}, "drawn in one place"),
        ({"correlated": True, "quantile": 0.5}, "one clipping norm"),
        ({"sigma": 1e9}, "steps to the clipping norm"),
        ({"clients": 10**6, "parameters": 10**6}, "steps to the clipping norm"),
        ({"noise": "distributed", "sigma": 1e-4, "clients": 100_000}, "cannot be shared"),
    ],
)
def test_plans_that_make_no_sense_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match=said) as refusal:
        Plan(**{**FACTS, **change})
    assert refusal.value.code == "training-invalid"
    assert refusal.value.fix
