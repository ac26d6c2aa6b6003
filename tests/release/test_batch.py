"""Queries handed over together: the same answers as one by one, one charge, less error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from discreet.accounting.record import Key
from discreet.errors import BudgetExhausted, Refused
from discreet.release.batch import Batch
from discreet.release.recognised import renumbered
from discreet.sql import now
from tests.curator.test_now import Clock
from tests.release.cases import HEADS, POLICY, nothing_differs_and_all_is_charged, world
from tests.sql.worlds import opened, policy_of

COUNTS = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC, ward",
    "SELECT COUNT(*) AS n FROM visits WHERE ward = 'A' OR ward IS NULL",
    "SELECT COUNT(*) AS n FROM visits WHERE stay BETWEEN 2 AND 5",
    "SELECT COUNT(*) AS n FROM visits WHERE stay > 3 AND cost <= 3.5",
    "SELECT flag, COUNT(*) AS n FROM visits WHERE NOT (cost > 0) GROUP BY flag",
    "SELECT COUNT(*) AS n FROM visits WHERE cost IN (0, 10)",
    "SELECT CASE WHEN ward = 'A' THEN 'first' ELSE 'other' END AS kind, COUNT(*) AS n FROM visits GROUP BY kind",
    "SELECT COUNT(*) + 1 AS more FROM visits WHERE stay < 4",
    "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month HAVING COUNT(*) > 2",
]
OTHERS = ["SELECT AVG(cost) AS mean FROM visits", "SELECT ward, SUM(stay) AS s FROM visits GROUP BY ward"]


def calm(people: int) -> dict[str, list[dict[str, Any]]]:
    """Rows within what is declared, or NULL: there a batch and its queries mean the same."""
    data = world(people)
    for row in data["visits"]:
        row["stay"] = min(max(row["stay"], 0), 7)
        row["day"] = row["day"] if row["day"] is not None and row["day"].year == 2026 else None
    return data


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("queries", [COUNTS, [*COUNTS[:3], *OTHERS], OTHERS, COUNTS[:1]], ids=len)
def test_without_noise_they_are_what_each_query_says(queries: Sequence[str], head: str) -> None:
    with opened(policy_of(POLICY, head=HEADS[head]), calm(30)) as curator:
        together = curator.batch(queries, epsilon=1)
        assert len(curator.entries()) == 1
        for query, answer in zip(queries, together, strict=True):
            alone = curator.query(query, epsilon=1)
            assert answer.columns == alone.columns
            assert [row[:-1] for row in answer.rows] == [row[:-1] for row in alone.rows]
            assert np.allclose([row[-1] for row in answer.rows], [row[-1] for row in alone.rows])
            assert answer.noise.keys() == alone.noise.keys()
            assert [set(row) for row in answer.intervals] == [set(row) for row in alone.intervals]


@pytest.mark.long
@pytest.mark.parametrize("head", HEADS)
def test_it_is_one_charge_cached_and_previewed(head: str) -> None:
    with opened(policy_of(POLICY, head=HEADS[head]), world(10)) as curator:
        task = curator.batched(COUNTS, epsilon=0.5)
        preview = curator.preview(task)
        assert not curator.entries()
        first = curator.batch(COUNTS, epsilon=0.5)
        (entry,) = curator.entries()
        assert entry.answered
        assert entry.loss == preview.loss == first[0].loss
        assert first[0].cost.covers(curator.query("SELECT COUNT(*) FROM visits", epsilon=0.5).cost)
        again = curator.batch(COUNTS, epsilon=0.25)
        assert all(answer.cached for answer in again)
        assert [answer.rows for answer in again] == [answer.rows for answer in first]
        assert curator.preview(task).cached
        recalled = curator.recall(entry.number)
        assert [answer.rows for answer in recalled] == [answer.rows for answer in first]
        assert [answer.intervals for answer in recalled] == [answer.intervals for answer in first]
        assert all(answer.cached and answer.cost == first[0].cost for answer in recalled)


@pytest.mark.parametrize("head", HEADS)
def test_counting_queries_have_less_error_together_than_one_by_one(head: str) -> None:
    ranges = [f"SELECT COUNT(*) AS n FROM visits WHERE stay BETWEEN {a} AND {b}" for a in range(8) for b in range(a, 8)]
    with opened(policy_of(POLICY, head=HEADS[head]), world(3)) as curator:
        together = list(curator.preview(curator.batched(ranges, epsilon=1)).error.values())
        alone = curator.preview(ranges[0], epsilon=1).error["n"]
    factor = len(ranges) if head == "pure" else math.sqrt(len(ranges))
    assert max(together) < factor * alone / 2


@pytest.mark.long
@pytest.mark.parametrize("head", HEADS)
def test_replay_finds_no_difference_and_what_leaves_is_charged(head: str) -> None:
    policy = policy_of(POLICY, head=HEADS[head])
    private = ["SELECT note, COUNT(*) FROM visits GROUP BY note"] if head == "both" else []
    task = Batch([*COUNTS, *OTHERS, *private], epsilon=1, fresh=True)
    nothing_differs_and_all_is_charged(policy, task, [(1, 1), (2, 2)])


@pytest.mark.parametrize(
    ("queries", "options", "code"),
    [
        ([], {"epsilon": 1}, "syntax"),
        ("SELECT 1", {"epsilon": 1}, "syntax"),
        ([1], {"epsilon": 1}, "syntax"),
        (COUNTS[:2], {}, "cost-missing"),
        (COUNTS[:2], {"epsilon": -1}, "cost-invalid"),
        (COUNTS[:2], {"epsilon": 1, "confidence": 2}, "cost-invalid"),
        (COUNTS[:2], {"epsilon": 1, "fresh": 1}, "cost-invalid"),
        (["SELECT ward FROM visits"], {"epsilon": 1}, "not-an-aggregate"),
        (["SELECT COUNT(*) FROM wards"], {"epsilon": 1}, "statement-not-allowed"),
        ([f"EXPLAIN PRIVACY {COUNTS[0]}"], {"epsilon": 1}, "statement-not-allowed"),
    ],
)
def test_what_is_no_batch_is_refused_before_anything_is_charged(queries: Any, options: Any, code: str) -> None:
    with opened(policy_of(POLICY, head=HEADS["pure"]), world(3)) as curator:
        with pytest.raises(Refused) as refused:
            curator.batch(queries, **options)
        assert (refused.value.code, bool(refused.value.fix)) == (code, True)
        assert not curator.entries()


def test_a_batch_beyond_the_budget_is_refused_as_a_whole() -> None:
    policy = policy_of(POLICY, head=HEADS["pure"])
    from discreet.curator.curator import Curator
    from discreet.engines.memory import Memory
    from discreet.opening import MAKERS
    from tests.sql.worlds import ledger_of

    with ledger_of(policy, generous=False) as ledger:
        curator = Curator(policy, ledger, engine=Memory(policy, world(3)), makers=MAKERS)
        with pytest.raises(BudgetExhausted):
            curator.batch(COUNTS, epsilon=6)
        assert not curator.entries()


TODAY = "SELECT COUNT(*) AS n FROM visits WHERE day < CURRENT_DATE"
"""What it means changes at midnight."""


def test_a_batch_that_is_sent_again_after_midnight_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(now, "datetime", Clock)
    monkeypatch.setattr(Clock, "at", Clock.at)
    with opened(policy_of(POLICY, head=HEADS["pure"]), world(3)) as curator:
        task = Batch([COUNTS[0], TODAY], epsilon=1, key=Key("a", "digest"))
        first = curator.perform(task)
        Clock.at = Clock.at.replace(day=28)
        again = curator.perform(task)
        assert [(each.receipt, each.rows) for each in again] == [(each.receipt, each.rows) for each in first]
        assert len(curator.entries()) == 1


@pytest.mark.parametrize("others", [[], [TODAY]], ids=len)
def test_the_present_of_a_batch_is_that_of_each_query(monkeypatch: pytest.MonkeyPatch, others: list[str]) -> None:
    """The time was midnight where a query before asked for the day alone."""
    monkeypatch.setattr(now, "datetime", Clock)
    text = "SELECT COUNT(*) AS n FROM visits WHERE CAST(day AS TIMESTAMP) < CURRENT_TIMESTAMP"
    with opened(policy_of(POLICY, head=HEADS["pure"]), world(3)) as curator:
        notes = curator.batch([*others, text], epsilon=1)[-1].notes
        assert "CURRENT_TIMESTAMP is 2024-02-20 10:30:00 (UTC), fixed when this was asked" in notes
        assert set(curator.query(text, epsilon=1).notes) & set(notes)


def test_a_curator_without_the_package_says_so() -> None:
    policy = policy_of(POLICY, head=HEADS["pure"])
    from discreet.curator.curator import Curator
    from discreet.engines.memory import Memory
    from tests.sql.worlds import ledger_of

    with ledger_of(policy) as ledger:
        curator = Curator(policy, ledger, engine=Memory(policy, world(3)))
        with pytest.raises(Refused, match=r"discreet\.open"):
            curator.batch(COUNTS, epsilon=1)


@pytest.mark.parametrize("most", [1, 5, 60, 10**6, 2**40])
def test_cells_are_numbered_as_if_they_were_sorted(most: int) -> None:
    for size in (1, 2, 30, 500):
        codes = np.random.default_rng(size).integers(0, most, size)
        assert np.array_equal(renumbered(codes), np.unique(codes, return_inverse=True)[1])
