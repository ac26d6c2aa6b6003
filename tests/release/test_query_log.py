"""Logs for units with all of their rows: bounding by a unit's own keys, selection within δ, invented pseudonyms."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting.losses import Sensitivity
from discreet.audit.replay import Replay
from discreet.errors import Refused
from discreet.exit import Cost
from discreet.release import LogCounts, QueryLog
from discreet.release.publish import Publish
from discreet.release.query_log import _Held
from discreet.release.rows import Rows
from tests.release.cases import BOTH, POLICY, PURE, world
from tests.sql.worlds import opened, policy_of


def held(log: dict[Any, list[str]]) -> _Held:
    rows = [(user, key) for user, keys in log.items() for key in keys]
    data = {"who": [user for user, _ in rows], "key": [key for _, key in rows]}
    return _Held.of(Rows.of(data, ("who", "key")).owned("who", 100), ("key",))


def kept(log: dict[Any, list[str]], most: int) -> dict[Any, set[str]]:
    """Which keys of each user stay."""
    users = {user: index for index, user in enumerate(log)}
    bounded = held(log).bounded(most, 1)
    return {
        user: {
            bounded.keys[key][0]
            for owner, key in zip(bounded.unit.tolist(), bounded.key.tolist(), strict=True)
            if owner == index
        }
        for user, index in users.items()
    }


def test_which_keys_of_a_unit_stay_depends_on_that_unit_alone() -> None:
    dice = np.random.default_rng(0)
    log = {f"u{user}": [f"k{dice.integers(30)}" for _ in range(int(dice.integers(1, 20)))] for user in range(40)}
    whole = kept(log, 3)
    for user, keys in log.items():
        assert len(whole[user]) == min(3, len(set(keys)))
        assert kept({user: keys}, 3)[user] == whole[user]
        assert kept({"other": ["k1", "zz"], user: keys[::-1]}, 3)[user] == whole[user]
    chosen = Counter(key for keys in whole.values() for key in keys)
    assert len(chosen) > 15, "all units prefer the same keys"


def test_a_unit_moves_the_counts_within_its_bounds() -> None:
    """Add a unit that has as much of everything as it can: by enumeration of what it holds."""
    others = {"a": ["x", "x", "y"], "b": ["y", "z"]}
    for mine in (["x"] * 9, ["x", "y", "z", "w"] * 3, ["new"] * 2, []):
        before, after = held(others).bounded(2, 3), held({**others, "c": mine}).bounded(2, 3)
        moved = np.array([
            dict(zip(after.keys, after.counts().tolist(), strict=True)).get(key, 0)
            - dict(zip(before.keys, before.counts().tolist(), strict=True)).get(key, 0)
            for key in {*before.keys, *after.keys}
        ])  # fmt: skip
        said = Sensitivity.cells(2, 3)
        assert np.abs(moved).sum() <= said.l1
        assert (moved**2).sum() <= said.l2_squared


def test_a_key_of_one_unit_shows_with_delta_at_most_and_the_next_lower_threshold_would_be_too_low() -> None:
    """Exactly, by the tail of the noise: for one unit that holds as many keys of its own as it may."""
    for keys, share, delta in ((1, Fraction(1, 2), Fraction(1, 10**6)), (10, Fraction(1, 3), Fraction(1, 10**8))):
        for cost in (Cost.alone(rho=Fraction(1, 50)), Cost.alone(rho=Fraction(2))):
            selection = cost.selection(keys, share, delta)
            assert 1 - (1 - Fraction(selection.chance(1))) ** keys <= delta * Fraction(1_000_001, 1_000_000)
            lower = float(selection._noise.tail(selection.threshold - 2)[0])
            assert 1 - (1 - Fraction(lower)) ** keys > delta


def test_unique_keys_are_not_released() -> None:
    """500 people with a key of their own beside one that all hold: δ = 10⁻⁹ shows one of them once in 2·10⁶ tests."""
    data = {"who": [who for who in range(500) for _ in range(2)],
            "query": [word for who in range(500) for word in ("weather", f"my name is {who}")]}  # fmt: skip
    log = QueryLog(names=("query",), unit="who", max_keys=2).release(data, epsilon=2, delta=1e-9)
    assert log.keys == (("weather",),)
    assert abs(int(log.values[0]) - 500) < 200


def test_selection_and_counts_cost_what_is_charged() -> None:
    policy = policy_of(POLICY, head=BOTH)
    publication = QueryLog(names=("note",), max_keys=2, max_count=2, selection=Fraction(1, 4))
    with Replay(policy) as auditor:
        run = auditor.run(Publish(publication, "visits", epsilon=1, max_rows=3, fresh=True), world(30))
    selection, counts = run.calls
    (charged,) = run.charges
    assert selection.mechanism.max_groups == 2  # type: ignore[union-attr]
    assert selection.mechanism.loss.delta == charged.delta  # type: ignore[union-attr]
    assert counts.sensitivity == Sensitivity.cells(2, 2, 3)  # type: ignore[union-attr]
    assert selection.mechanism.loss.rho + counts.mechanism.loss.concentrated().rho <= charged.rho  # type: ignore[union-attr]


# what is invented


def log_of(counts: list[int], max_keys: int, max_count: int) -> LogCounts:
    keys = tuple((f"k{index}",) for index in range(len(counts)))
    values = np.array(counts, dtype=np.int64)
    return LogCounts(names=("k",), keys=keys, values=values, error=1.0, max_keys=max_keys, max_count=max_count)


@pytest.mark.parametrize("counts", [[], [0], [-3], [7], [10, 10, 10], [100, 3, 1, 1, 0, 55]])
def test_pseudonyms_have_the_released_counts_and_keep_the_bounds(counts: list[int]) -> None:
    for max_keys, max_count in ((1, 1), (2, 3), (10, 2)):
        rows = log_of(counts, max_keys, max_count).pseudonymous()
        sums: Counter[str] = Counter()
        for _, key, times in rows:
            sums[key] += times
        assert sums == {f"k{index}": count for index, count in enumerate(counts) if count > 0}
        people = Counter(who for who, _, _ in rows)
        assert max(people.values(), default=0) <= max_keys
        assert max((times for _, _, times in rows), default=0) <= max_count
        assert len({(who, key) for who, key, _ in rows}) == len(rows)


# from tables and arrays


def test_rows_of_nobody_and_keys_of_nothing_are_left_out() -> None:
    data = {"who": [None, float("nan"), "a", "a", "b"], "query": ["x", "x", None, "x", ["x"]]}
    rows = QueryLog(names=("query",), unit="who", max_keys=1).declared(None).rows_of(data)
    found = _Held.of(rows, ("query",))
    assert (found.keys, found.units().tolist()) == ([("x",)], [1])


def test_one_row_does_not_decide_how_a_key_of_others_is_written() -> None:
    for extra in ([], [True]):
        data = {"key": [*extra, *[1] * 400]}
        found = QueryLog(names=("key",)).release(data, epsilon=5, delta=1e-6)
        assert [repr(key) for key in found.keys] == ["(1,)"]


@pytest.mark.parametrize(
    ("publication", "head", "code"),
    [
        (QueryLog(names=("note",)), PURE, "private-keys-need-delta"),
        (QueryLog(names=("cost",)), BOTH, "unknown-column"),
        (QueryLog(names=("nothing",)), BOTH, "unknown-column"),
        (QueryLog(names=()), BOTH, "unknown-column"),
        (QueryLog(names=("note",), unit="person"), BOTH, "release-invalid"),
    ],
)
def test_what_has_no_keys_is_refused(publication: QueryLog, head: str, code: str) -> None:
    with opened(policy_of(POLICY, head=head), world(3)) as curator:
        with pytest.raises(Refused) as refused:
            curator.release(publication, "visits", epsilon=1)
        assert refused.value.code == code
        assert refused.value.fix
        assert not curator.entries()


def test_what_makes_no_sense_is_said() -> None:
    for wrong in ({"max_keys": 0}, {"max_count": 0}, {"selection": 0}, {"selection": 1}, {"selection": "x"}):
        with pytest.raises((ValueError, TypeError)):
            QueryLog(**wrong)
    with pytest.raises(Refused, match="columns"):
        QueryLog().release({}, epsilon=1, delta=1e-6)
    with pytest.raises(Refused, match="max_keys"):
        QueryLog(names=("query",), unit="who").release({"who": [], "query": []}, epsilon=1, delta=1e-6)
