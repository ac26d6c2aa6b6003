"""Broken policies: refused with a message or understood, never a traceback, never less protection by leaving out."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from discreet.policy import Column, Kind, Percentage, Policy, PolicyError, Table, fingerprint, parse, protected, read
from tests.policy.changes import meaningful
from tests.policy.examples import BANK, HOSPITAL, policy_of, problems_of, toml
from tests.policy.mutations import bytewise, paths, structural, without

DOCUMENTS: dict[str, dict[str, Any]] = {"hospital": tomllib.loads(HOSPITAL), "bank": tomllib.loads(BANK)}


def check_column(column: Column) -> None:
    assert column.name.isprintable()
    assert Kind(column.kind)
    assert column.bounds is None or column.bounds[0] < column.bounds[1]  # type: ignore[operator]
    assert column.step is None or column.step > 0
    assert column.values is None or len(set(column.values)) == len(column.values) > 0
    assert column.bounds is None or column.values is None


def check_table(table: Table, policy: Policy) -> None:
    assert table.name.isprintable()
    assert table.source.path
    assert "\0" not in table.source.path
    assert all(1 <= limit <= 10**9 for limit in (table.max_rows, table.max_groups, table.max_rows_per_group))
    for name, column in table.columns.items():
        assert name == column.name
        check_column(column)
    if table.owner is not None and table.owner.path:
        end = policy.tables[table.owner.path[-1].table]
        assert end.owner is not None
        assert end.owner.column == table.owner.column
        assert all(not policy.tables[hop.table].is_public for hop in table.owner.path)


def check_policy(policy: Policy) -> None:
    """What every accepted policy promises."""
    assert policy.tables
    assert 0 < policy.budget.epsilon <= 10**9
    assert policy.budget.delta is None or 0 < policy.budget.delta < 1
    for share in policy.analysts.values():
        assert 0 < share.fraction <= 1 if isinstance(share, Percentage) else 0 < share <= policy.budget.epsilon
    assert "owner" not in policy.analysts
    for table in policy.tables.values():
        check_table(table, policy)
    assert len(fingerprint(policy)) == len(protected(policy)) == 64


def check_refusal(refusal: PolicyError, seed: int) -> None:
    lines = str(refusal).split("\n")
    assert len(lines) == len(refusal.problems) > 0, seed
    assert all(line.startswith("mutated.toml: ") and len(line) > 20 and line.isprintable() for line in lines), seed


GENERATORS = (bytewise, structural, meaningful)


def fuzz(reader: Callable[[bytes], Policy], seeds: range) -> dict[bool, Counter[str]]:
    """How many of each kind were accepted and refused; anything else raises, and the seed tells how to see it again."""
    fates: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for seed in seeds:
        generator = GENERATORS[seed % len(GENERATORS)]
        text = generator(Random(seed))
        try:
            check_policy(reader(text))
            fates[True][generator.__name__] += 1
        except PolicyError as wrong:
            check_refusal(wrong, seed)
            fates[False][generator.__name__] += 1
        except Exception as wrong:
            raise AssertionError(f"mutation {seed} raises {type(wrong).__name__}") from wrong
    return fates


def check_sight(fates: dict[bool, Counter[str]]) -> None:
    """A fuzz that is almost always refused does not look at what is accepted: enough of every kind is."""
    total = fates[True].total() + fates[False].total()
    assert 0.25 * total < fates[True].total() < 0.6 * total
    for kind in (bytewise, structural):
        assert fates[True][kind.__name__] > 0.04 * total / len(GENERATORS)
        assert fates[False][kind.__name__] > 0.5 * total / len(GENERATORS)
    assert fates[True][meaningful.__name__] > 0.8 * total / len(GENERATORS)


def test_mutated_policies_are_accepted_or_refused(tmp_path: Path) -> None:
    def through_a_file(text: bytes) -> Policy:
        (tmp_path / "mutated.toml").write_bytes(text)
        return read(tmp_path / "mutated.toml")

    check_sight(fuzz(through_a_file, range(600)))


@pytest.mark.long
@pytest.mark.parametrize("seeds", [range(600, 1_800), pytest.param(range(1_800, 12_600), marks=pytest.mark.slow)])
def test_very_many_mutated_policies_are_accepted_or_refused(seeds: range) -> None:
    """12,000, most of them in the slow suite."""
    check_sight(fuzz(lambda text: parse(text, Path("mutated.toml")), seeds))


def no_less_protected(before: Policy, after: Policy) -> None:
    assert after.unit == before.unit
    assert after.budget.epsilon == before.budget.epsilon
    assert after.budget.delta in (None, before.budget.delta)
    assert after.analysts.items() <= before.analysts.items()
    assert after.max_cost in (None, before.max_cost)  # a convenience of the owner: the budget is what protects
    for name, table in after.tables.items():
        old = before.tables[name]
        assert (table.owner, table.source) == (old.owner, old.source)
        assert table.max_rows <= old.max_rows
        assert table.max_groups in (old.max_groups, table.max_rows)
        assert table.max_rows_per_group in (old.max_rows_per_group, table.max_rows)
        for key, column in table.columns.items():
            known = old.columns[key]
            assert column.bounds in (None, known.bounds)
            assert column.values is None or set(column.values) <= set(known.values or ())
            assert column.nullable in (False, known.nullable)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_leaving_out_any_key_never_protects_less(name: str) -> None:
    document = DOCUMENTS[name]
    before = policy_of(toml(document))
    fates = {}
    for path in paths(document):
        text = toml(without(document, path))
        fates[path] = not problems_of(text)
        if fates[path]:
            no_less_protected(before, policy_of(text))
    assert {path[-1] for path, accepted in fates.items() if accepted} >= {"delta", "analysts", "max_rows", "columns"}
    for path, accepted in fates.items():
        if path[-1] in ("unit", "public", "source", "epsilon", "budget", "min", "max"):
            assert not accepted, path


def test_leaving_out_max_rows_gives_one() -> None:
    document = without(DOCUMENTS["bank"], ("tables", "items", "max_rows"))
    items = policy_of(toml(document)).tables["items"]
    assert (items.max_rows, items.max_groups, items.max_rows_per_group) == (1, 1, 1)


def test_a_public_table_becomes_private_only_with_a_unit() -> None:
    document = without(DOCUMENTS["hospital"], ("tables", "wards", "public"))
    assert [told.split(";")[0] for told in problems_of(toml(document))] == ["tables.wards.unit: missing"]
    document["tables"]["wards"]["unit"] = "ward"
    assert not policy_of(toml(document)).tables["wards"].is_public
