"""What is kept beside a charge comes back as it was."""

from __future__ import annotations

import json
import zlib
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

import pytest

from discreet.accounting.distributions import DiscreteGaussian, DiscreteLaplace
from discreet.ledger import LedgerDamaged
from discreet.sql.cache import SHORT, NoisyMeasures

LAPLACE, GAUSSIAN = DiscreteLaplace(Fraction(10, 3)), DiscreteGaussian(Fraction(7, 2))
KEYS = [
    ("Ä", 3, None),
    (date(2025, 2, 3), datetime(2025, 2, 3, 4, 5, 6, 7), True),
    (datetime(2025, 2, 3), datetime(2025, 2, 3, tzinfo=UTC), 0.1),
    ("\ud800", "", -(10**30)),
]


def drawn(selected: Any = None) -> NoisyMeasures:
    empty = NoisyMeasures()
    return empty.then((LAPLACE, GAUSSIAN, None), ([1, -2], [10**40], []), selected)


@pytest.mark.parametrize("selected", [None, (), tuple(KEYS)])
def test_everything_comes_back(selected: Any) -> None:
    first = drawn(selected)
    both = first.then((None,), ([0],), None)
    assert NoisyMeasures.decode(first.encode()) == first
    assert NoisyMeasures.decode(both.encode()) == both
    assert NoisyMeasures.decode(NoisyMeasures().encode()) == NoisyMeasures()
    found = NoisyMeasures.decode(first.encode())
    assert found is not None
    assert [[type(key) for key in cell] for cell in found.selected[0] or ()] == [
        [type(key) for key in cell] for cell in selected or ()
    ]


def test_releases_follow_one_another() -> None:
    both = drawn().then((None,), ([0],), (("a",),))
    assert both.noises == ((LAPLACE, GAUSSIAN, None), (None,))
    assert both.values == (([1, -2], [10**40], []), ([0],))
    assert both.selected == (None, (("a",),))


def test_what_another_version_kept_is_not_read() -> None:
    document = json.loads(zlib.decompress(drawn().encode()))
    assert document["version"] == 1
    for other in (0, 2, None, "1"):
        assert NoisyMeasures.decode(zlib.compress(json.dumps({**document, "version": other}).encode())) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"noises": None},
        {"noises": [[["laplace"]]]},
        {"noises": [[["laplace", "1/0"]]]},
        {"noises": [[["x", "1"]]]},
        {"values": 3},
        {"values": [3]},
        {"selected": 3},
        {"selected": [[[{}]]]},
        {"selected": [[[{"day": "2025-02-03"}]]]},
        {"selected": [[[{"date": "soon"}]]]},
        {"selected": [[[{"timestamp": 3}]]]},
    ],
    ids=str,
)
def test_what_nobody_kept_is_damage(wrong: dict[str, Any]) -> None:
    document = {**json.loads(zlib.decompress(drawn().encode())), **wrong}
    for bytes_ in (zlib.compress(json.dumps(document).encode()), b"", b"x", zlib.compress(b"x"), zlib.compress(b"[]")):
        with pytest.raises(LedgerDamaged, match="cannot be read"):
            NoisyMeasures.decode(bytes_)


@pytest.mark.parametrize("count", [1, 30, 100, 1000, 50_000])
def test_short_and_long_ones_come_back_and_are_compressed(count: int) -> None:
    kept = NoisyMeasures().then((LAPLACE,), (list(range(count)),), None)
    stored = kept.encode()
    assert NoisyMeasures.decode(stored) == kept
    text = zlib.decompress(stored)
    assert (len(text) > SHORT) == (count >= 1000)
    assert len(stored) <= len(text) + 11
