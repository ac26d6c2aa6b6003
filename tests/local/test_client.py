"""One person over time, and strings that nobody can list."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from discreet import local
from discreet.accounting import Pure, Relation
from discreet.local.heavy import END, fingerprints
from tests.local.cases import EACH, HITTERS, value_of
from tests.rigged import Rigged

SURE = 1 - 1e-8
"""At which nothing is found falsely in these tests."""

# Memory


@EACH
def test_the_same_value_is_reported_alike(mechanism: local.Mechanism) -> None:
    value = value_of(mechanism)
    me = local.Client(mechanism, longitudinal=True)
    first = me.report(value)
    assert all(me.report(value) == first for _ in range(20))
    assert not mechanism.read([first]).bad
    assert me.loss == Pure(mechanism.epsilon, relation=Relation.REPLACE_ONE)
    assert "changed" in me.not_hidden


@EACH
def test_without_memory_every_report_is_fresh_and_counted(mechanism: local.Mechanism) -> None:
    me = local.Client(mechanism)
    reports = {me.report(value_of(mechanism)) for _ in range(60)}
    assert len(reports) > 1
    assert me.loss.epsilon == 60 * mechanism.epsilon
    assert me.memory == {}
    assert me.not_hidden == ""


@EACH
def test_memory_survives_a_restart(mechanism: local.Mechanism) -> None:
    me = local.Client(mechanism, longitudinal=True)
    report = me.report(value_of(mechanism))
    stored = json.loads(json.dumps(me.memory))
    again = local.Client(mechanism, longitudinal=True, memory=stored)
    assert again.report(value_of(mechanism), Rigged([])) == report
    assert again.loss == me.loss


def test_each_other_value_costs_again_and_changes_show() -> None:
    """What is not hidden: an attacker who sees two different reports in a row knows that the value changed."""
    me = local.Client(local.LocalHashing(10, 1), longitudinal=True)
    reports = [me.report(value) for value in (3, 3, 7, 7, 3)]
    assert reports[0] == reports[1] == reports[4] != reports[2] == reports[3]
    assert me.loss.epsilon == 2


def test_averaging_finds_no_more_than_one_report() -> None:
    """The majority of 200 reports of a bit: nearly always the truth when fresh, the first report with memory."""
    bit = local.warner(1)

    def wins(longitudinal: bool) -> int:
        right = 0
        for _ in range(60):
            me = local.Client(bit, longitudinal=longitudinal)
            ones = sum(me.report(1)[10] for _ in range(200))
            right += ones > 100
        return right

    assert wins(False) == 60  # a share of 0.73 falls below a half of 200 with probability below 10⁻¹²
    assert wins(True) < 60  # 0.731^60 < 10⁻⁸


def test_memory_of_another_survey_is_refused() -> None:
    me = local.Client(local.warner(1), longitudinal=True)
    me.report(1)
    with pytest.raises(ValueError, match="another mechanism"):
        local.Client(local.warner(2), longitudinal=True, memory=me.memory)
    with pytest.raises(ValueError, match="longitudinal=True"):
        local.Client(local.warner(1), memory=me.memory)
    with pytest.raises(TypeError, match="memory"):
        local.Client(local.warner(1), longitudinal=True, memory=["x"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="mechanism"):
        local.Client("two coins")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="longitudinal"):
        local.Client(local.warner(1), longitudinal="yes")  # type: ignore[arg-type]


def test_numbers_that_are_randomised_alike_are_one_value() -> None:
    me = local.Client(local.PiecewiseMean((0, 1), 1), longitudinal=True)
    assert me.report(0.5) == me.report(0.5000001)
    assert me.report(7.0) == me.report(1.0)


# Heavy hitters


def test_frequent_strings_are_found_and_rare_ones_are_not() -> None:
    words = local.HeavyHitters(4, length=5, step=2, alphabet="abcdefgh")
    rare = ["".join(letters) for letters in np.random.default_rng(0).choice(list("abcdefgh"), size=(6000, 5))]
    said = ["abba"] * 8000 + ["cafe"] * 6000 + ["h"] * 5000 + ["" for _ in range(5000)] + rare
    steps: list[tuple[int, str]] = []

    def watch(each: Iterable[Any], total: int, what: str) -> Iterable[Any]:
        steps.append((total, what))
        return each

    found = words.find([*words.encode(said), b"junk"], SURE, watch=watch)
    assert steps == [(3, "levels of the tree")]
    assert {each.value for each in found.hitters} == {"abba", "cafe", "h", ""}
    shares = {"abba": 8, "cafe": 6, "h": 5, "": 5}
    assert all(each.low <= shares[each.value] / 30 <= each.high for each in found.hitters)
    assert found.bad == {"length": 1}
    assert "cafe" in str(found)


def test_strings_longer_than_the_tree_are_cut() -> None:
    words = local.HeavyHitters(8, length=3, step=2, alphabet="abc")
    found = words.find(words.encode(["abcabc"] * 3000), SURE)
    assert [each.value for each in found.hitters] == ["abc"]


def test_where_nothing_is_frequent_nothing_is_found() -> None:
    words = local.HeavyHitters(1, length=4, alphabet="abcdefgh")
    spread = ["".join(letters) for letters in np.random.default_rng(0).choice(list("abcdefgh"), size=(3000, 4))]
    assert words.find(words.encode(spread), SURE).hitters == ()
    assert words.find([]).hitters == ()
    assert words.find([b"junk"]).count == 0


def test_most_strings_that_are_wanted_are_an_upper_bound() -> None:
    words = local.HeavyHitters(8, length=2, alphabet="ab")
    found = words.find(words.encode(["aa", "ab", "ba", "bb"] * 1000), most=2)
    assert len(found.hitters) == 2


def test_what_can_be_detected_is_said_before() -> None:
    words = local.HeavyHitters(4, length=8)
    assert words.detectable(200_000) == pytest.approx(0.0064, rel=0.05)
    assert words.detectable(800_000) == pytest.approx(words.detectable(200_000) / 2)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"length": 0}, "length"),
        ({"length": 400}, "length"),
        ({"length": 4, "step": 0}, "step"),
        ({"length": 4, "step": 3}, "step"),
        ({"length": 4, "alphabet": ""}, "alphabet"),
        ({"length": 4, "alphabet": "aa"}, "alphabet"),
        ({"length": 4, "alphabet": "a\0"}, "alphabet"),
        ({"length": 4, "alphabet": ["a", "b"]}, "alphabet"),
    ],
)
def test_trees_that_cannot_be_are_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        local.HeavyHitters(1, **options)


def test_strings_that_are_not_of_the_alphabet_are_refused_before_anything_is_drawn() -> None:
    for bad in ("abz", ["ab", "A"], [1], [None], 5, ["\0"], b"ab", ["ä"]):
        with pytest.raises((TypeError, ValueError)):
            HITTERS.encode(bad, Rigged([]))  # type: ignore[arg-type]


def test_a_report_names_its_level_and_the_hash_of_a_prefix() -> None:
    """As docs/reports.md says it, computed here by hand."""
    seen = set()
    hits = 0
    for row in HITTERS.encode(["abca"] * 400):
        payload = row[10:].tobytes()
        level, a, b = payload[0], *(int.from_bytes(payload[i : i + 8], "little") for i in (1, 9))
        value = int(fingerprints(["abca"[: 2 * (level + 1)].ljust(2 * (level + 1), END)])[0])
        hashed = (a * value + b) % 2**64 >> (64 - HITTERS.hashed.width)
        hits += hashed == int.from_bytes(payload[17:21], "little")
        seen.add(level)
    assert seen == {0, 1}
    truth = float(HITTERS.hashed.truth)
    assert abs(hits - 400 * truth) < 6.2 * math.sqrt(400 * truth * (1 - truth))
