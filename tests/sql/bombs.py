"""Questions that are short and try to make much of one row: texts that double, and rows that multiply."""

from __future__ import annotations

import random
from typing import Final

TEXTS: Final = ("note", "ward", "'0123456789'", "CAST(cost AS VARCHAR)", "COALESCE(note, 'x')")
GROWING: Final = (
    "({0} || {0})", "CONCAT({0}, {0}, {0})", "CONCAT({0}, '-', {0})", "UPPER({0})", "({0} || note)", "REPEAT({0}, 9)",
    "REPLACE({0}, '', {0})", "LPAD({0}, 99999999, 'x')", "SUBSTR({0} || {0}, 1, 999999999)", "TRIM({0} || {0})",
    "COALESCE({0} || {0}, '')", "CASE WHEN LENGTH({0}) > 3 THEN {0} || {0} ELSE {0} END", "LEAST({0} || {0}, {0})",
)  # fmt: skip
ASKED: Final = (
    "SELECT COUNT(*) FROM {0}", "SELECT COUNT(t) FROM {0}", "SELECT COUNT(DISTINCT t) FROM {0}",
    "SELECT SUM(CLAMP(LENGTH(t), 0, 1000)) FROM {0}", "SELECT COUNT(*) FROM {0} WHERE LENGTH(t) > 1000000",
    "SELECT LENGTH(t) > 9 AS k, COUNT(*) FROM {0} GROUP BY k", "SELECT t, COUNT(*) FROM {0} GROUP BY t",
    "SELECT COUNT(*) FROM {0} WHERE t LIKE '%a%b%c%d%'", "SELECT COUNT(*) FROM {0} WHERE t = LOWER(t)",
)  # fmt: skip
TABLES: Final = ("visits", "visits", "labs", "patients")
SIDES: Final = ("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")


def bombed(dice: random.Random) -> str:
    """A text that grows in subqueries of subqueries: by one character of the question it may double."""
    source = f"(SELECT patient, note, {dice.choice(TEXTS)} AS t FROM visits) AS s"
    for _ in range(dice.randint(1, 14)):
        text = "t"
        for _ in range(dice.randint(1, 3)):
            text = dice.choice(GROWING[:5] if dice.random() < 0.9 else GROWING).format(text)
        source = f"(SELECT patient, note, {text} AS t FROM {source}) AS s"
    return dice.choice(ASKED).format(source)


def fanned(dice: random.Random) -> str:
    """Tables that are joined and united with themselves, side by side and level above level."""
    ctes = ["c0 AS (SELECT patient, ward, cost FROM visits)"]
    for level in range(1, dice.randint(1, 6)):
        below = [f"c{dice.randrange(level)}" for _ in range(2)]
        ctes.append(f"c{level} AS ({dice.choice((_united, _joined, _per_unit, _with_public))(dice, *below)})")
    last = f"c{len(ctes) - 1}"
    more = "".join(
        f" {dice.choice(SIDES[:3])} {dice.choice(TABLES)} t{n} ON {last}.patient = t{n}.patient"
        for n in range(dice.randint(0, 5))
    )
    asked = dice.choice((f"SELECT {last}.patient, COUNT(*) AS n FROM {last}{more} GROUP BY {last}.patient", ""))
    counted = (
        f"SELECT COUNT(*) FROM ({asked}) AS u" if asked else f"SELECT COUNT(*), SUM({last}.cost) FROM {last}{more}"
    )
    return f"WITH {', '.join(ctes)} {counted}"


def _united(_: random.Random, a: str, b: str) -> str:
    return f"SELECT patient, ward, cost FROM {a} UNION ALL SELECT patient, ward, cost FROM {b}"


def _joined(dice: random.Random, a: str, b: str) -> str:
    further = dice.choice(("", " AND a.cost >= b.cost", " AND a.ward = b.ward", " AND a.cost + b.cost < 1000"))
    return f"SELECT a.patient, b.ward, a.cost FROM {a} a {dice.choice(SIDES)} {b} b ON a.patient = b.patient{further}"


def _per_unit(_: random.Random, a: str, __: str) -> str:
    return f"SELECT patient, ward, MAX(cost) AS cost FROM {a} GROUP BY patient, ward"


def _with_public(dice: random.Random, a: str, _: str) -> str:
    public = dice.choice(("wards", "stays", "(SELECT ward FROM stays)"))
    return f"SELECT a.patient, a.ward, a.cost FROM {a} a JOIN {public} AS p ON a.ward = p.ward"
