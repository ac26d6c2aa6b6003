"""Replay on neighbours inside of PostgreSQL: every fixture, with a unit that has too many rows and without it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.budget import later
from tests.engines.contract.replays import check_replay
from tests.engines.contract.shapes import SHAPES, texts_of, world_of
from tests.engines.contract.test_same_rows import SECRET, crowded
from tests.engines.contract.worlds import World, in_postgres
from tests.postgres.cluster import Cluster
from tests.sql import tiny
from tests.sql.fixtures import ANSWERED

PARTS: Final = 6


@pytest.mark.long
@pytest.mark.parametrize("part", later(range(PARTS)))
@pytest.mark.parametrize("variant", ["pure", "delta"])
def test_one_unit_more_is_not_seen(variant: str, part: int, database: Cluster, tmp_path: Path) -> None:
    fixtures = [each for each in ANSWERED if each.policy == variant][part::PARTS]
    world = World(tiny.HEADS[variant] + tiny.TABLES, crowded(), tmp_path, SECRET)
    asked = [(each.text, {**each.cost, "params": each.params}) for each in fixtures]
    assert check_replay(in_postgres(database), world, "p0", asked) > len(fixtures) // 2


@pytest.mark.parametrize("called", later(SHAPES))
def test_one_unit_more_is_not_seen_whatever_tables_look_like(called: str, database: Cluster, tmp_path: Path) -> None:
    shape = SHAPES[called]
    world = world_of(shape, tmp_path)
    unit = world.rows[shape.table][-1]["patient"]
    asked = [(text, {"rho": 0.001}) for text in texts_of(shape)]
    assert check_replay(in_postgres(database), world, unit, asked) == len(asked)
