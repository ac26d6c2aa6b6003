"""Replay on neighbours, rows in engines: all that is seen is the same, and exact numbers move within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.audit.neighbours import Data
from discreet.audit.replay import Replay, every_key
from discreet.policy import Policy
from tests.engines.contract.worlds import World

Asked = tuple[str, Mapping[str, Any]]
"""A question, and what it is asked with."""


class Elsewhere(Replay):
    """Asks engines that hold the rows already."""

    def __init__(self, policy: Policy, held: Sequence[tuple[Data, Any]]) -> None:
        super().__init__(policy, selects=every_key)
        self._held = held

    def _engine(self, data: Data) -> Any:
        return next(engine for rows, engine in self._held if rows is data)


def without(world: World, unit: object, folder: Path) -> World:
    """The same world without one unit, with all that is its own or leads to it."""
    rows: dict[str, Any] = {}
    for label, held in world.rows.items():
        rows[label] = [row for row in held if row.get("patient", "") != unit]
    for label, key in (("labs", "visit_id"), ("items", "bill")):
        if label in rows:
            above = {"labs": "visits", "items": "bills"}[label]
            kept = {row[key] for row in rows[above]}
            rows[label] = [row for row in rows[label] if row[key] in kept]
    folder.mkdir(exist_ok=True)
    return replace(world, rows=rows, folder=folder)


def check_replay(opening: Callable[[World], Any], world: World, unit: object, asked: Iterable[Asked]) -> int:
    """Ask each question with the unit and without it; how many there were that the engine answers."""
    smaller, compared, seen = without(world, unit, world.folder / "smaller"), 0, []
    assert smaller.rows != world.rows
    with (
        opening(world) as (policy, more),
        opening(smaller) as (_, fewer),
        Elsewhere(policy, [(world.rows, more), (smaller.rows, fewer)]) as auditor,
    ):
        for text, given in asked:
            report = auditor.compare(text, world.rows, smaller.rows, **given)
            if not report.same:
                seen.append(str(report))
            compared += bool(auditor.ledger.noted)
    assert not seen, seen[:2]
    return compared
