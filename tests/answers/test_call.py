"""How a question is asked survives the ledger's JSON and the wire."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.answers.call import Call, read, written
from discreet.errors import Refused

CALLS: list[dict[str, Any]] = [
    {"epsilon": 0.1},
    {"epsilon": 1, "delta": 1e-9},
    {"rho": Fraction(1, 3)},
    {"epsilon": Decimal("0.25"), "confidence": 0.9},
    {"error": 10},
    {"error": {"n": 10, "cost": 0.5}, "dialect": "bigquery"},
    {"epsilon": 1, "params": {"a": 1, "b": -2.5, "c": "x'y", "d": None, "e": True}},
    {"epsilon": 1, "params": {"day": date(2026, 1, 2), "at": datetime(2026, 1, 2, 3, 4, 5, 6)}},
    {"epsilon": 1, "params": {"third": Fraction(1, 3)}},
    {"epsilon": 1, "params": {"ward": "A"}},
    {"rho": Fraction("1/" + "3" * 998)},
]


@pytest.mark.parametrize("given", CALLS, ids=lambda given: str(given)[:40])
def test_a_call_comes_back(given: dict[str, Any]) -> None:
    call = Call(sql="SELECT 1", **given)
    assert read("SELECT 1", json.loads(json.dumps(written(call)))) == call


def test_numbers_of_other_libraries_are_written_as_pythons() -> None:
    call = Call(sql="", epsilon=np.float64(0.1), params={"n": np.int64(7)})
    assert json.dumps(written(call)) == '{"epsilon": 0.1, "params": {"n": 7}}'


@pytest.mark.parametrize(
    "said",
    [
        {"date": "tomorrow"},
        {"timestamp": "x"},
        {"number": "1e99999999"},
        {"number": "1/0"},
        {"number": "9" * 5000},
        {"number": "1/" + "3" * 999},
    ],
    ids=lambda said: str(said)[:40],
)
def test_what_cannot_be_read_is_refused(said: dict[str, str]) -> None:
    with pytest.raises(Refused, match="syntax"):
        read("SELECT 1", {"params": {"a": said}})


def test_tables_that_only_look_like_a_date_stay_tables() -> None:
    assert read("", {"error": {"n": 1, "date": 2}}).error == {"n": 1, "date": 2}
    assert read("", {"error": {"date": 2}}).error == {"date": 2}


@pytest.mark.parametrize("value", [[1], b"x", 1j, object()], ids=["list", "bytes", "complex", "object"])
def test_values_that_no_question_can_hold_are_refused(value: object) -> None:
    with pytest.raises(Refused, match="a value cannot be used"):
        written(Call(sql="", epsilon=1, params={"a": value}))


def test_numbers_that_could_not_be_read_again_are_not_written() -> None:
    longest = Fraction("1/" + "9" * 998)
    assert read("", json.loads(json.dumps(written(Call(sql="", epsilon=longest))))).epsilon == longest
    with pytest.raises(Refused, match="fewer digits"):
        written(Call(sql="", epsilon=Fraction("1/" + "9" * 999)))
