"""Fits as tasks: what queries have, fits have too."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.accounting import Concentrated, Pure
from discreet.accounting.labels import rho_of_label
from discreet.errors import QueryFailed, Refused
from discreet.exit import Cost, Exit
from discreet.learn import GaussianNB, KMeans, StandardScaler
from discreet.learn.core import Estimator, parameters
from tests.exit.test_exit import Clock
from tests.learn.test_tables import BOTH, PURE, curator

SQL = "SELECT age, pay FROM people"


# a delta of its own


def test_a_fit_has_a_delta_of_its_own_as_queries_have() -> None:
    with curator(BOTH) as found:
        model = found.fit(StandardScaler(), SQL, epsilon=0.5, delta=1e-7)
        asked = found.query("SELECT COUNT(*) FROM people", epsilon=0.5, delta=1e-7)
        assert model.loss_ == Concentrated(rho_of_label(Fraction(1, 2), Fraction(1, 10**7))) == asked.loss
        less = found.preview(StandardScaler().task(SQL, epsilon=0.5, delta=1e-8))
        assert less.loss.amount < asked.loss.amount
        with pytest.raises(Refused, match="above the budget's"):
            found.fit(StandardScaler(), SQL, epsilon=0.5, delta=0.5)
        with pytest.raises(Refused, match="alone"):
            found.fit(StandardScaler(), SQL, rho=0.001, delta=1e-7)
        assert len(found.entries()) == 2


def test_all_rows_of_a_unit_are_within_it() -> None:
    with curator(BOTH) as found:
        model = found.fit(StandardScaler(), "SELECT cost FROM visits", epsilon=0.5, delta=1e-7, max_rows=3)
        rho = rho_of_label(Fraction(1, 2), Fraction(1, 10**7))
        assert model.loss_ == Concentrated(rho)
        assert model.loss_.rho == 9 * (rho / 9)


# time


@parameters
class Thinking(Estimator):
    """Takes eleven seconds between two releases."""

    def _facts(self, width: int | None, cost: Cost) -> None: ...

    def _learn(self, exact: Any, labels: Any, facts: Any, exit_: Exit) -> None:  # noqa: ARG002
        counts = np.array([len(exact)])
        half = Fraction(1, 2)
        self.first_ = exit_.release(counts, discreet.accounting.Sensitivity.cells(1, 1), half)
        CLOCK[0].now += 11
        self.second_ = exit_.release(counts, discreet.accounting.Sensitivity.cells(1, 1), half)


CLOCK: list[Clock] = []


@pytest.mark.parametrize(("limit", "answered"), [(10, False), (12, True), (None, True)])
def test_a_fit_that_computes_for_too_long_is_charged_and_gives_nothing(
    limit: float | None, answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    CLOCK[:] = [Clock(monkeypatch)]
    model = Thinking()
    with curator(time_limit=limit) as found:
        if answered:
            assert found.fit(model, SQL, epsilon=1).second_.shape == (1,)
        else:
            with pytest.raises(QueryFailed, match="stays spent"):
                found.fit(model, SQL, epsilon=1)
            assert not hasattr(model, "first_")
        (entry,) = found.entries()
        assert (entry.loss, entry.answered) == (Pure(1), answered)


# recalled by whoever has not imported anything


@pytest.mark.long
def test_a_model_is_recalled_in_a_process_that_never_heard_of_models(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("person,age\n1,30\n2,40\n", encoding="utf-8")
    path = tmp_path / "world.toml"
    columns = 'source = "people.csv"\nunit = "person"\n[tables.people.columns]\nage = { min = 0, max = 100 }\n'
    path.write_text(f"{PURE}[tables.people]\n{columns}", encoding="utf-8")
    with discreet.open(path) as hospital:
        first = hospital.fit(StandardScaler(), "SELECT age FROM people", epsilon=1)
    code = (
        "import sys, discreet\n"
        f"with discreet.open({str(path)!r}) as hospital:\n"
        "    assert 'discreet.learn' not in sys.modules and 'sklearn' not in sys.modules\n"
        f"    model = hospital.recall({first.receipt_.partition(':')[0]})\n"
        "    print(type(model).__name__, model.mean_[0])\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert told == ["StandardScaler", str(first.mean_[0])]


# previews


def test_an_estimator_is_previewed_as_a_task_and_whoever_forgets_is_told_how() -> None:
    with curator() as found:
        for wrong in ((KMeans(2), SQL), (KMeans(2),), (SQL, SQL)):
            with pytest.raises(Refused, match=r"preview\(estimator.task\(sql, epsilon=…\)\)"):
                found.preview(*wrong, epsilon=1)
        assert found.preview(KMeans(2).task(SQL, epsilon=1)).loss == Pure(1)


@pytest.mark.parametrize("head", [PURE, BOTH])
def test_the_preview_of_a_fit_has_no_empty_table_of_errors(head: str) -> None:
    with curator(head) as found:
        fit = found.preview(GaussianNB().task("SELECT age, sex FROM people", target="sex", epsilon=0.5))
        query = found.preview("SELECT COUNT(*) FROM people", epsilon=0.5)
    for shown in (str(fit), fit._repr_html_()):
        assert "error (95" not in shown
        assert "age" in shown
        assert "score says it" in shown
    assert "error (95" in str(query)
