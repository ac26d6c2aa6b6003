"""Searches on a curator: facts of the policy for all candidates, and units with all their rows on one side."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest
import sklearn.naive_bayes

from discreet.accounting import Concentrated, Pure
from discreet.audit.compare import Call, compared
from discreet.audit.replay import Replay, Run
from discreet.errors import QueryFailed, Refused
from discreet.exit.progress import Progress
from discreet.learn import CategoricalNB, GaussianNB, KMeans, LinearRegression, PrivateSearchCV, search
from discreet.learn.search import COIN, sides
from discreet.learn.sizing import ONE
from discreet.mechanisms import BestOfSome
from tests.learn.test_tables import BOTH, POLICY, PURE, curator, tables
from tests.sql.worlds import policy_of

PEOPLE: Final = "SELECT age, pay, sex FROM people"
VISITS: Final = "SELECT cost, flag, ward FROM visits"
METHODS: Final = ("every", "some")
methods = pytest.mark.parametrize("method", METHODS)
heads = pytest.mark.parametrize("head", [PURE, BOTH], ids=["pure", "delta"])


def bayes(method: str = "auto", **more: Any) -> PrivateSearchCV:
    return PrivateSearchCV(GaussianNB(), {"var_smoothing": [1e-6, 1e-4, 1e-2]}, method=method, **more)


@heads
@methods
def test_a_search_is_fitted_cached_and_recalled(head: str, method: str) -> None:
    with curator(head) as found:
        preview = found.preview(bayes(method).task(PEOPLE, target="sex", epsilon=1))
        model = found.fit(bayes(method), PEOPLE, target="sex", epsilon=1)
        assert (model.loss_, model.cached_, model.estimator.bounds) == (preview.loss, False, None)
        assert model.best_estimator_.bounds == ([0, 0], [100, 1000])
        assert model.classes_.tolist() == ["F", "M"]
        assert model.feature_names_in_.tolist() == model.best_estimator_.feature_names_in_.tolist() == ["age", "pay"]
        again = found.fit(bayes(method), PEOPLE, target="sex", epsilon=1)
        assert (again.cached_, again.best_params_, again.receipt_) == (True, model.best_params_, model.receipt_)
        recalled = found.recall(int(model.receipt_.split(":")[0]))
        assert (recalled.best_index_, recalled.loss_) == (model.best_index_, model.loss_)
        (entry,) = found.entries()
        assert entry.loss == model.loss_
        assert hasattr(model, "candidates_") is hasattr(recalled, "candidates_") is (method == "every")
        assert {key: value for key, value in entry.call.items() if key != "parameters"} == {
            "estimator": "PrivateSearchCV", "max_rows": 1, "sql": PEOPLE, "target": "sex", "task": "fit",
        }  # fmt: skip
        words = " ".join(preview.notes)
        assert "each of 3 candidates is fitted for " in words
        assert ("never told" in words) is (method == "some")


def test_facts_are_the_policy_s_for_candidates_that_say_none() -> None:
    with curator() as found:
        categories = found.fit(
            PrivateSearchCV(CategoricalNB(), {"alpha": [0.5, 1]}),
            VISITS.replace("cost, ", ""),
            target="ward",
            epsilon=5,
        )
        assert [values.tolist() for values in categories.best_estimator_.categories_] == [[False, True]]
        own = PrivateSearchCV(LinearRegression(), {"bounds": [(0, 50), (0, 100)]})
        model = found.fit(own, "SELECT free, pay FROM people", target="pay", epsilon=1)  # free has no bounds
        assert model.best_estimator_.bounds in [(0, 50), (0, 100)]
        assert model.best_estimator_.y_bounds == (0, 1000)
        some = PrivateSearchCV(LinearRegression(), [{"bounds": [(0, 50)]}, {"fit_intercept": [True]}])
        with pytest.raises(Refused) as refusal:
            found.fit(some, "SELECT free, pay FROM people", target="pay", epsilon=1)
        assert refusal.value.code == "undeclared-bounds"


@heads
@methods
def test_all_rows_of_a_unit_together_cost_what_was_said(head: str, method: str) -> None:
    with curator(head) as found:
        model = found.fit(bayes(method), VISITS, target="ward", epsilon=1, max_rows=3)
        one = model.best_estimator_.loss_ if method == "some" else model.candidates_[0].loss_.times(3)
        assert one.group(3).amount <= model.loss_.amount
        assert one.group(3).amount == pytest.approx(model.loss_.amount, rel=1e-6)
        assert isinstance(model.loss_, Pure if head is PURE else Concentrated)


def test_rows_of_a_unit_are_on_one_side_whoever_else_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the coins of a search on units with three rows each, some of them dropped for a NULL."""
    drawn: list[tuple[list[Any], list[bool]]] = []

    def noted(units: Any, key: bytes, share: int) -> Any:
        held = sides(units, key, share)
        drawn.append((units.tolist(), held.tolist()))
        return held

    monkeypatch.setattr(search, "sides", noted)
    with curator() as found:
        sql = "SELECT NULLIF(cost, 2) AS c, flag, ward FROM visits"
        found.fit(bayes("every"), sql, target="ward", epsilon=1, max_rows=3)
    ((units, held),) = drawn
    assert 40 < len(units) < 120
    ways = {unit: {side for other, side in zip(units, held, strict=True) if other == unit} for unit in units}
    assert len(ways) == 40
    assert {len(way) for way in ways.values()} == {1}
    assert {side for way in ways.values() for side in way} == {True, False}


@heads
@methods
def test_neighbours_are_not_told_apart(head: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit with three rows goes: fits or scores move, within what is declared, and what is seen stays the same."""
    data, held = tables(12), _sides_seen(monkeypatch)
    with Replay(policy_of(POLICY, head=head)) as auditor:
        task = bayes(method).task(VISITS, target="ward", epsilon=1, max_rows=3, fresh=True)
        first = auditor.run(task, data)
        apart = dict(held[0])
        assert set(apart) == set(map(str, range(12)))
        for who in range(0, 12, 3):
            fewer = {name: [row for row in rows if row.get("person") != who] for name, rows in data.items()}
            other = auditor.run(task, fewer, first)
            # sides, and candidates that are not looked at, are counted by the theorems and not by a sum
            report = compared("search", replace(first, costed=False), replace(other, costed=False), units=3)
            assert report.same, report
            assert held[-1] == {unit: side for unit, side in apart.items() if unit != str(who)}
            moved = [a.exact != b.exact for a, b in zip(first.calls, other.calls, strict=True)]
            fits, choice = _parted(first, moved, method)
            assert any(fits) is not apart[str(who)]
            assert apart[str(who)] or not any(choice)  # scores stay if no candidate predicts a row rightly


def _sides_seen(monkeypatch: pytest.MonkeyPatch) -> list[dict[Any, bool]]:
    """Of every search from now on, which units were kept apart."""
    seen: list[dict[Any, bool]] = []

    def noted(units: Any, key: bytes, share: int) -> Any:
        held = sides(units, key, share)
        seen.append(dict(zip(units.tolist(), held.tolist(), strict=True)))
        return held

    monkeypatch.setattr(search, "sides", noted)
    return seen


def _parted(run: Run, moved: list[bool], method: str) -> tuple[list[bool], list[bool]]:
    """What left from the fits, and what left from the rows apart: one choice, or one number of each candidate."""
    last = [not isinstance(call, Call) if method == "every" else _is_score(call) for call in run.calls]
    assert sum(last) == (1 if method == "every" else 3)
    pairs = list(zip(moved, last, strict=True))
    return [move for move, apart in pairs if not apart], [move for move, apart in pairs if apart]


def _is_score(call: Any) -> bool:
    """One number, in fine steps; the number of rows, with which fits begin, is one in whole ones."""
    return len(call.exact) == 1 and call.sensitivity != ONE


@methods
def test_nobody_is_searched_like_everybody(method: str) -> None:
    with curator(count=0) as found:
        assert found.fit(bayes(method), PEOPLE, target="sex", epsilon=1).best_index_ in range(3)


REFUSALS: list[tuple[Callable[[], Any], dict[str, Any], str]] = [
    (lambda: PrivateSearchCV(sklearn.naive_bayes.GaussianNB(), {"var_smoothing": [1]}), {}, "not-private"),
    (lambda: PrivateSearchCV(None, {"var_smoothing": [1]}), {}, "not-private"),
    (lambda: PrivateSearchCV(KMeans(2), {"n_clusters": [1]}), {}, "not-private"),
    (lambda: PrivateSearchCV(bayes(), {"test_size": [0.1]}), {}, "not-private"),
    (lambda: PrivateSearchCV(GaussianNB, {"var_smoothing": [1]}), {}, "not-private"),
    (lambda: PrivateSearchCV(GaussianNB(epsilon=1), {"var_smoothing": [1]}), {}, "cost-invalid"),
    (lambda: PrivateSearchCV(GaussianNB(), {"epsilon": [1]}), {}, "cost-invalid"),
    (lambda: PrivateSearchCV(GaussianNB(), {"ledger": [None]}), {}, "cost-invalid"),
    (lambda: bayes(epsilon=1), {}, "cost-invalid"),
    (lambda: PrivateSearchCV(GaussianNB(), {"var_smoothing": [-1.0]}), {}, "fit-invalid"),
    (lambda: PrivateSearchCV(GaussianNB(), {"classes": [["F"]]}), {}, "fit-invalid"),
    (lambda: PrivateSearchCV(GaussianNB(), {"speed": [1]}), {}, "fit-invalid"),
    (lambda: PrivateSearchCV(GaussianNB(), {"var_smoothing": []}), {}, "fit-invalid"),
    (lambda: PrivateSearchCV(GaussianNB(), 3), {}, "fit-invalid"),
    (lambda: PrivateSearchCV(GaussianNB(), {"var_smoothing": [open]}), {}, "fit-invalid"),
    (lambda: bayes("most"), {}, "fit-invalid"),
    (lambda: bayes(test_size=1), {}, "fit-invalid"),
    (lambda: bayes(), {"epsilon": 2e-9, "max_rows": 3}, "cost-invalid"),
    (lambda: bayes(), {"target": None}, "target-missing"),
]


@pytest.mark.parametrize(("make", "more", "code"), REFUSALS)
def test_mistakes_cost_nothing(make: Callable[[], Any], more: dict[str, Any], code: str) -> None:
    with curator(count=3) as found:
        with pytest.raises(Refused) as refusal:
            found.fit(make(), PEOPLE, **{"epsilon": 1, "target": "sex", **more})
        assert (refusal.value.code, bool(refusal.value.fix)) == (code, True)
        assert not found.entries()


# attacks


def test_a_candidate_that_fails_for_some_rows_fails_in_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charged, and nothing is told of what failed or of whom; nothing is released of the candidates before it."""
    learn = GaussianNB._learn

    def fails(model: Any, exact: Any, *given: Any) -> None:
        if model.var_smoothing == 1e-2 and len(exact):
            raise ValueError(f"row {exact[0]}")
        learn(model, exact, *given)

    monkeypatch.setattr(GaussianNB, "_learn", fails)
    texts = set()
    for count in (40, 60):
        with curator(count=count) as found:
            for method in METHODS:
                with pytest.raises(QueryFailed) as failure:
                    found.fit(bayes(method), PEOPLE, target="sex", epsilon=1)
                texts.add((str(failure.value), failure.value.__cause__))
            assert [entry.answered for entry in found.entries()] == [False, False]
            assert found.budget().spent.epsilon == 2
    assert len(texts) == 1


def test_progress_of_a_hidden_choice_is_not_watched() -> None:
    for method, watched in (("every", True), ("some", False)):
        progress = Progress()
        with curator() as found, progress:
            found.fit(bayes(method), PEOPLE, target="sex", epsilon=1)
        seen = progress.seen()
        assert seen is not None
        assert (seen.stage == "candidates") is watched


def test_the_ledger_says_the_same_whoever_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is on record, byte by byte, with the same noise and the same best candidate."""
    data, policy = tables(30), policy_of(POLICY, head=PURE)
    stored: dict[int, list[Any]] = {}
    with Replay(policy) as auditor:
        task = bayes("some").task(PEOPLE, target="sex", epsilon=1, fresh=True)
        first: Run | None = None
        for looked in ([0], [0, 1], [0, 2], [0, 1, 2], [1], [1, 2], [2]):
            monkeypatch.setattr(
                BestOfSome, "some", lambda one, _, looked=looked: np.isin(np.arange(one.candidates), looked)
            )
            run = auditor.run(task, data, first)
            first = first or run
            entry = auditor.ledger.latest(limit=1)[0]
            kept = json.loads(auditor.ledger.answer(entry.number).answer)  # type: ignore[union-attr]
            seen = [kept, entry.question, entry.loss, entry.call, entry.plan, run.queries, run.charges]
            best = kept["model"]["fitted"]["best_index_"]
            assert best in looked
            assert seen == stored.setdefault(best, seen)
    assert 0 in stored
    names = {"best_estimator_", "best_index_", "best_params_", "feature_names_in_", "loss_", "n_features_in_"}
    assert all(set(seen[0]["model"]["fitted"]) == names for seen in stored.values())


def test_a_key_that_is_drawn_for_each_search_decides_who_is_apart() -> None:
    units = np.arange(2000)
    one, other = (sides(units, key, COIN // 4) for key in (b"a" * 32, b"b" * 32))
    assert abs(one.sum() - 500) < 5.2 * (2000 * 3 / 16) ** 0.5  # false alarms below 10⁻⁶
    assert abs((one & other).sum() - 125) < 5.2 * (2000 / 16 * 15 / 16) ** 0.5
