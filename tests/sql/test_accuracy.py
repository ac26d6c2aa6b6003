"""`error=`: the smallest cost that buys a wanted error, and a clear no where there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache, partial
from typing import Any, Final

import pytest

from discreet.accounting import Concentrated, Pure
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.errors import BudgetExhausted, Refused
from discreet.policy import Policy
from discreet.sql.accuracy import rounded_up, smallest
from tests.budget import later
from tests.sql.worlds import ledger_of, policy_of

HEADS: Final = {
    "pure": 'name = "w"\n{top}[budget]\nepsilon = {epsilon}\n[unit]\nname = "person"\n',
    "both": 'name = "w"\n{top}[budget]\nepsilon = {epsilon}\ndelta = 1e-6\n[unit]\nname = "person"\n',
}
TABLE: Final = """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = 3
[tables.t.columns]
g = { values = ["a", "b"] }
x = { min = 0, max = 10 }
y = { min = -1000, max = 5000, step = 0.01, nullable = true }
[analysts.ann]
epsilon = 0.5
"""
ROWS: Final = [{"who": who, "g": "ab"[who % 2], "x": who % 11, "y": who % 4000} for who in range(3000)]
BOTH: Final = ("pure", "both")


@cache
def world(budget: str, epsilon: float, top: str) -> tuple[Policy, Memory]:
    """Rows that no test changes, read once."""
    policy = policy_of(TABLE, head=HEADS[budget].format(epsilon=epsilon, top=top))
    return policy, Memory(policy, {"t": ROWS})


@contextmanager
def asking(budget: str, epsilon: float = 3, top: str = "") -> Iterator[Curator]:
    policy, engine = world(budget, epsilon, top)
    with ledger_of(policy, generous=False) as ledger, Curator(policy, ledger, engine=engine) as curator:
        yield curator


def amount(loss: Pure | Concentrated) -> dict[str, Any]:
    return {"epsilon": loss.epsilon} if isinstance(loss, Pure) else {"rho": loss.rho}


@pytest.mark.parametrize("budget", BOTH)
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT COUNT(*) AS v FROM t", 25),
        ("SELECT COUNT(*) AS v FROM t", 17.5),
        ("SELECT g, SUM(x) AS v FROM t GROUP BY g", 400),
        ("SELECT SUM(y) AS v FROM t", 250_000),
        ("SELECT AVG(x) AS v FROM t", 0.7),
        ("SELECT COUNT(*) - 2 * SUM(x) AS v FROM t", 3_000),
    ],
)
def test_the_cost_is_the_smallest(budget: str, text: str, wanted: float, confidence: float) -> None:
    with asking(budget, epsilon=20) as curator:
        found = curator.preview(text, error=wanted, confidence=confidence, group_size=1000)
        assert found.error["v"] <= wanted
        cost: dict[str, Any] = {name: float(paid) for name, paid in amount(found.loss).items()}
        same = curator.preview(text, confidence=confidence, **cost)
        assert same.error["v"] == pytest.approx(found.error["v"], rel=1e-9)
        less: dict[str, Any] = {name: paid * 0.998 for name, paid in cost.items()}
        assert curator.preview(text, confidence=confidence, **less).error["v"] > wanted


@pytest.mark.parametrize("budget", BOTH)
def test_averages_keep_the_promise_in_every_group_that_is_shown(budget: str) -> None:
    text = "SELECT g, AVG(x) AS v, COUNT(*) AS n FROM t GROUP BY g HAVING {least}"
    with asking(budget, epsilon=200) as curator:
        for least, rows in (("COUNT(*) >= 200", 200), ("COUNT(*) > 199 AND g = 'a'", 200), ("500 <= COUNT(*)", 500)):
            asked = text.format(least=least)
            found = curator.preview(asked, error={"v": 0.4})
            assert found.error["v"] <= 0.4
            assert not any("1,000 rows or more" in note for note in found.notes)
            answer = curator.query(asked, error={"v": 0.4})
            assert answer.rows
            for row, interval in zip(answer.rows, answer.intervals, strict=True):
                assert row[2] >= rows
                low, high = interval["v"]
                assert high - low <= 0.8


def test_larger_groups_need_less_and_the_assumption_is_told() -> None:
    with asking("both", epsilon=50) as curator:
        text = "SELECT AVG(x) AS v FROM t"
        with pytest.raises(Refused, match="group_size=1000") as caught:
            curator.preview(text, error=0.3)
        assert caught.value.code == "group-size-missing"
        assert caught.value.edit is not None
        fix: dict[str, Any] = dict(caught.value.edit.arguments)
        assumed = curator.preview(text, error=0.3, **fix)
        assert any("groups of 1,000 rows or more" in note for note in assumed.notes)
        assert assumed.error["v"] <= 0.3
        some = curator.preview(text, error=0.3, group_size=2500)
        assert some.averages["v"][2500] == some.error["v"] <= 0.3
        alone = curator.preview(f"{text} HAVING COUNT(x) >= 1000", error=0.3)
        larger = curator.preview(f"{text} HAVING COUNT(x) >= 4000", error=0.3)
        assert larger.loss.concentrated().rho < alone.loss.concentrated().rho / 10
        assert alone.loss.concentrated().rho == pytest.approx(assumed.loss.concentrated().rho, rel=0.02)
        mean = curator.table("t").preview.mean("x", error=0.3, group_size=1000)
        assert mean.loss == assumed.loss
        clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 0.3, group_size = 1000)"
        assert curator.preview(text.replace("SELECT", f"SELECT {clause}")).loss == assumed.loss


@pytest.mark.parametrize("size", [0, -1, 2.5, "many", True, float("nan")])
def test_a_group_has_a_whole_number_of_rows(size: Any) -> None:
    with asking("both") as curator, pytest.raises(Refused) as caught:
        curator.preview("SELECT AVG(x) AS v FROM t", error=1, group_size=size)
    assert caught.value.code == "cost-invalid"


def test_a_group_size_belongs_to_an_error() -> None:
    with asking("both") as curator:
        with pytest.raises(Refused, match="group_size belongs to a wanted error"):
            curator.preview("SELECT AVG(x) AS v FROM t", epsilon=1, group_size=100)
        with pytest.raises(Refused, match=r"write AVG\(x\), and group_size="):
            curator.preview("SELECT SUM(x) / COUNT(x) AS v FROM t", error=1, group_size=100)
        clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 1, group_size = 100)"
        with pytest.raises(Refused) as caught:
            curator.preview(f"SELECT {clause} AVG(x) AS v FROM t", group_size=200)
        assert caught.value.code == "cost-twice"


def test_the_size_that_counts_is_that_of_the_averaged_rows() -> None:
    """y may be NULL: COUNT(*) says nothing about how many values are averaged, COUNT(y) does."""
    with asking("both", epsilon=500) as curator:
        for unknown in ("COUNT(*) >= 9000", "COUNT(y) >= 9000 OR COUNT(*) > 1"):
            with pytest.raises(Refused, match="group-size-missing"):
                curator.preview(f"SELECT AVG(y) AS v FROM t HAVING {unknown}", error=100)
        of_all = curator.preview("SELECT AVG(y) AS v FROM t HAVING COUNT(*) >= 9000", error=100, group_size=1000)
        of_values = curator.preview("SELECT AVG(y) AS v FROM t HAVING COUNT(y) >= 9000", error=100)
        assert of_values.loss.concentrated().rho < of_all.loss.concentrated().rho / 20
        assert any("1,000 rows or more" in note for note in of_all.notes)


@pytest.mark.parametrize("budget", BOTH)
def test_several_columns_cost_no_more_than_each_alone(budget: str) -> None:
    text = "SELECT COUNT(*) AS n, SUM(x) AS s FROM t"
    with asking(budget, epsilon=50) as curator:
        both = curator.preview(text, error={"n": 3, "s": 500})
        assert both.error["n"] <= 3
        assert both.error["s"] <= 500
        alone = [
            curator.preview("SELECT COUNT(*) AS n FROM t", error=3),
            curator.preview("SELECT SUM(x) AS s FROM t", error=500),
        ]
        (name, paid), *_ = amount(both.loss).items()
        assert paid <= sum(amount(other.loss)[name] for other in alone) * Fraction(1001, 1000)
        cost: dict[str, Any] = {name: float(paid)}
        usual = curator.preview(text, **cost)
        assert usual.error["n"] > 3  # the usual split would not do


@pytest.mark.parametrize("budget", BOTH)
def test_a_quantile_promises_ranks(budget: str) -> None:
    with asking(budget, epsilon=20) as curator:
        found = curator.preview("SELECT MEDIAN(x) AS m FROM t", error=40)
        told = [int(match[1]) for note in found.notes if (match := re.search(r"rank error ≤ (\d+) rows", note))]
        assert told
        assert max(told) <= 40
        dearer = curator.preview("SELECT MEDIAN(x) AS m FROM t", error=20)
        assert next(iter(amount(dearer.loss).values())) > next(iter(amount(found.loss).values()))
        first = curator.query("SELECT MEDIAN(x) AS m FROM t", error=40, confirm=True)
        again = curator.query("SELECT MEDIAN(x) AS m FROM t", error=40)
        assert again.cached
        assert again.rows == first.rows
        assert not curator.query("SELECT MEDIAN(x) AS m FROM t", error=20, confirm=True).cached


def test_lists_promise_each_count() -> None:
    with asking("pure", epsilon=20) as curator:
        found = curator.query("SELECT HISTOGRAM(x, 5) AS h FROM t", error=30)
        assert amount(found.loss)["epsilon"] > Fraction(1, 10)
        counts = [item["count"] for item in found.rows[0][0]]
        assert found.intervals == [{"h": [(count - 30, count + 30) for count in counts]}]
        assert curator.query("SELECT HISTOGRAM(x, 5) AS h FROM t", error=35).cached


def test_private_keys_are_selected_at_the_usual_share() -> None:
    policy = policy_of(
        '[tables.t]\nsource = "t.csv"\nunit = "who"\n[tables.t.columns]\nz = { type = "text" }\n',
        head=HEADS["both"].format(epsilon=3, top=""),
    )
    engine = Memory(policy, {"t": [{"who": who, "z": "xy"[who % 2]} for who in range(4000)]})
    with ledger_of(policy) as ledger, Curator(policy, ledger, engine=engine) as curator:
        found = curator.query("SELECT z, COUNT(*) AS n FROM t GROUP BY z", error=30)
        assert [row[0] for row in found.rows] == ["x", "y"]
        assert all(interval["n"][1] - interval["n"][0] <= 60 for interval in found.intervals)
        assert found.loss.concentrated().delta > 0
    engine.close()


# kept answers


@pytest.mark.parametrize("budget", BOTH)
def test_what_was_bought_more_exactly_is_free(budget: str) -> None:
    with asking(budget, epsilon=20) as curator:
        bought = curator.query("SELECT COUNT(*) AS n FROM t", error=20)
        for same in (20, 30, 1000):
            again = curator.query("SELECT COUNT(*) AS n FROM t", error=same)
            assert again.cached
            assert again.rows == bought.rows
            assert curator.preview("SELECT COUNT(*) AS n FROM t", error=same).cached
        assert not curator.query("SELECT COUNT(*) AS n FROM t", error=10).cached
        assert curator.query("SELECT COUNT(*) AS n FROM t", error=10).cached
        assert len(curator.entries()) == 2


def test_a_kept_answer_of_another_split_is_not_enough() -> None:
    text = "SELECT COUNT(*) AS n, SUM(x) AS s FROM t"
    with asking("pure", epsilon=50) as curator:
        curator.query(text, epsilon=2)
        found = curator.query(text, error={"n": 4})
        assert not found.cached
        low, high = found.intervals[0]["n"]
        assert high - low <= 8


# what is refused


@pytest.mark.parametrize(
    ("text", "error", "code"),
    [
        ("SELECT COUNT(*) AS n FROM t", 0, "cost-invalid"),
        ("SELECT COUNT(*) AS n FROM t", -1, "cost-invalid"),
        ("SELECT COUNT(*) AS n FROM t", float("nan"), "cost-invalid"),
        ("SELECT COUNT(*) AS n FROM t", float("inf"), "cost-invalid"),
        ("SELECT COUNT(*) AS n FROM t", "10", "cost-invalid"),
        ("SELECT COUNT(*) AS n FROM t", [10], "cost-invalid"),
        ("SELECT COUNT(*) AS n FROM t", True, "cost-invalid"),
        ("SELECT COUNT(*) AS n FROM t", {}, "cost-invalid"),
        ("SELECT COUNT(*) AS n FROM t", {"m": 10}, "cost-invalid"),
        ("SELECT COUNT(*) AS n FROM t", {1: 10}, "cost-invalid"),
        ("SELECT COUNT(*) AS n FROM t", {"n": None}, "cost-invalid"),
        ("SELECT COUNT(*) AS n, SUM(x) AS s FROM t", 10, "cost-invalid"),
        ("SELECT STDDEV(x) AS s FROM t", 1, "accuracy-unreachable"),
        ("SELECT SUM(x) / COUNT(*) AS r FROM t", 1, "accuracy-unreachable"),
        ("SELECT MAX(n) AS m FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g)", 1, "accuracy-unreachable"),
    ],
)
def test_what_cannot_be_promised_is_refused(text: str, error: Any, code: str) -> None:
    with asking("pure") as curator:
        with pytest.raises(Refused) as caught:
            curator.query(text, error=error)
        assert caught.value.code == code
        assert caught.value.fix
        assert not curator.entries()


def test_an_error_and_a_cost_are_two_costs() -> None:
    with asking("both") as curator:
        costs: list[dict[str, Any]] = [{"epsilon": 0.1}, {"rho": 0.1}]
        for cost in costs:
            with pytest.raises(Refused) as caught:
                curator.query("SELECT COUNT(*) AS n FROM t", error=10, **cost)
            assert caught.value.code == "cost-invalid"


@pytest.mark.parametrize("budget", BOTH)
@pytest.mark.parametrize("analyst", [None, "ann"])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [("SELECT COUNT(*) AS n FROM t", 0.4), ("SELECT COUNT(*) AS n, SUM(x) AS s FROM t", {"n": 1, "s": 2})],
)
def test_the_best_that_can_be_had_is_told_and_can_be_had(
    budget: str, text: str, wanted: Any, analyst: str | None
) -> None:
    with asking(budget) as curator:
        with pytest.raises(Refused) as caught:
            curator.preview(text, error=wanted, analyst=analyst)
        assert caught.value.code == "accuracy-unreachable"
        first, agreed = caught.value.fix.removeprefix("want error=").split(" or more")
        assert agreed == ", and confirm=True"
        best = eval(first)
        answer = curator.query(text, error=best, analyst=analyst, confirm=True)
        for name, half in best.items() if isinstance(best, dict) else [("n", best)]:
            low, high = answer.intervals[0][name]
            assert (high - low) / 2 <= half
        balance = curator.budget(analyst)
        left, whole, everything = balance.remaining, balance.total, curator.budget().total
        used = float(answer.loss.amount) / (everything.rho or everything.epsilon)
        tenth = analyst is not None and 0.075 < used <= 0.1
        assert tenth or (left.rho or left.epsilon) < 0.25 * (whole.rho or whole.epsilon), "nearly all of what adds up"


def test_the_policy_may_limit_the_cost_of_one_question() -> None:
    with asking("pure", top="max_cost = 0.25\n") as curator:
        with pytest.raises(Refused) as caught:
            curator.query("SELECT COUNT(*) AS n FROM t", error=10)
        assert caught.value.code == "accuracy-unreachable"
        assert "one question" in caught.value.reason
        best = float(caught.value.fix.removeprefix("want error=").removesuffix(" or more"))
        assert amount(curator.query("SELECT COUNT(*) AS n FROM t", error=best).loss)["epsilon"] <= Fraction(1, 4)


def test_a_budget_that_is_used_up_says_so() -> None:
    with asking("pure", epsilon=1) as curator:
        curator.query("SELECT SUM(x) AS s FROM t", epsilon=0.9)
        with pytest.raises(BudgetExhausted) as caught:
            curator.query("SELECT COUNT(*) AS n FROM t", error=15)
        assert "n ±" in caught.value.fix


def outcome(curator: Curator, text: str, error: Any) -> str:
    try:
        return "costed" if curator.preview(text, error=error, group_size=1000).loss.concentrated().rho > 0 else "free"
    except Refused as refused:
        return refused.code


@pytest.mark.parametrize("budget", BOTH)
@pytest.mark.parametrize(
    "item", ["COUNT(*)", "SUM(x)", "AVG(x)", "AVG(x) - SUM(x)", "MEDIAN(x)", "HISTOGRAM(x, 3)", "SUM(x) * 1000000"]
)
def test_absurd_errors_have_a_cost_or_are_refused(budget: str, item: str) -> None:
    with asking(budget) as curator:
        for error in (1e-300, 1e-9, 1e9, 1e300, 10**400, Fraction(1, 10**400)):
            found = outcome(curator, f"SELECT {item} AS v FROM t", error)
            assert found in ("costed", "accuracy-unreachable", "cost-invalid"), error


# in the text


def test_the_text_may_want_an_error_and_a_confidence() -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 20, confidence = 0.8) COUNT(*) AS n FROM t"
    with asking("pure") as curator:
        found = curator.preview(text)
        assert found.confidence == 0.8
        assert found.error["n"] <= 20
        plain = curator.preview("SELECT COUNT(*) AS n FROM t", error=20, confidence=0.8)
        assert found.loss == plain.loss
        with pytest.raises(Refused):
            curator.preview(text, error=21)


# how many more


@pytest.mark.parametrize("budget", BOTH)
@pytest.mark.parametrize("analyst", [None, "ann"])
@pytest.mark.parametrize("epsilon", later([0.1, 0.03]))
def test_previews_say_how_many_more_questions_the_budget_carries(
    budget: str, analyst: str | None, epsilon: float
) -> None:
    with asking(budget, epsilon=1) as curator:
        curator.query("SELECT COUNT(*) AS n FROM t", epsilon=epsilon, analyst=analyst, fresh=True)
        found = curator.preview("SELECT SUM(x) AS s FROM t", epsilon=epsilon, analyst=analyst)
        assert found.more is not None
        for _ in range(found.more):
            curator.query("SELECT SUM(x) AS s FROM t", epsilon=epsilon, analyst=analyst, fresh=True)
        with pytest.raises(BudgetExhausted):
            curator.query("SELECT SUM(x) AS s FROM t", epsilon=epsilon, analyst=analyst, fresh=True)
        none_left = curator.preview("SELECT SUM(y) AS s FROM t", epsilon=epsilon, analyst=analyst)
        assert none_left.more == 0
        assert "more than what remains" in str(none_left)


# the search


def falling(edge: Fraction, cost: Fraction) -> float:
    return 1.0 if cost >= edge else 5.0


def test_the_search_finds_the_edge_wherever_it_is() -> None:
    for edge in (Fraction(1, 10**8), Fraction(1, 3), Fraction(7), Fraction(123_456_789)):
        for power in (1, 2):
            found = smallest(partial(falling, edge), Fraction(1), power)
            assert found is not None
            assert edge <= found <= rounded_up(edge * Fraction(1001, 1000))
    assert smallest(lambda _: 2.0, Fraction(1), 1) is None
    assert smallest(lambda _: 0.0, Fraction(1), 1) == Fraction(1, 10**9)
