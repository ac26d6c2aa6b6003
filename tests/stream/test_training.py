"""Training on a stream that grows: attempts are charged as planned, go on where they ended, and stop in time."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest

import discreet
from discreet.curator.curator import Curator
from discreet.errors import QueryFailed, Refused
from discreet.exit import Sampler
from discreet.learn import GaussianNB, KMeans, LinearRegression
from discreet.stream import Decision, Ending, Plan, Run, attempts
from tests.curator.streams import EXACT, add, day, opened, world
from tests.learn.helpers import Recorder
from tests.learn.replaying import check_moved

SQL: Final = "SELECT fare, zone FROM rides"
EASY: Final[dict[str, Any]] = {"target": "zone", "goal": 0.6, "epsilon": 0.25, "cap": 0.5}
HARD: Final[dict[str, Any]] = {"target": "zone", "goal": 0.999, "epsilon": 0.125, "cap": 0.25}
"""More than two blocks can show."""


def rides(days: Iterable[int], riders: int = 500) -> list[tuple[Any, ...]]:
    """Cheap rides are in the north, all others in the south; nothing is by chance."""
    dice = random.Random(5)
    return [
        (f"r{rider}", day(when), fare, "north" if fare < 25 else "south")
        for when in days
        for rider in range(riders)
        for fare in [dice.randrange(50)]
    ]


def stream(folder: Path, days: int, kind: str = "unit-day", *, sampler: Sampler = EXACT, **more: Any) -> Curator:
    """A curator over so many days, whose noise is off."""
    path = world(folder, kind, **more)
    for when in range(1, days + 1):
        add(folder, day(when), rides([when]))
    found = opened(path, sampler=sampler)
    found.refresh(until=day(days + 1))
    return found


def train(found: Any, estimator: Any = None, sql: str = SQL, **options: Any) -> Run:
    return discreet.stream.train(found, estimator or GaussianNB(), sql, **options)


def lines(found: Curator) -> list[Fraction]:
    standing = found._ledger.stream("rides")
    return [standing.spent(number).amount for number in range(standing.count)]


# from the first attempt to the last


@pytest.mark.parametrize("kind", ["unit-day", "row", "unit", "unit in days"])
def test_what_is_good_enough_is_accepted_at_the_first_attempt(tmp_path: Path, kind: str) -> None:
    """A quarter of 500 riders are tested: fewer than 60 once in 10¹⁰, and some 40 are enough."""
    with stream(tmp_path, 1, kind) as found:
        run = train(found, blocks=2 if kind == "unit" else 1, **EASY)  # riders are in two buckets
        assert run.ending is Ending.ACCEPTED
        assert set(run.model.classes_) == {"north", "south"}
        assert [entry.cost.amount for entry in found.entries()] == [Fraction(1, 4)]
        assert "ACCEPTED: accuracy above 0.6" in str(run)


def test_attempts_are_charged_as_planned_until_blocks_run_out_and_go_on_when_more_arrive(tmp_path: Path) -> None:
    with stream(tmp_path, 3) as found:
        plan = discreet.stream.plan(found, GaussianNB(), SQL, key="zones", **HARD)
        assert [(each.amount, each.blocks) for each in plan.attempts] == [
            (Fraction(1, 8), 1), (Fraction(1, 4), 1), (Fraction(1, 4), 2),
        ]  # fmt: skip
        assert not found.entries()
        run = plan.run()
        assert run.ending is Ending.NO_BLOCKS
        assert run.reason.endswith("run it again with key='zones' when 1 more block has arrived")
        assert [step.decision for step in run.steps] == [Decision.RETRY] * 3
        assert lines(found) == [0, Fraction(1, 4), Fraction(5, 8)]
        assert max(lines(found)) == run.line <= run.line_bound <= plan.line_bound
        assert run.spent == sum(lines(found)) < 3 * run.steps[-1].attempt.total
        assert [step.miss for step in run.steps] == [0.025, 0.0125, 0.00625]

        add(tmp_path, day(4), rides([4]))
        add(tmp_path, day(5), rides([5]))
        found.refresh(until=day(6))
        again = train(found, key="zones", **HARD)
        assert [step.cached for step in again.steps] == [True, True, True, False]
        assert [step.blocks for step in again.steps[:3]] == [step.blocks for step in run.steps]
        assert [step.value for step in again.steps[:3]] == [step.value for step in run.steps]
        assert len(found.entries()) == 4
        assert lines(found) == [0, Fraction(1, 2), Fraction(7, 8), Fraction(1, 4), Fraction(1, 4)]


def test_no_block_is_charged_more_than_it_has_and_older_ones_are_taken_instead(tmp_path: Path) -> None:
    with stream(tmp_path, 4) as found:
        run = train(found, **{**HARD, "epsilon": 0.375, "cap": 0.375})
        assert run.ending is Ending.NO_BUDGET
        assert "needs ε 0.375 of 4 blocks, and 3 of 4 have as much left" in run.reason
        assert [step.blocks for step in run.steps] == ["2024-01-04", "2024-01-03..2024-01-04"]
        assert lines(found) == [0, 0, Fraction(3, 8), Fraction(3, 4)]
        other = train(found, blocks=2, key="other", **{**EASY, "epsilon": 0.5, "cap": 0.5})
        assert other.steps[0].blocks == "2024-01-02..2024-01-03"


def test_attempts_on_blocks_that_were_used_up_are_still_shown_again(tmp_path: Path) -> None:
    with stream(tmp_path, 3) as found:
        options = {**HARD, "epsilon": 0.5, "cap": 0.5, "key": "all"}
        first = train(found, **options)
        assert found._ledger.stream("rides").retired == ((2, 2),)
        again = train(found, **options)
        assert [step.cached for step in again.steps] == [True, True]
        assert [step.value for step in again.steps] == [step.value for step in first.steps]
        assert again.ending is first.ending is Ending.NO_BLOCKS
        assert len(found.entries()) == 2


def test_all_attempts_end_where_the_caller_says(tmp_path: Path) -> None:
    with stream(tmp_path, 3) as found:
        run = train(found, **{**HARD, "cap": 0.125, "most_blocks": 3})
        assert run.ending is Ending.NOT_REACHED
        assert [step.attempt.blocks for step in run.steps] == [1, 2, 3]
        assert run.spent < 3 * run.steps[-1].attempt.total


def test_a_budget_with_delta_has_attempts_that_cost_four_times_as_much(tmp_path: Path) -> None:
    with stream(tmp_path, 1, delta=True) as found:
        run = train(found, **{**HARD, "epsilon": None, "rho": 0.0005, "cap": 0.008})
        assert [float(step.attempt.amount) for step in run.steps] == [0.0005, 0.002, 0.008]
        assert run.currency == "ρ"
        assert run.ending is Ending.NO_BLOCKS


def test_an_attempt_that_was_charged_and_never_answered_is_counted_and_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stream(tmp_path, 2) as found:
        with monkeypatch.context() as broken:
            broken.setattr(attempts, "_written", lambda *_: 1 / 0)
            with pytest.raises(QueryFailed, match="stays spent"):
                train(found, key="zones", **EASY)
        assert len(found.entries()) == 1
        run = train(found, key="zones", **EASY)
        assert [step.decision for step in run.steps] == [None, Decision.ACCEPT]
        assert [step.attempt.number for step in run.steps] == [1, 2]
        assert [step.attempt.amount for step in run.steps] == [Fraction(1, 4)] * 2
        assert run.steps[1].miss == 0.0125
        assert run.line == Fraction(1, 2) <= run.line_bound
        assert "charged, and not answered" in str(run)
        with pytest.raises(Refused, match="another request"):
            train(found, key="zones", **{**EASY, "goal": 0.5})


def test_a_goal_that_no_function_of_the_columns_reaches_is_rejected(tmp_path: Path) -> None:
    """Every fare is the same, and every other ride is in the north; at least 110 of 200 riders are fitted on."""
    path = world(tmp_path)
    add(tmp_path, "all", [(f"r{rider}", day(1), 7, "north" if rider % 2 else "south") for rider in range(200)])
    cost: dict[str, Any] = {"epsilon": 0.5, "cap": 0.5, "reject": True}
    with opened(path, sampler=EXACT) as found:
        found.refresh(until=day(2))
        run = train(found, target="zone", goal=0.9, **cost)
        assert run.ending is Ending.REJECTED
        assert run.model is None
        assert "no function of these columns" in str(run)
        assert lines(found) == [Fraction(1, 2)]
        assert train(found, target="zone", goal=0.5001, **cost).ending is not Ending.REJECTED
        with pytest.raises(Refused, match="only goals of accuracy"):
            train(found, target="zone", goal=0.5, metric="log_loss", **cost)
    with stream(tmp_path / "good", 1) as found:
        assert train(found, **EASY, reject=True).ending is Ending.ACCEPTED


# before anything is charged

WRONG: Final[list[tuple[Any, dict[str, Any], str]]] = [
    (GaussianNB(), {"eta": 0}, "stream-invalid"),
    (GaussianNB(), {"eta": -1}, "stream-invalid"),
    (GaussianNB(), {"eta": float("nan")}, "stream-invalid"),
    (GaussianNB(), {"goal": 0}, "stream-invalid"),
    (GaussianNB(), {"goal": 1}, "stream-invalid"),
    (GaussianNB(), {"goal": float("nan")}, "stream-invalid"),
    (GaussianNB(), {"goal": "high"}, "stream-invalid"),
    (GaussianNB(), {"metric": "roc_auc"}, "stream-invalid"),
    (GaussianNB(), {"metric": "mean_absolute_error"}, "score-invalid"),
    (LinearRegression(), {"target": "fare", "y_bounds": (50, 0)}, "not-a-number"),
    (GaussianNB(), {"cap": 0.1}, "stream-invalid"),
    (GaussianNB(), {"cap": None}, "cost-missing"),
    (GaussianNB(), {"epsilon": None}, "cost-missing"),
    (GaussianNB(), {"epsilon": 0}, "cost-invalid"),
    (GaussianNB(), {"epsilon": float("inf")}, "cost-invalid"),
    (GaussianNB(), {"rho": 1}, "cost-missing"),
    (GaussianNB(), {"blocks": 0}, "stream-invalid"),
    (GaussianNB(), {"blocks": "newest 2"}, "stream-invalid"),
    (GaussianNB(), {"blocks": 3, "most_blocks": 2}, "stream-invalid"),
    (GaussianNB(), {"stream": "zones"}, "stream-invalid"),
    (GaussianNB(), {"reject": "no"}, "stream-invalid"),
    (GaussianNB(), {"key": ""}, "stream-invalid"),
    (GaussianNB(), {"key": 7}, "stream-invalid"),
    (GaussianNB(), {"analyst": "nobody"}, "unknown-analyst"),
    (GaussianNB(), {"holdout": "\n"}, "score-invalid"),
    (KMeans(2), {"target": None}, "not-a-number"),
    (GaussianNB, {}, "not-private"),
    ("a model", {}, "not-private"),
]


def test_what_makes_no_sense_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    with stream(tmp_path, 1) as found:
        for estimator, wrong, code in WRONG:
            with pytest.raises(Refused) as refusal:
                train(found, estimator, **{**EASY, **wrong})
            assert (refusal.value.code, wrong) == (code, wrong)
        with pytest.raises(Refused, match="the curator itself"):
            train("rides.toml", **EASY)
        assert not found.entries()
    empty = world(tmp_path / "empty")
    with opened(empty) as found, pytest.raises(Refused, match="no blocks yet"):
        train(found, **EASY)


def test_plans_and_runs_are_shown_in_terminals_and_notebooks(tmp_path: Path) -> None:
    with stream(tmp_path, 2) as found:
        plan = discreet.stream.plan(found, GaussianNB(), SQL, key="<b>", **HARD)
        assert isinstance(plan, Plan)
        assert "no block is charged more than ε 0.75 in all" in str(plan)
        assert "what a rider does in one day is protected" in str(plan)
        assert "<td" in plan._repr_html_()
        run = plan.run()
        assert "<b>" not in run._repr_html_()
        assert "&lt;b&gt;" in run._repr_html_()
        assert run.plot().to_dict()["title"]


# who is on which side


@pytest.mark.parametrize("kind", ["unit-day", "unit in days"])
def test_nobody_is_fitted_on_one_day_and_tested_on_another(tmp_path: Path, kind: str) -> None:
    """The fare of a ride says whose it is."""
    path = world(tmp_path, kind)
    add(tmp_path, "all", [(f"r{rider}", day(when), rider, "north") for rider in range(40) for when in (1, 2, 3)])
    with opened(path) as found:
        found.refresh(until=day(4))
        task = attempts.FitAndTest(GaussianNB(), SQL, "zone", epsilon=0.1, blocks="all")
        prepared: Any = found._prepared(task)
        rows = found._reader(prepared.bill)
        fitted, tested = ({row[0] for row in rows.rows(query)} for query in (prepared.fit.query, prepared.query))
        assert not fitted & tested
        assert len(fitted | tested) == 40


# neighbours


@pytest.mark.long
def test_a_rider_on_a_day_moves_fit_or_test_of_the_attempts_that_read_the_day(tmp_path: Path) -> None:
    """Whole attempts, replayed without one rider on the second day: with the same secret, and what was released."""
    first = Recorder()
    options = {**HARD, "cap": 0.125, "most_blocks": 2}
    with stream(tmp_path / "whole", 2, sampler=first.sampler) as found:
        many = len(train(found, **options).steps)  # two, which both read the day; one where noise ends it at once
        secret = found.policy.state / "secret"
    sides = set()
    for gone in range(6):
        folder = tmp_path / str(gone)
        path = world(folder)
        for when in (1, 2):
            rows = [ride for ride in rides([when]) if (ride[0], when) != (f"r{gone}", 2)]
            add(folder, day(when), rows)
        (folder / "rides.discreet").mkdir(mode=0o700)
        shutil.copy(secret, folder / "rides.discreet" / "secret")
        seen = Recorder()
        seen.earlier = first.releases
        with opened(path, sampler=seen.sampler) as found:
            found.refresh(until=day(3))
            train(found, **options)
        pairs = list(zip(first.releases, seen.releases, strict=True))
        shares = [check_moved((one.exact - other.exact).ravel(), one.sensitivity) for one, other in pairs]
        each = len(shares) // many
        for attempt in (shares[start : start + each] for start in range(0, len(shares), each)):
            moved = max(attempt[:-1]) > 0, attempt[-1] > 0
            assert sum(moved) == 1
            sides.add(moved)
    assert sides <= {(True, False), (False, True)}
