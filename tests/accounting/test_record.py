"""Blocks of a stream by name: one name for one set, and nothing else is read."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from discreet.accounting.record import MOST_BLOCKS, MOST_RANGES, BlockNames, common_to, ranges_read, united, without


@pytest.mark.parametrize(
    "ranges",
    [
        (), [(0, 1)], ((0, 1), [3, 4]), ((0,),), ((0, 1, 2),), ((-1, 0),), ((2, 1),), ((0, 1), (1, 2)),
        ((0, 1), (2, 3)), ((4, 5), (0, 1)), ((0, 5), (2, 3)), ((False, True),), ((0, True),), ((0.0, 1),), ((0, 1.0),),
        (("0", "1"),), ((0, MOST_BLOCKS),), ((0, 10**30),), None, "0-1", 5,
        tuple((2 * number, 2 * number) for number in range(MOST_RANGES + 1)),
    ],
)  # fmt: skip
def test_ranges_are_whole_sorted_and_apart(ranges: Any) -> None:
    with pytest.raises(ValueError, match=r"ranges|named"):
        BlockNames("rides", ranges)


def test_as_many_ranges_as_a_record_may_have() -> None:
    assert len(BlockNames.of("rides", range(0, 2 * MOST_RANGES, 2)).ranges) == MOST_RANGES


@pytest.mark.parametrize("stream", ["", None, 3, b"rides"])
def test_blocks_are_those_of_a_stream_with_a_name(stream: Any) -> None:
    with pytest.raises(ValueError, match="has a name"):
        BlockNames(stream, ((0, 1),))


@pytest.mark.parametrize("numbers", [[1, 1], [True], [0.0], ["0"], [None]])
def test_numbers_are_whole_and_named_once(numbers: Any) -> None:
    with pytest.raises(ValueError, match="whole numbers"):
        BlockNames.of("rides", numbers)


@pytest.mark.parametrize(
    "text",
    [
        "", "0-0", "00", "01-2", "0\n", "2-1", "0-1,2", "1,0", "-1", "0-", "0,", ",", "0-1-2", "0-1,1-3", "٣", " 0",
        "1e3", "a", "12345678", "0-9999999", "0–1", None, 5, ["0"],
    ],
)  # fmt: skip
def test_only_what_was_written_is_read(text: Any) -> None:
    with pytest.raises(ValueError, match="ranges"):
        ranges_read(text)


def test_names_survive_the_record_and_agree_with_sets() -> None:
    draw = random.Random(23)
    for _ in range(300):
        some, others = (set(draw.sample(range(30), draw.randrange(1, 25))) for _ in range(2))
        names, rest = BlockNames.of("rides", some), BlockNames.of("rides", others)
        assert BlockNames.read(json.loads(json.dumps(names.fields()))) == names
        assert (list(names), len(names)) == (sorted(some), len(some))
        for ranges, numbers in (
            (common_to(names.ranges, rest.ranges), some & others),
            (without(names.ranges, rest.ranges), some - others),
            (united([*names.ranges, *rest.ranges]), some | others),
        ):
            assert [each for low, high in ranges for each in range(low, high + 1)] == sorted(numbers)
    names = BlockNames("rides by day", ((0, 363), (365, 365)))
    assert (names.label, str(names)) == ("0-363,365", "rides by day 0-363,365")
    assert BlockNames.parse(str(names)) == names
    with pytest.raises(ValueError, match="ranges"):
        BlockNames.parse("rides")
