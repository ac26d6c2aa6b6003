"""Tables of other shapes inside of Spark: names with every sign, keys of every kind, units that are numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.engines.spark import buckets
from tests.budget import later
from tests.engines.contract.shapes import SHAPES, check, world_of
from tests.spark.test_language import in_spark


@pytest.mark.parametrize("called", later(SHAPES, first=2))
def test_engines_give_what_duckdb_gives_whatever_tables_look_like(
    called: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "wanted", lambda _: 3)
    shape = SHAPES[called]
    world = world_of(shape, tmp_path)
    with in_spark(spark, world) as (policy, engine):
        check(shape, world, policy, engine)
