"""Replay on neighbours inside of Spark: with a unit that has too many rows and without it, what is seen is the same."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from discreet.engines.spark import buckets
from tests.budget import later
from tests.engines.contract.replays import check_replay
from tests.engines.contract.shapes import SHAPES, texts_of, world_of
from tests.spark.test_language import in_spark

PARTS: Final = 4


@pytest.mark.parametrize("part", later(range(PARTS)))
def test_one_unit_more_is_not_seen(part: int, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "wanted", lambda _: 2)
    shape = SHAPES["wide"]
    world = world_of(shape, tmp_path)
    unit = world.rows[shape.table][-1]["patient"]
    asked = [(text, {"rho": 0.001}) for text in texts_of(shape)[part::PARTS]]
    assert check_replay(partial(in_spark, spark), world, unit, asked) == len(asked)
