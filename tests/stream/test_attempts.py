"""An attempt is one charge: what its fit and its test see, unit by unit, and what is refused before it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, Final

import numpy as np
import pytest

from discreet.accounting import Concentrated, Pure
from discreet.accounting.record import Key
from discreet.curator.curator import Curator
from discreet.errors import Refused
from discreet.exit import Cost, Exit
from discreet.learn import GaussianNB, KMeans, LinearRegression, MinMaxScaler, make_pipeline
from discreet.learn.labels import Labels
from discreet.learn.statements import Facts
from discreet.ledger import LedgerDamaged
from discreet.opening import MAKERS, RECALLS
from discreet.stream.attempts import Attempted, FitAndTest, least_mistakes
from tests.curator.streams import EXACT
from tests.learn.helpers import Recorder, repeating
from tests.learn.replaying import check_moved
from tests.learn.test_tables import BOTH, POLICY, PURE, tables
from tests.sql.worlds import opened, policy_of

SQL: Final = "SELECT age, pay, sex FROM people"


@contextmanager
def curator(head: str = PURE, count: int = 40, world: Any = None, seen: Recorder | None = None) -> Iterator[Curator]:
    sampler = None if seen is None else seen.sampler
    with opened(policy_of(POLICY, head=head), world or tables(count), sampler=sampler) as found:
        found._recalls, found._makers = dict(RECALLS), dict(MAKERS)
        yield found


def attempt(found: Curator, estimator: Any = None, sql: str = SQL, **more: Any) -> Attempted:
    given: dict[str, Any] = {"target": "sex", "epsilon": 1, **more}
    attempted: Attempted = found.perform(FitAndTest(estimator or GaussianNB(), sql, **given))
    return attempted


def test_it_is_one_charge_of_what_was_said_for_both_sides() -> None:
    for head, cost, loss in (
        (PURE, {"epsilon": 2}, Pure(2)),
        (BOTH, {"rho": 0.05, "epsilon": None}, Concentrated(0.05)),
    ):
        seen = Recorder()
        with curator(head, seen=seen) as found:
            attempted = attempt(found, **cost)
            assert [entry.loss for entry in found.entries()] == [loss]
            assert attempted.model.loss_ == loss
            test = seen.releases[-1]
            assert loss.covers(test.mechanism.loss)
            assert not loss.covers(test.mechanism.loss.times(2))


def test_fit_and_test_see_other_units_and_together_all_of_them() -> None:
    """Without noise: rows that were counted on either side."""
    with curator(count=800) as found:
        attempted = attempt(found)
        fitted = attempted.model.class_count_.sum()
        pair = attempted.measured.vectors["right"]
        tested = sum(pair) / attempted.measured.noisy("right").steps
        assert fitted + tested == pytest.approx(800)
        assert 120 < tested < 280  # binomial of 800 and a quarter: ±6.5 deviations
        prepared: Any = found._prepared(FitAndTest(GaussianNB(), SQL, "sex", epsilon=1))
        fit, test = prepared.fit.query.text, prepared.query.text
        assert fit != test
        assert fit.replace(" >= ", " < ") == test.replace(" >= ", " < ")


@pytest.mark.long
def test_a_unit_moves_one_side_alone_and_no_farther_than_its_sensitivity() -> None:
    moved = {"fit": 0, "test": 0}
    whole, first = tables(16), Recorder()
    with curator(world=whole, seen=first) as found:
        attempt(found)
    for gone in range(16):
        seen = Recorder()
        seen.earlier = first.releases
        rest = {name: [row for row in rows if row.get("person") != gone] for name, rows in whole.items()}
        with curator(world=rest, seen=seen) as found:
            attempt(found)
        assert len(seen.releases) == len(seen.earlier)
        pairs = list(zip(seen.earlier, seen.releases, strict=True))
        shares = [
            check_moved((one.exact - other.exact).astype(object).ravel(), one.sensitivity) for one, other in pairs
        ]
        sides = [max(shares[:-1]) > 0, shares[-1] > 0]
        assert sides.count(True) == 1
        moved["test" if sides[1] else "fit"] += 1
    assert moved["fit"] > 0
    assert moved["test"] > 0


def test_the_least_number_of_mistakes_is_that_of_the_best_of_all_functions_and_moves_by_one_row() -> None:
    classes = Labels.read(["a", "b"], "classes")
    dice = np.random.default_rng(2)
    for _ in range(30):
        exact = dice.integers(0, 3, (9, 1)).astype(float)
        truth = dice.choice(np.array(["a", "b", "other"], dtype=object), 9)
        functions = product("ab", repeat=3)
        most = max(
            sum(said[int(cell)] == true for (cell,), true in zip(exact, truth, strict=True)) for said in functions
        )
        pairs = [_mistakes(exact, truth, classes)]
        assert pairs[0] == [most, 9 - most]
        for gone in range(9):
            pairs.append(_mistakes(np.delete(exact, gone, axis=0), np.delete(truth, gone), classes))
            apart = [one - other for one, other in zip(pairs[0], pairs[-1], strict=True)]
            assert sorted(apart) == [0, 1]


def _mistakes(exact: Any, truth: Any, classes: Labels) -> list[int]:
    exit_ = Exit(Cost.alone(epsilon=1), repeating(1), sampler=EXACT)
    measured = least_mistakes(exact, truth, Facts(classes, None), exit_)
    steps = measured.noisy("right").steps
    return [cell // steps for cell in measured.vectors["right"]]


def test_rows_that_are_units_are_divided_by_coins() -> None:
    with curator() as found:
        attempted = attempt(found, LinearRegression(), "SELECT x, x AS y FROM rows", target="y")
        prepared: Any = found._prepared(FitAndTest(LinearRegression(), "SELECT x, x AS y FROM rows", "y", epsilon=1))
        assert prepared.divided
        assert "sha256" not in prepared.query.text
        assert attempted.measured.vectors["absolute"]


def test_what_was_charged_is_cached_recalled_and_known_by_its_key() -> None:
    with curator() as found:
        first = attempt(found, key=Key("a", "b"))
        again = attempt(found, key=Key("a", "b"))
        cached = attempt(found)
        assert (first.cached, again.cached, cached.cached) == (False, True, True)
        assert again.measured.vectors == first.measured.vectors == cached.measured.vectors
        (entry,) = found.entries()
        recalled = found.recall(entry.number)
        np.testing.assert_array_equal(recalled.class_count_, first.model.class_count_)
        assert not attempt(found, metric="log_loss").cached


@pytest.mark.parametrize(
    ("estimator", "more", "code"),
    [
        (GaussianNB(), {"metric": "mean_absolute_error"}, "score-invalid"),
        (LinearRegression(), {"target": "pay", "metric": "accuracy"}, "score-invalid"),
        (LinearRegression(), {"target": "pay", "y_bounds": (1, 0)}, "score-invalid"),
        (LinearRegression(), {"target": "pay", "y_bounds": 7}, "score-invalid"),
        (GaussianNB(), {"target": None}, "target-missing"),
        (GaussianNB(), {"target": "nothing"}, "unknown-column"),
        (GaussianNB(), {"epsilon": None}, "cost-missing"),
        (GaussianNB(), {"epsilon": float("nan")}, "cost-invalid"),
        (GaussianNB(epsilon=1), {}, "cost-invalid"),
        (GaussianNB(), {"holdout": ""}, "score-invalid"),
        (GaussianNB(), {"max_rows": 0}, "cost-invalid"),
        (KMeans(2), {"target": None}, "score-invalid"),
        (type("Mine", (GaussianNB,), {})(), {}, "not-private"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_charged(estimator: Any, more: dict[str, Any], code: str) -> None:
    sql = SQL.replace("sex", "age AS other") if estimator.__class__ in (LinearRegression, KMeans) else SQL
    with curator() as found:
        with pytest.raises(Refused) as refusal:
            attempt(found, estimator, sql, **more)
        assert refusal.value.code == code
        assert not found.entries()


def test_pipelines_are_attempted_too() -> None:
    with curator(count=200) as found:
        pipeline = make_pipeline(MinMaxScaler(), GaussianNB())
        attempted = attempt(found, pipeline, epsilon=1000)
        assert attempted.model.n_features_in_ == 2
        assert sum(attempted.measured.vectors["right"]) > 0


def test_what_is_stored_is_read_with_suspicion() -> None:
    with curator() as found:
        prepared: Any = found._prepared(FitAndTest(GaussianNB(), SQL, "sex", epsilon=1))
        assert prepared.decode(b'{"version": 7}') is None
        for damaged in (b"", b"7", b"{}", b"[]", b'{"version":2}', b'{"version":2,"model":{},"score":{}}'):
            with pytest.raises(LedgerDamaged):
                prepared.decode(damaged)
