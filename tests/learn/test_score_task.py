"""Scores as tasks: what fits have, scores have too; and no unit is on both sides of a hold-out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import discreet
from discreet.accounting import Concentrated, Pure
from discreet.accounting.record import Key
from discreet.curator.curator import Curator
from discreet.curator.holdout import HELD_OUT, REST, Holdout
from discreet.errors import QueryFailed, Refused
from discreet.learn import GaussianNB, KMeans, LinearRegression, PrivateSearchCV
from discreet.learn import score as scoring
from discreet.learn.score import _measured, _total
from discreet.ledger import LedgerDamaged
from discreet.opening import MAKERS, RECALLS
from tests.learn.helpers import Recorder
from tests.learn.test_tables import BOTH, POLICY, PURE, tables
from tests.sql.worlds import opened, policy_of

SQL: Final = "SELECT age, pay, sex FROM people"
DICE: Final = np.random.default_rng(1)
ROWS: Final = DICE.uniform([0, 0], [100, 1000], (200, 2))
MODEL: Final = GaussianNB(bounds=([0, 0], [100, 1000]), classes=["F", "M"], epsilon=1000).fit(
    ROWS, np.where(ROWS[:, 0] < 50, "F", "M")
)
"""Right about everybody of `people`."""
LINE: Final = LinearRegression(bounds=([0], [100]), y_bounds=(0, 1000), epsilon=1000).fit(ROWS[:, :1], 10 * ROWS[:, 0])


@contextmanager
def curator(head: str = PURE, count: int = 40, seen: Recorder | None = None, **more: Any) -> Iterator[Curator]:
    sampler = None if seen is None else seen.sampler
    with opened(policy_of(POLICY, head=head), tables(count), sampler=sampler, **more) as found:
        found._recalls, found._makers = dict(RECALLS), dict(MAKERS)
        yield found


# exact


def test_without_noise_it_is_what_the_rows_say() -> None:
    with curator(count=40) as found:
        score = found.score(MODEL, SQL, target="sex", epsilon=1e8)
        assert score.value == pytest.approx(1, abs=1e-5)
        assert score.rows == pytest.approx(40, abs=1e-3)
        several = found.score(
            LINE, "SELECT pay, age FROM people", target="pay", epsilon=1e8, metric=["r2", "mean_absolute_error"]
        )
        said = LINE.predict([[20.0], [80.0]])
        error = np.abs(said - [100, 900])
        assert several["mean_absolute_error"].value == pytest.approx(error.mean(), abs=0.1)
        assert several["r2"].value == pytest.approx(1 - (error**2).mean() / 400**2, abs=1e-3)


def test_rows_of_a_unit_cost_together_what_is_said() -> None:
    model = GaussianNB(bounds=(0, 10), classes=["A", "B"], epsilon=10).fit([[1.0], [2.0]], ["A", "B"])
    for head, loss, each in (PURE, Pure(Fraction(1, 2)), 3), (BOTH, Concentrated(Fraction(1, 20)), 9):
        seen = Recorder()
        with curator(head, seen=seen) as found:
            cost: dict[str, Any] = {"epsilon": 0.5} if head == PURE else {"rho": 0.05}
            score = found.score(model, "SELECT cost, ward FROM visits", target="ward", max_rows=3, **cost)
            assert score.loss == loss
            assert [entry.loss for entry in found.entries()] == [loss]
            assert seen.releases[0].exact.sum() == 120 * 2**20, "three rows of each unit count"
            assert loss.times(Fraction(1, each)).covers(seen.releases[0].mechanism.loss)


# what tasks have


def test_scores_are_cached_whatever_the_metric_and_the_confidence_and_recalled() -> None:
    with curator(BOTH) as found:
        first = found.score(MODEL, SQL, target="sex", epsilon=1, metric=["balanced_accuracy", "accuracy"])
        again = found.score(MODEL, SQL, target="sex", epsilon=0.5, metric="balanced_accuracy", confidence=0.5)
        assert (first.cached, again.cached) == (False, True)
        assert again.value == pytest.approx(first["balanced_accuracy"].value, abs=0.2)
        assert again.receipt == first.receipt
        recalled = found.recall(int(first.receipt.split(":")[0]))
        assert recalled["accuracy"].value == first["accuracy"].value
        assert recalled["accuracy"].interval == first["accuracy"].interval
        assert found.preview(MODEL.score_task(SQL, target="sex", epsilon=1, metric="balanced_accuracy")).cached
        assert not found.score(MODEL, SQL, target="sex", epsilon=1, fresh=True).cached
        assert len(found.entries()) == 2
        assert found.recall(found.entries()[-1].number).metric == "accuracy"


@pytest.mark.parametrize("key", ["tips", Key("name", "request")])
def test_a_request_that_is_sent_twice_is_charged_once(key: Any) -> None:
    with curator() as found:
        scores = [found.score(MODEL, SQL, target="sex", epsilon=1, fresh=True, key=key) for _ in range(2)]
        assert scores[0].value == scores[1].value
        assert len(found.entries()) == 1


def test_a_name_that_was_used_for_something_else_is_refused() -> None:
    with curator() as found:
        found.score(MODEL, SQL, target="sex", epsilon=1, key="tips")
        with pytest.raises(Refused, match="key-reused"):
            found.score(MODEL, SQL, target="sex", epsilon=2, key="tips")
        assert len(found.entries()) == 1


@pytest.mark.parametrize("key", ["", 7, ("name", "request")])
def test_a_key_that_is_none_is_refused(key: Any) -> None:
    with curator() as found:
        with pytest.raises(Refused, match="key-invalid"):
            found.score(MODEL, SQL, target="sex", epsilon=1, key=key)
        assert not found.entries()


def test_a_preview_reads_nothing_and_says_what_it_costs() -> None:
    with curator() as found:
        preview = found.preview(
            MODEL.score_task(SQL, target="sex", epsilon=1, metric=["accuracy", "roc_auc"], holdout="h")
        )
        assert preview.loss == Pure(1)
        assert preview.columns == ["accuracy", "roc_auc"]
        assert any("rows at 95%" in note for note in preview.notes)
        assert any("parallel composition" in note for note in preview.notes)
        assert not found.entries()


def test_columns_are_found_by_the_names_of_the_features() -> None:
    with curator() as found:
        fitted = found.fit(GaussianNB(), SQL, target="sex", epsilon=1000)
        one = found.score(fitted, "SELECT sex, pay, age FROM people", target="sex", epsilon=1e6)
        assert one.value == pytest.approx(1, abs=1e-3)
        for sql in ("SELECT age, sex FROM people", "SELECT age, free, sex FROM people"):
            with pytest.raises(Refused, match="select age, pay"):
                found.score(fitted, sql, target="sex", epsilon=1)
        with pytest.raises(Refused, match="2 features, and there are 1"):
            found.score(MODEL, "SELECT age, sex FROM people", target="sex", epsilon=1)


WRONG: Final[list[tuple[Any, str, dict[str, Any], str]]] = [
    (MODEL, SQL, {"metric": "recall"}, "score-invalid"),
    (MODEL, SQL, {"metric": "r2"}, "score-invalid"),
    (MODEL, SQL, {"metric": []}, "score-invalid"),
    (MODEL, SQL, {"confidence": 2}, "score-invalid"),
    (MODEL, SQL, {"positive": "X"}, "score-invalid"),
    (MODEL, SQL, {"target": "none"}, "unknown-column"),
    (MODEL, SQL, {"target": None}, "score-invalid"),
    (MODEL, SQL, {"epsilon": None}, "cost-missing"),
    (MODEL, SQL, {"epsilon": -1}, "cost-invalid"),
    (MODEL, SQL, {"epsilon": 1e-9, "metric": ["accuracy", "roc_auc", "log_loss", "calibration"]}, "cost-invalid"),
    (MODEL, SQL, {"holdout": ""}, "score-invalid"),
    (MODEL, SQL, {"holdout": "a\0b"}, "score-invalid"),
    (MODEL, SQL, {"holdout": "x" * 101}, "score-invalid"),
    (MODEL, SQL, {"holdout": 5}, "score-invalid"),
    (MODEL, SQL, {"fresh": 1}, "cost-invalid"),
    (MODEL, SQL, {"max_rows": 0}, "cost-invalid"),
    (MODEL, "SELECT COUNT(*) FROM people", {}, "not-rows"),
    (GaussianNB(), SQL, {}, "score-invalid"),
    (KMeans(2, bounds=(0, 1), epsilon=1).fit(ROWS), SQL, {}, "target-unused"),
    ("a model", SQL, {}, "not-private"),
    (LINE, "SELECT x, x AS y FROM rows", {"target": "y", "holdout": "h"}, "score-invalid"),
]


@pytest.mark.parametrize(("model", "sql", "given", "code"), WRONG)
def test_what_is_wrong_is_refused_before_anything_is_charged(
    model: Any, sql: str, given: dict[str, Any], code: str
) -> None:
    with curator() as found:
        with pytest.raises(Refused) as refusal:
            found.score(model, sql, **{"target": "sex", "epsilon": 1, **given})
        assert refusal.value.code == code
        assert not found.entries()


def test_what_fails_after_the_charge_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "measure", lambda *_: 1 / 0)
    with curator() as found:
        with pytest.raises(QueryFailed, match="stays spent"):
            found.score(MODEL, SQL, target="sex", epsilon=1)
        assert len(found.entries()) == 1


def test_what_is_stored_is_read_with_suspicion() -> None:
    assert _measured(b'{"version": 2}') is None
    for damaged in (
        b"",
        b"{}",
        b'{"version": 1}',
        b'{"version":1,"cost":{"epsilon":"1"},"vectors":{},"facts":[null,null,1]}',
    ):
        with pytest.raises(LedgerDamaged):
            _measured(damaged)


def test_a_search_is_scored_as_what_it_chose() -> None:
    search = PrivateSearchCV(
        GaussianNB(bounds=([0, 0], [100, 1000]), classes=["F", "M"]), {"var_smoothing": [1e-4, 1e-2]}, epsilon=1000
    ).fit(ROWS, np.where(ROWS[:, 0] < 50, "F", "M"))
    with curator() as found:
        assert found.score(search, SQL, target="sex", epsilon=1e6).value == pytest.approx(1, abs=0.05)


# the hold-out


def units(found: Curator, holdout: Holdout, table: str) -> set[Any]:
    """Who is on a side of it."""
    from discreet.curator.public import PublicTables
    from discreet.curator.rows import bounded_rows

    engine = found._engine(1)
    node = bounded_rows(found.policy, f"SELECT * FROM {table}", None, public=PublicTables(lambda: engine))
    assert node.owner.column is not None
    from discreet.composed import sql

    rows = holdout.rows(node.sql(), node.owner.column)
    return {row[0] for row in engine.rows(sql("SELECT {} FROM ({})", node.owner.column, rows))}


def test_every_unit_is_on_one_side_whatever_the_table() -> None:
    with curator(count=800) as found:
        sides = {side: units(found, Holdout("spring", side), "people") for side in (HELD_OUT, REST)}
        assert not sides[HELD_OUT] & sides[REST]
        assert len(sides[HELD_OUT] | sides[REST]) == 800
        assert 120 < len(sides[HELD_OUT]) < 280  # binomial of 800 and a quarter: ±6.5 deviations
        for side, whole in sides.items():
            assert units(found, Holdout("spring", side), "visits") == whole
        other = units(found, Holdout("autumn", HELD_OUT), "people")
        assert 10 < len(other & sides[HELD_OUT]) < 110  # each name has a key of its own
    with curator(count=400) as found:  # without half of them, all others are where they were
        assert units(found, Holdout("spring", HELD_OUT), "people") == {who for who in sides[HELD_OUT] if int(who) < 400}


def test_a_fit_and_a_score_of_one_holdout_see_other_units() -> None:
    seen = Recorder()
    with curator(count=800, seen=seen) as found:
        fitted = found.fit(GaussianNB(), SQL, target="sex", epsilon=1, holdout="spring")
        score = found.score(fitted, SQL, target="sex", epsilon=1e6, holdout="spring")
        rest = 800 - score.rows
        assert fitted.class_count_.sum() == pytest.approx(rest, abs=80)
        assert 120 < score.rows < 280


def test_the_larger_cost_of_both_sides_counts() -> None:
    costs: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        (PURE, {"epsilon": 0.5}, {"epsilon": 2}),
        (BOTH, {"rho": 0.01}, {"rho": 0.04}),
    ]
    for head, small, large in costs:
        with curator(head) as found:
            fitted = found.fit(GaussianNB(), SQL, target="sex", holdout="spring", **large)
            score = found.score(fitted, SQL, target="sex", holdout="spring", **small)
            assert score.loss.amount == Fraction(str(next(iter(small.values()))))
            first, second = found.entries()
            assert second.loss.is_zero
            assert second.cost == score.loss
            found.score(fitted, SQL, target="sex", holdout="spring", fresh=True, **large)
            assert found.entries()[-1].loss.amount == score.loss.amount
            found.score(fitted, SQL, target="sex", holdout="another", **large)  # another partition
            assert found.entries()[-1].loss.amount == first.loss.amount
            found.score(fitted, SQL, target="sex", **large)  # no part
            assert found.entries()[-1].loss.amount == first.loss.amount


def _same(engine: Any) -> Any:
    return engine


def test_another_secret_is_another_partition() -> None:
    from discreet.engines.memory import Memory

    policy = policy_of(POLICY, head=PURE)
    names = []
    for secret in ("one", "two"):
        engine = Memory(policy, tables(3), secret)
        for name in ("spring", "autumn"):
            names += [Holdout(name, side).part(partial(_same, engine)) for side in (HELD_OUT, REST)]
        engine.close()
    assert len({(each.partition, each.part) for each in names}) == 8
    assert len({each.partition for each in names}) == 4
    assert {each.max_parts for each in names} == {1}
    assert not any("one" in each.partition or "spring" in each.partition for each in names)
    with pytest.raises(QueryFailed, match="nothing was charged"):
        Holdout("spring", REST).part(lambda: 1 / 0)  # type: ignore[arg-type, return-value]


def test_the_key_of_a_holdout_is_in_no_text_that_anybody_sees(tmp_path: Path) -> None:
    """On disk: the secret is in its file alone, and what the ledger has does not hold it."""
    from discreet.lab.hospital import build

    policy = build(tmp_path / "hospital")
    sql = "SELECT age, smoker FROM patients"
    asked: dict[str, Any] = {"target": "smoker", "epsilon": 0.1, "holdout": "spring"}
    with discreet.open(policy) as found:
        model = found.fit(
            GaussianNB(), "SELECT age, smoker FROM patients", target="smoker", epsilon=0.1, holdout="spring"
        )
        score = found.score(model, "SELECT age, smoker FROM patients", target="smoker", epsilon=0.1, holdout="spring")
        secret = (found.policy.state / "secret").read_text()
        (entry, other) = found.entries()
        for text in (json.dumps(entry.call), str(entry.part), json.dumps(score.document()), repr(score)):
            assert secret not in text
        assert entry.part is not None
        assert other.part is not None
        assert entry.part.partition == other.part.partition
    with discreet.open(policy) as found:  # another process, the same sides
        again = found.score(model, sql, **asked)
        assert again.cached


# rows on which a model fails


def test_a_row_on_which_a_model_fails_has_no_prediction_and_harms_no_other() -> None:
    """A made-up tree that ends nowhere for some rows; by blocks or alone, others have what they have."""

    class Failing:
        classes_ = np.array(["F", "M"])

        def predict(self, rows: Any) -> Any:
            if (rows[:, 0] > 0.9).any():
                raise IndexError("row")
            return self.classes_[(rows[:, 0] > 0.5).astype(int)]

        def predict_proba(self, rows: Any) -> Any:
            said = (self.predict(rows) == "M").astype(float)
            return np.stack([1 - said, said], axis=1)

    rows = np.random.default_rng(3).random((3000, 1))
    model: Any = Failing()
    said = _total(model, rows, 3000)
    fine = rows[:, 0] <= 0.9
    assert said[fine].tolist() == model.predict(rows[fine]).tolist()
    assert set(said[~fine].tolist()) == {None}
    shares = _total(model, rows, 3000, "predict_proba")
    np.testing.assert_array_equal(shares[fine], model.predict_proba(rows[fine]))
    assert np.isnan(shares[~fine]).all()
    without = np.delete(rows, 17, axis=0)
    np.testing.assert_array_equal(_total(model, without, 2999), np.delete(said, 17))
    assert _total(model, rows[:0], 0).shape == (0,)
