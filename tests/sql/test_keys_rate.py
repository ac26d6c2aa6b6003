"""Private keys that only one unit holds: how often any of them shows is at most δ, whatever the question.

Verdicts are Clopper–Pearson bounds, each with a false-alarm rate of 10⁻⁷; there are fewer than ten of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.accounting import rho_for
from discreet.answers.call import Call
from discreet.curator.curator import Curator
from discreet.curator.prepared import PreparedQuery
from discreet.curator.query import Query
from discreet.engines.memory import Memory
from discreet.exit.sampler import Sampler, Select, select
from discreet.mechanisms import KeySelection
from discreet.noise import SYSTEM, Bits
from discreet.sql.cache import Cell
from tests.sql.worlds import ledger_of, policy_of

ALARM = 1e-7
DELTA = Fraction(1, 50)
HEAD = 'name = "keys"\n[budget]\nepsilon = 100\ndelta = 0.5\n[unit]\nname = "person"\n'
TABLES = """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = 6
max_groups = 3
[tables.t.columns]
word = { type = "text" }
place = { type = "text" }
k = { values = ["x", "y"] }
n = { type = "integer", min = 0, max = 10 }
"""
COMMON = [{"who": f"u{number}", "word": "often", "place": "here", "k": "x", "n": number % 10} for number in range(60)]
LONELY = [
    {"who": "me", "word": f"rare{number % 3}", "place": "there", "k": "xy"[number % 2], "n": 1} for number in range(6)
]

QUESTIONS = {
    "one key": "SELECT word, COUNT(*) FROM t GROUP BY word",
    "a key and a sum": "SELECT word, SUM(n) FROM t GROUP BY word",
    "two private keys": "SELECT word, place, COUNT(*) FROM t GROUP BY word, place",
    "a private and a public key": "SELECT word, k, COUNT(*) FROM t GROUP BY word, k",
    "a computed key": "SELECT UPPER(word) AS w, COUNT(*) FROM t GROUP BY w",
}


def lower(hits: int, trials: int) -> float:
    """The rate is at least this, except with probability ALARM."""
    return float(stats.beta.ppf(ALARM, hits, trials - hits + 1)) if hits else 0.0


def upper(hits: int, trials: int) -> float:
    return float(stats.beta.ppf(1 - ALARM, hits + 1, trials - hits)) if hits < trials else 1.0


@contextmanager
def opened(hook: Select = select, rows: Sequence[Mapping[str, Any]] = (*COMMON, *LONELY)) -> Iterator[Curator]:
    policy = policy_of(TABLES, head=HEAD)
    engine = Memory(policy, {"t": rows})
    with ledger_of(policy) as ledger:
        yield Curator(policy, ledger, engine=engine, sampler=Sampler(select=hook))
    engine.close()


def selection(curator: Curator, text: str, **cost: Any) -> KeySelection | None:
    task = Query(Call(sql=text, **cost)).prepared(curator._context(None))
    assert isinstance(task, PreparedQuery)
    return task.allocation.mechanisms[0].selection


def lonely(cell: tuple[Any, ...]) -> bool:
    return str(cell[0]).lower().startswith("rare")


class Counted:
    """Stands at the exit, and notes how many units each key has and what will select among them."""

    def __init__(self) -> None:
        self.calls: list[tuple[KeySelection, Mapping[Cell, int]]] = []

    def __call__(self, mechanism: KeySelection, exact: Mapping[Cell, int], bits: Bits) -> Mapping[Cell, int]:
        self.calls.append((mechanism, dict(exact)))
        return select(mechanism, exact, bits)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_lonely_key_shows_at_most_with_delta(name: str) -> None:
    """What the curator counts, costed and selected as the curator does, three thousand times."""
    trials = 3_000
    counted = Counted()
    with opened(counted) as curator:
        curator.query(QUESTIONS[name], epsilon=1, delta=DELTA)
    ((mechanism, exact),) = counted.calls
    alone = [cell for cell in exact if lonely(cell)]
    assert all(exact[cell] == 1 for cell in alone)
    assert 1 <= len(alone) <= 3
    runs = [select(mechanism, exact, SYSTEM) for _ in range(trials)]
    shown = sum(any(lonely(cell) for cell in run) for run in runs)
    assert mechanism.delta == DELTA / 2
    assert lower(shown, trials) <= mechanism.delta
    assert sum(any(not lonely(cell) for cell in run) for run in runs) > trials * 0.9


@pytest.mark.parametrize("cost", [{"epsilon": 1, "delta": DELTA}, {"rho": Fraction(1, 2)}, {"epsilon": 2}], ids=str)
def test_the_selection_that_the_curator_builds(cost: dict[str, Any]) -> None:
    """Many lonely keys at once, in blocks of as many as one unit can hold."""
    with opened() as curator:
        mechanism = selection(curator, QUESTIONS["one key"], **cost)
    assert isinstance(mechanism, KeySelection)
    assert mechanism.max_groups == 3
    rho = cost.get("rho") or rho_for(cost["epsilon"], 0.25)
    share = DELTA / 2 if "delta" in cost else rho / rho_for(100, 0.25) / 4
    assert float(mechanism.delta) == pytest.approx(float(share), rel=1e-12)
    blocks = 40_000
    shown = mechanism.select(dict.fromkeys(range(3 * blocks), 1), SYSTEM)
    hit = np.zeros(blocks, dtype=bool)
    hit[[key // 3 for key in shown]] = True
    trials, hits = blocks, int(hit.sum())
    assert lower(hits, trials) <= mechanism.delta
    chance = mechanism.chance(1)
    assert lower(len(shown), 3 * blocks) <= chance <= upper(len(shown), 3 * blocks)
    assert 1 - (1 - chance) ** 3 <= mechanism.delta


def test_one_unit_is_in_no_more_groups_than_it_may_be() -> None:
    """It has six rows with six different tuples here, and the policy lets three of them count."""
    rows = [{"who": "me", "word": f"w{number}", "place": f"p{number}", "k": "x", "n": 1} for number in range(6)]
    counted = Counted()
    with opened(counted, rows) as curator:
        for text in QUESTIONS.values():
            curator.query(text, epsilon=1, delta=Fraction(1, 1000))
    assert [sum(exact.values()) for _, exact in counted.calls] == [3] * len(QUESTIONS)


def test_the_audit_can_fail() -> None:
    """A threshold that is too low shows lonely keys too often, and the bound sees it."""
    with opened() as curator:
        mechanism = selection(curator, QUESTIONS["one key"], epsilon=1, delta=DELTA)
    assert isinstance(mechanism, KeySelection)
    object.__setattr__(mechanism, "threshold", mechanism.threshold - 4)
    blocks = 40_000
    shown = mechanism.select(dict.fromkeys(range(3 * blocks), 1), SYSTEM)
    assert lower(len({key // 3 for key in shown}), blocks) > mechanism.delta
