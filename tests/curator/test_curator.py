"""The door: names, costs, charges before data, clean failures, kept answers, many at once, and no canary outside."""

# ruff: noqa: E501 (tables of texts)

from __future__ import annotations

import copy
import inspect
import json
import logging
import pickle
import random
import shutil
import sqlite3
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb
import numpy as np
import pytest

import discreet
from discreet import composed
from discreet.accounting import Concentrated, Pure, rho_for
from discreet.accounting.labels import rho_of_label
from discreet.accounting.part import Part
from discreet.composed import Sql
from discreet.curator.curator import Curator
from discreet.curator.parts import part_name
from discreet.curator.public import PublicTables
from discreet.curator.refreshing import refresh
from discreet.curator.state import LEDGER, open_ledger
from discreet.engines.copy import private_copy
from discreet.engines.memory import Memory
from discreet.errors import FAILED, RETRY
from discreet.exit.sampler import Sampler, add_noise
from discreet.ledger import LedgerError
from discreet.policy import Policy, read
from tests.curator.children import heard, start
from tests.curator.worlds import hospital

COUNT: Final = "SELECT COUNT(*) AS n FROM patients"
BY_SEX: Final = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
PURE: Final = {"epsilon = 3.0\ndelta = 1e-6\n": "epsilon = 3.0\n"}
UNIT: Final = Fraction(1, 10**24)
HALF: Final = Fraction(1, 2 * 10**6)
"""Of the δ of budgets, for conversion."""


def path_of(folder: Path) -> Path:
    return folder / "hospital.toml"


@cache
def template(*, delta: bool) -> TemporaryDirectory[str]:
    """A hospital whose private copy was made already: the same for all tests. Analysts may spend it at once."""
    folder = TemporaryDirectory()
    generous = {'name = "hospital"\n': 'name = "hospital"\nmax_cost = 1e9\n'}
    private_copy(hospital(Path(folder.name), generous if delta else {**generous, **PURE}), 1)
    return folder


def copied(folder: Path, *, delta: bool = False) -> Path:
    shutil.copytree(template(delta=delta).name, folder, dirs_exist_ok=True)
    return path_of(folder)


@pytest.fixture
def pure(tmp_path: Path) -> Iterator[Curator]:
    with discreet.open(copied(tmp_path)) as curator:
        yield curator


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Curator]:
    with discreet.open(copied(tmp_path, delta=True)) as curator:
        yield curator


def spent(curator: Curator) -> Fraction:
    """The exact sum of what is on record, in the budget's first currency."""
    losses = [entry.loss for entry in curator.entries()]
    return sum((loss.epsilon if isinstance(loss, Pure) else loss.rho for loss in losses), Fraction(0))


# names


def test_names_are_those_of_the_design() -> None:
    wanted = (
        "(self, sql, *, epsilon=None, rho=None, delta=None, error=None, group_size=None, confidence=0.95, params=None, "
        "analyst=None, fresh=False, confirm=False, dialect=None, blocks=None)"
    )
    bare = inspect.signature(Curator.query)
    shown = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in bare.parameters.values()]
    assert str(bare.replace(parameters=shown, return_annotation=inspect.Signature.empty)) == wanted
    previewed = list(inspect.signature(Curator.preview).parameters)
    assert previewed == [
        "self",
        "sql",
        "more",
        *[name for name in bare.parameters if name not in ("fresh", "confirm")][2:],
    ]
    assert issubclass(discreet.BudgetExhausted, discreet.Refused)
    refused = discreet.Refused("a", "b", "c")
    assert (refused.code, refused.reason, refused.fix) == ("a", "b", "c")


def test_answers_previews_budgets_and_entries_have_their_attributes(both: Curator) -> None:
    preview = both.preview(BY_SEX, epsilon=0.1)
    assert preview.columns == ["sex", "n"]
    assert list(preview.error) == ["n"]
    assert preview.error["n"] > 0
    answer = both.query(BY_SEX, epsilon=0.1)
    assert isinstance(answer, discreet.Answer)
    assert isinstance(preview, discreet.Preview)
    assert answer.columns == ["sex", "n"]
    assert [type(row) for row in answer.rows] == [tuple, tuple]
    assert [row[0] for row in answer.rows] == ["F", "M"]
    assert all(type(row[1]) is int for row in answer.rows)
    assert [list(row) for row in answer.intervals] == [["n"], ["n"]]
    for row, interval in zip(answer.rows, answer.intervals, strict=True):
        low, high = interval["n"]
        assert low <= row[1] <= high
        assert (high - low) / 2 == preview.error["n"]
    assert answer.loss == answer.cost == preview.loss
    assert answer.cached is False
    number, _, digest = answer.receipt.partition(":")
    assert (number, len(digest)) == (str(both.entries()[-1].number), 64)
    assert list(answer.to_pandas().columns) == ["sex", "n", "n_low", "n_high"]
    balance = both.budget()
    for amount in (balance.total, balance.spent, balance.remaining, both.budget("epidemiology").remaining):
        assert amount.epsilon > 0 or amount is not balance.total
        assert amount.rho is not None
        assert amount.delta is not None
    entry = both.entries()[-1]
    assert (entry.analyst, entry.question, entry.answered) == ("owner", BY_SEX, True)
    assert entry.loss == answer.loss


# costs


@pytest.mark.parametrize("epsilon", [0.1, 1, Fraction(1, 3), Decimal("0.25"), np.float64(0.5), np.int64(2), 1e-9])
def test_a_pure_cost_is_what_is_charged(pure: Curator, epsilon: Any) -> None:
    cost = Fraction(str(epsilon))
    assert pure.preview(COUNT, epsilon=epsilon).loss == Pure(cost)
    answer = pure.query(COUNT, epsilon=epsilon)
    assert answer.loss == answer.cost == Pure(cost)
    assert 0 <= spent(pure) - cost < UNIT
    assert pure.budget().spent.epsilon == pytest.approx(float(cost))
    assert pure.budget().remaining.epsilon == pytest.approx(3 - float(cost))


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.01])
def test_a_cost_in_a_budget_with_delta_is_what_it_says_at_half_of_it(both: Curator, epsilon: float) -> None:
    cost = rho_of_label(Fraction(str(epsilon)), HALF)
    answer = both.query("SELECT COUNT(*), SUM(age), AVG(age) FROM patients", epsilon=epsilon)
    assert isinstance(answer.loss, Concentrated)
    assert cost * Fraction(999999, 10**6) <= answer.loss.rho <= cost
    assert answer.loss.delta == 0
    assert 0 <= spent(both) - answer.loss.rho < UNIT
    assert both.budget().spent.epsilon <= epsilon
    again = both.query(COUNT, rho=float(cost))
    assert isinstance(again.loss, Concentrated)
    assert again.loss.rho <= cost


def test_a_delta_of_its_own_is_for_conversion_and_half_of_it_for_selections(both: Curator) -> None:
    own = Fraction(1, 10**7)
    answer = both.query("SELECT COUNT(*) AS n, SUM(age) AS s FROM patients", epsilon=0.5, delta=1e-7)
    assert answer.loss == Concentrated(rho_of_label(Fraction(1, 2), own))
    keys = both.query("SELECT zip, COUNT(*) AS n FROM patients GROUP BY zip", epsilon=0.5, delta=1e-7)
    assert keys.loss == Concentrated(rho_of_label(Fraction(1, 2), own / 2), own / 2)
    with pytest.raises(discreet.Refused, match="cost-invalid"):
        both.query(COUNT, epsilon=0.5, delta=2e-6)


EPSILONS: Final[list[Any]] = [
    0, -1, 1e-10, 9e-10, 1e10, 10**400, float("nan"), float("inf"), -float("inf"), "0.1", b"1", True, False, [0.1], (1,),
    {}, object(), 1j, Decimal("NaN"), Decimal("sNaN"), Decimal("1e99999"), np.array([0.1, 0.2]), np.float64("nan"),
]  # fmt: skip
RHOS: Final[list[Any]] = [0, -1, float("nan"), "1", True, 1e10]
DELTAS: Final[list[Any]] = [0, 1, -1e-9, 2, float("nan"), "x", True]
CONFIDENCES: Final[list[Any]] = [0, 1, 1.5, -1, None, "95", float("nan"), []]
COSTS: Final[list[tuple[dict[str, Any], str]]] = [
    ({}, "cost-missing"),
    ({"delta": 1e-7}, "cost-missing"),
    ({"epsilon": 0.1, "rho": 0.1}, "cost-invalid"),
    ({"rho": 0.1, "delta": 1e-7}, "cost-invalid"),
    *[({"epsilon": wrong}, "cost-invalid") for wrong in EPSILONS],
    *[({"rho": wrong}, "cost-invalid") for wrong in RHOS],
    *[({"epsilon": 0.1, "delta": wrong}, "cost-invalid") for wrong in DELTAS],
    *[({"epsilon": 0.1, "confidence": wrong}, "cost-invalid") for wrong in CONFIDENCES],
    ({"epsilon": 0.1, "analyst": "nobody"}, "unknown-analyst"),
    ({"epsilon": 0.1, "analyst": ""}, "unknown-analyst"),
    ({"epsilon": 0.1, "analyst": 7}, "unknown-analyst"),
    ({"epsilon": 0.1, "analyst": "owner"}, "unknown-analyst"),
    ({"epsilon": 0.1, "dialect": "mysql"}, "syntax"),
    ({"epsilon": 0.1, "dialect": 5}, "syntax"),
    ({"epsilon": 0.1, "params": [1]}, "syntax"),
]  # fmt: skip


def test_wrong_costs_are_refused_and_cost_nothing(both: Curator) -> None:
    for arguments, code in COSTS:
        for act in (both.query, both.preview):
            with pytest.raises(discreet.Refused) as refused:
                act(COUNT, **arguments)
            assert refused.value.code == code, arguments
            assert refused.value.reason
            assert refused.value.fix
            assert refused.value.__cause__ is None
    assert both.entries() == []


@pytest.mark.parametrize("sql", [None, 5, b"SELECT 1", ["SELECT COUNT(*) FROM patients"], object(), ""])
def test_what_is_no_text_is_refused(both: Curator, sql: Any) -> None:
    with pytest.raises(discreet.Refused) as refused:
        both.query(sql, epsilon=0.1)
    assert refused.value.code == "syntax"


@pytest.mark.parametrize(
    "arguments",
    [
        {"analyst": ["x"]},
        {"dialect": ["duckdb"]},
    ],
)
def test_arguments_of_any_type_are_refused(both: Curator, arguments: dict[str, Any]) -> None:
    with pytest.raises(discreet.Refused):
        both.query(COUNT, epsilon=0.1, **arguments)


def test_rho_is_no_cost_in_a_pure_budget(pure: Curator) -> None:
    with pytest.raises(discreet.Refused, match="cost-invalid"):
        pure.query(COUNT, rho=0.1)
    assert pure.query(COUNT, epsilon=0.1, delta=1e-6).loss == Pure(Fraction(1, 10))


def test_the_policy_can_limit_costs(tmp_path: Path) -> None:
    hospital(tmp_path, {'name = "hospital"\n': 'name = "hospital"\nmax_cost = 0.5\n'})
    with discreet.open(path_of(tmp_path)) as curator:
        costs: list[dict[str, Any]] = [
            {"epsilon": 0.51},
            {"rho": rho_of_label(Fraction(1, 2), HALF) * Fraction(1001, 1000)},
            {"epsilon": 0.5, "delta": 1e-6},
            {"epsilon": 1e9},
        ]
        for cost in costs:
            for act in (curator.query, curator.preview):
                with pytest.raises(discreet.Refused) as refused:
                    act(COUNT, **cost)
                assert refused.value.code == "cost-too-high"
        assert curator.entries() == []
        curator.query(COUNT, epsilon=0.5)


TWO: Final = "SELECT COUNT(DISTINCT age), SUM(age) FROM patients"


@pytest.mark.parametrize("cost", [{"epsilon": 1e-9}, {"epsilon": 1e-5}, {"rho": 1e-9}])
def test_a_cost_that_cannot_be_shared_is_refused(both: Curator, cost: dict[str, Any]) -> None:
    with pytest.raises(discreet.Refused) as refused:
        both.preview(TWO, **cost)
    assert refused.value.code == "cost-invalid"


@pytest.mark.parametrize("sql", ["SELECT SUM(age / 3) FROM patients", "SELECT AVG(age * 1.5) FROM patients"])
def test_what_is_previewed_can_be_bought(pure: Curator, sql: str) -> None:
    assert pure.preview(sql, epsilon=0.0005).loss == Pure(Fraction(5, 10**4))
    assert len(pure.query(sql, epsilon=0.0005).rows) == 1


# how a cost is split


SPLITS: Final = [
    ("SELECT COUNT(*) FROM patients", {"rows": 1}),
    ("SELECT COUNT(*), SUM(age) FROM patients", {"sum and count of age": 1}),
    ("SELECT COUNT(DISTINCT sex), SUM(age) FROM patients", {"distinct values": Fraction(1, 2), "sum of age": Fraction(1, 2)}),
    ("SELECT SUM(age) FROM patients GROUP BY sex", {"sum of age": 1}),
    ("SELECT AVG(age), SUM(age) FROM patients",
     {"sum and count of age": 1}),
    ("SELECT COUNT(*), COUNT(*) AS again, COUNT(1) FROM patients", {"rows": 1}),
    # max_rows = 3: a row count moves by 3, a unit count by 1; relative to what one row adds, 3 to 1
    ("SELECT COUNT(*), COUNT(DISTINCT patient_id) FROM visits", {"rows": Fraction(3, 4), "units": Fraction(1, 4)}),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "wanted"), SPLITS)
def test_a_pure_cost_is_split_so_that_relative_errors_are_the_same(
    pure: Curator, sql: str, wanted: dict[str, Any]
) -> None:
    preview = pure.preview(sql, epsilon=0.5)
    assert preview.shares == {words: float(share) for words, share in wanted.items()}
    assert sum(preview.shares.values()) == pytest.approx(1)
    assert preview.loss == Pure(Fraction(1, 2))
    assert pure.query(sql, epsilon=0.5).loss == Pure(Fraction(1, 2))


def test_a_concentrated_cost_is_split_by_squares(both: Curator) -> None:
    preview = both.preview("SELECT COUNT(*), COUNT(DISTINCT patient_id) FROM visits", epsilon=0.1)
    assert preview.shares == {"rows": 0.9, "units": 0.1}


# budgets


def test_analysts_have_shares_inside_the_cap(pure: Curator) -> None:
    assert pure.budget("epidemiology").total.epsilon == 1
    pure.query(COUNT, epsilon=0.75, analyst="epidemiology")
    with pytest.raises(discreet.BudgetExhausted):
        pure.query(COUNT, epsilon=0.3, analyst="epidemiology", fresh=True)
    assert pure.budget("epidemiology").remaining.epsilon == 0.25
    assert pure.budget("fraud").spent.epsilon == 0
    pure.query(COUNT, epsilon=0.3, analyst="fraud", fresh=True)
    pure.query(COUNT, epsilon=1.9, fresh=True)
    with pytest.raises(discreet.BudgetExhausted):
        pure.query(COUNT, epsilon=0.1, analyst="fraud", fresh=True)
    assert [entry.analyst for entry in pure.entries()] == ["epidemiology", "fraud", "owner"]
    for asked in (pure.budget, lambda who: pure.query(COUNT, epsilon=0.1, analyst=who)):
        with pytest.raises(discreet.Refused, match="unknown-analyst"):
            asked("somebody")


def test_a_share_of_a_budget_with_delta_is_its_rho(both: Curator) -> None:
    total = both.budget("epidemiology").total
    assert total.rho == pytest.approx(float(rho_for(1, 5e-7)), rel=1e-9)
    left = both.budget("epidemiology").remaining.epsilon
    both.query(COUNT, epsilon=left, analyst="epidemiology")
    with pytest.raises(discreet.BudgetExhausted):
        both.query(COUNT, epsilon=0.001, analyst="epidemiology", fresh=True)


def test_exhaustion_is_clean(pure: Curator) -> None:
    for _ in range(29):
        pure.query(COUNT, epsilon=0.1, fresh=True)
    before = pure.entries()
    with pytest.raises(discreet.BudgetExhausted) as refused:
        pure.query(COUNT, epsilon=0.2, fresh=True)
    assert refused.value.code == "budget-exhausted"
    assert "0.1" in str(refused.value)
    assert pure.entries() == before
    assert pure.budget().remaining.epsilon == pytest.approx(0.1)
    pure.query(COUNT, epsilon=0.1, fresh=True)
    assert pure.budget().remaining.epsilon == 0
    assert pure.budget().spent.epsilon == 3
    with pytest.raises(discreet.BudgetExhausted):
        pure.query(COUNT, epsilon=1e-9, fresh=True)
    assert pure.query(COUNT, epsilon=0.1).cached
    assert pure.preview(BY_SEX, epsilon=0.1).remaining.epsilon == 0


# charge before data


def journal(policy: Policy) -> list[dict[str, Any]]:
    """What another connection finds on disk."""
    with closing(sqlite3.connect(f"file:{policy.state / LEDGER}?mode=ro", uri=True)) as connection:
        return [json.loads(line) for (line,) in connection.execute("SELECT line FROM journal ORDER BY number")]


def charges(policy: Policy) -> list[str]:
    return [record["question"] for record in journal(policy) if record["kind"] == "charge"]


class Counting:
    """An engine that looks at the ledger on disk whenever it is asked for something."""

    dialect = "duckdb"

    def __init__(self, policy: Policy, inner: Memory) -> None:
        self.policy, self.inner = policy, inner
        self.schemas: list[str] = []
        self.charged: list[int] = []

    def schema(self, table: str) -> dict[str, str]:
        self.schemas.append(table)
        return self.inner.schema(table)

    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:
        self.charged.append(len(charges(self.policy)))
        return self.inner.rows(query, seconds)

    def close(self) -> None:
        self.inner.close()


PEOPLE: Final = [
    {"patient_id": i, "age": 20 + i % 50, "sex": "FM"[i % 2], "zip": f"z{i}", "vip": True} for i in range(40)
]
DATA: Final[dict[str, list[dict[str, Any]]]] = {
    "patients": PEOPLE,
    "visits": [{"visit_id": i, "patient_id": i % 40, "cost": i} for i in range(90)],
}


@contextmanager
def over(
    policy: Policy, engine: Any, *, time_limit: float | None = None, blurred: Callable[..., Sequence[int]] = add_noise
) -> Iterator[Curator]:
    ledger = open_ledger(policy)
    with Curator(policy, ledger, engine=engine, time_limit=time_limit, sampler=Sampler(add_noise=blurred)) as curator:
        yield curator


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return read(copied(tmp_path))


@pytest.fixture
def memory(policy: Policy) -> Iterator[Memory]:
    engine = Memory(policy, DATA)
    yield engine
    engine.close()


BAD: Final = [
    "SELECT * FROM patients", "SELECT age FROM patients", "SELECT COUNT(*) FROM nowhere", "SELECT SUM(zip) FROM patients",
    "SELECT zip, COUNT(*) FROM patients GROUP BY zip", "SELECT MAX(patient_id) FROM patients", "DROP TABLE patients",
    "SELECT COUNT(*) FROM patients WHERE age IN (SELECT age FROM patients)", "SELECT COUNT(*) FROM", "", ";",
    "SELECT patient_id, COUNT(*) FROM patients GROUP BY 1", "SELECT COUNT(*) FROM read_csv('patients.csv')",
    "SELECT COUNT(*) FROM patients TABLESAMPLE 10%", "SELECT getenv('HOME') FROM patients", "SELECT age + 1 FROM patients",
    "SELECT COUNT(*) FROM patients; SELECT COUNT(*) FROM patients", "SELECT COUNT(DISTINCT zip) OVER () FROM patients",
]  # fmt: skip


def test_nothing_private_is_read_before_the_charge_is_on_disk(policy: Policy, memory: Memory) -> None:
    engine = Counting(policy, memory)
    with over(policy, engine) as curator:
        for sql in BAD:
            for act in (curator.query, curator.preview):
                with pytest.raises(discreet.Refused):
                    act(sql, epsilon=0.1)
        for sql in (COUNT, BY_SEX, TWO):
            curator.preview(sql, epsilon=0.1)
        with pytest.raises(discreet.Refused):
            curator.query(COUNT)
        with pytest.raises(discreet.BudgetExhausted):
            curator.query(COUNT, epsilon=3.01)
        assert engine.charged == []
        for bought, sql in enumerate((COUNT, BY_SEX, TWO), start=1):
            curator.query(sql, epsilon=0.1)
            assert engine.charged == list(range(1, bought + 1))
            curator.query(sql, epsilon=0.1)
            assert len(engine.charged) == bought
        curator.query(f"SELECT SUM(n) FROM ({BY_SEX}) AS q", epsilon=0.05)
        curator.query("SELECT n FROM (SELECT COUNT(*) AS n FROM visits) AS q WHERE n > 3", epsilon=0.1)
        assert engine.charged == [1, 2, 3, 4]
        assert charges(policy)[:3] == [COUNT, BY_SEX, TWO]
        assert engine.schemas == []


def test_a_question_over_two_releases_is_charged_whole_before_the_first_read(policy: Policy, memory: Memory) -> None:
    engine = Counting(policy, memory)
    two = "WITH a AS (SELECT COUNT(*) AS n FROM patients), b AS (SELECT COUNT(*) AS m FROM visits) SELECT n FROM a"
    with over(policy, engine) as curator:
        answer = curator.query(two, epsilon=0.4)
        assert answer.loss == Pure(Fraction(2, 5))
        assert engine.charged == [1, 1]
        assert 0 <= spent(curator) - Fraction(2, 5) < UNIT


# failures after the charge


SECRET: Final = "secret-4711-of-row-17"


class Failing(Counting):
    """An engine that fails on the data, telling all about it."""

    def __init__(self, policy: Policy, inner: Memory, error: BaseException | None = None, gives: Any = None) -> None:
        super().__init__(policy, inner)
        self.error, self.gives = error, gives

    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:
        super().rows(query, seconds)
        if self.error is not None:
            raise self.error
        return self.gives  # type: ignore[no-any-return]


ERRORS: Final = [
    duckdb.ConversionException(SECRET), duckdb.OutOfRangeException(SECRET), RuntimeError(SECRET), ValueError(SECRET),
    MemoryError(SECRET), RecursionError(SECRET), OSError(5, SECRET), discreet.Refused("syntax", SECRET, SECRET),
    ExceptionGroup(SECRET, [ValueError(SECRET)]), AssertionError(SECRET), StopIteration(SECRET),
]  # fmt: skip


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_failure_on_data_has_one_text_and_stays_charged(
    policy: Policy, memory: Memory, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with over(policy, Failing(policy, memory, error)) as curator:
        with pytest.raises(discreet.QueryFailed) as failed:
            curator.query(COUNT, epsilon=0.1)
        assert failed.value.args == (FAILED, RETRY)
        assert failed.value.__cause__ is None
        assert failed.value.__context__ is None
        assert SECRET not in "".join(traceback.format_exception(failed.value))
        assert SECRET not in caplog.text
        assert [entry.answered for entry in curator.entries()] == [False]
        assert 0 <= spent(curator) - Fraction(1, 10) < UNIT
        assert not any(SECRET in json.dumps(record) for record in journal(policy))
    with over(policy, memory) as curator:
        assert not curator.query(COUNT, epsilon=0.05).cached


@pytest.mark.parametrize("gives", [[("x",)], [(None, 1)], None, [(float("nan"),)], [()], [("1e99",)]])
def test_rows_that_make_no_sense_fail_in_the_same_way(policy: Policy, memory: Memory, gives: Any) -> None:
    with over(policy, Failing(policy, memory, gives=gives)) as curator:
        try:
            answer = curator.query(COUNT, epsilon=0.1)
        except discreet.QueryFailed as failed:
            assert failed.args == (FAILED, RETRY)  # noqa: PT017  (some of them are answered)
            assert failed.__context__ is None  # noqa: PT017
        else:
            assert type(answer.rows[0][0]) is int
        assert len(curator.entries()) == 1


def test_failing_noise_fails_in_the_same_way(policy: Policy, memory: Memory) -> None:
    def broken(*_: object) -> Sequence[int]:
        raise OverflowError(SECRET)

    with over(policy, memory, blurred=broken) as curator:
        with pytest.raises(discreet.QueryFailed) as failed:
            curator.query(COUNT, epsilon=0.1)
        assert failed.value.__context__ is None
        assert [entry.answered for entry in curator.entries()] == [False]


class Slow(Counting):
    def rows(self, query: Sql, seconds: float | None = None) -> list[tuple[Any, ...]]:  # noqa: ARG002
        return self.inner.execute(
            "SELECT COUNT(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range = -1", seconds
        )


def test_a_question_that_takes_too_long_stays_charged(policy: Policy, memory: Memory) -> None:
    with over(policy, Slow(policy, memory), time_limit=0.1) as curator:
        with pytest.raises(discreet.QueryFailed):
            curator.query(COUNT, epsilon=0.1)
        assert [entry.answered for entry in curator.entries()] == [False]
        assert 0 <= spent(curator) - Fraction(1, 10) < UNIT
    with over(policy, memory, time_limit=60) as curator:
        assert len(curator.query(COUNT, epsilon=0.1).rows) == 1


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_question_stays_charged(policy: Policy, memory: Memory, interrupt: type[BaseException]) -> None:
    with over(policy, Failing(policy, memory, interrupt())) as curator:
        with pytest.raises(interrupt):
            curator.query(COUNT, epsilon=0.1)
        assert [entry.answered for entry in curator.entries()] == [False]
        assert 0 <= spent(curator) - Fraction(1, 10) < UNIT
    with over(policy, memory) as curator:
        answer = curator.query(COUNT, epsilon=0.1)
        assert not answer.cached
        assert len(curator.entries()) == 2


def test_broken_sources_have_one_fixed_text_for_analysts(tmp_path: Path) -> None:
    hospital(tmp_path, PURE)
    (tmp_path / "visits.parquet").write_bytes(b"PAR1 of another kind")
    with discreet.open(path_of(tmp_path)) as curator, pytest.raises(discreet.QueryFailed):
        curator.query(COUNT, epsilon=0.1)


# kept answers


SAME: Final = [
    COUNT,
    "select count(*) as n from patients",
    "SELECT  COUNT(*)\n AS other -- a comment\n FROM patients",
    "SELECT COUNT(*) + 5 AS m FROM patients ORDER BY m LIMIT 3",
    "SELECT COUNT(*) AS n, COUNT(*) * 2 AS twice FROM patients HAVING n > 1000000",
    "SELECT x FROM (SELECT COUNT(*) AS x FROM patients) AS q",
    "WITH q AS (SELECT COUNT(1) AS x FROM patients) SELECT MAX(x) FROM q",
    "SELECT COUNT(*) FROM Patients AS p",
]


def test_the_same_question_in_other_words_is_free(both: Curator) -> None:
    first = both.query(COUNT, epsilon=0.1, analyst="fraud")
    n = first.rows[0][0]
    for sql in SAME:
        assert both.preview(sql, epsilon=0.1).cached, sql
        for epsilon in (0.1, 0.05, 0.0999):
            answer = both.query(sql, epsilon=epsilon, analyst="epidemiology")
            assert answer.cached, sql
            assert answer.loss == Concentrated(0)
            assert (answer.cost, answer.receipt) == (first.cost, first.receipt)
    assert both.query(SAME[3], epsilon=0.1).rows == [(n + 5,)]
    assert both.query(SAME[4], epsilon=0.1).rows == []
    assert both.query(SAME[6], epsilon=0.1).rows == [(n,)]
    assert len(both.entries()) == 1
    assert both.budget("epidemiology").spent.rho == 0


@pytest.mark.parametrize(
    "other",
    [
        "SELECT sum(AGE) AS s, sex FROM patients GROUP BY 2",
        "SELECT sex, SUM(p.age) FROM patients AS p GROUP BY sex",
        "SELECT sex, SUM((age)) FROM patients GROUP BY sex",
    ],
)
def test_the_same_argument_in_other_words_is_free(both: Curator, other: str) -> None:
    both.query("SELECT sex, SUM(age) FROM patients GROUP BY sex", epsilon=0.1)
    assert both.query(other, epsilon=0.1).cached


def test_the_order_of_aggregates_does_not_matter(both: Curator) -> None:
    both.query("SELECT COUNT(*), SUM(age) FROM patients", epsilon=0.1)
    assert both.query("SELECT SUM(age), COUNT(*) FROM patients", epsilon=0.1).cached


def test_a_higher_cost_or_another_question_is_charged(both: Curator) -> None:
    both.query(COUNT, epsilon=0.1)
    others: list[tuple[str, dict[str, Any]]] = [
        (COUNT, {"epsilon": 0.11}),
        (COUNT, {"epsilon": 0.1, "fresh": True}),
        (BY_SEX, {"epsilon": 0.1}),
        ("SELECT COUNT(*) AS n FROM patients WHERE age > 0", {"epsilon": 0.1}),
        ("SELECT COUNT(*) AS n FROM patients WHERE age > 1", {"epsilon": 0.1}),
        ("SELECT COUNT(age) AS n FROM patients", {"epsilon": 0.1}),
        ("SELECT COUNT(*) FROM visits", {"epsilon": 0.1}),
    ]
    for sql, cost in others:
        assert not both.query(sql, **cost).cached
    assert len(both.entries()) == 1 + len(others)
    dearest = both.query(COUNT, epsilon=0.02)
    assert dearest.cost == Concentrated(rho_of_label(Fraction(11, 100), HALF))


def test_fresh_answers_are_new_draws(pure: Curator) -> None:
    receipts = set()
    seen = set()
    for _ in range(25):
        answer = pure.query(COUNT, epsilon=0.01, fresh=True)
        assert not answer.cached
        receipts.add(answer.receipt)
        seen.add(answer.rows[0][0])
    assert len(receipts) == 25
    assert len(seen) > 5  # 25 draws of scale 100: five values or fewer have probability below 10⁻²⁵
    assert pure.query(COUNT, epsilon=0.01).rows[0][0] in seen


def test_another_data_version_is_another_question(tmp_path: Path) -> None:
    policy = hospital(tmp_path, PURE)
    with discreet.open(path_of(tmp_path)) as curator:
        first = curator.query(COUNT, epsilon=0.1)
        refresh(policy, "a new week")
        assert not curator.preview(COUNT, epsilon=0.1).cached
        second = curator.query(COUNT, epsilon=0.1)
        assert not second.cached
        assert second.receipt != first.receipt
        assert curator.query(COUNT, epsilon=0.1).rows == second.rows


@pytest.mark.long
def test_kept_answers_survive_and_sensitivity_other_processes(tmp_path: Path) -> None:
    copied(tmp_path)
    with discreet.open(path_of(tmp_path)) as curator:
        first = curator.query(BY_SEX, epsilon=0.1, analyst="fraud")
    with discreet.open(path_of(tmp_path)) as curator:
        again = curator.query(BY_SEX, epsilon=0.1)
        assert (again.rows, again.intervals, again.cached) == (first.rows, first.intervals, True)
        found, _ = heard(start("ask", path_of(tmp_path), BY_SEX, 0.1, "epidemiology"))
        assert found == {"rows": [list(row) for row in first.rows], "cached": True, "receipt": first.receipt}
        other, _ = heard(start("ask", path_of(tmp_path), COUNT, 0.2))
        assert not other["cached"]
        answer = curator.query(COUNT, epsilon=0.2)
        assert answer.cached
        assert [list(row) for row in answer.rows] == other["rows"]
        assert len(curator.entries()) == 2


def test_intervals_of_a_kept_answer_follow_the_confidence_asked(pure: Curator) -> None:
    wide = pure.query(COUNT, epsilon=0.1, confidence=0.99)
    narrow = pure.query(COUNT, epsilon=0.1, confidence=0.5)
    assert narrow.cached
    (low, high), (least, most) = wide.intervals[0]["n"], narrow.intervals[0]["n"]
    assert low < least <= most < high


# many at once


def test_threads_never_overspend(pure: Curator) -> None:
    answers: list[discreet.Answer] = []
    refused: list[discreet.Refused] = []

    def work(seed: int) -> None:
        dice = random.Random(seed)
        for _ in range(8):
            try:
                answers.append(pure.query(dice.choice([COUNT, BY_SEX]), epsilon=0.1, fresh=True))
            except discreet.BudgetExhausted as no:
                refused.append(no)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (len(answers), len(refused)) == (30, 34)
    assert len({answer.receipt for answer in answers}) == 30
    assert spent(pure) == 3
    for answer in answers:
        assert [row[0] for row in answer.rows] == (["F", "M"] if "sex" in answer.columns else [answer.rows[0][0]])
        assert all(type(row[-1]) is int for row in answer.rows)
        assert len(answer.intervals) == len(answer.rows)


@pytest.mark.long
def test_processes_never_overspend(tmp_path: Path) -> None:
    """They make the private copy together, too."""
    hospital(tmp_path, PURE)
    processes = [start("spend", path_of(tmp_path), BY_SEX, 0.1, 4) for _ in range(3)]
    found = [line for process in processes for line in heard(process)[0]]
    bought = [line for line in found if line != "budget-exhausted"]
    assert (len(found), len(bought)) == (36, 30)
    assert all(rows == 2 and columns == ["sex", "n"] for rows, columns, _ in bought)
    assert len({receipt for _, _, receipt in bought}) == 30
    with discreet.open(path_of(tmp_path)) as curator:
        assert spent(curator) == 3
        assert all(entry.answered for entry in curator.entries())


# canaries


def canaries() -> tuple[list[dict[str, Any]], set[str]]:
    """A thousand rows whose every value is unlike anything that discreet would say by itself."""
    dice, rows, words = random.Random(99), [], set()
    for _ in range(170):
        texts = [f"canary{dice.randrange(16**12):012x}" for _ in range(3)]
        numbers = [dice.randrange(10**11, 10**12) for _ in range(3)]
        words |= {*texts, *map(str, numbers)}
        rows.append(
            {
                "patient_id": texts[0], "zip": texts[1], "hidden": texts[2], "age": numbers[0], "born": numbers[1] / 1000,
                "ssn": numbers[2],
            }
        )  # fmt: skip
    return rows, words


def chatter() -> list[str]:
    """Good and bad questions about every column, the private ones as well."""
    columns = ("age", "zip", "born", "patient_id", "hidden", "ssn", "nothing")
    forms = (
        "SELECT {c} FROM patients", "SELECT MIN({c}) FROM patients", "SELECT COUNT({c}) FROM patients",
        "SELECT SUM({c}) FROM patients", "SELECT AVG({c}) AS a FROM patients", "SELECT {c}, COUNT(*) FROM patients GROUP BY 1",
        "SELECT COUNT(*) FROM patients WHERE {c} > 5", "SELECT COUNT(*) FROM patients WHERE {c} = 'x'",
        "SELECT CAST({c} AS DATE) FROM patients", "SELECT COUNT(*) FROM patients ORDER BY {c}", "SELECT 1 / {c} FROM patients",
        "SELECT SUM(CLAMP(CAST({c} AS DOUBLE), 0, 9)) FROM patients", "SELECT error({c}) FROM patients",
        "SELECT COUNT(*) FROM patients WHERE CAST({c} AS INTEGER) / 0 = 1", "SELECT DISTINCT {c} FROM patients",
        "SELECT COUNT(*) FROM patients GROUP BY LOWER({c})", "SELECT SUM(LENGTH({c})) FROM patients", "{c}", "EXPLAIN {c}",
        "SELECT COUNT(*) FROM patients HAVING {c} > 1", "SELECT WIDTH_BUCKET({c}, 0, 9, 3) AS b, COUNT(*) FROM patients GROUP BY b",
        "SELECT SUM(POWER({c}, 50)), SUM(EXP({c})) FROM patients", "SELECT COUNT(*) FROM patients WHERE {c} IN (SELECT {c} FROM patients)",
    )  # fmt: skip
    return [form.format(c=column) for column in columns for form in forms]


@pytest.mark.long
def test_no_canary_leaves_the_cage(tmp_path: Path) -> None:
    rows, words = canaries()
    assert len(words) >= 1000
    header = list(rows[0])
    lines = [",".join(header), *(",".join(str(row[column]) for column in header) for row in rows)]
    (tmp_path / "patients.csv").write_text("\n".join(lines), encoding="utf-8")
    path = tmp_path / "zoo.toml"
    path.write_text(
        """
name = "zoo"
[budget]
epsilon = 3.0
[unit]
name = "patient"
[tables.patients]
source = "patients.csv"
unit = "patient_id"
[tables.patients.columns]
age = { type = "integer", min = 0, max = 110 }
born = { min = 0, max = 1 }
zip = { type = "text" }
""",
        encoding="utf-8",
    )
    questions = tmp_path / "questions.json"
    questions.write_text(json.dumps(chatter()), encoding="utf-8")
    counts, said = heard(start("chat", path, questions))
    assert counts["answered"] > 30
    assert counts["refused"] > 200
    state = read(path).state
    files = [file for file in state.rglob("*") if file.is_file() and file.relative_to(state).parts[0] != "data"]
    seen = {str(file): file.read_bytes() for file in files}
    assert any(LEDGER in name for name in seen)
    for word in words:
        assert word not in said
        assert not [name for name, content in seen.items() if word.encode() in content]


def test_sources_that_break_tell_no_canary(tmp_path: Path) -> None:
    """A file that is no CSV after a while: what the owner is told holds no value either."""
    hospital(tmp_path, {**PURE, 'source = "patients.parquet"': 'source = "patients.csv"'})
    broken = f'patient_id,age,sex,zip,born,vip\n1,30,F,{SECRET},1990-01-01,true\n2,"{SECRET},x'
    (tmp_path / "patients.csv").write_text(broken, encoding="utf-8")
    with warnings.catch_warnings(record=True) as told, discreet.open(path_of(tmp_path)) as curator:
        try:
            curator.query(COUNT, epsilon=0.1)
        except Exception as error:
            assert SECRET not in "".join(traceback.format_exception(error))  # noqa: PT017
    assert not told


# the end


@pytest.mark.parametrize("act", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_curator_cannot_be_copied(pure: Curator, act: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="open the policy again"):
        act(pure)


def test_a_closed_curator_says_so(tmp_path: Path) -> None:
    copied(tmp_path)
    curator = discreet.open(path_of(tmp_path))
    curator.query(COUNT, epsilon=0.1)
    curator.close()
    curator.close()
    acts: list[Callable[[], object]] = [
        lambda: curator.query(COUNT, epsilon=0.1),
        lambda: curator.query(BY_SEX, epsilon=0.1, fresh=True),
        lambda: curator.preview(BY_SEX, epsilon=0.1),
        lambda: curator.query("SELECT beds FROM wards"),
        curator.budget,
        curator.entries,
    ]
    for act in acts:
        with pytest.raises(LedgerError, match="closed"):
            act()
    with discreet.open(path_of(tmp_path)) as again:
        assert len(again.entries()) == 1


def test_public_tables_are_free_and_exact(pure: Curator) -> None:
    answer = pure.query("SELECT ward, beds FROM wards ORDER BY beds DESC")
    assert answer.rows == [("B", 20), ("A", 10)]
    assert answer.loss == Pure(0)
    assert (answer.receipt, answer.cached, answer.intervals) == ("", False, [{}, {}])
    assert pure.query("SELECT SUM(beds) AS b FROM wards", epsilon=5).rows == [(30,)]
    assert pure.entries() == []


def test_what_planning_looks_up_is_what_the_public_table_holds(policy: Policy) -> None:
    rows: list[dict[str, Any]] = [{"ward": "A", "beds": 10}, {"ward": "A", "beds": 20}, {"ward": None, "beds": 30}]
    engine = Memory(policy, {"wards": rows})
    public = PublicTables(lambda: engine)
    assert public.schema("wards") == engine.schema("wards") != {}
    wards, ward, beds = map(composed.name, ("wards", "ward", "beds"))
    assert set(public.keys(wards, ward)) == {None, "A"}
    assert public.keys(wards, beds) == (10, 20, 30)
    assert public.repeats(wards, []) == 3
    assert public.repeats(wards, [ward, beds]) == 1
    assert public.repeats(wards, [ward]) == 2
    assert public.repeats(wards, [composed.sql("NULLIF({}, 'A')", ward)]) == 0
    engine.close()


def test_only_public_tables_tell_what_their_source_holds(pure: Curator) -> None:
    assert set(pure.public_schema("wards")) >= {"ward", "beds"}
    for name in ("patients", "visits", "nowhere"):
        with pytest.raises(discreet.Refused, match="unknown-table"):
            pure.public_schema(name)


def test_a_preview_of_a_part_tells_what_it_would_add(pure: Curator) -> None:
    pure.make_copy()
    part = pure.table("patients").partition("sex")["F"]
    assert part.preview.count(epsilon=0.5).notes[0].startswith("charged now: ε 0.5,")
    part.count(epsilon=0.5)
    for ahead in (part.preview.count(epsilon=0.5), pure.preview(COUNT, epsilon=0.5)):
        assert not any(note.startswith("charged now") for note in ahead.notes)


def test_a_curator_says_what_it_is_about_and_how_to_ask(pure: Curator) -> None:
    assert repr(pure).startswith("<curator of hospital: patients, visits, payments, wards; ask with query(")


def test_empty_tables_answer_like_any_other(policy: Policy) -> None:
    engine = Memory(policy, {})
    with over(policy, engine) as curator:
        by_sex = curator.query("SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM patients GROUP BY sex", epsilon=0.1)
        assert [row[0] for row in by_sex.rows] == ["F", "M"]
        assert all(type(row[1]) is int and (row[2] is None or 0 <= row[2] <= 110) for row in by_sex.rows)
        assert curator.query("SELECT SUM(cost) AS s FROM visits WHERE cost > 3", epsilon=0.1).rows[0][0] is not None
        assert curator.query("SELECT ward FROM wards").rows == []
        assert len(curator.entries()) == 2
    quiet: Callable[..., Sequence[int]] = lambda mechanism, sensitivity, exact, bits: exact  # noqa: ARG005, E731
    with over(policy, engine, blurred=quiet) as curator:
        everything = "SELECT COUNT(*), SUM(age), AVG(age), COUNT(DISTINCT patient_id), COUNT(age) FROM patients"
        assert curator.query(everything, epsilon=0.1).rows == [(0, 0, None, 0, 0)]
    engine.close()


def test_a_budget_that_is_exhausted_says_what_the_rest_would_buy(pure: Curator) -> None:
    left = pure.budget().remaining.epsilon
    with pytest.raises(discreet.BudgetExhausted) as refused:
        pure.query("SELECT COUNT(*) AS n FROM patients", epsilon=2 * left)
    error = pure.preview("SELECT COUNT(*) AS n FROM patients", epsilon=left).error["n"]
    assert refused.value.fix.endswith(f"which gives n ± {error:.4g}")
    assert refused.value.__context__ is None
    assert pure.entries() == []


def test_a_part_of_a_copy_that_cannot_be_read_is_not_charged_as_something_else() -> None:
    class Broken:
        @property
        def copy(self) -> str:
            raise OSError("no such file")

    with pytest.raises(discreet.QueryFailed, match="nothing was charged"):
        part_name(Part("t", "g", "a"), Broken())  # type: ignore[arg-type]


def test_partitions_are_named_by_128_bits() -> None:
    """Names are in the journal: others would begin new lines for old partitions."""

    class Copied:
        copy = "1"

    found = part_name(Part("t", "g", "a"), Copied())  # type: ignore[arg-type]
    assert len(found.partition) == 32
    assert (found.part, found.max_parts) == ("g = 'a'", 1)
