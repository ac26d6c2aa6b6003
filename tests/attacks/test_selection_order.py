"""Attack: read who came first in the data from the order, or from the spelling, of keys that were selected privately.

A dictionary keeps the order in which keys were put in, and of equal keys (1, 1.0, True) the one that came first: a
person whose row stands first moves a key to the front, or turns a 1 into True, and no noise covers that.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Hashable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.exit.sampler import select
from discreet.mechanisms import Histogram, KeySelection
from discreet.mechanisms.order import in_public_order, public_rank
from tests.rigged import Rigged, repeated
from tests.sql.worlds import opened, policy_of

EVERY = KeySelection(delta=1e-6, epsilon=1)
MANY = 10**6
"""So many units hold each key that all are selected."""
ZONE = timezone(timedelta(hours=2))
MIXED: list[Hashable] = [
    "b", "a", "", "e\u0301", "\u00e9", "\ud800", b"a", None, 2, -1, 0.5, Decimal("0.1"), Fraction(1, 3), math.inf,
    date(2020, 1, 2), datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), (), (1, None), ("a", (2,)), ("a",),
]  # fmt: skip


class Name(StrEnum):
    ANN = "ann"


class Number(IntEnum):
    ONE = 1


class Late(str):
    """A text that sorts as it likes."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return False


def released(counts: Mapping[Any, int]) -> str:
    """All that an analyst sees: keys, as they are written and in their order."""
    return repr(list(EVERY.select(counts)))


def arrived(keys: list[Any]) -> Mapping[Any, int]:
    """The keys as a dictionary has them after rows came in this order."""
    return dict.fromkeys(dict.fromkeys(keys), MANY)


def test_whoever_comes_first_in_the_data_does_not_come_first_in_the_answer() -> None:
    people = ["Uri", "Bern", "Zug", "Glarus"]
    seen = {released(arrived(list(order))) for order in itertools.permutations(people)}
    assert seen == {"['Bern', 'Glarus', 'Uri', 'Zug']"}


def test_no_order_of_keys_of_all_kinds_is_seen() -> None:
    rng = random.Random(0)
    seen = set()
    for _ in range(200):
        rng.shuffle(MIXED)
        seen.add(released(arrived(list(MIXED))))
    assert len(seen) == 1
    assert len(EVERY.select(arrived(list(MIXED)))) == len(MIXED)


@pytest.mark.parametrize(
    "same",
    [
        [1, 1.0, True, Decimal(1), Decimal("1.0"), Fraction(1), np.int64(1), np.float32(1), np.uint8(1)],
        [0, 0.0, -0.0, False, Decimal("-0"), np.float64(-0.0)],
        [0.5, Fraction(1, 2), Decimal("0.50"), np.float16(0.5)],
        [math.inf, Decimal("Infinity"), np.float64("inf")],
        [datetime(2020, 1, 1, 2, tzinfo=ZONE), datetime(2020, 1, 1, tzinfo=UTC)],
        [datetime(2020, 1, 1, fold=1), datetime(2020, 1, 1, fold=0)],
        [(1, "a"), (True, "a"), (1.0, "a")],
        ["a", np.str_("a")],
        [b"a", np.bytes_(b"a")],
    ],
)
def test_which_of_several_equal_keys_came_first_is_not_seen(same: list[Hashable]) -> None:
    assert all(hash(key) == hash(same[0]) and key == same[0] for key in same)
    assert len({released(arrived([first])) for first in same}) == 1


exact = st.booleans() | st.integers() | st.fractions() | st.decimals(allow_nan=False, places=3)
plain = exact | st.floats(allow_nan=False) | st.none() | st.text() | st.binary() | st.dates() | st.datetimes()
keys = st.recursive(plain, lambda parts: st.tuples(parts, parts), max_leaves=4)


@settings(deadline=None, max_examples=30)
@given(st.dictionaries(keys, st.just(MANY), max_size=12), st.randoms(use_true_random=False))
def test_any_keys_in_any_order_give_the_same(counts: dict[Hashable, int], rng: random.Random) -> None:
    items = list(counts.items())
    rng.shuffle(items)
    assert repr(in_public_order(counts)) == repr(in_public_order(dict(items)))
    assert dict(in_public_order(counts)) == counts  # plain keys are equal to those that came in


def test_which_noise_a_key_gets_does_not_depend_on_where_it_stood() -> None:
    """The first word of noise belongs to the first key of the public order."""
    one, other = (dict.fromkeys(order, 9) for order in ("abc", "cab"))
    script = [2**63 + 12345, 7, 2**40]
    mechanism = KeySelection(delta=0.4, epsilon=1)
    seen = [list(mechanism.select(counts, Rigged(script)).items()) for counts in (one, other)]
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    "key",
    [math.nan, Decimal("NaN"), (1, math.nan), object(), frozenset({1}), 1j, Name.ANN, Number.ONE, Late("z"),
     np.datetime64("2020-01-01"), type, len, Decimal("1e5000"), datetime(1, 1, 1, tzinfo=ZONE)],
)  # fmt: skip
def test_a_key_without_a_public_order_is_refused_before_noise_is_drawn(key: Any) -> None:
    """An order by `repr` or `id` would be that of memory, and NaN is a new key each time."""
    bits = Rigged([])
    with pytest.raises((TypeError, ValueError), match="counts ha"):
        EVERY.select({"a": MANY, key: MANY}, bits)
    assert bits.taken == 0


def test_a_mapping_that_lies_about_equality_is_refused() -> None:
    class Twins(dict[Any, int]):
        def items(self) -> Any:
            return [("a", MANY), ("a", MANY)]

    with pytest.raises(ValueError, match="two keys that are the same"):
        EVERY.select(Twins(a=1))


def test_cells_of_a_histogram_keep_the_order_of_its_declaration_and_equal_labels_are_refused() -> None:
    counts = Histogram(keys=["b", "a"], epsilon=1).release(["a", "a", "b"], repeated(255))
    assert counts.tolist() == [1, 2]
    for keys in ([1, True], [0.0, -0.0], [1, 1.0]):
        with pytest.raises(ValueError, match="each once"):
            Histogram(keys=keys, epsilon=1)


# through SQL


def test_keys_that_sql_selects_come_in_their_public_order_and_as_the_engine_wrote_them() -> None:
    cells: list[tuple[Any, ...]] = [("b", True), (None, True), ("a", False), ("a", None)]
    for order in itertools.permutations(cells):
        found = list(select(EVERY, dict.fromkeys(order, MANY), repeated(255)))
        assert repr(sorted(found, key=public_rank)) == repr(found)
        assert repr(found) == "[('a', False), ('a', None), ('b', True), (None, True)]"


def test_rows_in_another_order_give_groups_in_the_same_order() -> None:
    policy = policy_of(
        '[tables.visits]\nsource = "v.csv"\nunit = "id"',
        '[tables.visits.columns]\ntown = { type = "text", nullable = true }',
        head='name = "world"\n[budget]\nepsilon = 1000\ndelta = 0.1\n[unit]\nname = "person"\n',
    )
    towns = ["Uri", None, "Bern", "e\u0301", "\u00e9", "bern", ""]
    rows: list[dict[str, Any]] = [{"id": place, "town": towns[place % len(towns)]} for place in range(60 * len(towns))]
    seen = set()
    for order in (rows, rows[::-1], sorted(rows, key=lambda row: row["id"] * 7919 % 431)):
        with opened(policy, {"visits": order}) as curator:
            answer = curator.query("SELECT town, COUNT(*) AS n FROM visits GROUP BY town", epsilon=100)
            seen.add(repr(answer.rows))
    assert seen == {repr([(town, 60) for town in ("", "Bern", "Uri", "bern", "e\u0301", "\u00e9", None)])}


def test_numbers_beyond_all_floats_stay_as_they_are() -> None:
    huge = Fraction(10**400, 3)
    counts: dict[Hashable, int] = {huge: 1, 2: 5}
    wanted: list[tuple[Hashable, int]] = [(2, 5), (huge, 1)]
    assert in_public_order(counts) == wanted


def test_numbers_come_in_their_order_whatever_they_are_written_as() -> None:
    counts: dict[Hashable, int] = {2: 1, math.inf: 2, Fraction(1, 2): 3, -5: 4, -math.inf: 5, Decimal("0.1"): 6}
    found = [key for key, _ in in_public_order(counts)]
    assert found == [-math.inf, -5, Fraction(1, 10), 0.5, 2, math.inf]
    assert [type(key) for key in found] == [float, int, Fraction, float, int, float]
