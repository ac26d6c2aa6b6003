"""Asked again: by the name of a request, by the number of a charge, and when something fails on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.accounting import Pure
from discreet.accounting.record import Key
from discreet.answers.call import Call
from discreet.composed import Sql
from discreet.curator.curator import Curator
from discreet.curator.state import LEDGER
from discreet.engines.memory import Memory
from discreet.errors import FAILED
from discreet.policy import Policy, read
from tests.curator.test_curator import BY_SEX, COUNT, DATA, Failing, copied, over, path_of
from tests.curator.worlds import hospital


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return read(copied(tmp_path))


@pytest.fixture
def memory(policy: Policy) -> Iterator[Memory]:
    engine = Memory(policy, DATA)
    yield engine
    engine.close()


@pytest.fixture
def curator(policy: Policy, memory: Memory) -> Iterator[Curator]:
    with over(policy, memory) as found:
        yield found


def call(sql: str = COUNT, name: str = "k", **more: Any) -> Call:
    return Call(**{"sql": sql, "epsilon": 0.1, "fresh": True, "key": Key(name, sql), **more})


def test_a_cached_answer_has_the_names_that_were_asked_for_now(curator: Curator) -> None:
    texts = [f"SELECT COUNT(*) AS {name} FROM patients" for name in ("a1", "b1")]
    first, again = (curator.query(text, epsilon=0.1) for text in texts)
    assert (first.cached, again.cached) == (False, True)
    assert ([*first.columns], [*again.columns], again.rows) == (["a1"], ["b1"], first.rows)
    assert (again.question, again.noisy) == (texts[1], ["b1"])
    recalled = curator.recall(int(again.receipt.partition(":")[0]))
    assert recalled.columns == first.columns  # the record is of what was charged


# the name of a request


def test_a_request_that_is_sent_twice_is_charged_once(curator: Curator) -> None:
    first = curator.answer(call(BY_SEX))
    other = curator.answer(call(BY_SEX, "another"))
    again = curator.answer(call(BY_SEX, analyst="fraud"))
    assert (first.cached, other.cached, again.cached) == (False, False, True)
    assert (again.rows, again.receipt, again.cost) == (first.rows, first.receipt, first.cost)
    assert again.loss == Pure(0)
    assert again.receipt != other.receipt
    assert len(curator.entries()) == 2


def test_two_that_arrive_at_once_are_charged_once(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one looks before the first is charged, and charges after it."""
    first = curator.answer(call())
    monkeypatch.setattr(curator._ledger, "charged", lambda _: None)
    second = curator.answer(call())
    assert second.cached
    assert (second.rows, second.receipt, second.loss) == (first.rows, first.receipt, Pure(0))
    assert len(curator.entries()) == 1


def test_a_name_that_was_used_for_another_question_is_refused(curator: Curator) -> None:
    curator.answer(call())
    with pytest.raises(discreet.Refused) as refused:
        curator.answer(call(BY_SEX))
    assert refused.value.code == "key-reused"
    assert len(curator.entries()) == 1


def test_a_request_that_was_charged_and_not_answered_says_so(policy: Policy, memory: Memory) -> None:
    with over(policy, Failing(policy, memory, OSError("x"))) as broken, pytest.raises(discreet.QueryFailed):
        broken.answer(call())
    with over(policy, memory) as curator:
        curator.query(COUNT, epsilon=0.1)
        with pytest.raises(discreet.QueryFailed, match="has no answer; what it cost stays spent") as failed:
            curator.answer(call())
        assert "as a new request" in str(failed.value)
        assert len(curator.entries()) == 2
        assert not curator.answer(call(name="new")).cached


def test_what_costs_nothing_is_known_and_nothing_else(policy: Policy, memory: Memory) -> None:
    engine = Failing(policy, memory, AssertionError("nothing private is read"))
    with over(policy, memory) as curator:
        bought = curator.query(COUNT, epsilon=0.1)
    with over(policy, engine) as curator:
        kept = curator.free(Call(sql=COUNT, epsilon=0.1))
        assert kept is not None
        assert (kept.rows, kept.cached) == (bought.rows, True)
        assert curator.free(Call(sql=BY_SEX, epsilon=0.1)) is None
        assert curator.free(Call(sql=COUNT, epsilon=0.1, fresh=True)) is None
        explained = curator.free(Call(sql=f"EXPLAIN PRIVACY {BY_SEX}", epsilon=0.1))
        assert explained is not None
        assert explained.columns == ["column", "error", "noise"]
        assert engine.charged == []


# the number of a charge


def test_an_answer_is_recalled_by_its_number(curator: Curator) -> None:
    first = curator.query(BY_SEX, epsilon=0.1)
    curator.query(BY_SEX, epsilon=0.2)
    number = curator.entries()[0].number
    again = curator.recall(number, analyst="fraud")
    assert (again.rows, again.receipt, again.intervals) == (first.rows, first.receipt, first.intervals)
    assert (again.cached, again.loss, again.cost) == (True, Pure(0), first.cost)
    surer = curator.recall(number, confidence=0.999)
    assert surer.confidence == 0.999
    assert surer.intervals[0]["n"][1] > first.intervals[0]["n"][1]
    assert len(curator.entries()) == 2


@pytest.mark.parametrize("number", [0, -1, 1, 10**9, 2**63, 10**400, True, "3", None, 3.0, [3]])
def test_a_number_that_no_charge_has_is_refused(curator: Curator, number: Any) -> None:
    curator.query(COUNT, epsilon=0.1)
    with pytest.raises(discreet.Refused) as refused:
        curator.recall(number)
    assert (refused.value.code, refused.value.reason) == ("unknown-answer", "no charge has this number")


def test_a_charge_without_an_answer_cannot_be_recalled(policy: Policy, memory: Memory) -> None:
    with over(policy, Failing(policy, memory, OSError("x"))) as curator:
        with pytest.raises(discreet.QueryFailed):
            curator.query(COUNT, epsilon=0.1)
        with pytest.raises(discreet.Refused, match="this charge was not answered"):
            curator.recall(curator.entries()[0].number)


def changed_bounds(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace("max = 110", "max = 90"), encoding="utf-8")


def without_the_table(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace("tables.patients", "tables.people"), encoding="utf-8")


@pytest.mark.parametrize("change", [changed_bounds, without_the_table])
def test_an_answer_about_what_is_no_more_is_recalled_as_such(
    policy: Policy, memory: Memory, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    with over(policy, memory) as curator:
        answer = curator.query("SELECT SUM(age) AS s FROM patients", epsilon=0.1)
        number = curator.entries()[0].number
        assert not curator.recall(number).earlier
    change(path_of(tmp_path))
    with over(read(path_of(tmp_path)), memory) as curator:
        recalled = curator.recall(number)
    assert (recalled.rows, recalled.earlier) == (answer.rows, True)


# on the way


def test_a_curator_is_prepared_before_it_is_asked(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    with discreet.open(path_of(tmp_path)) as curator:
        curator.make_copy()
        assert len([file for file in (policy.state / "data").iterdir() if file.suffix == ".duckdb"]) == 1
        assert curator.entries() == []


def test_state_may_lie_elsewhere(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    with discreet.open(path_of(tmp_path), state=tmp_path / "elsewhere") as curator:
        curator.query(COUNT, epsilon=0.1)
    assert (tmp_path / "elsewhere" / LEDGER).exists()
    assert not policy.state.exists()


def test_plans_are_forgotten_when_there_are_too_many(curator: Curator) -> None:
    first = curator.preview(COUNT, epsilon=0.1)
    kept = next(iter(curator._plans.values()))
    curator._plans.update(dict.fromkeys(range(1000), kept))
    curator.preview(BY_SEX, epsilon=0.1)
    assert len(curator._plans) == 1
    assert curator.preview(COUNT, epsilon=0.1).loss == first.loss


class Broken:
    """What runs nothing, and tells all about it."""

    @property
    def copy(self) -> str:
        raise RuntimeError

    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:
        raise RuntimeError(query, seconds)

    def close(self) -> None:
        pass


def test_what_fails_after_the_noise_is_told_in_the_fixed_text(curator: Curator) -> None:
    """The answer is kept by then: asking again is free."""
    sql = "SELECT n * 2 AS m FROM (SELECT COUNT(*) AS n FROM patients) AS q ORDER BY m LIMIT 3"
    curator._scratch = Broken()  # type: ignore[assignment]
    with pytest.raises(discreet.QueryFailed) as failed:
        curator.query(sql, epsilon=0.1)
    assert failed.value.args == discreet.QueryFailed().args
    assert FAILED in str(failed.value)
    assert failed.value.__context__ is None
    curator._scratch = None
    assert curator.query(sql, epsilon=0.1).cached
    assert len(curator.entries()) == 1


def test_a_part_of_a_copy_that_cannot_be_named_is_charged_nothing(policy: Policy) -> None:
    with over(policy, Broken()) as curator:
        part = curator.table("patients").partition("sex")["F"]
        with pytest.raises(discreet.QueryFailed, match="nothing was charged"):
            part.count(epsilon=0.1)
        assert curator.entries() == []


# what is held


def test_what_is_told_of_the_noise_is_that_of_the_cost_and_of_the_confidence(curator: Curator) -> None:
    """It is held for the last cost of a plan: another one is told otherwise, and the first one as before."""
    small, large, again = (curator.query(COUNT, epsilon=cost, fresh=True) for cost in (0.1, 0.2, 0.1))
    assert small.noise == again.noise != large.noise
    median = "SELECT MEDIAN(age) AS m FROM patients"
    sure, surer = (curator.query(median, epsilon=0.1, fresh=True, confidence=each) for each in (0.5, 0.99))
    assert sure.ranks["m"] < surer.ranks["m"]


def test_what_is_told_of_the_noise_is_nobodys_to_change(curator: Curator) -> None:
    first = curator.query(COUNT, epsilon=0.1, fresh=True)
    told = dict(first.noise)
    dict.clear(first.noise)
    assert curator.query(COUNT, epsilon=0.1, fresh=True).noise == told
