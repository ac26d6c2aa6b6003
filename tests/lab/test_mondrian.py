"""The generaliser: what was wanted is had, no class could be cut, ranges hold their rows, losses are by definition."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Refused
from discreet.lab.classes import Classes
from discreet.lab.measures import measure, measures, published
from discreet.lab.mondrian import Generalised, Wanted, generalise
from tests.lab.test_measures import table

PLACES = {
    "Paris": ("France", "Europe"),
    "Lyon": ("France", "Europe"),
    "Rome": ("Italy", "Europe"),
    "Lima": ("Peru", "America"),
    "Cusco": ("Peru", "America"),
}
rows = st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.integers(0, 4)), min_size=1, max_size=40)
wishes = st.builds(
    Wanted,
    k=st.integers(1, 5),
    l=st.integers(1, 3),
    t=st.sampled_from([1.0, 0.5, 0.2]),
    kind=st.sampled_from(["distinct", "entropy", "recursive"]),
)


def whole_has(rows: list[tuple[int, str, int]], wanted: Wanted) -> bool:
    counts = sorted(Counter(ill for _, _, ill in rows).values(), reverse=True)
    n, l = len(rows), int(wanted.l)  # noqa: E741
    entropy = -sum(c / n * math.log(c / n) for c in counts)
    diverse = {
        "distinct": len(counts) >= l,
        "entropy": entropy >= math.log(l) - 1e-9,
        "recursive": l == 1 or counts[0] < wanted.c * sum(counts[l - 1 :]),
    }
    return n >= wanted.k and diverse[wanted.kind]


@settings(max_examples=50, deadline=None)
@given(rows, wishes)
def test_what_is_wanted_is_had_or_cannot_be(rows: list[tuple[int, str, int]], wanted: Wanted) -> None:
    """Refused exactly where all rows in one class would not do (the theorem of the module)."""
    before = table(rows)
    if not whole_has(rows, wanted):
        with pytest.raises(Refused) as refused:
            generalise(before, wanted)
        assert refused.value.code == "anonymity-unreachable"
        assert refused.value.fix.startswith("write ")
        return
    made = generalise(before, wanted)
    got = made.measures
    assert got.k >= wanted.k
    assert got.t <= wanted.t + 1e-9
    if wanted.l > 1:
        assert {"distinct": got.distinct_l, "entropy": got.entropy_l + 1e-9, "recursive": 3}[wanted.kind] >= wanted.l
        assert wanted.kind != "recursive" or got.recursive(wanted.c, int(wanted.l))
    demand_honest(made, rows)


def demand_honest(made: Generalised, rows: list[tuple[int, str, int]]) -> None:
    """Sensitive values are untouched, ranges hold what they stand for, and what is written measures the same."""
    columns = made.columns()
    assert columns["ill"] == [ill for _, _, ill in rows]
    for (age, sex, _), ages, sexes in zip(rows, columns["age"], columns["sex"], strict=True):
        low, _, high = ages.partition("–")
        assert int(low) <= age <= int(high or low)
        assert sex in sexes.split(" | ")
    assert measure(columns, quasi=["age", "sex"], sensitive="ill") == made.measures
    assert made.lost.discernibility == sum(int(size) ** 2 for size in made.table.classes.sizes)
    assert made.lost.certainty == pytest.approx(sum(made.lost.by_column.values()) / 2)


@settings(max_examples=25, deadline=None)
@given(rows, st.integers(1, 5))
def test_no_class_could_be_cut(rows: list[tuple[int, str, int]], k: int) -> None:
    """By brute force: a class is left whole only if the cut nearest to its median fails in every column."""
    if len(rows) < k:
        return
    made = generalise(table(rows), Wanted(k=k))
    for number in range(made.measures.classes):
        mine = [row for row, group in zip(rows, made.table.classes.of, strict=True) if group == number]
        for place in (0, 1):
            values = sorted(row[place] for row in mine)
            cuts = [i for i in range(1, len(values)) if values[i] != values[i - 1]]
            if cuts:
                nearest = min(abs(2 * cut - len(values)) for cut in cuts)
                assert any(min(c, len(values) - c) < k for c in cuts if abs(2 * c - len(values)) == nearest)


def test_losses_are_those_of_their_definitions() -> None:
    """Four ages, two to a class: a third of the range and none of it is what cells stand for."""
    made = generalise(
        published(
            {"age": [10, 20, 30, 40], "sex": ["f"] * 4, "ill": ["a", "b", "a", "b"]},
            quasi=["age", "sex"],
            sensitive="ill",
        ),
        Wanted(k=2),
    )
    assert made.columns()["age"] == ["10–20", "10–20", "30–40", "30–40"]
    assert made.lost.by_column == {"age": pytest.approx(1 / 3), "sex": 0.0}
    assert (made.lost.discernibility, made.lost.average) == (8, 1.0)


def test_trees_are_cut_between_their_largest_groups() -> None:
    towns = ["Paris"] * 4 + ["Lyon"] * 4 + ["Rome"] * 3 + ["Lima"] * 2 + ["Cusco"]
    given = published({"town": towns, "ill": list(range(14))}, quasi=["town"], sensitive="ill", distance="equal")
    labels = {k: Counter(generalise(given, Wanted(k=k), trees={"town": PLACES}).columns()["town"]) for k in (1, 3, 9)}
    assert labels[1] == Counter(towns)
    assert labels[3] == {"America": 3, "Rome": 3, "Paris": 4, "Lyon": 4}
    assert labels[9] == {"America | Europe": 14}
    with pytest.raises(Refused, match="lacks Rome"):
        generalise(given, Wanted(k=2), trees={"town": {k: v for k, v in PLACES.items() if k != "Rome"}})


def test_namesakes_in_a_tree_are_measured_as_they_look() -> None:
    """Two groups called Springfield are one to whoever reads the file: what is said of it is what is in it."""
    pairs = [
        (town, state) for state, other in (("Ohio", "Dayton"), ("Iowa", "Ames")) for town in ("Springfield", other)
    ]
    tree = {f"{town} {state} {i}": (town, state) for town, state in pairs for i in range(2)}
    given = published({"town": list(tree), "ill": list(range(8))}, quasi=["town"], sensitive="ill", distance="equal")
    made = generalise(given, Wanted(k=2), trees={"town": tree})
    assert Counter(made.columns()["town"]) == {"Springfield": 4, "Dayton": 2, "Ames": 2}
    assert made.measures == measure(made.columns(), quasi=["town"], sensitive="ill", distance="equal")


def test_missing_values_are_values() -> None:
    ages = [None, None, 1, 2, 3, 10**30]
    given = published({"age": ages, "ill": ["a", "b"] * 3}, quasi=["age"], sensitive="ill")
    assert generalise(given, Wanted(k=1)).columns()["age"] == ["NULL", "NULL", "1", "2", "3", str(10**30)]
    assert generalise(given, Wanted(k=3)).columns()["age"] == ["NULL | 1"] * 3 + [f"2–{10**30}"] * 3
    assert generalise(given, Wanted(k=4)).columns()["age"] == [f"NULL | 1–{10**30}"] * 6
    one = published({"age": [1], "ill": ["a"]}, quasi=["age"], sensitive="ill")
    assert generalise(one, Wanted(k=1)).lost.certainty == 0


@pytest.mark.parametrize(
    ("wanted", "fix"),
    [
        (Wanted(k=7), "k=6"),
        (Wanted(l=4), "l=3"),
        (Wanted(l=3, kind="entropy"), "l=2.74"),
        (Wanted(l=3, kind="recursive", c=2.0), "c=3.01"),
        (Wanted(l=4, kind="recursive", c=2.0), "l=3"),
    ],
)
def test_refusals_name_the_smallest_change(wanted: Wanted, fix: str) -> None:
    given = published(
        {"age": [1, 2, 3, 4, 5, 6], "ill": ["a", "a", "a", "b", "b", "c"]}, quasi=["age"], sensitive="ill"
    )
    with pytest.raises(Refused) as refused:
        generalise(given, wanted)
    assert fix in refused.value.fix
    name, _, value = fix.partition("=")
    changed = Wanted(**{**{f: getattr(wanted, f) for f in ("k", "l", "t", "kind", "c")}, name: float(value)})
    if not (wanted.kind == "recursive" and name == "l"):  # there c is the next thing to change
        generalise(given, changed)


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"l": 0.5}, {"t": -0.1}, {"t": 1.1}, {"t": math.nan}, {"l": 2.5}, {"kind": "odd"}, {"c": 0}]
)
def test_wishes_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        Wanted(**wrong)


def test_a_city_is_cut_as_one_class_would_be() -> None:
    """Many rows: the classes of the generaliser are those that its ranges make, and k is had."""
    numbers = np.arange(20_000)
    given = {"age": numbers * 7919 % 90, "zip": numbers * 104_729 % 7, "ill": numbers * 31 % 11}
    made = generalise(
        published(given, quasi=["age", "zip"], sensitive="ill", distance="equal"), Wanted(k=10, l=3, t=0.6)
    )
    assert made.measures.k >= 10
    assert made.measures.distinct_l >= 3
    assert Classes.by(made.table.quasi).sizes.size == made.measures.classes
    assert measures(made.table) == made.measures
