"""Attacks on bounds that are found: by one person's values, by what fails or lasts longer, and by files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.accounting.losses import Sensitivity
from discreet.curator.curator import Curator
from discreet.curator.found_bounds import FOLDER, CachedSearch, Index
from discreet.curator.state import open_ledger
from discreet.engines.memory import Memory
from discreet.errors import QueryFailed
from discreet.exit.cost import Additive
from discreet.exit.sampler import Sampler
from discreet.ledger import LedgerDamaged
from discreet.noise import Bits
from discreet.policy import read
from discreet.sql.cache import NoisyMeasures
from discreet.sql.unknown import NUMBERS
from tests.sql.worlds import opened, policy_of, quiet

POLICY = """
implicit_bounds = true
[budget]
epsilon = 1000
[unit]
name = "person"
[tables.t]
source = "t.csv"
unit = "who"
max_rows = 2
[tables.t.columns]
x = { type = "number" }
d = { min = 0, max = 9 }
"""
CROWD = [{"who": f"p{n}", "x": 1.0 + n % 7, "d": 1} for n in range(500)]


def world() -> Any:
    return policy_of("", head=POLICY)


# one person


@pytest.mark.parametrize("value", [1e300, -1e300, math.inf, -math.inf, 1e38, float("nan"), 5e-324])
def test_nobody_alone_makes_a_bound_or_a_failure(value: float) -> None:
    """With one person's value, whatever it is, the same bounds are found, and the sum moves by them at most."""
    seen = []
    for rows in (CROWD, [*CROWD, {"who": "far", "x": value, "d": 1}, {"who": "far", "x": -value, "d": 1}]):
        with opened(world(), {"t": rows}) as curator:
            answer = curator.query("SELECT SUM(x), COUNT(*) FROM t", epsilon=2)
            seen.append((answer.rows[0][0], answer.notes, answer.noise, len(curator.entries())))
    assert seen[0][1:] == seen[1][1:]
    assert abs(seen[0][0] - seen[1][0]) <= 2 * 8


def test_whoever_has_all_large_values_alone_is_clamped() -> None:
    """One person with the largest and the smallest value of all: in one bin on each side, as everybody else."""
    rows = [*CROWD, *({"who": "far", "x": sign * 2.0**70, "d": 1} for sign in (1, -1))]
    with opened(world(), {"t": rows}) as curator:
        assert (
            "bounds of x were left out, and found with noise: [0, 8]"
            in curator.query("SELECT AVG(x) FROM t", epsilon=2).notes
        )


def test_all_failures_after_the_charge_are_one_text_and_stay_charged() -> None:
    """Whether the search fails or the release: what is seen is the same."""
    texts = []
    for failing in (1, 2):
        calls = []

        def fails(mechanism: Additive, sensitivity: Sensitivity, exact: Sequence[int], bits: Bits) -> Sequence[int]:
            calls.append(exact)  # noqa: B023
            if len(calls) == failing:  # noqa: B023
                raise MemoryError(f"the sum is {exact}")
            return quiet(mechanism, sensitivity, exact, bits)

        with opened(world(), {"t": CROWD}, add_noise=fails) as curator:
            with pytest.raises(QueryFailed) as failed:
                curator.query("SELECT SUM(x) FROM t", epsilon=2)
            texts.append(str(failed.value))
            (entry,) = curator.entries()
            assert (entry.answered, entry.loss.epsilon) == (False, 2)  # type: ignore[union-attr]
    assert len(set(texts)) == 1


def test_how_often_rows_are_read_does_not_depend_on_them() -> None:
    """Nor does which queries are run, as long as the same bounds are found."""
    seen = []
    for rows in ([], CROWD[:1], CROWD[:20], [{"who": "far", "x": 1e300, "d": 1}]):
        queries: list[str] = []

        class Counting(Memory):
            def rows(self, query: Any, seconds: float | None = None) -> list[tuple[Any, ...]]:
                queries.append(query.text)  # noqa: B023
                return super().rows(query, seconds)

        policy = world()
        engine = Counting(policy, {"t": rows})
        with opened(policy, {"t": []}, wrap=lambda _, engine=engine: engine) as curator:  # type: ignore[misc]
            curator.query("SELECT SUM(x) FROM t", epsilon=2)
        seen.append(tuple(queries))
    assert len(set(seen)) == 1
    assert len(seen[0]) == 2


# files


class Asked:
    """A policy in a folder, asked anew by a process of its own each time; how long the vectors are that it draws."""

    def __init__(self, folder: Path) -> None:
        folder.joinpath("t.csv").write_text("who,x,d\n" + "".join(f"{r['who']},{r['x']},1\n" for r in CROWD))
        self.file = folder / "t.toml"
        self.file.write_text(POLICY)
        self.index = folder / "t.discreet" / FOLDER

    def drawn(self, text: str) -> list[int]:
        lengths = []

        def noted(mechanism: Additive, sensitivity: Sensitivity, exact: Sequence[int], bits: Bits) -> Sequence[int]:
            lengths.append(len(exact))
            return quiet(mechanism, sensitivity, exact, bits)

        policy = read(self.file)
        with Curator(policy, open_ledger(policy), sampler=Sampler(add_noise=noted)) as curator:
            curator.query(text, epsilon=2)
        return lengths


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(tmp_path)


SEARCH = 2 * len(NUMBERS)


def test_what_one_process_found_others_take(asked: Asked) -> None:
    assert asked.drawn("SELECT SUM(x) FROM t") == [SEARCH, 1]
    assert asked.drawn("SELECT AVG(x) FROM t") == [2]
    (file,) = asked.index.iterdir()
    assert (asked.index.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)


@pytest.mark.parametrize("text", ["", "x", "99", "-1", "2", "9" * 10_000, "1e3", "\u0661"])
def test_an_index_that_lies_makes_a_search_and_nothing_else(asked: Asked, text: str) -> None:
    """Charge 2 is the answer to the first query: another number has no answer, or one without these bounds."""
    asked.drawn("SELECT SUM(d) FROM t")
    asked.drawn("SELECT SUM(x) FROM t")
    (file,) = asked.index.iterdir()
    file.write_text(text, encoding="utf-8")
    assert asked.drawn("SELECT AVG(x) FROM t") == [SEARCH, 2]


def test_a_lost_index_makes_a_search(asked: Asked) -> None:
    asked.drawn("SELECT SUM(x) FROM t")
    (file,) = asked.index.iterdir()
    file.unlink()
    assert asked.drawn("SELECT AVG(x) FROM t") == [SEARCH, 2]


def test_dummies_leave_no_bounds_for_the_real_data(asked: Asked) -> None:
    with discreet.open(asked.file) as curator, curator.dummy() as dummy:
        dummy.query("SELECT SUM(x) FROM t", epsilon=500)
    assert not asked.index.exists()


def test_bounds_of_other_data_are_not_taken(asked: Asked) -> None:
    asked.drawn("SELECT SUM(x) FROM t")
    policy = read(asked.file)
    with open_ledger(policy) as ledger:
        ledger.advance_data("other rows")
    assert asked.drawn("SELECT AVG(x) FROM t") == [SEARCH, 2]


def test_a_recalled_answer_of_earlier_data_gives_no_bounds(asked: Asked) -> None:
    asked.drawn("SELECT SUM(x) FROM t")
    with discreet.open(asked.file) as curator:
        curator._ledger.advance_data("other rows")
        assert curator.recall(curator.entries()[0].number).rows
    assert asked.drawn("SELECT AVG(x) FROM t") == [SEARCH, 2]
    assert asked.drawn("SELECT SUM(x), COUNT(*) FROM t") == [2]


@pytest.mark.parametrize("stored", [b"", b"x", NoisyMeasures().encode()[:-3]])
def test_what_is_no_answer_is_damage(stored: bytes) -> None:
    with pytest.raises(LedgerDamaged):
        CachedSearch.decode(stored)


def test_answers_of_other_kinds_hold_no_bounds() -> None:
    assert CachedSearch.decode(NoisyMeasures().encode()) is None
    assert Index()._number("x") is None
