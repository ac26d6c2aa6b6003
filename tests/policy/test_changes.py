"""Policies that an owner changed, and that are accepted: however they are written they mean the same, and they work."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from random import Random

import pytest

from discreet.accounting import Pure
from discreet.curator.curator import Curator
from discreet.curator.dummy.rows import dummy_rows
from discreet.errors import Refused
from discreet.policy import Kind, Policy, Table, fingerprint, protected
from discreet.quoting import name
from tests.policy.changes import CHANGES, changed, shuffled
from tests.policy.examples import policy_of, problems_of, toml
from tests.policy.test_mutations import check_policy
from tests.sql.worlds import opened


def accepted(seeds: range) -> Iterator[tuple[int, Policy]]:
    for seed in seeds:
        text = toml(changed(Random(seed))[0])
        if not problems_of(text):
            yield seed, policy_of(text)


def test_most_changes_are_accepted_each_of_them_often() -> None:
    """The fuzz is blind if what it makes is refused: this is what kept it from looking once."""
    fates: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    policies: set[str] = set()
    for seed in range(160):
        document, chosen = changed(Random(seed))
        fine = not problems_of(toml(document))
        fates[fine].update(chosen)
        if fine:
            policies.add(fingerprint(policy_of(toml(document))))
    total = fates[True].total() + fates[False].total()
    assert fates[True].total() > 0.8 * total
    assert all(fates[True][change.__name__] > 3 for change in CHANGES)
    assert len(policies) > 60


def test_a_policy_means_the_same_however_it_is_written() -> None:
    """Read back after writing, with its keys in another order, and twice: always the same."""
    for seed, policy in accepted(range(400, 460)):
        check_policy(policy)
        text = toml(changed(Random(seed))[0])
        document = tomllib.loads(text)
        assert policy_of(toml(document)) == policy, seed
        turned = policy_of(toml(shuffled(document, Random(seed))))
        assert (fingerprint(turned), protected(turned)) == (fingerprint(policy), protected(policy)), seed
        assert turned == policy, seed


def questions(table: Table) -> Iterator[str]:
    """What every private table answers, and one query for each kind of column that it has."""
    source = name(table.name)
    yield f"SELECT COUNT(*) FROM {source}"
    for column in table.columns.values():
        called = name(column.name)
        if column.values is not None:
            yield f"SELECT {called}, COUNT(*) FROM {source} GROUP BY {called}"
        elif column.bounds is not None and column.kind in (Kind.INTEGER, Kind.NUMBER):
            yield f"SELECT SUM({called}) FROM {source}"
        else:
            yield f"SELECT COUNT({called}) FROM {source}"


def check_queries(seed: int, policy: Policy) -> int:
    """Over made-up rows: what is asked costs what its preview says, the first time, and nothing afterwards."""
    most = min(Fraction(1, 100), policy.max_cost or policy.budget.epsilon)
    asked = 0
    with opened(policy, dummy_rows(policy, 6)) as curator:
        for table in policy.private_tables.values():
            for question in list(questions(table))[:4]:
                asked += answered(curator, question, most, policy)
        assert len(curator.entries()) == asked, seed
    return asked


def answered(curator: Curator, question: str, epsilon: Fraction, policy: Policy) -> bool:
    """Whether it was; what is refused is refused before anything is charged, and that is never a plain count."""
    is_plain = question.startswith("SELECT COUNT(*)")
    try:
        before = curator.preview(question, epsilon=epsilon)
    except Refused as refused:
        if is_plain:
            raise
        with pytest.raises(Refused, match=refused.code):
            curator.query(question, epsilon=epsilon)
        return False
    answer = curator.query(question, epsilon=epsilon)
    assert answer.loss == answer.cost == before.loss, question
    if policy.budget.delta is None:
        assert answer.loss == Pure(epsilon, unit=policy.unit), question
    again = curator.query(question, epsilon=epsilon)
    assert again.cached, question
    assert (again.columns, again.rows) == (answer.columns, answer.rows), question
    return True


@pytest.mark.parametrize(
    "seeds", [range(600, 606), pytest.param(range(606, 760), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_accepted_policies_answer_and_cost_what_they_should(seeds: range) -> None:
    asked = [check_queries(seed, policy) for seed, policy in accepted(seeds)]
    assert len(asked) > 0.8 * len(seeds)
    assert sum(asked) > 3 * len(seeds)
