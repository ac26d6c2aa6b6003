"""What is computed once for a plan is not believed beyond it: of another policy or cost, or of a changed ledger."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.curator import curator as module
from discreet.curator.curator import Curator
from discreet.curator.state import withdraw
from discreet.errors import Refused
from discreet.policy import Policy, read
from discreet.server.tokens import Tokens
from discreet.sql.memo import MAX_VALUES, Memo
from tests.curator.worlds import POLICY, hospital
from tests.server.running import Running, refused, token

COUNT = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
QUERY = "datasets/hospital/query"


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return hospital(tmp_path_factory.mktemp("memos"))


@pytest.fixture
def curator(policy: Policy) -> Iterator[Curator]:
    with discreet.open(policy.path) as found:
        yield found


def shown(answer: Any) -> tuple[Any, ...]:
    return list(answer.rows), [dict(each) for each in answer.intervals], dict(answer.noise)


def test_an_answer_that_somebody_changes_is_shown_to_nobody_else(curator: Curator) -> None:
    first = shown(curator.query(COUNT, epsilon=0.1))
    for _ in range(3):
        again = curator.query(COUNT, epsilon=0.1)
        assert (again.cached, shown(again)) == (True, first)
        again.rows.clear()
        for each in again.intervals:
            each.clear()
        again.intervals.clear()
        again.noise["n"] = "none at all"


def test_another_confidence_has_other_intervals(curator: Curator) -> None:
    answers = [curator.query(COUNT, epsilon=0.1, confidence=each) for each in (0.95, 0.5, 0.95, 0.5)]
    wide, narrow, *again = (answer.intervals[0]["n"] for answer in answers)
    assert wide[1] - wide[0] > narrow[1] - narrow[0]
    assert again == [wide, narrow]


def test_what_is_withdrawn_is_not_shown_from_memory(curator: Curator, policy: Policy) -> None:
    for _ in range(2):
        last = curator.query(COUNT, epsilon=0.2)
    assert last.cached
    withdraw(policy, int(last.receipt.partition(":")[0]), "the wrong people")  # in another process as it were
    again = curator.query(COUNT, epsilon=0.2)
    assert (again.cached, again.receipt == last.receipt) == (False, False)


def rest(answer: Any) -> tuple[Any, ...]:
    return answer.remaining, answer.used, answer.more


def test_what_is_left_is_told_anew_once_anybody_was_charged(curator: Curator, policy: Policy) -> None:
    """Held as long as the journal is the same: not beyond a charge of this process or of another."""
    curator.query(COUNT, epsilon=0.1)
    told = [rest(curator.query(COUNT, epsilon=0.1)) for _ in range(3)]
    assert told[0] == told[1] == told[2]
    with discreet.open(policy.path) as other:
        for asks in (other, curator):
            asks.query(COUNT, epsilon=0.2, fresh=True)
            now = curator.query(COUNT, epsilon=0.1)
            assert now.cached
            assert (now.remaining, now.used) == (curator._ledger.remaining(), curator._ledger.used())
            assert now.more < told[-1][2]
            told.append(rest(now))
    assert len(set(map(str, told))) == 3


def test_what_is_left_is_each_ones_own(policy: Policy) -> None:
    """Of analysts, and of costs: what was held of one is told to no other."""
    with discreet.open(policy.path) as curator:
        costs, whose = (0.1, 0.2, 0.1), (*curator.analysts, None)
        for _ in range(2):
            for who in whose:
                counts: list[Any] = [curator.query(COUNT, epsilon=cost, analyst=who).more for cost in costs]
                assert counts[0] == counts[2] > counts[1]
                answer = curator.query(COUNT, epsilon=0.1, analyst=who)
                assert answer.remaining == curator._ledger.remaining(who)
                assert answer.used == curator._ledger.used(who)
                asked = curator.preview(COUNT, epsilon=0.1, analyst=who).loss
                assert answer.more == curator._ledger.affordable_count(asked, who)


@pytest.mark.parametrize("cost", [True, float("nan"), float("inf"), -1, 0, [1], {"a": 1}, "one", b"1", 1j])
def test_a_cost_that_equals_a_known_one_or_nothing_is_refused_all_the_same(curator: Curator, cost: Any) -> None:
    curator.preview(COUNT, epsilon=1)
    for _ in range(2):
        with pytest.raises(Refused) as wrong:
            curator.preview(COUNT, epsilon=cost)
        assert wrong.value.code == "cost-invalid"


def test_costs_of_each_form_are_what_they_say(curator: Curator) -> None:
    losses = [curator.preview(COUNT, epsilon=cost).loss for cost in (0.5, Fraction(1, 2), Decimal("0.5"), 1, 0.5)]
    assert losses[0] == losses[1] == losses[2] == losses[4] != losses[3]
    with pytest.raises(Refused, match="cost"):
        curator.preview(COUNT)
    with pytest.raises(Refused, match="two costs"):
        curator.preview(COUNT, epsilon=0.5, error=10)
    with pytest.raises(Refused, match="group_size"):
        curator.preview(COUNT, epsilon=0.5, group_size=3)


def test_a_policy_that_allows_less_is_not_outwitted(policy: Policy, tmp_path: Path) -> None:
    """The same text and cost under the same ledger, planned and answered before the owner lowered the highest cost."""
    text = policy.path.read_text(encoding="utf-8")
    with discreet.open(policy.path) as before:
        assert before.query(COUNT, epsilon=0.3).receipt
        assert before.query(COUNT, epsilon=0.3).cached
    lower = tmp_path / "lower.toml"
    lower.write_text(
        text.replace(POLICY.split("\n")[0], POLICY.split("\n")[0] + "\nmax_cost = 0.2", 1), encoding="utf-8"
    )
    changed = read(policy.path)
    policy.path.write_text(lower.read_text(encoding="utf-8"), encoding="utf-8")
    try:
        with discreet.open(changed.path) as after, pytest.raises(Refused) as high:
            after.query(COUNT, epsilon=0.3)
        assert high.value.code == "cost-too-high"
    finally:
        policy.path.write_text(text, encoding="utf-8")


def test_a_token_that_is_revoked_opens_nothing_that_was_planned_before(server: Running) -> None:
    question = {"sql": "SELECT COUNT(*) AS n FROM patients", "epsilon": 0.01}
    held = token(server.policy, "analyst", "finance")
    auditor = token(server.policy, "auditor")
    with server.client("") as client:
        sent: dict[str, Any] = {"json": question, "headers": {"authorization": f"Bearer {held}"}}
        assert [client.post(QUERY, **sent).status_code for _ in range(2)] == [200, 200]
        refused(client.post(QUERY, json=question, headers={"authorization": f"Bearer {auditor}"}), 403, "forbidden")
        tokens = Tokens.of(read(server.policy))
        tokens.revoke(held.split("_")[1])
        tokens.close()
        refused(client.post(QUERY, **sent), 401, "unauthorized")


def test_ever_new_keys_fill_no_memory_and_failures_are_not_held() -> None:
    memo, keys, made = Memo(), [*range(10 * MAX_VALUES), 0], list[int]()

    def compute(key: int) -> int:
        made.append(key)
        return key

    for key in keys:
        assert memo.once(key, partial(compute, key)) == key
        assert len(memo._known) <= MAX_VALUES
    assert made == keys

    def fail() -> None:
        raise ValueError("not now")

    with pytest.raises(ValueError, match="not now"):
        memo.once("key", fail)
    assert memo.once("key", lambda: 7) == 7


def test_ever_new_texts_fill_no_memory(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Previews are free. A thousand plans of texts that are as long as they may be took seven gigabytes."""
    counts = "SELECT COUNT(*) AS n FROM patients WHERE age IN ({})"
    texts = [counts.format(", ".join(map(str, range(many, 30)))) for many in range(12)]
    monkeypatch.setattr(module, "MOST_LETTERS", 5 * len(texts[0]))
    for text in texts:
        assert not curator.has_planned(text)
        curator.preview(text, epsilon=0.1)
        assert curator.has_planned(text)
        assert sum(map(curator.has_planned, texts)) <= 7
    monkeypatch.setattr(module, "MOST_PLANS", 3)
    for text in texts:
        curator.preview(text, epsilon=0.1)
        assert sum(map(curator.has_planned, texts)) <= 3


def test_intervals_of_new_answers_are_those_of_their_noise_and_confidence(curator: Curator) -> None:
    """What is held of a plan is for one of them at a time, and has no values."""
    fresh = partial(curator.query, COUNT, fresh=True)
    cases = [(0.1, 0.95), (0.2, 0.95), (0.1, 0.5), (0.1, 0.95)]
    widths = []
    for epsilon, sure in cases:
        answer = fresh(epsilon=epsilon, confidence=sure)
        numbers = dict(zip((row[0] for row in answer.rows), answer.intervals, strict=True))
        for row in answer.rows:
            low, high = numbers[row[0]]["n"]
            assert low <= row[1] <= high
            assert row[1] - low == high - row[1]
        widths.append({high - low for low, high in (each["n"] for each in answer.intervals)})
    assert all(len(each) == 1 for each in widths)
    assert widths[0] == widths[3]
    assert len({min(each) for each in widths}) == 3


def test_what_threads_hold_of_a_plan_is_not_mixed(curator: Curator) -> None:
    def width(sure: float) -> float:
        low, high = curator.query(COUNT, epsilon=0.01, confidence=sure, fresh=True).intervals[0]["n"]
        return float(high - low)

    known = {sure: width(sure) for sure in (0.5, 0.9, 0.99)}
    with ThreadPoolExecutor(3) as threads:
        assert all(threads.map(lambda sure: width(sure) == known[sure], [*known] * 4))
