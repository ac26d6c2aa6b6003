"""What every operator on private rows keeps, whichever it is: they are found in the plans of all fixtures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from discreet.composed import joined, sql
from discreet.engines.memory import Memory
from discreet.sql.nodes import Node
from tests.contracts.planned import CROWDED, TURNED, UNITS, classes, is_node, nodes

Hospitals = Mapping[str, Memory]
Rows = list[tuple[Any, ...]]


@pytest.fixture(params=classes(is_node), ids=lambda kind: kind.__name__)
def found(request: pytest.FixtureRequest) -> list[Node]:
    """All operators of one class."""
    return nodes()[request.param]


def read(node: Node, engine: Memory) -> Rows:
    """Of every row its unit, its place in the order of the unit, and its values."""
    unit = [] if node.owner.column is None else [node.owner.column]
    columns = [*unit, *node.order, *(field.expr.sql for field in node.fields)]
    return engine.rows(sql("SELECT {} FROM ({})", joined(", ", columns or [sql("1")]), node.sql()))


def counted(rows: Rows) -> Counter[str]:
    return Counter(map(repr, rows))


def test_every_operator_is_met() -> None:
    assert set(nodes()) == set(classes(is_node))


def test_no_unit_has_more_rows_than_are_declared(found: list[Node], hospitals: Hospitals) -> None:
    for node in found:
        if node.rows is None:
            continue
        assert node.work >= node.rows
        rows = read(node, hospitals[""])
        if node.owner.column is None:
            assert len(rows) <= node.rows * len(CROWDED["beds"])
        else:
            units = Counter(row[0] for row in rows)
            assert max(units.values(), default=0) <= node.rows, node
            assert None not in units


def test_without_one_unit_the_rows_of_all_others_are_the_same(found: list[Node], hospitals: Hospitals) -> None:
    """The theorem of each class: what depends on a unit are its own rows alone."""
    for node in found:
        everybody = read(node, hospitals[""])
        for unit in UNITS:
            others = everybody if node.owner.column is None else [row for row in everybody if row[0] != unit]
            assert counted(read(node, hospitals[unit])) == counted(others), (unit, node)


def test_where_private_rows_lie_decides_nothing(found: list[Node], hospitals: Hospitals) -> None:
    for node in found:
        assert counted(read(node, hospitals[TURNED])) == counted(read(node, hospitals[""])), node


def ordered(found: list[Node]) -> Iterator[Node]:
    return (node for node in found if node.rows not in {None, 1} and node.owner.column is not None)


def test_rows_of_a_unit_that_differ_have_different_places(found: list[Node], hospitals: Hospitals) -> None:
    """Else whoever chooses some of them by their places would leave the choice to the engine."""
    for node in ordered(found):
        assert node.order, node
        same = defaultdict(set)
        for row in read(node, hospitals[""]):
            same[row[: 1 + len(node.order)]].add(repr(row))
        assert all(len(rows) == 1 for rows in same.values()), node


def test_what_is_declared_follows_from_the_text() -> None:
    """Plans with the same text are taken for the same question."""
    declared: dict[str, Any] = {}
    for node in (node for found in nodes().values() for node in found):
        said = node.rows, node.owner.column, node.order, node.inside
        assert declared.setdefault(node.sql().text, said) == said
    assert len(declared) > 20
