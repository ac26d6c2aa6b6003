"""Policies with something changed as an owner would change it: mostly they are right, and mean something else."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import date, datetime
from random import Random
from typing import Any, Final

from tests.policy.examples import toml
from tests.policy.mutations import DOCUMENTS

Document = dict[str, Any]
COLUMNS: Final[list[dict[str, Any]]] = [
    {"type": "text"}, {"type": "boolean"}, {"type": "boolean", "nullable": True}, {"type": "date"},
    {"type": "timestamp"}, {"type": "integer"}, {"type": "float"}, {"min": 0, "max": 1}, {"min": -1.5, "max": 2e9},
    {"type": "integer", "min": -(2**40), "max": 2**40}, {"min": 0, "max": 10, "step": 0.25}, {"values": ["a", "b", ""]},
    {"values": [1, 2, 3], "nullable": True}, {"values": [True]}, {"min": date(2020, 1, 1), "max": date(2020, 1, 2)},
    {"min": datetime(2020, 1, 1), "max": datetime(2020, 1, 1, 0, 0, 1)}, {"values": [date(2020, 2, 29)]},
    {"values": [f"key {i}" for i in range(300)]}, {"type": "text", "values": ["'; DROP TABLE", '"', "é\u2028"]},
]  # fmt: skip
UNITS: Final[list[tuple[str, str | int]]] = [
    ("name", "person"), ("name", "customer of ours"), ("type", "text"), ("type", "integer"), ("max_rows", 1000),
    ("max_rows", 10**6),
]  # fmt: skip
NAMES: Final = ["n", "new name", "Größe", "select", "ROW_NUMBER", "a.b", "quo'te", "x" * 60, "_", "9"]


def _table(document: Document, random: Random, *, private: bool = True) -> dict[str, Any]:
    found = [table for table in document["tables"].values() if not (private and table.get("public"))]
    return found[random.randrange(len(found))] if found else {}


def _column(document: Document, random: Random) -> tuple[dict[str, Any], str] | None:
    found = [(table["columns"], name) for table in document["tables"].values() for name in table.get("columns", {})]
    return random.choice(found) if found else None


def budget(document: Document, random: Random) -> None:
    document["budget"]["epsilon"] = random.choice([2, 2.5, 3.0, 10, 1e3, 1e9])


def delta(document: Document, random: Random) -> None:
    document["budget"].pop("delta", None)
    if random.random() < 0.7:
        document["budget"]["delta"] = random.choice([1e-6, 1e-12, 0.01, 1e-30])


def most_cost(document: Document, random: Random) -> None:
    document["max_cost"] = random.choice([0.01, 0.5, 1, 2])


def analysts(document: Document, random: Random) -> None:
    if random.random() < 0.3:
        document.pop("analysts", None)
    else:
        document.setdefault("analysts", {})[random.choice(NAMES)] = {"epsilon": random.choice([0.001, 0.5, 1, 2])}


def unit(document: Document, random: Random) -> None:
    key, value = random.choice(UNITS)
    document["unit"][key] = value


def limits(document: Document, random: Random) -> None:
    table = _table(document, random)
    if table.get("unit") != "row":
        most = random.choice([1, 2, 5, 100, 10_000])
        table |= {"max_rows": most, "max_groups": random.randint(1, most)}
        table["max_rows_per_group"] = random.randint(1, most)


def fewer_keys(document: Document, random: Random) -> None:
    table = _table(document, random)
    for key in ("max_rows", "max_groups", "max_rows_per_group", "columns", "copy"):
        if random.random() < 0.5:
            table.pop(key, None)


def bounds(document: Document, random: Random) -> None:
    found = _column(document, random)
    if found is not None and isinstance((column := found[0][found[1]]).get("min"), int | float):
        column["min"] -= random.choice([0, 1, 10**6])
        column["max"] += random.choice([0, 1, 10**6])
        if random.random() < 0.5:
            column["step"] = random.choice([1, 2, 10])


def values(document: Document, random: Random) -> None:
    found = _column(document, random)
    if found is not None and (listed := found[0][found[1]].get("values")):
        random.shuffle(listed)
        if len(listed) > 1 and random.random() < 0.5:
            listed.pop()
        elif isinstance(listed[0], str):
            listed.append(random.choice(NAMES))


def nullable(document: Document, random: Random) -> None:
    found = _column(document, random)
    if found is not None and "values" in found[0][found[1]]:
        found[0][found[1]]["nullable"] = random.random() < 0.5


def another_column(document: Document, random: Random) -> None:
    columns = _table(document, random, private=False).setdefault("columns", {})
    columns[random.choice(NAMES)] = deepcopy(random.choice(COLUMNS))


def other_column(document: Document, random: Random) -> None:
    found = _column(document, random)
    if found is not None:
        found[0][found[1]] = deepcopy(random.choice(COLUMNS))


def no_column(document: Document, random: Random) -> None:
    found = _column(document, random)
    if found is not None:
        del found[0][found[1]]


def another_table(document: Document, random: Random) -> None:
    table = random.choice([
        {"source": "more.csv", "public": True}, {"source": "more/*.parquet", "unit": "row"},
        {"source": "more.csv", "unit": "who", "multiline": True, "max_rows": 3},
        {"source": "more/*/*.csv", "unit": "who", "folders": ["day"], "columns": {"day": {"type": "date"}}},
        deepcopy(_table(document, random)),
    ])  # fmt: skip
    document["tables"][random.choice(NAMES)] = table


def renamed_table(document: Document, random: Random) -> None:
    """With the paths that lead through it."""
    old, new = random.choice(list(document["tables"])), "renamed"
    document["tables"] = {new if name == old else name: table for name, table in document["tables"].items()}
    for table in document["tables"].values():
        for mark in (".", "("):
            if "unit" in table:
                table["unit"] = table["unit"].replace(f"-> {old}{mark}", f"-> {new}{mark}")


def server(document: Document, random: Random) -> None:
    document["server"] = {"pad_ms": random.choice([0, 50]), "time_limit": 5, "requests_per_minute": 10}


def order(document: Document, random: Random) -> None:
    """Nothing but the order of keys."""
    turned = shuffled(document, random)
    document.clear()
    document.update(turned)


def shuffled(value: Any, random: Random) -> Any:
    if not isinstance(value, dict):
        return value
    items = [(key, shuffled(item, random)) for key, item in value.items()]
    random.shuffle(items)
    return dict(items)


CHANGES: Final[list[Callable[[Document, Random], None]]] = [
    budget, delta, most_cost, analysts, unit, limits, fewer_keys, bounds, values, nullable, another_column,
    other_column, no_column, another_table, renamed_table, server, order,
]  # fmt: skip


def changed(random: Random) -> tuple[Document, list[str]]:
    """One to four changes, and which."""
    document: Document = deepcopy(random.choice(DOCUMENTS))
    chosen = random.choices(CHANGES, k=random.choice([1, 1, 2, 4]))
    for change in chosen:
        change(document, random)
    return document, [change.__name__ for change in chosen]


def meaningful(random: Random) -> bytes:
    return toml(changed(random)[0]).encode()
