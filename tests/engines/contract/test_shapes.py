"""Tables of other shapes inside of PostgreSQL: see `shapes`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.contract.shapes import SHAPES, check, world_of
from tests.engines.contract.worlds import in_postgres
from tests.postgres.cluster import Cluster


@pytest.mark.parametrize("called", SHAPES)
def test_engines_give_what_duckdb_gives_whatever_tables_look_like(
    called: str, database: Cluster, tmp_path: Path
) -> None:
    shape = SHAPES[called]
    world = world_of(shape, tmp_path)
    with in_postgres(database)(world) as (policy, engine):
        check(shape, world, policy, engine)
