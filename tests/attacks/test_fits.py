"""Attack: get models for nothing, or somebody else's rows out of one, on the way that queries go as well."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

from discreet.accounting import Pure
from discreet.accounting.losses import Sensitivity
from discreet.accounting.record import Key
from discreet.curator.curator import Curator
from discreet.errors import QueryFailed, Refused
from discreet.exit import Cost, Exit
from discreet.learn import GaussianNB, KMeans, LinearRegression, StandardScaler
from discreet.learn.codec import VERSION, decode, encode
from discreet.learn.core import Estimator, parameters
from discreet.ledger import LedgerDamaged
from tests.learn.cases import FITS, IDS, data
from tests.learn.test_tables import curator

SQL = "SELECT age, pay FROM people"
ONE = Sensitivity.cells(1, 1)


@pytest.fixture
def found() -> Iterator[Curator]:
    with curator() as opened:
        yield opened


# what is cached


def test_the_same_fit_is_free_at_its_cost_or_less_and_costs_again_above(found: Curator) -> None:
    first = found.fit(KMeans(2), SQL, epsilon=1)
    assert not first.cached_
    for epsilon in (1, 0.5):
        again = found.fit(KMeans(2), SQL, epsilon=epsilon)
        assert (again.cached_, again.loss_, again.receipt_) == (True, Pure(1), first.receipt_)
        np.testing.assert_array_equal(again.cluster_centers_, first.cluster_centers_)
    assert len(found.entries()) == 1
    assert not found.fit(KMeans(2), SQL, epsilon=2).cached_
    assert not found.fit(KMeans(2), SQL, epsilon=1, fresh=True).cached_
    assert [entry.answered for entry in found.entries()] == [True] * 3


OTHERS: list[Callable[[], dict[str, Any]]] = [
    lambda: {"estimator": KMeans(3)},
    lambda: {"estimator": StandardScaler()},
    lambda: {"estimator": KMeans(2, bounds=(0, 50))},
    lambda: {"sql": "SELECT pay, age FROM people"},
    lambda: {"sql": "SELECT age, pay FROM people WHERE age > 20"},
    lambda: {"sql": "SELECT age FROM people"},
]


@pytest.mark.parametrize("other", OTHERS)
def test_another_fit_is_never_taken_for_it(other: Callable[[], dict[str, Any]], found: Curator) -> None:
    found.fit(KMeans(2), SQL, epsilon=1)
    assert not found.fit(**{"estimator": KMeans(2), "sql": SQL, **other()}, epsilon=1).cached_


def test_no_fit_has_the_fingerprint_of_a_query(found: Curator) -> None:
    found.query("SELECT COUNT(*) FROM people", epsilon=0.5)
    found.fit(KMeans(2), SQL, epsilon=0.5)
    query, fit = found.entries()
    assert query.plan is not None
    assert fit.plan is not None
    assert set(query.plan) <= set("0123456789abcdef")
    assert fit.plan.startswith("fit:")


# keys of requests


def test_a_request_that_is_sent_twice_is_charged_once(found: Curator) -> None:
    key = Key("mine", "digest")
    first = found.fit(KMeans(2), SQL, epsilon=1, fresh=True, key=key)
    again = found.fit(KMeans(2), SQL, epsilon=1, fresh=True, key=key)
    assert (again.cached_, again.receipt_) == (True, first.receipt_)
    assert len(found.entries()) == 1


def test_a_key_of_one_task_gives_nothing_to_another(found: Curator) -> None:
    """Even with a digest that lies: what was kept is of another task, and is not shown for it."""
    found.fit(KMeans(2), SQL, epsilon=1, key=Key("mine", "digest"))
    with pytest.raises(Refused, match="key-reused"):
        found.fit(KMeans(3), SQL, epsilon=1, key=Key("mine", "another"))
    others: list[Estimator] = [KMeans(3), StandardScaler()]
    for other in others:
        with pytest.raises(QueryFailed, match="has no answer"):
            found.fit(other, SQL, epsilon=1, key=Key("mine", "digest"))
    assert len(found.entries()) == 1


# recall


def test_a_model_is_recalled_by_the_number_of_its_charge(found: Curator) -> None:
    first = found.fit(GaussianNB(), "SELECT age, sex FROM people", target="sex", epsilon=1)
    number = int(first.receipt_.partition(":")[0])
    again = found.recall(number)
    np.testing.assert_array_equal(again.theta_, first.theta_)
    assert again.loss_ == Pure(1)
    assert again.feature_names_in_.tolist() == ["age"]
    (entry,) = found.entries()
    assert {"task", "estimator", "sql", "max_rows", "target", "parameters"} <= entry.call.keys()
    with pytest.raises(Refused, match="unknown-answer"):
        found.recall(number + 100)


# previews


def test_a_preview_costs_nothing_and_says_what_is_known(found: Curator) -> None:
    task = KMeans(2).task("SELECT cost FROM visits", epsilon=1, max_rows=3)
    preview = found.preview(task)
    assert preview.loss == Pure(1, unit="person"), "of a person with all three rows"
    assert (preview.columns, preview.error, preview.cached) == (["cost"], {}, False)
    assert any("at most 3 rows" in note for note in preview.notes)
    assert any("depends on the data" in note for note in preview.notes)
    assert "cost ε 1" in str(preview)
    assert not found.entries()
    found.perform(task)
    assert found.preview(task).cached


# tasks that misbehave


@parameters
class Greedy(Estimator):
    """Releases more than its share, and keeps the exit."""

    kept: ClassVar[Exit]

    def _facts(self, width: int | None, cost: Cost) -> None: ...

    def _learn(self, exact: Any, labels: Any, facts: Any, exit_: Exit) -> None:  # noqa: ARG002
        Greedy.kept = exit_
        exit_.release(np.array([len(exact)]), ONE, Fraction(2, 3))
        self.noisy_ = exit_.release(np.array([len(exact)]), ONE, Fraction(1, 2))


@parameters
class Failing(Estimator):
    """Fails where a row says so."""

    def _facts(self, width: int | None, cost: Cost) -> None: ...

    def _learn(self, exact: Any, labels: Any, facts: Any, exit_: Exit) -> None:  # noqa: ARG002
        raise ValueError(f"secret {exact[0]}")


@pytest.mark.parametrize("kind", [Greedy, Failing])
def test_what_takes_more_or_fails_gives_nothing_and_stays_charged(kind: Any, found: Curator) -> None:
    model = kind()
    with pytest.raises(QueryFailed) as failure:
        found.fit(model, SQL, epsilon=1)
    assert "secret" not in str(failure.value)
    assert failure.value.__context__ is None
    assert not hasattr(model, "noisy_")
    (entry,) = found.entries()
    assert (entry.loss, entry.answered) == (Pure(1), False)
    with pytest.raises(Refused, match="unknown-answer"):
        found.recall(entry.number)


def test_an_exit_that_was_taken_along_lets_nothing_out(found: Curator) -> None:
    with pytest.raises(QueryFailed):
        found.fit(Greedy(), SQL, epsilon=1)
    with pytest.raises(RuntimeError, match="has ended"):
        Greedy.kept.release(np.array([1]), ONE, Fraction(1, 10))


def test_what_cannot_be_put_on_record_is_refused_before_the_charge(found: Curator) -> None:
    with pytest.raises(Refused, match="fit-invalid"):
        found.fit(KMeans(2).set_params(expected_n=object()), SQL, epsilon=1)
    assert not found.entries()


# models as bytes


@pytest.mark.parametrize(("make", "kind"), [(make, kind) for _, make, kind in FITS], ids=IDS)
def test_every_model_is_read_as_it_was_written(make: Callable[..., Any], kind: str) -> None:
    rows, labels = data(kind, 20, 0)
    model = make().fit(rows, labels)
    again = decode(encode(model))
    assert again is not None
    assert type(again) is type(model)
    assert encode(again) == encode(model)
    for act in ("predict", "transform", "predict_proba"):
        if hasattr(model, act):
            np.testing.assert_array_equal(getattr(again, act)(rows), getattr(model, act)(rows))


def written(change: Callable[[dict[str, Any]], object]) -> bytes:
    model = LinearRegression(bounds=(0, 1), y_bounds=(0, 1), epsilon=1).fit([[0.5]], [0.5])
    document = json.loads(encode(model))
    change(document)
    return json.dumps(document).encode()


DAMAGE: dict[str, Callable[[dict[str, Any]], object]] = {
    "another class": lambda d: d["model"].update(estimator="os.system"),
    "no class": lambda d: d["model"].update(estimator=["KMeans"]),
    "no model": lambda d: d.update(model=[1]),
    "private name": lambda d: d["model"]["fitted"].update({"__class__": 1}),
    "a method": lambda d: d["model"]["fitted"].update(fit=1),
    "another argument": lambda d: d["model"]["parameters"].update(ledger=1, evil=2),
    "objects as bytes": lambda d: d["model"]["fitted"]["coef_"].update(dtype="|O"),
    "too few bytes": lambda d: d["model"]["fitted"]["coef_"].update(array=base64.b64encode(b"x" * 4).decode()),
    "another shape": lambda d: d["model"]["fitted"]["coef_"].update(shape=[7]),
    "a negative shape": lambda d: d["model"]["fitted"]["coef_"].update(shape=[-1]),
    "no base64": lambda d: d["model"]["fitted"]["coef_"].update(array="é"),
    "an unknown kind": lambda d: d["model"]["fitted"].update(coef_={"pickle": "gASV"}),
    "an empty kind": lambda d: d["model"]["fitted"].update(coef_={}),
    "a loss that is none": lambda d: d["model"]["fitted"].update(loss_={"pure": "-1"}),
    "division by zero": lambda d: d["model"]["fitted"].update(loss_={"fraction": "1/0"}),
    "texts that are none": lambda d: d["model"]["fitted"].update(classes_={"texts": [1], "shape": [1]}),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_bytes_that_nobody_wrote_are_told_in_words(name: str) -> None:
    with pytest.raises(LedgerDamaged, match="cannot be read"):
        decode(written(DAMAGE[name]))


@pytest.mark.parametrize("kept", [b"", b"{}", b"[" * 100_000, b"\xff", b"null", b'{"version": %d}' % VERSION])
def test_bytes_that_are_no_model_are_told_in_words(kept: bytes) -> None:
    with pytest.raises(LedgerDamaged, match="cannot be read"):
        decode(kept)


def test_models_of_another_version_are_fitted_again() -> None:
    for other in (VERSION - 1, VERSION + 1):
        assert decode(written(partial(dict.update, version=other))) is None
