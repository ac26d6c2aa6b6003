"""What every publication keeps, whichever it is. The table of cases must name all of them: none can dodge."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet.release
from discreet.errors import QueryFailed, Refused
from discreet.ledger import LedgerDamaged
from discreet.release.codec import decode, encode
from discreet.release.core import PUBLICATIONS, Published
from discreet.release.publish import Publish
from tests.release.cases import CASES, HEADS, POLICY, Case, nothing_differs_and_all_is_charged, world
from tests.sql.worlds import opened, policy_of

RUNS = [pytest.param(case, head, id=f"{case.name}-{head}") for case in CASES for head in case.heads]
ROWS = 3
EPSILON = 1


def same(first: Published, second: Published) -> bool:
    """Whether two values say the same: arrays have no equality of their own."""
    return encode(first) == encode(second)


def test_every_publication_is_in_the_table() -> None:
    known = {name for name, kind in PUBLICATIONS.items() if kind.__module__.startswith("discreet.release.")}
    assert known == {type(case.make()).__name__ for case in CASES}
    assert known <= set(discreet.release.__all__)


# on a curator


@pytest.mark.parametrize(("case", "head"), RUNS)
def test_what_leaves_costs_what_is_charged_and_moves_within_its_sensitivity(case: Case, head: str) -> None:
    """Replay on all neighbours of a few databases, with every private key selected."""
    policy = policy_of(POLICY, head=HEADS[head])
    task = Publish(case.make(), case.sql, epsilon=EPSILON, max_rows=ROWS, fresh=True)
    nothing_differs_and_all_is_charged(policy, task, [(0, 0), (1, 1), (3, 2)])


@pytest.mark.parametrize(("case", "head"), RUNS)
def test_it_is_previewed_charged_cached_and_recalled(case: Case, head: str) -> None:
    policy = policy_of(POLICY, head=HEADS[head])
    with opened(policy, world(20)) as curator:
        preview = curator.preview_release(case.make(), case.sql, epsilon=EPSILON)
        assert not preview.cached
        assert not curator.entries()
        first = curator.release(case.make(), case.sql, epsilon=EPSILON)
        (entry,) = curator.entries()
        assert entry.answered
        assert entry.loss == preview.loss == first.cost
        assert first.receipt.startswith(f"{entry.number}:")
        again = curator.release(case.make(), case.sql, epsilon=EPSILON / 2)
        assert again.cached
        assert same(first, again)
        assert curator.preview_release(case.make(), case.sql, epsilon=EPSILON).cached
        assert same(first, curator.recall(entry.number))
        assert len(curator.entries()) == 1
        fresh = curator.release(case.make(), case.sql, epsilon=EPSILON, fresh=True)
        assert not fresh.cached
        assert len(curator.entries()) == 2


@pytest.mark.parametrize(("case", "head"), RUNS)
def test_without_noise_the_exact_values_come_out(case: Case, head: str) -> None:
    policy = policy_of(POLICY, head=HEADS[head])
    data = world(30)
    names = ("ward", "flag", "day", "note", "cost", "stay")
    kept: dict[int, int] = {}
    rows = []
    for row in data["visits"]:
        kept[row["person"]] = kept.get(row["person"], 0) + 1
        if kept[row["person"]] <= ROWS:
            rows.append(row)
    listed = case.sql.removeprefix("SELECT ").partition(" FROM ")
    chosen = [name.strip() for name in listed[0].split(",")] if listed[1] else list(names)
    tuples = [tuple(_declared(name, row[name]) for name in chosen) for row in rows]
    with opened(policy, {**data, "visits": rows}) as curator:
        case.exact(tuples, curator.release(case.make(), case.sql, epsilon=EPSILON, max_rows=ROWS))


def _declared(name: str, value: Any) -> Any:
    """As the copy has it: what is not declared is NULL."""
    if name == "ward":
        return value if value in ("A", "B") else None
    return None if value != value else value


@pytest.mark.parametrize(("case", "head"), RUNS)
def test_refusals_come_before_the_charge_and_say_what_to_do(case: Case, head: str) -> None:
    policy = policy_of(POLICY, head=HEADS[head])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "cost-missing"),
        ({"epsilon": 0}, "cost-invalid"),
        ({"epsilon": "1"}, "cost-invalid"),
        ({"epsilon": 1, "max_rows": 0}, "cost-invalid"),
        ({"epsilon": 1, "analyst": "nobody"}, "unknown-analyst"),
        ({"epsilon": 1, "fresh": "yes"}, "cost-invalid"),
    ]
    with opened(policy, world(3)) as curator:
        for options, code in wrong:
            with pytest.raises(Refused) as refused:
                curator.release(case.make(), case.sql, **options)
            assert refused.value.code == code
            assert refused.value.fix
        for text in ("SELECT ward FROM wards", "SELECT COUNT(*) FROM visits", "SELECT", "nothing", 5):
            with pytest.raises(Refused):
                curator.release(case.make(), text, epsilon=1)
        assert not curator.entries()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_takes_too_long_is_charged_and_gives_nothing(case: Case) -> None:
    policy = policy_of(POLICY, head=HEADS[case.heads[-1]])
    with opened(policy, world(3), time_limit=0) as curator:
        with pytest.raises(QueryFailed):
            curator.release(case.make(), case.sql, epsilon=1)
        (entry,) = curator.entries()
        assert not entry.answered


# on arrays


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_arrays_it_costs_what_it_says_and_takes_any_values(case: Case) -> None:
    publication, data = case.own()
    hostile = [None, float("nan"), float("inf"), -1e308, 10**400, "x" * 100, b"\0", [1], {}, object(), np.nan, True]
    columns = {
        name: [hostile[(place + shift) % len(hostile)] for place in range(12)] for shift, name in enumerate(data)
    }
    empty: dict[str, list[Any]] = {name: [] for name in data}
    for each in (data, columns, empty):
        released = publication.release(each, epsilon=Fraction(3, 2), delta=1e-6)
        assert released.cost is not None
        assert same(released, decode(encode(released), Published))  # type: ignore[arg-type]
    with pytest.raises(Refused, match="cost-missing"):
        publication.release(data)
    missing = dict(list(data.items())[:-1])
    if missing:
        with pytest.raises(ValueError, match="column"):
            publication.release(missing, epsilon=1, delta=1e-6)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bytes_that_somebody_changed_are_not_believed(case: Case) -> None:
    publication, data = case.own()
    document = json.loads(encode(publication.release(data, epsilon=1, delta=1e-6)))
    assert decode(json.dumps({**document, "version": 99}).encode(), Published) is None
    fields = document["value"]["fields"]
    broken: list[Any] = [b"", b"[]", b"{}", b"\xff", b'{"version": 1}']
    broken.append(json.dumps({**document, "value": {"stored": "Domain", "fields": {}}}).encode())
    broken.append(json.dumps({**document, "value": {"stored": "os.system", "fields": {}}}).encode())
    broken.append(json.dumps({**document, "value": {**document["value"], "fields": {**fields, "charged": 1}}}).encode())
    wrong: tuple[Any, ...] = (None, [], "text", -1.5, {"tuple": []}, {"stored": "Domain", "fields": {}})
    for name in fields:
        for value in wrong:
            if value != fields[name] and not (value is None and _is_optional(fields, name)):
                changed = {**document["value"], "fields": {**fields, name: value}}
                broken.append(json.dumps({**document, "value": changed}).encode())
    for each in broken:
        try:
            read = decode(each, Published)
        except LedgerDamaged:
            continue
        assert read is not None
        encode(read)  # what is still a value of its class is whole


def _is_optional(fields: dict[str, Any], name: str) -> bool:
    return fields[name] is None
