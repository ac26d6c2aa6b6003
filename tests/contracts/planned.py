"""All that plans are made of, found in the plans of every fixture of the language, and where to run it.

Nothing is listed here: a node or a measure that no fixture makes is found by the classes that keep its protocol, and
the suites fail until a fixture makes it.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any, Final

import discreet.sql
from discreet.curator.public import PublicTables
from discreet.engines.memory import Memory
from discreet.sql.measures import Measure
from discreet.sql.nodes import Node
from discreet.sql.plan import plan
from discreet.sql.relation import released_name
from discreet.sql.release import Release
from tests.sql import tiny
from tests.sql.fixtures import ANSWERED

Tables = Mapping[str, Sequence[tiny.Row]]

_LATER: Final = ("2024-01-02", "2024-03-30", "2025-06-01", None)
_CROWD: Final = [
    # one patient with more rows, groups, rows in a group and larger values than the policy lets count
    {
        "visit_id": 100 + place, "patient": "p5", "ward": "ABC"[place % 3],
        "kind": (None, "acute", "planned")[place % 3], "cost": (0, 100, -1e9, 1e9, None)[place % 5],
        "nights": (10, 0, 99, -99)[place % 4], "urgent": place % 3 > 0, "day": _LATER[place % 4],
        "note": f"note {place % 6}", "weight": (1e300, None, -5)[place % 3],
    }
    for place in range(24)
]  # fmt: skip
CROWDED: Final[Tables] = {
    **tiny.DATA,
    "visits": [*_CROWD[:12], *tiny.DATA["visits"], *_CROWD[12:]],
    "patients": [*tiny.DATA["patients"], *({"patient": "p5", "age": 7, "sex": "m", "city": "Ulm"} for _ in range(3))],
    "labs": [*({"visit_id": 100 + place % 24, "level": place % 30} for place in range(60)), *tiny.DATA["labs"]],
    "beds": [*tiny.DATA["beds"], tiny.DATA["beds"][0]],
}
"""The tiny hospital, and somebody whose rows do not fit."""
EARLIER: Final = released_name(0).text[:-1]
"""Where a question reads noisy values of its own: they are not there yet."""
TURNED: Final = "turned"
UNITS: Final = ("p1", "p2", "p3", "p4", "p5")


def without(unit: str) -> Tables:
    """The neighbour: all rows of one patient are gone."""
    return {
        table: [row for row in rows if row.get("patient", "") != unit] if "patient" in rows[0] else rows
        for table, rows in CROWDED.items()
    }


def reordered() -> Tables:
    """The same rows in another order: private rows have none."""
    return {table: list(reversed(rows)) for table, rows in CROWDED.items()}


@cache
def releases() -> list[Release]:
    """Of all fixtures, each once."""
    found: dict[tuple[str, tuple[Measure, ...]], Release] = {}
    with ExitStack() as stack:
        engine = Memory(tiny.policy(), tiny.DATA)
        stack.callback(engine.close)
        for fixture in ANSWERED:
            public = PublicTables(lambda: engine)
            made = plan(tiny.policy(fixture.policy), fixture.text, public=public, params=fixture.params)
            found |= {(release.sql().text, release.measures): release for release in made.releases}
    return [release for (text, _), release in found.items() if EARLIER not in text]


def below(node: Any) -> Iterator[Any]:
    """A node, and all that it stands on."""
    yield node
    for field in dataclasses.fields(node):
        if is_node(type(value := getattr(node, field.name))):
            yield from below(value)


@cache
def nodes() -> Mapping[type, list[Node]]:
    """Of all fixtures, each once, by their class."""
    found: dict[type, dict[str, Node]] = defaultdict(dict)
    for release in releases():
        for node in below(release.child):
            found[type(node)][node.sql().text] = node
    return {kind: list(same.values()) for kind, same in found.items()}


@cache
def measures() -> Mapping[type, list[tuple[Release, int]]]:
    """Of all fixtures, as a release and the place in it, by their class: over different rows, keys and lengths."""
    found: dict[type, dict[Any, tuple[Release, int]]] = defaultdict(dict)
    for release in releases():
        for place, measure in enumerate(release.measures):
            shape = type(release.child), len(release.keys), measure.length
            found[type(measure)].setdefault(shape, (release, place))
    return {kind: list(same.values()) for kind, same in found.items()}


def is_node(kind: type) -> bool:
    return _keeps(kind, Node)


def is_measure(kind: type) -> bool:
    return _keeps(kind, Measure)


def _keeps(kind: type, protocol: type) -> bool:
    """Whether a class that is complete (a dataclass) has all that the protocol asks for."""
    asked = {name for name in vars(protocol) if not name.startswith("_")}
    has = set(dir(kind)) | set(getattr(kind, "__dataclass_fields__", ()))
    return dataclasses.is_dataclass(kind) and asked <= has


def classes(keeps: Callable[[type], bool]) -> list[type]:
    """All of a kind that the package defines, wherever they stand."""
    found = []
    for module in pkgutil.walk_packages(discreet.sql.__path__, "discreet.sql."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if kind.__module__ == module.name and keeps(kind):
                found.append(kind)
    return found
