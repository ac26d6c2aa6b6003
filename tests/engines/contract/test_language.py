"""Every construct of the language on every engine: the exact answers that DuckDB gives, with the noise off.

What an engine does not compute is in its list here, with the reason that the refusal names; nothing else is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.curator import Curator
from discreet.errors import QueryFailed, Refused
from discreet.exit.sampler import Sampler
from tests.budget import later
from tests.engines.contract.worlds import World, in_postgres
from tests.postgres.cluster import Cluster
from tests.sql import tiny
from tests.sql.fixtures import ANSWERED, Fixture
from tests.sql.test_fixtures import same
from tests.sql.worlds import ledger_of, quiet

PARTS = 5
"""Of all fixtures one part runs always, the others in `make test-slow`."""
REFUSED = {
    "SELECT COUNT_IF(CAST(x AS VARCHAR) = '2.5') FROM beds": "a cast from real to text",
    "SELECT COUNT(TRY_CAST(w AS DATE)) FROM beds": "a cast from text to day",
}


@pytest.fixture(scope="module")
def curators(database: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Curator]]:
    with ExitStack() as stack:
        made = {}
        for variant in ("pure", "delta"):
            folder: Path = tmp_path_factory.mktemp(variant)
            world = World(tiny.HEADS[variant] + tiny.TABLES, tiny.DATA, folder)
            policy, engine = stack.enter_context(in_postgres(database)(world))
            ledger = stack.enter_context(ledger_of(policy))
            made[variant] = Curator(policy, ledger, engine=engine, sampler=Sampler(quiet, tiny.every, tiny.best))
        yield made


def asked(curator: Curator, fixture: Fixture) -> list[tuple[Any, ...]]:
    return list(curator.query(fixture.text, params=fixture.params, fresh=True, **fixture.cost).rows)


def check_part(part: int, curators: Mapping[str, Curator], named: Mapping[str, str]) -> None:
    """A part of all fixtures: each gives what DuckDB gives, or is refused for the reason that is named for it."""
    wrong, refused, chosen = [], {}, ANSWERED[part::PARTS]
    for fixture in chosen:
        try:
            rows = asked(curators[fixture.policy], fixture)
        except Refused as refusal:
            refused[fixture.text] = refusal.reason.rpartition(": ")[2]
            continue
        except QueryFailed as failure:
            wrong.append((fixture.text, [(str(failure),)], fixture.gives))
            continue
        pairs = zip(rows, fixture.gives, strict=False)
        if len(rows) != len(fixture.gives) or not all(
            same(a, b, fixture.near) for found, wanted in pairs for a, b in zip(found, wanted, strict=True)
        ):
            wrong.append((fixture.text, rows, fixture.gives))
    assert not wrong
    assert refused == {fixture.text: named[fixture.text] for fixture in chosen if fixture.text in named}


@pytest.mark.long
@pytest.mark.parametrize("part", later(range(PARTS)))
def test_fixtures_give_what_duckdb_gives_or_are_refused_by_name(part: int, curators: dict[str, Curator]) -> None:
    check_part(part, curators, REFUSED)
