"""The schedule of attempts: both bounds, over all schedules of small size."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from discreet.stream.schedule import Schedule


def test_all_attempts_together_cost_less_than_three_times_each_of_them_and_lines_are_bounded() -> None:
    ratios = [Fraction(1), Fraction(11, 10), Fraction(2), Fraction(5), Fraction(100)]
    for ratio, blocks, more, growth in product(ratios, range(1, 5), range(14), (2, 4)):
        schedule = Schedule.read(start=1, cap=ratio, blocks=blocks, most=blocks + more, growth=growth)
        attempts = schedule.attempts
        assert attempts[0].amount <= 1
        assert attempts[0].amount * growth > 1
        assert attempts[-1].amount == schedule.cap
        assert attempts[-1].blocks == schedule.most
        lines = [Fraction(0)] * (blocks + more)
        total = Fraction(0)
        for index, attempt in enumerate(attempts, start=1):
            for block in range(attempt.blocks):
                lines[block] += attempt.amount
            total += attempt.total
            doubled = attempt.blocks % blocks == 0 and (attempt.blocks // blocks).bit_count() == 1
            assert total == schedule.total(index) < (2 if doubled else 3) * attempt.total
            assert max(lines) == schedule.line(index) <= schedule.line_bound(index)
        assert schedule.line_bound() == 2 * schedule.cap + schedule.cap * schedule.additions()


def test_attempts_grow_in_cost_first_and_then_in_blocks() -> None:
    schedule = Schedule.read(start=Fraction(1, 10), cap=Fraction(4, 10), blocks=3, most=20)
    assert [(str(each.amount), each.blocks) for each in schedule.attempts] == [
        ("1/10", 3), ("1/5", 3), ("2/5", 3), ("2/5", 6), ("2/5", 12), ("2/5", 20),
    ]  # fmt: skip
    fourfold = Schedule.read(start=0.3, cap=1, most=1, growth=4)
    assert [str(each.amount) for each in fourfold.attempts] == ["1/4", "1"]
    unlimited = Schedule.read(start=1, cap=2, blocks=3)
    assert [each.blocks for each in unlimited.attempts[: unlimited.within(13)]] == [3, 3, 6, 12]


@pytest.mark.parametrize(
    "wrong",
    [
        {"start": 0, "cap": 1},
        {"start": -1, "cap": 1},
        {"start": float("nan"), "cap": 1},
        {"start": 1, "cap": float("inf")},
        {"start": 2, "cap": 1},
        {"start": "1", "cap": 1},
        {"start": 1, "cap": 1, "blocks": 0},
        {"start": 1, "cap": 1, "blocks": True},
        {"start": 1, "cap": 1, "blocks": 1.5},
        {"start": 1, "cap": 1, "blocks": 4, "most": 3},
        {"start": Fraction(1, 10**9), "cap": 10**9, "most": 10**9},
    ],
)
def test_what_is_no_schedule_is_said_to_be_none(wrong: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Schedule.read(**wrong)  # type: ignore[arg-type]
