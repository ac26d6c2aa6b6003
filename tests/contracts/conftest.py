"""The crowded hospital and its neighbours, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from discreet.engines.memory import Memory
from tests.contracts.planned import CROWDED, TURNED, UNITS, reordered, without
from tests.sql import tiny


@pytest.fixture(scope="package")
def hospitals() -> Iterator[Mapping[str, Memory]]:
    """By the name of who is missing; all are there under "", and with their rows in another order under TURNED."""
    tables = {"": CROWDED, TURNED: reordered(), **{unit: without(unit) for unit in UNITS}}
    made = {missing: Memory(tiny.policy(), rows) for missing, rows in tables.items()}
    yield made
    for engine in made.values():
        engine.close()
