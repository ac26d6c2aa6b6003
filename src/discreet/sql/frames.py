"""Frames of windows: which rows around its own a window sees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from discreet.composed import Sql, keyword, literal, sql
from discreet.errors import Refused


@dataclass(frozen=True, slots=True)
class Frame:
    """Which rows around its own a window sees: counted one by one (ROWS), or with all that are equal (RANGE)."""

    sql: Sql
    rows: bool


def frame_of(node: exp.Window) -> Frame | None:
    """As it is written; SQL's own if nothing is: all rows up to this one and its equals, or all rows without an order.

    Ranks, places and neighbours know no frame.
    """
    spec = node.args.get("spec")
    if not isinstance(node.this, (exp.Sum, exp.Avg, exp.Count, exp.Min, exp.Max)):
        if spec is not None:
            raise Refused("function-not-allowed", "a frame means nothing here", "leave it out")
        return None
    if spec is None:
        last = "CURRENT ROW" if node.args.get("order") else "UNBOUNDED FOLLOWING"
        return Frame(sql("RANGE BETWEEN UNBOUNDED PRECEDING AND {}", keyword(last)), rows=False)
    kind = str(spec.args.get("kind")).upper()
    start = _edge(spec.args.get("start"), spec.args.get("start_side"), "PRECEDING")
    end = _edge(spec.args.get("end"), spec.args.get("end_side"), "FOLLOWING")
    counted = {start[0], end[0]} - {-math.inf, 0, math.inf}
    if kind not in ("ROWS", "RANGE") or (kind == "RANGE" and counted):
        raise Refused("function-not-allowed", "frames are counted in rows", "write ROWS BETWEEN …")
    if start[0] > end[0] or start[0] == math.inf or end[0] == -math.inf:
        raise Refused(*_FRAME)
    return Frame(sql("{} BETWEEN {} AND {}", keyword(kind), start[1], end[1]), rows=kind == "ROWS")


_SIDES: Final = {"PRECEDING": -1, "FOLLOWING": 1}
_FRAME: Final = ("syntax", "the frame is malformed", "write ROWS BETWEEN 1 PRECEDING AND CURRENT ROW")


def _edge(bound: Any, side: Any, usual: str) -> tuple[float, Sql]:
    """How many rows after this one a frame starts or ends, and its text."""
    if bound is None or (isinstance(bound, str) and bound.upper() == "CURRENT ROW"):
        return 0, keyword("CURRENT ROW")
    way = str(side or usual).upper()
    if way not in _SIDES:
        raise Refused(*_FRAME)
    if isinstance(bound, str) and bound.upper() == "UNBOUNDED":
        return _SIDES[way] * math.inf, sql("UNBOUNDED {}", keyword(way))
    if isinstance(bound, exp.Literal) and not bound.is_string and str(bound.this).isdecimal():
        rows = min(int(str(bound.this)[:12]), 10**9)
        return _SIDES[way] * rows, sql("{} {}", literal(rows), keyword(way))
    raise Refused(*_FRAME)
