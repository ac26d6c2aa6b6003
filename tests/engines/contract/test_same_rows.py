"""With `hash = "md5"` all engines choose the same rows and groups of units that have too many of them.

The rows are hostile, and every bound of the policy cuts: of each unit there are more rows than may count. What DuckDB
has in its copy, and what it computes for each query of every fixture, engines have and compute.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from discreet.curator.curator import Curator
from discreet.engines.digests import MAX_VALUES, derived, digest, macros
from discreet.engines.memory import Memory
from discreet.engines.postgres_engine import Postgres, is_private
from discreet.engines.rewriting import UnknownError
from discreet.exit.sampler import Sampler
from discreet.policy import Policy, PolicyError, parse
from discreet.policy.layout import (
    PLACE,
    coded_keys,
    copied_columns,
    key_code,
    ranked_pairs,
    seen_count,
    seen_keys,
    seen_rank,
)
from tests.budget import later
from tests.engines.contract.test_hostile import DAYS
from tests.engines.contract.test_hostile_rows import NAMES, VALUES, ordered
from tests.engines.contract.worlds import Recording, Rows, World, in_postgres
from tests.plain import plain
from tests.postgres.cluster import Cluster
from tests.sql import tiny
from tests.sql.fixtures import ANSWERED, Fixture
from tests.sql.worlds import ledger_of, quiet

PARTS: Final = 12
SECRET: Final = "5e" * 32
HEAD: Final = 'hash = "md5"\n'
EACH: Final = {"visits": 9, "patients": 3, "bills": 7, "labs": 2, "items": 2, "beds": 40}
"""Rows of a unit, or of what leads to it: more than count."""
Noted = Mapping[str, tuple[Recording, Curator]]


def crowded() -> Rows:
    """Units with more rows than they may have, of declared values and of hostile ones."""
    dice, rows = random.Random(11), dict[str, Any](tiny.DATA)
    policy = tiny.policy("delta")
    for label, count in EACH.items():
        table = policy.tables[label]
        rows[label] = [
            {
                **{
                    column.name: dice.choice([*(column.values or ()), *(column.values or ()), *VALUES[column.kind]])
                    for column in table.columns.values()
                },
                **({NAMES[label]: f"p{unit}"} if label in NAMES else {}),
                **({"day": dice.choice(DAYS)} if label == "visits" else {}),
                **({"visit_id": unit * 9 + row} if label in ("visits", "labs") else {}),
                **({"bill": unit * 7 + row} if label in ("bills", "items") else {}),
            }
            for unit in range(1 if label == "beds" else 12)
            for row in range(count)
        ]
    return rows


@contextmanager
def over_duckdb(rows: Rows, policies: Mapping[str, Policy]) -> Iterator[Noted]:
    """A curator over DuckDB for each policy, and what it asks."""
    with ledger_of(policies["pure"]) as pure, ledger_of(policies["delta"]) as delta:
        made = {}
        for variant, ledger in (("pure", pure), ("delta", delta)):
            engine = Recording(Memory(policies[variant], rows, derived(SECRET)))
            sampler = Sampler(quiet, tiny.every, tiny.best)
            made[variant] = engine, Curator(policies[variant], ledger, engine=engine, sampler=sampler)
        yield made
        for engine, _ in made.values():
            engine.engine.close()


def policy_of(variant: str, folder: Path, more: str = HEAD) -> Policy:
    return parse((more + tiny.HEADS[variant] + tiny.TABLES).encode(), folder / "world.toml")


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Noted]:
    rows, folder = crowded(), tmp_path_factory.mktemp("crowded")
    policies = {variant: policy_of(variant, folder) for variant in ("pure", "delta")}
    with over_duckdb(rows, policies) as made:
        yield made


@pytest.fixture(scope="module")
def engine(database: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    world = World(HEAD + tiny.HEADS["delta"] + tiny.TABLES, crowded(), tmp_path_factory.mktemp("there"), SECRET)
    with in_postgres(database)(world) as (_, made):
        assert isinstance(made, Postgres)
        yield made


def held(policy: Policy, label: str) -> str:
    """The columns of a copy, those that every engine has alike: not the numbers that stand for units and keys."""
    table = policy.tables[label]
    numbers = {PLACE, *map(key_code, coded_keys(table))}
    return ", ".join(f'"{column}"' for column in copied_columns(table, policy.unit_kind) if column not in numbers)


@pytest.mark.long
def test_copies_hold_the_same_rows_with_the_same_ranks(noted: Any, engine: Postgres, database: Cluster) -> None:
    local, policy = noted["delta"][0].engine, engine._policy
    for table in policy.private_tables.values():
        if table.owner is None or table.owner.column is None:
            continue
        name = f'{policy.engine_schema}."{engine._names.table(policy, table.name)}"'
        with database.connect() as connection:
            query = f"SELECT {held(policy, table.name)} FROM {name}"
            ours = connection.execute(query.encode()).fetchall()
        theirs = local.execute(f"SELECT {held(policy, table.name)} FROM {table.name}")
        assert sorted(map(repr, ours)) == sorted(map(repr, theirs)), table.name
        assert len(ours) < len(crowded()[table.name]) or table.name in ("labs", "items")


def asked(fixture: Fixture, noted: Any) -> list[Any]:
    """The queries about private rows that a fixture makes."""
    recording, curator = noted[fixture.policy]
    recording.asked.clear()
    curator.query(fixture.text, params=fixture.params, fresh=True, **fixture.cost)
    return [query for query in recording.asked if is_private(query, curator.policy)]


def check_part(part: int, noted: Any, engine: Any) -> None:
    """Of a part of all fixtures each query gives here what it gives in DuckDB."""
    different, compared = [], 0
    for fixture in ANSWERED[part::PARTS]:
        for query in asked(fixture, noted):
            try:
                ours = engine.rows(query)
            except UnknownError:
                continue  # refused by its text: `test_language` lists which
            compared += 1
            if ordered(ours) != ordered(noted[fixture.policy][0].engine.rows(query)):
                different.append((fixture.text, query.text, ours))
    assert not different, different[:3]
    assert compared > len(ANSWERED) // PARTS // 2


@pytest.mark.long
@pytest.mark.parametrize("part", later(range(PARTS)))
def test_every_query_of_a_plan_gives_what_duckdb_gives(part: int, noted: Any, engine: Postgres) -> None:
    check_part(part, noted, engine)


def test_hashes_are_those_of_the_texts() -> None:
    """By hand, so that no engine can agree with another on something else."""
    import hashlib

    said = "t1:kn;i-7;r4609434218613702656;t2:ßb1;s-62135596800000000;s1000000;"
    values = ["'k'", "NULL::VARCHAR", "-7", "1.5::DOUBLE", "'ß'", "true", "DATE '0001-01-01'"]
    values.append("TIMESTAMP '1970-01-01 00:00:01'")
    wanted = int(hashlib.md5(said.encode(), usedforsecurity=False).hexdigest()[:16], 16)
    with plain() as connection:
        for text in macros("md5"):
            connection.execute(text)
        assert connection.execute(f"SELECT hash({', '.join(values)}), {digest(*values)}").fetchall() == [
            (wanted, wanted)
        ]
        many = ", ".join(["1"] * MAX_VALUES)
        assert len(connection.execute(f"SELECT hash({many})").fetchall()) == 1
    assert list(macros("own")) == []


@pytest.mark.parametrize("value", ['"sha1"', '""', "7", "true", '"MD5"', "[]", '"\\u0000"'])
def test_other_hashes_are_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(PolicyError, match="is no hash that engines share"):
        policy_of("pure", tmp_path, f"hash = {value}\n")


PAIRED = (
    "SELECT ward, kind, COUNT(*) AS n FROM visits GROUP BY ward, kind",
    "SELECT ward, urgent, SUM(cost) AS total FROM visits GROUP BY ward, urgent",
    "SELECT kind, urgent, COUNT(DISTINCT patient) AS n FROM visits GROUP BY kind, urgent",
)


FILTERED = (
    "SELECT ward, COUNT(*) AS n FROM visits WHERE weight IS NULL OR weight < 2 GROUP BY ward",
    "SELECT ward, SUM(cost) AS total, COUNT(DISTINCT patient) AS n FROM visits WHERE urgent GROUP BY ward",
    "SELECT ward, kind, COUNT(*) AS n FROM visits WHERE weight IS NULL OR weight < 2 GROUP BY 1, 2",
    "SELECT urgent, ward, AVG(cost) AS mean FROM visits WHERE day IS NOT NULL GROUP BY urgent, ward",
    "SELECT v.ward, COUNT(*) AS n FROM visits v JOIN patients p ON v.patient = p.patient WHERE v.nights < 9 GROUP BY 1",
)


def answered(policy: Policy, texts: tuple[str, ...]) -> tuple[list[Any], str]:
    """What these queries answer without noise, over units that have too many rows and groups, and what they ask."""
    engine = Recording(Memory(policy, crowded(), derived(SECRET)))
    try:
        with ledger_of(policy) as ledger:
            curator = Curator(policy, ledger, engine=engine, sampler=Sampler(quiet, tiny.every, tiny.best))
            answers = [sorted(map(repr, curator.query(text, rho=0.1).rows)) for text in texts]
        return answers, " ".join(query.text for query in engine.asked)
    finally:
        engine.engine.close()


def with_tables(policy: Policy, **how: Any) -> Policy:
    return replace(policy, tables={label: replace(table, **how) for label, table in policy.tables.items()})


@pytest.mark.long
def test_stored_ranks_of_pairs_choose_what_masks_would(tmp_path: Path) -> None:
    """The same rows and key with and without them: the answers are the same, and the queries are not."""
    policy = policy_of("delta", tmp_path)
    (ours, text), (theirs, other) = answered(policy, PAIRED), answered(with_tables(policy, pairs=False), PAIRED)
    assert ours == theirs
    assert "_discreet_pair_" in text
    assert "bit_or(" not in text
    assert "bit_or(" in other


@pytest.mark.long
def test_after_a_filter_ranks_by_first_rows_choose_what_masks_would(tmp_path: Path) -> None:
    """Also where the rows of each unit lie together, and are looked at in one pass, and where those of late groups lie
    apart; without any bound answers differ."""
    policy = with_tables(policy_of("delta", tmp_path), max_groups=1)
    (ours, text), (there, window) = (answered(with_tables(policy, apart=apart), FILTERED) for apart in (False, True))
    theirs, other = answered(with_tables(policy, pairs=False), FILTERED)
    parts, parted = answered(with_tables(policy, parted=True), FILTERED)
    assert ours == there == theirs == parts
    assert parted.count('ORDER BY "u"') == parted.count("UNION ALL") == 2  # one key, of one table: others are looked up
    assert parted.count("ANTI JOIN") == len(FILTERED)
    assert text.count("ANTI JOIN") == window.count('bit_or("bit") OVER (PARTITION BY "u")') == len(FILTERED)
    assert "OVER" not in text
    assert "ANTI JOIN" not in window
    assert "ANTI JOIN" not in other
    free, _ = answered(with_tables(policy, max_groups=4), FILTERED)
    assert sum(one != other for one, other in zip(free, theirs, strict=True)) >= 3


def test_ranks_of_pairs_are_those_of_their_first_rows(noted: Any) -> None:
    """By hand: pairs of a unit in the order of its rows; a pair without a key that it needs has no rank."""
    local, policy = noted["delta"][0].engine, noted["delta"][1].policy
    pairs = ranked_pairs(policy.tables["visits"])
    assert len(pairs) == 6
    most = 0
    for (first, second), stored in pairs.items():
        rows = local.execute(
            f"SELECT _discreet_unit, {first}, {second}, {stored} FROM visits ORDER BY 1, _discreet_row"
        )
        needed = [not policy.tables["visits"].columns[key].nullable for key in (first, second)]
        seen: dict[str, list[Any]] = {}
        for unit, *keys, rank in rows:
            known = seen.setdefault(unit, [])
            if any(need and key is None for need, key in zip(needed, keys, strict=True)):
                assert rank is None
                continue
            if keys not in known:
                known.append(keys)
            assert rank == known.index(keys) + 1
        most = max(most, *map(len, seen.values()))
    assert most > policy.tables["visits"].max_groups


def test_ranks_of_keys_are_those_of_their_first_rows(noted: Any) -> None:
    local, table = noted["delta"][0].engine, noted["delta"][1].policy.tables["visits"]
    assert seen_keys(table)
    for key in seen_keys(table):
        rows = local.execute(
            f"SELECT _discreet_unit, {key}, {seen_rank(key)}, {seen_count(key)} FROM visits ORDER BY 1, _discreet_row"
        )
        known: dict[str, list[Any]] = {}
        for unit, value, rank, _ in rows:
            held = known.setdefault(unit, [])
            if value is None and not table.columns[key].nullable:
                assert rank is None
                continue
            if value not in held:
                held.append(value)
            assert rank == held.index(value) + 1
        assert all(count == len(known[unit]) for unit, _, _, count in rows)
