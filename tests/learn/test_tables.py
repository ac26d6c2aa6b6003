"""Fitting on a curator's tables: bounded rows, declared facts, charged first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.pipeline import make_pipeline

import discreet
from discreet.accounting import Concentrated, Pure
from discreet.accounting.labels import rho_of_label
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.errors import BudgetExhausted, QueryFailed, Refused
from discreet.lab.hospital import build
from discreet.learn import (
    AdditiveRegressor,
    CategoricalNB,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    MinMaxScaler,
    PoissonCount,
    PrivateSearchCV,
    StandardScaler,
)
from tests.learn.helpers import Recorder
from tests.sql.worlds import ledger_of, opened, policy_of

POLICY: Final = """
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 3
[tables.visits.columns]
ward = { values = ["A", "B"] }
flag = { type = "boolean" }
day = { min = 2026-01-01, max = 2026-03-31 }
note = { type = "text" }
cost = { min = 0, max = 10 }
[tables.people]
source = "people.csv"
unit = "person"
[tables.people.columns]
age = { type = "integer", min = 0, max = 100 }
pay = { min = 0, max = 1000 }
free = { type = "number" }
sex = { values = ["F", "M"] }
[tables.rows]
source = "rows.csv"
unit = "row"
[tables.rows.columns]
x = { min = 0, max = 1 }
[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = { values = ["A", "B"] }
beds = { type = "integer", min = 0, max = 9 }
"""
PURE: Final = """
name = "world"
[budget]
epsilon = 5
[unit]
name = "person"
"""
BOTH: Final = PURE.replace("epsilon = 5", "epsilon = 5\ndelta = 1e-6")


def visits(people: int) -> list[dict[str, Any]]:
    day = date(2026, 1, 5)
    return [
        {"person": who, "ward": "AB"[who % 2], "flag": who % 3 == 0, "day": day, "note": "n", "cost": 1.0 + which}
        for who in range(people)
        for which in range(5)
    ]


def people(count: int) -> list[dict[str, Any]]:
    return [
        {"person": who, "age": 20 + 60 * (who % 2), "pay": 100.0 + 800 * (who % 2), "free": 0.0, "sex": "FM"[who % 2]}
        for who in range(count)
    ]


def tables(count: int) -> dict[str, list[dict[str, Any]]]:
    beds = [{"ward": "A", "beds": 3}, {"ward": "B", "beds": 5}]
    rows = [{"x": place % 2} for place in range(count)]
    return {"visits": visits(count), "people": people(count), "rows": rows, "wards": beds}


@contextmanager
def curator(head: str = PURE, count: int = 40, seen: Recorder | None = None, **more: Any) -> Iterator[Curator]:
    sampler = None if seen is None else seen.sampler
    with opened(policy_of(POLICY, head=head), tables(count), sampler=sampler, **more) as found:
        yield found


def test_clusters_of_people() -> None:
    with curator(count=2000) as found:
        template = KMeans(2)
        model = found.fit(template, "SELECT age, pay FROM people", epsilon=2)
        assert model is template
        assert model.bounds is None
        assert sorted(model.cluster_centers_.round(-2)[:, 1].tolist()) == [100, 900]
        assert model.feature_names_in_.tolist() == ["age", "pay"]
        assert model.loss_ == Pure(2)
        (entry,) = found.entries()
        assert entry.loss == Pure(2)
        assert entry.question == "KMeans.fit: SELECT age, pay FROM people"


def test_classes_and_bounds_are_the_policy_s() -> None:
    with curator() as found:
        model = found.fit(GaussianNB(), "SELECT age, sex, pay FROM people", target="SEX", epsilon=50)
        assert model.classes_.tolist() == ["F", "M"]
        assert model.low_.tolist() == [0, 0]
        assert model.high_.tolist() == [100, 1000]
        assert (np.diff(model.theta_, axis=0) > 0).all()


def test_categories_are_the_policy_s() -> None:
    with curator() as found:
        model = found.fit(CategoricalNB(), "SELECT ward, flag FROM visits", target="ward", epsilon=50)
        assert model.categories_[0].tolist() == [False, True]
        assert model.classes_.tolist() == ["A", "B"]


def test_a_cost_is_read_in_the_budget_s_currency() -> None:
    with curator(BOTH) as found:
        labelled = Concentrated(rho_of_label(Fraction(1), Fraction(1, 2 * 10**6)))
        assert found.fit(StandardScaler(), "SELECT age FROM people", epsilon=1).loss_ == labelled
        assert found.fit(StandardScaler(), "SELECT age FROM people", rho=0.25, fresh=True).loss_ == Concentrated(0.25)
        assert [entry.loss for entry in found.entries()] == [labelled, Concentrated(0.25)]


def test_rows_of_a_unit_are_bounded_and_more_of_them_have_more_noise() -> None:
    seen = Recorder()
    sql = "SELECT cost FROM visits"
    cases: list[tuple[str, dict[str, Any], Any]] = [
        (PURE, {"epsilon": 0.5}, Pure(0.5)),
        (BOTH, {"rho": 0.01}, Concentrated(0.01)),
        (BOTH, {"epsilon": 0.5}, Concentrated(rho_of_label(Fraction(1, 2), Fraction(1, 2 * 10**6)))),
    ]
    for head, cost, loss in cases:
        with curator(head, count=50, seen=seen) as found:
            spreads = []
            for most in (None, 2, 3, 100):
                seen.releases.clear()
                model = found.fit(StandardScaler(), sql, **cost, max_rows=most, fresh=True)
                assert model.loss_ == loss, "the cost is that of a person with all rows"
                spreads.append(float(seen.releases[0].mechanism.spread))
                # the policy reads three rows of each person at most
                assert _counts(seen) == {50 * min(most or 1, 3)}
            assert spreads == pytest.approx([spreads[0] * k for k in (1, 2, 3, 3)], rel=1e-6)
            assert [entry.loss for entry in found.entries()] == [loss] * 4


def test_one_person_moves_the_vectors_no_farther_than_so_many_rows() -> None:
    """The sensitivity is that of one row; a person with k of them moves k times as far, which `group` pays for."""
    seen = Recorder()
    for most in (1, 2, 3):
        seen.releases.clear()
        for count in (7, 6):
            seen.again()  # what was released decides what is asked next: the neighbour is told the same
            with curator(count=count, seen=seen) as found:
                found.fit(StandardScaler(), "SELECT cost FROM visits", epsilon=1, max_rows=most)
        assert len(seen.releases) > 1
        for one, other in zip(seen.earlier, seen.releases, strict=True):
            assert one.sensitivity == other.sensitivity
            moved = np.abs(one.exact - other.exact).sum()
            assert moved <= most * one.sensitivity.l1
            assert moved > (most - 1) * one.sensitivity.l1 / 2


def test_where_and_expressions_and_joins() -> None:
    seen = Recorder()
    texts = {
        "SELECT age FROM people WHERE sex = 'F'": 20,
        "SELECT age * 2 AS double FROM people": 40,
        "SELECT v.cost, p.age FROM visits v JOIN people p ON v.person = p.person": 40,
        "SELECT v.cost, w.beds FROM visits v JOIN wards w ON v.ward = w.ward": 40,
        "SELECT SUM(cost) AS spent FROM visits GROUP BY person": 40,
        "SELECT x FROM rows": 40,
    }
    for sql, rows in texts.items():
        with curator(seen=seen) as found:
            seen.releases.clear()
            found.fit(StandardScaler(bounds=(0, 1000)), sql, epsilon=1)
            assert _counts(seen) == {rows}, sql


def test_rows_with_nothing_in_them_are_left_out() -> None:
    seen = Recorder()
    held = tables(10)
    held["people"][0]["age"] = None
    held["people"][1]["free"] = float("nan")
    held["people"][2]["free"] = float("inf")
    with opened(policy_of(POLICY, head=PURE), held, sampler=seen.sampler) as found:
        found.fit(StandardScaler(bounds=(0, 100)), "SELECT age, free FROM people", epsilon=1)
    assert _counts(seen) == {7}


def _counts(seen: Recorder) -> set[float]:
    """How many rows a scaler saw: each of its releases begins with that, the last in steps of its sums."""
    *before, last = seen.releases
    assert before
    return {*(float(release.exact[0]) for release in before), float(last.exact[0] / 2**20)}


def test_empty_tables_are_learned_from_like_others() -> None:
    with curator(count=0) as found:
        asked: list[tuple[Any, str, str | None]] = [
            (KMeans(3), "SELECT age, pay FROM people", None),
            (GaussianNB(), "SELECT age, sex FROM people", "sex"),
            (CategoricalNB(), "SELECT ward, flag FROM visits", "flag"),
            (StandardScaler(), "SELECT age FROM people", None),
        ]
        for model, sql, target in asked:
            found.fit(model, sql, epsilon=0.5, target=target)
        assert len(found.entries()) == 4


def test_what_costs_nothing_is_free_and_reads_nothing() -> None:
    with curator(wrap=_Closed) as found:
        assert found.fit(MinMaxScaler(), "SELECT age FROM people").data_max_.tolist() == [100]
        assert found.budget().spent.epsilon == 0


def searched() -> PrivateSearchCV:
    return PrivateSearchCV(LinearRegression(bounds=(0, 100), y_bounds=(0, 1)), {"fit_intercept": [True]})


REFUSALS: list[tuple[Callable[[], Any], Any, dict[str, Any], str]] = [
    (lambda: sklearn.linear_model.LinearRegression(), "SELECT age FROM people", {}, "not-private"),
    (lambda: make_pipeline(StandardScaler(), KMeans(2)), "SELECT age FROM people", {}, "not-private"),
    (lambda: "KMeans", "SELECT age FROM people", {}, "not-private"),
    (lambda: KMeans, "SELECT age FROM people", {}, "not-private"),
    (lambda: KMeans(2, epsilon=1), "SELECT age FROM people", {}, "cost-invalid"),
    (lambda: KMeans(2), "SELECT age FROM people", {"epsilon": None}, "cost-missing"),
    (lambda: KMeans(2), "SELECT age FROM people", {"epsilon": -1}, "cost-invalid"),
    (lambda: KMeans(2), "SELECT age FROM people", {"rho": 1}, "cost-invalid"),
    (lambda: KMeans(2), "SELECT age FROM people", {"max_rows": 0}, "cost-invalid"),
    (lambda: KMeans(2), "SELECT age FROM people", {"max_rows": "all"}, "cost-invalid"),
    (lambda: KMeans(2), "SELECT age FROM people", {"target": "age"}, "target-unused"),
    (lambda: KMeans(2), "SELECT age FROM people", {"analyst": "nobody"}, "unknown-analyst"),
    (lambda: KMeans(0), "SELECT age FROM people", {}, "fit-invalid"),
    (lambda: KMeans(2), "SELECT free FROM people", {}, "undeclared-bounds"),
    (lambda: KMeans(2), "SELECT sex FROM people", {}, "not-a-number"),
    (lambda: KMeans(2, bounds=(0, 1)), "SELECT day FROM visits", {}, "not-a-number"),
    (lambda: LinearRegression(y_bounds=(0, 1)), "SELECT age, sex FROM people", {"target": "sex"}, "not-a-number"),
    (lambda: AdditiveRegressor(y_bounds=(0, 1)), "SELECT cost, day FROM visits", {"target": "day"}, "not-a-number"),
    (
        lambda: PoissonCount(categories=[[1]], y_bounds=(0, 1)),
        "SELECT age, sex FROM people",
        {"target": "sex"},
        "not-a-number",
    ),
    (lambda: searched(), "SELECT age, sex FROM people", {"target": "sex"}, "not-a-number"),
    (lambda: KMeans(2), "SELECT 7 AS x FROM people", {}, "undeclared-bounds"),
    (lambda: KMeans(2, bounds=(0, 5e-324)), "SELECT age FROM people", {}, "fit-invalid"),
    (lambda: GaussianNB(), "SELECT age, sex FROM people", {}, "target-missing"),
    (lambda: GaussianNB(), "SELECT age, sex FROM people", {"target": "color"}, "unknown-column"),
    (lambda: GaussianNB(), "SELECT age, sex FROM people", {"target": 3}, "unknown-column"),
    (lambda: GaussianNB(), "SELECT sex FROM people", {"target": "sex"}, "not-rows"),
    (lambda: GaussianNB(), "SELECT cost, note FROM visits", {"target": "note"}, "undeclared-values"),
    (lambda: CategoricalNB(), "SELECT cost, ward FROM visits", {"target": "ward"}, "undeclared-values"),
    (lambda: KMeans(2), "SELECT AVG(age) FROM people", {}, "not-rows"),
    (lambda: KMeans(2), "SELECT beds FROM wards", {}, "not-rows"),
    (lambda: KMeans(2), "EXPLAIN PRIVACY SELECT age FROM people", {}, "not-rows"),
    (lambda: KMeans(2), "SELECT age FROM people WHERE pay > (SELECT AVG(pay) FROM people)", {}, "not-rows"),
    (lambda: KMeans(2), "SELECT person FROM people", {}, "not-rows"),
    (lambda: KMeans(2), "SELECT nothing FROM people", {}, "unknown-column"),
    (lambda: KMeans(2), "SELECT age FROM nothing", {}, "unknown-table"),
    (lambda: KMeans(2), "DROP TABLE people", {}, "statement-not-allowed"),
    (lambda: KMeans(2), "SELECT age FROM people ORDER BY age LIMIT 1", {}, "not-an-aggregate"),
    (lambda: KMeans(2), "SELECT DISTINCT age FROM people", {}, "not-an-aggregate"),
    (lambda: KMeans(2), "", {}, "syntax"),
    (lambda: KMeans(2), None, {}, "syntax"),
]


@pytest.fixture(scope="module")
def closed() -> Iterator[Curator]:
    with curator(count=3, wrap=_Closed) as found:
        yield found


@pytest.mark.parametrize(("make", "sql", "more", "code"), REFUSALS)
def test_refusals_cost_nothing_and_read_nothing(
    make: Callable[[], Any], sql: Any, more: dict[str, Any], code: str, closed: Curator
) -> None:
    given = more if "rho" in more else {"epsilon": 1, **more}
    with pytest.raises(Refused) as refusal:
        closed.fit(make(), sql, **given)
    assert refusal.value.code == code
    assert refusal.value.fix
    assert not closed.entries()


def test_refusals_of_fits_say_what_to_change(closed: Curator) -> None:
    for make, given, fix in (
        (KMeans, {"epsilon": 1}, "make an estimator of it: KMeans(…)"),
        (GaussianNB(), {"target": "sex"}, "add epsilon, such as epsilon=0.5"),
        (GaussianNB(), {"epsilon": 1, "target": "sx"}, "did you mean sex?"),
    ):
        with pytest.raises(Refused) as refusal:
            closed.fit(make, "SELECT age, sex FROM people", **given)
        assert refusal.value.fix == fix


class _Closed:
    """An engine that nobody may ask about private rows."""

    def __init__(self, engine: Memory) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def rows(self, *_: object) -> Any:
        raise AssertionError("read")

    def columns(self, *_: object) -> Any:
        raise AssertionError("read")


def test_the_charge_comes_before_the_rows_and_failures_tell_nothing() -> None:
    events: list[str] = []

    class Broken(_Closed):
        def columns(self, *_: object) -> Any:
            events.append(f"read after {len(found.entries())} charges")
            raise ValueError("row 7 holds 'secret'")

    with curator(wrap=Broken) as found:
        model = KMeans(2)
        with pytest.raises(QueryFailed) as failure:
            found.fit(model, "SELECT age FROM people", epsilon=1)
        assert "secret" not in str(failure.value)
        assert failure.value.__context__ is None
        assert events == ["read after 1 charges"]
        assert [entry.loss for entry in found.entries()] == [Pure(1)]
        assert not hasattr(model, "loss_")


@pytest.mark.parametrize(("head", "cost"), [(PURE, {"epsilon": 0.51}), (BOTH, {"epsilon": 0.51}), (BOTH, {"rho": 0.1})])
def test_the_limit_on_costs_is_for_all_rows_of_a_unit(head: str, cost: dict[str, Any]) -> None:
    policy = replace(policy_of(POLICY, head=head), max_cost=Fraction(1, 2))
    engine = Memory(policy, tables(3))
    with ledger_of(policy) as ledger, Curator(policy, ledger, engine=engine) as found:
        for most in (1, 2):
            with pytest.raises(Refused, match="cost-too-high"):
                found.fit(KMeans(2), "SELECT cost FROM visits", max_rows=most, **cost)
        assert not found.entries()
        found.fit(KMeans(2), "SELECT cost FROM visits", max_rows=2, epsilon=0.5)
    engine.close()


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_no_warning_tells_of_a_row(value: float) -> None:
    """A row of zeros has a gradient without length; dividing by that overflowed, and NumPy said so."""
    rows = np.array([[value], [0.25]])
    with np.errstate(all="raise"):
        LogisticRegression(bounds=(-1, 1), classes=[0, 1], fit_intercept=False, epsilon=1).fit(rows, [0, 1])


def test_an_exhausted_budget_reads_nothing() -> None:
    policy = policy_of(POLICY, head=PURE)
    engine = Memory(policy, tables(3))
    with (
        ledger_of(policy, generous=False) as ledger,
        Curator(policy, ledger, engine=_Closed(engine)) as found,
        pytest.raises(BudgetExhausted),
    ):
        found.fit(KMeans(2), "SELECT cost FROM visits", epsilon=6, max_rows=2)
    engine.close()


def test_the_bounds_of_what_is_predicted_come_from_the_policy(tmp_path: Path) -> None:
    with discreet.open(build(tmp_path)) as hospital:
        model = hospital.fit(LinearRegression(), "SELECT nights, cost FROM visits", target="cost", epsilon=0.1)
        assert model.coef_.shape == (1,)
        assert model.y_bounds is None, "the caller's estimator stays as it was"
        with pytest.raises(discreet.Refused, match="undeclared-bounds"):
            hospital.fit(LinearRegression(), "SELECT nights, cost / nights AS c FROM visits", target="c", epsilon=0.1)
